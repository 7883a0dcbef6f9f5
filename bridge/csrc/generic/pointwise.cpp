// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// One kernel for all rows of kPointwiseRows.
#include <ATen/core/op_registration/op_registration.h>
#include <aten/fallback.h>
#include <aten/routes.h>
#include <generic/pointwise.h>
#include <generic/pointwise_call.h>
#include <runtime/backend.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tbk::generic {

bool is_plain(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && !tensor.is_quantized() &&
         !tensor.is_nested() && tensor.has_storage() && !tensor.is_conj() && !tensor.is_neg() &&
         !tensor._is_zerotensor();
}

/// Returns whether an INT64 or a double holds it, or two of these.
bool is_number(const c10::IValue& value) {
  return value.isScalar() && value.toScalar().type() != at::kUInt64;
}
bool is_real(const c10::IValue& value) {
  return is_number(value) && !value.isComplexDouble();
}

bool holds(const Condition& condition, const c10::IValue& value) {
  switch (condition.is) {
    case Is::kAbsent:
      return value.isNone() || (value.isTensor() && !value.toTensor().defined());
    case Is::kPresent:
      return !value.isNone() && !(value.isTensor() && !value.toTensor().defined());
    case Is::kInteger:
      if (value.isBool()) return static_cast<int64_t>(value.toBool()) == condition.integer;
      return value.isInt() && value.toInt() == condition.integer;
    case Is::kText:
      return value.isString() && value.toStringRef() == condition.text;
    case Is::kNotNegative:
      return is_real(value) && value.toScalar().toDouble() >= 0;
    case Is::kPositive:
      return is_real(value) && value.toScalar().toDouble() > 0;
    case Is::kNotNegativeFinite:
      return is_real(value) && value.toScalar().toDouble() >= 0 &&
             std::isfinite(value.toScalar().toDouble());
  }
  return false;
}

OverloadRows rows_of(std::string_view overload) {
  const Row* end = kPointwiseRows + kPointwiseRowCount;
  const auto less = [](const Row& row, std::string_view name) { return row.overload < name; };
  const Row* first = std::lower_bound(kPointwiseRows, end, overload, less);
  OverloadRows rows{first, 0};
  while (first + rows.count < end && overload == first[rows.count].overload)
    rows.count++;
  return rows;
}

namespace {

using Stack = torch::jit::Stack;

/// Returns whether a backend may serve the parts of what PyTorch makes of other operators.
bool may_serve_parts() {
  return Backend::get().tables().has_kernel && forced_route() != Route::fallback;
}

/// Leaves a call to PyTorch: to what it makes the operator of, such as add.Tensor for add.Scalar, whose parts the
/// backend may serve by name; else to its CPU.
void leave_to_pytorch(const c10::OperatorHandle& op, Stack* stack) {
  constexpr auto kParts = c10::DispatchKey::CompositeExplicitAutograd;
  if (op.hasKernelForDispatchKey(kParts) && may_serve_parts())
    op.callBoxedForDispatchKey(kParts, *stack);
  else
    cpu_fallback(op, stack);
}

/// Serves one overload; made when it is registered.
class Pointwise final : public c10::OperatorKernel {
 public:
  explicit Pointwise(std::string_view overload)
      : rows_(rows_of(overload)), counter_(counter_of("aten::" + std::string(overload))) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    run(op, stack);
  }
  void run(const c10::OperatorHandle& op, Stack* stack) {
    if (is_open(Route::generic))
      for (int i = 0; i < rows_.count; i++) {
        const std::optional<Served> served = serve(rows_.first[i], op, stack);
        if (!served.has_value()) continue;
        return count_call(counter_, Route::generic, served->device, served->dtype);
      }
    leave_to_pytorch(op, stack);
  }

 private:
  const OverloadRows rows_;
  OperatorCounter& counter_;
};

/// Overloads that have kernels by hand, which come here when they are done.
constexpr std::string_view kByHand[] = {"mse_loss",       "add.Tensor",
                                        "add_.Tensor",    "add.out",
                                        "sub.Tensor",     "sub_.Tensor",
                                        "sub.out",        "mul.Tensor",
                                        "mul_.Tensor",    "mul.out",
                                        "where.self",     "where.self_out",
                                        "smooth_l1_loss", "smooth_l1_loss_backward.grad_input",
                                        "huber_loss",     "huber_loss_backward.out"};

/// What PyTorch makes of other operators, whose results have other strides than TensorIterator's: those
/// operators come here.
constexpr std::string_view kLeftToPyTorch[] = {
    "conj_physical_",    "huber_loss_backward", "masked_fill.Scalar", "masked_fill.Tensor",
    "mse_loss_backward", "pow.Scalar",          "pow.Scalar_out",     "smooth_l1_loss_backward"};

bool is_among(std::string_view overload, c10::ArrayRef<std::string_view> list) {
  return std::find(list.begin(), list.end(), overload) != list.end();
}

/// PyTorch makes many forms with an output of the function and a copy, which gives contiguous results.
bool is_made_of_function(const Row& row) {
  const std::string_view full(row.overload);
  const size_t dot = full.find('.');
  const std::string name = "aten::" + std::string(full.substr(0, dot));
  const std::string overload(dot == full.npos ? "" : full.substr(dot + 1));
  const auto op = c10::Dispatcher::singleton().findOp({name, overload});
  return row.form == Form::kOut && op.has_value() &&
         op->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd);
}

bool has_kernel_here(const Row& row) {
  return !is_among(row.overload, kByHand) && !is_among(row.overload, kLeftToPyTorch) &&
         !is_made_of_function(row);
}

}  // namespace

void pointwise_or_fallback(const c10::OperatorHandle& op, Stack* stack) {
  static auto* kernels = [] {
    auto* made = new std::unordered_map<std::string, Pointwise>;
    for (std::string_view overload : kByHand)
      made->emplace(overload, overload);
    return made;
  }();
  const c10::OperatorName& name = op.operator_name();
  const size_t base = std::string_view("aten::").size();
  const std::string end = name.overload_name.empty() ? "" : "." + name.overload_name;
  const auto kernel = kernels->find(name.name.substr(base) + end);
  TORCH_INTERNAL_ASSERT(kernel != kernels->end(), name, " is not said to have a kernel by hand");
  kernel->second.run(op, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (int i = 0; i < kPointwiseRowCount; i++) {
    const char* overload = kPointwiseRows[i].overload;
    const bool is_first = i == 0 || std::string_view(kPointwiseRows[i - 1].overload) != overload;
    if (is_first && has_kernel_here(kPointwiseRows[i]))
      m.impl(overload,
             torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Pointwise>(overload)));
  }
}

}  // namespace tbk::generic
