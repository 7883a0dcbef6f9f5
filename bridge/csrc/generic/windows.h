// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Arguments of pooling as axes.
#pragma once

#include <generic/resample.h>

namespace tbk::generic {

using Axes = c10::SmallVector<AxisOf, 3>;

/// Holds the arguments that say where windows are. Each list has one number, or one a dimension.
struct Windows {
  c10::IntArrayRef kernel, stride, padding, dilation;
  bool is_ceiled;
};

/// Returns the windows over the last `rank` dimensions of `input`; none where PyTorch raises.
Axes window_axes(const at::Tensor& input, size_t rank, const Windows& windows);
/// Returns the windows of adaptive pooling to `sizes`; none where PyTorch raises.
Axes adaptive_axes(const at::Tensor& input, c10::IntArrayRef sizes);

/// Returns the sizes of a result.
at::DimVector result_sizes(const at::Tensor& input, c10::ArrayRef<AxisOf> axes);
/// Returns whether `result` has the sizes that `axes` make of those of `input`, and none is empty along
/// them.
bool has_sizes(const at::Tensor& result, const at::Tensor& input, c10::ArrayRef<AxisOf> axes);

}  // namespace tbk::generic
