// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/MemoryOverlap.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/empty_strided.h>
#include <aten/empty.h>
#include <aten/named.h>
#include <aten/named_arguments.h>
#include <aten/named_forms.h>
#include <aten/operands.h>
#include <aten/values.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <runtime/backend.h>
#include <torch/library.h>

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>

namespace tbk {
namespace {

using c10::IValue;
using torch::jit::Stack;
using Tensors = std::vector<at::Tensor>;

/// A kernel that the backend has by name, with the operator that its struct was made of.
struct Offer {
  Offer(const NamedRow& row, c10::OperatorHandle op)
      : kernel(row.name, row.version), function(std::move(op)) {}

  Kernel kernel;
  const c10::OperatorHandle function;
};

/// Returns whether a kernel can be given it: with memory of its own, and bits that mean what they say.
bool is_plain(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && !tensor.is_neg() && !tensor.is_conj() &&
         !tensor.is_quantized() && !tensor.is_nested() && tensor.has_storage() &&
         !tensor._is_zerotensor();
}

/// Numbers of the host stay: PyTorch looks at their values to find dtypes.
at::Tensor without_memory(const at::Tensor& tensor) {
  if (is_host_number(tensor)) return tensor;
  return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta));
}

/// One call of one form of an operator. Its arguments stay on the stack until a kernel has served it.
class NamedCall {
 public:
  NamedCall(Offer& offer, NamedForm form, const c10::OperatorHandle& op, Stack* stack)
      : offer_(offer),
        form_(form),
        schema_(op.schema()),
        function_(offer.function.schema()),
        statistics_(updates_statistics(offer.function)),
        given_(torch::jit::last(*stack, schema_.arguments().size())) {}

  /// Returns false with nothing done, but for the size of results that were given.
  bool serve() {
    if (!look_at_tensors() || !offers(offer_.kernel, device_, dtype_)) return false;
    if (!size_outputs()) return false;
    CustomArguments arguments;
    if (!add_arguments(arguments)) return false;
    if (!writes_arguments() && !add_results(arguments)) return false;
    if (!arguments.launch(offer_.kernel)) return false;
    for (size_t i = 0; i < given_.size(); i++)
      if (is_written_argument(schema_.arguments()[i], false)) count_writes(given_[i]);
    return true;
  }

  /// Returns what the operator returns, once it was served.
  std::vector<IValue> results() const {
    std::vector<IValue> all;
    for (size_t i = 0; i < schema_.returns().size(); i++)
      all.push_back(writes_arguments() ? written_argument(schema_.returns()[i]) : results_[i]);
    return all;
  }

 private:
  bool writes_arguments() const {
    return form_ == NamedForm::function && !function_.returns().empty()
               ? function_.returns()[0].alias_info() != nullptr
               : function_.returns().empty();
  }

  IValue written_argument(const c10::Argument& result) const {
    for (size_t i = 0; i < given_.size(); i++) {
      const c10::AliasInfo* alias = schema_.arguments()[i].alias_info();
      if (alias != nullptr && alias->beforeSets() == result.alias_info()->beforeSets())
        return given_[i];
    }
    TORCH_INTERNAL_ASSERT(false, schema_.name(), " returns what it was not given");
  }

  /// Finds the device. All tensors are on it, or are numbers of the host that are only read.
  bool look_at_tensors() {
    bool are_fine = true;
    for (size_t i = 0; i < given_.size(); i++) {
      const bool is_output = is_written_argument(schema_.arguments()[i], statistics_);
      for_each_tensor(given_[i], [&](const at::Tensor& tensor) {
        if (is_host_number(tensor) && !is_output) return;
        are_fine = are_fine && is_ours(tensor) && is_plain(tensor) &&
                   (device_ < 0 || tensor.device().index() == device_);
        if (!are_fine || device_ >= 0) return;
        device_ = tensor.device().index();
        dtype_ = tensor.scalar_type();
      });
    }
    return are_fine && device_ >= 0;
  }

