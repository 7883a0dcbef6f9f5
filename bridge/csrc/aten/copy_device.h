// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/TensorBody.h>

namespace tbk {

/// For tensors of this backend with the same sizes, not empty, with neither the conjugate nor the
/// negative bit. Any strides and dtypes.
void copy_on_device(const at::Tensor& destination, const at::Tensor& source);
/// Between two devices. Ordered after what the current streams of both have got so far; what they get
/// later comes after it.
void copy_across(const at::Tensor& destination, const at::Tensor& source);

/// Have the backend's own kernel do it, on one device. False, with nothing done, where it can't.
bool launch_copy(const at::Tensor& destination, const at::Tensor& source);

}  // namespace tbk
