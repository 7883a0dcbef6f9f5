/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tensor.c: descriptors of tensors, checked; and shapes, folded.
 */
#include <string.h>

#include "inside.h"

/* Tells whether all elements lie inside the storage. It divides nothing: of a list this is asked hundreds of times. */
static bool lies_inside(const emit_view_t* view, uint64_t storage_bytes) {
  int64_t low = view->offset, high = view->offset, reach;
  uint64_t end_bytes;
  for (int32_t i = 0; i < view->rank; i++) {
    if (__builtin_mul_overflow(view->sizes[i] - 1, view->strides[i], &reach)) return false;
    int64_t* end = reach < 0 ? &low : &high;
    if (__builtin_add_overflow(*end, reach, end)) return false;
  }
  return low >= 0 &&
         !__builtin_mul_overflow((uint64_t)high + 1, (uint64_t)view->element_bytes, &end_bytes) &&
         end_bytes <= storage_bytes;
}

static tbk_status_t describe(const tbk_tensor_t* tensor, emit_view_t* view, tbk_error_t* error) {
  if (tensor == NULL || tensor->struct_size < sizeof *tensor)
    return emit_fail(error, TBK_INVALID, "a tensor is NULL, or its struct_size too small");
  if (tensor->rank < 0 || tensor->rank > EMIT_MAX_RANK)
    return emit_fail(error, TBK_UNSUPPORTED, "rank %d is above %d", tensor->rank, EMIT_MAX_RANK);
  view->memory = tensor->memory;
  view->offset = tensor->offset;
  view->dtype = tensor->dtype;
  view->rank = tensor->rank;
  view->element_bytes = tbk_dtype_bytes(tensor->dtype);
  view->count = 1;
  memset(view->sizes, 0, sizeof view->sizes); /* whole, which takes four stores */
  memset(view->strides, 0, sizeof view->strides);
  if (view->element_bytes == 0)
    return emit_fail(error, TBK_UNSUPPORTED, "dtype %d is not known", tensor->dtype);
  for (int32_t i = 0; i < tensor->rank; i++) {
    view->sizes[i] = tensor->sizes[i];
    view->strides[i] = tensor->strides[i];
    if (tensor->sizes[i] < 0 || __builtin_mul_overflow(view->count, tensor->sizes[i], &view->count))
      return emit_fail(error, TBK_INVALID, "a size is negative, or a shape too large");
  }
  return TBK_OK;
}

tbk_status_t emit_describe(const tbk_tensor_t* tensor, bool bound, emit_view_t* view,
                           tbk_error_t* error) {
  tbk_status_t status = describe(tensor, view, error);
  if (status != TBK_OK) return status;
  if (bound && view->count > 0 && (view->memory == 0 || !lies_inside(view, tensor->storage_bytes)))
    return emit_fail(error, TBK_INVALID, "a tensor reaches out of its storage");
  return TBK_OK;
}

tbk_status_t emit_add_operand(const tbk_tensor_t* tensor, bool bound, emit_job_t* job,
                              tbk_error_t* error) {
  tbk_status_t status = emit_describe(tensor, bound, &job->operands[job->operand_count], error);
  if (status == TBK_OK) job->operand_count++;
  return status;
}

tbk_status_t emit_want_apart(const emit_view_t* view, tbk_error_t* error) {
  for (int32_t i = 0; i < view->rank; i++)
    if (view->count > 0 && view->sizes[i] > 1 && view->strides[i] == 0)
      return emit_fail(error, TBK_UNSUPPORTED, "the output has a stride of 0");
  return TBK_OK;
}

tbk_status_t emit_add_output(const tbk_tensor_t* tensor, bool bound, emit_job_t* job,
                             tbk_error_t* error) {
  tbk_status_t status = emit_add_operand(tensor, bound, job, error);
  return status == TBK_OK ? emit_want_apart(&job->operands[0], error) : status;
}

tbk_status_t emit_want_same_sizes(const emit_job_t* job, tbk_error_t* error) {
  const emit_view_t* out = &job->operands[0]; /* sizes are 0 behind the rank */
  for (int i = 1; i < job->operand_count; i++)
    if (job->operands[i].rank != out->rank ||
        memcmp(job->operands[i].sizes, out->sizes, sizeof out->sizes) != 0)
      return emit_fail(error, TBK_UNSUPPORTED, "operand %d has not the sizes of the output", i);
  return TBK_OK;
}

tbk_status_t emit_want_dtype(const emit_view_t* view, int32_t dtype, tbk_error_t* error) {
  if (view->dtype == dtype) return TBK_OK;
  return emit_fail(error, TBK_UNSUPPORTED, "dtype %d where %d is wanted", view->dtype, dtype);
}

/* Whether dimension `d` goes on where `last` ends, in every operand. */
static bool continues(int64_t last, int64_t d, const int64_t* sizes,
                      int64_t (*strides)[EMIT_MAX_RANK], int count) {
  for (int k = 0; k < count; k++)
    if (strides[k][last] != strides[k][d] * sizes[d]) return false;
  return true;
}

void emit_fold(int64_t* rank, int64_t* sizes, int64_t (*strides)[EMIT_MAX_RANK], int count) {
  int64_t kept = 0;
  for (int64_t d = 0; d < *rank; d++) {
    if (sizes[d] == 1) continue;
    const bool joins = kept > 0 && continues(kept - 1, d, sizes, strides, count);
    const int64_t to = joins ? kept - 1 : kept++;
    sizes[to] = joins ? sizes[to] * sizes[d] : sizes[d];
    for (int k = 0; k < count; k++)
      strides[k][to] = strides[k][d];
  }
  if (kept == 0) {
    sizes[0] = 1;
    for (int k = 0; k < count; k++)
      strides[k][0] = 0;
    kept = 1;
  }
  *rank = kept;
}
