// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/native/Pool.h>
#include <generic/windows.h>

#include <algorithm>
#include <limits>

namespace tbk::generic {
namespace {

/// Returns number `i` of a list of one or more.
int64_t number_of(c10::IntArrayRef list, size_t i) {
  return list[list.size() == 1 ? 0 : i];
}

/// Whether there are as many numbers as there may be.
bool is_list_for(c10::IntArrayRef list, size_t rank) {
  return list.size() == 1 || list.size() == rank;
}

/// PyTorch raises for numbers beyond 32 bits.
bool is_fit(const Axis& axis) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  for (const int64_t number : {axis.kernel, axis.stride, axis.dilation, axis.before})
    if (number > most) return false;
  const int64_t reach = (axis.kernel - 1) * axis.dilation + 1;
  return axis.kernel > 0 && axis.stride > 0 && axis.dilation > 0 && axis.before >= 0 &&
         axis.before <= reach / 2;
}

}  // namespace

Axes window_axes(const at::Tensor& input, size_t rank, const Windows& windows) {
  Axes axes;
  const c10::IntArrayRef stride = windows.stride.empty() ? windows.kernel : windows.stride;
  for (const c10::IntArrayRef list : {windows.kernel, stride, windows.padding, windows.dilation})
    if (!is_list_for(list, rank)) return axes;
  const int64_t outer = input.dim() - static_cast<int64_t>(rank);
  if (outer < 1 || outer > 2) return axes;
  for (size_t i = 0; i < rank; i++) {
    const int64_t dimension = input.dim() - static_cast<int64_t>(rank - i);
    Axis axis = {Along::kWindow, input.size(dimension), 0};
    axis.kernel = number_of(windows.kernel, i);
    axis.stride = number_of(stride, i);
    axis.before = axis.after = number_of(windows.padding, i);
    axis.dilation = number_of(windows.dilation, i);
    if (!is_fit(axis)) return {};
    axis.out = at::native::pooling_output_shape<int64_t>(
        axis.in, axis.kernel, axis.before, axis.stride, axis.dilation, windows.is_ceiled);
    axes.push_back({dimension, axis});
  }
  return axes;
}

Axes adaptive_axes(const at::Tensor& input, c10::IntArrayRef sizes) {
  Axes axes;
  const auto rank = static_cast<int64_t>(sizes.size());
  if (input.dim() != rank + 1 && input.dim() != rank + 2) return axes;
  for (int64_t i = 0; i < rank; i++) {
    const int64_t dimension = input.dim() - rank + i;
    Axis axis = {Along::kAdaptive, input.size(dimension), sizes[static_cast<size_t>(i)]};
    axis.divisor = Divisor::kInside;
    axes.push_back({dimension, axis});
  }
  return axes;
}

at::DimVector result_sizes(const at::Tensor& input, c10::ArrayRef<AxisOf> axes) {
  at::DimVector sizes(input.sizes().begin(), input.sizes().end());
  for (const AxisOf& each : axes)
    sizes[static_cast<size_t>(each.dimension)] = each.axis.out;
  return sizes;
}

bool has_sizes(const at::Tensor& result, const at::Tensor& input, c10::ArrayRef<AxisOf> axes) {
  const auto is_full = [](const AxisOf& each) { return each.axis.in > 0 && each.axis.out > 0; };
  return !axes.empty() && result.sizes() == result_sizes(input, axes) &&
         std::all_of(axes.begin(), axes.end(), is_full);
}

}  // namespace tbk::generic
