// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Pooling by averages, forward and backward.
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_adaptive_avg_pool2d_backward_ops.h>
#include <ATen/ops/_adaptive_avg_pool2d_ops.h>
#include <ATen/ops/_adaptive_avg_pool3d_backward_ops.h>
#include <ATen/ops/_adaptive_avg_pool3d_ops.h>
#include <ATen/ops/avg_pool2d_backward_ops.h>
#include <ATen/ops/avg_pool2d_ops.h>
#include <ATen/ops/avg_pool3d_backward_ops.h>
#include <ATen/ops/avg_pool3d_ops.h>
#include <aten/empty.h>
#include <aten/fallback.h>
#include <generic/windows.h>
#include <torch/library.h>

namespace tbk::generic {
namespace {

/// What a sum is divided by; PyTorch raises for an override of 0.
struct Divided {
  bool counts_padding;
  std::optional<int64_t> override;
};

Axes average_axes(const at::Tensor& input, size_t rank, const Windows& windows,
                  const Divided& divided) {
  if (divided.override == 0) return {};
  Axes axes = window_axes(input, rank, windows);
  for (size_t i = 0; i < axes.size(); i++) {
    Axis& axis = axes[i].axis;
    axis.divisor = divided.counts_padding ? Divisor::kPadded : Divisor::kInside;
    if (divided.override.has_value()) {
      axis.divisor = i == 0 ? Divisor::kNumber : Divisor::kNone;
      axis.scale = static_cast<double>(*divided.override);
    }
  }
  return axes;
}

/// Whether there was something to do, and it is done.
bool average_pool(const at::Tensor& input, const at::Tensor& out, const Axes& axes) {
  if (!is_resampled(input, out) || !at::isFloatingType(input.scalar_type()) ||
      !has_sizes(out, input, axes))
    return false;
  return resample(input, out, axes);
}

bool average_pool_backward(const at::Tensor& gradient, const at::Tensor& input,
                           const at::Tensor& out, const Axes& axes) {
  if (!is_resampled(gradient, out) || !at::isFloatingType(out.scalar_type()) ||
      out.sizes() != input.sizes() || !has_sizes(gradient, input, axes))
    return false;
  return resample_backward(gradient, out, axes);
}

constexpr int64_t kNoDilation[] = {1};

template <class Op, size_t kRank>
at::Tensor& average(const at::Tensor& self, c10::IntArrayRef kernel, c10::IntArrayRef stride,
                    c10::IntArrayRef padding, bool is_ceiled, bool counts_padding,
                    std::optional<int64_t> divisor, at::Tensor& out) {
  const Axes axes = average_axes(self, kRank, {kernel, stride, padding, kNoDilation, is_ceiled},
                                 {counts_padding, divisor});
  if (count_composed<Op>(average_pool(self, out, axes), out)) return out;
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(
      self, kernel, stride, padding, is_ceiled, counts_padding, divisor, out);
}

template <class Op, size_t kRank>
at::Tensor& average_backward(const at::Tensor& gradient, const at::Tensor& self,
                             c10::IntArrayRef kernel, c10::IntArrayRef stride,
                             c10::IntArrayRef padding, bool is_ceiled, bool counts_padding,
                             std::optional<int64_t> divisor, at::Tensor& out) {
  const Axes axes = average_axes(self, kRank, {kernel, stride, padding, kNoDilation, is_ceiled},
                                 {counts_padding, divisor});
  if (count_composed<Op>(average_pool_backward(gradient, self, out, axes), out)) return out;
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(
      gradient, self, kernel, stride, padding, is_ceiled, counts_padding, divisor, out);
}

/// Over three dimensions PyTorch's CPU gives contiguous results whatever the input is.
at::Tensor empty_adaptive(const at::Tensor& input, c10::IntArrayRef sizes, size_t rank) {
  return rank == 2 ? empty_as(input, sizes)
                   : empty_on(input.device().index(), sizes, input.scalar_type());
}

template <class Op, size_t kRank>
at::Tensor adaptive_average_pool(const at::Tensor& self, c10::SymIntArrayRef sizes) {
  const Axes axes = adaptive_axes(self, C10_AS_INTARRAYREF_SLOW(sizes));
  const bool is_real = at::isFloatingType(self.scalar_type()) && !axes.empty();
  if (is_real && self.layout() == at::kStrided && self.numel() > 0) {
    at::Tensor out = empty_adaptive(self, result_sizes(self, axes), kRank);
    if (count_composed<Op>(average_pool(self, out, axes), out)) return out;
  }
  return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(self, sizes);
}

template <class Op, size_t kRank>
at::Tensor adaptive_backward(const at::Tensor& gradient, const at::Tensor& self) {
  if (gradient.dim() > static_cast<int64_t>(kRank) && gradient.layout() == at::kStrided &&
      self.layout() == at::kStrided && gradient.scalar_type() == self.scalar_type()) {
    const Axes axes =
        adaptive_axes(self, gradient.sizes().slice(static_cast<size_t>(gradient.dim()) - kRank));
    at::Tensor out = empty_adaptive(self, self.sizes(), kRank);
    if (count_composed<Op>(average_pool_backward(gradient, self, out, axes), out)) return out;
  }
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(gradient, self);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("avg_pool2d.out", average<at::_ops::avg_pool2d_out, 2>);
  m.impl("avg_pool3d.out", average<at::_ops::avg_pool3d_out, 3>);
  m.impl("avg_pool2d_backward.grad_input",
         average_backward<at::_ops::avg_pool2d_backward_grad_input, 2>);
  m.impl("avg_pool3d_backward.grad_input",
         average_backward<at::_ops::avg_pool3d_backward_grad_input, 3>);
  m.impl("_adaptive_avg_pool2d", adaptive_average_pool<at::_ops::_adaptive_avg_pool2d, 2>);
  m.impl("_adaptive_avg_pool3d", adaptive_average_pool<at::_ops::_adaptive_avg_pool3d, 3>);
  m.impl("_adaptive_avg_pool2d_backward",
         adaptive_backward<at::_ops::_adaptive_avg_pool2d_backward, 2>);
  m.impl("_adaptive_avg_pool3d_backward",
         adaptive_backward<at::_ops::_adaptive_avg_pool3d_backward, 3>);
}

}  // namespace tbk::generic
