/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * words.h: bytes moved as a device moves them, the clock, and the source of seeded choices. None of
 * these takes a lock or fails, and each may be called from any thread.
 */
#ifndef VDEV_WORDS_H
#define VDEV_WORDS_H

#include <stdint.h>

/*
 * Copies by relaxed atomic accesses. A program under test may race on device memory on purpose; the
 * outcome is then one of the values written, and no data race in C's sense.
 * Requires: both ranges are accessible to the host; they may be the same, and do not overlap else.
 * Ensures: no byte outside of the ranges is read or written; it blocks for nothing.
 */
void vdev_words_copy(void* to, const void* from, uint64_t size_bytes);

/*
 * Fills by relaxed atomic accesses.
 * Requires: the range is accessible to the host.
 */
void vdev_words_fill(void* to, uint8_t value, uint64_t size_bytes);

/*
 * Returns a number that looks drawn by chance, another one for each `value`; all choices by seed are
 * made of it.
 */
uint64_t vdev_mix(uint64_t value);

/* Returns the time of the devices in nanoseconds; it never runs backwards. */
uint64_t vdev_now_ns(void);

/* Sleeps for so long at least, also where signals come. */
void vdev_sleep_us(uint64_t us);

#endif /* VDEV_WORDS_H */
