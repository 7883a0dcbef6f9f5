/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sweep.c: see sweep.h. Generation is greedy: each case begins with a pair that no case has yet and
 * is the best of several random completions.
 */
#include "sweep.h"

#include "dimensions.h"
#include "resources.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMPLETIONS = 24, FIRST_TRIES = 200 };
/* A pair more is worth four times the work. */
enum { COST_OF_A_PAIR = 2, COST_OF_NOTHING = 64 };
/* Where time counts, so much work is worth half a pair. */
enum { WORK_OF_COST = 16 };
enum { LIGHT_TRIES = 24, MUCH_WORK = 512 };

static const char* chosen_line;

void sweep_choose(const char* line) {
  chosen_line = line;
}

static size_t dimension_count(const sweep_space_t* space) {
  size_t count = 0;
  while (count < SWEEP_DIMENSIONS && space->dimensions[count] != NULL)
    count++;
  return count;
}

int64_t sweep_get(const sweep_case_t* one, const sweep_dimension_t* dimension) {
  const sweep_dimension_t* const* all = one->space->dimensions;
  for (size_t i = 0; i < SWEEP_DIMENSIONS && all[i] != NULL; i++)
    if (all[i] == dimension) return dimension->values[one->chosen[i]].value;
  return 0;
}

void sweep_print(const sweep_case_t* one, char line[SWEEP_LINE]) {
  size_t used = 0;
  line[0] = '\0';
  for (size_t i = 0; i < dimension_count(one->space) && used < SWEEP_LINE; i++) {
    const sweep_dimension_t* dimension = one->space->dimensions[i];
    used += (size_t)snprintf(line + used, SWEEP_LINE - used, "%s%s=%s", i > 0 ? " " : "",
                             dimension->name, dimension->values[one->chosen[i]].name);
  }
}

/* Asks on the device of the case, as the second may have less than the first; a closed one is not opened for that. */
static bool fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  if (one->space->fits == NULL) return true;
  if (sweep_get(one, &sweep_device) != 1 || fx->device_count < 2 ||
      !fx->resources->session->device_open)
    return one->space->fits(fx, one);
  tbk_fixture_t there = *fx;
  fx_use_device(&there, fx_second_device(&there));
  return one->space->fits(&there, one);
}

/* ----------------------------------------------------------------------------- generation ---- */

typedef struct generator {
  const tbk_fixture_t* fx;
  const sweep_space_t* space;
  sweep_choice_t choice;
  size_t dimensions;
  uint64_t random;
  /* For two values of two dimensions, the later dimension first: a case has both; or none can. */
  bool done[SWEEP_DIMENSIONS][SWEEP_VALUES][SWEEP_DIMENSIONS][SWEEP_VALUES];
  bool heavy[SWEEP_DIMENSIONS][SWEEP_VALUES]; /* due in one case alone */
  bool met[SWEEP_DIMENSIONS][SWEEP_VALUES];
} generator_t;

static size_t draw(generator_t* self, size_t below) {
  uint64_t z = self->random += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return (size_t)((z ^ z >> 31) % below);
}

static bool is_over(const generator_t* self, size_t dimension, size_t value) {
  return self->heavy[dimension][value] && self->met[dimension][value];
}

static bool is_due(const generator_t* self, const size_t pair[4]) {
  return !self->done[pair[0]][pair[1]][pair[2]][pair[3]] && !is_over(self, pair[0], pair[1]) &&
         !is_over(self, pair[2], pair[3]);
}

static size_t new_pairs(const generator_t* self, const sweep_case_t* one) {
  size_t count = 0;
  for (size_t i = 1; i < self->dimensions; i++)
    for (size_t k = 0; k < i; k++)
      count += is_due(self, (const size_t[4]){i, one->chosen[i], k, one->chosen[k]});
  return count;
}

static void tick_off(generator_t* self, const sweep_case_t* one) {
  for (size_t i = 0; i < self->dimensions; i++)
    self->met[i][one->chosen[i]] = true;
  for (size_t i = 1; i < self->dimensions; i++)
    for (size_t k = 0; k < i; k++)
      self->done[i][one->chosen[i]][k][one->chosen[k]] = true;
}

