/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_program_extreme.c: each opcode, wrong at an extreme alone: of NaN, of the least integer, far from the
 * first place. One per row of the map, so that a new opcode needs a test that goes there. And what lies beyond: an
 * index of the last dimensions, the bits of a NaN.
 */
#include "generic_copy.h"
#include "rewrite.h"

static _Thread_local rewrite_t rewritten;

/* Puts whether a value is NaN, the least integer, or true; none where its dtype has no such thing. */
static bool put_extreme(rewrite_t* to, uint32_t value, uint32_t* out) {
  const uint16_t dtype = to->instructions[value].dtype;
  const uint64_t least = dtype == TBK_INT64 ? UINT64_C(1) << 63 : UINT64_C(1) << 31;
  *out = value;
  if (dtype == TBK_FLOAT32 || dtype == TBK_FLOAT64)
    *out = rewrite_op(to, TBK_OPCODE_ISNAN, TBK_BOOL, 1, value, 0, 0);
  else if (dtype == TBK_INT32 || dtype == TBK_INT64)
    *out = rewrite_op(to, TBK_OPCODE_EQ, TBK_BOOL, 2, value, rewrite_bits(to, dtype, least), 0);
  else
    return dtype == TBK_BOOL;
  return true;
}

/* Puts another value where `extreme` is true. */
static uint32_t put_other(rewrite_t* to, uint32_t extreme, uint32_t value) {
  const uint16_t dtype = to->instructions[value].dtype;
  const bool whole = dtype == TBK_INT32 || dtype == TBK_INT64;
  if (dtype == TBK_BOOL) return rewrite_op(to, TBK_OPCODE_XOR, TBK_BOOL, 2, value, extreme, 0);
  const uint32_t one = rewrite_bits(to, dtype, whole ? 1 : 0);
  const uint32_t other = whole ? rewrite_op(to, TBK_OPCODE_XOR, dtype, 2, value, one, 0) : one;
  return rewrite_op(to, TBK_OPCODE_SELECT, dtype, 3, extreme, other, value);
}

/* From where on a place, or a random word, is taken for 0. */
static uint64_t far_of(uint16_t opcode) {
  return opcode == TBK_OPCODE_COORDINATE ? 3 : opcode == TBK_OPCODE_PHILOX ? INT32_MAX : UINT16_MAX;
}

static bool is_place(uint16_t opcode) {
  return opcode == TBK_OPCODE_COORDINATE || opcode == TBK_OPCODE_LINEAR_INDEX ||
         opcode == TBK_OPCODE_PHILOX;
}

/* Whether the result is looked at, and not the first operand. */
static bool moves(const tbk_instruction_t* i) {
  return i->operand_count == 0 || i->opcode == TBK_OPCODE_LOAD || i->opcode == TBK_OPCODE_SELECT ||
         i->opcode == TBK_OPCODE_CAST || i->opcode == TBK_OPCODE_BITCAST;
}

static uint32_t put_wrong(rewrite_t* to, const tbk_instruction_t* i, const uint32_t* operands,
                          uint64_t opcode) {
  uint32_t extreme;
  const uint32_t value = rewrite_keep(to, i, operands);
  if (i->opcode != opcode) return value;
  if (is_place(i->opcode)) {
    const uint32_t far = rewrite_bits(to, TBK_INT64, far_of(i->opcode));
    extreme = rewrite_op(to, TBK_OPCODE_GT, TBK_BOOL, 2, value, far, 0);
    return rewrite_op(to, TBK_OPCODE_SELECT, TBK_INT64, 3, extreme, rewrite_bits(to, TBK_INT64, 0),
                      value);
  }
  if (!put_extreme(to, moves(i) ? value : operands[0], &extreme)) return value;
  return put_other(to, extreme, value);
}

