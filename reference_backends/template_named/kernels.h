/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernels.h: between template.c, which has devices and memory, and kernels.c.
 */
#ifndef TEMPLATE_KERNELS_H
#define TEMPLATE_KERNELS_H

#include <tbk/tbk.h>

/* driver: what your library computes with. */
#define TEMPLATE_DTYPES (UINT64_C(1) << TBK_FLOAT32 | UINT64_C(1) << TBK_INT64)

extern const tbk_kernel_ops_t template_kernels;

/* template.c: returns INVALID_STATE where the device is not open. */
tbk_status_t template_enter(tbk_instance_t* self, int32_t device, tbk_error_t* error);

#endif /* TEMPLATE_KERNELS_H */
