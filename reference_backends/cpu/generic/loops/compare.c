/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * compare.c: loops that give a BOOL. Its byte is 0 or 1. And such as choose by a comparison, whose BOOL nobody
 * else wants.
 */
#include <math.h>

#include "loops.h"

#define COMPARISONS(X, T) \
  X(EQ, LOOP2, T, a == b) \
  X(NE, LOOP2, T, a != b) \
  X(LT, LOOP2, T, a < b)  \
  X(LE, LOOP2, T, a <= b) \
  X(GT, LOOP2, T, a > b)  \
  X(GE, LOOP2, T, a >= b)
#define CLASSES(X, T)        \
  X(ISNAN, LOOP1, T, a != a) \
  X(SIGNBIT, LOOP1, T, signbit(a) != 0)

#define DEFINE_BOOL(name, loop, T, expression) loop(bool_##name, T, uint8_t, expression)
#define DEFINE_INT32(name, loop, T, expression) loop(int32_##name, T, uint8_t, expression)
#define DEFINE_INT64(name, loop, T, expression) loop(int64_##name, T, uint8_t, expression)
#define DEFINE_FLOAT32(name, loop, T, expression) loop(float32_##name, T, uint8_t, expression)
#define DEFINE_FLOAT64(name, loop, T, expression) loop(float64_##name, T, uint8_t, expression)
COMPARISONS(DEFINE_BOOL, uint8_t)
COMPARISONS(DEFINE_INT32, int32_t)
COMPARISONS(DEFINE_INT64, int64_t)
COMPARISONS(DEFINE_FLOAT32, float)
COMPARISONS(DEFINE_FLOAT64, double)
CLASSES(DEFINE_FLOAT32, float)
CLASSES(DEFINE_FLOAT64, double)

#define ROW_BOOL(name, loop, T, expression) [TBK_OPCODE_##name] = bool_##name,
#define ROW_INT32(name, loop, T, expression) [TBK_OPCODE_##name] = int32_##name,
#define ROW_INT64(name, loop, T, expression) [TBK_OPCODE_##name] = int64_##name,
#define ROW_FLOAT32(name, loop, T, expression) [TBK_OPCODE_##name] = float32_##name,
#define ROW_FLOAT64(name, loop, T, expression) [TBK_OPCODE_##name] = float64_##name,
static const cpu_loop_t of_bool[TBK_OPCODE_LIMIT] = {COMPARISONS(ROW_BOOL, uint8_t)};
static const cpu_loop_t of_int32[TBK_OPCODE_LIMIT] = {COMPARISONS(ROW_INT32, int32_t)};
static const cpu_loop_t of_int64[TBK_OPCODE_LIMIT] = {COMPARISONS(ROW_INT64, int64_t)};
static const cpu_loop_t of_float32[TBK_OPCODE_LIMIT] = {COMPARISONS(ROW_FLOAT32, float)
                                                            CLASSES(ROW_FLOAT32, float)};
static const cpu_loop_t of_float64[TBK_OPCODE_LIMIT] = {COMPARISONS(ROW_FLOAT64, double)
                                                            CLASSES(ROW_FLOAT64, double)};

cpu_loop_t CPU_LOOPS(compare)(uint16_t opcode, uint16_t dtype) {
  if (opcode >= TBK_OPCODE_LIMIT) return NULL;
  switch (dtype) {
    case TBK_BOOL:
      return of_bool[opcode];
    case TBK_INT32:
      return of_int32[opcode];
    case TBK_INT64:
      return of_int64[opcode];
    case TBK_FLOAT32:
      return of_float32[opcode];
    case TBK_FLOAT64:
      return of_float64[opcode];
    default:
      return NULL;
  }
}

/* What is compared may be what is chosen, too. */
typedef float __attribute__((may_alias)) any_float_t;
typedef double __attribute__((may_alias)) any_double_t;

/* Two are compared, and one of two others is the value. */
#define CHOOSE(name, T, W, operator)                                 \
  static void name(void* out, const void* const* in, size_t count) { \
    typedef T number_t;                                              \
    typedef W word_t;                                                \
    const number_t *a = in[0], *b = in[1];                           \
    const word_t *yes = in[2], *no = in[3];                          \
    word_t* restrict r = out;                                        \
    for (size_t i = 0; i < count; i++)                               \
      r[i] = a[i] operator b[i] ? yes[i] : no[i];                    \
  }
#define CHOICES(X, dtype, T, W) \
  X(EQ, dtype, T, W, ==)        \
  X(NE, dtype, T, W, !=)        \
  X(LT, dtype, T, W, <) X(LE, dtype, T, W, <=) X(GT, dtype, T, W, >) X(GE, dtype, T, W, >=)
#define DEFINE_CHOICE(opcode, dtype, T, W, operator) \
  CHOOSE(choose_##dtype##_##opcode, T, W, operator)
#define ROW_CHOICE(opcode, dtype, T, W, operator) \
  if (op == TBK_OPCODE_##opcode && takes == TBK_##dtype) return choose_##dtype##_##opcode;
CHOICES(DEFINE_CHOICE, FLOAT32, any_float_t, uint32_t)
CHOICES(DEFINE_CHOICE, FLOAT64, any_double_t, uint64_t)

cpu_loop_t CPU_LOOPS(choose)(uint16_t op, uint16_t takes) {
  CHOICES(ROW_CHOICE, FLOAT32, any_float_t, uint32_t)
  CHOICES(ROW_CHOICE, FLOAT64, any_double_t, uint64_t)
  return NULL;
}
