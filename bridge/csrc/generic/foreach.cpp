// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Operators on lists of tensors, by the formulas of the operators on one, in one launch.
#include <ATen/core/op_registration/op_registration.h>
#include <aten/empty.h>
#include <aten/operands.h>
#include <aten/routes.h>
#include <generic/formula.h>
#include <generic/host_number.h>
#include <generic/launch.h>
#include <generic/pointwise.h>
#include <generic/sets.h>
#include <torch/library.h>

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>

namespace tbk::generic {
namespace {

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

/// An argument of a call: a list, or what all elements share. Borrows it.
struct Argument {
  Argument(at::TensorList list) : tensors(list), is_list(true) {}
  Argument(at::ArrayRef<at::Scalar> list) : numbers(list), is_list(true) {}
  Argument(const at::Tensor& one) : tensors(one), is_list(false) {}
  Argument(const at::Scalar& one) : numbers(one), is_list(false) {}

  at::TensorList tensors;  ///< Empty where they are numbers.
  at::ArrayRef<at::Scalar> numbers;
  bool is_list;
};

/// The arguments of a call, as the operator on one tensor has them for each element.
class Lists {
 public:
  /// `more` are those of that operator behind the ones that were given.
  Lists(std::initializer_list<Argument> given, c10::ArrayRef<at::Scalar> more) : arguments_(given) {
    for (const at::Scalar& each : more)
      arguments_.emplace_back(each);
  }

  size_t count() const {
    return arguments_[0].tensors.size();
  }
  bool are_even() const {
    for (const Argument& each : arguments_)
      if (each.is_list && std::max(each.tensors.size(), each.numbers.size()) != count())
        return false;
    return count() > 0;
  }
  bool is_list(int position) const {
    return at(position).is_list;
  }
  bool has_tensor(int position) const {
    return !at(position).tensors.empty();
  }
  const at::Tensor& tensor(int position, size_t element) const {
    return at(position).tensors[is_list(position) ? element : 0];
  }
  c10::IValue value(int position, size_t element) const {
    if (has_tensor(position)) return tensor(position, element);
    return at(position).numbers[is_list(position) ? element : 0];
  }

 private:
  const Argument& at(int position) const {
    return arguments_[static_cast<size_t>(position)];
  }

  c10::SmallVector<Argument, 5> arguments_;
};

/// One call that a row may serve: tensors of one real dtype and device, that lie alike in each set. What
/// it refuses it has not touched.
class ForeachCall {
 public:
  ForeachCall(const Row& row, const Lists& lists, bool is_in_place)
      : row_(row), lists_(lists), is_in_place_(is_in_place) {}

  bool run() {
    if (!has_plain_rule()) return false;
    const at::Tensor& first = lists_.tensor(0, 0);
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
      const int position = row_.tensors[i];
      if (position >= 0 && !lists_.has_tensor(position)) return false;
      const bool is_loaded = position >= 0 && is_ours(lists_.tensor(position, 0));
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
      const at::Tensor& tensor = lists_.tensor(row_.tensors[i], 0);
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
    const c10::IValue value = lists_.value(row_.numbers[place], element);
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
      if (!holds(condition, lists_.value(condition.argument, element))) return false;
    }
    return true;
  }

