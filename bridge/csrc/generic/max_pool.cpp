// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Pooling by the greatest, forward and backward. Of equals the first counts, and of NaNs, which are
// greater than all, the last: PyTorch walks a window and keeps what is not less.
#include <ATen/MemoryOverlap.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/adaptive_max_pool2d_backward_ops.h>
#include <ATen/ops/adaptive_max_pool2d_ops.h>
#include <ATen/ops/adaptive_max_pool3d_backward_ops.h>
#include <ATen/ops/adaptive_max_pool3d_ops.h>
#include <ATen/ops/max_pool2d_with_indices_backward_ops.h>
#include <ATen/ops/max_pool2d_with_indices_ops.h>
#include <ATen/ops/max_pool3d_with_indices_backward_ops.h>
#include <ATen/ops/max_pool3d_with_indices_ops.h>
#include <aten/empty.h>
#include <aten/fallback.h>
#include <aten/operands.h>
#include <generic/windows.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tbk::generic {
namespace {

/// Returns what no element of the dtype is below.
double lowest_of(at::ScalarType computed) {
  if (at::isFloatingType(computed)) return -std::numeric_limits<double>::infinity();
  return std::ldexp(-1.0, computed == at::kLong ? 63 : 31);
}

struct MaxPoolPass {
  at::ScalarType dtype;
  const Axis& axis;
  bool is_first;  ///< Else there are places along other dimensions already.