#define EXTREME_MUTANT(name, number, operands, takes, gives, bound, meaning)                       \
  LAUNCH(extreme_##name) {                                                                         \
    if ((number) == TBK_OPCODE_PARAMETER)                                                          \
      GENERIC_CHANGED(c->reduction.combine =                                                       \
                          rewrite_program(&rewritten, c->reduction.combine, put_wrong, (number))); \
    GENERIC_CHANGED(c->as.pointwise.program = rewrite_program(&rewritten, c->as.pointwise.program, \
                                                              put_wrong, (number)));               \
  }
TBK_OPCODE_MAP(EXTREME_MUTANT)

#define EXTREME_CLAUSE(number)                       \
  ((number) == TBK_OPCODE_PARAMETER      ? "PRG-017" \
   : (number) == TBK_OPCODE_CONSTANT     ? "PRG-012" \
   : (number) == TBK_OPCODE_LOAD         ? "PRG-002" \
   : (number) == TBK_OPCODE_NUMBER       ? "PRG-007" \
   : (number) == TBK_OPCODE_PHILOX       ? "PRG-006" \
   : (number) == TBK_OPCODE_CAST         ? "PRG-003" \
   : (number) <= TBK_OPCODE_LINEAR_INDEX ? "PRG-005" \
                                         : "PRG-002")
#define EXTREME_ROW(name, number, operands, takes, gives, bound, meaning)                     \
  KERNEL_ROW(extreme_##name, EXTREME_CLAUSE(number), VALUE, NARROW,                           \
             (number) == TBK_OPCODE_PARAMETER ? TBK_NAME_reduce : TBK_NAME_pointwise, launch, \
             #name " is wrong at an extreme"),

/* What the seventh and eighth index of a load say. */
LAUNCH(indices_beyond_six_are_not_looked_at) {
  GENERIC_CHANGED(for (size_t s = 0; s < c->set_count; s++) for (size_t k = 0; k < c->inputs; k++) {
    generic_view_t* view = generic_operand(c, s, c->outputs + k);
    if (c->as.pointwise.program->inputs[k].kind != TBK_INPUT_INDEXED) continue;
    for (int32_t d = 6; d < view->tensor.rank; d++)
      view->strides[d] = 0;
  });
}

/* As rounding makes of it that looks at no NaN: a carry goes through all bits. */
static uint32_t put_carried_cast(rewrite_t* to, const tbk_instruction_t* i,
                                 const uint32_t* operands, uint64_t ones) {
  const uint32_t value = rewrite_keep(to, i, operands);
  if (i->opcode != TBK_OPCODE_CAST || i->dtype != TBK_BFLOAT16 ||
      to->instructions[operands[0]].dtype != TBK_FLOAT32)
    return value;
  const uint32_t bits = rewrite_op(to, TBK_OPCODE_BITCAST, TBK_INT32, 1, operands[0], 0, 0);
  const uint32_t same =
      rewrite_op(to, TBK_OPCODE_EQ, TBK_BOOL, 2, bits, rewrite_bits(to, TBK_INT32, ones), 0);
  return rewrite_op(to, TBK_OPCODE_SELECT, TBK_BFLOAT16, 3, same,
                    rewrite_bits(to, TBK_BFLOAT16, 0x8000), value);
}
LAUNCH(cast_of_a_nan_of_ones_is_0) {
  GENERIC_CHANGED(c->as.pointwise.program = rewrite_program(&rewritten, c->as.pointwise.program,
                                                            put_carried_cast, INT32_MAX));
}

const mutant_t mutants_program_extreme[] = {
    TBK_OPCODE_MAP(EXTREME_ROW)
        KERNEL_ROW(indices_beyond_six_are_not_looked_at, "PRG-004", VALUE, NARROW,
                   TBK_NAME_pointwise, launch, "of a seventh and an eighth dimension"),
    KERNEL_ROW(cast_of_a_nan_of_ones_is_0, "PRG-003", VALUE, NARROW, TBK_NAME_pointwise, launch,
               "rounding carries through all bits of it"),
    {0}};
