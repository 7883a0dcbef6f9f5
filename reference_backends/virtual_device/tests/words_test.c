/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * words_test.c: copies and fills of every small size and skew, and the clock.
 */
#include "vdev/words.h"

#include <pthread.h>
#include <string.h>

#include "selftest.h"

enum { ROOM = 96, MOST = 48, AROUND = 16 };

static void pattern(unsigned char* bytes, unsigned char first) {
  for (int i = 0; i < ROOM; i++)
    bytes[i] = (unsigned char)(first + 3 * i);
}

/* Neither a byte too few nor one too many, wherever both ranges begin. */
static void a_copy_is_exact(void) {
  unsigned char from[ROOM], to[ROOM], want[ROOM];
  unsigned wrong = 0;
  for (unsigned size = 0; size <= MOST; size++)
    for (unsigned skews = 0; skews < 64; skews++) {
      pattern(from, 1);
      pattern(to, 128);
      memcpy(want, to, ROOM);
      memcpy(want + AROUND + skews % 8, from + AROUND + skews / 8, size);
      vdev_words_copy(to + AROUND + skews % 8, from + AROUND + skews / 8, size);
      wrong += memcmp(to, want, ROOM) != 0;
    }
  CU_ASSERT_EQUAL(wrong, 0);
}

static void a_fill_is_exact(void) {
  unsigned char to[ROOM], want[ROOM];
  unsigned wrong = 0;
  for (unsigned size = 0; size <= MOST; size++)
    for (unsigned skew = 0; skew < 8; skew++) {
      pattern(to, 7);
      memcpy(want, to, ROOM);
      memset(want + AROUND + skew, 0xa5, size);
      vdev_words_fill(to + AROUND + skew, 0xa5, size);
      wrong += memcmp(to, want, ROOM) != 0;
    }
  CU_ASSERT_EQUAL(wrong, 0);
}

enum { SHARED = 1024 };
static uint64_t shared_words[SHARED];

static void* fill_again(void* value) {
  for (int i = 0; i < 50; i++)
    vdev_words_fill(shared_words, *(uint8_t*)value, sizeof shared_words);
  return NULL;
}

/* What races on purpose ends as one of the values, and no sanitizer calls it a data race. */
static void racing_fills_leave_one_of_both(void) {
  uint8_t values[] = {0x11, 0x77};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, fill_again, &values[i]), 0);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  unsigned wrong = 0;
  for (int i = 0; i < SHARED; i++)
    wrong += shared_words[i] != UINT64_C(0x1111111111111111) &&
             shared_words[i] != UINT64_C(0x7777777777777777);
  CU_ASSERT_EQUAL(wrong, 0);
}

static void the_clock_runs_on_while_one_sleeps(void) {
  uint64_t before = vdev_now_ns();
  vdev_sleep_us(2000);
  CU_ASSERT(vdev_now_ns() - before >= 2000000);
  before = vdev_now_ns();
  vdev_sleep_us(0);
  CU_ASSERT(vdev_now_ns() >= before);
}

static void mixed_numbers_differ(void) {
  unsigned same = 0;
  for (uint64_t i = 0; i < 1000; i++)
    same += vdev_mix(i) == vdev_mix(i + 1) || vdev_mix(i) % 1024 == i % 1024;
  CU_ASSERT(same < 10);
  CU_ASSERT_EQUAL(vdev_mix(7), vdev_mix(7));
}

CU_TestInfo vdev_words_tests[] = {
    {"a copy is exact", a_copy_is_exact},
    {"a fill is exact", a_fill_is_exact},
    {"racing fills leave one of both", racing_fills_leave_one_of_both},
    {"the clock runs on while one sleeps", the_clock_runs_on_while_one_sleeps},
    {"mixed numbers differ", mixed_numbers_differ},
    CU_TEST_INFO_NULL,
};
