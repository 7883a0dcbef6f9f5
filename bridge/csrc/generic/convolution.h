// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Convolutions by the generic kernel tbk::convolution.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <tuple>

namespace tbk::generic {

/// The numbers of a convolution, as PyTorch hands them on: a number for each spatial dimension.
struct Window {
  at::IntArrayRef stride, padding, dilation, output_padding;
  bool transposed;
  int64_t groups;
};

/// Returns input convolved with weight, plus bias, by one launch; with the strides that PyTorch's CPU gives.
/// Nothing where the route is closed, the backend does not offer the kernel or refuses, or PyTorch would
/// raise. Errors: those of launch() of kernels.h. Any thread.
std::optional<at::Tensor> convolve(const at::Tensor& input, const at::Tensor& weight,
                                   const std::optional<at::Tensor>& bias, const Window& window);

/// Returns the gradients by input, weight and bias that `wanted` asks for, the others not defined: up to two
/// launches and a reduction. Nothing in the same cases. Errors: the same. Any thread.
std::optional<std::tuple<at::Tensor, at::Tensor, at::Tensor>> convolve_backward(
    const at::Tensor& gradient, const at::Tensor& input, const at::Tensor& weight,
    const Window& window, std::array<bool, 3> wanted);

}  // namespace tbk::generic
