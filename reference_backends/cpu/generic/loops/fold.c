/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * fold.c: many elements made one by a single opcode, for reductions whose combine is no more than that.
 */
#include <stdbool.h>
#include <string.h>

#include "loops.h"

/*
 * Elements may lie in the memory of a device, where another thread may write: each is read once, by
 * vectors as CPU_LOOPS(move) reads them. Four vectors are made of up to ROUND times as many, these are combined
 * with those of the rounds before, and what is left of four by halves: of n elements none goes through more than
 * 16 + n / 1024 + 12 operations.
 */
enum { VECTORS = 4, ROUND = 16 };
typedef cpu_vector_t mask_t;

#if CPU_READS_VECTORS
#define READ(to, from) to = *(const volatile vector_t*)(const void*)(from)
#else
#define READ(to, from) CPU_LOOPS(move)(&to, from, sizeof to)
#endif

/* Combines the second half of `count` elements with the first, until one is left; of 5 the last two with the first two. */
#define HALVE(one, elements, count)                           \
  for (size_t parts = (count); parts > 1; parts -= parts / 2) \
    for (size_t i = 0; i < parts / 2; i++)                    \
  (elements)[i] = (number_t)one((elements)[i], (elements)[parts - parts / 2 + i])

/* `one` combines two numbers, `all` two vectors; `keep` notes in `kept` what a vector has, `find` puts what is kept into one, `map`
 * makes a number or a vector what is folded. */
#define FOLD(name, T, one, all, keep, find, map)                                    \
  static void name(void* out, const void* in, size_t count) {                       \
    typedef T number_t;                                                             \
    typedef T CPU_VECTOR_TYPE(CPU_VECTOR_BYTES) vector_t;                           \
    enum { LANES = CPU_VECTOR_BYTES / sizeof(number_t), FEW = VECTORS * LANES };    \
    const char* x = in;                                                             \
    const char* const end = x + count / LANES * CPU_VECTOR_BYTES;                   \
    vector_t part[VECTORS], made[VECTORS], next;                                    \
    mask_t kept = {0};                                                              \
    number_t single[FEW], rest[LANES];                                              \
    for (int i = 0; i < VECTORS; i++) /* not by bytes, as an initializer would */   \
      made[i] = (vector_t){0};                                                      \
    if (count < FEW) {                                                              \
      CPU_LOOPS(move)(single, x, count * sizeof(number_t));                         \
      for (size_t i = 0; i < count; i++)                                            \
        single[i] = (number_t)map(single[i]);                                       \
      HALVE(one, single, count);                                                    \
      memcpy(out, single, sizeof *single);                                          \
      return;                                                                       \
    }                                                                               \
    for (bool first = true; end - x >= VECTORS * CPU_VECTOR_BYTES; first = false) { \
      for (int i = 0; i < VECTORS; i++, x += CPU_VECTOR_BYTES) {                    \
        READ(part[i], x);                                                           \
        part[i] = map(part[i]);                                                     \
        keep(part[i]);                                                              \
      }                                                                             \
      for (int k = 1; k < ROUND && end - x >= VECTORS * CPU_VECTOR_BYTES; k++)      \
        for (int i = 0; i < VECTORS; i++, x += CPU_VECTOR_BYTES) {                  \
          READ(next, x);                                                            \
          next = map(next);                                                         \
          keep(next);                                                               \
          part[i] = all(part[i], next);                                             \
        }                                                                           \
      for (int i = 0; i < VECTORS; i++)                                             \
        if (first)                                                                  \
          made[i] = part[i];                                                        \
        else                                                                        \
          made[i] = all(made[i], part[i]);                                          \
    }                                                                               \
    for (; x < end; x += CPU_VECTOR_BYTES) {                                        \
      READ(next, x);                                                                \
      next = map(next);                                                             \
      keep(next);                                                                   \
      made[0] = all(made[0], next);                                                 \
    }                                                                               \
    for (int half = VECTORS / 2; half > 0; half /= 2)                               \
      for (int i = 0; i < half; i++)                                                \
        made[i] = all(made[i], made[i + half]);                                     \
    find(made[0]);                                                                  \
    memcpy(single, made, CPU_VECTOR_BYTES);                                         \
    if (count % LANES) CPU_LOOPS(move)(rest, x, count % LANES * sizeof(number_t));  \
    for (size_t i = 0; i < count % LANES; i++)                                      \
      single[i] = (number_t)one(single[i], map(rest[i]));                           \
    for (size_t half = LANES / 2; half > 0; half /= 2)                              \
      for (size_t i = 0; i < half; i++)                                             \
        single[i] = (number_t)one(single[i], single[half + i]);                     \
    memcpy(out, single, sizeof *single);                                            \
    (void)kept;                                                                     \
  }

#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define BOTH(a, b) ((a) & (b))
#define EITHER(a, b) ((a) | (b))
#define ONE_OF(a, b) ((a) ^ (b))
/* Where the first is not a number, it is the result. */
#define LESS(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
#define MORE(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
/* A comparison of vectors is -1 where it holds, else 0: a vector of integers as wide, of which the compiler makes one
 * instruction that chooses. */
