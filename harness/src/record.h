/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * record.h: the lines of the result file; their members are in harness/schema.
 */
#ifndef TBK_HARNESS_RECORD_H
#define TBK_HARNESS_RECORD_H

#include "facts.h"
#include "plan.h"
#include "results.h"
#include "verdict.h"

typedef struct tbk_footer {
  const tbk_ledger_t* ledger;
  tbk_exit_t exit_code;
  const char* health;
  const char* reason; /* NULL, or why the run is an error */
  uint64_t duration_ns;
  tbk_tier_t tier;
  bool simulated;
} tbk_footer_t;

void tbk_record_header(tbk_results_t* results, const tbk_options_t* options,
                       const tbk_run_plan_t* plan, const tbk_facts_t* facts,
                       tbk_isolation_t isolation);
void tbk_record_test(tbk_results_t* results, const tbk_options_t* options,
                     const tbk_run_plan_t* plan, uint32_t item, const tbk_outcome_t* outcome,
                     const tbk_classification_t* classification);
void tbk_record_footer(tbk_results_t* results, const tbk_footer_t* footer);

/* Of all that judges: this program and, of the torch layer, the contract files. */
void tbk_suite_digest(const tbk_options_t* options, char out[TBK_DIGEST_SIZE]);

/* The command that runs this test again; `words` may name others that must run before it. */
void tbk_replay_command(char* out, size_t out_size, const tbk_options_t* options,
                        const char* const* ids, size_t id_count, bool batch);

/* The same for one test that failed; of a sweep, for the case that `seen` ends with, and no other. */
void tbk_replay_failure(char* out, size_t out_size, const tbk_options_t* options, const char* id,
                        const char* seen);

#endif /* TBK_HARNESS_RECORD_H */
