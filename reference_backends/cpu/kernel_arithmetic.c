/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel_arithmetic.c: add.Tensor and mul.Tensor, by the loops of opcodes; complex numbers one by one.
 */
#include "walk.h"

/* How elements are computed: cast to `computed`, the second multiplied by alpha, combined, cast back. What is NULL
 * is left out. */
typedef struct arithmetic {
  int32_t computed;
  int64_t bytes, wide; /* of an element, and of what is computed in */
  cpu_loop_t widen, scale, combine, narrow;
  cpu_loop_t direct; /* does it all where the operands lie */
  bool loaded[3];    /* operands that are one element, which fills its buffer already */
  _Alignas(64) char raw[CPU_BLOCK_BYTES];
  _Alignas(64) char left[CPU_BLOCK_BYTES];
  _Alignas(64) char right[CPU_BLOCK_BYTES];
  _Alignas(64) char made[CPU_BLOCK_BYTES];
  _Alignas(64) char alpha[CPU_BLOCK_BYTES];
} arithmetic_t;

/* ------------------------------------------------------------------------- numbers one by one -- */

static cpu_number_t product(cpu_number_t a, cpu_number_t b) {
  cpu_number_t c = {.kind = TBK_KIND_COMPLEX};
  c.real = a.real * b.real - a.imaginary * b.imaginary;
  c.imaginary = a.real * b.imaginary + a.imaginary * b.real;
  return c;
}

