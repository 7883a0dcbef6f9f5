// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Operators on lists of tensors, by the formulas of the operators on one, in one launch.
#include <ATen/core/op_registration/op_registration.h>
#include <aten/empty.h>
#include <aten/operands.h>
#include <aten/routes.h>
#include <aten/values.h>
#include <generic/formula.h>
#include <generic/host_number.h>
#include <generic/launch.h>
#include <generic/pointwise.h>
#include <generic/sets.h>
#include <torch/library.h>

namespace tbk::generic {
namespace {

using Stack = torch::jit::Stack;

/// Says which operator stands for each element of the lists; it has the same arguments in the same order.
struct Each {
  const char* name;      ///< Without "_foreach_".
  const char* overload;  ///< Of the operator on lists.
  const char* of;        ///< A row of kPointwiseRows.
};

constexpr Each kEach[] = {
    {"add", "List", "add.Tensor"},
    {"add", "Scalar", "add.Scalar"},
    {"add", "ScalarList", "add.Scalar"},
    {"add", "Tensor", "add.Tensor"},
    {"sub", "List", "sub.Tensor"},
    {"sub", "Scalar", "sub.Scalar"},
    {"sub", "ScalarList", "sub.Scalar"},
    {"mul", "List", "mul.Tensor"},
    {"mul", "Scalar", "mul.Scalar"},
    {"mul", "ScalarList", "mul.Scalar"},
    {"mul", "Tensor", "mul.Tensor"},
    {"div", "List", "div.Tensor"},
    {"div", "Scalar", "div.Scalar"},
    {"div", "ScalarList", "div.Scalar"},
    {"div", "Tensor", "div.Tensor"},
    {"clamp_min", "List", "clamp_min.Tensor"},
    {"clamp_min", "Scalar", "clamp_min"},
    {"clamp_min", "ScalarList", "clamp_min"},
    {"clamp_max", "List", "clamp_max.Tensor"},
    {"clamp_max", "Scalar", "clamp_max"},
    {"clamp_max", "ScalarList", "clamp_max"},
    {"maximum", "List", "maximum"},
    {"maximum", "Scalar", "clamp_min"},
    {"maximum", "ScalarList", "clamp_min"},
    {"minimum", "List", "minimum"},
    {"minimum", "Scalar", "clamp_max"},
    {"minimum", "ScalarList", "clamp_max"},
    {"pow", "List", "pow.Tensor_Tensor"},
    {"pow", "Scalar", "pow.Tensor_Scalar"},
    {"pow", "ScalarList", "pow.Tensor_Scalar"},
    {"addcdiv", "Scalar", "addcdiv"},
    {"addcdiv", "ScalarList", "addcdiv"},
    {"addcmul", "Scalar", "addcmul"},
    {"addcmul", "ScalarList", "addcmul"},
    {"lerp", "List", "lerp.Tensor"},
    {"lerp", "Scalar", "lerp.Scalar"},
    {"lerp", "ScalarList", "lerp.Scalar"},
};

/// Of one list alone: the row has the same name.
constexpr const char* kOfOne[] = {
    "abs",   "acos",  "asin",    "atan",   "ceil", "cos",   "cosh",  "erf",  "erfc", "exp",
    "expm1", "floor", "frac",    "lgamma", "log",  "log10", "log1p", "log2", "neg",  "reciprocal",
    "round", "rsqrt", "sigmoid", "sign",   "sin",  "sinh",  "sqrt",  "tan",  "tanh", "trunc"};

/// The arguments of a call, as the operator on one tensor has them for each element. Borrows the stack.
class Lists {
 public:
  using Values = c10::ArrayRef<c10::IValue>;

  Lists(const c10::OperatorHandle& op, const Stack& stack,
        const std::vector<c10::Argument>& arguments_of_one) {
    const size_t given = op.schema().arguments().size();
    for (size_t i = 0; i < arguments_of_one.size(); i++) {
      const c10::IValue& value =
          i < given ? torch::jit::peek(stack, i, given) : *arguments_of_one[i].default_value();
      is_list_.push_back(value.isList());
      values_.push_back(value.isList() ? value.toListRef() : Values(value));
    }
  }

