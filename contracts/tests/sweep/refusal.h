/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * refusal.h: every function in the map of tables, called with one argument made wrong. What may be
 * looked at then are aspects; tests differ in which ones, as the clauses do that they cite.
 */
#ifndef TBK_CONTRACTS_REFUSAL_H
#define TBK_CONTRACTS_REFUSAL_H

#include "dimensions.h"
#include "every_call.h"

enum {
  REFUSAL_LEFT = 1,   /* that nothing has changed, and functions work when called rightly */
  REFUSAL_ANSWER = 2, /* the status */
  REFUSAL_REASON = 4,
  REFUSAL_SILENCE = 8, /* that what succeeds writes no message */
  REFUSAL_HEAP = 16,   /* that many of them leave nothing on the heap */
  REFUSAL_ALL = REFUSAL_LEFT | REFUSAL_ANSWER | REFUSAL_REASON | REFUSAL_SILENCE
};

extern const sweep_dimension_t refusal_axis;  /* which argument is wrong, and how */
extern const sweep_dimension_t refusal_bytes; /* 1: of nothing */
extern const sweep_dimension_t refusal_times;
extern const sweep_dimension_t refusal_some, refusal_many; /* instead: 8; and hundreds */

/* Names the values of refusal_axis; before a sweep. */
void refusal_name_all(void);
/* Returns how often a case makes each wrong call. */
uint64_t refusal_count(const sweep_case_t* one);
bool refusal_fits(const tbk_fixture_t* fx, const sweep_case_t* one);
/* Makes the wrong calls of a case, and looks at the aspects. */
void refusal_run(tbk_fixture_t* fx, sweep_case_t* one, unsigned aspects);
/* Makes them with a place for the reason and without: the answers are the same. */
void refusal_run_without_place(tbk_fixture_t* fx, sweep_case_t* one);
/* Calls every function rightly, with a stream or without one. */
void refusal_call_rightly(tbk_fixture_t* fx, every_call_t* on, unsigned aspects,
                          bool without_stream);

#endif /* TBK_CONTRACTS_REFUSAL_H */
