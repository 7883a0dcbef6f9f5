/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * words.c: relaxed atomic accesses, eight bytes at once where that fits; the clock, and vdev_mix.
 */
#include "vdev/words.h"

#include <time.h>

typedef uint64_t __attribute__((may_alias)) word_t;
enum { WORD = sizeof(word_t) };

static void copy_byte(char* to, const char* from) {
  __atomic_store_n(to, __atomic_load_n(from, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

static word_t load_word(const char* from) {
  return __atomic_load_n((const word_t*)(const void*)from, __ATOMIC_RELAXED);
}

static void store_word(char* to, word_t word) {
  __atomic_store_n((word_t*)(void*)to, word, __ATOMIC_RELAXED);
}

static uint64_t copy_aligned(char* to, const char* from, uint64_t size_bytes) {
  uint64_t done = 0;
  for (; size_bytes - done >= WORD; done += WORD)
    store_word(to + done, load_word(from + done));
  return done;
}

/*
 * `to` is aligned and `from` is `skew` bytes past a word; that word and each that follows up to
 * `size_bytes` is the caller's. A word is put together from two.
 */
static uint64_t copy_skewed(char* to, const char* from, uint64_t size_bytes, unsigned skew) {
  uint64_t done = 0;
  word_t low = load_word(from - skew);
  for (; size_bytes - done >= 2 * WORD; done += WORD) {
    word_t high = load_word(from - skew + done + WORD);
    store_word(to + done, low >> 8 * skew | high << 8 * (WORD - skew));
    low = high;
  }
  return done;
}

void vdev_words_copy(void* to, const void* from, uint64_t size_bytes) {
  char* target = to;
  const char* source = from;
  uint64_t done = 0;
  if (((uintptr_t)target | (uintptr_t)source) % WORD == 0) {
    done = copy_aligned(target, source, size_bytes);
  } else if (size_bytes >= 4 * WORD && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
    /* At least a word's worth first, so that the word in which the source begins is in the range. */
    for (; done < WORD || (uintptr_t)(target + done) % WORD != 0; done++)
      copy_byte(target + done, source + done);
    unsigned skew = (uintptr_t)(source + done) % WORD;
    done += skew == 0 ? copy_aligned(target + done, source + done, size_bytes - done)
                      : copy_skewed(target + done, source + done, size_bytes - done, skew);
  }
  for (; done < size_bytes; done++)
    copy_byte(target + done, source + done);
}

void vdev_words_fill(void* to, uint8_t value, uint64_t size_bytes) {
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

uint64_t vdev_mix(uint64_t value) {
  value += UINT64_C(0x9e3779b97f4a7c15);
  value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
  return value ^ (value >> 31);
}

uint64_t vdev_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void vdev_sleep_us(uint64_t us) {
  struct timespec rest = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
  while (us && clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) != 0)
    continue;
}
