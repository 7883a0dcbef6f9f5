// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Products of matrices by the generic kernel tbk::matmul.
#pragma once

#include <ATen/MemoryOverlap.h>
#include <ATen/core/Tensor.h>
#include <generic/complex_parts.h>
#include <generic/composition.h>

namespace tbk::generic {

/// One product as PyTorch has it: beta * summand + alpha * (first @ second). In place of the first may stand a
/// vector, a row then; in place of the second too, a column.
struct Product {
  const at::Tensor& first;
  const at::Tensor& second;
  const at::Tensor* summand = nullptr;  ///< Broadcasts to the result; NULL adds nothing.
  at::Scalar beta = 0;                  ///< 0: the summand is not read.
  at::Scalar alpha = 1;
};

/// Returns whether the backend offers tbk::matmul on `device` for `dtype`. Opens the device.
bool offers_matmul(c10::DeviceIndex device, at::ScalarType dtype);

/// Returns who multiplies numbers of `dtype`: complex ones are several products of their parts.
inline Route product_route(at::ScalarType dtype) {
  return is_pair(dtype) ? Route::composed : Route::generic;
}

/// Returns whether no element of `tensor` is one of `out`.
inline bool is_apart_from(const at::Tensor& tensor, const at::Tensor& out) {
  return !tensor.is_alias_of(out) ||
         at::get_overlap_status(tensor, out) == at::MemOverlapStatus::No;
}

/// Computes `product`, whose operands' sizes fit each other, into `out`, on the current stream: by one launch, and
/// by some more where they are complex; these may have pending signs.
/// Returns false, with nothing done but that `out` may have got its size, where the route is closed, the
/// backend does not offer the kernel or refuses, a tensor is of another device or dtype or is written while
/// it is read, and where PyTorch would raise. Errors: those of launch() of kernels.h. Any thread.
bool multiply(const Product& product, const at::Tensor& out);

/// Does the same, and counts a call of the operator `Op` where that is done.
template <class Op>
bool serve_product(const Product& product, const at::Tensor& out) {
  const bool is_served = multiply(product, out);
  if (is_served) count_served<Op>(product_route(out.scalar_type()), out);
  return is_served;
}

}  // namespace tbk::generic
