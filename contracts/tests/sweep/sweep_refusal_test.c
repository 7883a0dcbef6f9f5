/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which argument of which call: every function in the map of tables is called with one argument made
 * wrong, on streams of every kind and in every state. It is refused, and nothing has changed: not
 * memory, not the host's, not what events and streams stand for, and no callback runs.
 */
#include "refusal.h"

static void run_all(tbk_fixture_t* fx, sweep_case_t* one) {
  refusal_run(fx, one, REFUSAL_ALL);
}

static void a_refused_call_changes_nothing(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&refusal_axis, &refusal_bytes, &refusal_times, &sweep_stream,
                                       &sweep_state, &sweep_device, &sweep_thread, &sweep_error},
                                      refusal_fits,
                                      run_all,
                                      0};
  refusal_name_all();
  sweep_run(fx, &space);
}

/* --------------------------------------------------------- each wrong argument alone, and once -- */

static void run_left(tbk_fixture_t* fx, sweep_case_t* one) {
  refusal_run(fx, one, REFUSAL_LEFT);
}

static void every_refused_call_changes_nothing(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&refusal_axis}, refusal_fits, run_left, 0};
  refusal_name_all();
  sweep_run(fx, &space);
}

static void run_answer(tbk_fixture_t* fx, sweep_case_t* one) {
  refusal_run(fx, one, REFUSAL_ANSWER);
}

static void every_refused_call_answers_as_the_header_says(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&refusal_axis}, refusal_fits, run_answer, 0};
  refusal_name_all();
  sweep_run(fx, &space);
}

static void run_reason(tbk_fixture_t* fx, sweep_case_t* one) {
  refusal_run(fx, one, REFUSAL_REASON);
}

static void every_refused_call_gives_a_reason(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&refusal_axis}, refusal_fits, run_reason, 0};
  refusal_name_all();
  sweep_run(fx, &space);
}

/* ------------------------------------------------------------------ the place for a message --- */

static void every_refused_call_does_without_a_place_for_a_message(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&refusal_axis}, refusal_fits, refusal_run_without_place, 0};
  refusal_name_all();
  sweep_run(fx, &space);
}

static void call_rightly(tbk_fixture_t* fx, unsigned aspects, bool without_error) {
  enum { TIMES = 3 }; /* a call may say something at every other time */
  every_call_t* on = every_call_make(fx);
  on->without_error = without_error;
  for (int i = 0; i < TIMES; ++i) {
    refusal_call_rightly(fx, on, aspects, false);
    refusal_call_rightly(fx, on, aspects, true);
  }
  if (on->stream != NULL) fx_synchronize(fx, on->stream);
  every_call_end(fx, on);
}

static void every_call_does_without_a_place_for_a_message(tbk_fixture_t* fx) {
  call_rightly(fx, 0, true);
}

static void no_call_that_succeeds_writes_a_message(tbk_fixture_t* fx) {
  call_rightly(fx, REFUSAL_SILENCE, false);
}

static const tbk_case_t cases[] = {
    TBK_CASE("ERR-001", NULL, 0, every_refused_call_changes_nothing),
    TBK_CASE("ERR-008", NULL, 0, every_refused_call_gives_a_reason),
    TBK_CASE("ERR-009", NULL, 0, every_refused_call_answers_as_the_header_says),
    TBK_CASE("ERR-010", NULL, 0, every_refused_call_does_without_a_place_for_a_message),
    TBK_CASE("ERR-010", NULL, 0, every_call_does_without_a_place_for_a_message),
    TBK_CASE("ERR-011", NULL, 0, no_call_that_succeeds_writes_a_message),
    TBK_CASE("ERR-001", NULL, TBK_CASE_THOROUGH, a_refused_call_changes_nothing),
};
TBK_SUITE(sweep_refusal);