static cpu_number_t scaled_sum(cpu_number_t a, cpu_number_t alpha, cpu_number_t b) {
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

/* `context` is NULL for products. */
static void complex_block(const cpu_job_t* job, const cpu_block_t* block, void* context) {
  const int32_t dtype = job->operands[0].dtype;
  for (int64_t r = 0; r < block->rows; r++)
    for (int64_t i = 0; i < block->count; i++) {
      char* at[3];
      for (int k = 0; k < 3; k++)
        at[k] = block->at[k] + r * block->row_steps[k] + i * block->steps[k];
      const cpu_number_t a = cpu_load(at[1], dtype), b = cpu_load(at[2], dtype);
      cpu_store(at[0], dtype, context ? scaled_sum(a, job->scalar, b) : product(a, b));
    }
}

/* ------------------------------------------------------------------------------------- blocks -- */

static cpu_loop_t find(uint16_t opcode, int32_t takes, int32_t gives) {
  return cpu_loop_find(opcode, (uint16_t)takes, (uint16_t)gives, 0);
}

/* Rounded from what this is, one sum or product of a dtype is what it is when rounded once; a sum of a product is
 * computed in FLOAT64. Integers wrap around, and are cut to size. */
static int32_t computed_in(int32_t dtype, bool scales) {
  if (tbk_dtype_kind(dtype) == TBK_KIND_INTEGER) return dtype == TBK_INT64 ? TBK_INT64 : TBK_INT32;
  return dtype == TBK_FLOAT64 || scales ? TBK_FLOAT64 : TBK_FLOAT32;
}

static void plan(const cpu_job_t* job, uint16_t opcode, bool scales, arithmetic_t* how) {
  const int32_t dtype = job->operands[0].dtype, computed = computed_in(dtype, scales);
  how->computed = computed;
  how->bytes = job->operands[0].element_bytes;
  how->wide = tbk_dtype_bytes(computed);
  how->combine = find(opcode, computed, computed);
  how->widen = computed == dtype ? NULL : find(TBK_OPCODE_CAST, dtype, computed);
  how->narrow = computed == dtype ? NULL : find(TBK_OPCODE_CAST, computed, dtype);
  how->scale = NULL;
  how->direct = computed == dtype && cpu_loops_are_direct() ? how->combine : NULL;
}

/* Fills a buffer, as far as blocks can reach, with one element. */
static void fill(const cpu_job_t* job, const char* element, int64_t bytes, char* to) {
  const int64_t count = job->operands[0].count, most = CPU_BLOCK_ELEMENTS;
  cpu_row_load(to, element, 0, (int64_t)cpu_whole_lanes((size_t)(count < most ? count : most)),
               bytes);
}

/* Multiplies the second operand by alpha. */
static void scale_by(const cpu_job_t* job, arithmetic_t* how) {
  uint64_t value;
  cpu_store((char*)&value, how->computed, job->scalar);
  fill(job, (const char*)&value, how->wide, how->alpha);
  how->scale = find(TBK_OPCODE_MUL, how->computed, how->computed);
  how->direct = NULL;
}

/* Loads an operand that is one element for all. */
static void load_single(const cpu_job_t* job, int operand, arithmetic_t* how, char* to) {
  const cpu_view_t* view = &job->operands[operand];
  how->loaded[operand] = true;
  for (int32_t d = 0; d < view->rank; d++)
    if (view->sizes[d] != 1 && view->strides[d] != 0) how->loaded[operand] = false;
  if (!how->loaded[operand]) return;
  fill(job, view->data, how->bytes, how->widen ? how->raw : to);
  const int64_t count = view->count, most = CPU_BLOCK_ELEMENTS;
  if (how->widen)
    how->widen(to, (const void*[]){how->raw},
               cpu_whole_lanes((size_t)(count < most ? count : most)));
}

static void load(const cpu_block_t* block, int operand, arithmetic_t* how, char* to) {
  if (how->loaded[operand]) return;
  const size_t lanes = cpu_block_load(block, operand, how->bytes, how->widen ? how->raw : to);
  if (how->widen) how->widen(to, (const void*[]){how->raw}, lanes);
}

/* Whether a direct loop reads no element of this operand that it has written. */
static bool is_apart(const cpu_block_t* block, const char* out, const char* in, int64_t bytes) {
  const int64_t size = block->rows * block->count * bytes;
  return in == out || in >= out + size || out >= in + size;
}

/* Computes a block where it lies; false where it does not lie side by side. */
static bool compute_direct(const cpu_block_t* block, const arithmetic_t* how) {
  if (!how->direct) return false;
  char* out = cpu_block_together(block, 0, how->bytes);
  const char *left = how->left, *right = how->right;
  if (!how->loaded[1]) left = cpu_block_together(block, 1, how->bytes);
  if (!how->loaded[2]) right = cpu_block_together(block, 2, how->bytes);
  if (!out || !left || !right || !is_apart(block, out, left, how->bytes) ||
      !is_apart(block, out, right, how->bytes))
    return false;
  how->direct(out, (const void*[]){left, right}, (size_t)(block->rows * block->count));
  return true;
}

static void compute_block(const cpu_job_t* job, const cpu_block_t* block, void* context) {
  arithmetic_t* how = context;
  if (compute_direct(block, how)) return;
  const size_t lanes = cpu_whole_lanes((size_t)(block->rows * block->count));
  const char *second = how->right, *result = how->made;
  load(block, 1, how, how->left);
  load(block, 2, how, how->right);
  if (how->scale) {
    how->scale(how->raw, (const void*[]){how->right, how->alpha}, lanes);
    second = how->raw;
  }
  how->combine(how->made, (const void*[]){how->left, second}, lanes);
  if (how->narrow) {
    how->narrow(how->raw, (const void*[]){how->made}, lanes);
    result = how->raw;
  }
  cpu_block_store(block, how->bytes, result);
  (void)job;
}

static void compute_blocks(const cpu_job_t* job, arithmetic_t* how) {
  if (job->operands[0].count == 0) return;
  load_single(job, 1, how, how->left);
  load_single(job, 2, how, how->right);
  cpu_walk(job, CPU_BLOCK_ELEMENTS, compute_block, how);
}

/* ------------------------------------------------------------------------------------ kernels -- */

static bool is_complex(const cpu_job_t* job) {
  return tbk_dtype_kind(job->operands[0].dtype) == TBK_KIND_COMPLEX;
}

static bool is_number(cpu_number_t number, int value) {
  return number.kind == TBK_KIND_INTEGER ? number.integer == value : number.real == value;
}

static void compute_add(const cpu_job_t* job) {
  arithmetic_t how;
  if (is_complex(job)) {
    cpu_walk(job, INT64_MAX, complex_block, &how);
    return;
  }
  const bool less = is_number(job->scalar, -1), scales = !less && !is_number(job->scalar, 1);
  plan(job, less ? TBK_OPCODE_SUB : TBK_OPCODE_ADD, scales, &how);
  if (scales) scale_by(job, &how);
  compute_blocks(job, &how);
}

static void compute_mul(const cpu_job_t* job) {
  arithmetic_t how;
  if (is_complex(job)) {
    cpu_walk(job, INT64_MAX, complex_block, NULL);
    return;
  }
  plan(job, TBK_OPCODE_MUL, false, &how);
  compute_blocks(job, &how);
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