  /// A number of the host beside tensors comes along in the dtype that PyTorch computes all of them in.
  at::ScalarType common_dtype() const {
    at::native::ResultTypeState state{};
    for (size_t i = 0; i < function_.arguments().size(); i++)
      for_each_tensor(given_[i], [&](const at::Tensor& tensor) {
        state = at::native::update_result_type_state(tensor, state);
      });
    return at::native::result_type(state);
  }

  IValue on_device(const IValue& value) const {
    return map_tensors(value, [&](const at::Tensor& tensor) {
      return is_host_number(tensor) ? number_on(device_, tensor, common_dtype()) : tensor;
    });
  }

  bool add_arguments(CustomArguments& to) {
    for (size_t i = 0; i < function_.arguments().size(); i++) {
      const c10::Argument& argument = function_.arguments()[i];
      const IValue value = on_device(given_[i]);
      for_each_tensor(value, [&](const at::Tensor& tensor) { read_.push_back(tensor); });
      if (!append(to, *argument.type(), value, is_written_argument(argument, statistics_)))
        return false;
    }
    return true;
  }

  Stack arguments_without_memory() const {
    Stack stack;
    for (size_t i = 0; i < function_.arguments().size(); i++)
      stack.push_back(map_tensors(given_[i], without_memory));
    return stack;
  }

  /// Runs the function on tensors without memory. False where PyTorch cannot, or raises: whoever is
  /// asked next raises then.
  bool run_without_memory(Stack& stack) const {
    if (!offer_.function.hasComputedKernelForDispatchKey(c10::DispatchKey::Meta)) return false;
    try {
      call_below_autograd(offer_.function, c10::DispatchKey::Meta, stack);
    } catch (const std::exception&) {
      return false;
    }
    return true;
  }

  /// Gives the outputs of an overload that has nothing but outputs, as arange.start_out, their size.
  bool size_outputs() const {
    const auto is_out = [](const c10::Argument& argument) { return argument.is_out(); };
    const std::vector<c10::Argument>& all = function_.arguments();
    if (std::none_of(all.begin(), all.end(), is_out)) return true;
    const Stack arguments = arguments_without_memory();
    Stack stack = arguments;
    if (!run_without_memory(stack)) return false;
    for (size_t i = 0; i < all.size(); i++) {
      if (!is_out(all[i])) continue;
      if (!given_[i].isTensor()) return false;
      at::native::resize_output(given_[i].toTensor(), arguments[i].toTensor().sizes());
      if (at::has_internal_overlap(given_[i].toTensor()) != at::MemOverlap::No) return false;
    }
    return true;
  }

  bool add_results(CustomArguments& to) {
    Stack made = arguments_without_memory();
    if (!run_without_memory(made) || made.size() != function_.returns().size()) return false;
    for (size_t i = 0; i < made.size(); i++) {
      const std::optional<IValue> result = result_like(made[i], i);
      if (!result.has_value()) return false;
      append(to, *function_.returns()[i].type(), *result, /*is_written=*/true);
      results_.push_back(*result);
    }
    return true;
  }

  /// Returns result `index`, which has the form of `form`: a new one, or the one that was given.
  std::optional<IValue> result_like(const IValue& form, size_t index) const {
    if (form_ == NamedForm::function)
      return map_tensors(form, [&](const at::Tensor& tensor) {
        return empty_strided_on(device_, tensor.sizes(), tensor.strides(), tensor.scalar_type());
      });
    const size_t place = form_ == NamedForm::in_place ? 0 : function_.arguments().size() + index;
    if (!form.isTensor() || !given_[place].isTensor()) return std::nullopt;
    return takes(given_[place].toTensor(), form.toTensor()) ? std::optional<IValue>(given_[place])
                                                            : std::nullopt;
  }

