// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Tensors that are read or written in another way, and never outside of their storage.
#include <routes.h>

#include <utility>

namespace tbk::routes {
namespace {

uint64_t bytes_of(int32_t dtype) {
  switch (dtype) {
#define TBK_BYTES(name, value, size_bytes) \
  case value:                              \
    return size_bytes;
    TBK_DTYPE_MAP(TBK_BYTES)
#undef TBK_BYTES
    default:
      return 16;
  }
}

tbk_tensor_t* own(const tbk_tensor_t*& tensor, Scratch& scratch) {
  tbk_tensor_t* copy = scratch.copy(*tensor);
  tensor = copy;
  return copy;
}

}  // namespace

int64_t* own_strides(const tbk_tensor_t*& tensor, Scratch& scratch) {
  tbk_tensor_t* copy = own(tensor, scratch);
  int64_t* strides = scratch.copy(copy->strides, static_cast<size_t>(copy->rank));
  copy->strides = strides;
  return strides;
}

bool is_inside(const tbk_tensor_t& tensor) {
  int64_t last = tensor.offset;
  for (int32_t d = 0; d < tensor.rank; d++) {
    if (tensor.sizes[d] == 0) return true;
    last += (tensor.sizes[d] - 1) * tensor.strides[d];
  }
  return (static_cast<uint64_t>(last) + 1) * bytes_of(tensor.dtype) <= tensor.storage_bytes;
}

bool hold_still(const tbk_tensor_t*& tensor, int32_t first, int32_t last, Scratch& scratch) {
  if (tensor == nullptr || first < 0 || last >= tensor->rank) return false;
  int64_t* strides = own_strides(tensor, scratch);
  bool counts = false;
  for (int32_t d = first; d <= last; d++) {
    counts = counts || (strides[d] != 0 && tensor->sizes[d] > 1);
    strides[d] = 0;
  }
  return counts;
}

bool exchange(const tbk_tensor_t*& tensor, int32_t one, int32_t other, Scratch& scratch) {
  if (tensor == nullptr || one < 0 || other < 0 || tensor->rank <= one || tensor->rank <= other)
    return false;
  const bool counts = tensor->strides[one] != tensor->strides[other] &&
                      (tensor->sizes[one] > 1 || tensor->sizes[other] > 1);
  const tbk_tensor_t* before = tensor;
  int64_t* strides = own_strides(tensor, scratch);
  std::swap(strides[one], strides[other]);
  if (counts && is_inside(*tensor)) return true;
  tensor = before;
  return false;
}

bool shorten(const tbk_tensor_t*& tensor, int32_t dimension, Scratch& scratch) {
  if (tensor == nullptr || dimension < 0 || tensor->sizes[dimension] < 2) return false;
  tbk_tensor_t* copy = own(tensor, scratch);
  int64_t* sizes = scratch.copy(copy->sizes, static_cast<size_t>(copy->rank));
  sizes[dimension]--;
  copy->sizes = sizes;
  return true;
}

}  // namespace tbk::routes
