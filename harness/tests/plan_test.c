/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * plan_test.c: what a selector names, and in which order things run.
 */
#include "plan.h"
#include "budget_order.h"
#include "case.h"
#include "pace.h"

#include "self_test.h"

#include <stdlib.h>
#include <string.h>

static const tbk_test_t test = {.id = (char*)(uintptr_t) "memory_free/zero_is_accepted",
                                .suite = "memory_free",
                                .area = "memory",
                                .clause = "MEM-014",
                                .profile = "core"};

/* These are areas or suites; another word is none. */
static bool matches(const char* selector) {
  static const char* const areas[] = {"memory", "memory_free", "copy"};
  bool is_area = false;
  for (size_t i = 0; i < sizeof areas / sizeof *areas; i++)
    is_area |= strcmp(selector, areas[i]) == 0;
  return tbk_selector_matches(selector, is_area, &test);
}

static void selectors_name_a_test(void) {
  static const char* const yes[] = {"memory_free/zero_is_accepted",
                                    "memory_free/",
                                    "memory_free",
                                    "memory",
                                    "MEM-014",
                                    "MEM",
                                    "MEM-0",
                                    "core",
                                    "profile:core"};
  for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
    CU_ASSERT_TRUE(matches(yes[i]));
}

static void a_name_without_parameters_is_of_all_of_them(void) {
  static const tbk_test_t with = {.id = (char*)(uintptr_t) "torch_a/adds[int8-1]",
                                  .suite = "torch_a",
                                  .area = "a",
                                  .clause = "ADD-001",
                                  .profile = "core"};
  CU_ASSERT_TRUE(tbk_selector_matches("torch_a/adds", false, &with));
  CU_ASSERT_TRUE(tbk_selector_matches("torch_a/adds[int8-1]", false, &with));
  CU_ASSERT_FALSE(tbk_selector_matches("torch_a/add", false, &with));
  CU_ASSERT_FALSE(tbk_selector_matches("torch_a/adds[", false, &with));
  CU_ASSERT_FALSE(tbk_selector_matches("torch_a/adds[int8", false, &with));
}

static void selectors_name_no_other_test(void) {
  static const char* const no[] = {
      "memory_free/zero", "memory/", "mem", "MEM-01455", "MEM-015", "M", "async",
      "profile:memory",   "copy",    "/",   ""};
  for (size_t i = 0; i < sizeof no / sizeof *no; i++)
    CU_ASSERT_FALSE(matches(no[i]));
}

static void an_order_is_a_permutation_that_the_seed_decides(void) {
  tbk_item_t one[100], again[100], other[100];
  uint32_t seen[100] = {0};
  for (uint32_t i = 0; i < 100; i++)
    one[i] = again[i] = other[i] = (tbk_item_t){.test = i};
  tbk_plan_shuffle(one, 100, 7);
  tbk_plan_shuffle(again, 100, 7);
  tbk_plan_shuffle(other, 100, 8);
  CU_ASSERT_EQUAL(memcmp(one, again, sizeof one), 0);
  CU_ASSERT_NOT_EQUAL(memcmp(one, other, sizeof one), 0);
  for (size_t i = 0; i < 100; i++)
    seen[one[i].test]++;
  for (size_t i = 0; i < 100; i++)
    CU_ASSERT_EQUAL(seen[i], 1);
}

static size_t shard_of(uint32_t index, uint32_t count, uint32_t repeat) {
  tbk_options_t options = {.shard_index = index, .shard_count = count, .repeat = repeat};
  tbk_run_plan_t plan;
  const tbk_source_t source = tbk_plan_cases();
  tbk_plan_make(&plan, &options, &source);
  CU_ASSERT_EQUAL(plan.item_count, plan.test_count * repeat);
  size_t test_count = plan.test_count;
  tbk_plan_free(&plan);
  return test_count;
}