  ProgramKey key(Formulas of) const {
    return {of, dtype, dtype, axis.form() << 1 | is_first};
  }
};

/// An element of the window and its place among all that are pooled; -1 where there is none.
void write_map(ProgramBuilder& b, const MaxPoolPass& pass) {
  const at::ScalarType computed = computed_in(pass.dtype);
  AxisBuilder axis(b, pass.axis, at::kFloat);
  const Value size = b.number(at::kLong), least = b.constant(lowest_of(computed), computed);
  const uint16_t values = b.indexed_input(pass.dtype, 3);
  const auto [index, is_inside] = axis.inside(b.coordinate(kAlong), b.coordinate(kInner));
  const Value before = b.coordinate(kBefore), behind = b.coordinate(kBehind);
  const Value loaded = b.load(values, {before, index, behind}, TBK_BOUNDS_ZERO);
  Value place = b.apply(TBK_OPCODE_MUL, {index, size});
  if (!pass.is_first) {
    const uint16_t places = b.indexed_input(at::kLong, 3);
    const Value within = b.load(places, {before, index, behind}, TBK_BOUNDS_ZERO);
    place = b.apply(TBK_OPCODE_ADD, {place, within});
  }
  b.result(b.apply(TBK_OPCODE_SELECT, {is_inside, b.cast(loaded, computed), least}));
  b.result(b.apply(TBK_OPCODE_SELECT, {is_inside, place, b.constant(-1, at::kLong)}));
}

void write_combine(ProgramBuilder& b, const MaxPoolPass& pass) {
  const at::ScalarType computed = computed_in(pass.dtype);
  const AxisBuilder numbers(b, pass.axis, at::kFloat);
  b.number(at::kLong);
  const Value value = b.parameter(computed), place = b.parameter(at::kLong);
  const Value later_value = b.parameter(computed), later_place = b.parameter(at::kLong);
  Value is_greater = b.apply(TBK_OPCODE_GT, {later_value, value});
  if (at::isFloatingType(computed))
    is_greater = b.apply(TBK_OPCODE_OR, {is_greater, b.apply(TBK_OPCODE_ISNAN, {later_value})});
  const Value zero = b.constant(0, at::kLong);
  const Value is_later =
      b.apply(TBK_OPCODE_OR,
              {b.apply(TBK_OPCODE_LT, {place, zero}),
               b.apply(TBK_OPCODE_AND, {is_greater, b.apply(TBK_OPCODE_GE, {later_place, zero})})});
  b.result(b.apply(TBK_OPCODE_SELECT, {is_later, later_value, value}));
  b.result(b.apply(TBK_OPCODE_SELECT, {is_later, later_place, place}));
}

void write_finish(ProgramBuilder& b, const MaxPoolPass& pass) {
  const AxisBuilder numbers(b, pass.axis, at::kFloat);
  b.number(at::kLong);
  b.result(b.cast(b.parameter(computed_in(pass.dtype)), pass.dtype));
  b.result(b.parameter(at::kLong));
}

const Reduction* greatest_of(const MaxPoolPass& pass) {
  const auto made = [&](Formulas of, void (*write)(ProgramBuilder&, const MaxPoolPass&)) {
    return program_by_key(pass.key(of), [&](ProgramBuilder& b) { write(b, pass); });
  };
  const std::vector<uint64_t> identity = {
      bits_in(computed_in(pass.dtype), lowest_of(computed_in(pass.dtype))),
      bits_in(at::kLong, int64_t{-1})};
  return intern_reduction(made(Formulas::kMaxPool, write_map),
                          made(Formulas::kMaxPoolCombine, write_combine),
                          made(Formulas::kMaxPoolFinish, write_finish), identity,
                          /*is_commutative=*/false);
}

struct Pooled {
  at::Tensor values, places;
};

/// `size` is how many places one of this dimension stands for.
bool run_pass(const Pooled& from, const Pooled& to, const MaxPoolPass& pass, int64_t size) {
  Launch launch(to.values.device().index(), to.values.sizes(), {pass.axis.most_inputs()});
  launch.keep_dimensions();
  launch.output(to.values, to.values.strides());
  launch.output(to.places, to.places.strides());
  launch.indexed_input(from.values);
  if (!pass.is_first) launch.indexed_input(from.places);
  for (const uint64_t number : pass.axis.numbers(at::kFloat))
    launch.number(number);
  launch.number(bits_in(at::kLong, size));
  return launch.reduce(*greatest_of(pass));
}

/// Returns whether `out` and `places` may be what windows of `input` give; neither is written here.
bool is_pooled(const at::Tensor& input, const at::Tensor& out, const at::Tensor& places,
               const Axes& axes) {
  return has_sizes(out, input, axes) && is_ours(places) && places.device() == out.device() &&
         places.layout() == at::kStrided && places.scalar_type() == at::kLong &&
         places.sizes() == out.sizes() && at::has_internal_overlap(places) == at::MemOverlap::No &&
         !places.is_alias_of(out) && input.scalar_type() != at::kBool;
}

/// Returns both as they lie around the dimension at `place`.
Pooled split(const Pooled& pooled, size_t place) {
  return {around(pooled.values, place),
          pooled.places.defined() ? around(pooled.places, place) : pooled.places};
}

/// Returns new ones, of another size at `place`.
Pooled empty_along(const Pooled& like, size_t place, int64_t size) {
  at::DimVector sizes(like.values.sizes().begin(), like.values.sizes().end());
  sizes[place] = size;
  const c10::DeviceIndex device = like.values.device().index();
  return {empty_on(device, sizes, like.values.scalar_type()), empty_on(device, sizes, at::kLong)};
}

size_t place_in(c10::IntArrayRef order, int64_t dimension) {
  return static_cast<size_t>(std::find(order.begin(), order.end(), dimension) - order.begin());
}

/// The dimensions one after the other, the last one first.
bool max_pool(const at::Tensor& input, const at::Tensor& out, const at::Tensor& places,
              const Axes& axes) {
  if (!is_resampled(input, out) || !is_pooled(input, out, places, axes)) return false;
  const Composition whole;
  const at::DimVector order = memory_order(out);
  const Pooled target = {out.permute(order), places.permute(order)};
  const bool is_direct = target.values.is_contiguous() && target.places.is_contiguous();
  Pooled now = {input.permute(order).contiguous(), {}};
  int64_t size = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    const Axis& axis = axes[i].axis;
    const size_t place = place_in(order, axes[i].dimension);
    Pooled made = i == 0 && is_direct ? target : empty_along(now, place, axis.out);
    const MaxPoolPass pass = {out.scalar_type(), axis, /*is_first=*/i + 1 == axes.size()};
    if (!run_pass(split(now, place), split(made, place), pass, size)) return false;
    size *= axis.in;
    now = std::move(made);
  }
  if (!is_direct) {
    target.values.copy_(now.values);
    target.places.copy_(now.places);
  }
  return true;
}

