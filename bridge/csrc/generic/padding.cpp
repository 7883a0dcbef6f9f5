// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Padding by mirrors and by the last element, forward and backward; flips and rolls, which move elements
// within a dimension as well.
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/flip_ops.h>
#include <ATen/ops/reflection_pad1d_backward_ops.h>
#include <ATen/ops/reflection_pad1d_ops.h>
#include <ATen/ops/reflection_pad2d_backward_ops.h>
#include <ATen/ops/reflection_pad2d_ops.h>
#include <ATen/ops/reflection_pad3d_backward_ops.h>
#include <ATen/ops/reflection_pad3d_ops.h>
#include <ATen/ops/replication_pad1d_backward_ops.h>
#include <ATen/ops/replication_pad1d_ops.h>
#include <ATen/ops/replication_pad2d_backward_ops.h>
#include <ATen/ops/replication_pad2d_ops.h>
#include <ATen/ops/replication_pad3d_backward_ops.h>
#include <ATen/ops/replication_pad3d_ops.h>
#include <ATen/ops/roll_ops.h>
#include <aten/fallback.h>
#include <aten/operands.h>
#include <generic/complex_parts.h>
#include <generic/windows.h>
#include <torch/library.h>

namespace tbk::generic {
namespace {

/// PyTorch names the padding before and behind the last dimension first, then of the one before it.
/// Returns no axes where it raises.
Axes padded_axes(Along along, const at::Tensor& input, c10::IntArrayRef padding) {
  Axes axes;
  const size_t rank = padding.size() / 2;
  const auto outer = input.dim() - static_cast<int64_t>(rank);
  if (padding.size() % 2 != 0 || outer < 1 || outer > 2) return axes;
  for (size_t i = 0; i < rank; i++) {
    const int64_t dimension = input.dim() - static_cast<int64_t>(rank - i);
    const size_t at = 2 * (rank - 1 - i);
    Axis axis = {along, input.size(dimension), 0};
    axis.before = padding[at];
    axis.after = padding[at + 1];
    axis.out = axis.in + axis.before + axis.after;
    const bool is_mirrored = axis.before < axis.in && axis.after < axis.in;
    if (axis.out <= 0 || (along == Along::kReflect && !is_mirrored)) return {};
    axes.push_back({dimension, axis});
  }
  return axes;
}

/// Moves elements; complex ones as their parts, which lie along a dimension more.
bool move(const at::Tensor& input, const at::Tensor& out, c10::ArrayRef<AxisOf> axes) {
  const at::Tensor from = as_reals(input), to = as_reals(out);
  return is_resampled(from, to) && resample(from, to, axes);
}

bool pad(const at::Tensor& input, const at::Tensor& out, const Axes& axes) {
  return is_ours(out) && input.scalar_type() != at::kBool && has_sizes(out, input, axes) &&
         move(input, out, axes);
}

bool pad_backward(const at::Tensor& gradient, const at::Tensor& input, const at::Tensor& out,
                  const Axes& axes) {
  const at::Tensor from = as_reals(gradient), to = as_reals(out);
  return is_resampled(from, to) && at::isFloatingType(to.scalar_type()) &&
         out.sizes() == input.sizes() && has_sizes(gradient, input, axes) &&
         resample_backward(from, to, axes);
}

bool can_have_result(const at::Tensor& input, const Axes& axes) {
  return !axes.empty() && input.layout() == at::kStrided && input.numel() > 0;
}

template <class Op, Along kAlong>
at::Tensor& pad_out(const at::Tensor& self, c10::SymIntArrayRef padding, at::Tensor& out) {
  const Axes axes = padded_axes(kAlong, self, C10_AS_INTARRAYREF_SLOW(padding));
  if (count_composed<Op>(pad(self, out, axes), out)) return out;
  return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(self, padding, out);
}

/// PyTorch's CPU keeps channels last, which its shape functions of some of these do not.
template <class Op, Along kAlong>
at::Tensor pad(const at::Tensor& self, c10::SymIntArrayRef padding) {
  const Axes axes = padded_axes(kAlong, self, C10_AS_INTARRAYREF_SLOW(padding));
  if (can_have_result(self, axes)) {
    at::Tensor out = empty_as(self, result_sizes(self, axes));
    if (count_composed<Op>(pad(self, out, axes), out)) return out;
  }
  return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(self, padding);
}

template <class Op, Along kAlong>
at::Tensor& pad_backward_out(const at::Tensor& gradient, const at::Tensor& self,
                             c10::SymIntArrayRef padding, at::Tensor& out) {
  const Axes axes = padded_axes(kAlong, self, C10_AS_INTARRAYREF_SLOW(padding));
  if (count_composed<Op>(pad_backward(gradient, self, out, axes), out)) return out;
  return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(gradient, self, padding, out);
}

template <class Op, Along kAlong>
at::Tensor pad_backward(const at::Tensor& gradient, const at::Tensor& self,
                        c10::SymIntArrayRef padding) {
  const Axes axes = padded_axes(kAlong, self, C10_AS_INTARRAYREF_SLOW(padding));
  if (can_have_result(self, axes)) {
    at::Tensor out = empty_as(self, self.sizes());
    if (count_composed<Op>(pad_backward(gradient, self, out, axes), out)) return out;
  }
  return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(gradient, self, padding);
}

/// Whether programs may move the elements of `self`.
bool is_moved(const at::Tensor& self) {
  return is_ours(self) && self.layout() == at::kStrided && self.dim() > 0 && self.numel() > 0;
}

at::Tensor flip(const at::Tensor& self, c10::IntArrayRef dims) {
  using Op = at::_ops::flip;
  if (is_moved(self)) {
    c10::SmallVector<AxisOf, 4> axes;
    const auto flipped = at::dim_list_to_bitset(dims, static_cast<size_t>(self.dim()));
    for (int64_t d = 0; d < self.dim(); d++)
      if (flipped[static_cast<size_t>(d)])
        axes.push_back({d, {Along::kFlip, self.size(d), self.size(d)}});
    at::Tensor out = at::empty_like(self, at::MemoryFormat::Preserve);
    if (count_composed<Op>(move(self, out, axes), out)) return out;
  }
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, dims);
}

/// Returns no axes where PyTorch raises. Without dimensions all elements are in one.
c10::SmallVector<AxisOf, 4> rolled_axes(const at::Tensor& self, c10::IntArrayRef shifts,
                                        c10::IntArrayRef dims) {
  c10::SmallVector<AxisOf, 4> axes;
  if (shifts.size() != dims.size()) return axes;
  for (size_t i = 0; i < dims.size(); i++) {
    const int64_t rank = self.dim(), dimension = dims[i] < 0 ? dims[i] + rank : dims[i];
    if (dimension < 0 || dimension >= rank) return {};
    Axis axis = {Along::kRoll, self.size(dimension), self.size(dimension)};
    axis.before = shifts[i] % axis.in;
    axes.push_back({dimension, axis});
  }
  return axes;
}

at::Tensor roll(const at::Tensor& self, c10::SymIntArrayRef shifts, c10::IntArrayRef dims) {
  using Op = at::_ops::roll;
  const c10::IntArrayRef steps = C10_AS_INTARRAYREF_SLOW(shifts);
  if (is_ours(self) && self.dim() == 0 && dims.empty() && steps.size() == 1) return self.clone();
  if (is_moved(self) && dims.empty() && steps.size() == 1) {
    const at::Tensor line = self.contiguous().view(-1);
    return roll(line, shifts, {0}).view(self.sizes());
  }
  const auto axes = is_moved(self) ? rolled_axes(self, steps, dims) : c10::SmallVector<AxisOf, 4>{};
  if (!axes.empty()) {
    at::Tensor out = empty_as(self, self.sizes());
    if (count_composed<Op>(move(self, out, axes), out)) return out;
  }
  return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(self, shifts, dims);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  using namespace at::_ops;
  constexpr Along kMirror = Along::kReflect, kLast = Along::kReplicate;
  m.impl("reflection_pad1d.out", pad_out<reflection_pad1d_out, kMirror>);
  m.impl("reflection_pad2d", pad<reflection_pad2d, kMirror>);
  m.impl("reflection_pad2d.out", pad_out<reflection_pad2d_out, kMirror>);
  m.impl("reflection_pad3d", pad<reflection_pad3d, kMirror>);
  m.impl("reflection_pad3d.out", pad_out<reflection_pad3d_out, kMirror>);
  m.impl("replication_pad1d.out", pad_out<replication_pad1d_out, kLast>);
  m.impl("replication_pad2d", pad<replication_pad2d, kLast>);
  m.impl("replication_pad2d.out", pad_out<replication_pad2d_out, kLast>);
  m.impl("replication_pad3d", pad<replication_pad3d, kLast>);
  m.impl("replication_pad3d.out", pad_out<replication_pad3d_out, kLast>);
  m.impl("reflection_pad1d_backward.grad_input",
         pad_backward_out<reflection_pad1d_backward_grad_input, kMirror>);
  m.impl("reflection_pad2d_backward", pad_backward<reflection_pad2d_backward, kMirror>);
  m.impl("reflection_pad2d_backward.grad_input",
         pad_backward_out<reflection_pad2d_backward_grad_input, kMirror>);
  m.impl("reflection_pad3d_backward.grad_input",
         pad_backward_out<reflection_pad3d_backward_grad_input, kMirror>);
  m.impl("replication_pad1d_backward.grad_input",
         pad_backward_out<replication_pad1d_backward_grad_input, kLast>);
  m.impl("replication_pad2d_backward", pad_backward<replication_pad2d_backward, kLast>);
  m.impl("replication_pad2d_backward.grad_input",
         pad_backward_out<replication_pad2d_backward_grad_input, kLast>);
  m.impl("replication_pad3d_backward", pad_backward<replication_pad3d_backward, kLast>);
  m.impl("replication_pad3d_backward.grad_input",
         pad_backward_out<replication_pad3d_backward_grad_input, kLast>);
  m.impl("flip", flip);
  m.impl("roll", roll);
}

}  // namespace tbk::generic
