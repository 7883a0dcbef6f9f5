/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kind.h: what differs between the kinds of worker. All else in the supervisor is the same for both.
 */
#ifndef TBK_HARNESS_KIND_H
#define TBK_HARNESS_KIND_H

#include "digest.h"
#include "facts.h"
#include "loop.h"
#include "plan.h"

typedef struct tbk_kind {
  const char* layer; /* as records have it */
  /* Finds the tests. Not PASS: why it can't, in one line. */
  tbk_exit_t (*start)(const tbk_options_t* options, char* reason, size_t reason_size);
  tbk_source_t (*tests)(void);
  /* Tells the workers what the plan is, before the first is started. */
  bool (*prepare)(const tbk_options_t* options, const tbk_run_plan_t* plan);
  const tbk_launchers_t* launchers;
  /* Fills `facts`; facts->exit_code says whether tests can run. */
  void (*preflight)(tbk_loop_t* loop, const tbk_options_t* options, tbk_facts_t* facts);
  bool (*is_capability)(const char* word);
  /* Makes what was found the ground on which needs are decided. */
  void (*assume)(const tbk_facts_t* facts);
  /* Returns the first word of `needs` that does not hold, or NULL; the next call overwrites it. */
  const char* (*missing)(const tbk_facts_t* facts, const char* needs);
  /* Of the contract tests, where they are not part of this program; or NULL. */
  const char* (*contracts_digest)(void);
  json_t* (*spec)(void);
  /* Adds what a reader must know to see the run again. */
  void (*describe)(json_t* header, const tbk_options_t* options, const tbk_facts_t* facts);
  /* Adds the words of a command line that name what is judged. */
  void (*add_subject)(char* out, size_t size, const tbk_options_t* options);
} tbk_kind_t;

extern const tbk_kind_t tbk_kind_c, tbk_kind_torch;

const tbk_kind_t* tbk_kind_of(const tbk_options_t* options);

#endif /* TBK_HARNESS_KIND_H */