  size_t count() const {
    return values_[0].size();
  }
  bool are_even() const {
    for (size_t i = 0; i < values_.size(); i++)
      if (is_list_[i] && values_[i].size() != count()) return false;
    return count() > 0;
  }
  bool is_list(int position) const {
    return is_list_[static_cast<size_t>(position)];
  }
  const c10::IValue& at(int position, size_t element) const {
    const auto place = static_cast<size_t>(position);
    return values_[place][is_list_[place] ? element : 0];
  }

 private:
  c10::SmallVector<Values, 5> values_;
  c10::SmallVector<bool, 5> is_list_;
};

/// One call that a row may serve: tensors of one real dtype and device, that lie alike in each set. What
/// it refuses it has not touched.
class Call {
 public:
  Call(const Row& row, const Lists& lists, bool is_in_place)
      : row_(row), lists_(lists), is_in_place_(is_in_place) {}

  bool run() {
    if (!has_plain_rule() || !lists_.at(0, 0).isTensor()) return false;
    const at::Tensor& first = lists_.at(0, 0).toTensor();
    if (!is_ours(first) || !at::isFloatingType(first.scalar_type())) return false;
    dtype_ = first.scalar_type();
    device_ = first.device();
    if (!offers_pointwise(device_.index()) || !settle_types() || !gather_tensors() ||
        !gather_numbers())
      return false;
    if (!is_in_place_) outputs_.reserve(lists_.count());
    Sets sets(device_.index(), lists_.count());
    for (size_t i = 0; i < lists_.count(); i++)
      if (!holds_for(i) || !add(sets, i)) return false;
    return sets.pointwise(*program_of(row_, types_));
  }
  c10::DeviceIndex device() const {
    return device_.index();
  }
  at::ScalarType dtype() const {
    return dtype_;
  }
  std::vector<at::Tensor>& outputs() {
    return outputs_;
  }

 private:
  /// With operands of one real dtype these give that dtype.
  bool has_plain_rule() const {
    return row_.rule != DtypeRule::kCompare && row_.rule != DtypeRule::kPredicate;
  }
  bool has_exact_numbers() const {
    return (row_.flags & kExactNumbers) != 0;
  }

  bool settle_types() {
    types_.common = types_.out = dtype_;
    for (size_t i = 0; i < 4; i++) {
      const bool is_there = row_.tensors[i] >= 0;
      const c10::IValue* value = is_there ? &lists_.at(row_.tensors[i], 0) : nullptr;
      if (is_there && !value->isTensor()) return false;
      const bool is_loaded = is_there && is_ours(value->toTensor());
      types_.tensors[i] = is_loaded ? dtype_ : at::ScalarType::Undefined;
    }
    return formula_of(row_, computed_in(dtype_)) != nullptr;
  }

  /// Finds which tensors are of lists, and takes what all sets share: numbers of the device, and of the host. A
  /// program loads lists before these.
  bool gather_tensors() {
    for (int i = 0; i < 4 && row_.tensors[i] >= 0; i++) {
      if (lists_.is_list(row_.tensors[i])) {
        listed_.push_back(row_.tensors[i]);
        if (!shared_.empty()) return false;
        continue;
      }
      const at::Tensor& tensor = lists_.at(row_.tensors[i], 0).toTensor();
      if (tensor.dim() != 0 || tensor.scalar_type() != dtype_ || !is_plain(tensor)) return false;
      if (is_host_number(tensor))
        numbers_.push_back(bits(value_of(tensor), has_exact_numbers()));
      else if (tensor.device() == device_)
        shared_.push_back(&tensor);
      else
        return false;
    }
    return true;
  }

  /// Takes the numbers that all sets share, and makes room for those that each has.
  bool gather_numbers() {
    first_number_ = numbers_.size();
    for (int i = 0; i < 4 && row_.numbers[i] >= 0; i++) {
      numbers_.push_back(0);
      if (!lists_.is_list(row_.numbers[i]) && !take_number(i, 0)) return false;
    }
    return true;
  }

  uint64_t bits(const at::Scalar& number, bool is_exact) const {
    return bits_of(number, dtype_, computed_in(dtype_), is_exact);
  }