/* Values that a case must have, of the dimensions whose bit is set. */
typedef struct fixed {
  unsigned dimensions;
  uint8_t chosen[SWEEP_DIMENSIONS];
} fixed_t;

/* Grows with the logarithm of the work, and with the work itself where time counts. A case without any costs most, for it
 * shows little. */
static int64_t cost(const generator_t* self, const sweep_case_t* one) {
  int64_t work = self->choice.work != NULL ? self->choice.work(one) : 1, sum = 0;
  if (work == 0) return COST_OF_NOTHING;
  if (self->choice.most_work > 0) sum = work / WORK_OF_COST;
  for (; work > 0; work /= 2)
    sum++;
  return sum;
}

static sweep_case_t draw_case(generator_t* self, const sweep_space_t* space, const fixed_t* fixed) {
  const size_t count = dimension_count(space);
  sweep_case_t one = {.space = space};
  for (size_t i = 0; i < count; i++)
    one.chosen[i] = (fixed->dimensions >> i & 1) != 0
                        ? fixed->chosen[i]
                        : (uint8_t)draw(self, space->dimensions[i]->count);
  return one;
}

/* The best of several cases that have the values; false where none of many tries may be combined. */
static bool complete(generator_t* self, const fixed_t* fixed, sweep_case_t* out) {
  int64_t best = 0;
  size_t found = 0;
  for (size_t try = 0; try < (found > 0 ? COMPLETIONS : FIRST_TRIES); try++) {
    const sweep_case_t one = draw_case(self, self->space, fixed);
    if (!fits(self->fx, &one)) continue;
    int64_t gain = COST_OF_A_PAIR * (int64_t)new_pairs(self, &one) - cost(self, &one);
    if (gain > best || found == 0) *out = one, best = gain;
    found++;
  }
  return found > 0;
}

/* Tells whether values that let a case do little by themselves make it do much together. */
static bool is_left(const generator_t* self, const fixed_t* fixed, const sweep_case_t* one) {
  if (self->choice.most_work == 0 || self->choice.work(one) <= self->choice.most_work) return false;
  for (size_t i = 0; i < self->dimensions; i++)
    if ((fixed->dimensions >> i & 1) != 0 && self->heavy[i][fixed->chosen[i]]) return false;
  return true;
}

static void add_case(generator_t* self, const fixed_t* fixed, sweep_case_t* out_cases, size_t most,
                     size_t* count) {
  if (*count == most || !complete(self, fixed, &out_cases[*count])) return;
  if (is_left(self, fixed, &out_cases[*count])) return;
  tick_off(self, &out_cases[*count]);
  ++*count;
}

static void cover(generator_t* self, const size_t pair[4], sweep_case_t* out_cases, size_t most,
                  size_t* count) {
  bool* done = &self->done[pair[0]][pair[1]][pair[2]][pair[3]];
  fixed_t fixed = {1u << pair[0] | 1u << pair[2], {0}};
  if (!is_due(self, pair)) return;
  *done = true;
  fixed.chosen[pair[0]] = (uint8_t)pair[1];
  fixed.chosen[pair[2]] = (uint8_t)pair[3];
  add_case(self, &fixed, out_cases, most, count);
}

/* Every combination of the first dimensions, as a counter whose digits they are. */
static void cover_together(generator_t* self, sweep_case_t* out_cases, size_t most, size_t* count) {
  const size_t together = self->space->together;
  fixed_t fixed = {(1u << together) - 1, {0}};
  size_t digit = 0;
  while (digit < together) {
    add_case(self, &fixed, out_cases, most, count);
    for (digit = 0; digit < together; digit++) {
      if (++fixed.chosen[digit] < self->space->dimensions[digit]->count) break;
      fixed.chosen[digit] = 0;
    }
  }
}

/* Returns the place of a dimension in the space; SWEEP_DIMENSIONS where the space has not got it. */
static size_t place_in(const sweep_space_t* space, const sweep_dimension_t* dimension) {
  for (size_t i = 0; i < dimension_count(space); i++)
    if (space->dimensions[i] == dimension) return i;
  return SWEEP_DIMENSIONS;
}

