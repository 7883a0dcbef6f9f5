/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * words.c: bytes moved by relaxed atomic accesses. A program under test may race on device memory
 * on purpose; the outcome is then one of the values written, and no data race in C's sense.
 */
#include "cpu.h"

#include <time.h>

typedef uint64_t __attribute__((may_alias)) word_t;
enum { WORD = sizeof(word_t) };

static void copy_byte(char* to, const char* from) {
  __atomic_store_n(to, __atomic_load_n(from, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

void cpu_words_copy(void* to, const void* from, uint64_t size_bytes) {
  char* target = to;
  const char* source = from;
  const char* end = source + size_bytes;
  if ((((uintptr_t)target ^ (uintptr_t)source) & (WORD - 1)) == 0) {
    for (; source < end && (uintptr_t)source % WORD; source++, target++)
      copy_byte(target, source);
    for (; end - source >= WORD; source += WORD, target += WORD) {
      word_t word = __atomic_load_n((const word_t*)(const void*)source, __ATOMIC_RELAXED);
      __atomic_store_n((word_t*)(void*)target, word, __ATOMIC_RELAXED);
    }
  }
  for (; source < end; source++, target++)
    copy_byte(target, source);
}

void cpu_words_fill(void* to, uint8_t value, uint64_t size_bytes) {
  char* target = to;
  char* end = target + size_bytes;
  const word_t word = value * UINT64_C(0x0101010101010101);
  for (; target < end && (uintptr_t)target % WORD; target++)
    __atomic_store_n(target, (char)value, __ATOMIC_RELAXED);
  for (; end - target >= WORD; target += WORD)
    __atomic_store_n((word_t*)(void*)target, word, __ATOMIC_RELAXED);
  for (; target < end; target++)
    __atomic_store_n(target, (char)value, __ATOMIC_RELAXED);
}

uint64_t cpu_mix(uint64_t value) {
  value += UINT64_C(0x9e3779b97f4a7c15);
  value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
  return value ^ (value >> 31);
}

uint64_t cpu_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void cpu_sleep_us(uint64_t us) {
  struct timespec rest = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
  while (us && clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) != 0)
    continue;
}
