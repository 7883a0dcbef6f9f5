// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic of programs that take more than a few lines.
#pragma once

#include <generic/program.h>

namespace tbk::generic {

/// Writes operations on values of the dtype that `dtype` is computed in.
class Arithmetic {
 public:
  Arithmetic(ProgramBuilder& builder, at::ScalarType dtype) : b_(builder), dtype_(dtype) {}

  at::ScalarType inner() const {
    return computed_in(dtype_);
  }
  Value constant(double value) {
    return b_.constant(value, inner());
  }
  Value add(Value x, Value y) {
    return b_.apply(TBK_OPCODE_ADD, {x, y});
  }
  Value sub(Value x, Value y) {
    return b_.apply(TBK_OPCODE_SUB, {x, y});
  }
  Value mul(Value x, Value y) {
    return b_.apply(TBK_OPCODE_MUL, {x, y});
  }
  Value div(Value x, Value y) {
    return b_.apply(TBK_OPCODE_DIV, {x, y});
  }

 protected:
  ProgramBuilder& b_;
  const at::ScalarType dtype_;
};

}  // namespace tbk::generic
