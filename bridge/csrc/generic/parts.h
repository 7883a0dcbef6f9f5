// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Complex numbers as pairs of real ones, which is all that programs know.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <generic/program.h>

namespace tbk::generic {

/// Returns whether numbers of `dtype` are pairs that programs compute with: not those of half precision, which PyTorch's
/// CPU hardly computes with either.
inline bool has_parts(at::ScalarType dtype) {
  return dtype == at::kComplexFloat || dtype == at::kComplexDouble;
}
/// Returns the dtype of a part; of a real dtype that dtype.
inline at::ScalarType part_dtype(at::ScalarType dtype) {
  return has_parts(dtype) ? c10::toRealValueType(dtype) : dtype;
}
/// Returns the dtype in which a value or its parts are computed with; Undefined where none will do.
inline at::ScalarType parts_computed_in(at::ScalarType dtype) {
  return computed_in(part_dtype(dtype));
}

/// Holds both parts of a complex tensor, as strided views of it.
struct Parts {
  /// `whole` has no pending conjugation.
  explicit Parts(const at::Tensor& whole);

  at::Tensor real, imaginary;
};

}  // namespace tbk::generic
