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

/* Whoever looks more often than that and finds more gone has not been let run. */
#define STANDSTILL_NS UINT64_C(500000000)

uint64_t fx_awake_ns(void) {
  static atomic_ullong seen_ns, awake_ns;
  const uint64_t now = fx_now_ns();
  unsigned long long seen = atomic_load(&seen_ns);
  while (now > seen)
    if (atomic_compare_exchange_weak(&seen_ns, &seen, now)) {
      atomic_fetch_add(&awake_ns, now - seen < STANDSTILL_NS ? now - seen : STANDSTILL_NS);
      break;
    }
  return atomic_load(&awake_ns);
}

uint64_t tbk_wait_step_ns(uint64_t deadline_ns) {
  const uint64_t now = fx_awake_ns(), most = STANDSTILL_NS / 4;
  const uint64_t left = now < deadline_ns ? deadline_ns - now : 0;
  return left < most ? left : most;
}

bool tbk_word_wait(const atomic_int* word, uint64_t timeout_ns) {
  const uint64_t deadline = fx_awake_ns() + timeout_ns;
  while (atomic_load(word) == 0) {
    const struct timespec step = {.tv_nsec = (long)tbk_wait_step_ns(deadline)};
    if (step.tv_nsec == 0) return false;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, &step, NULL, 0);
  }
  return true;
}

void tbk_word_set(atomic_int* word, int value) {
  atomic_store(word, value);
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
