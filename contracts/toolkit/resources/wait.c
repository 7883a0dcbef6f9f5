/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "wait.h"

#include "fixture.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint64_t fx_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void fx_sleep_until(uint64_t end_ns) {
  for (uint64_t now = fx_now_ns(); now < end_ns; now = fx_now_ns()) {
    const uint64_t left = end_ns - now;
    const struct timespec pause = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
    (void)nanosleep(&pause, NULL);
  }
}

bool tbk_word_wait(const atomic_int* word, uint64_t timeout_ns) {
  uint64_t deadline = fx_now_ns() + timeout_ns;
  while (atomic_load(word) == 0) {
    uint64_t now = fx_now_ns();
    if (now >= deadline) return false;
    struct timespec left = {.tv_sec = (time_t)((deadline - now) / 1000000000),
                            .tv_nsec = (long)((deadline - now) % 1000000000)};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, &left, NULL, 0);
  }
  return true;
}

void tbk_word_set(atomic_int* word, int value) {
  atomic_store(word, value);
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
