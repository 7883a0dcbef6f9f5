/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "contract.h"

size_t tbk_case_count(void) {
  static size_t count;
  if (count != 0) return count;
  size_t sum = 0;
  for (size_t i = 0; tbk_suites[i] != NULL; i++)
    sum += tbk_suites[i]->case_count;
  return count = sum;
}

/* The suite of a flat index, which becomes the index within the suite. */
static const tbk_suite_t* locate(size_t* index) {
  for (size_t i = 0; tbk_suites[i] != NULL; i++) {
    if (*index < tbk_suites[i]->case_count) return tbk_suites[i];
    *index -= tbk_suites[i]->case_count;
  }
  return NULL;
}

const tbk_case_t* tbk_case_at(size_t index) {
  const tbk_suite_t* suite = locate(&index);
  return suite != NULL ? &suite->cases[index] : NULL;
}

const tbk_suite_t* tbk_case_suite(size_t index) {
  return locate(&index);
}
