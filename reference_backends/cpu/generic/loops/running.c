/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * running.c: of each element of a buffer what a single opcode makes of it and of all before it. The buffer is gone
 * through in CHAINS parts at once, so that no operation waits for the one before; then what is before each part comes
 * to it. So no element goes through more than count / CHAINS + CHAINS operations.
 */
#include "loops.h"

enum { CHAINS = 8 };

/* `one` combines two numbers. */
#define RUNNING(name, T, one)                                     \
  static void name(void* out, const void* in, size_t count) {     \
    typedef T number_t;                                           \
    const number_t* x = in;                                       \
    number_t* y = out;                                            \
    const size_t part = count / CHAINS;                           \
    number_t last[CHAINS], before = x[0];                         \
    for (size_t c = 0; part && c < CHAINS; c++)                   \
      last[c] = y[c * part] = x[c * part];                        \
    for (size_t i = 1; i < part; i++)                             \
      for (size_t c = 0; c < CHAINS; c++) {                       \
        last[c] = (number_t)one(last[c], x[c * part + i]);        \
        y[c * part + i] = last[c];                                \
      }                                                           \
    if (part) before = last[0];                                   \
    for (size_t c = 1; part && c < CHAINS; c++) {                 \
      for (size_t i = 0; i < part; i++)                           \
        y[c * part + i] = (number_t)one(before, y[c * part + i]); \
      before = y[c * part + part - 1];                            \
    }                                                             \
    for (size_t i = part * CHAINS; i < count; i++)                \
      y[i] = before = i ? (number_t)one(before, x[i]) : before;   \
  }

#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
/* Where the first is not a number, it is the result. */
#define LESS(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
#define MORE(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))

/* X(opcode, dtype, T, one); U is T without a sign, so that numbers wrap around. */
#define NUMBERS(X, dtype, T, U) \
  X(ADD, dtype, U, PLUS)        \
  X(MUL, dtype, U, TIMES)       \
  X(MIN, dtype, T, LESS)        \
  X(MAX, dtype, T, MORE)
#define ALL(X)                         \
  NUMBERS(X, INT32, int32_t, uint32_t) \
  NUMBERS(X, INT64, int64_t, uint64_t) \
  NUMBERS(X, FLOAT32, float, float)    \
  NUMBERS(X, FLOAT64, double, double)

#define DEFINE(opcode, dtype, T, one) RUNNING(running_##dtype##_##opcode, T, one)
ALL(DEFINE)
#define ROW(opcode, dtype, T, one) \
  if (op == TBK_OPCODE_##opcode && type == TBK_##dtype) return running_##dtype##_##opcode;

cpu_fold_t CPU_LOOPS(running)(uint16_t op, uint16_t type) {
  ALL(ROW)
  return NULL;
}
