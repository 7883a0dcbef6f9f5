/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * elements.h: launches of which an operand has other elements, for mutants that round what they read.
 */
#ifndef TBK_MUTANTS_ELEMENTS_H
#define TBK_MUTANTS_ELEMENTS_H

#include "calls.h"

typedef uint64_t (*element_fn)(int32_t dtype, uint64_t bits);

/* Runs the reference while all elements of an operand's storage are other ones. */
tbk_status_t elements_launch(const tbk_tensor_t* operand, element_fn function, tbk_instance_t* self,
                             int32_t device, const tbk_kernel_t* kernel, const void* arguments,
                             tbk_stream_t* stream, tbk_error_t* error);

/* Returns a FLOAT64 with as many digits as FLOAT32 has. */
uint64_t elements_keep_24_digits(int32_t dtype, uint64_t bits);

#endif /* TBK_MUTANTS_ELEMENTS_H */
