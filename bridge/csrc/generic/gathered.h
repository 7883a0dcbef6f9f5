// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <aten/kernels_plan.h>
#include <generic/program.h>

namespace tbk::generic {

/// Holds what a launch of a generic kernel consists of, besides its program. Borrows it all.
struct Gathered {
  c10::DeviceIndex device;
  c10::ArrayRef<const tbk_tensor_t*> tensors;  ///< Of one set after the other, outputs first.
  c10::ArrayRef<tbk_operand_set_t> sets;
  int64_t index_bits;
  c10::function_ref<PlanKey()> key;  ///< What a plan depends on, the program among it.
};

/// Launches `program` on the current stream. Returns false, with nothing done, where the backend refuses, or a
/// dtype is beyond it. Errors: those of launch() of kernels.h.
bool launch_pointwise(const Program& program, const Gathered& what);
bool launch_reduce(const Reduction& reduction, const Gathered& what);

}  // namespace tbk::generic
