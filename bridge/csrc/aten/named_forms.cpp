// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <aten/named_arguments.h>
#include <aten/named_forms.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/version.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace tbk {
namespace {

using c10::Argument;
using Arguments = std::vector<Argument>;

/// They change what a tensor is, and not its values.
constexpr std::string_view kNeverAsked[] = {"aten::resize_", "aten::resize_as_", "aten::set_"};

bool is_written(const Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

bool holds_tensors(const c10::Type& type) {
  return type.isSubtypeOf(*c10::TensorType::get()) || type.isSubtypeOf(*c10::ListType::ofTensors());
}

bool are_same(const Argument& one, const Argument& other) {
  return one.name() == other.name() && *one.type() == *other.type();
}

/// Returns whether `longer` begins with the arguments of `shorter`.
bool begins_with(const Arguments& longer, const Arguments& shorter) {
  return longer.size() >= shorter.size() &&
         std::equal(shorter.begin(), shorter.end(), longer.begin(), are_same);
}

bool has_kernel(const c10::OperatorHandle& op, c10::DispatchKey key) {
  return op.hasKernelForDispatchKey(key);
}

/// Also where PyTorch could compose it: some have a kernel of the bridge's.
bool reaches_device(const c10::OperatorHandle& op) {
  return has_kernel(op, c10::DispatchKey::PrivateUse1) ||
         (!has_kernel(op, c10::DispatchKey::CompositeImplicitAutograd) &&
          !has_kernel(op, c10::DispatchKey::CompositeExplicitAutogradNonFunctional));
}

/// All results are new tensors, or all are arguments that are written.
bool can_be_asked(const c10::FunctionSchema& schema) {
  const Arguments &arguments = schema.arguments(), &returns = schema.returns();
  const auto is_new = [](const Argument& one) {
    return one.alias_info() == nullptr && holds_tensors(*one.type());
  };
  const bool are_results_known = std::all_of(returns.begin(), returns.end(), is_new) ||
                                 std::all_of(returns.begin(), returns.end(), is_written);
  return are_results_known &&
         std::ranges::find(kNeverAsked, schema.name()) == std::end(kNeverAsked) &&
         std::all_of(arguments.begin(), arguments.end(),
                     [](const Argument& one) { return is_passed(*one.type()); }) &&
         std::any_of(arguments.begin(), arguments.end(),
                     [](const Argument& one) { return holds_tensors(*one.type()); });
}

bool is_in_place(const c10::FunctionSchema& schema, const c10::FunctionSchema& function) {
  return schema.name() == function.name() + "_" && function.returns().size() == 1 &&
         schema.arguments().size() == function.arguments().size() &&
         begins_with(schema.arguments(), function.arguments()) && !schema.arguments().empty() &&
         is_written(schema.arguments()[0]);
}

bool is_out(const c10::FunctionSchema& schema, const c10::FunctionSchema& function) {
  const Arguments& arguments = schema.arguments();
  const size_t given = function.arguments().size();
  return schema.name() == function.name() && !function.returns().empty() &&
         arguments.size() == given + function.returns().size() &&
         begins_with(arguments, function.arguments()) &&
         std::all_of(arguments.begin() + static_cast<ptrdiff_t>(given), arguments.end(),
                     is_written);
}

std::optional<NamedForm> form_of(const c10::FunctionSchema& schema,
                                 const c10::FunctionSchema& function) {
  if (schema.operator_name() == function.operator_name()) return NamedForm::function;
  if (is_in_place(schema, function)) return NamedForm::in_place;
  if (is_out(schema, function)) return NamedForm::out;
  return std::nullopt;
}

bool is_same_schema(const c10::FunctionSchema& one, const c10::FunctionSchema& other) {
  return one.arguments().size() == other.arguments().size() &&
         begins_with(one.arguments(), other.arguments()) &&
         one.returns().size() == other.returns().size();
}

}  // namespace

std::optional<c10::OperatorHandle> function_of(const NamedRow& row) {
  const c10::FunctionSchema written = torch::jit::parseSchema(std::string("aten::") + row.schema);
  const auto found = c10::Dispatcher::singleton().findSchema(written.operator_name());
  if (!found.has_value() || !is_same_schema(found->schema(), written) ||
      !can_be_asked(found->schema()))
    return std::nullopt;
  return found;
}

std::string told_of_schema(const NamedRow& row) {
  const c10::FunctionSchema written = torch::jit::parseSchema(std::string("aten::") + row.schema);
  const auto found = c10::Dispatcher::singleton().findSchema(written.operator_name());
  if (!found.has_value() || is_same_schema(found->schema(), written) ||
      !can_be_asked(found->schema()))
    return "";
  return std::string(row.name) + " is not asked for: its arguments are those of " + row.schema +
         ", and PyTorch " TORCH_VERSION " has " + c10::toString(found->schema());
}

std::vector<NamedTarget> targets_of(const c10::OperatorHandle& function) {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  const std::string &base = function.schema().name(), in_place = base + "_";
  const bool writes = std::ranges::any_of(function.schema().arguments(), is_written);
  std::vector<NamedTarget> targets;
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.name != base && name.name != in_place) continue;
    const auto op = dispatcher.findSchema(name);
    if (!op.has_value() || !reaches_device(*op)) continue;
    const auto form = form_of(op->schema(), function.schema());
    if (form.has_value() && (!writes || *form == NamedForm::function))
      targets.push_back({*op, *form});
  }
  return targets;
}

}  // namespace tbk
