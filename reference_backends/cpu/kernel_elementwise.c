/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel_elementwise.c: fill_.Scalar, copy_, add.Tensor, mul.Tensor and where.self. Operands are walked
 * row by row: a row is the last dimension, in which each operand moves by its own stride.
 */
#include "generic/loops/loops.h"
#include "kernel.h"

#include <string.h>

typedef void (*row_fn)(const cpu_job_t* job, char* const* at, const int64_t* steps, int64_t count);

static void for_each_row(const cpu_job_t* job, row_fn row) {
  const cpu_view_t* out = &job->operands[0];
  if (out->count == 0) return;
  const int32_t outer = out->rank ? out->rank - 1 : 0;
  int64_t index[CPU_MAX_RANK] = {0}, steps[CPU_OPERANDS_MOST] = {0};
  for (int i = 0; i < job->operand_count; i++)
    steps[i] = out->rank ? job->operands[i].strides[outer] : 0;
  do {
    char* at[CPU_OPERANDS_MOST] = {0};
    for (int i = 0; i < job->operand_count; i++) {
      at[i] = job->operands[i].data;
      for (int32_t d = 0; d < outer; d++)
        at[i] += index[d] * job->operands[i].strides[d];
    }
    row(job, at, steps, out->rank ? out->sizes[outer] : 1);
  } while (cpu_next_index(index, out->sizes, outer));
}

/* Elements of up to 8 bytes are one word; longer ones, and whole rows, are bytes. */
static void copy_element(char* to, const char* from, int64_t size_bytes) {
  if (size_bytes <= 8)
    cpu_store_word(to, cpu_load_word(from, size_bytes), size_bytes);
  else
    vdev_words_copy(to, from, (uint64_t)size_bytes);
}

static void fill_row(const cpu_job_t* job, char* const* at, const int64_t* steps, int64_t count) {
  const int64_t element = job->operands[0].element_bytes;
  if (cpu_is_word(element)) {
    cpu_row_copy(at[0], steps[0], job->value, 0, count, element);
    return;
  }
  for (int64_t i = 0; i < count; i++)
    copy_element(at[0] + i * steps[0], job->value, element);
}

static void copy_row(const cpu_job_t* job, char* const* at, const int64_t* steps, int64_t count) {
  const int64_t element = job->operands[0].element_bytes;
  if (cpu_is_word(element)) {
    cpu_row_copy(at[0], steps[0], at[1], steps[1], count, element);
    return;
  }
  for (int64_t i = 0; i < count; i++)
    copy_element(at[0] + i * steps[0], at[1] + i * steps[1], element);
}

static void convert_row(const cpu_job_t* job, char* const* at, const int64_t* steps,
                        int64_t count) {
  const int32_t to = job->operands[0].dtype, from = job->operands[1].dtype;
  for (int64_t i = 0; i < count; i++)
    cpu_store(at[0] + i * steps[0], to, cpu_load(at[1] + i * steps[1], from));
}

static void where_row(const cpu_job_t* job, char* const* at, const int64_t* steps, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    int chosen = cpu_load_word(at[1] + i * steps[1], 1) ? 2 : 3;
    copy_element(at[0] + i * steps[0], at[chosen] + i * steps[chosen],
                 job->operands[0].element_bytes);
  }
}

/* Integers wrap around: in unsigned arithmetic, which the store cuts to size. */
static cpu_number_t product(cpu_number_t a, cpu_number_t b) {
  cpu_number_t c = {.kind = a.kind};
  if (a.kind == TBK_KIND_INTEGER) c.integer = (int64_t)((uint64_t)a.integer * (uint64_t)b.integer);
  if (a.kind == TBK_KIND_REAL) c.real = a.real * b.real;
  if (a.kind == TBK_KIND_COMPLEX) {
    c.real = a.real * b.real - a.imaginary * b.imaginary;
    c.imaginary = a.real * b.imaginary + a.imaginary * b.real;
  }
  return c;
}

