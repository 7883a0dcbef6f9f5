// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/MemoryOverlap.h>
#include <aten/empty.h>
#include <aten/operands.h>
#include <generic/resample.h>

#include <algorithm>
#include <numeric>

namespace tbk::generic {
namespace {

/// Beyond this a place as a FLOAT32 is not exact any more.
constexpr int64_t kMostPlaces = INT64_C(1) << 22;

/// What a pass reads and writes: narrow dtypes are rounded in the last one only.
struct ResamplePass {
  at::ScalarType in, out;
  const Axis& axis;

  at::ScalarType real() const {
    const at::ScalarType computed = computed_in(in);
    return at::isFloatingType(computed) ? computed : at::kFloat;
  }
  ProgramKey key(Formulas of) const {
    return {of, in, out, axis.form()};
  }
};

const Program* taps_program(const ResamplePass& pass) {
  return program_by_key(pass.key(Formulas::kResample), [&](ProgramBuilder& b) {
    AxisBuilder axis(b, pass.axis, pass.real());
    const uint16_t input = b.indexed_input(pass.in, 3);
    std::optional<Value> sum;
    for (const AxisBuilder::Tap& tap : axis.taps(b.coordinate(kAlong))) {
      Value value = b.load(input, {b.coordinate(kBefore), tap.index, b.coordinate(kBehind)},
                           TBK_BOUNDS_TRUSTED);
      if (tap.weight.has_value())
        value = b.apply(TBK_OPCODE_MUL, {b.cast(value, pass.real()), *tap.weight});
      sum = sum.has_value() ? b.apply(TBK_OPCODE_ADD, {*sum, value}) : value;
    }
    b.result(b.cast(*sum, pass.out));
  });
}

/// What one element counts, before it is divided.
Value window_element(ProgramBuilder& b, const ResamplePass& pass) {
  AxisBuilder axis(b, pass.axis, pass.real());
  const uint16_t input = b.indexed_input(pass.in, 3);
  const auto [index, is_inside] = axis.inside(b.coordinate(kAlong), b.coordinate(kInner));
  const Value loaded =
      b.load(input, {b.coordinate(kBefore), index, b.coordinate(kBehind)}, TBK_BOUNDS_ZERO);
  const Value value = b.cast(loaded, pass.real());
  if (pass.axis.along == Along::kWindow) return value;
  return b.apply(TBK_OPCODE_SELECT, {is_inside, value, b.constant(0, pass.real())});
}

Value gradient_element(ProgramBuilder& b, const ResamplePass& pass) {
  AxisBuilder axis(b, pass.axis, pass.real());
  const uint16_t input = b.indexed_input(pass.in, 3);
  const AxisBuilder::Back back = axis.back(b.coordinate(kAlong), b.coordinate(kInner));
  const Value loaded =
      b.load(input, {b.coordinate(kBefore), back.place, b.coordinate(kBehind)}, TBK_BOUNDS_ZERO);
  Value value = b.cast(loaded, pass.real());
  if (back.weight.has_value()) value = b.apply(TBK_OPCODE_MUL, {value, *back.weight});
  if (back.divisor.has_value()) value = b.apply(TBK_OPCODE_DIV, {value, *back.divisor});
  return b.apply(TBK_OPCODE_SELECT, {back.is_inside, value, b.constant(0, pass.real())});
}

const Reduction* sum_of(const ResamplePass& pass, bool is_backward) {
  const at::ScalarType real = pass.real();
  const Formulas of = is_backward ? Formulas::kResampleBackward : Formulas::kResampleSum;
  const Program* map = program_by_key(pass.key(of), [&](ProgramBuilder& b) {
    b.result(is_backward ? gradient_element(b, pass) : window_element(b, pass));
  });
  const Program* combine =
      program_by_key({Formulas::kResampleAdd, real, real, 0}, [&](ProgramBuilder& b) {
        const AxisBuilder numbers(b, pass.axis, real);
        const Value sum = b.parameter(real), other = b.parameter(real);
        b.result(b.apply(TBK_OPCODE_ADD, {sum, other}));
      });
  Axis divided = pass.axis;
  if (is_backward) divided.divisor = Divisor::kNone;
  const Program* finish = program_by_key(
      {Formulas::kResampleFinish, real, pass.out, divided.form()}, [&](ProgramBuilder& b) {
        AxisBuilder axis(b, divided, real);
        Value sum = b.parameter(real);
        const auto divisor = axis.divisor(b.coordinate(kAlong));
        if (divisor.has_value()) sum = b.apply(TBK_OPCODE_DIV, {sum, *divisor});
        b.result(b.cast(sum, pass.out));
      });
  return intern_reduction(map, combine, finish, {0}, true);
}

bool run_pass(const at::Tensor& from, const at::Tensor& to, const Axis& axis, bool is_backward) {
  const ResamplePass pass = {from.scalar_type(), to.scalar_type(), axis};
  const bool is_summed = is_backward || axis.is_window();
  at::DimVector inner;
  if (is_summed) inner.push_back(is_backward ? axis.most_results() : axis.most_inputs());
  Launch launch(to.device().index(), to.sizes(), inner);
  launch.keep_dimensions();
  launch.output(to, to.strides());
  launch.indexed_input(from);
  for (const uint64_t number : axis.numbers(pass.real()))
    launch.number(number);
  return is_summed ? launch.reduce(*sum_of(pass, is_backward))
                   : launch.pointwise(*taps_program(pass));
}

/// Whether `axis` moves elements, and computes nothing.
bool is_move(const Axis& axis) {
  switch (axis.along) {
    case Along::kNearest:
    case Along::kNearestExact:
    case Along::kTwice:
    case Along::kReflect:
    case Along::kReplicate:
    case Along::kFlip:
    case Along::kRoll:
      return true;
    default:
      return false;
  }
}

/// The passes that one call takes, in the order of memory.
class Passes {
 public:
  Passes(const at::Tensor& from, const at::Tensor& to, bool is_backward)
      : to_(to), order_(memory_order(to)), is_backward_(is_backward) {
    current_ = from.permute(order_).contiguous();
    target_ = to.permute(order_);
  }

