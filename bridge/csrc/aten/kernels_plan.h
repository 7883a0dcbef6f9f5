// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/Device.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/FunctionRef.h>
#include <c10/util/SmallVector.h>
#include <tbk/tbk_arguments.h>

#include <memory>

namespace tbk {

/// Holds all that a plan depends on, as numbers: arguments of equal keys differ at most in handles
/// and offsets.
using PlanKey = c10::SmallVector<int64_t, 48>;
/// Returns the key of a call; what `tensors` and `others` are, launch() of kernels.h says.
PlanKey make_plan_key(c10::ArrayRef<const tbk_tensor_t*> tensors, c10::ArrayRef<int64_t> others);

/// Does what launch() of kernels.h does, for who can say shorter what a plan depends on: `key` is asked where the
/// backend has plans.
bool launch_by_key(class Kernel& kernel, c10::DeviceIndex device, const void* arguments,
                   c10::ArrayRef<const tbk_tensor_t*> tensors, c10::function_ref<PlanKey()> key);

/// Holds a prepared launch, which goes back to the backend with the last reference.
struct Plan {
  Plan(const tbk_kernel_t* plan_kernel, tbk_plan_t* plan, uint64_t bytes)
      : kernel(plan_kernel), handle(plan), workspace_bytes(bytes) {}
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const tbk_kernel_t* kernel;
  tbk_plan_t* handle;
  uint64_t workspace_bytes;  // that each launch needs; 0 for none
};

/// Returns the plan for `arguments`, from the cache or from the backend, which has prepare; NULL
/// where the backend answers UNSUPPORTED, which is asked anew each time. Any thread. Errors: what
/// prepare answers.
std::shared_ptr<const Plan> find_plan(const tbk_kernel_t* kernel, c10::DeviceIndex device,
                                      const void* arguments, const PlanKey& key);

/// How many plans backends were asked for since the start, and how many are kept now. Those are
/// bounded: of each kernel and device the last ones used.
struct PlanCounts {
  uint64_t made, kept;
};
PlanCounts plan_counts();

}  // namespace tbk
