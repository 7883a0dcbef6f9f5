// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace tbk::generic {

/// Returns of each of `total` places, in order, the number of the element that is repeated there. `begins` are the sums of
/// the `repeats` before each. On a device that offers_scan(); reads nothing.
at::Tensor places_of(const at::Tensor& repeats, const at::Tensor& begins, int64_t total);

}  // namespace tbk::generic