  bool run(c10::ArrayRef<AxisOf> axes) {
    c10::SmallVector<const AxisOf*, 3> left;
    for (const AxisOf& each : axes)
      if (!each.axis.is_identity()) left.push_back(&each);
    while (!left.empty()) {
      const AxisOf& next = *left.back();
      left.pop_back();
      if (!run_one(next, left.empty())) return false;
    }
    if (!is_written_) target_.copy_(current_);
    return true;
  }

 private:
  bool run_one(const AxisOf& one, bool is_last) {
    const auto place = static_cast<size_t>(std::find(order_.begin(), order_.end(), one.dimension) -
                                           order_.begin());
    is_written_ = is_last && target_.is_contiguous();
    at::Tensor made = is_written_ ? target_ : temporary(one, place);
    if (!run_pass(around(current_, place), around(made, place), one.axis, is_backward_))
      return false;
    current_ = std::move(made);
    return true;
  }

  at::Tensor temporary(const AxisOf& one, size_t place) const {
    at::DimVector sizes(current_.sizes().begin(), current_.sizes().end());
    sizes[place] = is_backward_ ? one.axis.in : one.axis.out;
    const at::ScalarType dtype = to_.scalar_type();
    const bool is_rounded = is_backward_ || !is_move(one.axis);
    return empty_on(to_.device().index(), sizes, is_rounded ? computed_in(dtype) : dtype);
  }

  const at::Tensor& to_;
  at::DimVector order_;
  bool is_backward_, is_written_ = false;
  at::Tensor current_, target_;
};

bool fits(c10::ArrayRef<AxisOf> axes) {
  return std::all_of(axes.begin(), axes.end(), [](const AxisOf& each) {
    return is_move(each.axis) || (each.axis.in <= kMostPlaces && each.axis.out <= kMostPlaces);
  });
}

}  // namespace

bool is_resampled(const at::Tensor& from, const at::Tensor& to) {
  return is_open(Route::composed) && is_ours(from) && is_ours(to) && from.device() == to.device() &&
         from.layout() == at::kStrided && to.layout() == at::kStrided && !from.is_neg() &&
         !to.is_neg() && from.scalar_type() == to.scalar_type() &&
         computed_in(from.scalar_type()) != at::ScalarType::Undefined && from.dim() == to.dim() &&
         from.dim() <= 64 && from.numel() > 0 && !to.is_alias_of(from) &&
         at::has_internal_overlap(to) == at::MemOverlap::No && offers_reduce(to.device().index()) &&
         offers_pointwise(to.device().index());
}

bool resample(const at::Tensor& from, const at::Tensor& to, c10::ArrayRef<AxisOf> axes) {
  if (!fits(axes)) return false;
  const Composition whole;
  return Passes(from, to, /*is_backward=*/false).run(axes);
}

bool resample_backward(const at::Tensor& from, const at::Tensor& to, c10::ArrayRef<AxisOf> axes) {
  if (!fits(axes)) return false;
  const Composition whole;
  return Passes(from, to, /*is_backward=*/true).run(axes);
}

at::DimVector memory_order(const at::Tensor& tensor) {
  at::DimVector order(static_cast<size_t>(tensor.dim()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return tensor.stride(a) > tensor.stride(b); });
  return order;
}

at::Tensor around(const at::Tensor& tensor, size_t dimension) {
  const c10::IntArrayRef sizes = tensor.sizes();
  const auto along = sizes.begin() + static_cast<ptrdiff_t>(dimension);
  const auto product = [](auto first, auto last) {
    return std::accumulate(first, last, int64_t{1}, std::multiplies<>());
  };
  return tensor.view({product(sizes.begin(), along), *along, product(along + 1, sizes.end())});
}

}  // namespace tbk::generic
