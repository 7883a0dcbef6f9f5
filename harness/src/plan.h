/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * plan.h: what is to run, in which order. An item is one repetition of one test.
 */
#ifndef TBK_HARNESS_PLAN_H
#define TBK_HARNESS_PLAN_H

#include "options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A test as the supervisor knows it, whatever kind of worker runs it. */
typedef struct tbk_test {
  char* id; /* suite/name */
  const char* suite;
  const char* clause;
  const char* needs; /* NULL: the mandatory part */
  const char* level;
  const char* area; /* of the clause; an area may have several suites */
  const char* profile;
  const char* text; /* the clause's sentence; NULL where the clause is not in the spec */
  unsigned flags;
  uint32_t case_index; /* how the worker knows it */
} tbk_test_t;

typedef struct tbk_item {
  uint32_t test;
  uint32_t repeat;
} tbk_item_t;

typedef struct tbk_plan {
  tbk_test_t* tests; /* those selected, in suite order */
  size_t test_count;
  tbk_item_t* items;
  size_t item_count;
  const char* unmatched; /* the first --only that selects nothing; NULL if all do */
} tbk_run_plan_t;

/* Whether `selector` names the test: id, suite, area, clause, profile, or a prefix of id or clause. */
bool tbk_selector_matches(const char* selector, const tbk_test_t* test);

/* The selected cases of the contract tests, then the shard, the repetitions and the order. */
void tbk_plan_make(tbk_run_plan_t* plan, const tbk_options_t* options);

/* Orders `items` by a seed: the same seed, the same order, on every machine. */
void tbk_plan_shuffle(tbk_item_t* items, size_t count, uint64_t seed);

void tbk_plan_free(tbk_run_plan_t* plan);

void tbk_plan_print(const tbk_run_plan_t* plan);

#endif /* TBK_HARNESS_PLAN_H */
