// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <generic/launch.h>
#include <generic/recipes.h>

#include <bitset>

namespace tbk::generic {

/// Says which dimensions of a tensor go, and what that makes of its sizes and strides.
class Reduced {
 public:
  /// Of the dimensions of `self` those of `mask` go.
  Reduced(const at::Tensor& self, std::bitset<64> mask);

  c10::IntArrayRef outer() const {
    return outer_;
  }
  c10::IntArrayRef inner() const {
    return inner_;
  }
  /// Returns how many elements become one.
  int64_t count() const {
    return count_;
  }
  /// Returns the sizes of the result; `keepdim`: with 1 for each dimension that goes.
  at::DimVector sizes(bool keepdim) const;
  /// Returns the strides of a tensor of the sizes of `self`: of what stays, then of what goes.
  at::DimVector strides(const at::Tensor& tensor) const;
  /// Returns the strides of a result of such sizes.
  at::DimVector result_strides(const at::Tensor& tensor, bool keepdim) const;

 private:
  at::DimVector sizes_, outer_, inner_;
  std::bitset<64> mask_;
  int64_t count_ = 1;
};

/// Writes the logarithms of the sums of exponentials of the elements of `self`, cast to `as`, to `out`. Returns
/// false where the backend refuses.
bool logsumexp_into(const at::Tensor& self, at::ScalarType as, const Reduced& rows,
                    at::Tensor& out);

/// Runs `op` by tbk::reduce where a row fits the call and the device takes it, and by the fallback
/// where not: for operators whose kernels here have done what they can. Errors: those of PyTorch, and
/// of the backend.
void reduce_or_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace tbk::generic
