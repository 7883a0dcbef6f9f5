/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_opcode.c: instructions that are wrong for one kind of value: what they should be is written anew
 * from other instructions.
 */
#include <string.h>
#include <tbk/dtypes.h>

#include "generic_copy.h"
#include "narrow.h"
#include "rewrite.h"

static _Thread_local rewrite_t rewritten;

#define REWRITTEN(function)                 \
  GENERIC_CHANGED(c->as.pointwise.program = \
                      rewrite_program(&rewritten, c->as.pointwise.program, function, 0))

/* An instruction of up to three operands; those that it lacks are 0. */
static uint32_t put(rewrite_t* to, uint16_t opcode, int32_t dtype, uint32_t count, uint32_t a,
                    uint32_t b, uint32_t c) {
  const uint32_t operands[3] = {a, b, c};
  return rewrite_put(to, (tbk_instruction_t){.opcode = opcode, .dtype = (uint16_t)dtype}, operands,
                     count);
}
static uint32_t put_bits(rewrite_t* to, int32_t dtype, uint64_t bits) {
  return rewrite_put(
      to,
      (tbk_instruction_t){
          .opcode = TBK_OPCODE_CONSTANT, .dtype = (uint16_t)dtype, .immediate = bits},
      NULL, 0);
}
static uint32_t put_real(rewrite_t* to, int32_t dtype, double value) {
  const float single = (float)value;
  uint64_t bits = 0;
  if (dtype == TBK_FLOAT64) memcpy(&bits, &value, sizeof value);
  if (dtype == TBK_FLOAT32) memcpy(&bits, &single, sizeof single);
  return put_bits(to, dtype, bits);
}
static bool is_float(int32_t dtype) {
  return dtype == TBK_FLOAT32 || dtype == TBK_FLOAT64;
}
static int32_t dtype_of(const rewrite_t* to, uint32_t value) {
  return to->instructions[value].dtype;
}
/* The value goes through another dtype. */
static uint32_t put_detour(rewrite_t* to, int32_t by, uint32_t value) {
  const int32_t dtype = dtype_of(to, value);
  return put(to, TBK_OPCODE_CAST, dtype, 1, put(to, TBK_OPCODE_CAST, by, 1, value, 0, 0), 0, 0);
}

#define REWRITE(function)                                                                 \
  static uint32_t function(rewrite_t* to, const tbk_instruction_t* i, const uint32_t* in, \
                           uint64_t context)

REWRITE(put_max_by_double) {
  if ((i->opcode != TBK_OPCODE_MAX && i->opcode != TBK_OPCODE_MIN) || i->dtype != TBK_INT64)
    return rewrite_keep(to, i, in);
  const uint32_t a = put_detour(to, TBK_FLOAT64, in[0]);
  return put(to, i->opcode, i->dtype, 2, a, put_detour(to, TBK_FLOAT64, in[1]), 0);
}
LAUNCH(least_and_greatest_by_way_of_double) {
  REWRITTEN(put_max_by_double);
}

REWRITE(put_saturated_abs) {
  const uint32_t size = rewrite_keep(to, i, in);
  if (i->opcode != TBK_OPCODE_ABS || is_float(i->dtype)) return size;
  const uint64_t most = i->dtype == TBK_INT64 ? INT64_MAX : INT32_MAX;
  const uint32_t zero = put_bits(to, i->dtype, 0);
  return put(to, TBK_OPCODE_SELECT, i->dtype, 3, put(to, TBK_OPCODE_LT, TBK_BOOL, 2, size, zero, 0),
             put_bits(to, i->dtype, most), size);
}
LAUNCH(size_of_the_least_is_the_greatest) {
  REWRITTEN(put_saturated_abs);
}

REWRITE(put_round_away) {
  if (i->opcode != TBK_OPCODE_ROUND) return rewrite_keep(to, i, in);
  const uint32_t half =
      put(to, TBK_OPCODE_COPYSIGN, i->dtype, 2, put_real(to, i->dtype, 0.5), in[0], 0);
  const uint32_t sum = put(to, TBK_OPCODE_ADD, i->dtype, 2, in[0], half, 0);
  return put(to, TBK_OPCODE_TRUNC, i->dtype, 1, sum, 0, 0);
}
LAUNCH(halves_are_rounded_away_from_zero) {
  REWRITTEN(put_round_away);
}

REWRITE(put_positive_rest) {
  const uint32_t rest = rewrite_keep(to, i, in);
  if (i->opcode != TBK_OPCODE_REM_TRUNC || !is_float(i->dtype)) return rest;
  return put(to, TBK_OPCODE_ADD, i->dtype, 2, rest, put_real(to, i->dtype, 0), 0);
}
LAUNCH(rest_of_nothing_has_no_sign) {
  REWRITTEN(put_positive_rest);
}

