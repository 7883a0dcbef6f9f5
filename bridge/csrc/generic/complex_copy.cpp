// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <generic/complex_copy.h>
#include <generic/complex_parts.h>
#include <generic/composition.h>

namespace tbk::generic {
namespace {

Value negated(ProgramBuilder& b, Value value) {
  return b.apply(TBK_OPCODE_NEG, {value});
}

Pair loaded(ProgramBuilder& b, at::ScalarType dtype, at::ScalarType as) {
  const Value real = b.cast(b.input(part_dtype(dtype)), as);
  if (!is_pair(dtype)) return {real, b.constant(0, as)};
  return {real, b.cast(b.input(part_dtype(dtype)), as)};
}

void write_to_pair(ProgramBuilder& b, at::ScalarType from, at::ScalarType to, PairSigns signs) {
  const at::ScalarType part = part_dtype(to);
  Pair value = loaded(b, from, part);
  if (signs.negates) value.real = negated(b, value.real);
  if (signs.negates != signs.conjugates) value.imaginary = negated(b, value.imaginary);
  b.result(value.real);
  b.result(value.imaginary);
}

/// Of the imaginary part no sign is left.
void write_to_real(ProgramBuilder& b, at::ScalarType from, at::ScalarType to, PairSigns signs) {
  const at::ScalarType part = part_dtype(from);
  const Pair value = loaded(b, from, part);
  if (to == at::kBool)
    b.result(b.apply(TBK_OPCODE_OR, {b.cast(value.real, to), b.cast(value.imaginary, to)}));
  else
    b.result(b.cast(signs.negates ? negated(b, value.real) : value.real, to));
}

const Program* program_of(at::ScalarType from, at::ScalarType to, PairSigns signs) {
  const int form = signs.conjugates | signs.negates << 1;
  return program_by_key({Formulas::kPairCopy, from, to, form}, [&](ProgramBuilder& b) {
    is_pair(to) ? write_to_pair(b, from, to, signs) : write_to_real(b, from, to, signs);
  });
}

bool is_computed(at::ScalarType dtype) {
  return computed_in(part_dtype(dtype)) != at::ScalarType::Undefined;
}

}  // namespace

bool copy_pairs(const at::Tensor& destination, const at::Tensor& source, PairSigns signs) {
  const at::ScalarType from = source.scalar_type(), to = destination.scalar_type();
  if ((!is_pair(from) && !is_pair(to)) || !is_computed(from) || !is_computed(to) ||
      !offers_pointwise(destination.device().index()))
    return false;
  return run_program(*program_of(from, to, signs), destination, {&source});
}

}  // namespace tbk::generic
