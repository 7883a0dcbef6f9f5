// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Pooling by averages, padding, resizing, flips and rolls: one dimension after the other, and the
// gradients of all of them.
#pragma once

#include <generic/axis.h>
#include <generic/composition.h>

namespace tbk::generic {

struct AxisOf {
  int64_t dimension;
  Axis axis;
};

/// Returns whether `from` and `to` are dense tensors of one device and dtype, which programs may read
/// and write.
bool is_resampled(const at::Tensor& from, const at::Tensor& to);

/// Makes `to` of `from`, which have the same sizes but along `axes`. Returns false, with nothing but
/// `to` touched, where the backend refuses.
bool resample(const at::Tensor& from, const at::Tensor& to, c10::ArrayRef<AxisOf> axes);
/// Adds up what `from`, the gradient of the result, gives to `to`, the one of the input.
bool resample_backward(const at::Tensor& from, const at::Tensor& to, c10::ArrayRef<AxisOf> axes);

/// Returns the dimensions of `tensor` in the order in which they lie in memory, if it is dense.
at::DimVector memory_order(const at::Tensor& tensor);
/// Returns a contiguous tensor as three dimensions: what is before `dimension`, that, what is behind.
at::Tensor around(const at::Tensor& tensor, size_t dimension);

}  // namespace tbk::generic
