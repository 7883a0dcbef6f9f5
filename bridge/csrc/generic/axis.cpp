// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <generic/axis.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace tbk::generic {
namespace {

int64_t divided_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// How far a place of the input reaches, in places of the input, to both sides together.
double reach_of(Along along) {
  switch (along) {
    case Along::kNearest:
    case Along::kNearestExact:
      return 1;
    case Along::kLinear:
    case Along::kLinearEnds:
      return 2;
    case Along::kCubic:
    case Along::kCubicEnds:
      return 4;
    default:
      return 0;
  }
}

/// Whether the middle of a place is what is scaled, and not its beginning.
bool is_scaled_by_middle(Along along) {
  return along == Along::kNearestExact || along == Along::kLinear || along == Along::kCubic;
}

double inverse_of(const Axis& axis) {
  return axis.scale > 0 ? 1 / axis.scale : 0;
}

/// A place of the result from inverse * i + shift on may be made of place i of the input, and
/// reach * inverse of them. One before and two behind are for what is rounded.
double shift_of(const Axis& axis) {
  const double half = is_scaled_by_middle(axis.along) ? 0.5 : 0;
  const double reach = reach_of(axis.along), back = reach > 1 ? reach / 2 - half : 0;
  return -back * inverse_of(axis) - half - 1;
}

}  // namespace

int64_t Axis::most_inputs() const {
  if (along == Along::kWindow) return kernel;
  return in % out == 0 ? in / out : divided_up(in, out) + 1;
}

int64_t Axis::most_results() const {
  switch (along) {
    case Along::kWindow:
      return divided_up((kernel - 1) * dilation + 1, stride);
    case Along::kAdaptive:
      return divided_up(out, in) + 1;
    case Along::kReflect:
      return 3;
    case Along::kTwice:
      return 2;
    case Along::kReplicate:
      return in == 1 ? out : std::max<int64_t>({before, after, 0}) + 1;
    default:
      break;
  }
  const double inverse = inverse_of(*this);
  const auto reached = static_cast<int64_t>(std::ceil(reach_of(along) * inverse)) + 3;
  // The last place of the input stands for all that is beyond.
  const double last = std::floor(static_cast<double>(in - 1) * inverse + shift_of(*this));
  return std::max(reached, out - static_cast<int64_t>(last) + 1);
}

bool Axis::is_identity() const {
  switch (along) {
    case Along::kWindow:
      return kernel == 1 && stride == 1 && before == 0 && divisor != Divisor::kNumber;
    case Along::kReflect:
    case Along::kReplicate:
      return before == 0 && after == 0;
    case Along::kNearest:
    case Along::kAdaptive:
      return in == out;
    case Along::kRoll:
      return before == 0;
    case Along::kFlip:
      return in <= 1;
    default:
      return in == out && scale == 1;
  }
}

std::array<uint64_t, 9> Axis::numbers(at::ScalarType real) const {
  std::array<uint64_t, 9> result = {};
  size_t count = 0;
  const int64_t step = is_shifted() ? std::countr_zero(static_cast<uint64_t>(stride)) : stride;
  for (const int64_t number : {in, out, kernel, step, dilation, before})
    result[count++] = bits_in(at::kLong, number);
  for (const double number : {scale, inverse_of(*this), shift_of(*this)})
    result[count++] = bits_in(real, number);
  return result;
}

AxisBuilder::AxisBuilder(ProgramBuilder& b, const Axis& axis, at::ScalarType real)
    : b_(b), axis_(axis), real_(real) {
  for (Value* number : {&in_, &out_, &kernel_, &stride_, &dilation_, &before_})
    *number = b_.number(at::kLong);
  for (Value* number : {&scale_, &inverse_, &shift_})
    *number = b_.number(real);
}

Value AxisBuilder::is_within(Value index, Value count) {
  return op(TBK_OPCODE_AND, op(TBK_OPCODE_GE, index, whole(0)), op(TBK_OPCODE_LT, index, count));
}

Value AxisBuilder::clamped(Value index) {
  const Value last = op(TBK_OPCODE_SUB, in_, whole(1));
  return op(TBK_OPCODE_MAX, op(TBK_OPCODE_MIN, index, last), whole(0));
}

AxisBuilder::Window AxisBuilder::window(Value place) {
  if (axis_.along == Along::kWindow) {
    const Value begin = op(TBK_OPCODE_SUB, times_stride(place), before_);
    const Value steps = op(TBK_OPCODE_MUL, op(TBK_OPCODE_SUB, kernel_, whole(1)), dilation_);
    return {begin, op(TBK_OPCODE_ADD, op(TBK_OPCODE_ADD, begin, steps), whole(1))};
  }
  const Value next = op(TBK_OPCODE_ADD, place, whole(1));
  const Value rest = op(TBK_OPCODE_SUB, out_, whole(1));
  const Value above = op(TBK_OPCODE_ADD, op(TBK_OPCODE_MUL, next, in_), rest);
  return {op(TBK_OPCODE_DIV_TRUNC, op(TBK_OPCODE_MUL, place, in_), out_),
          op(TBK_OPCODE_DIV_TRUNC, above, out_)};
}

