/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tensor.c: descriptors of tensors, checked and resolved.
 */
#include "kernel.h"

bool cpu_next_index(int64_t* index, const int64_t* sizes, int32_t rank) {
  for (int32_t i = rank - 1; i >= 0; i--) {
    if (++index[i] < sizes[i]) return true;
    index[i] = 0;
  }
  return false;
}

/* The first and last element behind `memory`, in elements; false on overflow. */
static bool find_bounds(const tbk_tensor_t* tensor, int64_t* out_low, int64_t* out_high) {
  int64_t low = tensor->offset, high = tensor->offset, reach;
  for (int32_t i = 0; i < tensor->rank; i++) {
    if (__builtin_mul_overflow(tensor->sizes[i] - 1, tensor->strides[i], &reach)) return false;
    int64_t* end = reach < 0 ? &low : &high;
    if (__builtin_add_overflow(*end, reach, end)) return false;
  }
  *out_low = low;
  *out_high = high;
  return low >= 0;
}

static tbk_status_t locate(vdev_arena_t* arena, const tbk_tensor_t* tensor, cpu_view_t* view,
                           tbk_error_t* error) {
  int64_t low, high;
  uint64_t end;
  const uint64_t element = (uint64_t)view->element_bytes;
  if (!find_bounds(tensor, &low, &high) ||
      __builtin_mul_overflow((uint64_t)high + 1, element, &end) || end > tensor->storage_bytes)
    return cpu_fail(TBK_INVALID, error, "a tensor reaches out of its storage");
  uint64_t begin = (uint64_t)low * element;
  char* data = vdev_arena_at(arena, tensor->memory, begin, end - begin);
  if (!data) return cpu_fail(TBK_INVALID, error, "a tensor lies outside of the device's memory");
  view->data = data + (tensor->offset - low) * view->element_bytes;
  return TBK_OK;
}

/* Of a dimension that is never stepped along, a step too large for bytes is none. */
static bool step_in_bytes(int64_t size, int64_t stride, int64_t bytes, int64_t* out_step) {
  bool is_large = __builtin_mul_overflow(stride, bytes, out_step);
  if (is_large && size <= 1) *out_step = 0;
  return !is_large || size <= 1;
}

static tbk_status_t describe(const tbk_tensor_t* tensor, cpu_view_t* view, tbk_error_t* error) {
  if (!tensor || tensor->struct_size < sizeof *tensor)
    return cpu_fail(TBK_INVALID, error, "a tensor is NULL, or its struct_size too small");
  if (tensor->rank < 0 || tensor->rank > CPU_MAX_RANK)
    return cpu_fail(TBK_UNSUPPORTED, error, "rank %d is above %d", tensor->rank, CPU_MAX_RANK);
  view->data = NULL;
  view->dtype = tensor->dtype;
  view->rank = tensor->rank;
  view->count = 1;
  for (int32_t i = tensor->rank; i < CPU_MAX_RANK; i++)
    view->sizes[i] = view->strides[i] = 0;
  view->element_bytes = tbk_dtype_bytes(tensor->dtype);
  if (!view->element_bytes)
    return cpu_fail(TBK_UNSUPPORTED, error, "dtype %d is not known", tensor->dtype);
  for (int32_t i = 0; i < tensor->rank; i++) {
    view->sizes[i] = tensor->sizes[i];
    bool wrong = tensor->sizes[i] < 0 ||
                 __builtin_mul_overflow(view->count, tensor->sizes[i], &view->count) ||
                 !step_in_bytes(tensor->sizes[i], tensor->strides[i], view->element_bytes,
                                &view->strides[i]);
    if (wrong) return cpu_fail(TBK_INVALID, error, "a size is negative, or a shape too large");
  }
  return TBK_OK;
}

tbk_status_t cpu_resolve(vdev_arena_t* arena, const tbk_tensor_t* tensor, cpu_view_t* out_view,
                         tbk_error_t* error) {
  tbk_status_t status = describe(tensor, out_view, error);
  if (status == TBK_OK && arena && out_view->count) status = locate(arena, tensor, out_view, error);
  return status;
}

tbk_status_t cpu_add_operand(vdev_arena_t* arena, const tbk_tensor_t* tensor, cpu_job_t* job,
                             tbk_error_t* error) {
  tbk_status_t status = cpu_resolve(arena, tensor, &job->operands[job->operand_count], error);
  if (status == TBK_OK) job->operand_count++;
  return status;
}

tbk_status_t cpu_add_output(vdev_arena_t* arena, const tbk_tensor_t* tensor, cpu_job_t* job,
                            tbk_error_t* error) {
  tbk_status_t status = cpu_add_operand(arena, tensor, job, error);
  if (status != TBK_OK) return status;
  const cpu_view_t* out = &job->operands[0];
  for (int32_t i = 0; i < out->rank; i++)
    if (out->count && out->sizes[i] > 1 && out->strides[i] == 0)
      return cpu_fail(TBK_UNSUPPORTED, error, "the output has a stride of 0");
  return TBK_OK;
}

static bool same_sizes(const cpu_view_t* left, const cpu_view_t* right) {
  if (left->rank != right->rank) return false;
  for (int32_t i = 0; i < left->rank; i++)
    if (left->sizes[i] != right->sizes[i]) return false;
  return true;
}

tbk_status_t cpu_want_same_sizes(const cpu_job_t* job, tbk_error_t* error) {
  for (int i = 1; i < job->operand_count; i++)
    if (!same_sizes(&job->operands[0], &job->operands[i]))
      return cpu_fail(TBK_UNSUPPORTED, error, "operand %d has not the sizes of the output", i);
  return TBK_OK;
}

tbk_status_t cpu_want_dtype(const cpu_view_t* view, int32_t dtype, tbk_error_t* error) {
  if (view->dtype == dtype) return TBK_OK;
  return cpu_fail(TBK_UNSUPPORTED, error, "dtype %d where %d is wanted", view->dtype, dtype);
}

uint64_t cpu_hash_view(uint64_t hash, const cpu_view_t* view) {
  hash = vdev_mix(hash ^ (uint64_t)view->dtype << 32 ^ (uint64_t)view->rank);
  for (int32_t d = 0; d < view->rank; d++)
    hash = vdev_mix(vdev_mix(hash ^ (uint64_t)view->sizes[d]) ^ (uint64_t)view->strides[d]);
  return hash;
}
