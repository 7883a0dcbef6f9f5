// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/TensorBody.h>

namespace tbk {

/// Copies within one device, on its current stream. Both have the same sizes, are not empty, and
/// have neither the conjugate nor the negative bit; any strides and dtypes. Errors: those of the
/// backend.
void copy_on_device(const at::Tensor& destination, const at::Tensor& source);
/// Copies between two devices, tensors as above. Ordered after what the current streams of both
/// have got so far; what they get later comes after it.
void copy_across(const at::Tensor& destination, const at::Tensor& source);

/// Copies by the backend's own kernel, on the current stream of the one device that both are of.
/// Returns false, with nothing done, where it has none or refuses.
bool launch_copy(const at::Tensor& destination, const at::Tensor& source);

}  // namespace tbk
