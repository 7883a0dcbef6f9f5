// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// For a device that it does not know, PyTorch's convolution asks for these two, which have no kernel of
// the CPU's: what falls back there is the convolution itself.
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/convolution_backward_ops.h>
#include <ATen/ops/convolution_ops.h>
#include <aten/fallback.h>
#include <aten/routes.h>
#include <generic/convolution.h>
#include <torch/library.h>

#include <array>
#include <tuple>
#include <utility>

namespace tbk {
namespace {

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                       at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                       at::IntArrayRef output_padding, int64_t groups) {
  static OperatorCounter& counter = counter_of("aten::convolution_overrideable");
  const generic::Window window = {stride, padding, dilation, output_padding, transposed, groups};
  if (std::optional<at::Tensor> made = generic::convolve(input, weight, bias, window)) {
    count_call(counter, Route::generic, made->device().index(), made->scalar_type());
    return std::move(*made);
  }
  return at::native::call_fallback_fn<&cpu_fallback, at::_ops::convolution>::call(
      input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& gradient, const at::Tensor& input, const at::Tensor& weight,
    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
    at::IntArrayRef output_padding, int64_t groups, std::array<bool, 3> output_mask) {
  static OperatorCounter& counter = counter_of("aten::convolution_backward_overrideable");
  const generic::Window window = {stride, padding, dilation, output_padding, transposed, groups};
  if (auto made = generic::convolve_backward(gradient, input, weight, window, output_mask)) {
    count_call(counter, Route::composed, gradient.device().index(), gradient.scalar_type());
    return std::move(*made);
  }
  const std::array<int64_t, 1> bias_sizes = {gradient.size(1)};
  const at::OptionalIntArrayRef bias =
      output_mask[2] ? at::OptionalIntArrayRef(bias_sizes) : std::nullopt;
  return at::native::call_fallback_fn<&cpu_fallback, at::_ops::convolution_backward>::call(
      gradient, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups,
      output_mask);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("convolution_overrideable", convolution);
  m.impl("convolution_backward_overrideable", convolution_backward);
}

}  // namespace tbk
