// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <generic/matmul.h>

namespace tbk::generic {

/// Computes a product of complex tensors as multiply() does, whose result has `sizes`: four products of the parts
/// go to memory of their own, and then into `out` with the factors and the summand. Pending signs of operands
/// count there. Returns false, with nothing done but that `out` may have got its size, where that is not served.
bool multiply_pairs(const Product& product, const at::Tensor& out, c10::IntArrayRef sizes);

}  // namespace tbk::generic
