// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>
#include <aten/kernels.h>

#include <array>
#include <deque>
#include <string>
#include <vector>

namespace tbk {

/// Builds the argument struct of an operator that is known from a schema alone, member by member, as a C
/// compiler would lay it out: each member is of 8 bytes, or a struct of such. Owns all that the
/// struct points to; what describes a tensor borrows from it. Used by one thread.
class CustomArguments {
 public:
  /// Append a tensor that is read, or one that is written; NULL where there is none. Errors:
  /// RuntimeError where it is of another device than those before.
  void add_input(const at::Tensor& tensor);
  void add_output(const at::Tensor& tensor);
  /// Append Tensor[]; of a tensor that is not there the item is NULL.
  void add_inputs(const std::vector<at::Tensor>& tensors);
  void add_outputs(const std::vector<at::Tensor>& tensors);

  /// Append a number. A plan may depend on an integer, and of the others on what kind they are.
  void add_int(int64_t value);
  void add_double(double value);
  void add_scalar(const at::Scalar& value);
  /// Append what is optional, as a pointer to it.
  void add_int_pointer(int64_t value);
  void add_double_pointer(double value);
  void add_scalar_pointer(const at::Scalar& value);
  /// Append NULL, for what is optional and absent. A plan may depend on that.
  void add_absent();

  /// Append int[], float[] or bool[]. A plan may depend on integers and truth values.
  void add_ints(const std::vector<int64_t>& values);
  void add_doubles(const std::vector<double>& values);
  void add_bools(const std::vector<bool>& values);
  /// Append such a list that is optional, as a pointer to it.
  void add_ints_pointer(const std::vector<int64_t>& values);
  void add_doubles_pointer(const std::vector<double>& values);
  /// Append a text. A plan may depend on it.
  void add_text(const std::string& value);

  /// Runs the backend's kernel of that name and version on the current stream of the tensors'
  /// device. Returns false, with nothing done, where launch() of kernels.h does. Errors: those of
  /// launch(); RuntimeError where there is no tensor.
  bool launch(const std::string& name, uint32_t version);
  /// Does the same with a kernel that outlives the process's use of it.
  bool launch(Kernel& kernel);

 private:
  const tbk_tensor_t* keep(const at::Tensor& tensor, bool is_written);
  void add_tensors(const std::vector<at::Tensor>& tensors, bool is_written);
  void move_to_pointer();
  void add_word(uint64_t word);
  void add_pointer(const void* pointer);

  std::vector<uint64_t> words_{0};  // the first is struct_size
  std::vector<int64_t> key_;
  std::vector<const tbk_tensor_t*> described_;
  c10::DeviceIndex device_ = -1;
  // What the words point to; nothing in a deque moves.
  std::deque<at::Tensor> tensors_;
  std::deque<tbk_tensor_t> descriptions_;
  std::deque<std::vector<const tbk_tensor_t*>> lists_;
  std::deque<tbk_scalar_t> scalars_;
  std::deque<std::vector<int64_t>> ints_;
  std::deque<std::vector<double>> doubles_;
  std::deque<std::vector<uint8_t>> bools_;
  std::deque<std::string> texts_;
  std::deque<std::array<uint64_t, 2>> pairs_;  // lists that are pointed to
};

}  // namespace tbk