REWRITE(put_sign_of_numbers) {
  const uint32_t signed_size = rewrite_keep(to, i, in);
  if (i->opcode != TBK_OPCODE_COPYSIGN) return signed_size;
  return put(to, TBK_OPCODE_SELECT, i->dtype, 3,
             put(to, TBK_OPCODE_ISNAN, TBK_BOOL, 1, in[1], 0, 0),
             put(to, TBK_OPCODE_ABS, i->dtype, 1, in[0], 0, 0), signed_size);
}
LAUNCH(sign_of_nan_is_not_copied) {
  REWRITTEN(put_sign_of_numbers);
}

REWRITE(put_no_sign_of_nan) {
  const uint32_t sign = rewrite_keep(to, i, in);
  if (i->opcode != TBK_OPCODE_SIGNBIT) return sign;
  const uint32_t nan = put(to, TBK_OPCODE_ISNAN, TBK_BOOL, 1, in[0], 0, 0);
  return put(to, TBK_OPCODE_AND, TBK_BOOL, 2, sign, put(to, TBK_OPCODE_NOT, TBK_BOOL, 1, nan, 0, 0),
             0);
}
LAUNCH(nan_has_no_sign) {
  REWRITTEN(put_no_sign_of_nan);
}

REWRITE(put_false_of_nan) {
  const uint32_t truth = rewrite_keep(to, i, in);
  if (i->opcode != TBK_OPCODE_CAST || i->dtype != TBK_BOOL || !is_float(dtype_of(to, in[0])))
    return truth;
  const uint32_t itself = put(to, TBK_OPCODE_EQ, TBK_BOOL, 2, in[0], in[0], 0);
  return put(to, TBK_OPCODE_AND, TBK_BOOL, 2, truth, itself, 0);
}
LAUNCH(nan_is_cast_to_false) {
  REWRITTEN(put_false_of_nan);
}

/* Halves are selected as FLOAT32, with a sum of 0. */
REWRITE(put_unsigned_zero) {
  const uint32_t chosen = rewrite_keep(to, i, in);
  if (i->opcode != TBK_OPCODE_SELECT || (i->dtype != TBK_FLOAT16 && i->dtype != TBK_BFLOAT16))
    return chosen;
  const uint32_t wide = put(to, TBK_OPCODE_CAST, TBK_FLOAT32, 1, chosen, 0, 0);
  const uint32_t sum =
      put(to, TBK_OPCODE_ADD, TBK_FLOAT32, 2, wide, put_real(to, TBK_FLOAT32, 0), 0);
  return put(to, TBK_OPCODE_CAST, i->dtype, 1, sum, 0, 0);
}
LAUNCH(selected_halves_lose_the_sign_of_zero) {
  REWRITTEN(put_unsigned_zero);
}

REWRITE(put_nan_power) {
  const uint32_t power = rewrite_keep(to, i, in);
  if (i->opcode != TBK_OPCODE_POW) return power;
  const uint32_t size = put(to, TBK_OPCODE_ABS, i->dtype, 1, in[1], 0, 0);
  const uint32_t infinity = put_real(to, i->dtype, 1e300 * 1e300);
  const uint32_t one = put_real(to, i->dtype, -1);
  const uint32_t both =
      put(to, TBK_OPCODE_AND, TBK_BOOL, 2, put(to, TBK_OPCODE_EQ, TBK_BOOL, 2, size, infinity, 0),
          put(to, TBK_OPCODE_EQ, TBK_BOOL, 2, in[0], one, 0), 0);
  const uint32_t nan = put(to, TBK_OPCODE_SUB, i->dtype, 2, infinity, infinity, 0);
  return put(to, TBK_OPCODE_SELECT, i->dtype, 3, both, nan, power);
}
LAUNCH(minus_1_to_infinity_is_nan) {
  REWRITTEN(put_nan_power);
}

REWRITE(put_angle_of_positive_zero) {
  if (i->opcode != TBK_OPCODE_ATAN2) return rewrite_keep(to, i, in);
  const uint32_t a = put(to, TBK_OPCODE_ADD, i->dtype, 2, in[0], put_real(to, i->dtype, 0), 0);
  return put(to, TBK_OPCODE_ATAN2, i->dtype, 2, a, in[1], 0);
}
LAUNCH(angles_of_minus_0_are_those_of_0) {
  REWRITTEN(put_angle_of_positive_zero);
}

