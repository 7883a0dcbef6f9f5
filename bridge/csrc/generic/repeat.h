// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace tbk::generic {

/// Returns of each of `total` places, in order and as `dtype`, which element is there: `begins` are the places where each of
/// them begins. On a device that offers_scan(); reads nothing.
at::Tensor places_of(const at::Tensor& begins, at::ScalarType dtype, int64_t total);

}  // namespace tbk::generic
