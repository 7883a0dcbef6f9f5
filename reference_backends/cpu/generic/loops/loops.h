/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * loops.h: one loop for each opcode and dtype. These files are compiled once for each set of
 * instructions that the build knows; find.c chooses, at run time, what the processor has.
 */
#ifndef TBK_CPU_LOOPS_H
#define TBK_CPU_LOOPS_H

#include <stdbool.h>
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

/* Returns 1 for a byte that is not 0, without a comparison. */
static inline int cpu_truth(uint8_t byte) {
  return (byte + 255) >> 8;
}

/*
 * Computes out[0 .. count) of the operands, each an array of as many; count is a multiple of
 * CPU_LANE_STEP. The output may be an operand as wide; it reaches into none otherwise. Where
 * cpu_loops_are_direct, all of them may lie in the memory of a device.
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
/* Returns whether loops may work on the memory of a device: each element is read once and written once. */
static inline bool cpu_loops_are_direct(void) {
  return CPU_READS_VECTORS;
}
cpu_loop_t CPU_LOOPS(integer)(uint16_t opcode, uint16_t dtype);
cpu_loop_t CPU_LOOPS(real)(uint16_t opcode, uint16_t dtype);
cpu_loop_t CPU_LOOPS(compare)(uint16_t opcode, uint16_t dtype);
cpu_loop_t CPU_LOOPS(choose)(uint16_t opcode, uint16_t dtype);
cpu_loop_t CPU_LOOPS(cast)(uint16_t from, uint16_t to);
cpu_loop_t CPU_LOOPS(word)(uint16_t opcode, uint16_t slot, int64_t element_bytes);
cpu_fold_t CPU_LOOPS(fold)(uint16_t opcode, uint16_t dtype, cpu_fold_kind_t kind);
cpu_fold_t CPU_LOOPS(running)(uint16_t opcode, uint16_t dtype); /* which fold returns */
void CPU_LOOPS(move)(void* to, const void* from, size_t size_bytes);
void CPU_LOOPS(fill)(void* to, uint64_t bits, int64_t element_bytes, size_t count);

/* Bytes between memory and an array, by vectors of this size, each moved once. The compiler keeps such an array in
 * registers if it makes vectors of the same size of it: with as many lanes as the narrowest type has. */
#define VECTORS_MOVE(vector_t, to_volatile, from_volatile) \
  for (size_t i = 0; i < bytes; i += sizeof(vector_t))     \
  *(to_volatile vector_t*)(void*)((char*)to + i) =         \
      *(from_volatile const vector_t*)(const void*)((const char*)from + i)
#define CPU_VECTOR_TYPE(bytes) __attribute__((vector_size(bytes), may_alias, aligned(1)))
typedef uint64_t CPU_VECTOR_TYPE(CPU_VECTOR_BYTES) cpu_vector_t;
typedef uint64_t CPU_VECTOR_TYPE(CPU_VECTOR_BYTES == 64 ? 32 : 16) cpu_half_vector_t;
typedef uint64_t CPU_VECTOR_TYPE(16) cpu_short_vector_t;

static inline __attribute__((always_inline)) void lanes_read(void* to, const void* from,
                                                             size_t bytes, size_t vector) {
  if (vector == sizeof(cpu_vector_t))
    VECTORS_MOVE(cpu_vector_t, , volatile);
  else if (vector == sizeof(cpu_half_vector_t))
    VECTORS_MOVE(cpu_half_vector_t, , volatile);
  else
    VECTORS_MOVE(cpu_short_vector_t, , volatile);
}

static inline __attribute__((always_inline)) void lanes_write(void* to, const void* from,
                                                              size_t bytes, size_t vector) {
  if (vector == sizeof(cpu_vector_t))
    VECTORS_MOVE(cpu_vector_t, volatile, );
  else if (vector == sizeof(cpu_half_vector_t))
    VECTORS_MOVE(cpu_half_vector_t, volatile, );
  else
    VECTORS_MOVE(cpu_short_vector_t, volatile, );
}
#define CPU_NARROWER(a, b) ((a) < (b) ? (a) : (b))
/* Returns in vectors of which size types of these sizes are moved. */
#define CPU_VECTOR(a, b) CPU_NARROWER(CPU_VECTOR_BYTES, CPU_LANE_STEP* CPU_NARROWER(a, b))

