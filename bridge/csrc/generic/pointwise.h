// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <generic/rows.h>

#include <string_view>

namespace tbk::generic {

/// Runs `op` by tbk::pointwise where a row of kPointwiseRows fits the call and the device takes it, and
/// by the fallback where not: for operators whose kernels here have done what they can. Errors: those
/// of PyTorch, and of the backend.
void pointwise_or_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// The rows of one overload, which stand together; none where there is none.
struct OverloadRows {
  const Row* first = nullptr;
  int count = 0;
};
OverloadRows rows_of(std::string_view overload);
/// Returns whether `value` is what `condition` asks for.
bool holds(const Condition& condition, const c10::IValue& value);
/// Returns whether `value` is a number that programs know: real, or complex where a row is for these.
bool is_number(const c10::IValue& value);
/// Returns whether it is one, and no complex one.
bool is_real(const c10::IValue& value);
/// Returns whether `tensor` is dense or strided, but a tensor like others: not quantised, nested, or
/// with pending conjugation.
bool is_plain(const at::Tensor& tensor);

}  // namespace tbk::generic
