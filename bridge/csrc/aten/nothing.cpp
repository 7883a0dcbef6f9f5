// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>
#include <aten/empty.h>
#include <aten/nothing.h>
#include <aten/operands.h>
#include <aten/routes.h>
#include <aten/values.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace tbk {
namespace {

using Stack = torch::jit::Stack;
using c10::IValue;

bool is_dense(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && !tensor.is_quantized() && !tensor.is_nested() &&
         tensor.has_storage() && !tensor.is_conj() && !tensor.is_neg();
}

/// One call, told to PyTorch's shape function.
class Shapes {
 public:
  Shapes(const c10::OperatorHandle& op, const Stack& stack)
      : op_(op),
        arguments_(stack.end() - static_cast<ptrdiff_t>(op.schema().arguments().size()),
                   stack.end()) {}

  /// Whether it may be asked: dense tensors of one device, one of them without elements, and no
  /// generator, which would have to be of another device.
  bool are_askable() {
    bool has_empty = false, is_fit = !has_output() || !has_elements();
    for (const IValue& value : arguments_) {
      is_fit = is_fit && !value.isGenerator() && !value.isDevice();
      for_each_tensor(value, [&](const at::Tensor& tensor) {
        is_fit = is_fit && is_ours(tensor) && is_dense(tensor) && is_on_one_device(tensor);
        has_empty = has_empty || tensor.numel() == 0;
        // Whole numbers may be places, and those may be wrong.
        is_fit =
            is_fit && (tensor.numel() == 0 || !at::isIntegralType(tensor.scalar_type(), false));
      });
    }
    return is_fit && has_empty && gives_tensors() &&
           op_.hasComputedKernelForDispatchKey(c10::DispatchKey::Meta);
  }

  /// Returns whether no result has an element, as shape functions say. Errors: what PyTorch raises.
  bool are_empty() {
    return are_empty_on(c10::DispatchKey::Meta);
  }

  /// The same, of PyTorch's CPU, with zeros for what operands hold: it refuses dtypes, and gives some, of
  /// which shape functions know nothing.
  bool are_empty_on_the_host() {
    return !op_.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU) ||
           are_empty_on(c10::DispatchKey::CPU);
  }

  /// Puts the results, tensors of the device, in the place of the arguments.
  void answer(Stack* stack) {
    torch::jit::drop(*stack, arguments_.size());
    for (const IValue& value : results_)
      stack->push_back(map_tensors(value, [&](const at::Tensor& each) { return on_device(each); }));
  }
  c10::DeviceIndex device() const {
    return device_.index();
  }

 private:
  /// Which dtypes an output may have, shape functions do not say: the host does, where it may be asked.
  bool has_output() const {
    const auto& arguments = op_.schema().arguments();
    return std::any_of(arguments.begin(), arguments.end(),
                       [](const c10::Argument& each) { return each.is_out(); });
  }
  bool has_elements() const {
    bool found = false;
    for (const IValue& value : arguments_)
      for_each_tensor(value, [&](const at::Tensor& each) { found = found || each.numel() > 0; });
    return found;
  }

  bool is_on_one_device(const at::Tensor& tensor) {
    if (!device_.is_privateuseone()) device_ = tensor.device();
    return tensor.device() == device_;
  }

  bool gives_tensors() const {
    const auto& returns = op_.schema().returns();
    return !returns.empty() &&
           std::all_of(returns.begin(), returns.end(), [](const c10::Argument& each) {
             return each.type()->kind() == c10::TypeKind::TensorType;
           });
  }

  bool are_empty_on(c10::DispatchKey key) {
    const bool is_host = key == c10::DispatchKey::CPU;
    results_.clear();
    for (const IValue& value : arguments_)
      results_.push_back(
          map_tensors(value, [&](const at::Tensor& each) { return stand_in(each, is_host); }));
    call_below_autograd(op_, key, results_);
    bool has_none = true;
    for (const IValue& value : results_)
      for_each_tensor(value, [&](const at::Tensor& result) {
        has_none = has_none && result.numel() == 0 && keeps_its_shape(result);
      });
    return has_none;
  }

  at::Tensor stand_in(const at::Tensor& tensor, bool is_host) {
    const auto options = tensor.options().device(is_host ? at::kCPU : at::kMeta);
    at::Tensor other = at::empty_strided(tensor.sizes(), tensor.strides(), options);
    if (is_host) other.zero_();
    given_.emplace(other.unsafeGetTensorImpl(), tensor);
    stand_ins_.push_back(other);
    return other;
  }

  bool keeps_its_shape(const at::Tensor& result) const {
    const auto given = given_.find(result.unsafeGetTensorImpl());
    return given == given_.end() ||
           (given->second.sizes() == result.sizes() && given->second.strides() == result.strides());
  }

  at::Tensor on_device(const at::Tensor& result) const {
    const auto given = given_.find(result.unsafeGetTensorImpl());
    if (given != given_.end()) return given->second;
    return empty_strided_on(device_.index(), result.sizes(), result.strides(),
                            result.scalar_type());
  }

  const c10::OperatorHandle& op_;
  const Stack arguments_;
  Stack results_;
  at::Device device_{at::kCPU};
  std::vector<at::Tensor> stand_ins_;  // alive, or another tensor may come to have the same address
  std::unordered_map<const c10::TensorImpl*, at::Tensor> given_;
};

void count(const c10::OperatorHandle& op, const Stack& stack, c10::DeviceIndex device) {
  const c10::OperatorName& name = op.operator_name();
  const std::string end = name.overload_name.empty() ? "" : "." + name.overload_name;
  const at::Tensor& result = stack.back().toTensor();
  count_call(counter_of(name.name + end), Route::composed, device,
             result.defined() ? result.scalar_type() : at::ScalarType::Undefined);
}

}  // namespace

bool serve_nothing(const c10::OperatorHandle& op, Stack* stack) {
  if (!is_open(Route::composed)) return false;
  Shapes shapes(op, *stack);
  if (!shapes.are_askable()) return false;
  try {
    if (!shapes.are_empty() || !shapes.are_empty_on_the_host()) return false;
  } catch (const std::exception&) {
    return false;
  }
  shapes.answer(stack);
  count(op, *stack, shapes.device());
  return true;
}

}  // namespace tbk