/* LOOP1 and so on define a loop of one, two or three operands `a`, `b`, `c` of type T, which gives R. */
#define LOOP1(name, T, R, expression)                                \
  static void name(void* out, const void* const* in, size_t count) { \
    typedef T takes_t;                                               \
    typedef R gives_t;                                               \
    enum { BY = CPU_VECTOR(sizeof(takes_t), sizeof(gives_t)) };      \
    gives_t *r = out, made[CPU_LANE_STEP];                           \
    const takes_t* x = in[0];                                        \
    takes_t as[CPU_LANE_STEP];                                       \
    for (size_t i = 0; i < count; i += CPU_LANE_STEP) {              \
      lanes_read(as, x + i, sizeof as, BY);                          \
      for (int k = 0; k < CPU_LANE_STEP; k++) {                      \
        const takes_t a = as[k];                                     \
        made[k] = (gives_t)(expression);                             \
      }                                                              \
      lanes_write(r + i, made, sizeof made, BY);                     \
    }                                                                \
  }
#define LOOP2(name, T, R, expression)                                \
  static void name(void* out, const void* const* in, size_t count) { \
    typedef T takes_t;                                               \
    typedef R gives_t;                                               \
    enum { BY = CPU_VECTOR(sizeof(takes_t), sizeof(gives_t)) };      \
    gives_t *r = out, made[CPU_LANE_STEP];                           \
    const takes_t *x = in[0], *y = in[1];                            \
    takes_t as[CPU_LANE_STEP], bs[CPU_LANE_STEP];                    \
    for (size_t i = 0; i < count; i += CPU_LANE_STEP) {              \
      lanes_read(as, x + i, sizeof as, BY);                          \
      lanes_read(bs, y + i, sizeof bs, BY);                          \
      for (int k = 0; k < CPU_LANE_STEP; k++) {                      \
        const takes_t a = as[k], b = bs[k];                          \
        made[k] = (gives_t)(expression);                             \
      }                                                              \
      lanes_write(r + i, made, sizeof made, BY);                     \
    }                                                                \
  }
/* The first operand is of type S. */
#define LOOP3(name, S, T, R, expression)                                                       \
  static void name(void* out, const void* const* in, size_t count) {                           \
    typedef S first_t;                                                                         \
    typedef T takes_t;                                                                         \
    typedef R gives_t;                                                                         \
    enum { BY = CPU_VECTOR(sizeof(first_t), CPU_NARROWER(sizeof(takes_t), sizeof(gives_t))) }; \
    gives_t *r = out, made[CPU_LANE_STEP];                                                     \
    const first_t* x = in[0];                                                                  \
    const takes_t *y = in[1], *z = in[2];                                                      \
    first_t as[CPU_LANE_STEP];                                                                 \
    takes_t bs[CPU_LANE_STEP], cs[CPU_LANE_STEP];                                              \
    for (size_t i = 0; i < count; i += CPU_LANE_STEP) {                                        \
      lanes_read(as, x + i, sizeof as, BY);                                                    \
      lanes_read(bs, y + i, sizeof bs, BY);                                                    \
      lanes_read(cs, z + i, sizeof cs, BY);                                                    \
      for (int k = 0; k < CPU_LANE_STEP; k++) {                                                \
        const first_t a = as[k];                                                               \
        const takes_t b = bs[k], c = cs[k];                                                    \
        made[k] = (gives_t)(expression);                                                       \
      }                                                                                        \
      lanes_write(r + i, made, sizeof made, BY);                                               \
    }                                                                                          \
  }

#endif /* TBK_CPU_LOOPS_H */
