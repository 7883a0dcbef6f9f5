/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tensors.h"

#include "opcode.h"

void program_tell(const place_t* at) {
  if (at->index == PROGRAM_ONE)
    program_fail_in(at->error, "%s: ", at->kind);
  else if (at->set == PROGRAM_ONE)
    program_fail_in(at->error, "%s %zu: ", at->kind, at->index);
  else
    program_fail_in(at->error, "set %zu, %s %zu: ", at->set, at->kind, at->index);
}

/* ----------------------------------------------------------------------------- one tensor ------ */

tbk_status_t program_check_shape(const place_t* at, const tbk_tensor_t* tensor, uint32_t dtype) {
  if (tensor == NULL || tensor->struct_size < sizeof *tensor) return WRONG(at, "it is not there");
  if (tensor->dtype != (int32_t)dtype)
    return WRONG(at, "dtype %d; declared is %s", tensor->dtype, program_dtype_name(dtype));
  if (tensor->rank < 0 || tensor->rank > TBK_PROGRAM_MOST_RANK)
    return WRONG(at, "rank %d", tensor->rank);
  if (tensor->rank > 0 && (tensor->sizes == NULL || tensor->strides == NULL))
    return WRONG(at, "sizes or strides at NULL");
  for (int32_t d = 0; d < tensor->rank; ++d)
    if (tensor->sizes[d] < 0) return WRONG(at, "size %lld", (long long)tensor->sizes[d]);
  return TBK_OK;
}

int64_t program_places(const int64_t* sizes, int32_t rank) {
  int64_t count = 1;
  for (int32_t d = 0; d < rank; ++d)
    if (sizes[d] == 0) return 0;
  for (int32_t d = 0; d < rank; ++d)
    if (__builtin_mul_overflow(count, sizes[d], &count)) return -1;
  return count;
}

/* Returns whether the offset of each element fits into 32 bits. */
static bool offsets_are_short(const tbk_tensor_t* tensor) {
  int64_t low = tensor->offset, high = tensor->offset;
  if (low < 0 || high > INT32_MAX) return false;
  for (int32_t d = 0; d < tensor->rank; ++d) {
    int64_t stride = tensor->strides[d], last = tensor->sizes[d] - 1;
    if (last <= 0 || stride == 0) continue;
    if (last > INT32_MAX || stride > INT32_MAX || stride < -INT32_MAX) return false;
    *(stride < 0 ? &low : &high) += stride * last;
    if (low < INT32_MIN || high > INT32_MAX) return false;
  }
  return true;
}

tbk_status_t program_check_extent(const place_t* at, const tbk_tensor_t* tensor, int64_t bits) {
  int64_t count = program_places(tensor->sizes, tensor->rank);
  if (count < 0) return WRONG(at, "more elements than 63 bits hold");
  if (bits == 32 && count > 0 && (count > INT32_MAX || !offsets_are_short(tensor)))
    return WRONG(at, "index_bits is 32, and it reaches further");
  return TBK_OK;
}

tbk_status_t program_check_written(const place_t* at, const tbk_tensor_t* tensor) {
  for (int32_t d = 0; d < tensor->rank; ++d)
    if (tensor->sizes[d] > 1 && tensor->strides[d] == 0)
      return WRONG(at, "it is written, and has a stride of 0");
  return TBK_OK;
}

tbk_status_t program_check_sizes(const place_t* at, const tbk_tensor_t* tensor,
                                 const space_t* space) {
  if (tensor->rank != space->rank)
    return WRONG(at, "rank %d in a space of %d", tensor->rank, space->rank);
  for (int32_t d = 0; d < space->rank; ++d)
    if (tensor->sizes[d] != space->sizes[d])
      return WRONG(at, "size %lld in dimension %d of a space of %lld", (long long)tensor->sizes[d],
                   d, (long long)space->sizes[d]);
  return TBK_OK;
}
