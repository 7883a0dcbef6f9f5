// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/TensorBase.h>
#include <c10/util/SmallVector.h>
#include <generic/program.h>
#include <tbk/tbk_arguments.h>

namespace at {
struct TensorIteratorBase;
}

namespace tbk {
class Kernel;
}

namespace tbk::generic {

/// Returns whether the backend offers tbk::pointwise, or tbk::reduce, on `device`. Opens the device.
bool offers_pointwise(c10::DeviceIndex device);
bool offers_reduce(c10::DeviceIndex device);
/// Returns whether positions and offsets of elements of `tensor` fit into 32 bits.
bool fits_32(const tbk_tensor_t& tensor);
/// Returns 32 where those of all `tensors` do, else 64.
int64_t index_bits_of(c10::ArrayRef<const tbk_tensor_t*> tensors);

/// Gathers the operands of one launch of a generic kernel, and launches it. The tensors outlive it.
class Launch {
 public:
  /// `sizes` is the space; of a reduction the outer one, and `inner` what goes. They outlive it.
  Launch(c10::DeviceIndex device, c10::IntArrayRef sizes, c10::IntArrayRef inner = {})
      : device_(device), sizes_(sizes.begin(), sizes.end()), inner_(inner.begin(), inner.end()) {
    all_sizes_.append(sizes_.begin(), sizes_.end());
    all_sizes_.append(inner_.begin(), inner_.end());
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  /// Adds an operand, with strides in elements along each dimension. Outputs come first: a lazy clone
  /// that is written gets memory of its own then. A complex one is two: its real parts, then its
  /// imaginary ones, as they are stored.
  void output(const at::TensorBase& tensor, c10::IntArrayRef strides);
  void input(const at::TensorBase& tensor, c10::IntArrayRef strides);
  /// The same of real elements that begin `first` behind the tensor's.
  void output_from(int64_t first, const at::TensorBase& tensor, c10::IntArrayRef strides);
  void input_from(int64_t first, const at::TensorBase& tensor, c10::IntArrayRef strides);
  /// Adds an input of what finish reads, which has the sizes of the outer space alone.
  void outer_input(const at::TensorBase& tensor, c10::IntArrayRef strides);
  /// Adds an input that the program loads by indices, as it is.
  void indexed_input(const at::TensorBase& tensor);
  void number(uint64_t bits) {
    numbers_.push_back(bits);
  }
  /// Leaves dimensions as they are said: for programs that ask for coordinates.
  void keep_dimensions() {
    keeps_dimensions_ = true;
  }

  /// Launches `program` on the current stream. Returns false, with nothing done, where the backend
  /// refuses, or a dtype or the rank is beyond it. Errors: those of launch() of kernels.h.
  bool pointwise(const Program& program) {
    return pointwise(program, {this});
  }
  bool reduce(const Reduction& reduction) {
    return reduce(reduction, {this});
  }
  /// The same of several sets of operands, at once. None reads or writes what another one writes; all
  /// are on one device.
  static bool pointwise(const Program& program, c10::ArrayRef<Launch*> sets);
  static bool reduce(const Reduction& reduction, c10::ArrayRef<Launch*> sets);

 private:
  using Numbers = c10::SmallVector<int64_t, 8>;
  struct Item {
    tbk_tensor_t description;
    Numbers strides;
    Numbers own_sizes;  ///< Of an indexed one.
    bool is_indexed;
  };

  static Item& add(c10::SmallVectorImpl<Item>& to, tbk_tensor_t description,
                   c10::IntArrayRef strides);
  static void add_parts(c10::SmallVectorImpl<Item>& to, const tbk_tensor_t& description,
                        c10::IntArrayRef strides);
  void merge(size_t first, size_t count, Numbers& sizes);
  bool can_merge(size_t dimension) const;
  void drop(size_t dimension);
  void point(c10::SmallVectorImpl<Item>& items, c10::SmallVectorImpl<const tbk_tensor_t*>& into);
  int64_t index_bits() const;
  bool knows(uint64_t dtypes) const;
  template <class Arguments>
  static bool run(Kernel& kernel, const void* identity, Arguments arguments,
                  c10::ArrayRef<Launch*> sets);

  c10::DeviceIndex device_;
  Numbers sizes_, inner_, all_sizes_;
  bool keeps_dimensions_ = false;
  c10::SmallVector<Item, 2> outputs_;
  c10::SmallVector<Item, 4> inputs_;
  c10::SmallVector<uint64_t, 4> numbers_;
};

}  // namespace tbk::generic
