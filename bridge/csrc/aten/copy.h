// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/TensorBody.h>

namespace tbk {

/// Copies `source` into `destination`: both on the host or on any device of the backend, one at
/// least on a device; any strides and dtypes; `source` broadcasts to the sizes of `destination`.
/// Ordered on the current streams of the devices. To the host: complete on return, unless
/// non_blocking and the destination is pinned. From the host: `source` may be changed on return,
/// unless non_blocking and it is pinned.
/// Threads: any. Errors: RuntimeError where the sizes don't fit or the destination overlaps itself.
void copy_tensor(const at::Tensor& destination, const at::Tensor& source, bool non_blocking);

}  // namespace tbk
