// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What operators of indexing are made of: launches of tbk::index.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/native/CPUFallback.h>
#include <aten/fallback.h>
#include <aten/routes.h>
#include <generic/composition.h>
#include <tbk/tbk_index.h>

#include <initializer_list>
#include <limits>

namespace tbk::generic {

/// Returns whether the backend offers tbk::index on `device`. Opens the device.
bool offers_index(c10::DeviceIndex device);

/// Returns strides of 0.
at::DimVector standing(size_t rank);

/// A tensor as one launch sees it. One without dimensions has one, of one element.
struct Shaped {
  explicit Shaped(const at::TensorBase& of);
  Shaped(const at::TensorBase& of, c10::IntArrayRef its_sizes, c10::IntArrayRef its_strides);

  at::TensorBase tensor;
  at::DimVector sizes, strides;
};

/// Where each place of a space is in a table: by indices, or along the space itself. The dimensions of the table
/// are told one after the other. One thread.
class Placement {
 public:
  /// `operation`, a literal, is named where an index is out of range. `flags` are TBK_INDEX_NEGATIVE and
  /// TBK_INDEX_FLAT.
  Placement(const char* operation, c10::IntArrayRef space, uint64_t flags = 0)
      : operation_(operation), flags_(flags), space_(space.begin(), space.end()) {}

  /// Finds the next dimension of the table by `index`, with strides along the space.
  void by(const at::TensorBase& index, c10::IntArrayRef strides);
  /// Finds the next dimension of the table where the space is in `dimension`.
  void along(int64_t dimension);
  /// Finds each of `rank` dimensions by `index` at `dim`, the others along the same ones of the space.
  void by_one_of(int64_t rank, int64_t dim, const at::TensorBase& index, c10::IntArrayRef strides);
  /// Lets no bad index be reported: its place is left out, which is meant.
  void leave_out() {
    is_silent_ = true;
  }

  c10::IntArrayRef space() const {
    return space_;
  }
  /// Returns `number`, which has one element, for each place of the space.
  Shaped everywhere(const at::TensorBase& number) const;
  /// Moves elements, as TBK_INDEX_GATHER ... says. A space of no places is done. Returns false, with nothing
  /// done, where the backend refuses. Complex elements are moved and added, no more. Errors: those of launch()
  /// of kernels.h; IndexError at once where the device has no streams.
  bool run(int64_t mode, const Shaped& table, const Shaped& values) const;

 private:
  struct Operands;
  bool launch_on_device(int64_t mode, const Shaped& table, const Shaped& values) const;

  const char* operation_;
  uint64_t flags_;
  bool is_silent_ = false;
  at::DimVector space_, places_;
  c10::SmallVector<Shaped, 2> indices_;
};

/// Returns whether all are dense tensors of one device of ours, without pending signs.
bool are_plain(std::initializer_list<const at::TensorBase*> tensors);
/// Returns whether `tensor` has elements that may be indices.
bool has_indices(const at::TensorBase& tensor);
/// Returns whether `out` has each element once, and none of `inputs`.
bool is_apart(const at::Tensor& out, std::initializer_list<const at::Tensor*> inputs);
/// Makes `out` equal to `self`, of which it has no element, unless it is that tensor.
void start_from(const at::Tensor& self, const at::Tensor& out);

/// Returns `dim` from 0; nothing where PyTorch raises for it. A tensor without dimensions has one.
std::optional<int64_t> wrapped(int64_t dim, const at::TensorBase& self);
/// Returns a new number of the device.
at::Tensor number_of(const at::Scalar& value, c10::DeviceIndex device, at::ScalarType dtype);
/// Returns `value`, a number of the host or of the device of `self`, as `self` holds it. Errors: RuntimeError where it
/// does not fit, as PyTorch's CPU has it: one of the device is read where its dtype is not within that of `self`.
at::Tensor number_for(const at::Tensor& self, const at::Tensor& value);

/// Runs `Op` on the CPU.
template <class Op, class... Arguments>
decltype(auto) on_host(Arguments&&... arguments) {
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(
      std::forward<Arguments>(arguments)...);
}

/// Returns `out`, which `is_served` has filled, or which the CPU fills.
template <class Op, class... Arguments>
at::Tensor& served_or_on_host(bool is_served, Route route, at::Tensor& out,
                              Arguments&&... arguments) {
  if (!is_served) return on_host<Op>(std::forward<Arguments>(arguments)...);
  count_served<Op>(route, out);
  return out;
}

}  // namespace tbk::generic
