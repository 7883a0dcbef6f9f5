/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * races.h: what ThreadSanitizer reports while a test runs is a failure of that test. Its runtime is there
 * where it was preloaded (tbk run --tsan) or where this program was built with it; elsewhere these
 * functions do nothing.
 */
#ifndef TBK_CONTRACTS_RACES_H
#define TBK_CONTRACTS_RACES_H

#include <stdbool.h>

/* Returns whether the runtime is there. */
bool tbk_races_are_watched(void);
/* Forgets what was reported so far, before a test. */
void tbk_races_begin(void);
/* Records a failure for what was reported since: the kind, and the places of both accesses. */
void tbk_races_check(void);

#endif /* TBK_CONTRACTS_RACES_H */
