// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

namespace tbk {
namespace {

/// Zeros that autograd means to add to something. PyTorch's own have sizes and no memory, and must be
/// known as such by every kernel; here they are zeros like others.
at::Tensor efficient_zeros(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype,
                           std::optional<at::Layout> layout, std::optional<at::Device> device,
                           std::optional<bool> pin_memory) {
  return at::zeros(sizes, dtype, layout, device, pin_memory);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_efficientzerotensor", efficient_zeros);
}

}  // namespace tbk
