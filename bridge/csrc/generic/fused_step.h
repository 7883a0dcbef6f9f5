// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What programs of optimizers are built of.
#pragma once

#include <generic/arithmetic.h>

namespace tbk::generic {

/// What a step consists of, besides the lists; a program for each combination.
enum StepForm : int {
  kScaled = 1,   ///< Gradients were multiplied by grad_scale: they are divided, and written.
  kMaySkip = 2,  ///< Where found_inf is 1 nothing changes.
  kMaximize = 4,
  kDecays = 8,      ///< There is weight decay,
  kDecoupled = 16,  ///< by AdamW's rule.
  kGreatestKept = 32,
  kMomentum = 64,
  kNesterov = 128,
  kFirstStep = 256,
  kRateOnDevice = 512
};

/// Builds the program of one step in the dtype that parameters are computed in.
class Step : public Arithmetic {
 public:
  Step(ProgramBuilder& builder, at::ScalarType dtype, int form, int lists)
      : Arithmetic(builder, dtype), form_(form) {
    for (int i = 0; i < lists; i++) {
      before_.push_back(b_.cast(b_.input(dtype), inner()));
      after_.push_back(before_.back());
    }
  }

  bool has(int flag) const {
    return (form_ & flag) != 0;
  }
  /// Returns an operand that all places share: one float32 of the device, or a number.
  Value shared() {
    return b_.cast(b_.input(at::kFloat), inner());
  }
  Value number() {
    return b_.number(inner());
  }
  Value sqrt(Value x) {
    return b_.apply(TBK_OPCODE_SQRT, {x});
  }
  Value max(Value x, Value y) {
    return b_.apply(TBK_OPCODE_MAX, {x, y});
  }
  /// Returns 1 - b^n from n and the logarithm of b, which does not cancel.
  Value correction(Value logarithm, Value steps) {
    return b_.apply(TBK_OPCODE_NEG, {b_.apply(TBK_OPCODE_EXPM1, {mul(steps, logarithm)})});
  }
  Value& operator[](size_t list) {
    return after_[list];
  }
  /// Unscales the gradients, list 1, and returns what the step goes by. `scale` is read where scaled.
  Value gradient(Value scale) {
    if (has(kScaled)) after_[1] = div(after_[1], scale);
    return has(kMaximize) ? b_.apply(TBK_OPCODE_NEG, {after_[1]}) : after_[1];
  }
  /// Writes all lists, but gradients that were not scaled.
  void finish(Value found_inf) {
    for (size_t i = 0; i < after_.size(); i++) {
      if (i == 1 && !has(kScaled)) continue;
      Value result = after_[i];
      if (has(kMaySkip)) {
        const Value is_found = b_.apply(TBK_OPCODE_EQ, {found_inf, constant(1)});
        result = b_.apply(TBK_OPCODE_SELECT, {is_found, before_[i], result});
      }
      b_.result(b_.cast(result, dtype_));
    }
  }

 private:
  const int form_;
  c10::SmallVector<Value, 5> before_, after_;
};

/// The operands that all steps share, in this order: what is not there reads nothing.
struct SharedOperands {
  explicit SharedOperands(Step& step)
      : scale(step.has(kScaled) ? step.shared() : Value{0}),
        found_inf(step.has(kMaySkip) ? step.shared() : Value{0}),
        rate(step.has(kRateOnDevice) ? step.shared() : step.number()) {}
  Value scale, found_inf, rate;
};

}  // namespace tbk::generic
