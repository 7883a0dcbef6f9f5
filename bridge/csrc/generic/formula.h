// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <generic/program.h>
#include <generic/rows.h>

namespace tbk::generic {

/// Says what the formula of a row is made a program for. Undefined stands for what is not there.
struct Types {
  at::ScalarType common;      ///< What operands are cast to before anything is computed.
  at::ScalarType out;         ///< Of the tensor that is written.
  at::ScalarType tensors[4];  ///< Of those that the program loads; Undefined: it is a number.
  uint8_t unrounded;          ///< Bit i: tensors[i] is cast to the dtype computed in at once.

  bool operator==(const Types&) const = default;
};

/// Returns whether `row` has a formula for operands that are cast to `common`.
bool has_formula(const Row& row, at::ScalarType common);
/// Returns the formula for real numbers of what is computed in; NULL where the row has none.
const Formula* formula_of(const Row& row, at::ScalarType computed);

/// Returns the program of `row` for a call of these types: inputs are its tensors that are none of
/// numbers, in their order; numbers are its tensors that are, then its numbers, all in the dtype that is
/// computed in (INT64 where that is INT32). A complex operand or number is two of them, its real part first; where
/// `common` is complex all numbers are. The same address each time. NULL where the row has no formula for these
/// types. Any thread.
const Program* program_of(const Row& row, const Types& types);

/// Returns the dtype of a number that is computed with as `computed`.
inline at::ScalarType number_dtype(at::ScalarType computed) {
  return computed == at::kInt ? at::kLong : computed;
}

}  // namespace tbk::generic
