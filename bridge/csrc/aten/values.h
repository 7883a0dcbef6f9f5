// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Arguments as the dispatcher hands them to a kernel that serves any operator.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <aten/optional.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <string>
#include <vector>

namespace tbk {

/// Calls `visit` with each tensor in `value` that is there.
template <class Visit>
void for_each_tensor(const c10::IValue& value, Visit visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector())
      if (tensor.defined()) visit(tensor);
  } else if (value.isOptionalTensorList()) {
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector())
      if (is_there(tensor)) visit(*tensor);
  }
}

/// Returns the same value with each tensor put through `change`.
template <class Change>
c10::IValue map_tensors(const c10::IValue& value, Change change) {
  if (value.isTensor())
    return value.toTensor().defined() ? c10::IValue(change(value.toTensor())) : value;
  if (value.isTensorList()) {
    c10::List<at::Tensor> changed;
    for (const at::Tensor& tensor : value.toTensorVector())
      changed.push_back(tensor.defined() ? change(tensor) : tensor);
    return changed;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> changed;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector())
      changed.push_back(is_there(tensor) ? std::optional<at::Tensor>(change(*tensor)) : tensor);
    return changed;
  }
  return value;
}

/// Calls the operator's kernel of `key`, where derivatives and casts are settled already. Errors: what it raises.
inline void call_below_autograd(const c10::OperatorHandle& op, c10::DispatchKey key,
                                std::vector<c10::IValue>& stack) {
  const c10::impl::ExcludeDispatchKeyGuard below(
      c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset);
  op.redispatchBoxed(c10::DispatchKeySet(key), &stack);
}

/// Counts a write of each tensor of a list. PyTorch counts those of tensors, and leaves lists to kernels.
inline void count_writes(const c10::IValue& value) {
  if (!value.isTensorList()) return;
  for (const c10::IValue& each : value.toListRef())
    if (each.toTensor().defined()) each.toTensor().unsafeGetTensorImpl()->bump_version();
}

/// Returns whether an operator writes running statistics, which two schemas do not say.
inline bool updates_statistics(const c10::OperatorHandle& op) {
  const std::string& name = op.operator_name().name;
  return name == "aten::native_batch_norm" || name == "aten::batch_norm_update_stats";
}

/// Returns whether an argument is written; `updates`: by such an operator.
inline bool is_written_argument(const c10::Argument& argument, bool updates) {
  return (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) ||
         (updates && argument.name().rfind("running_", 0) == 0);
}

}  // namespace tbk
