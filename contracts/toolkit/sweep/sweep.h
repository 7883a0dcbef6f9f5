/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sweep.h: tests by design. A dimension is a row of data: what may vary, and the values that stand
 * for its classes. A space is the dimensions of one function, what may not be combined, and a
 * program that runs one case and judges it. Cases are generated so that each value of a dimension
 * meets each value of every other one at least once (a pairwise covering array), by the seed of the
 * test: the same seed gives the same cases. A case is one line, "size=65537 pending=37 stream=NULL";
 * a failure quotes it, and tbk-run --case LINE runs it alone, with any seed.
 */
#ifndef TBK_CONTRACTS_SWEEP_H
#define TBK_CONTRACTS_SWEEP_H

#include "fixture.h"

enum { SWEEP_DIMENSIONS = 12, SWEEP_VALUES = 64, SWEEP_LINE = 192, SWEEP_CASES = 2000 };

typedef struct sweep_value {
  const char* name; /* without blanks: a word of the line */
  int64_t value;
} sweep_value_t;

typedef struct sweep_dimension {
  const char* name;
  const sweep_value_t* values;
  size_t count;
} sweep_dimension_t;

/* A dimension of one file; and one that a header declares. */
#define SWEEP_DIMENSION(symbol, word, ...)                      \
  static const sweep_value_t symbol##_values[] = {__VA_ARGS__}; \
  static const sweep_dimension_t symbol = SWEEP_OF(symbol, word)
#define SWEEP_SHARED_DIMENSION(symbol, word, ...)               \
  static const sweep_value_t symbol##_values[] = {__VA_ARGS__}; \
  const sweep_dimension_t symbol = SWEEP_OF(symbol, word)
#define SWEEP_OF(symbol, word) \
  { word, symbol##_values, sizeof symbol##_values / sizeof *symbol##_values }

struct sweep_space;

typedef struct sweep_case {
  const struct sweep_space* space;
  uint8_t chosen[SWEEP_DIMENSIONS]; /* of each dimension of the space, which value */
  bool left_out;                    /* set by the program: the device has not got what it takes */
} sweep_case_t;

typedef struct sweep_space {
  const sweep_dimension_t* dimensions[SWEEP_DIMENSIONS]; /* then NULL */
  /* What may be combined, and what the device can have; NULL: everything. */
  bool (*fits)(const tbk_fixture_t* fx, const sweep_case_t* one);
  void (*run)(tbk_fixture_t* fx, sweep_case_t* one);
  size_t together; /* of so many dimensions, from the first, every combination is met; 0: pairs */
} sweep_space_t;

/* Returns the value that a case has in a dimension; 0 where the space has no such dimension. */
int64_t sweep_get(const sweep_case_t* one, const sweep_dimension_t* dimension);
void sweep_print(const sweep_case_t* one, char line[SWEEP_LINE]);
/* How much is to be done for a case, in a unit of the space; 0 where that is nothing. */
typedef int64_t (*sweep_work_t)(const sweep_case_t* one);
typedef struct sweep_choice {
  sweep_work_t work; /* cases have little of it; NULL: whichever */
  /* Pairs of two dimensions that this space has, too, are not due; NULL: all are. */
  const sweep_space_t* covered_by;
  /* A value that makes every case do more than that is due in one case alone, and two that do so together in none. A
   * case costs as much as it does. 0: every pair is due. */
  int64_t most_work;
} sweep_choice_t;
/* Generates at most `most` cases; returns how many there are. */
size_t sweep_generate(const tbk_fixture_t* fx, const sweep_space_t* space, sweep_choice_t choice,
                      uint64_t seed, sweep_case_t* out_cases, size_t most);

/*
 * Runs the cases one after the other. Each gives back what it made before the next begins, and the
 * first that fails ends the test. What does not fit the device, and what time does not suffice for,
 * is left out, and said in the notes.
 */
void sweep_run(tbk_fixture_t* fx, const sweep_space_t* space);
/*
 * The same, where values differ in how much they make a case do: what is large meets each value of every other
 * dimension, but not what is large in another one where a pair does not ask for it. A case without any work, which
 * shows little, is the last to be taken.
 */
void sweep_run_light(tbk_fixture_t* fx, const sweep_space_t* space, sweep_work_t work);
/*
 * The same for the quick tier; a row of the thorough one meets every pair. A value that makes every case do much, as a
 * large shape does, is met once; two values that do so together are left to that row. Pairs of two dimensions that the
 * space of another test of the same function has, too, are left to that test, where its space has them on the device;
 * what it needs besides, a dtype for one, is not looked at. NULL: there is no such test.
 */
void sweep_run_quickly(tbk_fixture_t* fx, const sweep_space_t* space, sweep_work_t work,
                       const sweep_space_t* covered_by);

/* From here on sweep_run runs the case of this line alone; NULL: all. Kept by reference. */
void sweep_choose(const char* line);

#endif /* TBK_CONTRACTS_SWEEP_H */
