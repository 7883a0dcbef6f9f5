/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * job.h: what a kernel is launched with. The arguments of an operator are checked and made into a job,
 * which refers to nothing of the caller's; a backend compiles the source with the job's options, caches
 * that, and launches it.
 *
 * Each kernel is called "run" and takes six parameters: the shape and the scalar by value, and four
 * pointers, of which a job uses the first `operand_count`. Offsets are in the shape.
 */
#ifndef EMIT_JOB_H
#define EMIT_JOB_H

#include <stdbool.h>
#include <tbk/tbk_operators.h>

/* Writes the message and returns `status`; for whoever links the emitter too. */
tbk_status_t emit_fail(tbk_error_t* error, tbk_status_t status, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

enum { EMIT_MAX_RANK = 8, EMIT_OPERANDS = 4, EMIT_GROUP = 64, EMIT_OPTIONS_BYTES = 48 };

/* The sources, in OpenCL C and CUDA C++: "NAME[=VALUE]" are defined as the job's options say; OpenCL
 * wants HAS_DOUBLE too. */
extern const char emit_opencl_source[], emit_cuda_source[];
/* All options that there are; ends with NULL. */
extern const char* const emit_variants[];

/* A tensor, checked. Strides and offset are in elements. */
typedef struct emit_view {
  tbk_memory_t memory;
  int64_t offset;
  int32_t dtype, rank;
  int64_t element_bytes, count;
  int64_t sizes[EMIT_MAX_RANK], strides[EMIT_MAX_RANK];
} emit_view_t;

/* Makes a view of a tensor. Errors: INVALID where it is none, or reaches out of its storage, which is looked at where
 * memory is `bound`; UNSUPPORTED for more dimensions than EMIT_MAX_RANK and unknown dtypes. */
tbk_status_t emit_describe(const tbk_tensor_t* tensor, bool bound, emit_view_t* view,
                           tbk_error_t* error);

/* What kernels.inc calls shape_t; handed over as it is. */
typedef struct emit_shape {
  int64_t count, rank, inner, inner_rank;
  int64_t sizes[EMIT_MAX_RANK], inner_sizes[EMIT_MAX_RANK];
  int64_t offsets[EMIT_OPERANDS], strides[EMIT_OPERANDS][EMIT_MAX_RANK];
  int64_t inner_strides[EMIT_MAX_RANK];
} emit_shape_t;

typedef struct emit_job {
  char options[EMIT_OPTIONS_BYTES]; /* one of emit_variants */
  int operand_count;
  emit_view_t operands[EMIT_OPERANDS]; /* the output, then the inputs */
  emit_shape_t shape;
  unsigned char scalar[16];
  size_t scalar_bytes;
  int64_t groups; /* of EMIT_GROUP items each; 0 where there is nothing to do */
} emit_job_t;

typedef struct emit_operator {
  const char* name;
  uint32_t version;
  size_t arguments_bytes;
  tbk_status_t (*build)(const void* arguments, bool bound, emit_job_t* job, tbk_error_t* error);
} emit_operator_t;

extern const emit_operator_t emit_fill, emit_copy, emit_add, emit_mul, emit_where, emit_sum,
    emit_mm;

/*
 * Makes a job of the arguments. `bound` is false where only shapes are asked about (prepare): memory is
 * not looked at.
 * Errors: INVALID where there is no operator, or arguments are missing or too small; UNSUPPORTED for
 * what no kernel does. The message says which.
 */
tbk_status_t emit_build(const emit_operator_t* made_by, const void* arguments, bool bound,
                        emit_job_t* job, tbk_error_t* error);

/* Leaves out of a job what a plan does not know: memory and offsets. */
void emit_strip(emit_job_t* job);
/* Returns whether a job is one of the plan that was made from `stripped`. */
bool emit_fits(const emit_job_t* job, const emit_job_t* stripped);

/* Returns whether a product would be written over what it is made of. It is then made apart:
 * emit_set_apart changes it to write to `memory` of emit_output_bytes, and makes the copy from there. */
bool emit_is_in_place_product(const emit_job_t* job);
uint64_t emit_output_bytes(const emit_job_t* job);
void emit_set_apart(emit_job_t* job, tbk_memory_t memory, emit_job_t* out_copy);

/* Makes the job that writes `count` words at `offset` bytes; random.h says which. */
emit_job_t emit_random(const tbk_generator_t* generator, tbk_memory_t memory, uint64_t offset,
                       uint64_t count);

#endif /* EMIT_JOB_H */
