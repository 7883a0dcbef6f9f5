/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * evaluate.c: a real operand that is an interval is tried at its ends, in the middle, and at 0 where it holds
 * it; what comes of all combinations, each widened by the opcode's bound, is the interval of the result.
 * That is right for what is monotonic between them; where it is not, the result is taken to be open.
 */
#include "evaluate.h"

#include <math.h>

#include "opcode.h"
#include "philox.h"

enum { MOST_TRIES = 7 };

/* ------------------------------------------------------------------------------- neighbours ---- */

static long double ulp_of(uint16_t dtype, long double x) {
  int exponent, digits = number_type(dtype)->digits;
  long double size = fabsl(x) < number_least_normal(dtype) ? number_least_normal(dtype) : fabsl(x);
  frexpl(size, &exponent);
  return ldexpl(1, exponent - digits);
}

/* Rounds away from what lies between, so that nothing of it is lost. */
static long double outward(uint16_t dtype, long double x, bool up) {
  long double rounded = value_of_real(dtype, x).middle;
  if (isnan(x) || isinf(x) || (up ? rounded >= x : rounded <= x)) return rounded;
  return value_of_real(dtype,
                       up ? rounded + ulp_of(dtype, rounded) : rounded - ulp_of(dtype, rounded))
      .middle;
}

static bool is_subnormal(uint16_t dtype, long double x) {
  return x != 0 && fabsl(x) < number_least_normal(dtype);
}

/* Subnormal numbers may be taken as zeros, of their sign or of none. */
static void allow_flush(value_t* v) {
  if (v->open || isnan(v->middle)) return;
  if (is_subnormal(v->dtype, v->low) && v->low > 0) v->low = 0.0L;
  if (is_subnormal(v->dtype, v->high) && v->high < 0) v->high = 0.0L;
  if (is_subnormal(v->dtype, v->low) && v->low < 0 && v->high == 0) v->high = 0.0L;
}

/* ------------------------------------------------------------------------------ combinations --- */

/* Made for each operand of each instruction: places behind `count` stay as they are. */
typedef struct tries {
  int count;
  long double at[MOST_TRIES];
} tries_t;

static void no_operand(tries_t* tries) {
  tries->count = 1;
  tries->at[0] = 0;
}

static void try(tries_t* tries, long double x) {
  for (int i = 0; i < tries->count; ++i)
    if (tries->at[i] == x && signbit(tries->at[i]) == signbit(x)) return;
  tries->at[tries->count++] = x;
}

/* One number or NaN, which is read as it is. */
static bool is_sharp(const value_t* v) {
  return value_is_exact(v) && !is_subnormal(v->dtype, v->middle);
}

/* Also flushed, as it may be where it is read. */
static void tries_of(tries_t* tries, const value_t* value) {
  tries->count = 1;
  tries->at[0] = value->middle;
  if (is_sharp(value)) return;
  value_t v = *value;
  allow_flush(&v);
  try(tries, v.low);
  try(tries, v.high);
  if (v.low < 0 && v.high > 0) try(tries, 0.0L);
  if (is_subnormal(v.dtype, value->low)) try(tries, copysignl(0, value->low));
  if (is_subnormal(v.dtype, value->high)) try(tries, copysignl(0, value->high));
}

typedef struct found {
  long double low, high;
  int numbers, nans;
} found_t;

/* SQRT's zeros are exact; what is infinite is not widened. */
static void note(found_t* found, const tbk_instruction_t* i, long double x) {
  double bound = program_opcode(i->opcode)->bound;
  if (isnan(x)) {
    ++found->nans;
    return;
  }
  bool exact = bound == 0 || isinf(x) || (x == 0 && i->opcode == TBK_OPCODE_SQRT);
  long double slack = exact ? 0 : bound * ulp_of(i->dtype, x);
  long double low = slack == 0 ? x : outward(i->dtype, x - slack, false);
  long double high = slack == 0 ? x : outward(i->dtype, x + slack, true);
  bool first = found->numbers++ == 0;
  if (first || low < found->low || (low == found->low && signbit(low))) found->low = low;
  if (first || high > found->high || (high == found->high && !signbit(high))) found->high = high;
}

static bool are_sharp(const value_t* const* in, size_t count) {
  for (size_t k = 0; k < count; ++k)
    if (!is_sharp(in[k])) return false;
  return true;
}

