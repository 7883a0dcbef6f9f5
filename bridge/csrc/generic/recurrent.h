// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// The steps of LSTM and GRU, each of one program: their arguments and results are those of PyTorch's
// _thnn_fused_... operators. Each returns nothing, with nothing done, where it is not served.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace tbk::generic {

using OptionalTensor = std::optional<at::Tensor>;

/// Returns hy, cy and the workspace: the four gates after their functions.
std::optional<std::tuple<at::Tensor, at::Tensor, at::Tensor>> lstm_cell(
    const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& cx,
    const OptionalTensor& input_bias, const OptionalTensor& hidden_bias);
/// Returns the gradients of the gates and of cx; one of `grad_hy` and `grad_cy` at least is there.
std::optional<std::tuple<at::Tensor, at::Tensor>> lstm_cell_backward(const OptionalTensor& grad_hy,
                                                                     const OptionalTensor& grad_cy,
                                                                     const at::Tensor& cx,
                                                                     const at::Tensor& cy,
                                                                     const at::Tensor& workspace);
/// Returns hy and the workspace: the three gates after their functions, hx, and the hidden part of the third.
std::optional<std::tuple<at::Tensor, at::Tensor>> gru_cell(const at::Tensor& input_gates,
                                                           const at::Tensor& hidden_gates,
                                                           const at::Tensor& hx,
                                                           const OptionalTensor& input_bias,
                                                           const OptionalTensor& hidden_bias);
/// Returns the gradients of the input's gates, of the hidden ones, and of hx.
std::optional<std::tuple<at::Tensor, at::Tensor, at::Tensor>> gru_cell_backward(
    const at::Tensor& grad_hy, const at::Tensor& workspace);

}  // namespace tbk::generic
