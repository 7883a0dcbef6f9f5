// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstddef>

namespace tbk {

/// Gives `storage` room for `bytes` bytes, and keeps what it holds as far as that reaches; ordered
/// on the current stream of its device. Errors: RuntimeError unless it is resizable; out of memory.
/// Then nothing has changed.
void resize_storage(const c10::Storage& storage, size_t bytes);

/// Gives `tensor` these sizes, and strides in elements (contiguous where there are none); its
/// storage grows where it must and never shrinks. Errors: those of resize_storage.
void resize_tensor(const at::Tensor& tensor, at::IntArrayRef sizes,
                   at::OptionalIntArrayRef strides);

}  // namespace tbk
