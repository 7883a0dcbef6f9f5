// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace tbk {

/// Counts a call of `op` that runs on the CPU for `device`, whose first tensor there is of `dtype`
/// (Undefined: it has none); warns about it or refuses it, as the mode says. Returns its name, which
/// lives as long as the process.
/// Errors: NotImplementedError in the mode `error`; then nothing is counted.
const char* count_fallback(const c10::OperatorHandle& op, c10::DeviceIndex device,
                           at::ScalarType dtype);

}  // namespace tbk
