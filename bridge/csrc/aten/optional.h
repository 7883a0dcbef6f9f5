// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace tbk {

/// Returns whether an optional argument was given: PyTorch also passes an undefined tensor for none.
inline bool is_there(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() && tensor->defined();
}

}  // namespace tbk
