/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * run.h: a run: its parts, each of which knows only those above it.
 */
#ifndef TBK_HARNESS_RUN_H
#define TBK_HARNESS_RUN_H

#include "kind.h"
#include "recheck.h"

/* A queue of numbers in the plan. */
typedef struct tbk_queue {
  uint32_t* items;
  size_t head, tail, capacity;
} tbk_queue_t;

typedef struct tbk_run {
  const tbk_options_t* options;
  const tbk_kind_t* kind;
  tbk_facts_t facts;
  tbk_journal_t journal;
  tbk_loop_t loop;
  tbk_recorder_t recorder;
  tbk_pace_t pace;
  tbk_health_t health;
  tbk_rechecks_t rechecks;
  tbk_isolation_t isolation; /* FORK or BATCH */
  /* What is to run: each in a process of its own, many in one, with no other process beside it. */
  tbk_queue_t singles, batches, alone;
  bool running_alone;
  uint64_t batches_begun;
  tbk_hold_t* holds; /* one for each slot */
  uint8_t* refusals; /* of each item: how often it was put off (tbk_lease_puts_off) */
} tbk_run_t;

/* Runs all that is not recorded yet. */
void tbk_supervise(tbk_run_t* run);

#endif /* TBK_HARNESS_RUN_H */
