/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernels.h: puts the kernels of bridge/example/operators into the template.
 */
#ifndef TBK_TESTS_KERNELS_H
#define TBK_TESTS_KERNELS_H

#include <tbk/tbk.h>

#define TEMPLATE_DTYPES \
  (UINT64_C(1) << TBK_FLOAT32 | UINT64_C(1) << TBK_FLOAT64 | UINT64_C(1) << TBK_BFLOAT16)

extern const tbk_kernel_ops_t template_kernels;
extern const tbk_kernel_t total; /* kinds.c */

/* template.c: returns INVALID_STATE where the device is not open. */
tbk_status_t template_enter(tbk_instance_t* self, int32_t device, tbk_error_t* error);

#endif