/// The space is what is before the pooled dimensions, those, and what is behind; then as many again that
/// count the places to be asked.
void write_backward(ProgramBuilder& b, at::ScalarType dtype, const Axes& axes) {
  c10::SmallVector<Value, 5> at = {b.coordinate(0)};
  const auto rank = static_cast<uint16_t>(axes.size());
  Value place = b.constant(0, at::kLong);
  for (uint16_t i = 0; i < rank; i++) {
    AxisBuilder axis(b, axes[i].axis, at::kFloat);
    const Value index = b.coordinate(static_cast<uint16_t>(1 + i));
    const Value number = b.coordinate(static_cast<uint16_t>(2 + rank + i));
    place = b.apply(TBK_OPCODE_ADD, {b.apply(TBK_OPCODE_MUL, {place, axis.size()}), index});
    at.push_back(axis.candidate(index, number));
  }
  at.push_back(b.coordinate(static_cast<uint16_t>(1 + rank)));
  const uint16_t gradients = b.indexed_input(dtype, rank + 2);
  const uint16_t places = b.indexed_input(at::kLong, rank + 2);
  const at::ScalarType computed = computed_in(dtype);
  const Value gradient = b.cast(b.load(gradients, at, TBK_BOUNDS_ZERO), computed);
  const Value is_there = b.apply(TBK_OPCODE_EQ, {b.load(places, at, TBK_BOUNDS_ZERO), place});
  b.result(b.apply(TBK_OPCODE_SELECT, {is_there, gradient, b.constant(0, computed)}));
}

const Reduction* gradient_of(at::ScalarType dtype, const Axes& axes) {
  const at::ScalarType computed = computed_in(dtype);
  auto form = static_cast<int>(axes.size());
  for (const AxisOf& each : axes)
    form = form << 7 | each.axis.form();
  const auto declare = [&](ProgramBuilder& b) {
    for (const AxisOf& each : axes)
      AxisBuilder(b, each.axis, at::kFloat);
  };
  const Program* map = program_by_key({Formulas::kMaxPoolBackward, dtype, dtype, form},
                                      [&](ProgramBuilder& b) { write_backward(b, dtype, axes); });
  const Program* combine =
      program_by_key({Formulas::kMaxPoolAdd, computed, computed, form}, [&](ProgramBuilder& b) {
        declare(b);
        const Value sum = b.parameter(computed), other = b.parameter(computed);
        b.result(b.apply(TBK_OPCODE_ADD, {sum, other}));
      });
  const Program* finish =
      program_by_key({Formulas::kMaxPoolSum, computed, dtype, form}, [&](ProgramBuilder& b) {
        declare(b);
        b.result(b.cast(b.parameter(computed), dtype));
      });
  return intern_reduction(map, combine, finish, {0}, true);
}

/// Returns a contiguous tensor as what is before dimension `first`, `rank` dimensions, and what is behind.
at::Tensor spread(const at::Tensor& tensor, size_t first, size_t rank) {
  const c10::IntArrayRef sizes = tensor.sizes();
  at::DimVector result = {c10::multiply_integers(sizes.slice(0, first))};
  for (const int64_t size : sizes.slice(first, rank))
    result.push_back(size);
  result.push_back(c10::multiply_integers(sizes.slice(first + rank)));
  return tensor.view(result);
}

