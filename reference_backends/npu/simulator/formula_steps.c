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

static number of_sign(number a) {
  return signbit(a) != 0;
}

static number negative(number a) {
  return -a;
}

static number bit_not(number a) {
  return (number) ~(int64_t)a;
}

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

#define BINARY(name, value)                \
  static number name(number a, number b) { \
    return (value);                        \
  }
BINARY(add, a + b)
BINARY(subtract, a - b)
BINARY(multiply, a* b)
BINARY(divide, a / b)
BINARY(equal, a == b)
BINARY(unequal, a != b)
BINARY(less, a < b)
BINARY(at_most, a <= b)
BINARY(greater, a > b)
BINARY(at_least, a >= b)
BINARY(and_also, a != 0 && b != 0)
BINARY(or_else, a != 0 || b != 0)
BINARY(maximum, isnan(a) || a > b ? a : b)
BINARY(minimum, isnan(a) || a < b ? a : b)
BINARY(bit_and, (number)((int64_t)a&(int64_t)b))
BINARY(bit_or, (number)((int64_t)a | (int64_t)b))
BINARY(bit_xor, (number)((int64_t)a ^ (int64_t)b))
/* An absent bound bounds nothing; what is absent is its default. */
BINARY(raised, isnan(b) || !(a < b) ? a : b)
BINARY(lowered, isnan(b) || !(a > b) ? a : b)
BINARY(given, isnan(a) ? b : a)
#undef BINARY

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

#define ONE(name, function) \
  { name, 1, function, NULL, NULL, 0 }
#define TWO(name, function) \
  { name, 2, NULL, function, NULL, 0 }
#define NONE(name, value) \
  { name, 0, NULL, NULL, NULL, value }

static const row_t rows[] = {
    NONE("number", 0),
    NONE("index", 0),
    NONE("row", 0),
    NONE("column", 0),
    NONE("pi", 3.141592653589793238462643383279502884L),
    NONE("inf", INFINITY),
    ONE("neg", negative),
    ONE("abs", fabsl),
    ONE("signbit", of_sign),
    ONE("bitnot", bit_not),
    ONE("exp", expl),
    ONE("exp2", exp2l),
    ONE("expm1", expm1l),
    ONE("log", logl),
    ONE("log2", log2l),
    ONE("log10", log10l),
    ONE("log1p", log1pl),
    ONE("sqrt", sqrtl),
    ONE("sin", sinl),
    ONE("cos", cosl),
    ONE("tan", tanl),
    ONE("asin", asinl),
    ONE("acos", acosl),
    ONE("atan", atanl),
    ONE("sinh", sinhl),
    ONE("cosh", coshl),
    ONE("tanh", tanhl),
    ONE("asinh", asinhl),
    ONE("acosh", acoshl),
    ONE("atanh", atanhl),
    ONE("erf", erfl),
    ONE("erfc", erfcl),
    ONE("erfinv", inverse_erf),
    ONE("floor", floorl),
    ONE("ceil", ceill),
    ONE("trunc", truncl),
    ONE("round", rintl),
    TWO("add", add),
    TWO("sub", subtract),
    TWO("mul", multiply),
    TWO("div", divide),
    TWO("pow", powl),
    TWO("eq", equal),
    TWO("ne", unequal),
    TWO("lt", less),
    TWO("le", at_most),
    TWO("gt", greater),
    TWO("ge", at_least),
    TWO("and", and_also),
    TWO("or", or_else),
    TWO("max", maximum),
    TWO("min", minimum),
    TWO("bitand", bit_and),
    TWO("bitor", bit_or),
    TWO("bitxor", bit_xor),
    TWO("fmod", fmodl),
    TWO("remainder", remainder_of),
    TWO("gcd", common_divisor),
    TWO("atan2", atan2l),
    TWO("raised", raised),
    TWO("lowered", lowered),
    TWO("given", given),
    {"where", 3, NULL, NULL, where, 0},
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
