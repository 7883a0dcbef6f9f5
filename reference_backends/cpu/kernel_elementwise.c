/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel_elementwise.c: fill_.Scalar, copy_ and where.self. Elements of 16 bytes, and complex numbers that are
 * converted, are moved one by one, the rest by rows.
 */
#include <stdlib.h>

#include "walk.h"

/* Elements of up to 8 bytes are one word; longer ones, and whole rows, are bytes. */
static void copy_element(char* to, const char* from, int64_t size_bytes) {
  if (size_bytes <= 8)
    cpu_store_word(to, cpu_load_word(from, size_bytes), size_bytes);
  else
    vdev_words_copy(to, from, (uint64_t)size_bytes);
}

static char* element_at(const cpu_block_t* block, int operand, int64_t row, int64_t i) {
  return block->at[operand] + row * block->row_steps[operand] + i * block->steps[operand];
}

/* --------------------------------------------------------------------------------------- fill -- */

/* `context` is a buffer of elements that are the value. */
static void fill_block(const cpu_job_t* job, const cpu_block_t* block, void* context) {
  cpu_block_store(block, job->operands[0].element_bytes, context);
}

static void fill_elements(const cpu_job_t* job, const cpu_block_t* block, void* context) {
  for (int64_t r = 0; r < block->rows; r++)
    for (int64_t i = 0; i < block->count; i++)
      copy_element(element_at(block, 0, r, i), job->value, job->operands[0].element_bytes);
  (void)context;
}

static void compute_fill(const cpu_job_t* job) {
  const cpu_view_t* out = &job->operands[0];
  _Alignas(64) char values[CPU_BLOCK_BYTES];
  if (!cpu_is_word(out->element_bytes)) {
    cpu_walk(job, INT64_MAX, fill_elements, NULL);
    return;
  }
  const int64_t some = out->count < CPU_BLOCK_ELEMENTS ? out->count : CPU_BLOCK_ELEMENTS;
  cpu_row_load(values, job->value, 0, some, out->element_bytes);
  cpu_walk(job, CPU_BLOCK_ELEMENTS, fill_block, values);
}

/* --------------------------------------------------------------------------------------- copy -- */

/* Of columns that lie together so many at a time are made rows, so that a cache keeps their lines. */
enum { STRIP = 64 };

static void copy_block(const cpu_job_t* job, const cpu_block_t* block, void* context) {
  const int64_t bytes = job->operands[0].element_bytes;
  const bool turned = llabs(block->row_steps[1]) < llabs(block->steps[1]) && block->row_steps[1];
  const int64_t strip = turned ? STRIP : block->count;
  for (int64_t i = 0; i < block->count; i += strip)
    for (int64_t r = 0; r < block->rows; r++)
      cpu_row_copy(element_at(block, 0, r, i), block->steps[0], element_at(block, 1, r, i),
                   block->steps[1], block->count - i < strip ? block->count - i : strip, bytes);
  (void)context;
}

static void copy_elements(const cpu_job_t* job, const cpu_block_t* block, void* context) {
  const int64_t bytes = job->operands[0].element_bytes;
  for (int64_t r = 0; r < block->rows; r++)
    for (int64_t i = 0; i < block->count; i++)
      copy_element(element_at(block, 0, r, i), element_at(block, 1, r, i), bytes);
  (void)context;
}

static void convert_elements(const cpu_job_t* job, const cpu_block_t* block, void* context) {
  const int32_t to = job->operands[0].dtype, from = job->operands[1].dtype;
  for (int64_t r = 0; r < block->rows; r++)
    for (int64_t i = 0; i < block->count; i++)
      cpu_store(element_at(block, 0, r, i), to, cpu_load(element_at(block, 1, r, i), from));
  (void)context;
}

