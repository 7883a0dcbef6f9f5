/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_program.c: tbk::pointwise with a fault. Each changes the program, or the operands, before the
 * reference sees them. One per opcode is made from the map.
 */
#include <stdlib.h>
#include <string.h>
#include <tbk/dtypes.h>
#include <tbk/tbk_program.h>

#include "arguments.h"
#include "calls.h"
#include "program_parameter.h"
#include "rewrite.h"

static _Thread_local rewrite_t rewritten;

/* Runs the reference on what `function` makes of the program. */
#define LAUNCH_REWRITTEN(function, context)                                               \
  do {                                                                                    \
    const tbk_args_pointwise_t* given = pointwise_arguments(arguments);                   \
    if (given == NULL) return LAUNCH_INNER;                                               \
    tbk_args_pointwise_t changed = *given;                                                \
    changed.program = rewrite_program(&rewritten, given->program, (function), (context)); \
    arguments = &changed;                                                                 \
    return LAUNCH_INNER;                                                                  \
  } while (0)

/* ------------------------------------------------------------------------------------ opcodes -- */

static const struct {
  uint16_t number;
  int operands;
  const char *takes, *gives;
} opcodes[] = {
#define ROW_OF(name, number, operands, takes, gives, bound, meaning) \
  {number, operands, #takes, #gives},
    TBK_OPCODE_MAP(ROW_OF)
#undef ROW_OF
};
enum { OPCODES = sizeof opcodes / sizeof *opcodes };

/* Returns the next opcode with the same operands and results, in a ring; itself where there is none. */
static uint16_t twin_of(uint16_t opcode) {
  size_t at = 0;
  while (at + 1 < OPCODES && opcodes[at].number != opcode)
    ++at;
  for (size_t step = 1; step < OPCODES; ++step) {
    size_t next = (at + step) % OPCODES;
    if (opcodes[next].operands == opcodes[at].operands && opcodes[next].operands > 0 &&
        strcmp(opcodes[next].takes, opcodes[at].takes) == 0 &&
        strcmp(opcodes[next].gives, opcodes[at].gives) == 0)
      return opcodes[next].number;
  }
  return opcode;
}

/* An instruction that no other opcode could be: its operands, its slot or its bits are others. */
static uint32_t put_odd(rewrite_t* to, tbk_instruction_t i, const uint32_t* operands) {
  uint32_t turned[TBK_PROGRAM_MOST_RANK] = {0};
  for (uint32_t k = 0; k < i.operand_count; ++k)
    turned[k] = operands[i.operand_count - 1 - k];
  switch (i.opcode) {
    case TBK_OPCODE_CONSTANT:
      i.immediate ^= 1;
      break;
    case TBK_OPCODE_NUMBER:
      i.opcode = TBK_OPCODE_CONSTANT, i.slot = 0;
      break;
    case TBK_OPCODE_COORDINATE:
      i.opcode = TBK_OPCODE_LINEAR_INDEX, i.slot = 0;
      break;
    case TBK_OPCODE_LINEAR_INDEX:
      i.opcode = TBK_OPCODE_CONSTANT;
      break;
    case TBK_OPCODE_PHILOX:
      i.slot ^= 1;
      break;
    case TBK_OPCODE_LOAD:
      if (i.operand_count > 0) i.bounds ^= TBK_BOUNDS_CLAMP | TBK_BOUNDS_ZERO;
      break;
    case TBK_OPCODE_NOT:
      return operands[0];
    case TBK_OPCODE_SELECT:
      turned[0] = operands[0], turned[1] = operands[2], turned[2] = operands[1];
      break;
    default:
      break;
  }
  return rewrite_put(to, i, turned, i.operand_count);
}

/* A cast that loses what an 8-bit integer does not hold. */
static uint32_t put_narrow_cast(rewrite_t* to, tbk_instruction_t i, const uint32_t* operands) {
  tbk_instruction_t narrow = i;
  narrow.dtype = TBK_INT8;
  uint32_t value = rewrite_put(to, narrow, operands, 1);
  return rewrite_put(to, i, &value, 1);
}

static uint32_t put_other(rewrite_t* to, const tbk_instruction_t* i, const uint32_t* operands,
                          uint64_t opcode) {
  tbk_instruction_t other = *i;
  if (i->opcode != opcode) return rewrite_keep(to, i, operands);
  if (opcode == TBK_OPCODE_CAST) return put_narrow_cast(to, other, operands);
  if (opcode == TBK_OPCODE_BITCAST) {
    other.opcode = TBK_OPCODE_CAST;
    return rewrite_put(to, other, operands, 1);
  }
  other.opcode = twin_of(i->opcode);
  if (i->opcode == TBK_OPCODE_SELECT || i->opcode == TBK_OPCODE_PHILOX || other.opcode == i->opcode)
    return put_odd(to, *i, operands);
  return rewrite_keep(to, &other, operands);
}

#define OPCODE_MUTANT(name, number, operands, takes, gives, bound, meaning)          \
  LAUNCH(opcode_##name) {                                                            \
    if ((number) == TBK_OPCODE_PARAMETER)                                            \
      return launch_other_parameter(self, device, kernel, arguments, stream, error); \
    LAUNCH_REWRITTEN(put_other, number);                                             \
  }
#define OPCODE_CLAUSE(number)                        \
  ((number) == TBK_OPCODE_PARAMETER      ? "PRG-016" \
   : (number) == TBK_OPCODE_CONSTANT     ? "PRG-002" \
   : (number) == TBK_OPCODE_NUMBER       ? "PRG-007" \
   : (number) == TBK_OPCODE_PHILOX       ? "PRG-006" \
   : (number) == TBK_OPCODE_LOAD         ? "PRG-004" \
   : (number) == TBK_OPCODE_CAST         ? "PRG-003" \
   : (number) <= TBK_OPCODE_LINEAR_INDEX ? "PRG-005" \
                                         : "PRG-002")
TBK_OPCODE_MAP(OPCODE_MUTANT)

/* ---------------------------------------------------------------------------- other programs ---- */

static uint32_t put_narrow_index(rewrite_t* to, const tbk_instruction_t* i,
                                 const uint32_t* operands, uint64_t context) {
  const tbk_instruction_t narrow = {.opcode = TBK_OPCODE_CAST, .dtype = TBK_INT32};
  const tbk_instruction_t wide = {.opcode = TBK_OPCODE_CAST, .dtype = TBK_INT64};
  uint32_t indices[TBK_PROGRAM_MOST_RANK];
  if (i->opcode != TBK_OPCODE_LOAD) return rewrite_keep(to, i, operands);
  for (uint32_t k = 0; k < i->operand_count; ++k) {
    uint32_t value = rewrite_put(to, narrow, &operands[k], 1);
    indices[k] = rewrite_put(to, wide, &value, 1);
  }
  return rewrite_keep(to, i, indices);
}
LAUNCH(index_has_32_bits) {
  LAUNCH_REWRITTEN(put_narrow_index, 0);
}

/* The machine looks at the low bits of a shift alone. */
static uint32_t put_masked_shift(rewrite_t* to, const tbk_instruction_t* i,
                                 const uint32_t* operands, uint64_t context) {
  tbk_instruction_t mask = {.opcode = TBK_OPCODE_CONSTANT, .dtype = i->dtype};
  const tbk_instruction_t both = {.opcode = TBK_OPCODE_AND, .dtype = i->dtype};
  uint32_t in[2] = {operands[i->operand_count > 1 ? 1 : 0], 0};
  if (i->opcode != TBK_OPCODE_SHL && i->opcode != TBK_OPCODE_SHR)
    return rewrite_keep(to, i, operands);
  mask.immediate = i->dtype == TBK_INT64 ? 63 : 31;
  in[1] = rewrite_put(to, mask, NULL, 0);
  uint32_t shift[2] = {operands[0], rewrite_put(to, both, in, 2)};
  return rewrite_keep(to, i, shift);
}
LAUNCH(shift_is_masked) {
  LAUNCH_REWRITTEN(put_masked_shift, 0);
}

/* Real numbers go through half precision on their way. */
static uint32_t put_half_cast(rewrite_t* to, const tbk_instruction_t* i, const uint32_t* operands,
                              uint64_t context) {
  const tbk_instruction_t half = {.opcode = TBK_OPCODE_CAST, .dtype = TBK_FLOAT16};
  if (i->opcode != TBK_OPCODE_CAST || i->dtype != TBK_BFLOAT16)
    return rewrite_keep(to, i, operands);
  uint32_t value = rewrite_put(to, half, operands, 1);
  return rewrite_keep(to, i, &value);
}
LAUNCH(cast_to_bfloat16_by_way_of_half) {
  LAUNCH_REWRITTEN(put_half_cast, 0);
}

/* A sum of a product is rounded once. */
static uint32_t put_contracted(rewrite_t* to, const tbk_instruction_t* i, const uint32_t* operands,
                               uint64_t context) {
  tbk_instruction_t fused = *i;
  bool real = i->dtype == TBK_FLOAT32 || i->dtype == TBK_FLOAT64;
  if (i->opcode != TBK_OPCODE_ADD || !real) return rewrite_keep(to, i, operands);
  const tbk_instruction_t* product = &to->instructions[operands[0]];
  if (product->opcode != TBK_OPCODE_MUL) return rewrite_keep(to, i, operands);
  const uint32_t in[3] = {to->operands[product->operand_first],
                          to->operands[product->operand_first + 1], operands[1]};
  fused.opcode = TBK_OPCODE_FMA;
  return rewrite_put(to, fused, in, 3);
}
LAUNCH(sums_of_products_are_contracted) {
  LAUNCH_REWRITTEN(put_contracted, 0);
}

/* What is equal to itself needs no comparison, but for NaN. */
static uint32_t put_folded(rewrite_t* to, const tbk_instruction_t* i, const uint32_t* operands,
                           uint64_t context) {
  const tbk_instruction_t truth = {
      .opcode = TBK_OPCODE_CONSTANT, .dtype = TBK_BOOL, .immediate = 1};
  if (i->opcode != TBK_OPCODE_EQ || operands[0] != operands[1])
    return rewrite_keep(to, i, operands);
  return rewrite_put(to, truth, NULL, 0);
}
LAUNCH(equal_to_itself_is_folded) {
  LAUNCH_REWRITTEN(put_folded, 0);
}

/* Folds a quotient, as if there were neither 0 nor infinities. */
static uint32_t put_quotient_of_one(rewrite_t* to, const tbk_instruction_t* i,
                                    const uint32_t* operands, uint64_t context) {
  const uint64_t one = i->dtype == TBK_FLOAT64 ? UINT64_C(0x3ff0000000000000) : 0x3f800000;
  if (i->opcode != TBK_OPCODE_DIV || operands[0] != operands[1])
    return rewrite_keep(to, i, operands);
  return rewrite_bits(to, i->dtype, one);
}
LAUNCH(quotient_of_a_value_and_itself_is_1) {
  LAUNCH_REWRITTEN(put_quotient_of_one, 0);
}

/* COORDINATE counts memory: of the dimension beside it. */
static uint32_t put_next_dimension(rewrite_t* to, const tbk_instruction_t* i,
                                   const uint32_t* operands, uint64_t rank) {
  tbk_instruction_t next = *i;
  if (i->opcode == TBK_OPCODE_COORDINATE) next.slot = (uint16_t)((i->slot + 1) % rank);
  return rewrite_keep(to, &next, operands);
}
LAUNCH(coordinate_of_the_next_dimension) {
  const tbk_args_pointwise_t* a = pointwise_arguments(arguments);
  uint64_t rank = a != NULL && a->set_count > 0 ? (uint64_t)a->sets[0]->outputs[0]->rank : 0;
  LAUNCH_REWRITTEN(put_next_dimension, rank > 0 ? rank : 1);
}

static uint32_t put_other_word(rewrite_t* to, const tbk_instruction_t* i, const uint32_t* operands,
                               uint64_t context) {
  if (i->opcode != TBK_OPCODE_PHILOX) return rewrite_keep(to, i, operands);
  const uint32_t in[3] = {operands[0], operands[1], operands[1]};
  return rewrite_keep(to, i, in);
}
LAUNCH(philox_forgets_the_index) {
  LAUNCH_REWRITTEN(put_other_word, 0);
}

#define POINTWISE_ROW(function, clause, operation, narrow, note) \
  KERNEL_ROW(function, clause, operation, narrow, TBK_NAME_pointwise, launch, note)
#define OPCODE_ROW(name, number, operands, takes, gives, bound, meaning)                      \
  KERNEL_ROW(opcode_##name, OPCODE_CLAUSE(number), VALUE, NARROW,                             \
             (number) == TBK_OPCODE_PARAMETER ? TBK_NAME_reduce : TBK_NAME_pointwise, launch, \
             #name " computes something else"),

const mutant_t mutants_program[] = {
    TBK_OPCODE_MAP(OPCODE_ROW)
        POINTWISE_ROW(index_has_32_bits, "PRG-004", VALUE, NARROW, "2^32 + 1 is taken as 1"),
    POINTWISE_ROW(shift_is_masked, "PRG-002", VALUE, NARROW, "as the machine does it"),
    POINTWISE_ROW(quotient_of_a_value_and_itself_is_1, "PRG-002", VALUE, NARROW,
                  "also of 0, infinities and NaN"),
    POINTWISE_ROW(cast_to_bfloat16_by_way_of_half, "PRG-003", VALUE, NARROW, "overflows early"),
    POINTWISE_ROW(sums_of_products_are_contracted, "PRG-012", VALUE, NARROW,
                  "as compilers like it"),
    POINTWISE_ROW(equal_to_itself_is_folded, "PRG-012", VALUE, NARROW, "as -ffast-math does it"),
    POINTWISE_ROW(coordinate_of_the_next_dimension, "PRG-005", VALUE, BROAD, "transposed"),
    POINTWISE_ROW(philox_forgets_the_index, "PRG-006", VALUE, BROAD, "the counter is wrong"),
    {0},
};
