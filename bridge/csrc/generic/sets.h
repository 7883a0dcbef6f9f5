// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Lists of operand sets: one launch for all parameters of a model.
#pragma once

#include <ATen/core/Tensor.h>
#include <generic/launch.h>

#include <deque>
#include <vector>

namespace tbk::generic {

/// Returns whether `tensors` are plain ones of `dtype` on `device` without gaps, of equal sizes and
/// strides: one dimension does for all of them.
bool lie_alike(c10::ArrayRef<const at::Tensor*> tensors, at::ScalarType dtype, at::Device device);

/// Gathers the operand sets of one launch. One thread; the tensors outlive it.
class Sets {
 public:
  explicit Sets(c10::DeviceIndex device);

  /// Adds a set of tensors that lie alike, as one dimension. `shared` have one element, which is read
  /// at each place. Numbers are added to what is returned.
  Launch& add(c10::ArrayRef<const at::Tensor*> outputs, c10::ArrayRef<const at::Tensor*> inputs,
              c10::ArrayRef<const at::Tensor*> shared = {});
  /// Adds a set in which all of `in`, which has no gaps, becomes the one element of `out`.
  Launch& add_reduction(const at::Tensor& out, const at::Tensor& in);

  /// Launches all sets. Returns false, with nothing done, where the backend refuses, and where what is
  /// written lies in another operand: then the order counts.
  bool pointwise(const Program& program);
  bool reduce(const Reduction& reduction);

 private:
  struct Extent {
    uintptr_t base;
    int64_t first, end;
    bool is_written;
  };
  void note(const at::Tensor& tensor, bool is_written);
  bool are_apart();
  std::vector<Launch*> pointers();

  c10::DeviceIndex device_;
  bool is_flat_;
  std::deque<Launch> launches_;
  std::vector<Extent> extents_;
};

}  // namespace tbk::generic
