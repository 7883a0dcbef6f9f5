/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * compare.c: loops that give a BOOL. Its byte is 0 or 1. And such as choose by a comparison, whose BOOL nobody
 * else wants.
 */
#include "loops.h"

#define COMPARISONS(X, T) \
  X(EQ, LOOP2, T, a == b) \
  X(NE, LOOP2, T, a != b) \
  X(LT, LOOP2, T, a < b)  \
  X(LE, LOOP2, T, a <= b) \
  X(GT, LOOP2, T, a > b)  \
  X(GE, LOOP2, T, a >= b)
/* B is an integer of the same size. */
#define CLASSES(X, T, B)     \
  X(ISNAN, LOOP1, T, a != a) \
  X(SIGNBIT, LOOP1, B, a >> (8 * sizeof(B) - 1))

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
CLASSES(DEFINE_FLOAT32, float, uint32_t)
CLASSES(DEFINE_FLOAT64, double, uint64_t)

#define ROW_BOOL(name, loop, T, expression) [TBK_OPCODE_##name] = bool_##name,
#define ROW_INT32(name, loop, T, expression) [TBK_OPCODE_##name] = int32_##name,
#define ROW_INT64(name, loop, T, expression) [TBK_OPCODE_##name] = int64_##name,
#define ROW_FLOAT32(name, loop, T, expression) [TBK_OPCODE_##name] = float32_##name,
#define ROW_FLOAT64(name, loop, T, expression) [TBK_OPCODE_##name] = float64_##name,
static const cpu_loop_t of_bool[TBK_OPCODE_LIMIT] = {COMPARISONS(ROW_BOOL, uint8_t)};
static const cpu_loop_t of_int32[TBK_OPCODE_LIMIT] = {COMPARISONS(ROW_INT32, int32_t)};
static const cpu_loop_t of_int64[TBK_OPCODE_LIMIT] = {COMPARISONS(ROW_INT64, int64_t)};
static const cpu_loop_t of_float32[TBK_OPCODE_LIMIT] = {COMPARISONS(ROW_FLOAT32, float)
                                                            CLASSES(ROW_FLOAT32, float, uint32_t)};
static const cpu_loop_t of_float64[TBK_OPCODE_LIMIT] = {COMPARISONS(ROW_FLOAT64, double)
                                                            CLASSES(ROW_FLOAT64, double, uint64_t)};

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

/* Two are compared, and one of two others is the value: often the first, which is then read once. */
#define CHOOSE(name, T, W, operator)                                  \
  LOOP3(name##_first, T, T, T, a operator b ? a : c)                  \
  LOOP3(name##_unless, T, T, T, a operator b ? c : a)                 \
  static void name(void* out, const void* const* in, size_t count) {  \
    typedef T number_t;                                               \
    typedef W word_t;                                                 \
    enum { BY = CPU_VECTOR(sizeof(number_t), sizeof(word_t)) };       \
    if (in[2] == in[0]) {                                             \
      name##_first(out, (const void*[]){in[0], in[1], in[3]}, count); \
      return;                                                         \
    }                                                                 \
    if (in[3] == in[0]) {                                             \
      name##_unless(out, in, count);                                  \
      return;                                                         \
    }                                                                 \
    word_t *r = out, made[CPU_LANE_STEP];                             \
    const number_t *x = in[0], *y = in[1];                            \
    const word_t *z = in[2], *w = in[3];                              \
    number_t as[CPU_LANE_STEP], bs[CPU_LANE_STEP];                    \
    word_t yes[CPU_LANE_STEP], no[CPU_LANE_STEP];                     \
    for (size_t i = 0; i < count; i += CPU_LANE_STEP) {               \
      lanes_read(as, x + i, sizeof as, BY);                           \
      lanes_read(bs, y + i, sizeof bs, BY);                           \
      lanes_read(yes, z + i, sizeof yes, BY);                         \
      lanes_read(no, w + i, sizeof no, BY);                           \
      for (int k = 0; k < CPU_LANE_STEP; k++)                         \
        made[k] = as[k] operator bs[k] ? yes[k] : no[k];              \
      lanes_write(r + i, made, sizeof made, BY);                      \
    }                                                                 \
  }
#define CHOICES(X, dtype, T, W) \
  X(EQ, dtype, T, W, ==)        \
  X(NE, dtype, T, W, !=)        \
  X(LT, dtype, T, W, <) X(LE, dtype, T, W, <=) X(GT, dtype, T, W, >) X(GE, dtype, T, W, >=)
#define DEFINE_CHOICE(opcode, dtype, T, W, operator) \
  CHOOSE(choose_##dtype##_##opcode, T, W, operator)
#define ROW_CHOICE(opcode, dtype, T, W, operator) \
  if (op == TBK_OPCODE_##opcode && takes == TBK_##dtype) return choose_##dtype##_##opcode;
CHOICES(DEFINE_CHOICE, FLOAT32, float, uint32_t)
CHOICES(DEFINE_CHOICE, FLOAT64, double, uint64_t)

cpu_loop_t CPU_LOOPS(choose)(uint16_t op, uint16_t takes) {
  CHOICES(ROW_CHOICE, FLOAT32, float, uint32_t)
  CHOICES(ROW_CHOICE, FLOAT64, double, uint64_t)
  return NULL;
}
