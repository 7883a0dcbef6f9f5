/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * plan.c: see plan.h.
 */
#include "plan.h"

#include "budget_order.h"
#include "shard.h"
#include "text.h"

#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* make(size_t count, size_t size) {
  void* memory = calloc(count ? count : 1, size);
  if (memory == NULL) abort();
  return memory;
}

/* "MEM" and "MEM-0" are prefixes of a clause, "memory/free" of an id; "mem" is neither. */
static bool is_prefix(const char* selector, const char* of) {
  return strncmp(selector, of, strlen(selector)) == 0;
}

/* A test itself, one with parameters whatever they are ("s/t" names "s/t[a]"), all of a suite. */
static bool names_test(const char* selector, const char* id) {
  const size_t length = strlen(selector);
  return is_prefix(selector, id) &&
         (id[length] == '\0' || id[length] == '[' || selector[length - 1] == '/');
}

bool tbk_selector_matches(const char* selector, bool is_area, const tbk_test_t* test) {
  if (strncmp(selector, "profile:", 8) == 0) return strcmp(selector + 8, test->profile) == 0;
  if (is_area) /* "memory" is an area and a profile: the area */
    return strcmp(selector, test->suite) == 0 || strcmp(selector, test->area) == 0;
  if (strchr(selector, '/') != NULL) return names_test(selector, test->id);
  return strcmp(selector, test->clause) == 0 || strcmp(selector, test->profile) == 0 ||
         (strlen(selector) >= 3 && strlen(selector) < 7 && is_prefix(selector, test->clause));
}

static tbk_test_t test_of_case(size_t index) {
  const tbk_case_t* row = tbk_case_at(index);
  const char* suite = tbk_case_suite(index)->name;
  const tbk_clause_t* clause = tbk_clause_find(row->clause);
  tbk_test_t test = {.suite = suite,
                     .clause = row->clause,
                     .needs = row->needs,
                     .level = clause != NULL ? clause->level : "must",
                     .area = clause != NULL ? clause->area : suite,
                     .profile = clause != NULL ? clause->profile : "core",
                     .text = clause != NULL ? clause->text : NULL,
                     .flags = row->flags,
                     .case_index = (uint32_t)index};
  size_t size = strlen(suite) + strlen(row->name) + 2;
  test.id = make(size, 1);
  tbk_print(test.id, size, "%s/%s", suite, row->name);
  return test;
}

tbk_source_t tbk_plan_cases(void) {
  return (tbk_source_t){tbk_case_count(), test_of_case};
}

typedef struct selector {
  const char* text;
  bool is_area, used, other_tier;
} selector_t;

static bool is_area(const char* word, const tbk_test_t* tests, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(tests[i].suite, word) == 0 || strcmp(tests[i].area, word) == 0) return true;
  return false;
}

/*
 * Each selector that matches something is ticked off. What is named by its whole id runs whatever
 * the tier, so that a replay need not say which it was.
 */
static bool is_selected(selector_t* selectors, size_t count, const tbk_test_t* test,
                        tbk_tier_t tier) {
  const bool of_tier = tier == TBK_TIER_THOROUGH || (test->flags & TBK_CASE_THOROUGH) == 0;
  bool selected = count == 0 && of_tier;
  for (size_t i = 0; i < count; i++) {
    selector_t* selector = &selectors[i];
    if (!tbk_selector_matches(selector->text, selector->is_area, test)) continue;
    if (of_tier || strcmp(selector->text, test->id) == 0)
      selected = selector->used = true;
    else
      selector->other_tier = true;
  }
  return selected;
}

/* Gives each selected test the number of its shard, from 0. */
static void divide(const tbk_run_plan_t* plan, const tbk_options_t* options, uint32_t* shards) {
  tbk_timings_t timings = {0};
  if (options->timings == NULL) {
    for (size_t i = 0; i < plan->test_count; i++)
      shards[i] = (uint32_t)(i % options->shard_count);
    return;
  }
  tbk_sharded_t* tests = make(plan->test_count, sizeof *tests);
  timings = *options->timings;
  /* Litmus programs are of the whole suite in C. */
  if (options->torch || options->only.count > 0) timings.first_ns = 0;
  for (size_t i = 0; i < plan->test_count; i++)
    tests[i] = (tbk_sharded_t){plan->tests[i].id, (plan->tests[i].flags & TBK_CASE_ALONE) != 0};
  tbk_shard_by_time(tests, plan->test_count, &timings, options->shard_count, shards);
  free(tests);
}

