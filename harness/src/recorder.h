/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * recorder.h: each item of the plan gets exactly one record and one count.
 */
#ifndef TBK_HARNESS_RECORDER_H
#define TBK_HARNESS_RECORDER_H

#include "enough.h"
#include "facts.h"
#include "launcher.h"
#include "record.h"

enum { TBK_FINDINGS_KEPT = 3 };

/* A failure, as the end of the run shows it. */
typedef struct tbk_finding {
  char id[160], clause[16], verdict[16];
  char text[256], expected[256], seen[640], limit[TBK_LIMIT_WORDS], replay[2048];
} tbk_finding_t;

typedef struct tbk_recorder {
  const tbk_options_t* options;
  const tbk_facts_t* facts;
  tbk_run_plan_t plan;
  tbk_results_t results;
  tbk_ledger_t ledger;
  unsigned char* recorded; /* for each item */
  unsigned char* first;    /* for each test: 1 + the verdict that came first */
  tbk_finding_t findings[TBK_FINDINGS_KEPT];
  uint32_t finding_count;
  char fault[512]; /* the first suite error, and its test; "" for none */
} tbk_recorder_t;

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

/* Makes the plan from the tests of `source`, and room for what it comes to. */
void tbk_recorder_plan(tbk_recorder_t* recorder, const tbk_source_t* source);
const char* tbk_recorder_id(const tbk_recorder_t* recorder, uint32_t item);

/* Makes a verdict final. */
void tbk_recorder_add(tbk_recorder_t* recorder, uint32_t item, const tbk_outcome_t* outcome,
                      tbk_classification_t* classification);
/* Adds to a hold; and makes a hold's lines final, and empties it. */
void tbk_recorder_hold(tbk_recorder_t* recorder, tbk_hold_t* hold, uint32_t item,
                       const tbk_outcome_t* outcome, tbk_classification_t* classification);
void tbk_recorder_release(tbk_recorder_t* recorder, tbk_hold_t* hold);
/* Records what needs no run: not declared, out of budget, not reached. */
void tbk_recorder_add_missing(tbk_recorder_t* recorder, uint32_t item, const char* word);
void tbk_recorder_add_left_out(tbk_recorder_t* recorder, uint32_t item);
/* Records what came to no end that was understood: a fault of the harness, told as such. */
void tbk_recorder_add_lost(tbk_recorder_t* recorder, uint32_t item);
void tbk_recorder_add_unreached(tbk_recorder_t* recorder, uint32_t item, const char* why);

#endif /* TBK_HARNESS_RECORDER_H */
