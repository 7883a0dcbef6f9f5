// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>

namespace tbk {

/// Names the kinds of tensors that PyTorch has and this device has not.
enum class TensorKind : uint8_t { sparse, nested, quantised, mkldnn };

/// Throws NotImplementedError, which names the operator, the kind, and what to do instead.
[[noreturn]] void refuse_kind(const c10::OperatorHandle& op, TensorKind kind);

}  // namespace tbk
