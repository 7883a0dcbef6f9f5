/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk-rows-selftest: the rows of the contract tests agree with the clauses and with needs.c.
 */
#include "contract.h"

#include <stdio.h>
#include <string.h>

static unsigned failures;

static void complain(size_t index, const char* what) {
  failures++;
  printf("%s/%s [%s]: %s\n", tbk_case_suite(index)->name, tbk_case_at(index)->name,
         tbk_case_at(index)->clause, what);
}

static bool same_id(size_t a, size_t b) {
  return tbk_case_suite(a) == tbk_case_suite(b) &&
         strcmp(tbk_case_at(a)->name, tbk_case_at(b)->name) == 0;
}

int main(void) {
  for (size_t i = 0; i < tbk_case_count(); i++) {
    const tbk_clause_t* clause = tbk_clause_find(tbk_case_at(i)->clause);
    if (clause == NULL) complain(i, "no such clause");
    if (clause != NULL && strcmp(clause->kind, "checked") != 0) complain(i, "is not checkable");
    if (!tbk_needs_known(tbk_case_at(i)->needs)) complain(i, "needs an unknown word");
    for (size_t k = 0; k < i; k++) {
      if (same_id(i, k)) complain(i, "two rows of one name");
    }
  }
  if (tbk_case_count() == 0) failures++;
  printf("%zu rows, %u failures\n", tbk_case_count(), failures);
  return failures > 0;
}
