/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * loops.h: one loop for each opcode and dtype. These files are compiled once for each set of
 * instructions that the build knows; find.c chooses, at run time, what the processor has.
 */
#ifndef TBK_CPU_LOOPS_H
#define TBK_CPU_LOOPS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <tbk/tbk_program.h>

/*
 * Loops are called with whole multiples of this: what an element gets must not depend on whether it
 * lies in the vectors of a loop or in what they leave over. Buffers are so much longer.
 */
enum { CPU_LANE_STEP = 16 };
/* Returns how many lanes loops are called with for so many elements. */
static inline size_t cpu_whole_lanes(size_t count) {
  return (count + CPU_LANE_STEP - 1) / CPU_LANE_STEP * CPU_LANE_STEP;
}

static inline float float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint32_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/*
 * Computes out[0 .. count) of the operands, each an array of as many; count is a multiple of
 * CPU_LANE_STEP. The output lies in none of them.
 */
typedef void (*cpu_loop_t)(void* out, const void* const* in, size_t count);

/* Moves bytes between the memory of a device and buffers, as vdev_words_copy does, but faster. */
typedef void (*cpu_move_t)(void* to, const void* from, size_t size_bytes);

/* Fills a buffer with one element's bits; an element has 1, 2, 4 or 8 bytes. */
typedef void (*cpu_fill_t)(void* to, uint64_t bits, int64_t element_bytes, size_t count);

/* Makes one element of `count` (at least one), which may lie in the memory of a device and which the
 * opcode may combine in any order. */
typedef void (*cpu_fold_t)(void* out, const void* in, size_t count);
typedef enum cpu_fold_kind {
  CPU_FOLD_ELEMENTS,
  CPU_FOLD_SQUARES, /* one element of the squares of those */
  CPU_FOLD_RUNNING /* of buffers, `count` elements: each of itself and all before it; out may be in */
} cpu_fold_kind_t;

/* Of one set of instructions. Each returns NULL where it has nothing of that kind. */
typedef struct cpu_loop_set {
  cpu_loop_t (*integer)(uint16_t opcode, uint16_t dtype);
  cpu_loop_t (*real)(uint16_t opcode, uint16_t dtype);
  cpu_loop_t (*compare)(uint16_t opcode, uint16_t dtype);
  cpu_loop_t (*choose)(uint16_t opcode, uint16_t dtype);
  cpu_loop_t (*cast)(uint16_t from, uint16_t to);
  cpu_loop_t (*word)(uint16_t opcode, uint16_t slot, int64_t element_bytes);
  cpu_loop_t (*direct)(uint16_t opcode, uint16_t dtype);
  cpu_fold_t (*fold)(uint16_t opcode, uint16_t dtype, cpu_fold_kind_t kind);
  cpu_move_t move;
  cpu_fill_t fill;
} cpu_loop_set_t;
extern const cpu_loop_set_t cpu_loops_plain, cpu_loops_avx2, cpu_loops_avx512;

/* Returns the loop of an opcode: `takes` is the dtype of the last operand, `gives` of the value. */
cpu_loop_t cpu_loop_find(uint16_t opcode, uint16_t takes, uint16_t gives, uint16_t slot);
/* Returns what compares its first two operands, of this dtype, and gives the third or the fourth, which are as wide;
 * NULL where there is no such thing. */
cpu_loop_t cpu_choose_find(uint16_t opcode, uint16_t dtype);
/* Returns a loop of the same opcode whose operands and output may lie in the memory of a device, and whose output
 * may be an operand; NULL where there is no such thing. */
cpu_loop_t cpu_direct_find(uint16_t opcode, uint16_t dtype);
/* Returns what folds by this opcode; NULL where there is no such thing. */
cpu_fold_t cpu_fold_find(uint16_t opcode, uint16_t dtype, cpu_fold_kind_t kind);
/* Returns how buffers are filled here, and how bytes are moved. */
cpu_fill_t cpu_fill_find(void);
cpu_move_t cpu_move_find(void);

