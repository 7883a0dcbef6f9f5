// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <aten/fallback.h>
#include <aten/fallback_count.h>
#include <aten/fallback_mirror.h>
#include <aten/fallback_random.h>
#include <aten/nothing.h>
#include <aten/operands.h>
#include <aten/refusals.h>
#include <aten/values.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <runtime/backend.h>
#include <runtime/current.h>
#include <torch/library.h>

#include <string_view>

namespace tbk {
namespace {

using Stack = torch::jit::Stack;
using c10::IValue;

/// Arguments that may be tensors of the host beside those of a device, as for PyTorch's own devices.
struct HostArgument {
  std::string_view operator_name, argument;
};
constexpr HostArgument kHostArguments[] = {
    {"aten::index", "indices"},
    {"aten::_unsafe_index", "indices"},
    {"aten::index_put", "indices"},
    {"aten::index_put_", "indices"},
    {"aten::_unsafe_index_put", "indices"},
    {"aten::_index_put_impl", "indices"},
    {"aten::_index_put_impl_", "indices"},
    {"aten::_unsafe_masked_index", "indices"},
    {"aten::_unsafe_masked_index", "mask"},
    {"aten::_unsafe_masked_index_put_accumulate", "indices"},
    {"aten::_unsafe_masked_index_put_accumulate", "mask"},
    {"aten::_pack_padded_sequence", "lengths"},
    {"aten::_ctc_loss", "targets"},
    {"aten::_ctc_loss", "input_lengths"},
    {"aten::_ctc_loss", "target_lengths"},
    {"aten::_ctc_loss_backward", "targets"},
    {"aten::_ctc_loss_backward", "input_lengths"},
    {"aten::_ctc_loss_backward", "target_lengths"},
};

bool takes_generator(const c10::Argument& argument) {
  const c10::Type& type = *argument.type();
  if (type.kind() != c10::TypeKind::OptionalType)
    return type.kind() == c10::TypeKind::GeneratorType;
  return type.castRaw<c10::OptionalType>()->getElementType()->kind() ==
         c10::TypeKind::GeneratorType;
}

void refuse_what_cannot_run(const c10::OperatorHandle& op) {
  for (const c10::Argument& result : op.schema().returns())
    if (result.alias_info() != nullptr && !result.alias_info()->isWrite()) [[unlikely]]
      C10_THROW_ERROR(NotImplementedError,
                      c10::str(op.operator_name(),
                               " makes a view, and on the CPU it would be a "
                               "view of a copy: the bridge of '",
                               Backend::get().name(), "' must have it, and has not"));
  // The second question computes the answer anew each time, which takes as long as a small operator.
  if (!op.hasKernelForDispatchKey(c10::DispatchKey::CPU) &&
      !op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU)) [[unlikely]]
    C10_THROW_ERROR(NotImplementedError,
                    c10::str(op.operator_name(), ": neither the backend '", Backend::get().name(),
                             "' nor PyTorch's CPU has a kernel for it"));
}

void refuse_unless_plain(const c10::OperatorHandle& op, const at::Tensor& tensor) {
  if (tensor.layout() == at::kStrided && !tensor.is_quantized() && !tensor.is_nested() &&
      tensor.has_storage()) [[likely]]
    return;
  refuse_kind(op, tensor.is_quantized()            ? TensorKind::quantised
                  : tensor.is_nested()             ? TensorKind::nested
                  : tensor.layout() == at::kMkldnn ? TensorKind::mkldnn
                                                   : TensorKind::sparse);
}

bool is_host_argument(const c10::OperatorHandle& op, const c10::Argument& argument) {
  for (const HostArgument& each : kHostArguments)
    if (op.operator_name().name == each.operator_name && argument.name() == each.argument)
      return true;
  return false;
}

/// One call: the arguments on top of the stack become those of the host, and the results those of
/// the device.
class Call {
 public:
  Call(const c10::OperatorHandle& op, Stack* stack)
      : op_(op),
        stack_(stack),
        arguments_(op.schema().arguments()),
        updates_statistics_(updates_statistics(op)) {}

  void run() {
    find_device();
    refuse_stray_generator();
    check_tensors();
    const char* name = count_fallback(op_, device_, dtype_);
    HostMirror mirror(device_, name);
    bring_arguments(mirror);
    {
      // As PyTorch's own kernels run: below autograd, and not changed by autocast for the CPU.
      c10::impl::ExcludeDispatchKeyGuard below_autograd(
          c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset);
      op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack_);
      mirror.write_back();
      bring_results(mirror);
    }
    mirror.finish();
  }

 private:
  bool is_written(const c10::Argument& schema) const {
    return is_written_argument(schema, updates_statistics_);
  }

  IValue& argument(size_t index) {
    return torch::jit::peek(*stack_, index, arguments_.size());
  }

