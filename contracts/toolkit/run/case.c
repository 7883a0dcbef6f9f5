/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "contract.h"

#include <stdlib.h>

struct entry {
  const tbk_suite_t* suite;
  const tbk_case_t* row;
};

static struct entry* entries;
static size_t entry_count;

/*
 * Rows that want a fresh process come first, then those that want the device closed, then the rest,
 * so that a process that runs many opens a device as seldom as it can: opening may take seconds.
 */
static int turn_of(const tbk_case_t* row) {
  if ((row->flags & TBK_CASE_FRESH) != 0) return 0;
  return (row->flags & (TBK_CASE_RAW | TBK_CASE_CLOSED)) != 0 ? 1 : 2;
}

static void add_turn(int turn) {
  for (size_t i = 0; tbk_suites[i] != NULL; i++) {
    for (size_t k = 0; k < tbk_suites[i]->case_count; k++) {
      const tbk_case_t* row = &tbk_suites[i]->cases[k];
      if (turn_of(row) == turn) entries[entry_count++] = (struct entry){tbk_suites[i], row};
    }
  }
}

static void flatten(void) {
  size_t count = 0;
  for (size_t i = 0; tbk_suites[i] != NULL; i++)
    count += tbk_suites[i]->case_count;
  entries = calloc(count + 1, sizeof *entries);
  if (entries == NULL) abort();
  for (int turn = 0; turn < 3; turn++)
    add_turn(turn);
}

size_t tbk_case_count(void) {
  if (entries == NULL) flatten();
  return entry_count;
}

const tbk_case_t* tbk_case_at(size_t index) {
  return index < tbk_case_count() ? entries[index].row : NULL;
}

const tbk_suite_t* tbk_case_suite(size_t index) {
  return index < tbk_case_count() ? entries[index].suite : NULL;
}