/// Whether the pooled dimensions lie one behind the other.
bool lie_together(c10::IntArrayRef order, const Axes& axes) {
  const size_t first = place_in(order, axes[0].dimension);
  for (size_t i = 0; i < axes.size(); i++)
    if (first + i >= order.size() || order[first + i] != axes[i].dimension) return false;
  return true;
}

/// All are as `spread` has them.
bool launch_backward(const at::Tensor& gradient, const at::Tensor& places, const at::Tensor& out,
                     const Axes& axes) {
  at::DimVector inner;
  for (const AxisOf& each : axes)
    inner.push_back(each.axis.most_results());
  Launch launch(out.device().index(), out.sizes(), inner);
  launch.keep_dimensions();
  launch.output(out, out.strides());
  launch.indexed_input(gradient);
  launch.indexed_input(places);
  for (const AxisOf& each : axes)
    for (const uint64_t number : each.axis.numbers(at::kFloat))
      launch.number(number);
  return launch.reduce(*gradient_of(out.scalar_type(), axes));
}

bool run_backward(const at::Tensor& gradient, const at::Tensor& places, const at::Tensor& out,
                  const Axes& axes) {
  at::DimVector order = memory_order(out);
  if (!lie_together(order, axes)) std::sort(order.begin(), order.end());
  const size_t first = place_in(order, axes[0].dimension);
  const at::Tensor target = out.permute(order);
  const bool is_direct = target.is_contiguous();
  const at::Tensor made =
      is_direct ? target : empty_on(out.device().index(), target.sizes(), out.scalar_type());
  const auto lying = [&](const at::Tensor& tensor) {
    return spread(tensor.permute(order).contiguous(), first, axes.size());
  };
  if (!launch_backward(lying(gradient), lying(places), spread(made, first, axes.size()), axes))
    return false;
  if (!is_direct) target.copy_(made);
  return true;
}

/// PyTorch's CPU has no gradients of integers, whatever is asked for by hand.
bool max_pool_backward(const at::Tensor& gradient, const at::Tensor& input,
                       const at::Tensor& places, const at::Tensor& out, const Axes& axes) {
  if (!at::isFloatingType(input.scalar_type())) return false;
  if (!is_resampled(gradient, out) || !is_pooled(out, gradient, places, axes) ||
      out.sizes() != input.sizes())
    return false;
  const Composition whole;
  return run_backward(gradient, places, out, axes);
}

using Pair = std::tuple<at::Tensor&, at::Tensor&>;

template <class Op, size_t kRank>
Pair max_pool_into(const at::Tensor& self, c10::IntArrayRef kernel, c10::IntArrayRef stride,
                   c10::IntArrayRef padding, c10::IntArrayRef dilation, bool is_ceiled,
                   at::Tensor& out, at::Tensor& places) {
  const Axes axes = window_axes(self, kRank, {kernel, stride, padding, dilation, is_ceiled});
  if (count_composed<Op>(max_pool(self, out, places, axes), out)) return {out, places};
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, kernel, stride, padding,
                                                               dilation, is_ceiled, out, places);
}

template <class Op, size_t kRank>
at::Tensor& max_pool_backward_into(const at::Tensor& gradient, const at::Tensor& self,
                                   c10::IntArrayRef kernel, c10::IntArrayRef stride,
                                   c10::IntArrayRef padding, c10::IntArrayRef dilation,
                                   bool is_ceiled, const at::Tensor& places, at::Tensor& out) {
  const Axes axes = window_axes(self, kRank, {kernel, stride, padding, dilation, is_ceiled});
  if (count_composed<Op>(max_pool_backward(gradient, self, places, out, axes), out)) return out;
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(
      gradient, self, kernel, stride, padding, dilation, is_ceiled, places, out);
}