  void find_device() {
    device_ = current_device();
    bool has_tensor = false;
    for (size_t i = 0; i < arguments_.size(); i++) {
      if (!has_tensor)
        for_each_tensor(argument(i), [&](const at::Tensor& tensor) {
          if (!has_tensor && is_ours(tensor)) {
            device_ = tensor.device().index();
            dtype_ = tensor.scalar_type();
            has_tensor = true;
          }
        });
      if (argument(i).isDevice()) result_device_ = argument(i).toDevice();
    }
    if (result_device_.has_value() && result_device_->is_privateuseone()) {
      if (!result_device_->has_index()) result_device_->set_index(current_device());
      if (!has_tensor) device_ = result_device_->index();
    }
    has_tensor_ = has_tensor;
  }

  /// A generator of the device brings here what has nothing else of the device: PyTorch wants that on
  /// the CPU, which has generators of its own.
  void refuse_stray_generator() {
    if (has_tensor_ || (result_device_.has_value() && result_device_->is_privateuseone())) return;
    for (size_t i = 0; i < arguments_.size(); i++)
      if (argument(i).isGenerator()) {
        const at::Device device = argument(i).toGenerator().device();
        TORCH_CHECK(!device.is_privateuseone(),
                    "Expected a 'cpu' device type for generator but found '",
                    c10::DeviceTypeName(device.type(), /*lower_case=*/true), "'");
      }
  }

  void check_tensors() {
    for (size_t i = 0; i < arguments_.size(); i++)
      for_each_tensor(argument(i), [&](const at::Tensor& tensor) {
        refuse_unless_plain(op_, tensor);
        if (!is_here(tensor) && !may_stay(tensor, arguments_[i]))
          TORCH_CHECK(false,
                      "Expected all tensors to be on the same device, but found at least two "
                      "devices, ",
                      here(), " and ", tensor.device(), "! (", op_.operator_name(), ")");
      });
  }

  at::Device here() const {
    return at::Device(at::kPrivateUse1, device_);
  }
  bool is_here(const at::Tensor& tensor) const {
    return tensor.device() == here();
  }
  bool may_stay(const at::Tensor& tensor, const c10::Argument& argument) const {
    if (!tensor.device().is_cpu()) return false;
    if (!has_tensor_) return true;
    return !is_written(argument) && (tensor.dim() == 0 || is_host_argument(op_, argument));
  }

  void bring_arguments(HostMirror& mirror) {
    for (size_t i = 0; i < arguments_.size(); i++)
      for_each_tensor(argument(i), [&](const at::Tensor& tensor) {
        if (is_ours(tensor)) mirror.add(tensor, is_written(arguments_[i]));
      });
    mirror.bring();
    for (size_t i = 0; i < arguments_.size(); i++)
      replace(argument(i), arguments_[i], mirror);
  }

  void replace(IValue& value, const c10::Argument& schema, const HostMirror& mirror) {
    if (is_written_argument(schema, false)) written_.emplace_back(&schema, value);
    if (value.isTensor() || value.isTensorList() || value.isOptionalTensorList()) {
      value = map_tensors(value, [&](const at::Tensor& tensor) { return mirror.host(tensor); });
    } else if (value.isDevice()) {
      value = at::Device(at::kCPU);
    } else if (value.isGenerator()) {
      value = host_generator(value.toGenerator(), device_);
    } else if (value.isNone() && takes_generator(schema)) {
      value = host_generator(std::nullopt, device_);
    } else if (value.isBool() && value.toBool() && schema.name() == "pin_memory") {
      TORCH_CHECK(false, "Only dense CPU tensors can be pinned");
    }
  }

  void bring_results(HostMirror& mirror) {
    const std::vector<c10::Argument>& returns = op_.schema().returns();
    for (size_t i = 0; i < returns.size(); i++) {
      IValue& result = torch::jit::peek(*stack_, i, returns.size());
      if (returns[i].alias_info() != nullptr)
        result = written_argument(*returns[i].alias_info());
      else
        result = map_tensors(result, [&](const at::Tensor& tensor) {
          refuse_unless_plain(op_, tensor);
          return to_result_device(tensor, mirror);
        });
    }
  }

  const IValue& written_argument(const c10::AliasInfo& alias) const {
    // Comparing sets takes time, and mostly there is no choice.
    if (written_.size() == 1) [[likely]]
      return written_[0].second;
    for (const auto& [schema, value] : written_)
      if (schema->alias_info()->beforeSets() == alias.beforeSets()) return value;
    TORCH_INTERNAL_ASSERT(false, op_.operator_name(), " returns what it was not given");
  }

  at::Tensor to_result_device(const at::Tensor& tensor, HostMirror& mirror) const {
    if (!result_device_.has_value() || *result_device_ == here()) [[likely]]
      return mirror.to_device(tensor);
    return tensor.to(*result_device_);
  }

  const c10::OperatorHandle& op_;
  Stack* stack_;
  const std::vector<c10::Argument>& arguments_;
  const bool updates_statistics_;
  c10::DeviceIndex device_ = 0;
  at::ScalarType dtype_ = at::ScalarType::Undefined;
  bool has_tensor_ = false;
  std::optional<at::Device> result_device_;
  c10::SmallVector<std::pair<const c10::Argument*, IValue>, 2> written_;
};

}  // namespace

void cpu_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  refuse_what_cannot_run(op);
  if (serve_nothing(op, stack)) return;
  Call(op, stack).run();
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&cpu_fallback>());
}

}  // namespace tbk
