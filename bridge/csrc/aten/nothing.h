// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace tbk {

/// Answers a call whose results have no elements: PyTorch's shape function says what they are, and nothing is
/// computed or copied. Returns false, with the stack as it was, where a result has elements, where PyTorch has no
/// shape function, and where that raises: the CPU's error is PyTorch's own. Counted as composed, of no launch.
bool serve_nothing(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace tbk
