/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * budget_order.c: see budget_order.h.
 */
#include "budget_order.h"

#include "traits.h"

#include "contract.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Costs are times, in units of what a test takes that copies a few bytes. */
static const double cost_of_process = 80, cost_of_fork = 160, cost_of_slow = 320, costly = 80;
static const double cheap = 20; /* below it, the first test of a name waits for no other's second */
/* Names that come early in a suite are those that matter most: the n-th counts for 1 / (1 + n/16). */
static const double names_that_matter = 16;
static const double worth_of_another = 0.01; /* of a test that shows nothing new */
static const double worth_of_first = 2.5; /* of a name: the parameters that are usual come first */
/* The n-th test of a name counts for 1 / (1 + n/4), so that one with many parameters leaves time. */
static const double tests_of_a_name = 4;

typedef struct candidate {
  uint32_t test;
  tbk_traits_t traits;
  uint64_t name;
  double cost, importance;
  struct candidate* first; /* of this name */
  size_t taken_of_name;    /* where it is the first */
  double rate;             /* what it showed for its cost when last asked; it never rises */
  bool taken;
} candidate_t;

/* A suite: candidates that follow each other. */
typedef struct suite {
  const char* name;
  candidate_t* candidates;
  size_t count, left;
  double spent, weight;
  candidate_t* best;
} suite_t;

typedef struct ranking {
  candidate_t* candidates;
  size_t count;
  suite_t* suites;
  size_t suite_count;
  tbk_shown_t shown;
} ranking_t;

static void* make(size_t count, size_t size) {
  void* memory = calloc(count ? count : 1, size);
  if (memory == NULL) abort();
  return memory;
}

/* What a fork does is told by few tests, which may wait long for a child. */
static double cost_of(const tbk_test_t* test) {
  if ((test->flags & TBK_CASE_SLOW) != 0) return cost_of_slow;
  if (strcmp(test->area, "fork") == 0) return cost_of_fork;
  const unsigned long_ones = TBK_CASE_FRESH | TBK_CASE_ALONE | TBK_CASE_THOROUGH;
  if ((test->flags & long_ones) != 0) return cost_of_process;
  return test->cost > 0 ? test->cost : 1;
}

/* --------------------------------------------------------------------------------- ranking --- */

static candidate_t* first_of_name(const suite_t* suite, size_t at) {
  for (size_t i = at; i-- > 0;)
    if (suite->candidates[i].name == suite->candidates[at].name) return suite->candidates[i].first;
  return &suite->candidates[at];
}

/*
 * Says which names come early in the suite, and what share of the time it gets: by the cube root of
 * what all its tests cost, so that the small ones are through before the large have many.
 */
static void weigh(suite_t* suite) {
  size_t names = 0;
  double cost = 0;
  for (size_t i = 0; i < suite->count; i++) {
    candidate_t* one = &suite->candidates[i];
    one->rate = HUGE_VAL;
    one->first = first_of_name(suite, i);
    cost += one->cost;
    one->importance = one->first->importance;
    if (one->first != one) continue;
    one->importance = 1 / (1 + (double)names++ / names_that_matter);
  }
  suite->weight = cbrt(cost);
}

static int compare_suites(const void* a, const void* b, void* tests) {
  const candidate_t *x = a, *y = b;
  const tbk_test_t* all = tests;
  const int order = strcmp(all[x->test].suite, all[y->test].suite);
  return order != 0 ? order : (x->rate > y->rate) - (x->rate < y->rate);
}

static void find_suites(ranking_t* ranking, const tbk_test_t* tests) {
  for (size_t i = 0; i < ranking->count; i++) /* for the time being, its place */
    ranking->candidates[i].rate = (double)i;
  qsort_r(ranking->candidates, ranking->count, sizeof(candidate_t), compare_suites, (void*)tests);
  for (size_t i = 0; i < ranking->count; i++) {
    const char* name = tests[ranking->candidates[i].test].suite;
    suite_t* last = ranking->suites + ranking->suite_count - 1;
    if (i == 0 || strcmp(last->name, name) != 0) {
      last = &ranking->suites[ranking->suite_count++];
      *last = (suite_t){.name = name, .candidates = &ranking->candidates[i]};
    }
    last->count++;
  }
  for (size_t i = 0; i < ranking->suite_count; i++) {
    ranking->suites[i].left = ranking->suites[i].count;
    weigh(&ranking->suites[i]);
  }
}

