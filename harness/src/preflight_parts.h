/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * preflight_parts.h: what the preflights of both layers have in common.
 */
#ifndef TBK_HARNESS_PREFLIGHT_PARTS_H
#define TBK_HARNESS_PREFLIGHT_PARTS_H

#include "facts.h"
#include "loop.h"

/* A process of the preflight, on its way. */
typedef struct tbk_passage {
  const tbk_options_t* options;
  tbk_outcome_t* outcome; /* how it ended */
  /* How long it may go on after it has said `object`. */
  uint64_t (*allowance)(struct tbk_passage* passage, const json_t* object);
  uint64_t probing_ns;
  bool opened;
} tbk_passage_t;

/* Runs one to its end. What it said; NULL where there was none. */
const json_t* tbk_preflight_ask(tbk_loop_t* loop, uint32_t argument, const tbk_limits_t* limits,
                                tbk_passage_t* passage);

/* Returns the last object that says `what`; NULL where there is none. */
const json_t* tbk_said_find(const json_t* said, const char* what);
/* Returns a copy without the member "said". */
json_t* tbk_said_bare(const json_t* object);

/* Gives how the process ended, and the last line that it printed: often the backend's own reason. */
void tbk_preflight_end(const tbk_outcome_t* outcome, char* out, size_t out_size);

void tbk_facts_read_backend(tbk_facts_t* facts, const json_t* said);
/* No test can run: "what: why". */
void tbk_facts_refuse(tbk_facts_t* facts, tbk_exit_t exit_code, const char* what, const char* why);

#endif /* TBK_HARNESS_PREFLIGHT_PARTS_H */