  /// Adds the set of one element.
  bool add(Sets& sets, size_t element) {
    c10::SmallVector<const at::Tensor*, 4> alike;
    for (const int position : listed_)
      alike.push_back(&lists_.tensor(position, element));
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

/// Serves one overload. It is called with arguments as they are: a list in a box is a copy of each tensor.
class Foreach {
 public:
  Foreach(const std::string& name, const std::string& overload, const std::string& of)
      : rows_(rows_of(of)),
        counter_(counter_of("aten::" + name + (overload.empty() ? "" : "." + overload))),
        op_(schema_of(name, overload)) {
    const size_t dot = std::min(of.find('.'), of.size());
    const auto one = schema_of(of.substr(0, dot), dot < of.size() ? of.substr(dot + 1) : "");
    for (size_t i = arguments().size(); i < one.schema().arguments().size(); i++)
      more_.push_back(one.schema().arguments()[i].default_value()->toScalar());
  }

  bool is_in_place() const {
    return op_.schema().returns().empty();
  }
  const std::vector<c10::Argument>& arguments() const {
    return op_.schema().arguments();
  }

  template <class Result, class... Rest>
  Result call(at::TensorList self, Rest... rest) const {
    std::vector<at::Tensor> outputs;
    if (!is_open(Route::generic) || !serve(Lists({self, rest...}, more_), outputs))
      // PyTorch's own, which takes the tensors one by one, whatever their device.
      return op_.typed<Result(at::TensorList, Rest...)>().redispatch(
          c10::DispatchKeySet(c10::DispatchKey::CPU), self, rest...);
    if constexpr (!std::is_void_v<Result>) {
      return outputs;
    } else {
      // PyTorch counts the writes of tensors, and leaves lists to kernels.
      for (const at::Tensor& each : self)
        each.unsafeGetTensorImpl()->bump_version();
    }
  }

 private:
  static c10::OperatorHandle schema_of(const std::string& name, const std::string& overload) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(("aten::" + name).c_str(),
                                                          overload.c_str());
  }

  bool serve(const Lists& lists, std::vector<at::Tensor>& outputs) const {
    if (!lists.are_even()) return false;
    for (int i = 0; i < rows_.count; i++) {
      ForeachCall call(rows_.first[i], lists, is_in_place());
      if (!call.run()) continue;
      outputs = std::move(call.outputs());
      count_call(counter_, Route::generic, call.device(), call.dtype());
      return true;
    }
    return false;
  }

  const OverloadRows rows_;
  OperatorCounter& counter_;
  const c10::OperatorHandle op_;
  std::vector<at::Scalar> more_;
};

using ForeachKernel = std::shared_ptr<const Foreach>;

template <class... Rest>
void add_as(torch::Library& library, const char* name, const ForeachKernel& kernel) {
  if (kernel->is_in_place())
    library.impl(name, [kernel](at::TensorList self, Rest... rest) {
      kernel->call<void, Rest...>(self, rest...);
    });
  else
    library.impl(name, [kernel](at::TensorList self, Rest... rest) {
      return kernel->call<std::vector<at::Tensor>, Rest...>(self, rest...);
    });
}

using Tensors = at::TensorList;
using Number = const at::Scalar&;
using Numbers = at::ArrayRef<at::Scalar>;

/// Lists what may stand behind the first list, as in a schema.
constexpr struct {
  const char* arguments;
  void (*add)(torch::Library& library, const char* name, const ForeachKernel& kernel);
} kForms[] = {
    {"", add_as<>},
    {"Scalar ", add_as<Number>},
    {"Scalar[] ", add_as<Numbers>},
    {"Tensor ", add_as<const at::Tensor&>},
    {"Tensor Scalar ", add_as<const at::Tensor&, Number>},
    {"Tensor[] ", add_as<Tensors>},
    {"Tensor[] Scalar ", add_as<Tensors, Number>},
    {"Tensor[] Scalar[] ", add_as<Tensors, Numbers>},
    {"Tensor[] Tensor[] ", add_as<Tensors, Tensors>},
    {"Tensor[] Tensor[] Scalar ", add_as<Tensors, Tensors, Number>},
    {"Tensor[] Tensor[] Scalar[] ", add_as<Tensors, Tensors, Numbers>},
};

std::string form_of(const Foreach& kernel) {
  std::string form;
  for (size_t i = 1; i < kernel.arguments().size(); i++)
    form += kernel.arguments()[i].type()->str() + " ";
  return form;
}

void add(torch::Library& library, const std::string& name, const std::string& overload,
         const char* of) {
  for (const char* end : {"", "_"}) {
    const std::string base = "_foreach_" + name + end;
    const std::string full = base + (overload.empty() ? "" : "." + overload);
    const auto kernel = std::make_shared<const Foreach>(base, overload, of);
    const auto* form = std::find_if(std::begin(kForms), std::end(kForms), [&](const auto& each) {
      return form_of(*kernel) == each.arguments;
    });
    TORCH_INTERNAL_ASSERT(form != std::end(kForms), full,
                          " has arguments of its own: ", form_of(*kernel));
    form->add(library, full.c_str(), kernel);
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