static double rate_of(const ranking_t* ranking, const candidate_t* one) {
  double gain = tbk_shown_gain(&ranking->shown, &one->traits);
  if (one->first == one) gain += worth_of_first;
  const double before = (double)one->first->taken_of_name / tests_of_a_name;
  return (gain + worth_of_another) * one->importance / one->cost / (1 + before);
}

/* What is shown never becomes new again: who stays first when asked again is first. */
static candidate_t* find_best(const ranking_t* ranking, suite_t* suite) {
  candidate_t* before = suite->best;
  if (before != NULL && !before->taken && rate_of(ranking, before) >= before->rate) return before;
  for (;;) {
    candidate_t* best = NULL;
    for (size_t i = 0; i < suite->count; i++) {
      candidate_t* one = &suite->candidates[i];
      if (!one->taken && (best == NULL || one->rate > best->rate)) best = one;
    }
    const double rate = rate_of(ranking, best);
    if (rate >= best->rate) return best;
    best->rate = rate;
  }
}

static bool shows_a_clause(const ranking_t* ranking, const candidate_t* one) {
  const tbk_traits_t clause = {one->traits.items, 1}; /* it comes first */
  return one->cost < costly && tbk_shown_gain(&ranking->shown, &clause) > 0;
}

/* 2: the first of a clause, 1: of a name; 0: another. Of those that are soon over. */
static int stage_of(const ranking_t* ranking, const candidate_t* one) {
  if (shows_a_clause(ranking, one)) return 2;
  return one->cost < cheap && one->first->taken_of_name == 0;
}

/* A test counts by half of what it costs, so that long ones come neither first nor never. */
static double turn_of(const suite_t* suite) {
  return (suite->spent + suite->best->cost / 2) / suite->weight;
}

/* Of the first of their clauses the cheap ones: breadth comes within seconds, however busy the
 * machine is. */
static bool comes_before(const suite_t* one, const suite_t* other, bool are_first) {
  if (are_first && one->best->cost != other->best->cost) return one->best->cost < other->best->cost;
  return turn_of(one) < turn_of(other);
}

static candidate_t* take_next(ranking_t* ranking) {
  suite_t* chosen = NULL;
  int stage = 0;
  for (size_t i = 0; i < ranking->suite_count; i++) {
    suite_t* suite = &ranking->suites[i];
    if (suite->left == 0) continue;
    suite->best = find_best(ranking, suite);
    const int its = stage_of(ranking, suite->best);
    if (chosen == NULL || its > stage || (its == stage && comes_before(suite, chosen, its == 2))) {
      chosen = suite;
      stage = its;
    }
  }
  candidate_t* best = chosen->best;
  best->taken = true;
  best->first->taken_of_name++;
  chosen->left--;
  chosen->spent += best->cost;
  tbk_shown_add(&ranking->shown, &best->traits);
  return best;
}

/* Gives each test its place among those of the items. */
static void rank_tests(ranking_t* ranking, const tbk_test_t* tests, size_t* ranks) {
  find_suites(ranking, tests);
  for (size_t i = 0; i < ranking->count; i++)
    ranks[take_next(ranking)->test] = i;
  for (size_t i = 0; i < ranking->count; i++)
    free(ranking->candidates[i].traits.items);
  tbk_shown_free(&ranking->shown);
  free(ranking->candidates);
  free(ranking->suites);
}

static int compare_items(const void* a, const void* b, void* ranks) {
  const tbk_item_t *x = a, *y = b;
  const size_t* rank = ranks;
  if (x->repeat != y->repeat) return x->repeat < y->repeat ? -1 : 1;
  return (rank[x->test] > rank[y->test]) - (rank[x->test] < rank[y->test]);
}

void tbk_budget_order(tbk_item_t* items, size_t count, const tbk_test_t* tests) {
  ranking_t ranking = {.candidates = make(count, sizeof(candidate_t)),
                       .suites = make(count, sizeof(suite_t))};
  size_t most = 0;
  for (size_t i = 0; i < count; i++) {
    const tbk_test_t* test = &tests[items[i].test];
    if (items[i].test >= most) most = (size_t)items[i].test + 1;
    if (items[i].repeat == 0)
      ranking.candidates[ranking.count++] = (candidate_t){.test = items[i].test,
                                                          .traits = tbk_traits_of(test),
                                                          .name = tbk_traits_name(test),
                                                          .cost = cost_of(test)};
  }
  size_t* ranks = make(most, sizeof *ranks);
  rank_tests(&ranking, tests, ranks);
  qsort_r(items, count, sizeof *items, compare_items, ranks);
  free(ranks);
}
