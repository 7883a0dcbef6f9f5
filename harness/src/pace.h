/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * pace.h: how much time a test gets, as long as all goes well, and when much has hung.
 */
#ifndef TBK_HARNESS_PACE_H
#define TBK_HARNESS_PACE_H

#include "facts.h"
#include "slot.h"

typedef struct tbk_pace {
  const tbk_options_t* options;
  const tbk_facts_t* facts;
  uint64_t started_ns;
  bool failed;    /* a test has */
  uint32_t hangs; /* tests that were killed at their deadline, or took long to fail */
} tbk_pace_t;

/* Returns the limits of a process that asks how the device is. */
tbk_limits_t tbk_pace_limits(const tbk_pace_t* pace);
/* Returns those of a test, for which time may have become short. */
tbk_limits_t tbk_pace_test_limits(const tbk_pace_t* pace);
void tbk_pace_count_hang(tbk_pace_t* pace, const tbk_outcome_t* outcome, bool fails);
bool tbk_pace_is_short_of_time(const tbk_pace_t* pace);
bool tbk_pace_is_over_budget(const tbk_pace_t* pace);

#endif /* TBK_HARNESS_PACE_H */