static void shards_add_up(void) {
  size_t whole = shard_of(1, 1, 1), sum = 0;
  for (uint32_t i = 1; i <= 7; i++)
    sum += shard_of(i, 7, 3);
  CU_ASSERT_TRUE(whole > 100);
  CU_ASSERT_EQUAL(sum, whole);
}

static void a_word_that_names_nothing_is_told(void) {
  const char* words[] = {"memory", "coffee"};
  tbk_options_t options = {.only = {words, 2}, .shard_index = 1, .shard_count = 1, .repeat = 1};
  tbk_run_plan_t plan;
  const tbk_source_t source = tbk_plan_cases();
  tbk_plan_make(&plan, &options, &source);
  CU_ASSERT_PTR_NOT_NULL_FATAL(plan.unmatched);
  CU_ASSERT_STRING_EQUAL(plan.unmatched, "coffee");
  tbk_plan_free(&plan);
}

static void the_most_telling_come_first(void) {
  static const tbk_test_t tests[] = {
      {.clause = "A-1", .suite = "a", .area = "a"}, {.clause = "A-1", .suite = "a", .area = "a"},
      {.clause = "A-2", .suite = "a", .area = "a"}, {.clause = "A-3", .suite = "a", .area = "a"},
      {.clause = "B-1", .suite = "b", .area = "b"}, {.clause = "B-1", .suite = "b", .area = "b"}};
  static const uint32_t expected[] = {0, 4, 2, 3, 5, 1};
  tbk_item_t items[12];
  for (uint32_t i = 0; i < 12; i++)
    items[i] = (tbk_item_t){.test = i % 6, .repeat = i / 6};
  tbk_budget_order(items, 12, tests);
  for (uint32_t i = 0; i < 12; i++) {
    CU_ASSERT_EQUAL(items[i].test, expected[i % 6]);
    CU_ASSERT_EQUAL(items[i].repeat, i / 6);
  }
}

static void what_takes_long_comes_after_the_first_of_all(void) {
  static const tbk_test_t tests[] = {
      {.clause = "A-1", .suite = "a", .area = "fork"},
      {.clause = "A-2", .suite = "a", .area = "a", .flags = TBK_CASE_FRESH},
      {.clause = "A-3", .suite = "a", .area = "a"},
      {.clause = "B-1", .suite = "b", .area = "b", .flags = TBK_CASE_SLOW},
      {.clause = "B-2", .suite = "b", .area = "b"},
      {.clause = "B-2", .suite = "b", .area = "b"}};
  static const uint32_t expected[] = {4, 2, 1, 3, 0, 5};
  tbk_item_t items[6];
  for (uint32_t i = 0; i < 6; i++)
    items[i] = (tbk_item_t){.test = i};
  tbk_budget_order(items, 6, tests);
  for (uint32_t i = 0; i < 6; i++)
    CU_ASSERT_EQUAL(items[i].test, expected[i]);
}

static void names_come_before_parameters(void) {
  static char ids[][12] = {"a/abs[1]", "a/abs[2]", "a/add[1]", "a/add[2]", "b/sum[1]", "b/sum[2]"};
  static const uint32_t expected[] = {0, 4, 2, 5, 1, 3};
  tbk_test_t tests[6];
  tbk_item_t items[6];
  for (uint32_t i = 0; i < 6; i++) {
    const char* suite = i < 4 ? "a" : "b";
    tests[i] = (tbk_test_t){.id = ids[i], .clause = suite, .suite = suite, .area = suite};
    items[i] = (tbk_item_t){.test = i};
  }
  tbk_budget_order(items, 6, tests);
  for (uint32_t i = 0; i < 6; i++)
    CU_ASSERT_EQUAL(items[i].test, expected[i]);
}

/* Orders tests of one suite and clause, and tells where each of them comes. */
static void order_ids(char (*ids)[24], uint32_t count, uint32_t* places) {
  tbk_test_t tests[8];
  tbk_item_t items[8];
  for (uint32_t i = 0; i < count; i++) {
    tests[i] = (tbk_test_t){.id = ids[i], .clause = "A", .suite = "a", .area = "a"};
    items[i] = (tbk_item_t){.test = i};
  }
  tbk_budget_order(items, count, tests);
  for (uint32_t i = 0; i < count; i++)
    places[items[i].test] = i;
}