  /// Returns whether `out` can get a result of that form, and gives it its size where it may.
  bool takes(const at::Tensor& out, const at::Tensor& form) const {
    if (out.scalar_type() != form.scalar_type()) return false;
    if (form_ == NamedForm::in_place && out.sizes() != form.sizes()) return false;
    if (form_ == NamedForm::out) at::native::resize_output(out, form.sizes());
    return at::has_internal_overlap(out) == at::MemOverlap::No &&
           std::all_of(read_.begin(), read_.end(), [&](const at::Tensor& tensor) {
             const at::MemOverlapStatus overlap = at::get_overlap_status(out, tensor);
             return !out.is_alias_of(tensor) || overlap == at::MemOverlapStatus::No ||
                    overlap == at::MemOverlapStatus::Full;
           });
  }

  Offer& offer_;
  const NamedForm form_;
  const c10::FunctionSchema &schema_, &function_;
  const bool statistics_;
  const c10::ArrayRef<IValue> given_;
  c10::DeviceIndex device_ = -1;
  at::ScalarType dtype_ = at::ScalarType::Undefined;
  Tensors read_;
  std::vector<IValue> results_;
};

/// The kernel of PyTorch's dispatcher: the backend's, and where that refuses what stood here before.
class NamedOperator final : public c10::OperatorKernel {
 public:
  NamedOperator(Offer& offer, const NamedTarget& target)
      : offer_(offer),
        form_(target.form),
        before_(target.op.getComputedKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
    NamedCall call(offer_, form_, op, stack);
    if (!call.serve()) {
      before_.callBoxed(op, keys, stack);
      return;
    }
    std::vector<IValue> results = call.results();
    torch::jit::drop(*stack, op.schema().arguments().size());
    for (IValue& result : results)
      stack->push_back(std::move(result));
  }

 private:
  Offer& offer_;
  const NamedForm form_;
  const c10::SafeKernelFunction before_;
};

/// PyTorch warns where a kernel is put before another one, which is what is wanted here.
class Silent final : public c10::WarningHandler {
  void process(const c10::Warning& /*warning*/) override {}
};

/// Says that devices are asked when they are opened.
[[maybe_unused]] const bool kIsAsked = (Backend::when_opened(offer_named), true);

/// Keeps what was offered so far: never taken back or destroyed, since threads may run at the end.
class Offers {
 public:
  /// Returns what is to be told of it.
  std::vector<std::string> ask(const Backend& backend, c10::DeviceIndex device) {
    const std::lock_guard<std::mutex> guard(lock_);
    Silent silent;
    const c10::WarningUtils::WarningHandlerGuard quiet(&silent);
    for (int i = 0; i < kNamedRowCount; i++) {
      const NamedRow& row = kNamedRows[i];
      if (backend.tables().kernel.kernel_find(backend.instance(), device, row.name, row.version))
        add(row);
    }
    return std::exchange(told_, {});
  }

 private:
  void add(const NamedRow& row) {
    if (!names_.insert(row.name).second) return;
    const std::optional<c10::OperatorHandle> function = function_of(row);
    if (!function.has_value()) {
      if (std::string line = told_of_schema(row); !line.empty()) told_.push_back(std::move(line));
      return;
    }
    Offer& offer = all_.emplace_back(row, *function);
    for (const NamedTarget& target : targets_of(*function)) {
      auto kernel = std::make_unique<NamedOperator>(offer, target);
      const c10::OperatorName& name = target.op.operator_name();
      library_.impl(c10::toString(name).c_str(),
                    torch::CppFunction::makeFromBoxedFunctor<NamedOperator>(std::move(kernel)));
    }
  }

  std::mutex lock_;
  std::unordered_set<std::string> names_;
  std::list<Offer> all_;
  std::vector<std::string> told_;  ///< Lines on what is not asked for, until they are said.
  torch::Library library_{torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__,
                          __LINE__};
};

}  // namespace

void offer_named(c10::DeviceIndex device) {
  const Backend& backend = Backend::get();
  if (!backend.tables().has_kernel || backend.tables().kernel.kernel_find == nullptr) return;
  static auto* offers = new Offers;
  for (const std::string& line : offers->ask(backend, device))
    TORCH_WARN(backend.name(), ": ", line);
}

}  // namespace tbk