AxisBuilder::Inside AxisBuilder::inside(Value place, Value number) {
  const Window all = window(place);
  const Value index = op(TBK_OPCODE_ADD, all.begin, op(TBK_OPCODE_MUL, number, dilation_));
  Value is_inside = is_within(index, in_);
  if (axis_.along == Along::kAdaptive) is_inside = op(TBK_OPCODE_LT, index, all.end);
  return {index, is_inside};
}

std::optional<Value> AxisBuilder::divisor(Value place) {
  if (axis_.divisor == Divisor::kNone) return std::nullopt;
  if (axis_.divisor == Divisor::kNumber) return scale_;
  Window all = window(place);
  if (axis_.divisor == Divisor::kPadded) {
    all.end = op(TBK_OPCODE_MIN, all.end, op(TBK_OPCODE_ADD, in_, before_));
  } else {
    all.begin = op(TBK_OPCODE_MAX, all.begin, whole(0));
    all.end = op(TBK_OPCODE_MIN, all.end, in_);
  }
  return b_.cast(op(TBK_OPCODE_SUB, all.end, all.begin), real_);
}

/// Where in the input a place of the result is, as a real number.
Value AxisBuilder::source(Value place) {
  const Value at = b_.cast(place, real_);
  if (!is_scaled_by_middle(axis_.along)) return op(TBK_OPCODE_MUL, at, scale_);
  const Value middle = op(TBK_OPCODE_MUL, op(TBK_OPCODE_ADD, at, constant(0.5)), scale_);
  return axis_.along == Along::kNearestExact ? middle : op(TBK_OPCODE_SUB, middle, constant(0.5));
}

Value AxisBuilder::single(Value place) {
  const Value moved = op(TBK_OPCODE_SUB, place, before_);
  switch (axis_.along) {
    case Along::kFlip:
      return op(TBK_OPCODE_SUB, op(TBK_OPCODE_SUB, in_, whole(1)), place);
    case Along::kRoll:
      return op(TBK_OPCODE_REM_FLOOR, moved, in_);
    case Along::kReplicate:
      return clamped(moved);
    case Along::kTwice:
      return op(TBK_OPCODE_SHR, place, whole(1));
    case Along::kReflect: {
      const Value size = b_.apply(TBK_OPCODE_ABS, {moved});
      const Value turn = op(TBK_OPCODE_MUL, op(TBK_OPCODE_SUB, in_, whole(1)), whole(2));
      return op(TBK_OPCODE_MIN, size, op(TBK_OPCODE_SUB, turn, size));
    }
    default:
      return clamped(b_.cast(b_.apply(TBK_OPCODE_FLOOR, {source(place)}), at::kLong));
  }
}

AxisBuilder::Taps AxisBuilder::linear(Value place) {
  const Value from = op(TBK_OPCODE_MAX, source(place), constant(0));
  const Value first = clamped(b_.cast(b_.apply(TBK_OPCODE_FLOOR, {from}), at::kLong));
  const Value second = clamped(op(TBK_OPCODE_ADD, first, whole(1)));
  const Value rest = op(TBK_OPCODE_SUB, from, b_.cast(first, real_));
  const Value share = op(TBK_OPCODE_MIN, rest, constant(1));
  return {{first, op(TBK_OPCODE_SUB, constant(1), share)}, {second, share}};
}

/// Keys' kernel with -0.75, within a distance of 1 or between 1 and 2.
Value AxisBuilder::cubic_weight(Value distance, bool is_near) {
  constexpr double kA = -0.75;
  const auto factors = is_near ? std::array<double, 4>{kA + 2, -(kA + 3), 0, 1}
                               : std::array<double, 4>{kA, -5 * kA, 8 * kA, -4 * kA};
  Value sum = constant(factors[0]);
  for (size_t i = 1; i < 4; i++) {
    sum = op(TBK_OPCODE_MUL, sum, distance);
    if (factors[i] != 0) sum = op(TBK_OPCODE_ADD, sum, constant(factors[i]));
  }
  return sum;
}

