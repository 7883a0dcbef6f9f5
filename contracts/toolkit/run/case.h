/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * case.h: a contract test is one function and one row. The function is named by the behaviour it
 * shows, the row names the clause. A clause that needs several tests has several rows.
 */
#ifndef TBK_CONTRACTS_CASE_H
#define TBK_CONTRACTS_CASE_H

#include <stddef.h>

struct tbk_fixture;

enum {
  TBK_CASE_FRESH = 1 << 0,    /* needs a process in which nothing was opened before (fork, entry) */
  TBK_CASE_CLOSED = 1 << 1,   /* the fixture creates the instance, but opens no device */
  TBK_CASE_RAW = 1 << 2,      /* the fixture only loads the library: no instance either */
  TBK_CASE_ALONE = 1 << 3,    /* takes all memory of the device: no other test runs beside it */
  TBK_CASE_THOROUGH = 1 << 4, /* takes seconds: left to the thorough tier, unless named by its id */
  TBK_CASE_SLOW = 1 << 5 /* belongs to the quick tier, and takes seconds: late under a budget */
};

typedef struct tbk_case {
  const char* name;
  const char* clause;
  /*
   * Space-separated capabilities, read from what the backend declares before the test runs; the
   * words are in needs.c. "!word" wants it absent. NULL: the mandatory part is enough.
   */
  const char* needs;
  unsigned flags;
  void (*run)(struct tbk_fixture* fx);
} tbk_case_t;

typedef struct tbk_suite {
  const char* name;
  const tbk_case_t* cases;
  size_t case_count;
} tbk_suite_t;

/* Rows read {clause, needs, flags, function}. */
#define TBK_CASE(clause, needs, flags, function) \
  { #function, clause, needs, flags, function }

#define TBK_SUITE(suite_name)                      \
  extern const tbk_suite_t tbk_suite_##suite_name; \
  const tbk_suite_t tbk_suite_##suite_name = {#suite_name, cases, sizeof cases / sizeof *cases}

/* All suites in the order in which they run, then NULL. Written in suites.c. */
extern const tbk_suite_t* const tbk_suites[];

#endif /* TBK_CONTRACTS_CASE_H */
