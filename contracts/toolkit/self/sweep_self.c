/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk-sweep-selftest: whether generated cases cover every pair that may be combined, keep to what
 * may not, and come out the same for the same seed.
 */
#include "sweep.h"

#include <stdio.h>
#include <string.h>

SWEEP_DIMENSION(letter, "letter", {"a", 0}, {"b", 1}, {"c", 2}, {"d", 3}, {"e", 4});
SWEEP_DIMENSION(number, "number", {"0", 0}, {"1", 1}, {"2", 2}, {"3", 3});
SWEEP_DIMENSION(side, "side", {"left", 0}, {"right", 1});
SWEEP_DIMENSION(colour, "colour", {"red", 0}, {"green", 1}, {"blue", 2});

static unsigned failures;

#define EXPECT(condition) expect((condition), #condition, __LINE__)

static void expect(bool held, const char* text, int line) {
  if (held) return;
  failures++;
  printf("sweep_self.c:%d: %s\n", line, text);
}

/* No device, and nothing that a case here asks of one. */
static const tbk_fixture_t nothing;

/* No "a" on the right. */
static bool fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  (void)fx;
  return sweep_get(one, &letter) != 0 || sweep_get(one, &side) == 0;
}

static const sweep_choice_t any;

static const sweep_space_t space = {{&letter, &number, &side, &colour}, fits, NULL, 0};

static bool has_pair(const sweep_case_t* cases, size_t count, size_t i, size_t v, size_t k,
                     size_t w) {
  for (size_t c = 0; c < count; c++)
    if (cases[c].chosen[i] == v && cases[c].chosen[k] == w) return true;
  return false;
}

static void every_pair_is_there(const sweep_case_t* cases, size_t count) {
  for (size_t i = 0; i < 4; i++)
    for (size_t k = 0; k < i; k++)
      for (size_t v = 0; v < space.dimensions[i]->count; v++)
        for (size_t w = 0; w < space.dimensions[k]->count; w++) {
          bool forbidden = i == 2 && k == 0 && v == 1 && w == 0;
          EXPECT(has_pair(cases, count, i, v, k, w) == !forbidden);
        }
}

/* Every combination of the first three that fits is there, and each pair as well. */
static void first_ones_meet_together(void) {
  static const sweep_space_t whole = {{&letter, &number, &side, &colour}, fits, NULL, 3};
  static sweep_case_t cases[SWEEP_CASES];
  size_t count = sweep_generate(&nothing, &whole, any, 1, cases, SWEEP_CASES);
  size_t letters = letter.count, numbers = number.count, sides = side.count, met = 0;
  for (size_t a = 0; a < letters; a++)
    for (size_t b = 0; b < numbers; b++)
      for (size_t c = 0; c < sides; c++) {
        bool found = false;
        for (size_t i = 0; i < count; i++)
          found = found ||
                  (cases[i].chosen[0] == a && cases[i].chosen[1] == b && cases[i].chosen[2] == c);
        met += found;
      }
  EXPECT(met == letters * numbers * sides - numbers); /* one letter may not be on one side */
  every_pair_is_there(cases, count);
}

/* Allows nothing on the right. */
static bool fits_left(const tbk_fixture_t* fx, const sweep_case_t* one) {
  (void)fx;
  return sweep_get(one, &side) == 0;
}

/* Checks that what the other space has, too, is not due, and that the rest is: colours, and all on the right. */
static void what_is_covered_elsewhere_is_left_out(void) {
  static const sweep_space_t other = {{&letter, &number, &side}, fits_left, NULL, 0};
  static sweep_case_t cases[SWEEP_CASES];
  size_t count =
      sweep_generate(&nothing, &space, (sweep_choice_t){NULL, &other, 0}, 1, cases, SWEEP_CASES);
  size_t whole = sweep_generate(&nothing, &space, any, 1, (sweep_case_t[64]){0}, 64);
  EXPECT(count < whole && count >= letter.count * colour.count);
  for (size_t k = 0; k < 3; k++)
    for (size_t v = 0; v < colour.count; v++)
      for (size_t w = 0; w < space.dimensions[k]->count; w++)
        EXPECT(has_pair(cases, count, 3, v, k, w));
  for (size_t v = 1; v < letter.count; v++)
    EXPECT(has_pair(cases, count, 2, 1, 0, v));
}

