/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * formula_steps.c: one row a function or an operator of formulas.
 */
#include "formula_steps.h"

#include <math.h>
#include <string.h>

#include "element.h"

typedef sim_number_t number;

/* clang-format off */
/* X(name): of one operand, of C's library, as name##l */
#define OF_C(X) \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) \
  X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) X(erfc) X(floor) X(ceil) X(trunc)

/* X(name, operands, value): of operands a, b and c. An absent bound bounds nothing; what is absent is its default. */
#define OWN(X) \
  X(pi, 0, 3.141592653589793238462643383279502884L) \
  X(inf, 0, INFINITY) \
  X(neg, 1, -a) \
  X(abs, 1, fabsl(a)) \
  X(signbit, 1, signbit(a) != 0) \
  X(bitnot, 1, (number) ~(int64_t)a) \
  X(erfinv, 1, inverse_erf(a)) \
  X(sqrt, 1, kind == SIM_DOUBLE ? (number)sqrt((double)a) : sqrtl(a)) \
  X(round, 1, rintl(a)) \
  X(add, 2, sim_add(kind, a, b)) \
  X(sub, 2, sim_add(kind, a, -b)) \
  X(mul, 2, sim_multiply(kind, a, b)) \
  X(div, 2, kind == SIM_DOUBLE ? (number)((double)a / (double)b) : a / b) \
  X(pow, 2, kind == SIM_WHOLE && b >= 0 ? power_of(a, b) : powl(a, b)) \
  X(eq, 2, a == b) \
  X(ne, 2, a != b) \
  X(lt, 2, a < b) \
  X(le, 2, a <= b) \
  X(gt, 2, a > b) \
  X(ge, 2, a >= b) \
  X(and, 2, a != 0 && b != 0) \
  X(or, 2, a != 0 || b != 0) \
  X(max, 2, isnan(a) || a > b ? a : b) \
  X(min, 2, isnan(a) || a < b ? a : b) \
  X(bitand, 2, (number)((int64_t)a & (int64_t)b)) \
  X(bitor, 2, (number)((int64_t)a | (int64_t)b)) \
  X(bitxor, 2, (number)((int64_t)a ^ (int64_t)b)) \
  X(fmod, 2, fmodl(a, b)) \
  X(remainder, 2, remainder_of(a, b)) \
  X(gcd, 2, common_divisor(a, b)) \
  X(atan2, 2, atan2l(a, b)) \
  X(raised, 2, isnan(b) || !(a < b) ? a : b) \
  X(lowered, 2, isnan(b) || !(a > b) ? a : b) \
  X(given, 2, isnan(a) ? b : a) \
  X(where, 3, a != 0 ? b : c)
/* clang-format on */

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

/* By squares, of integers. */
static number power_of(number a, number b) {
  number power = 1;
  for (int64_t rest = sim_wrap(b); rest != 0; rest /= 2, a = sim_multiply(SIM_WHOLE, a, a))
    if (rest % 2 != 0) power = sim_multiply(SIM_WHOLE, power, a);
  return power;
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

#define STEP(name, operands, value)                                                \
  static number step_##name(sim_arithmetic_t kind, number a, number b, number c) { \
    (void)kind, (void)a, (void)b, (void)c;                                         \
    return (value);                                                                \
  }
#define STEP_OF_C(name) STEP(name, 1, name##l(a))
OF_C(STEP_OF_C)
OWN(STEP)

#define ROW(name, operands, value) {#name, operands, step_##name},
#define ROW_OF_C(name) ROW(name, 1, 0)
#define PLACE(name) {#name, 0, NULL},
static const struct {
  const char* name;
  int operands;
  number (*run)(sim_arithmetic_t, number, number, number);
} rows[] = {PLACE(number) PLACE(index) PLACE(row) PLACE(column) OF_C(ROW_OF_C) OWN(ROW)};
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

void sim_step_run(int code, sim_arithmetic_t kind, sim_number_t* operands, int pitch, int count) {
  const int second = rows[code].operands > 1 ? pitch : 0;
  const int third = rows[code].operands > 2 ? 2 * pitch : 0;
  for (int i = 0; i < count; i++)
    operands[i] = rows[code].run(kind, operands[i], operands[second + i], operands[third + i]);
}
