// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Numbers that stand on the host, on their way into a program.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <generic/rows.h>

namespace tbk::generic {

/// Returns `value` as a tensor of the host that takes part in promotions as a Python number does.
at::Tensor wrapped_number(const at::Scalar& value);
/// Returns the value of a tensor of the host without dimensions.
at::Scalar value_of(const at::Tensor& number);
/// Returns whether `value` may be a number of an operator whose result is of `dtype`: within its
/// range. `is_checked`: also of no higher kind, as PyTorch wants it of some.
bool fits(const at::Scalar& value, at::ScalarType dtype, bool is_checked);
/// Returns whether a row takes `value` as its number `index`. One that takes part in the dtype is of any
/// size, and rounded to it, unless the row says that PyTorch raises.
bool takes_number(const Row& row, size_t index, const at::Scalar& value, at::ScalarType dtype);
/// Returns the bits of `value`, cast to `common`, then to `computed` (INT64 in place of INT32).
/// `is_exact`: straight to `computed` where both are real.
uint64_t bits_of(const at::Scalar& value, at::ScalarType common, at::ScalarType computed,
                 bool is_exact);

}  // namespace tbk::generic
