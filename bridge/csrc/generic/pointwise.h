// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace tbk::generic {

/// Runs `op` by tbk::pointwise where a row of kPointwiseRows fits the call and the device takes it, and
/// by the fallback where not: for operators whose kernels here have done what they can. Errors: those
/// of PyTorch, and of the backend.
void pointwise_or_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace tbk::generic