static void another_kind_comes_before_another_value_of_it(void) {
  static char ids[][24] = {"a/b[float64-up]", "a/b[float32-up]", "a/b[float32-down]",
                           "a/b[int8-up]"};
  static char keyed[][24] = {"a/b[x=int8,y=up]", "a/b[x=int16,y=up]", "a/b[x=bool,y=down]"};
  uint32_t places[8];
  order_ids(ids, 4, places);
  CU_ASSERT_EQUAL(places[0], 0);
  CU_ASSERT_EQUAL(places[1], 3);
  order_ids(keyed, 3, places);
  CU_ASSERT_EQUAL(places[0], 0);
  CU_ASSERT_EQUAL(places[2], 1);
}

static void what_costs_more_comes_later(void) {
  static char ids[][4] = {"a/a", "a/b", "a/c"};
  static const uint32_t expected[] = {2, 1, 0};
  tbk_test_t tests[3];
  tbk_item_t items[3];
  for (uint32_t i = 0; i < 3; i++) {
    tests[i] =
        (tbk_test_t){.id = ids[i], .clause = ids[i], .suite = "a", .area = "a", .cost = 9 - 3 * i};
    items[i] = (tbk_item_t){.test = i};
  }
  tbk_budget_order(items, 3, tests);
  for (uint32_t i = 0; i < 3; i++)
    CU_ASSERT_EQUAL(items[i].test, expected[i]);
}

static void order_is_a_permutation_of_all(void) {
  const tbk_source_t source = tbk_plan_cases();
  const tbk_options_t options = {.shard_index = 1, .shard_count = 1, .repeat = 2, .budget_ns = 1};
  tbk_run_plan_t plan;
  tbk_plan_make(&plan, &options, &source);
  uint32_t* seen = calloc(plan.item_count, sizeof *seen);
  CU_ASSERT_PTR_NOT_NULL_FATAL(seen);
  for (size_t i = 0; i < plan.item_count; i++) {
    CU_ASSERT_EQUAL(plan.items[i].repeat, i / plan.test_count);
    CU_ASSERT_EQUAL(plan.items[i].test, plan.items[i % plan.test_count].test);
    seen[plan.items[i].test]++;
  }
  for (size_t i = 0; i < plan.test_count; i++)
    CU_ASSERT_EQUAL(seen[i], 2);
  free(seen);
  tbk_plan_free(&plan);
}

static void a_budget_is_over_sooner_where_a_test_failed(void) {
  const tbk_options_t options = {.budget_ns = UINT64_MAX, .failing_budget_ns = 1};
  tbk_pace_t pace = {.options = &options};
  CU_ASSERT_FALSE(tbk_pace_is_over_budget(&pace));
  pace.failed = true;
  CU_ASSERT_TRUE(tbk_pace_is_over_budget(&pace));
}

CU_TestInfo tbk_plan_tests[] = {
    {"selectors name a test", selectors_name_a_test},
    {"selectors name no other test", selectors_name_no_other_test},
    {"a name without parameters is of all of them", a_name_without_parameters_is_of_all_of_them},
    {"shuffle", an_order_is_a_permutation_that_the_seed_decides},
    {"shards add up", shards_add_up},
    {"a word that names nothing", a_word_that_names_nothing_is_told},
    {"order under a budget", the_most_telling_come_first},
    {"names come before parameters", names_come_before_parameters},
    {"kinds come before values", another_kind_comes_before_another_value_of_it},
    {"costs count", what_costs_more_comes_later},
    {"the order has all", order_is_a_permutation_of_all},
    {"failing budget", a_budget_is_over_sooner_where_a_test_failed},
    {"what takes long comes later", what_takes_long_comes_after_the_first_of_all},
    CU_TEST_INFO_NULL};
