// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Forms with `out` of what is made first, and copied then: whatever `out` shares memory with.
#pragma once

#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <generic/index.h>

namespace tbk::generic {

/// Returns whether a result of `dtype` may be written to `out`, beside `self`; PyTorch raises for the others.
inline bool may_be_written(const at::Tensor& out, const at::Tensor& self, at::ScalarType dtype) {
  return are_plain({&self, &out}) && out.scalar_type() == dtype &&
         at::has_internal_overlap(out) == at::MemOverlap::No;
}

/// Gives `out` the sizes and the elements of `made`.
inline at::Tensor& write_to(at::Tensor& out, const at::Tensor& made) {
  at::native::resize_output(out, made.sizes());
  return out.copy_(made);
}

}  // namespace tbk::generic
