/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * enough.h: whether the machine lets a run have what it needs, before a backend is blamed for the lack.
 */
#ifndef TBK_HARNESS_ENOUGH_H
#define TBK_HARNESS_ENOUGH_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether a limit of this process, or of its user, is too small, and says so in `out`. */
bool tbk_limits_lack(char* out, size_t out_size);

#endif /* TBK_HARNESS_ENOUGH_H */
