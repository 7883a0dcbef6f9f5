/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * real.c: loops on FLOAT32 and FLOAT64 that give their own dtype. Where the C library has vector
 * forms of a function (libmvec of glibc, at most 4 units in the last place), TBK_CPU_MVEC says so:
 * the attribute tells the compiler, which then needs no -ffast-math to use them. Of a float32 log those 4
 * are more than OPS-553 recommends.
 */
#include <math.h>

#include "functions.h"
#include "loops.h"

#ifdef TBK_CPU_MVEC
#define VECTOR1(name)                                                              \
  extern double name(double) __attribute__((simd("notinbranch"), const, nothrow)); \
  extern float name##f(float) __attribute__((simd("notinbranch"), const, nothrow));
#define VECTOR2(name)                                                                      \
  extern double name(double, double) __attribute__((simd("notinbranch"), const, nothrow)); \
  extern float name##f(float, float) __attribute__((simd("notinbranch"), const, nothrow));
VECTOR1(exp)
VECTOR1(expm1)
VECTOR1(log)
VECTOR1(log1p)
VECTOR1(log2)
VECTOR1(log10)
VECTOR1(sin)
VECTOR1(cos)
VECTOR1(tan)
VECTOR1(asin)
VECTOR1(acos)
VECTOR1(atan)
VECTOR1(sinh)
VECTOR1(cosh)
VECTOR1(tanh)
VECTOR1(asinh)
VECTOR1(acosh)
VECTOR1(atanh)
VECTOR1(erf)
VECTOR1(erfc)
VECTOR2(pow)
VECTOR2(atan2)
#endif

/* The remainder takes the sign of the divisor. */
static inline float floored_float(float a, float b) {
  float left = fmodf(a, b);
  return left != 0 && (left < 0) != (b < 0) ? left + b : left;
}

static inline double floored_double(double a, double b) {
  double left = fmod(a, b);
  return left != 0 && (left < 0) != (b < 0) ? left + b : left;
}

/* lgamma would write the sign to a variable of the whole program. */
static inline float lgamma_float(float a) {
  int sign;
  return lgammaf_r(a, &sign);
}

static inline double lgamma_double(double a) {
  int sign;
  return lgamma_r(a, &sign);
}

/* By arithmetic where that is quick, else by the C library. */
#ifdef __FMA__
#define EXP_LOOP_FLOAT LOOP1_EXP
#define EXP_FLOAT float32_exp
#define LOG_FLOAT float32_log
#define ERF_FLOAT float32_erf
#else
#define EXP_LOOP_FLOAT LOOP1
#define EXP_FLOAT expf
#define LOG_FLOAT(a) ((float)log(a))
#define ERF_FLOAT erff
#endif

/* A loop of one operand, most of whose elements have a usual exponential, which takes fewer instructions and is the
 * same. */
#define LOOP1_EXP(name, T, R, expression)                            \
  static void name(void* out, const void* const* in, size_t count) { \
    typedef T takes_t;                                               \
    typedef R gives_t;                                               \
    gives_t *r = out, made[CPU_LANE_STEP];                           \
    const takes_t* x = in[0];                                        \
    takes_t as[CPU_LANE_STEP];                                       \
    for (size_t i = 0; i < count; i += CPU_LANE_STEP) {              \
      int are_usual = 1;                                             \
      lanes_read(as, x + i, sizeof as, CPU_VECTOR_BYTES);            \
      for (int k = 0; k < CPU_LANE_STEP; k++)                        \
        are_usual &= float32_exp_is_usual(as[k]);                    \
      for (int k = 0; are_usual && k < CPU_LANE_STEP; k++)           \
        made[k] = float32_exp_usual(as[k]);                          \
      for (int k = 0; !are_usual && k < CPU_LANE_STEP; k++) {        \
        const takes_t a = as[k];                                     \
        made[k] = (gives_t)(expression);                             \
      }                                                              \
      lanes_write(r + i, made, sizeof made, CPU_VECTOR_BYTES);       \
    }                                                                \
  }

