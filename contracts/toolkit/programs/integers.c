/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * integers.c: the opcodes on integers and truth values. Operands are sign-extended to 64 bits; what comes of
 * them is taken modulo the width by value_of_integer.
 */
#include "evaluate.h"

static int width_of(uint16_t dtype) {
  return 8 * (int)number_type(dtype)->size;
}

static int64_t least_of(uint16_t dtype) {
  return dtype == TBK_INT32 ? INT32_MIN : INT64_MIN;
}

/* By zero, and of the least number by -1, no machine agrees with another. */
static value_t divided(uint16_t opcode, uint16_t dtype, int64_t a, int64_t b) {
  bool rest = opcode == TBK_OPCODE_REM_TRUNC || opcode == TBK_OPCODE_REM_FLOOR;
  bool floor = opcode == TBK_OPCODE_DIV_FLOOR || opcode == TBK_OPCODE_REM_FLOOR;
  if (b == 0) return value_open(dtype);
  if (b == -1 && a == least_of(dtype)) return rest ? value_of_integer(dtype, 0) : value_open(dtype);
  int64_t quotient = a / b, remainder = a % b;
  bool down = floor && remainder != 0 && (remainder < 0) != (b < 0);
  if (rest) return value_of_integer(dtype, (uint64_t)(down ? remainder + b : remainder));
  return value_of_integer(dtype, (uint64_t)(down ? quotient - 1 : quotient));
}

static uint64_t shifted(uint16_t opcode, uint16_t dtype, uint64_t a, int64_t by) {
  bool outside = by < 0 || by >= width_of(dtype);
  if (opcode == TBK_OPCODE_SHL) return outside ? 0 : a << by;
  return (uint64_t)((int64_t)a >> (outside ? 63 : by));
}

static bool compared(uint16_t opcode, int64_t a, int64_t b) {
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
    default:
      return a >= b;
  }
}

static uint64_t computed(uint16_t opcode, uint16_t dtype, uint64_t a, uint64_t b) {
  switch (opcode) {
    case TBK_OPCODE_ADD:
      return a + b;
    case TBK_OPCODE_SUB:
      return a - b;
    case TBK_OPCODE_MUL:
      return a * b;
    case TBK_OPCODE_NEG:
      return 0 - a;
    case TBK_OPCODE_ABS:
      return (int64_t)a < 0 ? 0 - a : a;
    case TBK_OPCODE_MIN:
      return (int64_t)a < (int64_t)b ? a : b;
    case TBK_OPCODE_MAX:
      return (int64_t)a < (int64_t)b ? b : a;
    case TBK_OPCODE_AND:
      return a & b;
    case TBK_OPCODE_OR:
      return a | b;
    case TBK_OPCODE_XOR:
      return a ^ b;
    case TBK_OPCODE_NOT:
      return dtype == TBK_BOOL ? a == 0 : ~a;
    default:
      return shifted(opcode, dtype, a, (int64_t)b);
  }
}

value_t evaluate_integer(uint16_t opcode, uint16_t dtype, const uint64_t* in) {
  switch (opcode) {
    case TBK_OPCODE_DIV_TRUNC:
    case TBK_OPCODE_DIV_FLOOR:
    case TBK_OPCODE_REM_TRUNC:
    case TBK_OPCODE_REM_FLOOR:
      return divided(opcode, dtype, (int64_t)in[0], (int64_t)in[1]);
    case TBK_OPCODE_EQ:
    case TBK_OPCODE_NE:
    case TBK_OPCODE_LT:
    case TBK_OPCODE_LE:
    case TBK_OPCODE_GT:
    case TBK_OPCODE_GE:
      return value_of_integer(TBK_BOOL, compared(opcode, (int64_t)in[0], (int64_t)in[1]));
    default:
      return value_of_integer(dtype, computed(opcode, dtype, in[0], in[1]));
  }
}
