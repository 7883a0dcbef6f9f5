// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Complex numbers as pairs of real ones: no program and no kernel knows them.
#pragma once

#include <ATen/core/Tensor.h>
#include <generic/program.h>
#include <tbk/tbk_arguments.h>

namespace tbk::generic {

/// Returns whether numbers of `dtype` are pairs of reals to programs. COMPLEX32 is left to PyTorch's CPU.
inline bool is_pair(at::ScalarType dtype) {
  return dtype == at::kComplexFloat || dtype == at::kComplexDouble;
}
/// Returns the dtype of the parts of a complex number; `dtype` where it is another one.
inline at::ScalarType part_dtype(at::ScalarType dtype) {
  return is_pair(dtype) ? c10::toRealValueType(dtype) : dtype;
}

/// Returns the dtype in which a value or its parts are computed with; Undefined where none will do.
inline at::ScalarType part_computed_in(at::ScalarType dtype) {
  return computed_in(part_dtype(dtype));
}

/// Returns the real parts (0) or the imaginary ones (1) of what `description` says: they lie side by side in
/// memory. Its strides, which it borrows, are to be doubled by the caller.
inline tbk_tensor_t part_of(tbk_tensor_t description, int64_t part) {
  description.dtype =
      static_cast<int32_t>(part_dtype(static_cast<at::ScalarType>(description.dtype)));
  description.offset = 2 * description.offset + part;
  return description;
}

/// Returns a complex tensor as one of real numbers, of which the last dimension is both parts; `tensor` itself where
/// it is another one, or has pending signs.
at::Tensor as_reals(const at::Tensor& tensor);

/// Stands for a complex value of a program.
struct Pair {
  Value real, imaginary;
};

/// Return the sum and the product.
Pair plus(ProgramBuilder& b, Pair x, Pair y);
Pair times(ProgramBuilder& b, Pair x, Pair y);
/// Returns the size of `x`, without squares that overflow; an infinity counts also beside NaN.
Value size_of(ProgramBuilder& b, Pair x);

/// Warns as PyTorch does where complex numbers become real ones: call it where that is done.
void warn_of_lost_parts(at::ScalarType from, at::ScalarType to);

}  // namespace tbk::generic