/* Tells whether the other space has a case with both values. */
static bool has_pair(generator_t* self, const sweep_space_t* other, const size_t pair[4]) {
  const size_t i = place_in(other, self->space->dimensions[pair[0]]);
  const size_t k = place_in(other, self->space->dimensions[pair[2]]);
  fixed_t fixed = {1u << i | 1u << k, {0}};
  if (i == SWEEP_DIMENSIONS || k == SWEEP_DIMENSIONS) return false;
  fixed.chosen[i] = (uint8_t)pair[1];
  fixed.chosen[k] = (uint8_t)pair[3];
  for (size_t try = 0; try < FIRST_TRIES; try++) {
    const sweep_case_t one = draw_case(self, other, &fixed);
    if (fits(self->fx, &one)) return true;
  }
  return false;
}

static void leave_covered(generator_t* self, const sweep_space_t* other) {
  const sweep_dimension_t* const* all = self->space->dimensions;
  const uint64_t random = self->random;
  for (size_t i = 1; i < self->dimensions; i++)
    for (size_t v = 0; v < all[i]->count; v++)
      for (size_t k = 0; k < i; k++)
        for (size_t w = 0; w < all[k]->count; w++)
          self->done[i][v][k][w] = has_pair(self, other, (const size_t[4]){i, v, k, w});
  self->random = random;
}

/* Tells whether each of some cases with a value has more work than that. */
static bool is_heavy(generator_t* self, size_t dimension, size_t value) {
  fixed_t fixed = {1u << dimension, {0}};
  size_t fitting = 0;
  fixed.chosen[dimension] = (uint8_t)value;
  for (size_t try = 0; try < LIGHT_TRIES; try++) {
    const sweep_case_t one = draw_case(self, self->space, &fixed);
    if (!fits(self->fx, &one)) continue;
    if (self->choice.work(&one) <= self->choice.most_work) return false;
    fitting++;
  }
  return fitting > 0;
}

static void weigh(generator_t* self) {
  const uint64_t random = self->random;
  for (size_t i = 0; i < self->dimensions; i++)
    for (size_t v = 0; v < self->space->dimensions[i]->count; v++)
      self->heavy[i][v] = is_heavy(self, i, v);
  self->random = random;
}

size_t sweep_generate(const tbk_fixture_t* fx, const sweep_space_t* space, sweep_choice_t choice,
                      uint64_t seed, sweep_case_t* out_cases, size_t most) {
  generator_t* self = calloc(1, sizeof *self);
  size_t count = 0;
  if (self == NULL) abort();
  self->fx = fx;
  self->space = space;
  self->choice = choice;
  self->random = seed;
  self->dimensions = dimension_count(space);
  if (choice.covered_by != NULL) leave_covered(self, choice.covered_by);
  if (choice.most_work > 0) weigh(self);
  if (space->together > 0) cover_together(self, out_cases, most, &count);
  for (size_t i = 1; i < self->dimensions; i++)
    for (size_t v = 0; v < space->dimensions[i]->count; v++)
      for (size_t k = 0; k < i; k++)
        for (size_t w = 0; w < space->dimensions[k]->count; w++)
          cover(self, (const size_t[4]){i, v, k, w}, out_cases, most, &count);
  free(self);
  return count;
}

/* --------------------------------------------------------------------------------- running ---- */

typedef struct tally {
  size_t ran, left_out, late;
} tally_t;

static void run_one(tbk_fixture_t* fx, sweep_case_t* one, tally_t* tally) {
  const tbk_fixture_t kept = *fx;
  char line[SWEEP_LINE];
  sweep_print(one, line);
  tbk_checks_context(line);
  tbk_trace_case(line);
  one->space->run(fx, one);
  fx->device = kept.device;
  fx->properties = kept.properties;
  tbk_resources_between(fx);
  tbk_checks_context(NULL);
  tbk_trace_case(NULL);
  if (tbk_checks_failed()) tbk_leave();
  *(one->left_out ? &tally->left_out : &tally->ran) += 1;
}

