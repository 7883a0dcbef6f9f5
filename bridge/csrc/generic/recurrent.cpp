// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/_thnn_fused_gru_cell_backward_ops.h>
#include <ATen/ops/_thnn_fused_gru_cell_ops.h>
#include <ATen/ops/_thnn_fused_lstm_cell_backward_impl_ops.h>
#include <ATen/ops/_thnn_fused_lstm_cell_ops.h>
#include <aten/empty.h>
#include <aten/operands.h>
#include <aten/optional.h>
#include <generic/arithmetic.h>
#include <generic/composition.h>
#include <generic/launch.h>
#include <generic/pointwise.h>
#include <generic/recurrent.h>

#include <array>

namespace tbk::generic {
namespace {

constexpr int kLstmGates = 4, kGruGates = 3, kGruKept = 5;

/// One launch over the elements of a state [batch, width]; other tensors hold several such parts side by side. The
/// tensors outlive it.
class RecurrentCell {
 public:
  explicit RecurrentCell(const at::Tensor& state)
      : state_(state),
        is_served_(is_open(Route::composed) && is_ours(state) && is_plain(state) &&
                   state.dim() == 2 && state.numel() > 0 &&
                   at::isFloatingType(state.scalar_type()) &&
                   offers_pointwise(state.device().index())) {}

  /// Adds an input of so many parts.
  void input(const at::Tensor& tensor, int parts) {
    is_served_ = is_served_ && is_alike(tensor) && tensor.dim() == 2 &&
                 tensor.size(0) == state_.size(0) && tensor.size(1) == parts * state_.size(1);
    if (is_served_) add(tensor, parts, {tensor.stride(0), tensor.stride(1)});
  }
  /// Adds a bias, which has no batch; what is not there is none.
  void bias(const OptionalTensor& bias, int parts) {
    if (!is_there(bias)) return;
    is_served_ = is_served_ && is_alike(*bias) && bias->dim() == 1 &&
                 bias->size(0) == parts * state_.size(1);
    if (is_served_) add(*bias, parts, {0, bias->stride(0)});
  }
  bool is_served() const {
    return is_served_;
  }
  /// Returns a new tensor of so many parts.
  at::Tensor empty(int parts) const {
    return empty_on(state_.device().index(), {state_.size(0), parts * state_.size(1)},
                    state_.scalar_type());
  }
  /// Computes these outputs, part by part. Returns false, with nothing done, where the backend refuses.
  bool run(const Program& program, std::initializer_list<at::Tensor> outputs) const {
    Launch launch(state_.device().index(), state_.sizes());
    for (const at::Tensor& output : outputs)
      for (int64_t first = 0; first < output.size(1); first += state_.size(1))
        launch.output_from(first, output, output.strides());
    for (const Part& part : inputs_)
      launch.input_from(part.first, *part.tensor, part.strides);
    return launch.pointwise(program);
  }

 private:
  using Strides = std::array<int64_t, 2>;
  struct Part {
    const at::Tensor* tensor;
    int64_t first;
    Strides strides;
  };

  bool is_alike(const at::Tensor& tensor) const {
    return is_plain(tensor) && tensor.device() == state_.device() &&
           tensor.scalar_type() == state_.scalar_type();
  }
  void add(const at::Tensor& tensor, int parts, Strides strides) {
    for (int part = 0; part < parts; part++)
      inputs_.push_back({&tensor, part * state_.size(1) * strides[1], strides});
  }

  const at::Tensor& state_;
  bool is_served_;
  c10::SmallVector<Part, 20> inputs_;
};

/// Arithmetic of one cell.
class RecurrentWriter : public Arithmetic {
 public:
  using Arithmetic::Arithmetic;

