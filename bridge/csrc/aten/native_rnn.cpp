// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// For a device that it does not know, PyTorch's LSTM and GRU ask for one operator a step, which has no
// kernel of the CPU's. It is one program where the backend takes programs, and is made of other operators
// elsewhere.
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/zeros_like.h>
#include <aten/optional.h>
#include <generic/recurrent.h>
#include <torch/library.h>

#include <tuple>

namespace tbk {
namespace {

using generic::OptionalTensor;

at::Tensor with_bias(const at::Tensor& gates, const OptionalTensor& bias) {
  return is_there(bias) ? gates.add(*bias) : gates;
}

/// The derivatives of what was `value` of the function.
at::Tensor through_sigmoid(const at::Tensor& gradient, const at::Tensor& value) {
  return gradient.mul(at::rsub(value, 1)).mul(value);
}
at::Tensor through_tanh(const at::Tensor& gradient, const at::Tensor& value) {
  return gradient.mul(at::rsub(value.mul(value), 1));
}

/// The workspace is what the backward needs: the four gates after their functions.
std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell(const at::Tensor& input_gates,
                                                         const at::Tensor& hidden_gates,
                                                         const at::Tensor& cx,
                                                         const OptionalTensor& input_bias,
                                                         const OptionalTensor& hidden_bias) {
  if (auto made = generic::lstm_cell(input_gates, hidden_gates, cx, input_bias, hidden_bias))
    return *made;
  const at::Tensor gates =
      with_bias(input_gates, input_bias).add(with_bias(hidden_gates, hidden_bias));
  const std::vector<at::Tensor> parts = gates.chunk(4, 1);
  const at::Tensor in = parts[0].sigmoid(), forget = parts[1].sigmoid();
  const at::Tensor cell = parts[2].tanh(), out = parts[3].sigmoid();
  const at::Tensor cy = forget.mul(cx).add(in.mul(cell));
  return {out.mul(cy.tanh()), cy, at::cat({in, forget, cell, out}, 1)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell_backward(
    const OptionalTensor& grad_hy, const OptionalTensor& grad_cy, const at::Tensor& cx,
    const at::Tensor& cy, const at::Tensor& workspace, bool has_bias) {
  if (!is_there(grad_hy) && !is_there(grad_cy)) return {};
  const auto of_gates = [&](const at::Tensor& gates) {
    return has_bias ? gates.sum(0) : at::Tensor();
  };
  if (auto made = generic::lstm_cell_backward(grad_hy, grad_cy, cx, cy, workspace))
    return {std::get<0>(*made), std::get<1>(*made), of_gates(std::get<0>(*made))};
  const std::vector<at::Tensor> parts = workspace.chunk(4, 1);
  const at::Tensor &in = parts[0], &forget = parts[1], &cell = parts[2], &out = parts[3];
  const at::Tensor tanh_cy = cy.tanh();
  const at::Tensor hidden = is_there(grad_hy) ? *grad_hy : at::zeros_like(cy);
  at::Tensor state = through_tanh(hidden.mul(out), tanh_cy);
  if (is_there(grad_cy)) state = state.add(*grad_cy);
  const at::Tensor grad_gates =
      at::cat({through_sigmoid(state.mul(cell), in), through_sigmoid(state.mul(cx), forget),
               through_tanh(state.mul(in), cell), through_sigmoid(hidden.mul(tanh_cy), out)},
              1);
  return {grad_gates, state.mul(forget), of_gates(grad_gates)};
}

/// The workspace: the three gates after their functions, hx, and the hidden part of the third.
std::tuple<at::Tensor, at::Tensor> gru_cell(const at::Tensor& input_gates,
                                            const at::Tensor& hidden_gates, const at::Tensor& hx,
                                            const OptionalTensor& input_bias,
                                            const OptionalTensor& hidden_bias) {
  if (auto made = generic::gru_cell(input_gates, hidden_gates, hx, input_bias, hidden_bias))
    return *made;
  const std::vector<at::Tensor> in = with_bias(input_gates, input_bias).chunk(3, 1);
  const std::vector<at::Tensor> hidden = with_bias(hidden_gates, hidden_bias).chunk(3, 1);
  const at::Tensor reset = in[0].add(hidden[0]).sigmoid(), update = in[1].add(hidden[1]).sigmoid();
  const at::Tensor fresh = in[2].add(reset.mul(hidden[2])).tanh();
  return {fresh.add(update.mul(hx.sub(fresh))), at::cat({reset, update, fresh, hx, hidden[2]}, 1)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> gru_cell_backward(
    const at::Tensor& grad_hy, const at::Tensor& workspace, bool has_bias) {
  const auto of_gates = [&](const at::Tensor& gates) {
    return has_bias ? gates.sum(0) : at::Tensor();
  };
  if (auto made = generic::gru_cell_backward(grad_hy, workspace)) {
    const auto& [in, hidden, state] = *made;
    return {in, hidden, state, of_gates(in), of_gates(hidden)};
  }
  const std::vector<at::Tensor> parts = workspace.chunk(5, 1);
  const at::Tensor &reset = parts[0], &update = parts[1], &fresh = parts[2];
  const at::Tensor &hx = parts[3], &hidden = parts[4];
  const at::Tensor grad_update = through_sigmoid(grad_hy.mul(hx.sub(fresh)), update);
  const at::Tensor grad_fresh = through_tanh(grad_hy.mul(at::rsub(update, 1)), fresh);
  const at::Tensor grad_reset = through_sigmoid(grad_fresh.mul(hidden), reset);
  const at::Tensor grad_input = at::cat({grad_reset, grad_update, grad_fresh}, 1);
  const at::Tensor grad_hidden = at::cat({grad_reset, grad_update, grad_fresh.mul(reset)}, 1);
  return {grad_input, grad_hidden, grad_hy.mul(update), of_gates(grad_input),
          of_gates(grad_hidden)};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_thnn_fused_lstm_cell", lstm_cell);
  m.impl("_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward);
  m.impl("_thnn_fused_gru_cell", gru_cell);
  m.impl("_thnn_fused_gru_cell_backward", gru_cell_backward);
}

}  // namespace tbk
