// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace tbk::generic {

/// Says what becomes of complex numbers that are copied.
struct PairSigns {
  bool conjugates = false;
  bool negates = false;
};

/// Copies `source` to `destination`, of which at least one is complex, by a program, on the current stream: real
/// numbers get an imaginary part of 0, of complex ones the real part stays, or whether they are not 0. Both are
/// stored without pending signs, on one device, of equal sizes, not empty; they are the same elements, or share
/// none. Returns false, with nothing done, where the backend refuses.
bool copy_pairs(const at::Tensor& destination, const at::Tensor& source, PairSigns signs = {});

}  // namespace tbk::generic