static cpu_number_t scaled_sum(cpu_number_t a, cpu_number_t alpha, cpu_number_t b) {
  if (a.kind == TBK_KIND_INTEGER) {
    b = product(b, alpha);
    a.integer = (int64_t)((uint64_t)a.integer + (uint64_t)b.integer);
    return a;
  }
  if (alpha.imaginary != 0) {
    b = product(b, alpha);
  } else { /* 0 times infinity would be no number */
    b.real *= alpha.real;
    b.imaginary *= alpha.real;
  }
  a.real += b.real;
  a.imaginary += b.imaginary;
  return a;
}

/* Computes a row by the loop of an opcode, some elements at a time. Sums and products of FLOAT32 in double, rounded
 * once, are those of FLOAT32. Returns false where the row must be done element by element. */
static bool loop_row(const cpu_job_t* job, uint16_t opcode, char* const* at, const int64_t* steps,
                     int64_t count) {
  enum { ELEMENTS = 256 };
  _Alignas(64) double left[ELEMENTS], right[ELEMENTS], out[ELEMENTS];
  const int32_t dtype = job->operands[0].dtype;
  const int64_t bytes = job->operands[0].element_bytes;
  if (dtype != TBK_FLOAT32 && dtype != TBK_FLOAT64) return false;
  const cpu_loop_t loop = cpu_loop_find(opcode, (uint16_t)dtype, (uint16_t)dtype, 0);
  for (int64_t i = 0; i < count; i += ELEMENTS) {
    const int64_t some = count - i < ELEMENTS ? count - i : ELEMENTS;
    const int64_t all = (some + CPU_LANE_STEP - 1) / CPU_LANE_STEP * CPU_LANE_STEP;
    memset((char*)left + some * bytes, 0, (size_t)((all - some) * bytes));
    memset((char*)right + some * bytes, 0, (size_t)((all - some) * bytes));
    cpu_row_load((char*)left, at[1] + i * steps[1], steps[1], some, bytes);
    cpu_row_load((char*)right, at[2] + i * steps[2], steps[2], some, bytes);
    loop(out, (const void*[]){left, right}, (size_t)all);
    cpu_row_store(at[0] + i * steps[0], (const char*)out, steps[0], some, bytes);
  }
  return true;
}

static void add_row(const cpu_job_t* job, char* const* at, const int64_t* steps, int64_t count) {
  const int32_t dtype = job->operands[0].dtype;
  if (job->scalar.real == 1 && job->scalar.imaginary == 0 &&
      loop_row(job, TBK_OPCODE_ADD, at, steps, count))
    return;
  for (int64_t i = 0; i < count; i++) {
    cpu_number_t a = cpu_load(at[1] + i * steps[1], dtype);
    cpu_number_t b = cpu_load(at[2] + i * steps[2], dtype);
    cpu_store(at[0] + i * steps[0], dtype, scaled_sum(a, job->scalar, b));
  }
}

static void mul_row(const cpu_job_t* job, char* const* at, const int64_t* steps, int64_t count) {
  const int32_t dtype = job->operands[0].dtype;
  if (loop_row(job, TBK_OPCODE_MUL, at, steps, count)) return;
  for (int64_t i = 0; i < count; i++) {
    cpu_number_t a = cpu_load(at[1] + i * steps[1], dtype);
    cpu_number_t b = cpu_load(at[2] + i * steps[2], dtype);
    cpu_store(at[0] + i * steps[0], dtype, product(a, b));
  }
}

static void compute_fill(const cpu_job_t* job) {
  for_each_row(job, fill_row);
}

static void compute_copy(const cpu_job_t* job) {
  for_each_row(job, job->operands[0].dtype == job->operands[1].dtype ? copy_row : convert_row);
}

static void compute_where(const cpu_job_t* job) {
  for_each_row(job, where_row);
}

static void compute_add(const cpu_job_t* job) {
  for_each_row(job, add_row);
}

static void compute_mul(const cpu_job_t* job) {
  for_each_row(job, mul_row);
}

