// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Lists of operand sets: one launch for all parameters of a model.
#pragma once

#include <ATen/core/Tensor.h>
#include <generic/gathered.h>

#include <vector>

namespace tbk::generic {

/// Returns whether `tensors` are plain ones of `dtype` on `device` without gaps, of equal sizes and
/// strides: one dimension does for all of them.
bool lie_alike(c10::ArrayRef<const at::Tensor*> tensors, at::ScalarType dtype, at::Device device);

/// Gathers the operand sets of one launch, a hundred as cheaply as can be: each has one dimension, or none. One
/// thread; the tensors outlive it.
class Sets {
 public:
  using Tensors = c10::ArrayRef<const at::Tensor*>;

  /// There will be `count` sets, or about as many.
  explicit Sets(c10::DeviceIndex device, size_t count = 1);
  ~Sets();
  Sets(const Sets&) = delete;
  Sets& operator=(const Sets&) = delete;

  /// Adds a set of tensors that lie alike, as one dimension. `shared` have one element, which is read
  /// at each place.
  void add(Tensors outputs, Tensors inputs, Tensors shared = {},
           c10::ArrayRef<uint64_t> numbers = {});
  /// Adds a set in which all of `in`, which has no gaps, becomes the one element of `out`.
  void add_reduction(const at::Tensor& out, const at::Tensor& in);

  /// Launches all sets. Returns false, with nothing done, where the backend refuses, and where what is
  /// written lies in another operand: then the order counts.
  bool pointwise(const Program& program);
  bool reduce(const Reduction& reduction);

 private:
  struct Set {
    int64_t count;  ///< Of elements.
    uint32_t outputs, inputs, shared, numbers;
    bool is_reduction;
  };
  struct Extent {
    uintptr_t base;
    int64_t first, end;
    bool is_written;
  };

  /// Holds what a call gathers, of all sets one after the other. A thread keeps the memory for its next call: of a list
  /// of parameters these are too large for what the C library hands out quickly.
  struct Buffers {
    std::vector<Set> sets;
    std::vector<tbk_tensor_t> tensors;
    std::vector<uint64_t> numbers;
    std::vector<Extent> extents;
    std::vector<const tbk_tensor_t*> pointers;
    std::vector<tbk_operand_set_t> described;
  };
  static Buffers& spare();

  /// Adds an operand of the last set, which has `count` elements.
  void output(const at::Tensor& tensor, int64_t count);
  void input(const at::Tensor& tensor, int64_t count, const int64_t& step);
  void describe_as(tbk_tensor_t description, int64_t count, const int64_t& step);
  /// Notes where the operand that was added last lies.
  void note(const at::Tensor& tensor, bool is_written);
  bool are_apart();
  PlanKey key(const void* identity) const;
  template <class Code>
  bool run(bool (*start)(const Code& code, const Gathered& what), const Code& code);

  c10::DeviceIndex device_;
  bool is_flat_;
  int64_t index_bits_ = 32;
  Buffers all_;
};

}  // namespace tbk::generic
