/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which thread, and beside what: every function in the map of tables is called from two threads at a
 * time, each on objects of its own, beside every other function; on what another thread has made; and
 * while work is pending that it must not wait for.
 */
#include <sched.h>
#include <stdatomic.h>

#include "effects.h"
#include "every_call.h"
#include "gate.h"
#include "room.h"

enum { WORKERS = 2, ROUNDS = 12 };
#define ENOUGH_NS (FX_PATIENCE_NS / 4)

typedef struct worker {
  tbk_fixture_t fx; /* for an error buffer of its own */
  every_call_t* on;
  atomic_int* waiting;
  size_t first; /* where in the list it begins, so that different functions meet */
} worker_t;

static void call_all(void* argument) {
  worker_t* worker = argument;
  tbk_fixture_t* fx = &worker->fx;
  atomic_fetch_sub(worker->waiting, 1);
  while (atomic_load(worker->waiting) > 0)
    continue;
  const uint64_t enough = fx_now_ns() + ENOUGH_NS;
  for (size_t i = 0; i < ROUNDS * every_call_count; i++) {
    if (i % every_call_count == 0 && i > 0 && fx_now_ns() > enough) return; /* calls may be slow */
    const call_row_t* row = &every_call[(worker->first + i) % every_call_count];
    if (call_takes_away(row) || !row->offered(fx, worker->on)) continue;
    const tbk_status_t status = row->call(fx, worker->on);
    CHECK_SAID(call_is_right(row, status), call_expected(row), "%s from %s",
               tbk_status_name(status), row->function);
  }
}

static void every_function_is_called_from_two_threads_at_a_time(tbk_fixture_t* fx) {
  worker_t* workers = (worker_t*)(void*)fx_zeros(fx, WORKERS * sizeof *workers);
  atomic_int* waiting = (atomic_int*)(void*)fx_zeros(fx, sizeof *waiting);
  tbk_thread_t* threads[WORKERS];
  atomic_store(waiting, WORKERS);
  for (size_t i = 0; i < WORKERS; i++)
    workers[i] = (worker_t){*fx, every_call_make(fx), waiting, i * every_call_count / 2};
  for (size_t i = 0; i < WORKERS; i++)
    threads[i] = fx_thread(fx, call_all, &workers[i]);
  for (size_t i = 0; i < WORKERS; i++)
    fx_join(fx, threads[i]);
  for (size_t i = 0; i < WORKERS; i++) {
    if (workers[i].on->stream != NULL) fx_synchronize(fx, workers[i].on->stream);
    every_call_end(fx, workers[i].on);
  }
}

/* ----------------------------------------------------------- what every function is for ------ */

typedef struct effects_worker {
  tbk_fixture_t fx;
  effects_t* on;
  atomic_int* waiting;
  int rounds;
  bool alone; /* gives back as well */
} effects_worker_t;

static void check_effects(void* argument) {
  effects_worker_t* worker = argument;
  atomic_fetch_sub(worker->waiting, 1);
  while (atomic_load(worker->waiting) > 0)
    sched_yield();
  for (int i = 0; i < worker->rounds; i++)
    effects_check(&worker->fx, worker->on);
  if (worker->alone) effects_end(&worker->fx, worker->on);
}

static void run_on_threads(tbk_fixture_t* fx, effects_worker_t* workers, int count) {
  tbk_thread_t* threads[WORKERS];
  atomic_store(workers->waiting, count);
  for (int i = 0; i < count; i++)
    threads[i] = fx_thread(fx, check_effects, &workers[i]);
  for (int i = 0; i < count; i++)
    fx_join(fx, threads[i]);
}

/* A few operators at a time: both workers launch the same ones. */
static void work_on_two_threads(tbk_fixture_t* fx, int rounds) {
  static const int parts[] = {OPERATOR_FILL, OPERATOR_MUL, OPERATOR_SUM, OPERATORS};
  effects_worker_t workers[WORKERS];
  atomic_int* waiting = (atomic_int*)(void*)fx_zeros(fx, sizeof *waiting);
  for (int i = 0; i < WORKERS; i++)
    workers[i] = (effects_worker_t){*fx, effects_make_bare(fx), waiting, rounds, false};
  for (int part = 0; part < (int)(sizeof parts / sizeof *parts) - 1; part++) {
    const size_t mark = room_mark(fx);
    for (int i = 0; i < WORKERS; i++)
      effects_take_operators(fx, workers[i].on, parts[part], parts[part + 1]);
    run_on_threads(fx, workers, WORKERS);
    room_release(fx, mark);
  }
  for (int i = 0; i < WORKERS; i++)
    effects_end(fx, workers[i].on);
}

static void every_function_works_on_two_threads_at_a_time(tbk_fixture_t* fx) {
  work_on_two_threads(fx, 1);
}

static void every_function_works_on_two_threads_many_times(tbk_fixture_t* fx) {
  work_on_two_threads(fx, 8);
}

static void every_function_works_on_what_another_thread_made(tbk_fixture_t* fx) {
  atomic_int* waiting = (atomic_int*)(void*)fx_zeros(fx, sizeof *waiting);
  effects_worker_t worker = {*fx, effects_make(fx), waiting, 2, true};
  run_on_threads(fx, &worker, 1);
}

/* ------------------------------------------------------------------- asks the host alone ------ */

static void ask_behind_gate(tbk_fixture_t* fx, bool of_devices) {
  tbk_gate_t gate;
  every_call_t* on = every_call_make(fx);
  if (on->stream != NULL) gate_close_over(fx, &gate, on->stream, 0);
  const bool closed = on->stream != NULL && gate_is_closed(&gate);
  for (size_t i = 0; i < every_call_count; i++) {
    const call_row_t* row = &every_call[i];
    if (!row->fallible || !call_is(row, "host_only") || !row->offered(fx, on)) continue;
    if (call_is(row, "asks_of_devices") != of_devices) continue;
    const tbk_status_t status = row->call(fx, on);
    CHECK_SAID(call_is_right(row, status), "an answer", "%s from %s", tbk_status_name(status),
               row->function);
    CHECK_SAID(!closed || gate_is_closed(&gate), "an answer at once", "%s waited for enqueued work",
               row->function);
  }
  if (on->stream != NULL) {
    gate_open(fx, &gate);
    fx_synchronize(fx, on->stream);
  }
  every_call_end(fx, on);
}

static void every_question_is_answered_while_work_is_pending(tbk_fixture_t* fx) {
  ask_behind_gate(fx, false);
}

static void devices_are_described_while_work_is_pending(tbk_fixture_t* fx) {
  ask_behind_gate(fx, true);
}

static const tbk_case_t cases[] = {
    TBK_CASE("THR-001", NULL, 0, every_function_is_called_from_two_threads_at_a_time),
    TBK_CASE("THR-001", NULL, 0, every_function_works_on_two_threads_at_a_time),
    TBK_CASE("THR-001", NULL, TBK_CASE_THOROUGH, every_function_works_on_two_threads_many_times),
    TBK_CASE("THR-004", NULL, 0, every_function_works_on_what_another_thread_made),
    TBK_CASE("STR-018", "stream", 0, every_question_is_answered_while_work_is_pending),
    TBK_CASE("DEV-004", NULL, 0, devices_are_described_while_work_is_pending),
};
TBK_SUITE(sweep_call);
