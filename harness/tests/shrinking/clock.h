/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * clock.h: stands before the harness's own: the time of tests is what they say that it is.
 */
#ifndef TBK_HARNESS_CLOCK_H
#define TBK_HARNESS_CLOCK_H

#include <stdint.h>

uint64_t tbk_now_ns(void);

#endif /* TBK_HARNESS_CLOCK_H */