/* X(opcode, loop, T, expression); F(name) is the C library's function for T. */
#define REAL_LOOPS(X, T, F, floored, lgamma_of, exp_loop, exp_of, log_of, erf_of) \
  X(ADD, LOOP2, T, a + b)                                                         \
  X(SUB, LOOP2, T, a - b)                                                         \
  X(MUL, LOOP2, T, a* b)                                                          \
  X(DIV, LOOP2, T, a / b)                                                         \
  X(REM_TRUNC, LOOP2, T, F(fmod)(a, b))                                           \
  X(REM_FLOOR, LOOP2, T, floored(a, b))                                           \
  X(NEG, LOOP1, T, -a)                                                            \
  X(ABS, LOOP1, T, F(fabs)(a))                                                    \
  X(MIN, LOOP2, T, (a < b || a != a) ? a : b)                                     \
  X(MAX, LOOP2, T, (a > b || a != a) ? a : b)                                     \
  X(COPYSIGN, LOOP2, T, F(copysign)(a, b))                                        \
  X(FLOOR, LOOP1, T, F(floor)(a))                                                 \
  X(CEIL, LOOP1, T, F(ceil)(a))                                                   \
  X(TRUNC, LOOP1, T, F(trunc)(a))                                                 \
  X(ROUND, LOOP1, T, F(rint)(a))                                                  \
  X(SQRT, LOOP1, T, F(sqrt)(a))                                                   \
  X(EXP, exp_loop, T, exp_of(a))                                                  \
  X(EXPM1, LOOP1, T, F(expm1)(a))                                                 \
  X(LOG, LOOP1, T, log_of(a))                                                     \
  X(LOG1P, LOOP1, T, F(log1p)(a))                                                 \
  X(LOG2, LOOP1, T, F(log2)(a))                                                   \
  X(LOG10, LOOP1, T, F(log10)(a))                                                 \
  X(POW, LOOP2, T, F(pow)(a, b))                                                  \
  X(SIN, LOOP1, T, F(sin)(a))                                                     \
  X(COS, LOOP1, T, F(cos)(a))                                                     \
  X(TAN, LOOP1, T, F(tan)(a))                                                     \
  X(ASIN, LOOP1, T, F(asin)(a))                                                   \
  X(ACOS, LOOP1, T, F(acos)(a))                                                   \
  X(ATAN, LOOP1, T, F(atan)(a))                                                   \
  X(ATAN2, LOOP2, T, F(atan2)(a, b))                                              \
  X(SINH, LOOP1, T, F(sinh)(a))                                                   \
  X(COSH, LOOP1, T, F(cosh)(a))                                                   \
  X(TANH, LOOP1, T, F(tanh)(a))                                                   \
  X(ASINH, LOOP1, T, F(asinh)(a))                                                 \
  X(ACOSH, LOOP1, T, F(acosh)(a))                                                 \
  X(ATANH, LOOP1, T, F(atanh)(a))                                                 \
  X(ERF, LOOP1, T, erf_of(a))                                                     \
  X(ERFC, LOOP1, T, F(erfc)(a))                                                   \
  X(LGAMMA, LOOP1, T, lgamma_of(a))

#define NARROW(name) name##f
#define AS_IS(name) name
#define DEFINE_32(name, loop, T, expression) loop(float32_##name, T, T, expression)
#define DEFINE_64(name, loop, T, expression) loop(float64_##name, T, T, expression)
REAL_LOOPS(DEFINE_32, float, NARROW, floored_float, lgamma_float, EXP_LOOP_FLOAT, EXP_FLOAT,
           LOG_FLOAT, ERF_FLOAT)
REAL_LOOPS(DEFINE_64, double, AS_IS, floored_double, lgamma_double, LOOP1, exp, log, erf)
LOOP3(float32_FMA, float, float, float, fmaf(a, b, c))
LOOP3(float64_FMA, double, double, double, fma(a, b, c))

#define ROW_32(name, loop, T, expression) [TBK_OPCODE_##name] = float32_##name,
#define ROW_64(name, loop, T, expression) [TBK_OPCODE_##name] = float64_##name,
static const cpu_loop_t of_float32[TBK_OPCODE_LIMIT] = {
    [TBK_OPCODE_FMA] = float32_FMA,
    REAL_LOOPS(ROW_32, float, NARROW, floored_float, lgamma_float, EXP_LOOP_FLOAT, EXP_FLOAT,
               LOG_FLOAT, ERF_FLOAT)};
static const cpu_loop_t of_float64[TBK_OPCODE_LIMIT] = {
    [TBK_OPCODE_FMA] = float64_FMA,
    REAL_LOOPS(ROW_64, double, AS_IS, floored_double, lgamma_double, LOOP1, exp, log, erf)};

cpu_loop_t CPU_LOOPS(real)(uint16_t opcode, uint16_t dtype) {
  if (opcode >= TBK_OPCODE_LIMIT) return NULL;
  if (dtype == TBK_FLOAT32) return of_float32[opcode];
  return dtype == TBK_FLOAT64 ? of_float64[opcode] : NULL;
}
