// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/TensorBody.h>

namespace tbk {

/// Returns a new dense tensor on `device` (open already), contiguous, or with the given strides in
/// elements; its values are not set. Its memory is for the current stream. Errors: out of memory.
/// The quick way for kernels: no dispatch, no device guard, no version check.
at::Tensor empty_on(c10::DeviceIndex device, c10::IntArrayRef sizes, at::ScalarType dtype);
at::Tensor empty_strided_on(c10::DeviceIndex device, c10::IntArrayRef sizes,
                            c10::IntArrayRef strides, at::ScalarType dtype);

}  // namespace tbk
