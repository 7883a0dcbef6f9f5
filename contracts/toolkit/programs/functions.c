/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * functions.c: the opcodes on real numbers. What is rounded once is computed in the dtype itself: a wider
 * type would round twice. The others are computed in long double.
 */
#include <math.h>

#include "evaluate.h"

#define ROUNDED_ONCE(name, type, fma_of)                                      \
  static long double name(uint16_t opcode, const long double* operands) {     \
    type a = (type)operands[0], b = (type)operands[1], c = (type)operands[2]; \
    switch (opcode) {                                                         \
      case TBK_OPCODE_ADD:                                                    \
        return (type)(a + b);                                                 \
      case TBK_OPCODE_SUB:                                                    \
        return (type)(a - b);                                                 \
      case TBK_OPCODE_MUL:                                                    \
        return (type)(a * b);                                                 \
      case TBK_OPCODE_DIV:                                                    \
        return (type)(a / b);                                                 \
      default:                                                                \
        return fma_of(a, b, c);                                               \
    }                                                                         \
  }
ROUNDED_ONCE(rounded_float, float, fmaf)
ROUNDED_ONCE(rounded_double, double, fma)

static long double remainder_floor(uint16_t dtype, long double a, long double b) {
  long double rest = fmodl(a, b);
  const long double sum[3] = {rest, b, 0};
  if (rest == 0 || isnan(rest) || signbit(rest) == signbit(b)) return rest;
  return dtype == TBK_FLOAT32 ? rounded_float(TBK_OPCODE_ADD, sum)
                              : rounded_double(TBK_OPCODE_ADD, sum);
}

static long double lesser(long double a, long double b, bool greatest) {
  if (isnan(a) || isnan(b)) return NAN;
  return (a < b) != greatest ? a : b;
}

static long double exact(uint16_t opcode, const long double* in) {
  long double a = in[0], b = in[1];
  switch (opcode) {
    case TBK_OPCODE_REM_TRUNC:
      return fmodl(a, b);
    case TBK_OPCODE_NEG:
      return -a;
    case TBK_OPCODE_ABS:
      return fabsl(a);
    case TBK_OPCODE_MIN:
      return lesser(a, b, false);
    case TBK_OPCODE_MAX:
      return lesser(a, b, true);
    case TBK_OPCODE_COPYSIGN:
      return copysignl(a, b);
    case TBK_OPCODE_FLOOR:
      return floorl(a);
    case TBK_OPCODE_CEIL:
      return ceill(a);
    case TBK_OPCODE_TRUNC:
      return truncl(a);
    default:
      return rintl(a); /* ROUND: the tests leave the rounding mode as it is */
  }
}

static long double log_gamma(long double a) {
  int sign;
  return lgammal_r(a, &sign);
}

/* clang-format off */
#define FUNCTIONS(X) \
  X(SQRT, sqrtl(a)) \
  X(EXP, expl(a)) \
  X(EXPM1, expm1l(a)) \
  X(LOG, logl(a)) \
  X(LOG1P, log1pl(a)) \
  X(LOG2, log2l(a)) \
  X(LOG10, log10l(a)) \
  X(POW, powl(a, b)) \
  X(SIN, sinl(a)) \
  X(COS, cosl(a)) \
  X(TAN, tanl(a)) \
  X(ASIN, asinl(a)) \
  X(ACOS, acosl(a)) \
  X(ATAN, atanl(a)) \
  X(ATAN2, atan2l(a, b)) \
  X(SINH, sinhl(a)) \
  X(COSH, coshl(a)) \
  X(TANH, tanhl(a)) \
  X(ASINH, asinhl(a)) \
  X(ACOSH, acoshl(a)) \
  X(ATANH, atanhl(a)) \
  X(ERF, erfl(a)) \
  X(ERFC, erfcl(a)) \
  X(LGAMMA, log_gamma(a))
/* clang-format on */

long double evaluate_real(uint16_t opcode, uint16_t dtype, const long double* in) {
  long double a = in[0], b = in[1];
  switch (opcode) {
#define CASE(name, expression) \
  case TBK_OPCODE_##name:      \
    return expression;
    FUNCTIONS(CASE)
#undef CASE
    case TBK_OPCODE_REM_FLOOR:
      return remainder_floor(dtype, a, b);
    case TBK_OPCODE_ADD:
    case TBK_OPCODE_SUB:
    case TBK_OPCODE_MUL:
    case TBK_OPCODE_DIV:
    case TBK_OPCODE_FMA:
      return dtype == TBK_FLOAT32 ? rounded_float(opcode, in) : rounded_double(opcode, in);
    default:
      return exact(opcode, in);
  }
}