tbk_status_t cpu_build_fill(vdev_arena_t* arena, const void* arguments, cpu_job_t* job,
                            tbk_error_t* error) {
  const tbk_args_fill__Scalar_t* args = arguments;
  job->compute = compute_fill;
  tbk_status_t status = cpu_add_output(arena, args->self, job, error);
  if (status == TBK_OK) status = cpu_number_of(&args->value, &job->scalar, error);
  if (status != TBK_OK) return status;
  const int32_t dtype = job->operands[0].dtype;
  if (job->scalar.kind == TBK_KIND_COMPLEX && tbk_dtype_kind(dtype) != TBK_KIND_COMPLEX)
    return cpu_fail(TBK_UNSUPPORTED, error, "a complex value for dtype %d", dtype);
  cpu_store(job->value, dtype, job->scalar);
  return TBK_OK;
}

tbk_status_t cpu_build_copy(vdev_arena_t* arena, const void* arguments, cpu_job_t* job,
                            tbk_error_t* error) {
  const tbk_args_copy__t* args = arguments;
  job->compute = compute_copy;
  tbk_status_t status = cpu_add_output(arena, args->self, job, error);
  if (status == TBK_OK) status = cpu_add_operand(arena, args->src, job, error);
  return status == TBK_OK ? cpu_want_same_sizes(job, error) : status;
}

/* Output and two inputs of one dtype and the same sizes. */
static tbk_status_t build_binary(vdev_arena_t* arena, const tbk_tensor_t* out,
                                 const tbk_tensor_t* self, const tbk_tensor_t* other,
                                 cpu_job_t* job, tbk_error_t* error) {
  tbk_status_t status = cpu_add_output(arena, out, job, error);
  if (status == TBK_OK) status = cpu_add_operand(arena, self, job, error);
  if (status == TBK_OK) status = cpu_add_operand(arena, other, job, error);
  for (int i = 1; i <= 2 && status == TBK_OK; i++)
    status = cpu_want_dtype(&job->operands[i], job->operands[0].dtype, error);
  return status == TBK_OK ? cpu_want_same_sizes(job, error) : status;
}

/* Makes alpha a number of the dtype's kind; PyTorch has no fraction of an integer. */
static tbk_status_t settle_alpha(cpu_job_t* job, tbk_error_t* error) {
  cpu_number_t* alpha = &job->scalar;
  const int32_t dtype = job->operands[0].dtype;
  if (alpha->kind > tbk_dtype_kind(dtype))
    return cpu_fail(TBK_UNSUPPORTED, error, "alpha does not fit dtype %d", dtype);
  if (dtype == TBK_BOOL) alpha->integer = alpha->integer != 0;
  if (alpha->kind == TBK_KIND_INTEGER) alpha->real = (double)alpha->integer;
  alpha->kind = tbk_dtype_kind(dtype);
  return TBK_OK;
}

tbk_status_t cpu_build_add(vdev_arena_t* arena, const void* arguments, cpu_job_t* job,
                           tbk_error_t* error) {
  const tbk_args_add_Tensor_t* args = arguments;
  job->compute = compute_add;
  tbk_status_t status = build_binary(arena, args->out, args->self, args->other, job, error);
  if (status == TBK_OK) status = cpu_number_of(&args->alpha, &job->scalar, error);
  return status == TBK_OK ? settle_alpha(job, error) : status;
}

tbk_status_t cpu_build_mul(vdev_arena_t* arena, const void* arguments, cpu_job_t* job,
                           tbk_error_t* error) {
  const tbk_args_mul_Tensor_t* args = arguments;
  job->compute = compute_mul;
  return build_binary(arena, args->out, args->self, args->other, job, error);
}

tbk_status_t cpu_build_where(vdev_arena_t* arena, const void* arguments, cpu_job_t* job,
                             tbk_error_t* error) {
  const tbk_args_where_self_t* args = arguments;
  job->compute = compute_where;
  tbk_status_t status = cpu_add_output(arena, args->out, job, error);
  if (status == TBK_OK) status = cpu_add_operand(arena, args->condition, job, error);
  if (status == TBK_OK) status = cpu_want_dtype(&job->operands[1], TBK_BOOL, error);
  if (status == TBK_OK) status = cpu_add_operand(arena, args->self, job, error);
  if (status == TBK_OK) status = cpu_add_operand(arena, args->other, job, error);
  for (int i = 2; i <= 3 && status == TBK_OK; i++)
    status = cpu_want_dtype(&job->operands[i], job->operands[0].dtype, error);
  return status == TBK_OK ? cpu_want_same_sizes(job, error) : status;
}
