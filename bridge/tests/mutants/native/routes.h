// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Faults of routes: what the bridge asks generic kernels for, changed on its way to the backend.
#pragma once

#include <tbk/tbk_convolution.h>
#include <tbk/tbk_index.h>
#include <tbk/tbk_matmul.h>
#include <tbk/tbk_program.h>
#include <tbk/tbk_scan.h>
#include <tbk/tbk_sort.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

namespace tbk::routes {

/// Owns what a changed call refers to, until it returns.
class Scratch {
 public:
  /// Returns a copy of `count` items, with room for one more.
  template <class T>
  T* copy(const T* items, size_t count) {
    auto block = std::make_unique<std::byte[]>((count + 1) * sizeof(T));
    if (count > 0) std::memcpy(block.get(), items, count * sizeof(T));
    blocks_.push_back(std::move(block));
    return reinterpret_cast<T*>(blocks_.back().get());
  }
  template <class T>
  T* copy(const T& item) {
    return copy(&item, 1);
  }

 private:
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

/// Changes a copy of the arguments of one call. Returns whether there was something to change; what
/// it has changed lies within storages and is valid.
using Change = bool (*)(void* arguments, Scratch& scratch);

struct Fault {
  const char* name;    ///< "sums are writes"
  const char* kernel;  ///< "tbk::index"
  Change change;
};

struct Faults {
  const Fault* first;
  size_t count;
};

template <size_t count>
constexpr Faults all_of(const Fault (&table)[count]) {
  return {table, count};
}

Faults pointwise_operand_faults();
Faults reduce_operand_faults();
Faults state_faults();
Faults pointwise_faults();
Faults more_pointwise_faults();
Faults reduce_faults();
Faults more_reduce_faults();
Faults scan_faults();
Faults random_faults();
Faults movement_faults();
Faults product_faults();

/// A Change of arguments of type A.
template <class A, bool (*change)(A&, Scratch&)>
bool on(void* arguments, Scratch& scratch) {
  return change(*static_cast<A*>(arguments), scratch);
}

/// Replaces a pointer to a tensor by one to a copy, whose strides are returned. One call a fault.
int64_t* own_strides(const tbk_tensor_t*& tensor, Scratch& scratch);
/// Returns whether the tensor lies within its storage.
bool is_inside(const tbk_tensor_t& tensor);
/// Makes the strides of `tensor` 0 along `first` to `last`. Returns whether one that counts was another.
bool hold_still(const tbk_tensor_t*& tensor, int32_t first, int32_t last, Scratch& scratch);
/// Exchanges two strides; returns false, with nothing changed, where they are the same, or the
/// tensor would not lie within its storage.
bool exchange(const tbk_tensor_t*& tensor, int32_t one, int32_t other, Scratch& scratch);
/// Makes a size one less; returns false where nothing would be left.
bool shorten(const tbk_tensor_t*& tensor, int32_t dimension, Scratch& scratch);

}  // namespace tbk::routes
