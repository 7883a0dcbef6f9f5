/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * integer.c: loops on INT32, INT64 and BOOL that give their own dtype. Numbers wrap around, in
 * unsigned arithmetic. What is open gives something, and stops nobody: dividing by 0 gives 0.
 */
#include "loops.h"

#define WIDTH(T) ((T)(8 * sizeof(T)))
#define OUT_OF_WIDTH(T) (b < 0 || b >= WIDTH(T))
/* The quotient and what is left, towards zero; -1 is apart because the least number by it traps. */
#define QUOTIENT(T, U) (b == 0 ? 0 : b == -1 ? (T)(0 - (U)a) : a / b)
#define LEFT(T) (b == 0 || b == -1 ? 0 : a % b)
#define SIGNS_DIFFER ((a < 0) != (b < 0))

#define INTEGER_LOOPS(X, T, U)                                                    \
  X(ADD, LOOP2, T, (U)a + (U)b)                                                   \
  X(SUB, LOOP2, T, (U)a - (U)b)                                                   \
  X(MUL, LOOP2, T, (U)a*(U)b)                                                     \
  X(DIV_TRUNC, LOOP2, T, QUOTIENT(T, U))                                          \
  X(DIV_FLOOR, LOOP2, T, QUOTIENT(T, U) - (LEFT(T) != 0 && SIGNS_DIFFER))         \
  X(REM_TRUNC, LOOP2, T, LEFT(T))                                                 \
  X(REM_FLOOR, LOOP2, T, LEFT(T) + (LEFT(T) != 0 && SIGNS_DIFFER ? b : 0))        \
  X(NEG, LOOP1, T, 0 - (U)a)                                                      \
  X(ABS, LOOP1, T, a < 0 ? 0 - (U)a : (U)a)                                       \
  X(MIN, LOOP2, T, a < b ? a : b)                                                 \
  X(MAX, LOOP2, T, a > b ? a : b)                                                 \
  X(AND, LOOP2, T, a& b)                                                          \
  X(OR, LOOP2, T, a | b)                                                          \
  X(XOR, LOOP2, T, a ^ b)                                                         \
  X(NOT, LOOP1, T, ~a)                                                            \
  X(SHL, LOOP2, T, OUT_OF_WIDTH(T) ? (U)0 : (U)a << ((U)b & (sizeof(T) * 8 - 1))) \
  X(SHR, LOOP2, T, OUT_OF_WIDTH(T) ? (a < 0 ? -1 : 0) : a >> ((U)b & (sizeof(T) * 8 - 1)))

#define BOOL_LOOPS(X)                  \
  X(AND, LOOP2, uint8_t, (a & b) != 0) \
  X(OR, LOOP2, uint8_t, (a | b) != 0)  \
  X(XOR, LOOP2, uint8_t, !a != !b)     \
  X(NOT, LOOP1, uint8_t, !a)

#define DEFINE_32(name, loop, T, expression) loop(int32_##name, T, T, expression)
#define DEFINE_64(name, loop, T, expression) loop(int64_##name, T, T, expression)
#define DEFINE_BOOL(name, loop, T, expression) loop(bool_##name, T, T, expression)
INTEGER_LOOPS(DEFINE_32, int32_t, uint32_t)
INTEGER_LOOPS(DEFINE_64, int64_t, uint64_t)
BOOL_LOOPS(DEFINE_BOOL)

#define ROW_32(name, loop, T, expression) [TBK_OPCODE_##name] = int32_##name,
#define ROW_64(name, loop, T, expression) [TBK_OPCODE_##name] = int64_##name,
#define ROW_BOOL(name, loop, T, expression) [TBK_OPCODE_##name] = bool_##name,
static const cpu_loop_t of_int32[TBK_OPCODE_LIMIT] = {INTEGER_LOOPS(ROW_32, int32_t, uint32_t)};
static const cpu_loop_t of_int64[TBK_OPCODE_LIMIT] = {INTEGER_LOOPS(ROW_64, int64_t, uint64_t)};
static const cpu_loop_t of_bool[TBK_OPCODE_LIMIT] = {BOOL_LOOPS(ROW_BOOL)};

cpu_loop_t CPU_LOOPS(integer)(uint16_t opcode, uint16_t dtype) {
  if (opcode >= TBK_OPCODE_LIMIT) return NULL;
  switch (dtype) {
    case TBK_INT32:
      return of_int32[opcode];
    case TBK_INT64:
      return of_int64[opcode];
    case TBK_BOOL:
      return of_bool[opcode];
    default:
      return NULL;
  }
}
