/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * formula_steps.c: one row a function or an operator of formulas.
 */
#include "formula_steps.h"

#include <math.h>
#include <string.h>

typedef sim_number_t number;

/* X(name): of C's library, as name##l */
/* clang-format off */
#define UNARY_OF_C(X) \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sqrt) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) \
  X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) X(erfc) X(floor) X(ceil) X(trunc)
/* clang-format on */

/* X(name, value): of a; then of a and b. An absent bound bounds nothing; what is absent is its default. */
#define UNARY(X)                  \
  X(neg, -a)                      \
  X(abs, fabsl(a))                \
  X(signbit, signbit(a) != 0)     \
  X(bitnot, (number) ~(int64_t)a) \
  X(erfinv, inverse_erf(a))       \
  X(round, rintl(a))
#define BINARY(X)                              \
  X(add, a + b)                                \
  X(sub, a - b)                                \
  X(mul, a* b)                                 \
  X(div, a / b)                                \
  X(pow, powl(a, b))                           \
  X(eq, a == b)                                \
  X(ne, a != b)                                \
  X(lt, a < b)                                 \
  X(le, a <= b)                                \
  X(gt, a > b)                                 \
  X(ge, a >= b)                                \
  X(and, a != 0 && b != 0)                     \
  X(or, a != 0 || b != 0)                      \
  X(max, isnan(a) || a > b ? a : b)            \
  X(min, isnan(a) || a < b ? a : b)            \
  X(bitand, (number)((int64_t)a & (int64_t)b)) \
  X(bitor, (number)((int64_t)a | (int64_t)b))  \
  X(bitxor, (number)((int64_t)a ^ (int64_t)b)) \
  X(fmod, fmodl(a, b))                         \
  X(remainder, remainder_of(a, b))             \
  X(gcd, common_divisor(a, b))                 \
  X(atan2, atan2l(a, b))                       \
  X(raised, isnan(b) || !(a < b) ? a : b)      \
  X(lowered, isnan(b) || !(a > b) ? a : b)     \
  X(given, isnan(a) ? b : a)

/* Newton's method on erf, from a rational guess. */
static number inverse_erf(number a) {
  if (!(a > -1 && a < 1)) return a == 1 ? (number)INFINITY : a == -1 ? -(number)INFINITY : NAN;
  const number slope = 1.128379167095512573896158903121545172L, k = 0.147L;
  const number l = log1pl(-a * a), h = 4.3307467508L + l / 2;
  number y = copysignl(sqrtl(sqrtl(h * h - l / k) - h), a);
  for (int i = 0; i < 6; i++)
    y -= (erfl(y) - a) / (slope * expl(-y * y));
  return y;
}

static number remainder_of(number a, number b) {
  const number rest = fmodl(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static number common_divisor(number a, number b) {
  while (b != 0) {
    const number rest = fmodl(a, b);
    a = b;
    b = rest;
  }
  return fabsl(a);
}

#define DEFINE(name, value)             \
  static number step_##name(number a) { \
    return (value);                     \
  }
UNARY(DEFINE)
#undef DEFINE
#define DEFINE(name, value)                       \
  static number step_##name(number a, number b) { \
    return (value);                               \
  }
BINARY(DEFINE)
#undef DEFINE

static number where(number condition, number a, number b) {
  return condition != 0 ? a : b;
}

typedef struct row {
  const char* name;
  int operands;
  number (*one)(number);
  number (*two)(number, number);
  number (*three)(number, number, number);
  number constant;
} row_t;

#define OF_C(name) {#name, 1, name##l, NULL, NULL, 0},
#define ONE(name, value) {#name, 1, step_##name, NULL, NULL, 0},
#define TWO(name, value) {#name, 2, NULL, step_##name, NULL, 0},
#define NONE(name, value) {#name, 0, NULL, NULL, NULL, value},

static const row_t rows[] = {
    NONE(number, 0) NONE(index, 0) NONE(row, 0) NONE(column, 0)
        NONE(pi, 3.141592653589793238462643383279502884L) NONE(inf, INFINITY) UNARY_OF_C(OF_C)
            UNARY(ONE) BINARY(TWO){"where", 3, NULL, NULL, where, 0},
};
enum { ROWS = sizeof rows / sizeof *rows };
_Static_assert((int)ROWS < (int)SIM_STEP_LETTER, "codes of steps stand before those of letters");

int sim_step_find(const char* name, size_t length) {
  for (int i = SIM_STEP_INDEX; i < ROWS; i++)
    if (strlen(rows[i].name) == length && strncmp(rows[i].name, name, length) == 0) return i;
  return -1;
}

int sim_step_operands(int code) {
  return rows[code].operands;
}

void sim_step_run(int code, sim_number_t* operands, int pitch, int count) {
  const row_t* row = &rows[code];
  const sim_number_t *second = operands + pitch, *third = operands + 2 * pitch;
  for (int i = 0; i < count; i++) {
    switch (row->operands) {
      case 0:
        operands[i] = row->constant;
        break;
      case 1:
        operands[i] = row->one(operands[i]);
        break;
      case 2:
        operands[i] = row->two(operands[i], second[i]);
        break;
      default:
        operands[i] = row->three(operands[i], second[i], third[i]);
    }
  }
}
