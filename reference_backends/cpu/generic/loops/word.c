/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * word.c: loops for which only the size of an element matters, random words, and moves between the
 * memory of a device and buffers.
 */
#include <string.h>
#include <vdev/words.h>

#include "loops.h"

#define SIZES(X) \
  X(1, uint8_t)  \
  X(2, uint16_t) \
  X(4, uint32_t) \
  X(8, uint64_t)
/* Chooses by words as wide as what is chosen: of a choice by bytes, some processors make masks, which are slow here. */
#define ALL_ONES(T) ((T)0 - (T)cpu_truth(a))
#define DEFINE(bytes, T)                                                          \
  LOOP3(select_##bytes, uint8_t, T, T, (b & ALL_ONES(T)) | (c & (T)~ALL_ONES(T))) \
  LOOP1(same_##bytes, T, T, a)
SIZES(DEFINE)

/* Ten rounds of Philox4x32; word `w` of each block. */
static inline int64_t philox(uint64_t seed, uint64_t block, int w) {
  uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
  uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32), c2 = 0, c3 = 0;
#pragma GCC unroll 10
  for (int round = 0; round < 10; round++) {
    const uint64_t left = (uint64_t)0xd2511f53u * c0, right = (uint64_t)0xcd9e8d57u * c2;
    c0 = (uint32_t)(right >> 32) ^ c1 ^ key0;
    c1 = (uint32_t)right;
    c2 = (uint32_t)(left >> 32) ^ c3 ^ key1;
    c3 = (uint32_t)left;
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
  return w == 0 ? c0 : w == 1 ? c1 : w == 2 ? c2 : c3;
}

LOOP3(philox_0, uint64_t, uint64_t, int64_t, philox(a, b + c, 0))
LOOP3(philox_1, uint64_t, uint64_t, int64_t, philox(a, b + c, 1))
LOOP3(philox_2, uint64_t, uint64_t, int64_t, philox(a, b + c, 2))
LOOP3(philox_3, uint64_t, uint64_t, int64_t, philox(a, b + c, 3))

#define ROW_SELECT(bytes, T) [bytes] = select_##bytes,
#define ROW_SAME(bytes, T) [bytes] = same_##bytes,
static const cpu_loop_t selects[9] = {SIZES(ROW_SELECT)}, sames[9] = {SIZES(ROW_SAME)};
static const cpu_loop_t philoxes[4] = {philox_0, philox_1, philox_2, philox_3};

cpu_loop_t CPU_LOOPS(word)(uint16_t opcode, uint16_t slot, int64_t element_bytes) {
  if (opcode == TBK_OPCODE_PHILOX) return slot < 4 ? philoxes[slot] : NULL;
  if (element_bytes < 0 || element_bytes > 8) return NULL;
  if (opcode == TBK_OPCODE_SELECT) return selects[element_bytes];
  return opcode == TBK_OPCODE_BITCAST ? sames[element_bytes] : NULL;
}

void CPU_LOOPS(fill)(void* to, uint64_t bits, int64_t element_bytes, size_t count) {
  switch (element_bytes) {
#define FILL(bytes, T)                 \
  case bytes:                          \
    for (size_t i = 0; i < count; i++) \
      ((T*)to)[i] = (T)bits;           \
    break;
    SIZES(FILL)
#undef FILL
  }
}

#if !CPU_READS_VECTORS
void CPU_LOOPS(move)(void* to, const void* from, size_t size_bytes) {
  vdev_words_copy(to, from, size_bytes);
}
#else
enum { VECTOR = CPU_VECTOR_BYTES, BLOCK = 4 * VECTOR };

void CPU_LOOPS(move)(void* to, const void* from, size_t size_bytes) {
  char* target = to;
  const char* source = from;
  size_t done = 0;
  for (; size_bytes - done >= BLOCK; done += BLOCK) {
    for (size_t i = 0; i < BLOCK; i += VECTOR) {
      const cpu_vector_t vector = *(const volatile cpu_vector_t*)(const void*)(source + done + i);
      *(volatile cpu_vector_t*)(void*)(target + done + i) = vector;
    }
  }
  for (; size_bytes - done >= VECTOR; done += VECTOR) {
    const cpu_vector_t vector = *(const volatile cpu_vector_t*)(const void*)(source + done);
    *(volatile cpu_vector_t*)(void*)(target + done) = vector;
  }
  if (done < size_bytes) vdev_words_copy(target + done, source + done, size_bytes - done);
}
#endif

const cpu_loop_set_t CPU_LOOPS(loops) = {CPU_LOOPS(integer), CPU_LOOPS(real), CPU_LOOPS(compare),
                                         CPU_LOOPS(choose),  CPU_LOOPS(cast), CPU_LOOPS(word),
                                         CPU_LOOPS(fold),    CPU_LOOPS(move), CPU_LOOPS(fill)};