/* The carry between the halves of the counter is lost. */
REWRITE(put_short_counter) {
  if (i->opcode != TBK_OPCODE_PHILOX) return rewrite_keep(to, i, in);
  const uint32_t sum = put(to, TBK_OPCODE_ADD, TBK_INT64, 2, in[1], in[2], 0);
  const uint32_t mask = put_bits(to, TBK_INT64, UINT32_MAX);
  const uint32_t operands[3] = {in[0], put(to, TBK_OPCODE_AND, TBK_INT64, 2, sum, mask, 0),
                                put_bits(to, TBK_INT64, 0)};
  return rewrite_keep(to, i, operands);
}
LAUNCH(philox_counts_to_32_bits) {
  REWRITTEN(put_short_counter);
}
REWRITE(put_short_key) {
  if (i->opcode != TBK_OPCODE_PHILOX) return rewrite_keep(to, i, in);
  const uint32_t mask = put_bits(to, TBK_INT64, UINT32_MAX);
  const uint32_t operands[3] = {put(to, TBK_OPCODE_AND, TBK_INT64, 2, in[0], mask, 0), in[1],
                                in[2]};
  return rewrite_keep(to, i, operands);
}
LAUNCH(philox_has_a_key_of_32_bits) {
  REWRITTEN(put_short_key);
}

/* The nearest of a second index below 0 is not the first element. */
REWRITE(put_mirrored_index) {
  if (i->opcode != TBK_OPCODE_LOAD || i->operand_count < 2 || i->bounds != TBK_BOUNDS_CLAMP)
    return rewrite_keep(to, i, in);
  uint32_t operands[GENERIC_RANK];
  memcpy(operands, in, i->operand_count * sizeof *in);
  operands[1] = put(to, TBK_OPCODE_ABS, TBK_INT64, 1, in[1], 0, 0);
  return rewrite_keep(to, i, operands);
}
LAUNCH(second_index_is_mirrored_at_0) {
  REWRITTEN(put_mirrored_index);
}

REWRITE(put_number_by_double) {
  const uint32_t number = rewrite_keep(to, i, in);
  if (i->opcode != TBK_OPCODE_NUMBER || i->dtype != TBK_INT64) return number;
  return put_detour(to, TBK_FLOAT64, number);
}
LAUNCH(numbers_of_64_bits_by_way_of_double) {
  REWRITTEN(put_number_by_double);
}

/* Remainders towards the least as C's fmod leaves them, where the divisor is an infinity. */
REWRITE(put_rest_by_infinity) {
  const uint32_t rest = rewrite_keep(to, i, in);
  if (i->opcode != TBK_OPCODE_REM_FLOOR || !is_float(i->dtype)) return rest;
  const uint32_t size = put(to, TBK_OPCODE_ABS, i->dtype, 1, in[1], 0, 0);
  const uint32_t far =
      put(to, TBK_OPCODE_EQ, TBK_BOOL, 2, size, put_real(to, i->dtype, 1e300 * 1e300), 0);
  return put(to, TBK_OPCODE_SELECT, i->dtype, 3, far, in[0], rest);
}
LAUNCH(rest_by_infinity_has_the_sign_of_a) {
  REWRITTEN(put_rest_by_infinity);
}

#define OPCODE(function, clause, note) \
  KERNEL(function, clause, VALUE, TBK_NAME_pointwise, launch, note)

extern const mutant_t mutants_narrow_opcode[];
const mutant_t mutants_narrow_opcode[] = {
    OPCODE(least_and_greatest_by_way_of_double, "PRG-002", "of INT64 beyond 2^53"),
    OPCODE(size_of_the_least_is_the_greatest, "PRG-002", "ABS of an integer saturates"),
    OPCODE(halves_are_rounded_away_from_zero, "PRG-002", "ROUND of 0.5 is 1"),
    OPCODE(rest_of_nothing_has_no_sign, "PRG-002", "REM_TRUNC of -4 by 2 is 0"),
    OPCODE(sign_of_nan_is_not_copied, "PRG-002", "COPYSIGN with a second operand that is NaN"),
    OPCODE(nan_has_no_sign, "PRG-002", "SIGNBIT of a negative NaN"),
    OPCODE(nan_is_cast_to_false, "PRG-003", "CAST to BOOL"),
    OPCODE(selected_halves_lose_the_sign_of_zero, "PRG-002", "SELECT of 16-bit real numbers"),
    OPCODE(minus_1_to_infinity_is_nan, "PRG-002", "POW, which is 1 there"),
    OPCODE(angles_of_minus_0_are_those_of_0, "PRG-002", "ATAN2 on the left of 0"),
    OPCODE(philox_counts_to_32_bits, "PRG-006", "a carry out of the low half of the counter"),
    OPCODE(philox_has_a_key_of_32_bits, "PRG-006", "seeds beyond 2^32"),
    OPCODE(second_index_is_mirrored_at_0, "PRG-004", "LOAD with CLAMP of two indices"),
    OPCODE(numbers_of_64_bits_by_way_of_double, "PRG-007", "NUMBER beyond 2^53"),
    OPCODE(rest_by_infinity_has_the_sign_of_a, "PRG-002", "REM_FLOOR of -1 by infinity"),
    {0}};