/* Returns whether what lies between the ends may be no value between what comes of the ends. */
static bool is_wild(const tbk_instruction_t* i, const value_t* const* in, size_t count) {
  switch (i->opcode) {
    case TBK_OPCODE_LGAMMA:
      return !(in[0]->low > 2) && !isnan(in[0]->middle);
    case TBK_OPCODE_DIV:
      return in[1]->low < 0 && in[1]->high > 0;
    case TBK_OPCODE_SIN:
    case TBK_OPCODE_COS:
    case TBK_OPCODE_TAN:
    case TBK_OPCODE_REM_TRUNC:
    case TBK_OPCODE_REM_FLOOR:
      return !are_sharp(in, count);
    case TBK_OPCODE_POW:
      return !are_sharp(in, count) && !(in[0]->low > 0);
    case TBK_OPCODE_ATAN2:
      return !are_sharp(in, count) && !(in[1]->low > 0);
    default:
      return false;
  }
}

/* What the table does not say of a zero's sign. */
static void free_zeros(value_t* v, const tbk_instruction_t* i, const value_t* const* in) {
  bool either = i->opcode >= TBK_OPCODE_FLOOR && i->opcode <= TBK_OPCODE_ROUND;
  if (i->opcode == TBK_OPCODE_MIN || i->opcode == TBK_OPCODE_MAX)
    either = in[0]->low == 0 || in[1]->low == 0 || in[0]->high == 0 || in[1]->high == 0;
  if (i->opcode == TBK_OPCODE_REM_FLOOR) either = true;
  if (!either) return;
  if (v->low == 0) v->low = -0.0L;
  if (v->high == 0) v->high = 0.0L;
}

/* MIN and MAX may compare what is subnormal as a zero, and give it as it is. */
static void note_tiny(found_t* found, const tbk_instruction_t* i, const tries_t* tries) {
  if (i->opcode != TBK_OPCODE_MIN && i->opcode != TBK_OPCODE_MAX) return;
  for (int a = 0; a < tries[0].count; ++a)
    for (int b = 0; b < tries[1].count; ++b) {
      const long double x = tries[0].at[a], y = tries[1].at[b],
                        least = number_least_normal(i->dtype);
      if (!(fabsl(x) < least) || !(fabsl(y) < least)) continue;
      note(found, i, x);
      note(found, i, y);
    }
}

/* The sign of a NaN that was computed is open. */
static value_t with_sign_of_nan(const value_t* in, int sign) {
  value_t v = *in;
  long double size = fmaxl(fabsl(v.low), fabsl(v.high));
  if (isnan(v.middle)) return v;
  v.low = -size, v.high = size;
  if (sign != 0 && value_is_exact(in)) v.low = v.middle = v.high = copysignl(size, sign);
  allow_flush(&v);
  return v;
}

static value_t real_result(const tbk_instruction_t* i, const value_t* const* in, size_t count) {
  found_t found = {0};
  tries_t tries[3];
  long double middle = 0;
  if (is_wild(i, in, count)) return value_open(i->dtype);
  if (i->opcode == TBK_OPCODE_COPYSIGN && isnan(in[1]->middle))
    return with_sign_of_nan(in[0], in[1]->nan_sign);
  for (size_t k = 0; k < 3; ++k)
    k < count ? tries_of(&tries[k], in[k]) : no_operand(&tries[k]);
  for (int a = 0; a < tries[0].count; ++a)
    for (int b = 0; b < tries[1].count; ++b)
      for (int c = 0; c < tries[2].count; ++c) {
        const long double at[3] = {tries[0].at[a], tries[1].at[b], tries[2].at[c]};
        const long double result = evaluate_real(i->opcode, i->dtype, at);
        if (a + b + c == 0) middle = result;
        note(&found, i, result);
      }
  note_tiny(&found, i, tries);
  if (found.nans > 0 && found.numbers > 0) return value_open(i->dtype);
  value_t v = value_of_real(i->dtype, middle);
  if (found.nans > 0) return v;
  v.low = found.low, v.high = found.high;
  free_zeros(&v, i, in);
  allow_flush(&v);
  return v;
}

/* ------------------------------------------------------------------- comparisons and casts ----- */

