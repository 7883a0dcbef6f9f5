/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * fold.c: many elements made one by a single opcode, for reductions whose combine is no more than that.
 */
#include <string.h>

#include "loops.h"

/*
 * Elements may lie in the memory of a device, where another thread may write: each is read once, by
 * vectors as CPU_LOOPS(move) reads them. Partial results: at 1,024 elements of 4 bytes each is made of
 * 16, and 6 halvings make one of them.
 */
enum { PART_BYTES = 256, PART_VECTORS = PART_BYTES / CPU_VECTOR_BYTES };
#define VECTOR __attribute__((vector_size(CPU_VECTOR_BYTES), may_alias, aligned(1)))

#if CPU_READS_VECTORS
#define READ(to, from) to = *(const volatile vector_t*)(const void*)(from)
#else
#define READ(to, from) CPU_LOOPS(move)(&to, from, sizeof to)
#endif

/* `one` combines two numbers, `all` two vectors. */
#define FOLD(name, T, one, all)                                                          \
  static void name(void* out, const void* in, size_t count) {                            \
    typedef T number_t;                                                                  \
    typedef T vector_t VECTOR;                                                           \
    enum { PARTS = PART_BYTES / sizeof(number_t) };                                      \
    const char* x = in;                                                                  \
    vector_t part[PART_VECTORS], next;                                                   \
    number_t single[PARTS], rest[PARTS];                                                 \
    size_t parts = count < PARTS ? count : PARTS, done = PARTS;                          \
    if (count < PARTS) {                                                                 \
      CPU_LOOPS(move)(single, x, count * sizeof(number_t));                              \
    } else {                                                                             \
      for (int i = 0; i < PART_VECTORS; i++)                                             \
        READ(part[i], x + i * CPU_VECTOR_BYTES);                                         \
      for (; count - done >= PARTS; done += PARTS)                                       \
        for (int i = 0; i < PART_VECTORS; i++) {                                         \
          READ(next, x + done * sizeof(number_t) + i * CPU_VECTOR_BYTES);                \
          part[i] = all(part[i], next);                                                  \
        }                                                                                \
      memcpy(single, part, sizeof single);                                               \
      CPU_LOOPS(move)(rest, x + done * sizeof(number_t), (count - done) * sizeof *rest); \
      for (size_t i = 0; i < count - done; i++)                                          \
        single[i] = (number_t)one(single[i], rest[i]);                                   \
    }                                                                                    \
    for (; parts > 1; parts -= parts / 2)                                                \
      for (size_t i = 0; i < parts / 2; i++)                                             \
        single[i] = (number_t)one(single[i], single[parts - parts / 2 + i]);             \
    memcpy(out, single, sizeof *single);                                                 \
  }

#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define BOTH(a, b) ((a) & (b))
#define EITHER(a, b) ((a) | (b))
#define ONE_OF(a, b) ((a) ^ (b))
/* Where the first is not a number, it is the result. */
#define LESS(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
#define MORE(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
/* A comparison of vectors is -1 where it holds, else 0. */
#define CHOSEN(mask, a, b) ((vector_t)(((mask) & (mask_t)(a)) | (~(mask) & (mask_t)(b))))
#define LESS_ALL(a, b) CHOSEN((mask_t)((a) < (b)) | (mask_t)((a) != (a)), a, b)
#define MORE_ALL(a, b) CHOSEN((mask_t)((a) > (b)) | (mask_t)((a) != (a)), a, b)
typedef uint64_t mask_t VECTOR;

/* X(opcode, T, one, all); U is T without a sign, so that numbers wrap around. */
#define REALS(X, T)         \
  X(ADD, T, PLUS, PLUS)     \
  X(MUL, T, TIMES, TIMES)   \
  X(MIN, T, LESS, LESS_ALL) \
  X(MAX, T, MORE, MORE_ALL)
#define INTEGERS(X, T, U)   \
  X(ADD, U, PLUS, PLUS)     \
  X(MUL, U, TIMES, TIMES)   \
  X(MIN, T, LESS, LESS_ALL) \
  X(MAX, T, MORE, MORE_ALL) \
  X(AND, U, BOTH, BOTH)     \
  X(OR, U, EITHER, EITHER)  \
  X(XOR, U, ONE_OF, ONE_OF)
#define BOOLS(X)                 \
  X(AND, uint8_t, BOTH, BOTH)    \
  X(OR, uint8_t, EITHER, EITHER) \
  X(XOR, uint8_t, ONE_OF, ONE_OF)

#define DEFINE_BOOL(opcode, T, one, all) FOLD(bool_##opcode, T, one, all)
#define DEFINE_INT32(opcode, T, one, all) FOLD(int32_##opcode, T, one, all)
#define DEFINE_INT64(opcode, T, one, all) FOLD(int64_##opcode, T, one, all)
#define DEFINE_FLOAT32(opcode, T, one, all) FOLD(float32_##opcode, T, one, all)
#define DEFINE_FLOAT64(opcode, T, one, all) FOLD(float64_##opcode, T, one, all)
BOOLS(DEFINE_BOOL)
INTEGERS(DEFINE_INT32, int32_t, uint32_t)
INTEGERS(DEFINE_INT64, int64_t, uint64_t)
REALS(DEFINE_FLOAT32, float)
REALS(DEFINE_FLOAT64, double)

#define ROW(opcode, dtype, function) \
  if (op == TBK_OPCODE_##opcode && type == TBK_##dtype) return function;
#define ROW_BOOL(opcode, T, one, all) ROW(opcode, BOOL, bool_##opcode)
#define ROW_INT32(opcode, T, one, all) ROW(opcode, INT32, int32_##opcode)
#define ROW_INT64(opcode, T, one, all) ROW(opcode, INT64, int64_##opcode)
#define ROW_FLOAT32(opcode, T, one, all) ROW(opcode, FLOAT32, float32_##opcode)
#define ROW_FLOAT64(opcode, T, one, all) ROW(opcode, FLOAT64, float64_##opcode)

cpu_fold_t CPU_LOOPS(fold)(uint16_t op, uint16_t type) {
  BOOLS(ROW_BOOL)
  INTEGERS(ROW_INT32, int32_t, uint32_t)
  INTEGERS(ROW_INT64, int64_t, uint64_t)
  REALS(ROW_FLOAT32, float)
  REALS(ROW_FLOAT64, double)
  return NULL;
}
