// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/TensorBody.h>

namespace tbk {

/// Copies from the host to a device, on its current stream, or back. Both tensors have the same
/// sizes, are not empty, and have neither the conjugate nor the negative bit; any strides and
/// dtypes. What is complete on return copy_tensor says. Errors: those of the backend.
void copy_from_host(const at::Tensor& destination, const at::Tensor& source, bool non_blocking);
void copy_to_host(const at::Tensor& destination, const at::Tensor& source, bool non_blocking);

}  // namespace tbk
