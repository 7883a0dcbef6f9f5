// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/SDPBackend.h>
#include <ATen/core/Tensor.h>
#include <torch/library.h>

namespace tbk {
namespace {

/// Attention is made of other operators: the CPU's choice, which a fallback would give, is of kernels
/// that take the CPU's own tensors only.
int64_t fused_sdp_choice(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                         const std::optional<at::Tensor>&, double, bool, std::optional<double>,
                         bool) {
  return static_cast<int64_t>(at::SDPBackend::math);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_fused_sdp_choice", fused_sdp_choice);
}

}  // namespace tbk
