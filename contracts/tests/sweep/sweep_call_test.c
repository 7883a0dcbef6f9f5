/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which call of all calls: every function in the map of tables is called from two threads at a time,
 * each on objects of its own, beside every other function.
 */
#include <stdatomic.h>

#include "every_call.h"

enum { WORKERS = 2, ROUNDS = 12 };

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
  for (size_t i = 0; i < ROUNDS * every_call_count; i++) {
    const call_row_t* row = &every_call[(worker->first + i) % every_call_count];
    if (call_takes_away(row) || !row->offered(fx, worker->on)) continue;
    const tbk_status_t status = row->call(fx, worker->on);
    CHECK_SAID(call_is_right(row, status), "success", "%s from %s", tbk_status_name(status),
               row->function);
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

static const tbk_case_t cases[] = {
    TBK_CASE("THR-001", NULL, 0, every_function_is_called_from_two_threads_at_a_time),
};
TBK_SUITE(sweep_call);
