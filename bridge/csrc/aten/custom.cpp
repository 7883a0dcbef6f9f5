// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <aten/custom.h>
#include <aten/operands.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace tbk {
namespace {

struct NamedKernel {
  explicit NamedKernel(const std::string& own, uint32_t version)
      : name(own), kernel(name.c_str(), version) {}

  const std::string name;  // before the kernel, which borrows it
  Kernel kernel;
};

/// The same object each time: it remembers what devices offer.
Kernel& kernel_of(const std::string& name, uint32_t version) {
  static std::mutex lock;
  // Never destroyed, since a thread may still be running.
  static auto* kernels = new std::map<std::pair<std::string, uint32_t>, NamedKernel*>;
  const std::lock_guard<std::mutex> guard(lock);
  NamedKernel*& found = (*kernels)[{name, version}];
  if (found == nullptr) found = new NamedKernel(name, version);
  return found->kernel;
}

template <typename Value>
uint64_t bits_of(const Value& value) {
  static_assert(sizeof(Value) == sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace

const tbk_tensor_t* CustomArguments::keep(const at::Tensor& tensor, bool is_written) {
  TORCH_CHECK(is_ours(tensor), "a tensor of ", tensor.device(),
              " among the arguments of a kernel of the device");
  const c10::DeviceIndex device = tensor.device().index();
  TORCH_CHECK(device_ < 0 || device_ == device,
              "Expected all tensors to be on the same device, but ",
              "found at least two, of indices ", static_cast<int>(device_), " and ",
              static_cast<int>(device));
  device_ = device;
  const at::Tensor& kept = tensors_.emplace_back(tensor);
  descriptions_.push_back(is_written ? describe(kept) : describe_input(kept));
  described_.push_back(&descriptions_.back());
  return &descriptions_.back();
}

void CustomArguments::add_word(uint64_t word) {
  words_.push_back(word);
}

void CustomArguments::add_pointer(const void* pointer) {
  add_word(reinterpret_cast<uintptr_t>(pointer));
}

void CustomArguments::add_input(const at::Tensor& tensor) {
  key_.push_back(static_cast<int64_t>(tensor.defined()));
  add_pointer(tensor.defined() ? keep(tensor, /*is_written=*/false) : nullptr);
}

void CustomArguments::add_output(const at::Tensor& tensor) {
  key_.push_back(static_cast<int64_t>(tensor.defined()));
  add_pointer(tensor.defined() ? keep(tensor, /*is_written=*/true) : nullptr);
}

void CustomArguments::add_inputs(const std::vector<at::Tensor>& tensors) {
  add_tensors(tensors, /*is_written=*/false);
}

void CustomArguments::add_outputs(const std::vector<at::Tensor>& tensors) {
  add_tensors(tensors, /*is_written=*/true);
}

void CustomArguments::add_tensors(const std::vector<at::Tensor>& tensors, bool is_written) {
  std::vector<const tbk_tensor_t*>& items = lists_.emplace_back();
  key_.push_back(static_cast<int64_t>(tensors.size()));
  for (const at::Tensor& tensor : tensors) {
    key_.push_back(static_cast<int64_t>(tensor.defined()));
    items.push_back(tensor.defined() ? keep(tensor, is_written) : nullptr);
  }
  add_pointer(items.data());
  add_word(items.size());
}

void CustomArguments::add_int(int64_t value) {
  key_.push_back(value);
  add_word(bits_of(value));
}

void CustomArguments::add_double(double value) {
  add_word(bits_of(value));
}

void CustomArguments::add_scalar(const at::Scalar& value) {
  const tbk_scalar_t scalar = to_scalar(value);
  key_.push_back(scalar.kind);
  add_word(bits_of(scalar.kind));
  add_word(bits_of(scalar.integer));
  add_word(bits_of(scalar.real));
  add_word(bits_of(scalar.imaginary));
}

void CustomArguments::add_int_pointer(int64_t value) {
  key_.insert(key_.end(), {1, value});
  add_pointer(ints_.emplace_back(1, value).data());
}

void CustomArguments::add_double_pointer(double value) {
  key_.push_back(1);
  add_pointer(doubles_.emplace_back(1, value).data());
}

void CustomArguments::add_scalar_pointer(const at::Scalar& value) {
  scalars_.push_back(to_scalar(value));
  key_.insert(key_.end(), {1, scalars_.back().kind});
  add_pointer(&scalars_.back());
}

void CustomArguments::add_absent() {
  key_.push_back(0);
  add_pointer(nullptr);
}

void CustomArguments::add_ints(const std::vector<int64_t>& values) {
  key_.push_back(static_cast<int64_t>(values.size()));
  key_.insert(key_.end(), values.begin(), values.end());
  add_pointer(ints_.emplace_back(values).data());
  add_word(values.size());
}

void CustomArguments::add_doubles(const std::vector<double>& values) {
  key_.push_back(static_cast<int64_t>(values.size()));
  add_pointer(doubles_.emplace_back(values).data());
  add_word(values.size());
}

void CustomArguments::add_bools(const std::vector<bool>& values) {
  key_.push_back(static_cast<int64_t>(values.size()));
  key_.insert(key_.end(), values.begin(), values.end());
  add_pointer(bools_.emplace_back(values.begin(), values.end()).data());
  add_word(values.size());
}

/// Makes of the list that was appended last a pointer to it.
void CustomArguments::move_to_pointer() {
  const std::array<uint64_t, 2>& pair =
      pairs_.emplace_back(std::array<uint64_t, 2>{words_[words_.size() - 2], words_.back()});
  words_.resize(words_.size() - 2);
  key_.push_back(1);
  add_pointer(pair.data());
}

void CustomArguments::add_ints_pointer(const std::vector<int64_t>& values) {
  add_ints(values);
  move_to_pointer();
}

void CustomArguments::add_doubles_pointer(const std::vector<double>& values) {
  add_doubles(values);
  move_to_pointer();
}

void CustomArguments::add_text(const std::string& value) {
  key_.push_back(static_cast<int64_t>(value.size()));
  key_.insert(key_.end(), value.begin(), value.end());
  add_pointer(texts_.emplace_back(value).c_str());
}

bool CustomArguments::launch(const std::string& name, uint32_t version) {
  return launch(kernel_of(name, version));
}

bool CustomArguments::launch(Kernel& kernel) {
  TORCH_CHECK(device_ >= 0, kernel.name(),
              " has no tensor among its arguments: which device is meant?");
  words_[0] = words_.size() * sizeof(uint64_t);
  return tbk::launch(kernel, device_, words_.data(), described_, key_);
}

}  // namespace tbk
