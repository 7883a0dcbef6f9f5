/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * recheck.h: a failure whose verdict needs more runs.
 */
#ifndef TBK_HARNESS_RECHECK_H
#define TBK_HARNESS_RECHECK_H

#include "health.h"
#include "recorder.h"

/* A test that failed together with others, or in a process that went bad. */
typedef struct tbk_recheck {
  struct tbk_recheck* next;
  bool poisoned;   /* else: failed together with others */
  uint32_t count;  /* poisoned: suspects. Else: tests before it in the process, and itself */
  uint32_t* items; /* the last one is the one that failed, unless poisoned */
  tbk_outcome_t outcome;
  tbk_classification_t classification;
  tbk_hold_t* hold; /* where it is of poison: what the tests came to before that was seen */
} tbk_recheck_t;

typedef struct tbk_rechecks {
  tbk_recorder_t* recorder;
  tbk_pace_t* pace;
  tbk_health_t* health;
  tbk_loop_t* loop;
  tbk_recheck_t* waiting;
  tbk_recheck_t* unconfirmed;    /* failed by themselves; the device is asked before they count */
  uint32_t alone_runs, searches; /* spent */
} tbk_rechecks_t;

/* A test failed in a process with `count - 1` others before it. */
void tbk_recheck_together(tbk_rechecks_t* rechecks, const uint32_t* items, uint32_t count,
                          const tbk_outcome_t* outcome, const tbk_classification_t* classification);
void tbk_recheck_poison(tbk_rechecks_t* rechecks, tbk_hold_t* hold);
/* Settles the oldest, with as many runs as that takes. */
void tbk_recheck_settle(tbk_rechecks_t* rechecks, tbk_slot_t* slot);

/* A test failed in a process of its own; the next probe says whether the device is to be believed. */
void tbk_recheck_after_probe(tbk_rechecks_t* rechecks, uint32_t item, const tbk_outcome_t* outcome,
                             const tbk_classification_t* classification);
/* The probe is over: they count; or, but for the first, they ran on a lost device. */
void tbk_recheck_decide(tbk_rechecks_t* rechecks);

#endif /* TBK_HARNESS_RECHECK_H */
