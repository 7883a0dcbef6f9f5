// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstddef>

namespace tbk {

/// Give `storage` room for `bytes` bytes, and keep what it holds as far as that reaches; ordered on the
/// current stream of its device. Errors: RuntimeError unless it is resizable; out of memory. Then
/// nothing has changed.
void resize_storage(const c10::Storage& storage, size_t bytes);

/// Give `tensor` these sizes, and strides (contiguous where there are none); its storage grows where it
/// must and never shrinks.
void resize_tensor(const at::Tensor& tensor, at::IntArrayRef sizes,
                   at::OptionalIntArrayRef strides);

}  // namespace tbk
