/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * direct.c: loops whose operands and output may lie in the memory of a device: each vector is read and
 * written once, as CPU_LOOPS(move) does it. Of what costs less than to move its operands.
 */
#include "loops.h"

#if !CPU_READS_VECTORS
cpu_loop_t CPU_LOOPS(direct)(uint16_t opcode, uint16_t dtype) {
  (void)opcode;
  (void)dtype;
  return NULL;
}
#else
#define VECTOR __attribute__((vector_size(CPU_VECTOR_BYTES), may_alias, aligned(1)))
#define READ(from) *(const volatile vector_t*)(const void*)(from)

/* The output may be an operand. */
#define DIRECT(name, T, operator)                                    \
  static void name(void* out, const void* const* in, size_t count) { \
    typedef T number_t;                                              \
    typedef T vector_t VECTOR;                                       \
    const char *x = in[0], *y = in[1];                               \
    char* r = out;                                                   \
    const size_t bytes = count * sizeof(number_t);                   \
    for (size_t i = 0; i < bytes; i += CPU_VECTOR_BYTES) {           \
      const vector_t a = READ(x + i), b = READ(y + i);               \
      *(volatile vector_t*)(void*)(r + i) = a operator b;            \
    }                                                                \
  }

/* X(opcode, dtype, T, operator); integers have no sign here, so that they wrap around. */
#define REALS(X, dtype, T) \
  X(ADD, dtype, T, +) X(SUB, dtype, T, -) X(MUL, dtype, T, *) X(DIV, dtype, T, /)
#define INTEGERS(X, dtype, T) X(ADD, dtype, T, +) X(SUB, dtype, T, -) X(MUL, dtype, T, *)
#define ALL(X)                 \
  REALS(X, FLOAT32, float)     \
  REALS(X, FLOAT64, double)    \
  INTEGERS(X, INT32, uint32_t) \
  INTEGERS(X, INT64, uint64_t)

#define DEFINE(opcode, dtype, T, operator) DIRECT(dtype##_##opcode, T, operator)
#define ROW(opcode, dtype, T, operator) \
  if (op == TBK_OPCODE_##opcode && type == TBK_##dtype) return dtype##_##opcode;
ALL(DEFINE)

cpu_loop_t CPU_LOOPS(direct)(uint16_t op, uint16_t type) {
  ALL(ROW)
  return NULL;
}
#endif
