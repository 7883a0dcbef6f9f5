/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * traits.h: what a test adds to what others have shown: a clause, a name, values of parameters.
 */
#ifndef TBK_HARNESS_TRAITS_H
#define TBK_HARNESS_TRAITS_H

#include "plan.h"

typedef struct tbk_trait {
  uint64_t key; /* the same in each test that has it */
  double worth;
} tbk_trait_t;

typedef struct tbk_traits {
  tbk_trait_t* items; /* the caller frees them */
  size_t count;
} tbk_traits_t;

/*
 * Returns what the test shows: its clause, its name (the id without parameters), each value of a
 * parameter, for the clause and for the name, and each pair of them. A dtype stands for its kind.
 */
tbk_traits_t tbk_traits_of(const tbk_test_t* test);

/* Returns a number for the suite and name of the test: equal where only parameters differ. */
uint64_t tbk_traits_name(const tbk_test_t* test);

/* Those that tests have shown so far. Zeroed, it is empty. */
typedef struct tbk_shown {
  uint64_t* keys;
  size_t count, capacity;
} tbk_shown_t;

void tbk_shown_add(tbk_shown_t* shown, const tbk_traits_t* traits);
/* Returns what the traits are worth that have not been shown. */
double tbk_shown_gain(const tbk_shown_t* shown, const tbk_traits_t* traits);
void tbk_shown_free(tbk_shown_t* shown);

#endif /* TBK_HARNESS_TRAITS_H */