#define CHOSEN(test, a, b) \
  ((vector_t)(((test) & (__typeof__((a) < (b)))(a)) | (~(test) & (__typeof__((a) < (b)))(b))))
#define LESS_ALL(a, b) CHOSEN((a) < (b), a, b)
#define MORE_ALL(a, b) CHOSEN((a) > (b), a, b)
/* The least and the greatest lose what is no number: where one was is kept beside them, so that no comparison waits for
 * another. A number of ones alone is none. */
#define KEEP_ODD(a) kept |= (mask_t)((a) != (a))
#define FIND_ODD(a) a = (vector_t)((mask_t)(a) | kept)
#define NOTHING(a) (void)(a)
#define ITSELF(a) (a)
#define SQUARE(a) ((a) * (a))

/* X(opcode, T, one, all, keep, find); U is T without a sign, so that numbers wrap around. */
#define REALS(X, T)                             \
  X(ADD, T, PLUS, PLUS, NOTHING, NOTHING)       \
  X(MUL, T, TIMES, TIMES, NOTHING, NOTHING)     \
  X(MIN, T, LESS, LESS_ALL, KEEP_ODD, FIND_ODD) \
  X(MAX, T, MORE, MORE_ALL, KEEP_ODD, FIND_ODD)
#define INTEGERS(X, T, U)                     \
  X(ADD, U, PLUS, PLUS, NOTHING, NOTHING)     \
  X(MUL, U, TIMES, TIMES, NOTHING, NOTHING)   \
  X(MIN, T, LESS, LESS_ALL, NOTHING, NOTHING) \
  X(MAX, T, MORE, MORE_ALL, NOTHING, NOTHING) \
  X(AND, U, BOTH, BOTH, NOTHING, NOTHING)     \
  X(OR, U, EITHER, EITHER, NOTHING, NOTHING)  \
  X(XOR, U, ONE_OF, ONE_OF, NOTHING, NOTHING)
#define BOOLS(X)                                   \
  X(AND, uint8_t, BOTH, BOTH, NOTHING, NOTHING)    \
  X(OR, uint8_t, EITHER, EITHER, NOTHING, NOTHING) \
  X(XOR, uint8_t, ONE_OF, ONE_OF, NOTHING, NOTHING)

#define DEFINE_BOOL(opcode, T, one, all, keep, find) \
  FOLD(bool_##opcode, T, one, all, keep, find, ITSELF)
#define DEFINE_INT32(opcode, T, one, all, keep, find) \
  FOLD(int32_##opcode, T, one, all, keep, find, ITSELF)
#define DEFINE_INT64(opcode, T, one, all, keep, find) \
  FOLD(int64_##opcode, T, one, all, keep, find, ITSELF)
#define DEFINE_FLOAT32(opcode, T, one, all, keep, find) \
  FOLD(float32_##opcode, T, one, all, keep, find, ITSELF)
#define DEFINE_FLOAT64(opcode, T, one, all, keep, find) \
  FOLD(float64_##opcode, T, one, all, keep, find, ITSELF)
BOOLS(DEFINE_BOOL)
INTEGERS(DEFINE_INT32, int32_t, uint32_t)
INTEGERS(DEFINE_INT64, int64_t, uint64_t)
REALS(DEFINE_FLOAT32, float)
REALS(DEFINE_FLOAT64, double)
FOLD(float32_squares, float, PLUS, PLUS, NOTHING, NOTHING, SQUARE)
FOLD(float64_squares, double, PLUS, PLUS, NOTHING, NOTHING, SQUARE)

#define ROW(opcode, dtype, function) \
  if (op == TBK_OPCODE_##opcode && type == TBK_##dtype) return function;
#define ROW_BOOL(opcode, T, one, all, keep, find) ROW(opcode, BOOL, bool_##opcode)
#define ROW_INT32(opcode, T, one, all, keep, find) ROW(opcode, INT32, int32_##opcode)
#define ROW_INT64(opcode, T, one, all, keep, find) ROW(opcode, INT64, int64_##opcode)
#define ROW_FLOAT32(opcode, T, one, all, keep, find) ROW(opcode, FLOAT32, float32_##opcode)
#define ROW_FLOAT64(opcode, T, one, all, keep, find) ROW(opcode, FLOAT64, float64_##opcode)

cpu_fold_t CPU_LOOPS(fold)(uint16_t op, uint16_t type, cpu_fold_kind_t kind) {
  if (kind == CPU_FOLD_RUNNING) return CPU_LOOPS(running)(op, type);
  if (kind == CPU_FOLD_SQUARES && op != TBK_OPCODE_ADD) return NULL;
  if (kind == CPU_FOLD_SQUARES)
    return type == TBK_FLOAT32 ? float32_squares : type == TBK_FLOAT64 ? float64_squares : NULL;
  BOOLS(ROW_BOOL)
  INTEGERS(ROW_INT32, int32_t, uint32_t)
  INTEGERS(ROW_INT64, int64_t, uint64_t)
  REALS(ROW_FLOAT32, float)
  REALS(ROW_FLOAT64, double)
  return NULL;
}