/* On the left there is nothing to do, and else more for each number and colour. */
static int64_t work(const sweep_case_t* one) {
  if (sweep_get(one, &side) == 0) return 0;
  return INT64_C(1) << 4 * (sweep_get(one, &number) + sweep_get(one, &colour));
}

static int64_t sum(const sweep_case_t* cases, size_t count, size_t* idle) {
  int64_t all = 0;
  for (size_t i = 0; i < count; i++) {
    *idle += work(&cases[i]) == 0;
    all += work(&cases[i]);
  }
  return all;
}

/* What is much meets what is little, unless a pair asks for both; and what does nothing is rare. */
static void light_cases_have_every_pair_too(void) {
  static sweep_case_t cases[SWEEP_CASES], light[SWEEP_CASES];
  size_t count = 0, lights = 0, idle = 0, idle_lights = 0;
  int64_t much = 0, little = 0;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    size_t more = sweep_generate(&nothing, &space, any, seed, cases, SWEEP_CASES);
    size_t more_lights =
        sweep_generate(&nothing, &space, (sweep_choice_t){work, NULL, 0}, seed, light, SWEEP_CASES);
    every_pair_is_there(light, more_lights);
    count += more, much += sum(cases, more, &idle);
    lights += more_lights, little += sum(light, more_lights, &idle_lights);
  }
  EXPECT(lights < 2 * count);
  EXPECT(little < much);
  EXPECT(idle_lights < idle);
}

/* Number 3 makes every case do much, but on the left, where there is nothing to do. */
static bool is_busy(const tbk_fixture_t* fx, const sweep_case_t* one) {
  return fits(fx, one) && sweep_get(one, &side) != 0;
}

static void what_makes_each_case_do_much_is_met_once(void) {
  static sweep_case_t cases[SWEEP_CASES], all[SWEEP_CASES];
  static const sweep_space_t busy = {{&letter, &number, &side, &colour}, is_busy, NULL, 0};
  const int64_t most = INT64_C(1) << 11;
  size_t whole =
      sweep_generate(&nothing, &busy, (sweep_choice_t){work, NULL, 0}, 1, all, SWEEP_CASES);
  size_t count =
      sweep_generate(&nothing, &busy, (sweep_choice_t){work, NULL, most}, 1, cases, SWEEP_CASES);
  size_t threes = 0;
  for (size_t i = 0; i < count; i++)
    threes += sweep_get(&cases[i], &number) == 3;
  EXPECT(threes == 1);
  EXPECT(count < whole);
  for (size_t v = 1; v < letter.count; v++)
    EXPECT(has_pair(cases, count, 0, v, 1, 0));
}

int main(void) {
  static sweep_case_t cases[SWEEP_CASES], again[SWEEP_CASES], other[SWEEP_CASES];
  char line[SWEEP_LINE];
  size_t count = sweep_generate(&nothing, &space, any, 1, cases, SWEEP_CASES);
  first_ones_meet_together();
  what_is_covered_elsewhere_is_left_out();
  light_cases_have_every_pair_too();
  what_makes_each_case_do_much_is_met_once();
  every_pair_is_there(cases, count);
  EXPECT(count >= 20 && count < 60); /* all of them would be 120 */
  EXPECT(sweep_generate(&nothing, &space, any, 1, again, SWEEP_CASES) == count);
  EXPECT(memcmp(cases, again, count * sizeof *cases) == 0);
  size_t others = sweep_generate(&nothing, &space, any, 2, other, SWEEP_CASES);
  every_pair_is_there(other, others);
  EXPECT(memcmp(cases, other, count * sizeof *cases) != 0);
  EXPECT(sweep_generate(&nothing, &space, any, 1, again, 7) == 7);
  const sweep_case_t one = {.space = &space, .chosen = {1, 3, 1, 2}};
  sweep_print(&one, line);
  EXPECT(strcmp(line, "letter=b number=3 side=right colour=blue") == 0);
  printf("%zu cases, %u failures\n", count, failures);
  return failures > 0;
}