static bool holds(uint16_t opcode, long double a, long double b) {
  switch (opcode) {
    case TBK_OPCODE_EQ:
      return a == b;
    case TBK_OPCODE_NE:
      return a != b;
    case TBK_OPCODE_LT:
      return a < b;
    case TBK_OPCODE_LE:
      return a <= b;
    case TBK_OPCODE_GT:
      return a > b;
    case TBK_OPCODE_GE:
      return a >= b;
    case TBK_OPCODE_ISNAN:
      return isnan(a);
    default:
      return signbit(a) != 0;
  }
}

/* Intervals that meet may be equal or not, unless each is one number. */
static value_t truth_result(const tbk_instruction_t* i, const value_t* const* in, size_t count) {
  tries_t a, b;
  tries_of(&a, in[0]);
  count > 1 ? tries_of(&b, in[1]) : no_operand(&b);
  bool first = holds(i->opcode, a.at[0], b.at[0]);
  bool exact = value_is_exact(in[0]) && (count < 2 || value_is_exact(in[1]));
  bool sign = i->opcode == TBK_OPCODE_SIGNBIT && isnan(in[0]->middle);
  if (sign && in[0]->nan_sign == 0) return value_open(TBK_BOOL);
  if (sign) return value_of_integer(TBK_BOOL, in[0]->nan_sign < 0);
  if (!exact && count > 1 && !isnan(in[0]->middle) && !isnan(in[1]->middle) &&
      in[0]->low <= in[1]->high && in[1]->low <= in[0]->high)
    return value_open(TBK_BOOL);
  for (int x = 0; x < a.count; ++x)
    for (int y = 0; y < b.count; ++y)
      if (holds(i->opcode, a.at[x], b.at[y]) != first) return value_open(TBK_BOOL);
  return value_of_integer(TBK_BOOL, first);
}

static value_t real_to_integer(uint16_t dtype, const value_t* in) {
  int bits = 8 * (int)number_type(dtype)->size;
  bool has_sign = number_type(dtype)->is_signed;
  long double low = truncl(in->low), high = truncl(in->high);
  long double most = ldexpl(1, has_sign ? bits - 1 : bits), least = has_sign ? -most : 0;
  if (isnan(in->middle) || low != high || low < least || high >= most) return value_open(dtype);
  uint64_t whole = low < 0 ? (uint64_t)(int64_t)low : (uint64_t)low;
  return value_of_integer(dtype, whole);
}

static value_t real_to_truth(const value_t* in) {
  tries_t tries;
  tries_of(&tries, in);
  for (int t = 1; t < tries.count; ++t)
    if ((tries.at[t] != 0) != (tries.at[0] != 0)) return value_open(TBK_BOOL);
  return value_of_integer(TBK_BOOL, tries.at[0] != 0);
}

static value_t real_to_real(uint16_t dtype, const value_t* in) {
  value_t from = *in;
  allow_flush(&from);
  value_t v = value_of_real(dtype, from.middle);
  if (isnan(from.middle)) return v;
  v.low = value_of_real(dtype, from.low).middle;
  v.high = value_of_real(dtype, from.high).middle;
  allow_flush(&v);
  return v;
}

static value_t cast(uint16_t dtype, const value_t* in) {
  bool has_sign = number_type(in->dtype)->is_signed;
  if (value_is_real(in->dtype)) {
    if (dtype == TBK_BOOL) return real_to_truth(in);
    return value_is_real(dtype) ? real_to_real(dtype, in) : real_to_integer(dtype, in);
  }
  if (!value_is_real(dtype))
    return value_of_integer(dtype, dtype == TBK_BOOL ? in->bits != 0 : in->bits);
  return value_of_real(dtype, has_sign ? (long double)(int64_t)in->bits : (long double)in->bits);
}

static value_t bitcast(uint16_t dtype, const value_t* in) {
  bool is_nan = value_is_real(in->dtype) && isnan(in->middle);
  if (in->dtype == dtype) return *in;
  if (!value_is_exact(in) || is_nan) return value_open(dtype);
  return value_of_bits(dtype, value_bits(in));
}

/* ------------------------------------------------------------------------------------ sources -- */

