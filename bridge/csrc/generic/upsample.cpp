// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Resizing by the nearest, by lines and by cubics, forward and backward.
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_upsample_nearest_exact1d_backward_ops.h>
#include <ATen/ops/_upsample_nearest_exact1d_ops.h>
#include <ATen/ops/_upsample_nearest_exact2d_backward_ops.h>
#include <ATen/ops/_upsample_nearest_exact2d_ops.h>
#include <ATen/ops/_upsample_nearest_exact3d_backward_ops.h>
#include <ATen/ops/_upsample_nearest_exact3d_ops.h>
#include <ATen/ops/upsample_bicubic2d_backward_ops.h>
#include <ATen/ops/upsample_bicubic2d_ops.h>
#include <ATen/ops/upsample_bilinear2d_backward_ops.h>
#include <ATen/ops/upsample_bilinear2d_ops.h>
#include <ATen/ops/upsample_linear1d_backward_ops.h>
#include <ATen/ops/upsample_linear1d_ops.h>
#include <ATen/ops/upsample_nearest1d_backward_ops.h>
#include <ATen/ops/upsample_nearest1d_ops.h>
#include <ATen/ops/upsample_nearest2d_backward_ops.h>
#include <ATen/ops/upsample_nearest2d_ops.h>
#include <ATen/ops/upsample_nearest3d_backward_ops.h>
#include <ATen/ops/upsample_nearest3d_ops.h>
#include <ATen/ops/upsample_trilinear3d_backward_ops.h>
#include <ATen/ops/upsample_trilinear3d_ops.h>
#include <aten/fallback.h>
#include <generic/windows.h>
#include <torch/library.h>

