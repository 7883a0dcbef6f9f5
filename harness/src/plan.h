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
  uint32_t cost;       /* how many times as long as the smallest it takes; 0 is 1 */
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
  bool other_tier;       /* it names tests, but of the thorough tier alone */
} tbk_run_plan_t;

/* All the tests that there are. */
typedef struct tbk_source {
  size_t count;
  tbk_test_t (*at)(size_t index); /* the caller owns the id; the rest outlives the plan */
} tbk_source_t;

/* Returns the contract tests in C. */
tbk_source_t tbk_plan_cases(void);

/*
 * Tells whether `selector` names the test: id, suite, area, clause, profile, or a prefix of id or clause.
 * `is_area`: it is the name of an area or suite, of whichever test.
 */
bool tbk_selector_matches(const char* selector, bool is_area, const tbk_test_t* test);

/* The selected tests, then the shard, the repetitions and the order. */
void tbk_plan_make(tbk_run_plan_t* plan, const tbk_options_t* options, const tbk_source_t* source);

/* Orders `items` by a seed: the same seed, the same order, on every machine. */
void tbk_plan_shuffle(tbk_item_t* items, size_t count, uint64_t seed);

void tbk_plan_free(tbk_run_plan_t* plan);

/* Prints the tests in the order in which they would run. */
void tbk_plan_print(const tbk_run_plan_t* plan);

#endif /* TBK_HARNESS_PLAN_H */
