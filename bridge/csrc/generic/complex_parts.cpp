// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/view_as_real.h>
#include <c10/util/Exception.h>
#include <generic/complex_parts.h>

namespace tbk::generic {

at::Tensor as_reals(const at::Tensor& tensor) {
  const bool is_bare = !tensor.is_conj() && !tensor.is_neg();
  return is_pair(tensor.scalar_type()) && is_bare ? at::view_as_real(tensor) : tensor;
}

Pair plus(ProgramBuilder& b, Pair x, Pair y) {
  return {b.apply(TBK_OPCODE_ADD, {x.real, y.real}),
          b.apply(TBK_OPCODE_ADD, {x.imaginary, y.imaginary})};
}

Pair times(ProgramBuilder& b, Pair x, Pair y) {
  const auto product = [&](Value one, Value other) {
    return b.apply(TBK_OPCODE_MUL, {one, other});
  };
  return {b.apply(TBK_OPCODE_SUB, {product(x.real, y.real), product(x.imaginary, y.imaginary)}),
          b.apply(TBK_OPCODE_ADD, {product(x.real, y.imaginary), product(x.imaginary, y.real)})};
}

Value size_of(ProgramBuilder& b, Pair x) {
  const auto op = [&](uint16_t opcode, Value one, Value other) {
    return b.apply(opcode, {one, other});
  };
  const at::ScalarType dtype = b.dtype_of(x.real);
  const Value zero = b.constant(0, dtype), one = b.constant(1, dtype);
  const Value infinity = b.infinity(dtype, /*is_negative=*/false);
  const Value real = b.apply(TBK_OPCODE_ABS, {x.real});
  const Value imaginary = b.apply(TBK_OPCODE_ABS, {x.imaginary});
  const Value most = op(TBK_OPCODE_MAX, real, imaginary);
  const Value ratio = op(TBK_OPCODE_DIV, op(TBK_OPCODE_MIN, real, imaginary), most);
  const Value square = op(TBK_OPCODE_ADD, one, op(TBK_OPCODE_MUL, ratio, ratio));
  const Value size = op(TBK_OPCODE_MUL, most, b.apply(TBK_OPCODE_SQRT, {square}));
  const Value is_infinite =
      op(TBK_OPCODE_OR, op(TBK_OPCODE_EQ, real, infinity), op(TBK_OPCODE_EQ, imaginary, infinity));
  const Value finite = b.select(op(TBK_OPCODE_EQ, most, zero), most, size);
  return b.select(is_infinite, infinity, finite);
}

void warn_of_lost_parts(at::ScalarType from, at::ScalarType to) {
  if (at::isComplexType(from) && !at::isComplexType(to) && to != at::kBool) {
    TORCH_WARN_ONCE("Casting complex values to real discards the imaginary part");
  }
}

}  // namespace tbk::generic
