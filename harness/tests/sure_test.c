/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sure_test.c: what a litmus run excludes, against runs that are simulated: as seldom as is stated are
 * faults missed that some processes have, on devices whose processes differ and on others.
 */
#include "sure.h"

#include "self_test.h"

#include <math.h>
#include <stdbool.h>

enum { MOST = 80, RUNS = 400, PER_CONTROL = 72 /* programs for each that is looked at */ };
#define OFTEN 0.05 /* so often faults may be missed: 1e-9 would take too many runs to count */

static uint64_t state = 1;

static double uniform(void) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  uint64_t x = state ^ state >> 29;
  x *= UINT64_C(0xbf58476d1ce4e5b9);
  return (double)(x >> 11) / 9007199254740992.0;
}

/* At which rate a process shows that an edge is gone. */
typedef double (*rate_t)(void);

static double the_same(void) {
  return 0.05;
}
static double half_show_nothing(void) {
  return uniform() < 0.5 ? 0 : 0.1;
}
static double far_from_each_other(void) {
  return fmin(1, -0.05 * log(uniform() + 1e-300));
}

/* The first process runs as long as all others together. */
static void simulate(rate_t rate, size_t count, uint64_t tried, double rates[MOST],
                     sure_process_t out[MOST]) {
  for (size_t i = 0; i < count; i++) {
    rates[i] = rate();
    out[i] = (sure_process_t){i == 0 ? tried * (count - 1) : tried, 0};
    for (uint64_t k = 0; k < out[i].tried; k++)
      out[i].shown += uniform() < rates[i];
  }
}

/* Returns whether no process shows a fault that some have, of one of so many edges. */
static bool is_missed(const sure_process_t* processes, const double rates[MOST], size_t count,
                      double share, double one_in) {
  for (size_t i = 0; i < count; i++) {
    const double sightings = PER_CONTROL * (double)processes[i].tried * rates[i] / one_in;
    if (uniform() < share && uniform() < 1 - exp(-sightings)) return false;
  }
  return true;
}

static void what_is_excluded_is_missed_as_seldom_as_is_stated(void) {
  static const rate_t rates_of[] = {the_same, half_show_nothing, far_from_each_other};
  static const size_t counts[] = {10, 30, MOST};
  const double limit = RUNS * OFTEN + 3 * sqrt(RUNS * OFTEN);
  for (size_t way = 0; way < 9; way++) {
    const size_t count = counts[way / 3];
    const uint64_t tried = 40, programs = PER_CONTROL * 2 * tried * (count - 1);
    unsigned some = 0, all = 0;
    for (unsigned run = 0; run < RUNS; run++) {
      sure_process_t processes[MOST];
      double rates[MOST];
      simulate(rates_of[way % 3], count, tried, rates, processes);
      const sure_t sure = sure_of(processes, count, programs, OFTEN);
      some += is_missed(processes, rates, count, sure.share, sure.share_one_in);
      all += is_missed(processes, rates, count, 1, sure.one_in);
    }
    CU_ASSERT(some <= limit);
    CU_ASSERT(all <= limit);
  }
}

/* Processes alike: nothing is better than their number, and little is worse. */
static void no_share_is_better_than_the_number_of_processes_allows(void) {
  static sure_process_t alike[512];
  for (size_t count = 1; count <= 512; count *= 2) {
    for (size_t i = 0; i < count; i++)
      alike[i] = (sure_process_t){1000, 50};
    const uint64_t programs = 72000 * count;
    const sure_t sure = sure_of(alike, count, programs, 1e-9);
    const double best = 1 - pow(1e-9, 1.0 / (double)count);
    CU_ASSERT(sure.share >= best);
    CU_ASSERT(sure.share <= fmin(1, best * 1.1));
    CU_ASSERT(count < 16 || sure.share_one_in > 500); /* some 800 edges: each sees it four times */
    const double missed = sure_miss(alike, count, programs, sure.share, sure.share_one_in);
    CU_ASSERT(sure.share >= 1 || missed <= 1.0001e-9);
  }
}

static void one_process_says_nothing_of_others(void) {
  const sure_process_t one = {1000, 50};
  const sure_t sure = sure_of(&one, 1, 72000, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(sure.share, 1, 0);
  CU_ASSERT_DOUBLE_EQUAL(sure.one_in, floor(72000 * sure_rate(&one, 1) / -log(1e-9)), 0);
}

static void where_nothing_is_shown_nothing_is_excluded(void) {
  const sure_process_t none[2] = {{1000, 0}, {1000, 0}};
  const sure_t sure = sure_of(none, 2, 144000, 1e-9);
  CU_ASSERT_EQUAL(sure.one_in, 0);
  CU_ASSERT_EQUAL(sure.share, 1);
  CU_ASSERT_DOUBLE_EQUAL(sure_miss(none, 2, 144000, 1, 1), 1, 0);
  CU_ASSERT_EQUAL(sure_of(none, 0, 0, 1e-9).one_in, 0);
}

/* A rate that few processes show is worth as many programs as there are such processes. */
static void programs_of_processes_that_differ_are_worth_less(void) {
  sure_process_t alike[16], apart[16];
  for (size_t i = 0; i < 16; i++) {
    alike[i] = (sure_process_t){1000, 50};
    apart[i] = (sure_process_t){1000, i % 4 == 0 ? 200 : 0};
  }
  CU_ASSERT(sure_rate(alike, 16) > 0.045);
  CU_ASSERT(sure_rate(apart, 16) < 0.03);
  CU_ASSERT(sure_of(apart, 16, 1152000, 1e-9).share > sure_of(alike, 16, 1152000, 1e-9).share);
}

CU_TestInfo tbk_sure_tests[] = {
    {"what is excluded is missed as seldom as is stated",
     what_is_excluded_is_missed_as_seldom_as_is_stated},
    {"no share is better than the number of processes allows",
     no_share_is_better_than_the_number_of_processes_allows},
    {"one process says nothing of others", one_process_says_nothing_of_others},
    {"where nothing is shown nothing is excluded", where_nothing_is_shown_nothing_is_excluded},
    {"programs of processes that differ are worth less",
     programs_of_processes_that_differ_are_worth_less},
    CU_TEST_INFO_NULL};