/* One cast, or two: what does not fit UINT8 is cut from INT64, as PyTorch's CPU does. */
typedef struct conversion {
  cpu_loop_t first, second;
  _Alignas(64) char raw[CPU_BLOCK_BYTES];
  _Alignas(64) char made[CPU_BLOCK_BYTES];
} conversion_t;

static cpu_loop_t cast(int32_t from, int32_t to) {
  return cpu_loop_find(TBK_OPCODE_CAST, (uint16_t)from, (uint16_t)to, 0);
}

static void convert_block(const cpu_job_t* job, const cpu_block_t* block, void* context) {
  conversion_t* how = context;
  const size_t lanes = cpu_block_load(block, 1, job->operands[1].element_bytes, how->raw);
  how->first(how->made, (const void*[]){how->raw}, lanes);
  if (how->second) how->second(how->raw, (const void*[]){how->made}, lanes);
  cpu_block_store(block, job->operands[0].element_bytes, how->second ? how->raw : how->made);
}

static void compute_convert(const cpu_job_t* job) {
  const int32_t to = job->operands[0].dtype, from = job->operands[1].dtype;
  conversion_t how;
  if (tbk_dtype_kind(to) == TBK_KIND_COMPLEX || tbk_dtype_kind(from) == TBK_KIND_COMPLEX) {
    cpu_walk(job, INT64_MAX, convert_elements, NULL);
    return;
  }
  const bool twice = from == TBK_FLOAT64 && to == TBK_UINT8;
  how.first = cast(from, twice ? TBK_INT64 : to);
  how.second = twice ? cast(TBK_INT64, to) : NULL;
  cpu_walk(job, CPU_BLOCK_ELEMENTS, convert_block, &how);
}

static void compute_copy(const cpu_job_t* job) {
  if (job->operands[0].dtype != job->operands[1].dtype)
    compute_convert(job);
  else if (cpu_is_word(job->operands[0].element_bytes))
    cpu_walk(job, INT64_MAX, copy_block, NULL);
  else
    cpu_walk(job, INT64_MAX, copy_elements, NULL);
}

/* -------------------------------------------------------------------------------------- where -- */

typedef struct choice {
  cpu_loop_t select;
  _Alignas(64) char condition[CPU_BLOCK_BYTES];
  _Alignas(64) char first[CPU_BLOCK_BYTES];
  _Alignas(64) char second[CPU_BLOCK_BYTES];
  _Alignas(64) char made[CPU_BLOCK_BYTES];
} choice_t;

static void where_block(const cpu_job_t* job, const cpu_block_t* block, void* context) {
  choice_t* how = context;
  const int64_t bytes = job->operands[0].element_bytes;
  cpu_block_load(block, 1, 1, how->condition);
  cpu_block_load(block, 2, bytes, how->first);
  const size_t lanes = cpu_block_load(block, 3, bytes, how->second);
  how->select(how->made, (const void*[]){how->condition, how->first, how->second}, lanes);
  cpu_block_store(block, bytes, how->made);
}

static void where_elements(const cpu_job_t* job, const cpu_block_t* block, void* context) {
  for (int64_t r = 0; r < block->rows; r++)
    for (int64_t i = 0; i < block->count; i++) {
      const int chosen = cpu_load_word(element_at(block, 1, r, i), 1) ? 2 : 3;
      copy_element(element_at(block, 0, r, i), element_at(block, chosen, r, i),
                   job->operands[0].element_bytes);
    }
  (void)context;
}

static void compute_where(const cpu_job_t* job) {
  const uint16_t dtype = (uint16_t)job->operands[0].dtype;
  choice_t how;
  if (!cpu_is_word(job->operands[0].element_bytes)) {
    cpu_walk(job, INT64_MAX, where_elements, NULL);
    return;
  }
  how.select = cpu_loop_find(TBK_OPCODE_SELECT, dtype, dtype, 0);
  cpu_walk(job, CPU_BLOCK_ELEMENTS, where_block, &how);
}

/* -------------------------------------------------------------------------------------- build -- */

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
