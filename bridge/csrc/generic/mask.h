// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace tbk::generic {

/// Writes `number`, which broadcasts to `self` and has its dtype, where `mask`, which broadcasts to it, is
/// true. False, with nothing done, where that is not possible or the backend refuses.
bool fill_where(const at::Tensor& self, const at::Tensor& mask, const at::Tensor& number);

}  // namespace tbk::generic
