// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/DimVector.h>
#include <ATen/core/Tensor.h>
#include <generic/program.h>

#include <algorithm>

namespace tbk::generic {

/// Makes what is said of dimension `dim` the last one of `numbers`.
inline void move_to_end(at::DimVector& numbers, int64_t dim) {
  const auto at = numbers.begin() + static_cast<ptrdiff_t>(dim);
  std::rotate(at, at + 1, numbers.end());
}

/// Returns whether the backend offers tbk::scan on `device`. Opens the device.
bool offers_scan(c10::DeviceIndex device);

/// Runs `reduction` along `dim`, of which each step is an output. All tensors have the same sizes, and at
/// least one element. Returns false, with nothing done, where the backend refuses. Errors: those of launch() of
/// kernels.h.
bool run_scan(const Reduction& reduction, int64_t dim, c10::ArrayRef<const at::Tensor*> outputs,
              c10::ArrayRef<const at::Tensor*> inputs);

}  // namespace tbk::generic
