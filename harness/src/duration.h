/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * duration.h: times on a command line, such as 90s, 2m or 1h.
 */
#ifndef TBK_HARNESS_DURATION_H
#define TBK_HARNESS_DURATION_H

#include <stdbool.h>

/* Reads a number above 0, and s, m, min or h behind it; seconds where there is none of them. Returns
 * false where it is none, or more than about thirty years. */
bool tbk_duration_read(const char* text, double* out_seconds);

#endif /* TBK_HARNESS_DURATION_H */
