/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * clock.h: monotonic time in nanoseconds.
 */
#ifndef TBK_HARNESS_CLOCK_H
#define TBK_HARNESS_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t tbk_now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif /* TBK_HARNESS_CLOCK_H */
