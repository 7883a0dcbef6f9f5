// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <generic/lattice.h>

namespace tbk::generic {
namespace {

/// Of the cubic through four places, as PyTorch has it.
constexpr double kCubic = -0.75;

}  // namespace

LatticeBuilder::LatticeBuilder(ProgramBuilder& b, const Lattice& lattice, at::ScalarType real,
                               Value size)
    : b_(b), lattice_(lattice), real_(real), size_(b.cast(size, real)) {
  last_ = op(TBK_OPCODE_SUB, size_, number(1));
}

/// From -1 and 1 at the ends, or at the corners, to the first and the last element. Two dimensions round as
/// PyTorch's vectors do, three as its loops.
LatticeBuilder::Place LatticeBuilder::unnormalized(Value coordinate) {
  const Value above = op(TBK_OPCODE_ADD, coordinate, number(1));
  const Value whole = lattice_.aligns_corners ? last_ : size_;
  const Value slope = op(TBK_OPCODE_DIV, whole, number(2));
  if (lattice_.rank == 2) {
    const Value at = op(TBK_OPCODE_MUL, above, slope);
    return {lattice_.aligns_corners ? at : op(TBK_OPCODE_SUB, at, number(0.5)), slope};
  }
  if (lattice_.aligns_corners)
    return {op(TBK_OPCODE_MUL, op(TBK_OPCODE_DIV, above, number(2)), whole), slope};
  const Value twice = op(TBK_OPCODE_SUB, op(TBK_OPCODE_MUL, above, whole), number(1));
  return {op(TBK_OPCODE_DIV, twice, number(2)), slope};
}

/// Puts what is beyond the ends at an end, where it stays. What is no number goes where PyTorch's CPU puts it: to the first
/// place in two dimensions, to the last in three.
LatticeBuilder::Place LatticeBuilder::clipped(Place place) {
  const Value is_above = op(TBK_OPCODE_GT, place.at, number(0));
  const Value is_below = op(TBK_OPCODE_LT, place.at, last_);
  const Value is_inside = op(TBK_OPCODE_AND, is_above, is_below);
  const Value is_first = op(TBK_OPCODE_LE, place.at, number(0));
  const Value end = lattice_.rank == 2 ? b_.select(is_above, last_, number(0))
                                       : b_.select(is_first, number(0), last_);
  return {b_.select(is_inside, place.at, end), b_.select(is_inside, place.slope, number(0))};
}

/// There and back between the ends: elements where corners fall together, else half an element further out.
LatticeBuilder::Place LatticeBuilder::reflected(Place place) {
  const Value low = number(lattice_.aligns_corners ? 0 : -0.5);
  const Value span = lattice_.aligns_corners ? last_ : size_;
  const Value from_low = op(TBK_OPCODE_SUB, place.at, low);
  const Value far = b_.apply(TBK_OPCODE_ABS, {from_low});
  const Value turns = b_.apply(TBK_OPCODE_FLOOR, {op(TBK_OPCODE_DIV, far, span)});
  const Value rest = op(TBK_OPCODE_SUB, far, op(TBK_OPCODE_MUL, turns, span));
  const Value half = b_.apply(TBK_OPCODE_FLOOR, {op(TBK_OPCODE_MUL, turns, number(0.5))});
  const Value is_back = op(TBK_OPCODE_NE, turns, op(TBK_OPCODE_ADD, half, half));
  const Value along = b_.select(is_back, op(TBK_OPCODE_SUB, span, rest), rest);
  const Value is_single = op(TBK_OPCODE_EQ, span, number(0));
  const Value at = b_.select(is_single, number(0), op(TBK_OPCODE_ADD, along, low));
  const Value is_left = op(TBK_OPCODE_LT, from_low, number(0));
  const Value turned = b_.apply(TBK_OPCODE_NEG, {place.slope});
  const Value slope = b_.select(op(TBK_OPCODE_XOR, is_left, is_back), turned, place.slope);
  return {at, b_.select(is_single, number(0), slope)};
}

LatticeBuilder::Place LatticeBuilder::padded(Place place) {
  switch (lattice_.padding) {
    case Lattice::kBorder:
      return clipped(place);
    case Lattice::kReflection:
      return clipped(reflected(place));
    default:
      return place;
  }
}

/// Of a whole number, which may be outside, or no number.
Value LatticeBuilder::index_of(Value place) {
  const Value is_inside =
      op(TBK_OPCODE_AND, op(TBK_OPCODE_GE, place, number(0)), op(TBK_OPCODE_LE, place, last_));
  return b_.cast(b_.select(is_inside, place, number(-1)), at::kLong);
}

LatticeBuilder::Taps LatticeBuilder::linear(Value coordinate) {
  const Place place = padded(unnormalized(coordinate));
  const Value whole = b_.apply(TBK_OPCODE_FLOOR, {place.at});
  const Value next = op(TBK_OPCODE_ADD, whole, number(1));
  Value fraction = op(TBK_OPCODE_SUB, place.at, whole);
  Value rest = op(TBK_OPCODE_SUB, number(1), fraction);
  if (lattice_.rank == 3) {  // no number is no place; in two dimensions it spreads
    const Value is_none = b_.apply(TBK_OPCODE_ISNAN, {place.at});
    fraction = b_.select(is_none, number(0), fraction);
    rest = b_.select(is_none, number(0), rest);
  }
  return {{index_of(whole), rest, b_.apply(TBK_OPCODE_NEG, {place.slope})},
          {index_of(next), fraction, place.slope}};
}

/// The places are padded, not what lies between them.
LatticeBuilder::Tap LatticeBuilder::cubic_tap(Value whole, Value fraction, Value grows,
                                              int number_) {
  const Value place = op(TBK_OPCODE_ADD, whole, number(number_ - 1));
  const bool is_left = number_ < 2, is_near = number_ == 1 || number_ == 2;
  const Value x = is_left ? op(TBK_OPCODE_ADD, fraction, number(1 - number_))
                          : op(TBK_OPCODE_SUB, number(number_ - 1), fraction);
  const double a = kCubic;
  const auto polynomial = [&](std::initializer_list<double> factors) {
    Value sum = number(*factors.begin());
    for (const double* each = factors.begin() + 1; each != factors.end(); each++)
      sum = op(TBK_OPCODE_ADD, op(TBK_OPCODE_MUL, sum, x), number(*each));
    return sum;
  };
  const Value weight =
      is_near ? polynomial({a + 2, -(a + 3), 0, 1}) : polynomial({a, -5 * a, 8 * a, -4 * a});
  const Value rise =
      is_near ? polynomial({3 * (a + 2), -2 * (a + 3), 0}) : polynomial({3 * a, -10 * a, 8 * a});
  const Value slope = op(TBK_OPCODE_MUL, rise, grows);
  return {index_of(padded({place, grows}).at), weight,
          is_left ? slope : b_.apply(TBK_OPCODE_NEG, {slope})};
}

LatticeBuilder::Taps LatticeBuilder::cubic(Value coordinate) {
  const Place place = unnormalized(coordinate);
  const Value whole = b_.apply(TBK_OPCODE_FLOOR, {place.at});
  const Value fraction = op(TBK_OPCODE_SUB, place.at, whole);
  Taps taps;
  for (int i = 0; i < 4; i++)
    taps.push_back(cubic_tap(whole, fraction, place.slope, i));
  return taps;
}

LatticeBuilder::Taps LatticeBuilder::taps(Value coordinate) {
  switch (lattice_.mode) {
    case Lattice::kNearest: {
      const Value place = b_.apply(TBK_OPCODE_ROUND, {padded(unnormalized(coordinate)).at});
      return {{index_of(place), number(1), number(0)}};
    }
    case Lattice::kBicubic:
      return cubic(coordinate);
    default:
      return linear(coordinate);
  }
}

}  // namespace tbk::generic