/// PyTorch gives pooling over three dimensions no function of its own that makes results.
std::tuple<at::Tensor, at::Tensor> pool3d(const at::Tensor& self, c10::IntArrayRef kernel,
                                          c10::IntArrayRef stride, c10::IntArrayRef padding,
                                          c10::IntArrayRef dilation, bool is_ceiled) {
  using Op = at::_ops::max_pool3d_with_indices;
  const Axes axes = window_axes(self, 3, {kernel, stride, padding, dilation, is_ceiled});
  if (!axes.empty() && self.layout() == at::kStrided && self.numel() > 0) {
    const at::DimVector sizes = result_sizes(self, axes);
    at::Tensor out = empty_as(self, sizes);
    at::Tensor places = empty_strided_on(self.device().index(), sizes, out.strides(), at::kLong);
    if (count_composed<Op>(max_pool(self, out, places, axes), out)) return {out, places};
  }
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, kernel, stride, padding,
                                                               dilation, is_ceiled);
}

at::Tensor pool3d_backward(const at::Tensor& gradient, const at::Tensor& self,
                           c10::IntArrayRef kernel, c10::IntArrayRef stride,
                           c10::IntArrayRef padding, c10::IntArrayRef dilation, bool is_ceiled,
                           const at::Tensor& places) {
  using Op = at::_ops::max_pool3d_with_indices_backward;
  const Axes axes = window_axes(self, 3, {kernel, stride, padding, dilation, is_ceiled});
  if (!axes.empty() && self.layout() == at::kStrided) {
    at::Tensor out = empty_as(self, self.sizes());
    if (count_composed<Op>(max_pool_backward(gradient, self, places, out, axes), out)) return out;
  }
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(
      gradient, self, kernel, stride, padding, dilation, is_ceiled, places);
}

template <class Op>
Pair adaptive_max_pool_into(const at::Tensor& self, c10::IntArrayRef sizes, at::Tensor& out,
                            at::Tensor& places) {
  // PyTorch's CPU has integers pooled over windows alone.
  if (at::isFloatingType(self.scalar_type()) &&
      count_composed<Op>(max_pool(self, out, places, adaptive_axes(self, sizes)), out))
    return {out, places};
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, sizes, out, places);
}

template <class Op, size_t kRank>
at::Tensor& adaptive_max_pool_backward_into(const at::Tensor& gradient, const at::Tensor& self,
                                            const at::Tensor& places, at::Tensor& out) {
  if (gradient.dim() > static_cast<int64_t>(kRank)) {
    const Axes axes =
        adaptive_axes(self, gradient.sizes().slice(static_cast<size_t>(gradient.dim()) - kRank));
    if (count_composed<Op>(max_pool_backward(gradient, self, places, out, axes), out)) return out;
  }
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(gradient, self, places, out);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("max_pool2d_with_indices.out", max_pool_into<at::_ops::max_pool2d_with_indices_out, 2>);
  m.impl("max_pool2d_with_indices_backward.grad_input",
         max_pool_backward_into<at::_ops::max_pool2d_with_indices_backward_grad_input, 2>);
  m.impl("max_pool3d_with_indices", pool3d);
  m.impl("max_pool3d_with_indices.out", max_pool_into<at::_ops::max_pool3d_with_indices_out, 3>);
  m.impl("max_pool3d_with_indices_backward", pool3d_backward);
  m.impl("max_pool3d_with_indices_backward.grad_input",
         max_pool_backward_into<at::_ops::max_pool3d_with_indices_backward_grad_input, 3>);
  m.impl("adaptive_max_pool2d.out", adaptive_max_pool_into<at::_ops::adaptive_max_pool2d_out>);
  m.impl("adaptive_max_pool3d.out", adaptive_max_pool_into<at::_ops::adaptive_max_pool3d_out>);
  m.impl("adaptive_max_pool2d_backward.grad_input",
         adaptive_max_pool_backward_into<at::_ops::adaptive_max_pool2d_backward_grad_input, 2>);
  m.impl("adaptive_max_pool3d_backward.grad_input",
         adaptive_max_pool_backward_into<at::_ops::adaptive_max_pool3d_backward_grad_input, 3>);
}

}  // namespace tbk::generic