/* Leaves those of this shard in `tests`. */
static void take_shard(tbk_run_plan_t* plan, const tbk_options_t* options) {
  const size_t count = plan->test_count;
  uint32_t* shards = make(count, sizeof *shards);
  divide(plan, options, shards);
  plan->test_count = 0;
  for (size_t i = 0; i < count; i++) {
    tbk_test_t test = plan->tests[i];
    plan->tests[i] = (tbk_test_t){0}; /* no slot behind the last keeps what was freed */
    if (shards[i] == options->shard_index - 1)
      plan->tests[plan->test_count++] = test;
    else
      free(test.id);
  }
  free(shards);
}

/* Leaves the selected ones in `tests`. */
static void select_tests(tbk_run_plan_t* plan, const tbk_options_t* options, size_t count) {
  const tbk_words_t* only = &options->only;
  selector_t* selectors = make(only->count, sizeof *selectors);
  for (size_t i = 0; i < only->count; i++)
    selectors[i] =
        (selector_t){only->items[i], is_area(only->items[i], plan->tests, count), false, false};
  for (size_t i = 0; i < count; i++) {
    tbk_test_t test = plan->tests[i];
    plan->tests[i] = (tbk_test_t){0};
    if (is_selected(selectors, only->count, &test, options->tier))
      plan->tests[plan->test_count++] = test;
    else
      free(test.id);
  }
  for (size_t i = only->count; i-- > 0;)
    if (!selectors[i].used) {
      plan->unmatched = selectors[i].text;
      plan->other_tier = selectors[i].other_tier;
    }
  free(selectors);
}

static uint64_t next_random(uint64_t* state) {
  uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

void tbk_plan_shuffle(tbk_item_t* items, size_t count, uint64_t seed) {
  uint64_t state = seed;
  for (size_t i = count; i > 1; i--) {
    size_t other = (size_t)(next_random(&state) % i);
    tbk_item_t kept = items[i - 1];
    items[i - 1] = items[other];
    items[other] = kept;
  }
}

/* ------------------------------------------------------------------------------------ plan --- */

void tbk_plan_make(tbk_run_plan_t* plan, const tbk_options_t* options, const tbk_source_t* source) {
  *plan = (tbk_run_plan_t){0};
  plan->tests = make(source->count, sizeof *plan->tests);
  for (size_t i = 0; i < source->count; i++)
    plan->tests[i] = source->at(i);
  select_tests(plan, options, source->count);
  take_shard(plan, options);
  plan->item_count = plan->test_count * options->repeat;
  plan->items = make(plan->item_count, sizeof *plan->items);
  for (size_t i = 0; i < plan->item_count; i++)
    plan->items[i] =
        (tbk_item_t){(uint32_t)(i % plan->test_count), (uint32_t)(i / plan->test_count)};
  if (options->shuffle) tbk_plan_shuffle(plan->items, plan->item_count, options->shuffle_seed);
  if (options->budget_ns != 0) tbk_budget_order(plan->items, plan->item_count, plan->tests);
}

void tbk_plan_free(tbk_run_plan_t* plan) {
  for (size_t i = 0; i < plan->test_count; i++)
    free(plan->tests[i].id);
  free(plan->tests);
  free(plan->items);
  *plan = (tbk_run_plan_t){0};
}

void tbk_plan_print(const tbk_run_plan_t* plan) {
  for (size_t i = 0; i < plan->item_count; i++) {
    if (plan->items[i].repeat != 0) continue;
    const tbk_test_t* test = &plan->tests[plan->items[i].test];
    printf("%s %s %s %s %s\n", test->id, test->clause, test->level, test->needs ? test->needs : "-",
           (test->flags & TBK_CASE_THOROUGH) != 0 ? "thorough" : "quick");
  }
}