/* Each file of loops defines what it has with the name of the set in it. */
#if defined(CPU_LOOPS_AVX512)
#define CPU_LOOPS(name) cpu_##name##_avx512
#define CPU_VECTOR_BYTES 64
#elif defined(CPU_LOOPS_AVX2)
#define CPU_LOOPS(name) cpu_##name##_avx2
#define CPU_VECTOR_BYTES 32
#else
#define CPU_LOOPS(name) cpu_##name##_plain
#define CPU_VECTOR_BYTES 16
#endif
/*
 * Whether the memory of a device is read and written by whole vectors, each once: `volatile` keeps the
 * compiler from reading twice what another thread may write meanwhile, and no aligned word is torn by
 * a vector access of these processors. ThreadSanitizer is told of atomic words instead.
 */
#if defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define CPU_READS_VECTORS 0
#else
#define CPU_READS_VECTORS 1
#endif
cpu_loop_t CPU_LOOPS(integer)(uint16_t opcode, uint16_t dtype);
cpu_loop_t CPU_LOOPS(real)(uint16_t opcode, uint16_t dtype);
cpu_loop_t CPU_LOOPS(compare)(uint16_t opcode, uint16_t dtype);
cpu_loop_t CPU_LOOPS(choose)(uint16_t opcode, uint16_t dtype);
cpu_loop_t CPU_LOOPS(cast)(uint16_t from, uint16_t to);
cpu_loop_t CPU_LOOPS(word)(uint16_t opcode, uint16_t slot, int64_t element_bytes);
cpu_loop_t CPU_LOOPS(direct)(uint16_t opcode, uint16_t dtype);
cpu_fold_t CPU_LOOPS(fold)(uint16_t opcode, uint16_t dtype, cpu_fold_kind_t kind);
cpu_fold_t CPU_LOOPS(running)(uint16_t opcode, uint16_t dtype); /* which fold returns */
void CPU_LOOPS(move)(void* to, const void* from, size_t size_bytes);
void CPU_LOOPS(fill)(void* to, uint64_t bits, int64_t element_bytes, size_t count);

/* LOOP1 and so on define a loop of one, two or three operands `a`, `b`, `c` of type T, which gives R. */
#define LOOP1(name, T, R, expression)                                \
  static void name(void* out, const void* const* in, size_t count) { \
    typedef T takes_t;                                               \
    typedef R gives_t;                                               \
    gives_t* restrict r = out;                                       \
    const takes_t* x = in[0];                                        \
    for (size_t i = 0; i < count; i++) {                             \
      const takes_t a = x[i];                                        \
      r[i] = (gives_t)(expression);                                  \
    }                                                                \
  }
#define LOOP2(name, T, R, expression)                                \
  static void name(void* out, const void* const* in, size_t count) { \
    typedef T takes_t;                                               \
    typedef R gives_t;                                               \
    gives_t* restrict r = out;                                       \
    const takes_t *x = in[0], *y = in[1];                            \
    for (size_t i = 0; i < count; i++) {                             \
      const takes_t a = x[i], b = y[i];                              \
      r[i] = (gives_t)(expression);                                  \
    }                                                                \
  }
/* The first operand is of type S. */
#define LOOP3(name, S, T, R, expression)                             \
  static void name(void* out, const void* const* in, size_t count) { \
    typedef S first_t;                                               \
    typedef T takes_t;                                               \
    typedef R gives_t;                                               \
    gives_t* restrict r = out;                                       \
    const first_t* x = in[0];                                        \
    const takes_t *y = in[1], *z = in[2];                            \
    for (size_t i = 0; i < count; i++) {                             \
      const first_t a = x[i];                                        \
      const takes_t b = y[i], c = z[i];                              \
      r[i] = (gives_t)(expression);                                  \
    }                                                                \
  }

#endif /* TBK_CPU_LOOPS_H */
