/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * job.h: what a kernel is launched with. A build function checks the arguments and makes a job of them,
 * which refers to nothing of the caller's.
 */
#ifndef TBK_OPENCL_JOB_H
#define TBK_OPENCL_JOB_H

#include <tbk/tbk_operators.h>

#include "opencl.h"

enum { OPENCL_OPERANDS_MOST = 4, OPENCL_WORK_GROUP = 64, OPENCL_TILE = 8 };

/* A tensor, checked. Strides and offset are in elements. */
typedef struct opencl_view {
  tbk_memory_t memory;
  int64_t offset;
  int32_t dtype, rank;
  int64_t element_bytes, count;
  int64_t sizes[OPENCL_MAX_RANK], strides[OPENCL_MAX_RANK];
} opencl_view_t;

/* What kernels.cl calls shape_t; handed over as it is. */
typedef struct opencl_shape {
  int64_t count, rank, inner, inner_rank;
  int64_t sizes[OPENCL_MAX_RANK], inner_sizes[OPENCL_MAX_RANK];
  int64_t offsets[OPENCL_OPERANDS_MOST], strides[OPENCL_OPERANDS_MOST][OPENCL_MAX_RANK];
  int64_t inner_strides[OPENCL_MAX_RANK];
} opencl_shape_t;

typedef struct opencl_job {
  char options[96]; /* what kernels.cl is compiled with */
  int operand_count;
  opencl_view_t operands[OPENCL_OPERANDS_MOST]; /* the output, then the inputs */
  opencl_shape_t shape;
  unsigned char scalar[16];
  size_t scalar_bytes; /* 0: the kernel takes none */
  cl_uint dimensions;
  size_t global[2], local[2];
} opencl_job_t;

/* `bound` is false where only shapes are asked about (prepare): memory is looked at no more. */
typedef tbk_status_t (*opencl_build_fn)(const void* arguments, bool bound, opencl_job_t* job,
                                        tbk_error_t* error);
tbk_status_t opencl_build_fill(const void*, bool, opencl_job_t*, tbk_error_t*);
tbk_status_t opencl_build_copy(const void*, bool, opencl_job_t*, tbk_error_t*);
tbk_status_t opencl_build_add(const void*, bool, opencl_job_t*, tbk_error_t*);
tbk_status_t opencl_build_mul(const void*, bool, opencl_job_t*, tbk_error_t*);
tbk_status_t opencl_build_where(const void*, bool, opencl_job_t*, tbk_error_t*);
tbk_status_t opencl_build_sum(const void*, bool, opencl_job_t*, tbk_error_t*);
tbk_status_t opencl_build_mm(const void*, bool, opencl_job_t*, tbk_error_t*);
/* A copy between two buffers that lie as `view`, the first without gaps. */
void opencl_build_move(const opencl_view_t* to, const opencl_view_t* from, opencl_job_t* job);

/* kernel.c: compiles what is not compiled yet, and launches. Where there is nothing to do, nothing is
 * enqueued. */
tbk_status_t opencl_job_submit(opencl_device_t* device, const opencl_job_t* job,
                               tbk_stream_t* stream, tbk_error_t* error);

/* tensor.c */
tbk_status_t opencl_add_operand(const tbk_tensor_t* tensor, bool bound, opencl_job_t* job,
                                tbk_error_t* error);
/* The first operand, which is written: no two of its elements may be one. */
tbk_status_t opencl_add_output(const tbk_tensor_t* tensor, bool bound, opencl_job_t* job,
                               tbk_error_t* error);
tbk_status_t opencl_want_same_sizes(const opencl_job_t* job, tbk_error_t* error);
tbk_status_t opencl_want_dtype(const opencl_view_t* view, int32_t dtype, tbk_error_t* error);
/* Makes the fewest dimensions of those that `count` operands share; at least one. */
void opencl_fold(int64_t* rank, int64_t* sizes, int64_t (*strides)[OPENCL_MAX_RANK], int count);

/* scalar.c */
typedef enum { OPENCL_INTEGER, OPENCL_REAL, OPENCL_COMPLEX } opencl_kind_t;
opencl_kind_t opencl_kind(int32_t dtype);
int64_t opencl_element_bytes(int32_t dtype);
/* Writes the scalar as an element of `dtype`; returns whether it can be one. */
bool opencl_scalar_element(const tbk_scalar_t* scalar, int32_t dtype, unsigned char* out_element);
/* Writes the scalar in the type in which `dtype` is computed; returns the size of that, or 0. */
size_t opencl_scalar_computed(const tbk_scalar_t* scalar, int32_t dtype, unsigned char* out_value);

#endif /* TBK_OPENCL_JOB_H */
