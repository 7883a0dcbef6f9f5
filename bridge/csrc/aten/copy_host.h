// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/TensorBody.h>

namespace tbk {

/// Both for tensors of the same sizes, not empty, with neither the conjugate nor the negative bit;
/// one is of the host, the other of this device. Any strides and dtypes. See copy_tensor for what is
/// complete on return.
void copy_from_host(const at::Tensor& destination, const at::Tensor& source, bool non_blocking);
void copy_to_host(const at::Tensor& destination, const at::Tensor& source, bool non_blocking);

}  // namespace tbk
