// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// How places along one dimension of a result are made of places of an input: pooling, padding and
// resizing do the same along each dimension, one after the other.
#pragma once

#include <generic/program.h>

#include <array>
#include <optional>

namespace tbk::generic {

/// Says which places of the input a place of the result is made of.
enum class Along : uint8_t {
  kWindow,        ///< Those of a window; each counts 1 / divisor.
  kAdaptive,      ///< The window that PyTorch's adaptive pooling has, the same.
  kNearest,       ///< One.
  kTwice,         ///< One, the same for two.
  kNearestExact,  ///< One, from the middle.
  kLinear,        ///< The two around it.
  kLinearEnds,    ///< The two around it; the first and the last place fall together.
  kCubic,         ///< The four around it.
  kCubicEnds,
  kReflect,    ///< One, mirrored at the ends.
  kReplicate,  ///< One, the last beyond the ends.
  kFlip,       ///< One, from the other end.
  kRoll        ///< One, further along, and from the other end again.
};

/// Numbers the coordinates of programs along one dimension: one place before it, along it, behind it, and in the
/// inner space, of a window.
enum Dimension : uint16_t { kBefore = 0, kAlong = 1, kBehind = 2, kInner = 3 };

/// Says by what a window's sum is divided.
enum class Divisor : uint8_t {
  kNone,    ///< By nothing.
  kPadded,  ///< By its places, with those in the padding.
  kInside,  ///< By its places in the input.
  kNumber   ///< By `scale`.
};

/// Describes one dimension. Which of the numbers mean something depends on `along`.
struct Axis {
  Along along;
  int64_t in, out;
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t before = 0, after = 0;  ///< Padding; kRoll: how far.
  double scale = 1;               ///< Of a place of the result to one of the input.
  Divisor divisor = Divisor::kNone;

  bool is_window() const {
    return along == Along::kWindow || along == Along::kAdaptive;
  }
  /// Returns of how many places of the input one of the result is made at the most.
  int64_t most_inputs() const;
  /// Returns of how many places of the result one is to be asked whether it is made of one of the input.
  int64_t most_results() const;
  /// Returns whether the result is the input.
  bool is_identity() const;
  /// Returns whether the stride is a power of two, which needs no division.
  bool is_shifted() const {
    return stride > 0 && (stride & (stride - 1)) == 0;
  }
  /// Returns what of the axis its programs depend on.
  int form() const {
    return static_cast<int>(along) | static_cast<int>(divisor) << 4 | is_shifted() << 6;
  }
  /// Returns the numbers that AxisBuilder declares, as bits; `real` is the dtype of weights.
  std::array<uint64_t, 9> numbers(at::ScalarType real) const;
};

/// Writes the arithmetic of an axis into a program.
class AxisBuilder {
 public:
  /// A place of the input and its weight, which is not present where it is 1.
  struct Tap {
    Value index;
    std::optional<Value> weight;
  };
  using Taps = c10::SmallVector<Tap, 4>;
  struct Inside {
    Value index, is_inside;
  };
  /// A place of the result; what the one of the input counts there, and by what that is divided.
  struct Back {
    Value place, is_inside;
    std::optional<Value> weight, divisor;
  };

  /// Declares the numbers. Of `axis` only the form counts. `real` is the dtype of weights.
  AxisBuilder(ProgramBuilder& b, const Axis& axis, at::ScalarType real);

  /// Returns the size of the input.
  Value size() const {
    return in_;
  }
  /// Returns of what `place` of the result is made, but for windows.
  Taps taps(Value place);
  /// Returns the place that is `number`-th in the window of `place`, and whether it is one.
  Inside inside(Value place, Value number);
  /// Returns by what the sum over the window of `place` is divided; absent where by nothing.
  std::optional<Value> divisor(Value place);
  /// Returns the place of the result that is `number`-th to be asked about `index` of the input.
  Value candidate(Value index, Value number);
  /// Returns the same, with what it counts there.
  Back back(Value index, Value number);

 private:
  struct Window {
    Value begin, end;
  };
  Value op(uint16_t opcode, Value x, Value y) {
    return b_.apply(opcode, {x, y});
  }
  Value whole(int64_t value) {
    return b_.constant(static_cast<double>(value), at::kLong);
  }
  Value constant(double value) {
    return b_.constant(value, real_);
  }
  Value times_stride(Value value) {
    return op(axis_.is_shifted() ? TBK_OPCODE_SHL : TBK_OPCODE_MUL, value, stride_);
  }
  Value by_stride(Value value) {
    return op(axis_.is_shifted() ? TBK_OPCODE_SHR : TBK_OPCODE_DIV_FLOOR, value, stride_);
  }
  Value is_within(Value index, Value count);
  Value clamped(Value index);
  Window window(Value place);
  Value source(Value place);
  Value single(Value place);
  Taps linear(Value place);
  Taps cubic(Value place);
  Value cubic_weight(Value distance, bool is_near);
  Value first_candidate(Value index);
  Value reflected_candidate(Value index, Value number);

  ProgramBuilder& b_;
  const Axis axis_;
  const at::ScalarType real_;
  Value in_, out_, kernel_, stride_, dilation_, before_, scale_, inverse_, shift_;
};

}  // namespace tbk::generic
