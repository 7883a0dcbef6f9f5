// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <aten/named.h>

#include <optional>
#include <string>
#include <vector>

namespace tbk {

/// Says how an operator of PyTorch gives the results of the function that a kernel computes.
enum class NamedForm : uint8_t {
  function,  ///< New tensors; or, where the function itself writes arguments, these.
  in_place,  ///< The first argument.
  out,       ///< The last arguments, as many as there are results.
};

struct NamedTarget {
  c10::OperatorHandle op;
  NamedForm form;
};

/// Returns the operator that `row` was made of; nothing where this PyTorch has none or another schema,
/// and where a kernel can't be asked: it takes a generator, makes a view, returns what is no tensor, or has
/// no tensor that says which device is meant.
std::optional<c10::OperatorHandle> function_of(const NamedRow& row);

/// Returns that operator and its forms, of which calls come to the device: PyTorch composes the others of
/// these, or of other operators.
std::vector<NamedTarget> targets_of(const c10::OperatorHandle& function);

/// Returns a line that says which schema this PyTorch has instead of the one that `row` was made of;
/// empty where it is the same, or where there is no such operator, which nobody can call.
std::string told_of_schema(const NamedRow& row);

}  // namespace tbk
