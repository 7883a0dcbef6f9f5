/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * shard_test.c: shards that take the same time, and times on a command line.
 */
#include "shard.h"
#include "duration.h"

#include "self_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TESTS = 400, MOST_SHARDS = 50 };

static tbk_sharded_t tests[TESTS];
static char names[TESTS][16];

/* Times that are far apart, as those of tests are; every tenth test is unknown. */
static double cost_of(size_t test) {
  return test % 10 == 3 ? 0 : (double)((test * 7919) % 100 * (test % 7 == 0 ? 20 : 1));
}

static bool is_alone(size_t test) {
  return test % 9 == 0;
}

static tbk_timings_t old_timings(uint64_t first_ns, uint32_t jobs) {
  tbk_timings_t timings = {json_object(), first_ns, jobs};
  for (size_t i = 0; i < TESTS; i++) {
    (void)snprintf(names[i], sizeof names[i], "a/t%zu", i);
    tests[i] = (tbk_sharded_t){names[i], is_alone(i)};
    if (i % 10 != 3)
      (void)json_object_set_new(timings.wall_ns, names[i], json_integer((json_int_t)cost_of(i)));
  }
  return timings;
}

/* Of shards that run so many tests at a time, but for what runs alone. No shard can be shorter than
 * a test: where one is longer than the mean, it stands for it. */
static double slowest_beside_the_mean(uint32_t shards, uint64_t first_ns, uint32_t jobs) {
  double loads[MOST_SHARDS] = {(double)first_ns}, sum = (double)first_ns, most = 0, longest = 0;
  uint32_t of[TESTS];
  tbk_timings_t timings = old_timings(first_ns, jobs);
  tbk_shard_by_time(tests, TESTS, &timings, shards, of);
  for (size_t i = 0; i < TESTS; i++) {
    CU_ASSERT_FATAL(of[i] < shards);
    const double took = cost_of(i) / (is_alone(i) ? 1 : jobs);
    loads[of[i]] += took;
    sum += took;
    if (took > longest) longest = took;
  }
  for (uint32_t i = 0; i < shards; i++)
    if (loads[i] > most) most = loads[i];
  tbk_timings_free(&timings);
  return most / (sum / shards > longest ? sum / shards : longest);
}

static void shards_take_the_same_time(void) {
  static const uint32_t counts[] = {1, 2, 3, 8, 20};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    CU_ASSERT_TRUE(slowest_beside_the_mean(counts[i], 0, 1) <= 1.15);
    CU_ASSERT_TRUE(slowest_beside_the_mean(counts[i], 0, 2) <= 1.15);
    CU_ASSERT_TRUE(slowest_beside_the_mean(counts[i], 0, 4) <= 1.15);
    CU_ASSERT_TRUE(slowest_beside_the_mean(counts[i], 700, 2) <= 1.15);
  }
}

static void more_shards_than_tests_is_no_harm(void) {
  uint32_t of[TESTS];
  uint32_t seen[2000] = {0};
  tbk_timings_t timings = old_timings(0, 1);
  tbk_shard_by_time(tests, TESTS, &timings, 1000000, of);
  for (size_t i = 0; i < TESTS; i++) {
    CU_ASSERT_FATAL(of[i] <= TESTS);
    CU_ASSERT_EQUAL(seen[of[i]]++, 0);
  }
  tbk_shard_by_time(tests, 0, &timings, 3, of);
  tbk_timings_free(&timings);
}

static bool read_text(const char* text, tbk_timings_t* out) {
  char path[] = "/tmp/tbk-timings-XXXXXX", reason[80] = "";
  const int file = mkstemp(path);
  CU_ASSERT_FATAL(file >= 0);
  CU_ASSERT_EQUAL(write(file, text, strlen(text)), (ssize_t)strlen(text));
  (void)close(file);
  const bool found = tbk_timings_read(out, path, reason, sizeof reason);
  CU_ASSERT_EQUAL(found, reason[0] == '\0');
  (void)unlink(path);
  return found;
}

static json_int_t known(const tbk_timings_t* timings, const char* id) {
  return json_integer_value(json_object_get(timings->wall_ns, id));
}

static void old_results_are_read(void) {
  tbk_timings_t timings;
  CU_ASSERT_TRUE(
      read_text("{\"record\":\"header\",\"jobs\":3}\n"
                "{\"record\":\"test\",\"id\":\"a/b\",\"wall_ns\":5}\n"
                "{\"record\":\"test\",\"id\":\"a/b\",\"wall_ns\":6}\n"
                "{\"record\":\"test\",\"id\":\"a/c\",\"wall_ns\":0,\"duration_ns\":7}\n"
                "{\"record\":\"test\",\"id\":\"litmus/programs\",\"layer\":\"litmus\","
                "\"facts\":{\"footer\":{\"milliseconds\":2}}}\n"
                "torn {",
                &timings));
  CU_ASSERT_EQUAL(known(&timings, "a/b"), 11);
  CU_ASSERT_EQUAL(known(&timings, "a/c"), 7);
  CU_ASSERT_EQUAL(timings.first_ns, 2000000);
  CU_ASSERT_EQUAL(timings.jobs, 3);
  tbk_timings_free(&timings);
  CU_ASSERT_FALSE(read_text("hello\n", &timings));
  tbk_timings_free(&timings);
}

static void times_have_units(void) {
  static const struct {
    const char* text;
    double seconds; /* 0: it is none */
  } cases[] = {{"90", 90},   {"90s", 90}, {"2m", 120},  {"2min", 120}, {"1h", 3600}, {"0.5s", 0.5},
               {".5", 0.5},  {"0", 0},    {"0s", 0},    {"-1", 0},     {"1d", 0},    {"m", 0},
               {"0x10", 0},  {"", 0},     {"inf", 0},   {"nan", 0},    {"1 m", 0},   {"1e12", 0},
               {"1.5.2", 0}, {"+1", 0},   {"1e300h", 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double seconds = 0;
    const bool is_time = tbk_duration_read(cases[i].text, &seconds);
    CU_ASSERT_EQUAL(is_time, cases[i].seconds > 0);
    if (is_time) CU_ASSERT_DOUBLE_EQUAL(seconds, cases[i].seconds, 1e-9);
  }
}

CU_TestInfo tbk_shard_tests[] = {{"shards take the same time", shards_take_the_same_time},
                                 {"more shards than tests", more_shards_than_tests_is_no_harm},
                                 {"old results are read", old_results_are_read},
                                 {"times have units", times_have_units},
                                 CU_TEST_INFO_NULL};