static value_t philox(const tbk_instruction_t* i, const value_t* const* in) {
  uint64_t at = in[1]->bits + in[2]->bits;
  uint32_t counter[4] = {(uint32_t)at, (uint32_t)(at >> 32), 0, 0}, out[4];
  uint32_t key[2] = {(uint32_t)in[0]->bits, (uint32_t)(in[0]->bits >> 32)};
  philox_block(counter, key, out);
  return value_of_integer(TBK_INT64, out[i->slot]);
}

static value_t load_indexed(const tbk_instruction_t* i, const tensor_t* tensor,
                            const value_t* const* in) {
  int64_t position = 0;
  bool inside = true;
  for (int32_t d = 0; d < tensor->rank; ++d) {
    int64_t size = tensor->sizes[d], index = (int64_t)in[d]->bits;
    bool fits = index >= 0 && index < size;
    if (!fits && i->bounds == TBK_BOUNDS_CLAMP && size > 0) index = index < 0 ? 0 : size - 1;
    inside = inside && (fits || (i->bounds == TBK_BOUNDS_CLAMP && size > 0));
    position = position * size + index % (size > 0 ? size : 1);
  }
  if (inside) return value_load(i->dtype, tensor_at(tensor, position));
  return i->bounds == TBK_BOUNDS_TRUSTED ? value_open(i->dtype) : value_of_bits(i->dtype, 0);
}

static value_t source(const tbk_instruction_t* i, const eval_place_t* place) {
  switch (i->opcode) {
    case TBK_OPCODE_CONSTANT:
      return value_of_bits(i->dtype, i->immediate);
    case TBK_OPCODE_NUMBER:
      return value_of_bits(i->dtype, place->numbers[i->slot]);
    case TBK_OPCODE_PARAMETER:
      return place->parameters[i->slot];
    case TBK_OPCODE_COORDINATE:
      return value_of_integer(TBK_INT64, (uint64_t)place->coordinates[i->slot]);
    case TBK_OPCODE_LINEAR_INDEX:
      return value_of_integer(TBK_INT64, (uint64_t)place->linear_index);
    default:
      return value_load(i->dtype, tensor_at(&place->inputs[i->slot], place->position));
  }
}

/* A condition that is open chooses either. */
static value_t choose(const value_t* const* in) {
  if (in[0]->open) return value_hull(in[1], in[2]);
  return in[0]->bits != 0 ? *in[1] : *in[2];
}

static value_t integer_result(const tbk_instruction_t* i, const value_t* const* in) {
  uint64_t bits[3] = {0};
  for (uint32_t k = 0; k < i->operand_count; ++k)
    bits[k] = in[k]->bits;
  return evaluate_integer(i->opcode, i->dtype, bits);
}

static value_t compute(const tbk_instruction_t* i, const value_t* const* in) {
  if (i->opcode == TBK_OPCODE_SELECT) return choose(in);
  for (uint32_t k = 0; k < i->operand_count; ++k)
    if (in[k]->open) return value_open(i->dtype);
  if (i->opcode == TBK_OPCODE_PHILOX) return philox(i, in);
  if (i->opcode == TBK_OPCODE_CAST) return cast(i->dtype, in[0]);
  if (i->opcode == TBK_OPCODE_BITCAST) return bitcast(i->dtype, in[0]);
  if (!value_is_real(in[0]->dtype)) return integer_result(i, in);
  if (i->dtype == TBK_BOOL) return truth_result(i, in, i->operand_count);
  return real_result(i, in, i->operand_count);
}

static value_t load(const tbk_instruction_t* i, const eval_place_t* place,
                    const value_t* const* in) {
  for (uint32_t k = 0; k < i->operand_count; ++k)
    if (in[k]->open) return value_open(i->dtype);
  return load_indexed(i, &place->inputs[i->slot], in);
}

void evaluate(const tbk_program_t* program, const eval_place_t* place, value_t* values) {
  for (size_t n = 0; n < program->instruction_count; ++n) {
    const tbk_instruction_t* i = &program->instructions[n];
    const value_t* in[TBK_PROGRAM_MOST_RANK];
    for (uint32_t k = 0; k < i->operand_count; ++k)
      in[k] = &values[program->operands[i->operand_first + k]];
    bool indexed =
        i->opcode == TBK_OPCODE_LOAD && program->inputs[i->slot].kind == TBK_INPUT_INDEXED;
    values[n] = indexed                 ? load(i, place, in)
                : i->operand_count == 0 ? source(i, place)
                                        : compute(i, in);
  }
}
