// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// One kernel for all rows of kPointwiseRows.
#include <ATen/MemoryOverlap.h>
#include <ATen/TensorIterator.h>
#include <ATen/core/op_registration/op_registration.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/_to_copy.h>
#include <aten/fallback.h>
#include <aten/operands.h>
#include <aten/routes.h>
#include <generic/formula.h>
#include <generic/host_number.h>
#include <generic/launch.h>
#include <generic/pointwise.h>
#include <torch/library.h>

#include <algorithm>
#include <string_view>

namespace tbk::generic {

bool is_plain(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && !tensor.is_quantized() &&
         !tensor.is_nested() && tensor.has_storage() && !tensor.is_conj() && !tensor.is_neg() &&
         !tensor._is_zerotensor();
}

/// Returns whether an INT64 or a double holds it.
bool is_real(const c10::IValue& value) {
  return value.isScalar() && !value.isComplexDouble() && value.toScalar().type() != at::kUInt64;
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

/// One call that a row may serve. What it refuses it has not touched, but for an output's size.
class Call {
 public:
  Call(const Row& row, const c10::OperatorHandle& op, Stack* stack)
      : row_(row), stack_(stack), count_(op.schema().arguments().size()) {}

  /// Returns whether the row has served the call; then the stack holds the result.
  bool run() {
    if (!gather() || !offers_pointwise(device_) || !settle_types()) return false;
    build();
    return launch();
  }
  c10::DeviceIndex device() const {
    return device_;
  }
  at::ScalarType result_dtype() const {
    return types_.out;
  }

 private:
  const c10::IValue& argument(int position) const {
    return torch::jit::peek(*stack_, static_cast<size_t>(position), count_);
  }
  bool is_promoting(size_t i) const {
    return (row_.promoting_tensors >> i & 1) != 0;
  }

  bool gather() {
    for (uint8_t i = 0; i < row_.condition_count; i++)
      if (!holds(row_.conditions[i], argument(row_.conditions[i].argument))) return false;
    return gather_tensors() && gather_numbers() && gather_written();
  }

  bool gather_tensors() {
    bool has_device = false;
    for (int i = 0; i < 4 && row_.tensors[i] >= 0; i++) {
      const c10::IValue& value = argument(row_.tensors[i]);
      if (!value.isTensor() || !is_plain(value.toTensor())) return false;
      const at::Tensor& tensor = value.toTensor();
      if (is_ours(tensor)) {
        if (has_device && tensor.device().index() != device_) return false;
        device_ = tensor.device().index();
        has_device = true;
      } else if (!is_host_number(tensor) || tensor.scalar_type() == at::kUInt64) {
        return false;
      }
      tensors_.push_back(tensor);
    }
    return has_device;
  }

  bool gather_numbers() {
    for (int i = 0; i < 4 && row_.numbers[i] >= 0; i++) {
      const c10::IValue& value = argument(row_.numbers[i]);
      if (!is_real(value)) return false;
      numbers_.push_back(value.toScalar());
      if ((row_.promoting >> i & 1) != 0) wrapped_.push_back(wrapped_number(numbers_.back()));
    }
    return true;
  }

  bool gather_written() {
    if (row_.form == Form::kFunction) return true;
    const int position = row_.form == Form::kInPlace ? 0 : static_cast<int>(count_) - 1;
    const c10::IValue& value = argument(position);
    if (!value.isTensor() || !is_plain(value.toTensor())) return false;
    written_ = value.toTensor();
    // Some operators of PyTorch's write to expanded tensors, and warn.
    return is_ours(written_) && written_.device().index() == device_ &&
           at::has_internal_overlap(written_) != at::MemOverlap::Yes;
  }

  /// What operands are cast to; Undefined where that is no dtype of ours.
  at::ScalarType common_dtype() const {
    if (has_own_dtype() || row_.rule == DtypeRule::kPredicate)
      return tensors_[first_promoting()].scalar_type();
    at::native::ResultTypeState state;
    for (size_t i = 0; i < tensors_.size(); i++)
      if (is_promoting(i)) state = at::native::update_result_type_state(tensors_[i], state);
    for (const at::Tensor& number : wrapped_)
      state = at::native::update_result_type_state(number, state);
    const at::ScalarType common = at::native::result_type(state);
    const bool is_float = row_.rule == DtypeRule::kPromoteToFloat;
    return is_float && at::isIntegralType(common, /*includeBool=*/true)
               ? at::typeMetaToScalarType(at::get_default_dtype())
               : common;
  }

  bool has_own_dtype() const {
    return row_.rule == DtypeRule::kSelf || row_.rule == DtypeRule::kSame;
  }

  /// Whether the row is for operands of these dtypes; PyTorch raises for some others.
  bool takes_dtypes() const {
    const bool refuses_truth = (row_.flags & kRefusesTruth) != 0;
    const bool refuses_half = (row_.flags & kRefusesHalf) != 0;
    if (!takes_output() || (refuses_half && at::isReducedFloatingType(types_.common))) return false;
    for (size_t i = 0; i < tensors_.size(); i++) {
      const at::ScalarType dtype = tensors_[i].scalar_type();
      if (!is_promoting(i)) {
        if (dtype != at::kBool || !is_ours(tensors_[i])) return false;
        continue;
      }
      if (refuses_truth && dtype == at::kBool) return false;
      if (has_own_dtype() && dtype != types_.common) return false;
    }
    for (const at::Tensor& number : wrapped_)
      if (refuses_truth && number.scalar_type() == at::kBool) return false;
    return true;
  }

  /// Whether PyTorch writes a result of that dtype there.
  bool takes_output() const {
    switch (row_.rule) {
      case DtypeRule::kPredicate:
        return types_.out == at::kBool;
      case DtypeRule::kCompare:
        return true;
      case DtypeRule::kSelf:
      case DtypeRule::kSame:
        return types_.out == types_.common;
      default:
        return has_condition() ? types_.out == types_.common
                               : at::canCast(types_.common, types_.out);
    }
  }
  bool has_condition() const {
    for (size_t i = 0; i < tensors_.size(); i++)
      if (!is_promoting(i)) return true;
    return false;
  }

  size_t first_promoting() const {
    size_t i = 0;
    while (i + 1 < tensors_.size() && !is_promoting(i))
      i++;
    return i;
  }

  bool settle_types() {
    types_.common = common_dtype();
    types_.out = written_.defined() ? written_.scalar_type() : new_dtype();
    types_.unrounded = 0;
    const bool is_exact = (row_.flags & kExactNumbers) != 0;
    for (size_t i = 0; i < 4; i++) {
      const bool is_loaded = i < tensors_.size() && is_ours(tensors_[i]);
      types_.tensors[i] = is_loaded ? tensors_[i].scalar_type() : at::ScalarType::Undefined;
      if (is_loaded && is_exact && tensors_[i].numel() == 1 && is_promoting(i))
        types_.unrounded = static_cast<uint8_t>(types_.unrounded | 1U << i);
    }
    if (!takes_dtypes()) return false;
    const at::ScalarType computed = computed_in(types_.common);
    if (formula_of(row_, computed) == nullptr) return false;
    const bool divides = (row_.flags & kDividesIntegers) != 0;
    if (divides && (computed == at::kInt || computed == at::kLong) && !divides_by_number())
      return false;
    return are_numbers_in_range();
  }

  /// Returns whether the divisor is a number of the host, and not zero, for which PyTorch raises.
  bool divides_by_number() const {
    std::optional<at::Scalar> divisor;
    if (tensors_.size() == 2 && is_host_number(tensors_[1])) divisor = value_of(tensors_[1]);
    if (tensors_.size() == 1 && row_.numbers[0] > row_.tensors[0]) divisor = numbers_[0];
    return divisor.has_value() &&
           bits_of(*divisor, types_.common, computed_in(types_.common), /*is_exact=*/false) != 0;
  }

  at::ScalarType new_dtype() const {
    const bool is_bool = row_.rule == DtypeRule::kCompare || row_.rule == DtypeRule::kPredicate;
    return is_bool ? at::kBool : types_.common;
  }

  /// PyTorch raises for the others, or computes what no dtype of ours holds.
  bool are_numbers_in_range() const {
    for (size_t i = 0; i < numbers_.size(); i++)
      if (!takes_number(row_, i, numbers_[i], types_.common)) return false;
    return true;
  }

  /// PyTorch itself finds the sizes, strides and memory format of the result, and what is wrong with
  /// sizes, overlaps and devices: what its own kernels do for every device. Numbers are of no size.
  void build() {
    at::TensorIteratorConfig config;
    config.check_all_same_dtype(false).add_output(written_);
    for (at::Tensor& tensor : tensors_)
      if (is_ours(tensor)) config.add_const_input(tensor);
    if (!written_.defined()) config.declare_static_dtype(types_.out);
    iterator_.build(config);
  }

  bool launch() {
    const at::Tensor out = iterator_.output();
    if (iterator_.numel() > 0 && !launch_on(out)) return false;
    torch::jit::drop(*stack_, count_);
    torch::jit::push(*stack_, written_.defined() ? written_ : out);
    return true;
  }

  bool launch_on(const at::Tensor& out) {
    const Program* program = program_of(row_, types_);
    const at::DimVector sizes(iterator_.shape().rbegin(), iterator_.shape().rend());
    Launch launch(device_, sizes);
    int operand = 0;
    launch.output(out, strides(operand++, out));
    for (const at::Tensor& tensor : tensors_)
      if (is_ours(tensor)) launch.input(tensor, strides(operand++, tensor));
    const at::ScalarType computed = computed_in(types_.common);
    const bool is_exact = (row_.flags & kExactNumbers) != 0;
    for (const at::Tensor& tensor : tensors_)
      if (!is_ours(tensor))
        launch.number(bits_of(value_of(tensor), types_.common, computed, is_exact));
    for (size_t i = 0; i < numbers_.size(); i++) {
      const bool is_rounded = (row_.promoting >> i & 1) != 0 && !is_exact;
      launch.number(bits_of(numbers_[i], types_.common, computed, !is_rounded));
    }
    return launch.pointwise(*program);
  }

  /// In elements, the last dimension last; the iterator has bytes, the last dimension first.
  at::DimVector strides(int operand, const at::Tensor& tensor) const {
    const c10::IntArrayRef bytes = iterator_.strides(operand);
    at::DimVector result(bytes.rbegin(), bytes.rend());
    for (int64_t& stride : result)
      stride /= static_cast<int64_t>(tensor.element_size());
    return result;
  }

  const Row& row_;
  Stack* stack_;
  const size_t count_;
  c10::DeviceIndex device_ = 0;
  c10::SmallVector<at::Tensor, 4> tensors_, wrapped_;
  c10::SmallVector<at::Scalar, 4> numbers_;
  at::Tensor written_;
  Types types_{};
  at::TensorIterator iterator_;
};

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
        Call call(rows_.first[i], op, stack);
        if (!call.run()) continue;
        return count_call(counter_, Route::generic, call.device(), call.result_dtype());
      }
    cpu_fallback(op, stack);
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
    "huber_loss_backward", "masked_fill.Scalar", "masked_fill.Tensor",     "mse_loss_backward",
    "pow.Scalar",          "pow.Scalar_out",     "smooth_l1_loss_backward"};

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
