/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * run.h: a run in progress, as the supervisor's parts share it.
 */
#ifndef TBK_HARNESS_RUN_H
#define TBK_HARNESS_RUN_H

#include "facts.h"
#include "loop.h"
#include "record.h"

enum { TBK_FINDINGS_KEPT = 3 };

/* A queue of numbers in the plan. */
typedef struct tbk_queue {
  uint32_t* items;
  size_t head, tail, capacity;
} tbk_queue_t;

/* A test whose verdict needs more runs: it failed together with others, or in a process that went bad. */
struct tbk_hold;
typedef struct tbk_recheck {
  struct tbk_recheck* next;
  bool poisoned;   /* else: failed together with others */
  uint32_t count;  /* poisoned: suspects. Else: tests before it in the process, and itself */
  uint32_t* items; /* the last one is the one that failed, unless poisoned */
  tbk_outcome_t outcome;
  tbk_classification_t classification;
  struct tbk_hold* hold; /* where it is of poison: what the tests came to before that was seen */
} tbk_recheck_t;

/* Records of a slot's job that wait until the process is known to be sound. */
typedef struct tbk_hold {
  tbk_results_t lines; /* only its pending lines are used */
  uint32_t items[TBK_JOB_MAX];
  tbk_verdict_t verdicts[TBK_JOB_MAX];
  uint32_t count;
  bool unsound;
  char reason[256];
  bool turned_away; /* the job could not open the device: it goes on from `turned_at` later */
  uint32_t turned_at;
} tbk_hold_t;

typedef struct tbk_run {
  const tbk_options_t* options;
  tbk_run_plan_t plan;
  tbk_results_t results;
  tbk_journal_t journal;
  tbk_loop_t loop;
  tbk_facts_t facts;
  tbk_ledger_t ledger;
  tbk_isolation_t isolation; /* FORK or BATCH */
  unsigned char* recorded;   /* for each item */
  unsigned char* first;      /* for each test: 1 + the verdict that came first */

  tbk_queue_t singles, batches,
      alone; /* what is to run: each by itself, many in one process, with nothing beside it */
  bool running_alone;
  tbk_hold_t* holds; /* one for each slot */
  tbk_recheck_t* rechecks;
  tbk_recheck_t* unconfirmed;    /* failed by themselves; the device is asked before they count */
  char suspect[160];             /* the first of them */
  uint32_t alone_runs, searches; /* spent on rechecks */

  uint64_t started_ns;
  bool probe_due;
  uint64_t probed_ns;
  bool lost;              /* the device computes no more */
  char health[512];       /* "ok", or what is wrong */
  char lost_before[512];  /* the device was lost, in the run that this one goes on with */
  bool held;              /* lost, because another process keeps the device */
  char lease[128];        /* then: for how long */
  uint64_t held_since_ns; /* 0: not since a test has had it */
  uint32_t hangs;         /* tests that were killed at their deadline, or took long to fail */

  struct {
    char id[160], clause[16], verdict[16];
    char text[256], expected[256], seen[640], replay[2048];
  } findings[TBK_FINDINGS_KEPT];
  uint32_t finding_count;
} tbk_run_t;

/* supervisor.c: runs all that is not recorded yet. */
void tbk_supervise(tbk_run_t* run);
/* Of a process that asks how the device is; and of a test, for which time may have become short. */
tbk_limits_t tbk_run_limits(const tbk_run_t* run);
tbk_limits_t tbk_run_test_limits(const tbk_run_t* run);
void tbk_run_count_hang(tbk_run_t* run, const tbk_outcome_t* outcome, bool fails);
bool tbk_run_is_short_of_time(const tbk_run_t* run);
/* The first word of `needs` that does not hold, or NULL; known once the preflight is over. */
const char* tbk_run_missing(const tbk_run_t* run, const char* needs);
/* An order for tests, with what the preflight found. */
void tbk_run_order(const tbk_run_t* run, tbk_order_t* order, const uint32_t* items, uint32_t count);

/* ledger.c: a verdict is final. */
void tbk_run_record(tbk_run_t* run, uint32_t item, const tbk_outcome_t* outcome,
                    tbk_classification_t* classification);
/* The same into a hold; and a hold's lines become final, or are dropped. */
void tbk_run_hold(tbk_run_t* run, tbk_hold_t* hold, uint32_t item, const tbk_outcome_t* outcome,
                  tbk_classification_t* classification);
void tbk_run_release(tbk_run_t* run, tbk_hold_t* hold);
/* What needs no run: not declared, not reached. */
void tbk_run_record_missing(tbk_run_t* run, uint32_t item, const char* word);
void tbk_run_record_left_out(tbk_run_t* run, uint32_t item);
void tbk_run_record_unreached(tbk_run_t* run, uint32_t item, const char* why);

/* recheck.c */
void tbk_recheck_together(tbk_run_t* run, const uint32_t* items, uint32_t count,
                          const tbk_outcome_t* outcome, const tbk_classification_t* classification);
void tbk_recheck_poison(tbk_run_t* run, tbk_hold_t* hold);
/* Settles the oldest recheck, with as many runs as that takes. */
void tbk_recheck_settle(tbk_run_t* run, tbk_slot_t* slot);

/* A test failed in a process of its own; the next probe says whether the device is to be believed. */
void tbk_recheck_after_probe(tbk_run_t* run, uint32_t item, const tbk_outcome_t* outcome,
                             const tbk_classification_t* classification);
/* The probe is over: they count; or, but for the first, they ran on a lost device. */
void tbk_recheck_decide(tbk_run_t* run);

/* lease.c: the device is held by another process. Waits a little; after a while sets run->lost. */
void tbk_lease_wait(tbk_run_t* run);
/* Says in the notes how long the test was put off, if it was. */
void tbk_lease_note(const tbk_run_t* run, tbk_classification_t* classification);
/* A test has had the device. */
void tbk_lease_got(tbk_run_t* run);

/* health.c: asks, in a process of its own, whether the device still computes; may set run->lost. */
void tbk_health_check(tbk_run_t* run);

#endif /* TBK_HARNESS_RUN_H */