  Value read() {
    return b_.cast(b_.input(dtype_), inner());
  }
  void write(Value value) {
    b_.result(b_.cast(value, dtype_));
  }
  Value one() {
    return constant(1);
  }
  Value tanh(Value x) {
    return b_.apply(TBK_OPCODE_TANH, {x});
  }
  Value sigmoid(Value x) {
    const Value power = b_.apply(TBK_OPCODE_EXP, {b_.apply(TBK_OPCODE_NEG, {x})});
    return div(one(), add(one(), power));
  }
  /// The derivatives of what was `value` of the function.
  Value through_sigmoid(Value gradient, Value value) {
    return mul(mul(gradient, sub(one(), value)), value);
  }
  Value through_tanh(Value gradient, Value value) {
    return mul(gradient, sub(one(), mul(value, value)));
  }
  template <size_t count>
  std::array<Value, count> read_all() {
    std::array<Value, count> values;
    for (Value& value : values)
      value = read();
    return values;
  }
  /// Reads a bias for each gate, and adds it.
  template <size_t count>
  void add_bias(std::array<Value, count>& gates) {
    for (Value& gate : gates)
      gate = add(gate, read());
  }
};

/// Returns which optional tensors there are, as the form of a program.
int form_of(const OptionalTensor& first, const OptionalTensor& second) {
  return (is_there(first) ? 1 : 0) | (is_there(second) ? 2 : 0);
}

const Program* lstm_program(at::ScalarType dtype, int form) {
  return program_by_key({Formulas::kLstm, dtype, dtype, form}, [&](ProgramBuilder& b) {
    RecurrentWriter w(b, dtype);
    const Value cx = w.read();
    auto gates = w.read_all<kLstmGates>(), hidden = w.read_all<kLstmGates>();
    if (form & 1) w.add_bias(gates);
    if (form & 2) w.add_bias(hidden);
    for (size_t i = 0; i < kLstmGates; i++) {
      const Value sum = w.add(gates[i], hidden[i]);
      gates[i] = i == 2 ? w.tanh(sum) : w.sigmoid(sum);
    }
    const auto [in, forget, cell, out] = gates;
    const Value cy = w.add(w.mul(forget, cx), w.mul(in, cell));
    w.write(w.mul(out, w.tanh(cy)));
    w.write(cy);
    for (const Value gate : gates)
      w.write(gate);
  });
}

const Program* lstm_backward_program(at::ScalarType dtype, int form) {
  return program_by_key({Formulas::kLstmBackward, dtype, dtype, form}, [&](ProgramBuilder& b) {
    RecurrentWriter w(b, dtype);
    const Value cx = w.read(), tanh_cy = w.tanh(w.read());
    const auto [in, forget, cell, out] = w.read_all<kLstmGates>();
    const Value zero = w.constant(0);
    const Value hidden = form & 1 ? w.read() : zero;
    Value state = w.through_tanh(w.mul(hidden, out), tanh_cy);
    if (form & 2) state = w.add(state, w.read());
    w.write(w.through_sigmoid(w.mul(state, cell), in));
    w.write(w.through_sigmoid(w.mul(state, cx), forget));
    w.write(w.through_tanh(w.mul(state, in), cell));
    w.write(w.through_sigmoid(w.mul(hidden, tanh_cy), out));
    w.write(w.mul(state, forget));
  });
}

const Program* gru_program(at::ScalarType dtype, int form) {
  return program_by_key({Formulas::kGru, dtype, dtype, form}, [&](ProgramBuilder& b) {
    RecurrentWriter w(b, dtype);
    const Value hx = w.read();
    auto in = w.read_all<kGruGates>(), hidden = w.read_all<kGruGates>();
    if (form & 1) w.add_bias(in);
    if (form & 2) w.add_bias(hidden);
    const Value reset = w.sigmoid(w.add(in[0], hidden[0]));
    const Value update = w.sigmoid(w.add(in[1], hidden[1]));
    const Value fresh = w.tanh(w.add(in[2], w.mul(reset, hidden[2])));
    w.write(w.add(fresh, w.mul(update, w.sub(hx, fresh))));
    for (const Value kept : {reset, update, fresh, hx, hidden[2]})
      w.write(kept);
  });
}

const Program* gru_backward_program(at::ScalarType dtype) {
  return program_by_key({Formulas::kGruBackward, dtype, dtype, 0}, [&](ProgramBuilder& b) {
    RecurrentWriter w(b, dtype);
    const Value gradient = w.read();
    const auto [reset, update, fresh, hx, hidden] = w.read_all<kGruKept>();
    const Value to_update = w.through_sigmoid(w.mul(gradient, w.sub(hx, fresh)), update);
    const Value to_fresh = w.through_tanh(w.mul(gradient, w.sub(w.one(), update)), fresh);
    const Value to_reset = w.through_sigmoid(w.mul(to_fresh, hidden), reset);
    for (const Value each : {to_reset, to_update, to_fresh})
      w.write(each);
    for (const Value each : {to_reset, to_update, w.mul(to_fresh, reset)})
      w.write(each);
    w.write(w.mul(gradient, update));
  });
}

}  // namespace

std::optional<std::tuple<at::Tensor, at::Tensor, at::Tensor>> lstm_cell(
    const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& cx,
    const OptionalTensor& input_bias, const OptionalTensor& hidden_bias) {
  RecurrentCell cell(cx);
  cell.input(cx, 1);
  cell.input(input_gates, kLstmGates);
  cell.input(hidden_gates, kLstmGates);
  cell.bias(input_bias, kLstmGates);
  cell.bias(hidden_bias, kLstmGates);
  if (!cell.is_served()) return std::nullopt;
  const at::Tensor hy = cell.empty(1), cy = cell.empty(1), kept = cell.empty(kLstmGates);
  const bool is_done =
      cell.run(*lstm_program(cx.scalar_type(), form_of(input_bias, hidden_bias)), {hy, cy, kept});
  if (!count_composed<at::_ops::_thnn_fused_lstm_cell>(is_done, hy)) return std::nullopt;
  return std::tuple(hy, cy, kept);
}

std::optional<std::tuple<at::Tensor, at::Tensor>> lstm_cell_backward(const OptionalTensor& grad_hy,
                                                                     const OptionalTensor& grad_cy,
                                                                     const at::Tensor& cx,
                                                                     const at::Tensor& cy,
                                                                     const at::Tensor& workspace) {
  RecurrentCell cell(cx);
  cell.input(cx, 1);
  cell.input(cy, 1);
  cell.input(workspace, kLstmGates);
  for (const OptionalTensor* gradient : {&grad_hy, &grad_cy})
    if (is_there(*gradient)) cell.input(**gradient, 1);
  if (!cell.is_served()) return std::nullopt;
  const at::Tensor gates = cell.empty(kLstmGates), state = cell.empty(1);
  const bool is_done =
      cell.run(*lstm_backward_program(cx.scalar_type(), form_of(grad_hy, grad_cy)), {gates, state});
  if (!count_composed<at::_ops::_thnn_fused_lstm_cell_backward_impl>(is_done, gates))
    return std::nullopt;
  return std::tuple(gates, state);
}

std::optional<std::tuple<at::Tensor, at::Tensor>> gru_cell(const at::Tensor& input_gates,
                                                           const at::Tensor& hidden_gates,
                                                           const at::Tensor& hx,
                                                           const OptionalTensor& input_bias,
                                                           const OptionalTensor& hidden_bias) {
  RecurrentCell cell(hx);
  cell.input(hx, 1);
  cell.input(input_gates, kGruGates);
  cell.input(hidden_gates, kGruGates);
  cell.bias(input_bias, kGruGates);
  cell.bias(hidden_bias, kGruGates);
  if (!cell.is_served()) return std::nullopt;
  const at::Tensor hy = cell.empty(1), kept = cell.empty(kGruKept);
  const bool is_done =
      cell.run(*gru_program(hx.scalar_type(), form_of(input_bias, hidden_bias)), {hy, kept});
  if (!count_composed<at::_ops::_thnn_fused_gru_cell>(is_done, hy)) return std::nullopt;
  return std::tuple(hy, kept);
}

std::optional<std::tuple<at::Tensor, at::Tensor, at::Tensor>> gru_cell_backward(
    const at::Tensor& grad_hy, const at::Tensor& workspace) {
  RecurrentCell cell(grad_hy);
  cell.input(grad_hy, 1);
  cell.input(workspace, kGruKept);
  if (!cell.is_served()) return std::nullopt;
  const at::Tensor in = cell.empty(kGruGates), hidden = cell.empty(kGruGates),
                   state = cell.empty(1);
  const bool is_done = cell.run(*gru_backward_program(grad_hy.scalar_type()), {in, hidden, state});
  if (!count_composed<at::_ops::_thnn_fused_gru_cell_backward>(is_done, in)) return std::nullopt;
  return std::tuple(in, hidden, state);
}

}  // namespace tbk::generic
