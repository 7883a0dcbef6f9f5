// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <generic/rows.h>

#include <optional>

namespace tbk::generic {

/// Says where a call was served, and of which dtype its result is.
struct Served {
  c10::DeviceIndex device;
  at::ScalarType dtype;
};

/// Runs a call of `op` by `row`: then the stack holds the result. Nothing where the row does not serve it; then the call is as it
/// was, but for an output's size. Errors: those of PyTorch, and of the backend.
std::optional<Served> serve(const Row& row, const c10::OperatorHandle& op,
                            torch::jit::Stack* stack);

}  // namespace tbk::generic
