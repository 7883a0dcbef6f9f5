// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tbk {

/// Runs `op` on the CPU and brings the results back: for every operator that has no kernel here.
///
/// Each storage among the arguments is brought to the host once, and arguments are seen through
/// views of it with their own sizes and strides, so that what aliases on the device aliases on the
/// host. Where the host may dereference the memory nothing is copied. What the operator writes goes
/// back. A Generator of the device, and the default one where the operator takes one and none was
/// given, becomes a CPU generator seeded from its state, and moves on. Complete on return.
/// Errors: NotImplementedError for view operators (never silently), for sparse and quantised
/// arguments, and in the mode `error`; RuntimeError for tensors on different devices, but for CPU
/// tensors with no dimension and for operators that take CPU tensors beside others (indexing), and
/// for a Generator of the device where nothing else is the device's.
void cpu_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// Says what a fallback does beside running: nothing, a warning, or an error instead.
enum class FallbackMode : uint8_t { silent, warn, error };
/// Returns or sets the mode of the process. The first value comes from TBK_FALLBACK: "silent" (also
/// absent), "warn" (once an operator), "error". Any thread. Errors: ValueError where it is
/// something else.
FallbackMode fallback_mode();
void set_fallback_mode(FallbackMode mode);

/// Counts the calls of one operator that ran on the CPU for one device.
struct FallbackCount {
  std::string operator_name;  // "aten::add.Tensor"
  c10::DeviceIndex device;
  uint64_t count;
};
/// Returns, or sets to zero, the calls so far, the most frequent first. Any thread.
std::vector<FallbackCount> fallbacks();
void reset_fallbacks();

}  // namespace tbk
