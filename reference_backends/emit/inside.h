/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * inside.h: what the files of the emitter share.
 */
#ifndef EMIT_INSIDE_H
#define EMIT_INSIDE_H

#include <emit/job.h>
#include <tbk/dtypes.h>

/* tensor.c */
tbk_status_t emit_add_operand(const tbk_tensor_t* tensor, bool bound, emit_job_t* job,
                              tbk_error_t* error);
/* Adds the first operand, which is written: no two of its elements may be one. */
tbk_status_t emit_add_output(const tbk_tensor_t* tensor, bool bound, emit_job_t* job,
                             tbk_error_t* error);
/* What these two are made of, beside emit_describe: whether it may be written. */
tbk_status_t emit_want_apart(const emit_view_t* view, tbk_error_t* error);
tbk_status_t emit_want_same_sizes(const emit_job_t* job, tbk_error_t* error);
tbk_status_t emit_want_dtype(const emit_view_t* view, int32_t dtype, tbk_error_t* error);
/* Makes the fewest dimensions of those that `count` operands share; at least one. */
void emit_fold(int64_t* rank, int64_t* sizes, int64_t (*strides)[EMIT_MAX_RANK], int count);

/* launch.c */
int64_t emit_groups(int64_t items);

/* elementwise.c */
/* Sets options, scalar and shape for a kernel that moves elements, or computes in the output's dtype;
 * one item for each element of the output. */
void emit_set_raw(emit_job_t* job, const char* kernel);
void emit_set_arithmetic(emit_job_t* job, const char* kernel);
/* Every kernel takes one, whether it uses it or not. */
void emit_set_no_scalar(emit_job_t* job);

/* scalar.c */
/* Writes the scalar as an element of `dtype`; returns whether it can be one. */
bool emit_scalar_element(const tbk_scalar_t* scalar, int32_t dtype, unsigned char* out_element);
/* Writes the scalar in the type in which `dtype` is computed; returns the size of that, or 0. */
size_t emit_scalar_computed(const tbk_scalar_t* scalar, int32_t dtype, unsigned char* out_value);

#endif /* EMIT_INSIDE_H */