  /// Numbers that take part in the dtype are rounded to it.
  bool take_number(int which, size_t element) {
    const auto place = static_cast<size_t>(which);
    const c10::IValue& value = lists_.at(row_.numbers[place], element);
    if (!is_real(value)) return false;
    const at::Scalar number = value.toScalar();
    if (!takes_number(row_, place, number, dtype_)) return false;
    const bool is_promoting = (row_.promoting >> which & 1) != 0;
    numbers_[first_number_ + place] = bits(number, !is_promoting || has_exact_numbers());
    return true;
  }

  /// Of what all share it holds or does not with the first.
  bool holds_for(size_t element) const {
    for (uint8_t i = 0; i < row_.condition_count; i++) {
      const Condition& condition = row_.conditions[i];
      if (element > 0 && !lists_.is_list(condition.argument)) continue;
      if (!holds(condition, lists_.at(condition.argument, element))) return false;
    }
    return true;
  }

  /// Adds the set of one element.
  bool add(Sets& sets, size_t element) {
    c10::SmallVector<const at::Tensor*, 4> alike;
    for (const int position : listed_) {
      const c10::IValue& value = lists_.at(position, element);
      if (!value.isTensor()) return false;
      alike.push_back(&value.toTensor());
    }
    if (!lie_alike(alike, dtype_, device_)) return false;
    for (int i = 0; i < 4 && row_.numbers[i] >= 0; i++)
      if (lists_.is_list(row_.numbers[i]) && !take_number(i, element)) return false;
    const at::Tensor* out = alike[0];
    if (!is_in_place_)
      out = &outputs_.emplace_back(
          empty_strided_on(device_.index(), out->sizes(), out->strides(), dtype_));
    if (out->numel() > 0) sets.add({out}, alike, shared_, numbers_);
    return true;
  }

  const Row& row_;
  const Lists& lists_;
  const bool is_in_place_;
  at::Device device_ = at::kCPU;
  at::ScalarType dtype_ = at::ScalarType::Undefined;
  Types types_{};
  c10::SmallVector<int, 4> listed_;  ///< Positions of the tensors that are of lists.
  c10::SmallVector<const at::Tensor*, 4> shared_;
  c10::SmallVector<uint64_t, 4> numbers_;  ///< Of the set that is added next.
  size_t first_number_ = 0;                ///< Behind the tensors that are numbers.
  std::vector<at::Tensor> outputs_;
};

/// Serves one overload.
class Foreach final : public c10::OperatorKernel {
 public:
  Foreach(const std::string& name, const char* of)
      : rows_(rows_of(of)), counter_(counter_of("aten::" + name)) {
    const std::string row = of;
    const size_t dot = std::min(row.find('.'), row.size());
    const std::string overload = dot < row.size() ? row.substr(dot + 1) : "";
    const auto one = c10::Dispatcher::singleton().findSchemaOrThrow(
        ("aten::" + row.substr(0, dot)).c_str(), overload.c_str());
    arguments_of_one_ = one.schema().arguments();
  }

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    if (!is_open(Route::generic) || !serve(op, stack))
      // PyTorch's own, which takes the tensors one by one, whatever their device.
      op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }

 private:
  bool serve(const c10::OperatorHandle& op, Stack* stack) const {
    const Lists lists(op, *stack, arguments_of_one_);
    if (!lists.are_even()) return false;
    const bool is_in_place = op.schema().returns().empty();
    for (int i = 0; i < rows_.count; i++) {
      Call call(rows_.first[i], lists, is_in_place);
      if (!call.run()) continue;
      if (is_in_place) count_writes(torch::jit::peek(*stack, 0, op.schema().arguments().size()));
      torch::jit::drop(*stack, op.schema().arguments().size());
      if (!is_in_place) torch::jit::push(*stack, std::move(call.outputs()));
      count_call(counter_, Route::generic, call.device(), call.dtype());
      return true;
    }
    return false;
  }

  const OverloadRows rows_;
  OperatorCounter& counter_;
  std::vector<c10::Argument> arguments_of_one_;
};

void add(torch::Library& library, const std::string& name, const std::string& overload,
         const char* of) {
  for (const char* end : {"", "_"}) {
    const std::string full = "_foreach_" + name + end + (overload.empty() ? "" : "." + overload);
    library.impl(full.c_str(),
                 torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Foreach>(full, of)));
  }
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const Each& each : kEach)
    add(m, each.name, each.overload, each.of);
  for (const char* name : kOfOne)
    add(m, name, "", name);
}

}  // namespace tbk::generic
