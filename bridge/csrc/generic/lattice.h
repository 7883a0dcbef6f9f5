// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What a place between the elements of an image is made of: the arithmetic of grid_sample.
#pragma once

#include <generic/program.h>

namespace tbk::generic {

/// Says how a grid is read; the values are PyTorch's.
struct Lattice {
  enum Mode : int64_t { kBilinear = 0, kNearest = 1, kBicubic = 2 };
  enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };
  static constexpr size_t kFormCount = 64;

  int64_t mode, padding;
  bool aligns_corners;
  int64_t rank;  ///< Of the image: 2 or 3.

  bool is_known() const {
    return mode >= kBilinear && mode <= (rank == 2 ? kBicubic : kNearest) && padding >= kZeros &&
           padding <= kReflection;
  }
  /// Returns of how many elements along each dimension a place is made.
  int64_t tap_count() const {
    return mode == kNearest ? 1 : mode == kBilinear ? 2 : 4;
  }
  /// Returns what its programs depend on: a number below kFormCount.
  size_t form() const {
    return static_cast<size_t>(mode | padding << 2 | aligns_corners << 4 | (rank - 2) << 5);
  }
};

/// Writes what is read along one dimension.
class LatticeBuilder {
 public:
  /// An element, what it counts, and how that grows with the coordinate. An index of -1 is outside.
  struct Tap {
    Value index, weight, slope;
  };
  using Taps = c10::SmallVector<Tap, 4>;

  /// `real` is the dtype of coordinates, `size` the number of elements, an INT64.
  LatticeBuilder(ProgramBuilder& b, const Lattice& lattice, at::ScalarType real, Value size);

  Taps taps(Value coordinate);

 private:
  /// A coordinate in elements, and by how much it grows.
  struct Place {
    Value at, slope;
  };
  Value op(uint16_t opcode, Value x, Value y) {
    return b_.apply(opcode, {x, y});
  }
  Value number(double value) {
    return b_.constant(value, real_);
  }
  Place unnormalized(Value coordinate);
  Place padded(Place place);
  Place clipped(Place place);
  Place reflected(Place place);
  Value index_of(Value place);
  Taps linear(Value coordinate);
  Taps cubic(Value coordinate);
  Tap cubic_tap(Value whole, Value fraction, Value grows, int number);

  ProgramBuilder& b_;
  const Lattice lattice_;
  const at::ScalarType real_;
  Value size_, last_;
};

}  // namespace tbk::generic
