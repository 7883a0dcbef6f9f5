/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * plan.c: see plan.h.
 */
#include "plan.h"
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

static bool is_area(const char* word) {
  for (size_t i = 0; tbk_suites[i] != NULL; i++)
    if (strcmp(tbk_suites[i]->name, word) == 0) return true;
  for (size_t i = 0; i < tbk_clause_count; i++)
    if (strcmp(tbk_clauses[i].area, word) == 0) return true;
  return false;
}

/* "MEM" and "MEM-0" are prefixes of a clause, "memory/free" of an id; "mem" is neither. */
static bool is_prefix(const char* selector, const char* of) {
  return strncmp(selector, of, strlen(selector)) == 0;
}

bool tbk_selector_matches(const char* selector, const tbk_test_t* test) {
  if (strncmp(selector, "profile:", 8) == 0) return strcmp(selector + 8, test->profile) == 0;
  if (is_area(selector)) /* "memory" is an area and a profile: the area */
    return strcmp(selector, test->suite) == 0 || strcmp(selector, test->area) == 0;
  if (strchr(selector, '/') != NULL)
    return strcmp(selector, test->id) == 0 ||
           (selector[strlen(selector) - 1] == '/' && is_prefix(selector, test->id));
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

/* Each selector that matches something is ticked off in `used`. */
static bool is_selected(const tbk_words_t* only, const tbk_test_t* test, bool* used) {
  bool selected = only->count == 0;
  for (size_t i = 0; i < only->count; i++)
    if (tbk_selector_matches(only->items[i], test)) selected = used[i] = true;
  return selected;
}

static void select_tests(tbk_run_plan_t* plan, const tbk_options_t* options) {
  size_t case_count = tbk_case_count(), selected = 0;
  bool* used = make(options->only.count, sizeof *used);
  plan->tests = make(case_count, sizeof *plan->tests);
  for (size_t i = 0; i < case_count; i++) {
    tbk_test_t test = test_of_case(i);
    if (is_selected(&options->only, &test, used) &&
        selected++ % options->shard_count == options->shard_index - 1)
      plan->tests[plan->test_count++] = test;
    else
      free(test.id);
  }
  for (size_t i = options->only.count; i-- > 0;)
    if (!used[i]) plan->unmatched = options->only.items[i];
  free(used);
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

void tbk_plan_make(tbk_run_plan_t* plan, const tbk_options_t* options) {
  *plan = (tbk_run_plan_t){0};
  select_tests(plan, options);
  plan->item_count = plan->test_count * options->repeat;
  plan->items = make(plan->item_count, sizeof *plan->items);
  for (size_t i = 0; i < plan->item_count; i++)
    plan->items[i] =
        (tbk_item_t){(uint32_t)(i % plan->test_count), (uint32_t)(i / plan->test_count)};
  if (options->shuffle) tbk_plan_shuffle(plan->items, plan->item_count, options->shuffle_seed);
}

void tbk_plan_free(tbk_run_plan_t* plan) {
  for (size_t i = 0; i < plan->test_count; i++)
    free(plan->tests[i].id);
  free(plan->tests);
  free(plan->items);
  *plan = (tbk_run_plan_t){0};
}

void tbk_plan_print(const tbk_run_plan_t* plan) {
  for (size_t i = 0; i < plan->test_count; i++) {
    const tbk_test_t* test = &plan->tests[i];
    printf("%s %s %s %s\n", test->id, test->clause, test->level, test->needs ? test->needs : "-");
  }
}