AxisBuilder::Taps AxisBuilder::cubic(Value place) {
  const Value from = source(place), floor = b_.apply(TBK_OPCODE_FLOOR, {from});
  const Value first = b_.cast(floor, at::kLong), rest = op(TBK_OPCODE_SUB, from, floor);
  const Value left = op(TBK_OPCODE_SUB, constant(1), rest);
  const std::array<Value, 4> weights = {cubic_weight(op(TBK_OPCODE_ADD, rest, constant(1)), false),
                                        cubic_weight(rest, true), cubic_weight(left, true),
                                        cubic_weight(op(TBK_OPCODE_ADD, left, constant(1)), false)};
  Taps result;
  for (int64_t i = 0; i < 4; i++)
    result.push_back(
        {clamped(op(TBK_OPCODE_ADD, first, whole(i - 1))), weights[static_cast<size_t>(i)]});
  return result;
}

AxisBuilder::Taps AxisBuilder::taps(Value place) {
  switch (axis_.along) {
    case Along::kLinear:
    case Along::kLinearEnds:
      return linear(place);
    case Along::kCubic:
    case Along::kCubicEnds:
      return cubic(place);
    default:
      return {{single(place), std::nullopt}};
  }
}

/// The mirrors are the padding before, and the padding behind; at its ends the input is no mirror of
/// itself.
Value AxisBuilder::reflected_candidate(Value index, Value number) {
  const Value last = op(TBK_OPCODE_SUB, in_, whole(1));
  const Value plain = op(TBK_OPCODE_ADD, index, before_);
  const Value front = op(TBK_OPCODE_SUB, before_, index);
  const Value behind = op(TBK_OPCODE_ADD, front, op(TBK_OPCODE_MUL, last, whole(2)));
  const Value nowhere = whole(-1);
  const Value in_front = b_.select(op(TBK_OPCODE_EQ, index, whole(0)), nowhere, front);
  const Value at_back = b_.select(op(TBK_OPCODE_EQ, index, last), nowhere, behind);
  const Value mirrored = b_.select(op(TBK_OPCODE_EQ, number, whole(1)), in_front, at_back);
  return b_.select(op(TBK_OPCODE_EQ, number, whole(0)), plain, mirrored);
}

Value AxisBuilder::first_candidate(Value index) {
  switch (axis_.along) {
    case Along::kWindow: {
      const Value steps = op(TBK_OPCODE_MUL, op(TBK_OPCODE_SUB, kernel_, whole(1)), dilation_);
      const Value beyond = op(TBK_OPCODE_SUB, op(TBK_OPCODE_ADD, index, before_), steps);
      const Value rest = op(TBK_OPCODE_SUB, times_stride(whole(1)), whole(1));
      return by_stride(op(TBK_OPCODE_ADD, beyond, rest));
    }
    case Along::kAdaptive:
      return op(TBK_OPCODE_DIV_TRUNC, op(TBK_OPCODE_MUL, index, out_), in_);
    case Along::kTwice:
      return op(TBK_OPCODE_SHL, index, whole(1));
    case Along::kReplicate:
      return b_.select(op(TBK_OPCODE_EQ, index, whole(0)), whole(0),
                       op(TBK_OPCODE_ADD, index, before_));
    default: {
      const Value at = op(TBK_OPCODE_MUL, b_.cast(index, real_), inverse_);
      const Value from = b_.apply(TBK_OPCODE_FLOOR, {op(TBK_OPCODE_ADD, at, shift_)});
      return b_.cast(from, at::kLong);
    }
  }
}

Value AxisBuilder::candidate(Value index, Value number) {
  if (axis_.along == Along::kReflect) return reflected_candidate(index, number);
  return op(TBK_OPCODE_ADD, first_candidate(index), number);
}

AxisBuilder::Back AxisBuilder::back(Value index, Value number) {
  const Value place = candidate(index, number);
  Value is_there = is_within(place, out_);
  if (axis_.is_window()) {
    const Window all = window(place);
    is_there = op(TBK_OPCODE_AND, is_there, op(TBK_OPCODE_GE, index, all.begin));
    is_there = op(TBK_OPCODE_AND, is_there, op(TBK_OPCODE_LT, index, all.end));
    return {place, is_there, std::nullopt, divisor(place)};
  }
  const Taps made_of = taps(place);
  if (!made_of[0].weight.has_value()) {
    is_there = op(TBK_OPCODE_AND, is_there, op(TBK_OPCODE_EQ, made_of[0].index, index));
    return {place, is_there, std::nullopt, std::nullopt};
  }
  Value weight = constant(0);
  for (const Tap& tap : made_of) {
    const Value counted = b_.select(op(TBK_OPCODE_EQ, tap.index, index), *tap.weight, constant(0));
    weight = op(TBK_OPCODE_ADD, weight, counted);
  }
  return {place, is_there, weight, std::nullopt};
}

}  // namespace tbk::generic