namespace tbk::generic {
namespace {

using Scale = std::optional<double>;

/// How far in the input one step in the result is. Of equal and of doubled sizes PyTorch takes the
/// nearest by these alone, whatever scale is said.
double step_of(const Axis& axis, const Scale& scale) {
  const auto in = static_cast<double>(axis.in), out = static_cast<double>(axis.out);
  if (axis.along == Along::kLinearEnds || axis.along == Along::kCubicEnds)
    return axis.out > 1 ? (in - 1) / (out - 1) : 0;
  const bool is_settled = axis.along == Along::kNearest && axis.out == axis.in;
  return scale.has_value() && *scale > 0 && !is_settled ? 1 / *scale : in / out;
}

/// Returns no axes where PyTorch raises.
Axes resized_axes(Along along, c10::IntArrayRef in, c10::IntArrayRef out,
                  std::initializer_list<Scale> scales) {
  Axes axes;
  if (in.size() != out.size() + 2 || scales.size() != out.size()) return axes;
  for (size_t i = 0; i < out.size(); i++) {
    Axis axis = {along, in[i + 2], out[i]};
    if (axis.in <= 0 || axis.out <= 0) return {};
    axis.scale = step_of(axis, scales.begin()[i]);
    if (along == Along::kNearest && axis.out == 2 * axis.in) axis.along = Along::kTwice;
    axes.push_back({static_cast<int64_t>(i) + 2, axis});
  }
  return axes;
}

/// Where the ends fall together, and where not.
Along along_of(Along along, bool aligns_ends) {
  if (!aligns_ends) return along;
  return along == Along::kLinear ? Along::kLinearEnds : Along::kCubicEnds;
}

bool upsample(const at::Tensor& input, const at::Tensor& out, const Axes& axes) {
  return is_resampled(input, out) && at::isFloatingType(input.scalar_type()) &&
         has_sizes(out, input, axes) && resample(input, out, axes);
}

bool upsample_backward(const at::Tensor& gradient, const at::Tensor& out, const Axes& axes) {
  return is_resampled(gradient, out) && at::isFloatingType(out.scalar_type()) &&
         has_sizes(gradient, out, axes) && resample_backward(gradient, out, axes);
}

/// `Scales` is a Scale for each dimension.
template <class Op, Along kAlong, class... Scales>
struct Nearest {
  static at::Tensor& call(const at::Tensor& self, c10::SymIntArrayRef size, Scales... scales,
                          at::Tensor& out) {
    const Axes axes =
        resized_axes(kAlong, self.sizes(), C10_AS_INTARRAYREF_SLOW(size), {scales...});
    if (count_composed<Op>(upsample(self, out, axes), out)) return out;
    return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(self, size, scales..., out);
  }
};

template <class Op, Along kAlong, class... Scales>
struct NearestBackward {
  static at::Tensor& call(const at::Tensor& gradient, c10::SymIntArrayRef size,
                          c10::SymIntArrayRef input_size, Scales... scales, at::Tensor& out) {
    const Axes axes = resized_axes(kAlong, C10_AS_INTARRAYREF_SLOW(input_size),
                                   C10_AS_INTARRAYREF_SLOW(size), {scales...});
    if (count_composed<Op>(upsample_backward(gradient, out, axes), out)) return out;
    return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(gradient, size, input_size,
                                                                        scales..., out);
  }
};

template <class Op, Along kAlong, class... Scales>
struct Between {
  static at::Tensor& call(const at::Tensor& self, c10::SymIntArrayRef size, bool aligns_ends,
                          Scales... scales, at::Tensor& out) {
    const Axes axes = resized_axes(along_of(kAlong, aligns_ends), self.sizes(),
                                   C10_AS_INTARRAYREF_SLOW(size), {scales...});
    if (count_composed<Op>(upsample(self, out, axes), out)) return out;
    return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(self, size, aligns_ends,
                                                                        scales..., out);
  }
};

template <class Op, Along kAlong, class... Scales>
struct BetweenBackward {
  static at::Tensor& call(const at::Tensor& gradient, c10::SymIntArrayRef size,
                          c10::SymIntArrayRef input_size, bool aligns_ends, Scales... scales,
                          at::Tensor& out) {
    const Axes axes =
        resized_axes(along_of(kAlong, aligns_ends), C10_AS_INTARRAYREF_SLOW(input_size),
                     C10_AS_INTARRAYREF_SLOW(size), {scales...});
    if (count_composed<Op>(upsample_backward(gradient, out, axes), out)) return out;
    return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(
        gradient, size, input_size, aligns_ends, scales..., out);
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  using namespace at::_ops;
  constexpr Along kFirst = Along::kNearest, kMiddle = Along::kNearestExact;
  constexpr Along kLine = Along::kLinear, kCubic = Along::kCubic;
  using S = Scale;
  m.impl("upsample_nearest1d.out", Nearest<upsample_nearest1d_out, kFirst, S>::call);
  m.impl("upsample_nearest2d.out", Nearest<upsample_nearest2d_out, kFirst, S, S>::call);
  m.impl("upsample_nearest3d.out", Nearest<upsample_nearest3d_out, kFirst, S, S, S>::call);
  m.impl("_upsample_nearest_exact1d.out", Nearest<_upsample_nearest_exact1d_out, kMiddle, S>::call);
  m.impl("_upsample_nearest_exact2d.out",
         Nearest<_upsample_nearest_exact2d_out, kMiddle, S, S>::call);
  m.impl("_upsample_nearest_exact3d.out",
         Nearest<_upsample_nearest_exact3d_out, kMiddle, S, S, S>::call);
  m.impl("upsample_nearest1d_backward.grad_input",
         NearestBackward<upsample_nearest1d_backward_grad_input, kFirst, S>::call);
  m.impl("upsample_nearest2d_backward.grad_input",
         NearestBackward<upsample_nearest2d_backward_grad_input, kFirst, S, S>::call);
  m.impl("upsample_nearest3d_backward.grad_input",
         NearestBackward<upsample_nearest3d_backward_grad_input, kFirst, S, S, S>::call);
  m.impl("_upsample_nearest_exact1d_backward.grad_input",
         NearestBackward<_upsample_nearest_exact1d_backward_grad_input, kMiddle, S>::call);
  m.impl("_upsample_nearest_exact2d_backward.grad_input",
         NearestBackward<_upsample_nearest_exact2d_backward_grad_input, kMiddle, S, S>::call);
  m.impl("_upsample_nearest_exact3d_backward.grad_input",
         NearestBackward<_upsample_nearest_exact3d_backward_grad_input, kMiddle, S, S, S>::call);
  m.impl("upsample_linear1d.out", Between<upsample_linear1d_out, kLine, S>::call);
  m.impl("upsample_bilinear2d.out", Between<upsample_bilinear2d_out, kLine, S, S>::call);
  m.impl("upsample_trilinear3d.out", Between<upsample_trilinear3d_out, kLine, S, S, S>::call);
  m.impl("upsample_bicubic2d.out", Between<upsample_bicubic2d_out, kCubic, S, S>::call);
  m.impl("upsample_linear1d_backward.grad_input",
         BetweenBackward<upsample_linear1d_backward_grad_input, kLine, S>::call);
  m.impl("upsample_bilinear2d_backward.grad_input",
         BetweenBackward<upsample_bilinear2d_backward_grad_input, kLine, S, S>::call);
  m.impl("upsample_trilinear3d_backward.grad_input",
         BetweenBackward<upsample_trilinear3d_backward_grad_input, kLine, S, S, S>::call);
  m.impl("upsample_bicubic2d_backward.grad_input",
         BetweenBackward<upsample_bicubic2d_backward_grad_input, kCubic, S, S>::call);
}

}  // namespace tbk::generic