static void tell(tbk_fixture_t* fx, const tally_t* tally) {
  char text[160];
  snprintf(text, sizeof text, "%zu cases", tally->ran);
  if (tally->left_out > 0)
    snprintf(text + strlen(text), sizeof text - strlen(text),
             ", %zu left out: the device has not got what they take", tally->left_out);
  if (tally->late > 0)
    snprintf(text + strlen(text), sizeof text - strlen(text), ", %zu left out: no time",
             tally->late);
  fx_note(fx, text);
  if (tally->ran > 0) return;
  CHECK(fx->backend != NULL);
  fx_evidence(fx, TBK_NOT_SHOWN, "no case fits the device");
}

/* The index of the value that the line names behind "dimension="; or their count. */
static size_t value_in(const char* line, const sweep_dimension_t* dimension) {
  const size_t name = strlen(dimension->name);
  for (const char* word = line; *word != '\0'; word += strcspn(word, " ")) {
    word += strspn(word, " ");
    if (strncmp(word, dimension->name, name) != 0 || word[name] != '=') continue;
    const char* text = word + name + 1;
    for (size_t v = 0; v < dimension->count; v++) {
      const size_t length = strlen(dimension->values[v].name);
      if (strcspn(text, " ") == length && strncmp(text, dimension->values[v].name, length) == 0)
        return v;
    }
  }
  return dimension->count;
}

/* The case of a line, of whichever seed; none where the space has no such case. */
static size_t read_case(const tbk_fixture_t* fx, const sweep_space_t* space, const char* line,
                        sweep_case_t* out) {
  *out = (sweep_case_t){.space = space};
  for (size_t i = 0; i < dimension_count(space); i++) {
    size_t value = value_in(line, space->dimensions[i]);
    if (value == space->dimensions[i]->count) return 0;
    out->chosen[i] = (uint8_t)value;
  }
  return fits(fx, out);
}

/* A space of one dimension has no pairs: its values are its cases. */
static size_t make_cases(tbk_fixture_t* fx, const sweep_space_t* space, sweep_choice_t choice,
                         sweep_case_t* cases) {
  size_t count = 0;
  if (chosen_line != NULL) return read_case(fx, space, chosen_line, cases);
  if (space->dimensions[1] != NULL)
    return sweep_generate(fx, space, choice, fx->seed, cases, SWEEP_CASES);
  for (size_t v = 0; v < space->dimensions[0]->count; v++) {
    cases[count] = (sweep_case_t){.space = space, .chosen = {(uint8_t)v}};
    count += fits(fx, &cases[count]);
  }
  return count;
}

static void run_cases(tbk_fixture_t* fx, const sweep_space_t* space, sweep_choice_t choice) {
  static sweep_case_t cases[SWEEP_CASES]; /* a test is left by longjmp */
  const uint64_t until = fx_now_ns() + FX_PATIENCE_NS;
  tally_t tally = {0, 0, 0};
  size_t count = make_cases(fx, space, choice, cases);
  for (size_t i = 0; i < count; i++) {
    if (tally.ran == 0 || fx_now_ns() < until) /* who stood still before the first runs one */
      run_one(fx, &cases[i], &tally);
    else
      tally.late++;
  }
  if (chosen_line != NULL && tally.ran + tally.left_out == 0)
    fx_note(fx, "--case names no case of this sweep");
  tell(fx, &tally);
}

void sweep_run(tbk_fixture_t* fx, const sweep_space_t* space) {
  sweep_run_light(fx, space, NULL);
}

void sweep_run_light(tbk_fixture_t* fx, const sweep_space_t* space, sweep_work_t work) {
  run_cases(fx, space, (sweep_choice_t){work, NULL, 0});
}

void sweep_run_quickly(tbk_fixture_t* fx, const sweep_space_t* space, sweep_work_t work,
                       const sweep_space_t* covered_by) {
  run_cases(fx, space, (sweep_choice_t){work, covered_by, MUCH_WORK});
}
