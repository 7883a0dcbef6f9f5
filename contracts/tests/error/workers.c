/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "workers.h"

#include <sched.h>

static void worker_run(void* argument) {
  worker_t* worker = argument;
  atomic_fetch_sub(worker->waiting, 1);
  while (atomic_load(worker->waiting) > 0)
    sched_yield();
  worker->body(&worker->fx, worker);
}

worker_t* workers_make(tbk_fixture_t* fx, worker_fn body) {
  worker_t* workers = (worker_t*)(void*)fx_zeros(fx, WORKERS * sizeof *workers);
  atomic_int* waiting = (atomic_int*)(void*)fx_zeros(fx, sizeof *waiting);
  for (int i = 0; i < WORKERS; ++i) {
    workers[i].fx = *fx;
    workers[i].body = body;
    workers[i].index = i;
    workers[i].waiting = waiting;
    workers[i].bytes = fx_bytes(fx, TURNS * WORK_BYTES);
    workers[i].seen = fx_zeros(fx, TURNS * WORK_BYTES);
  }
  return workers;
}

void workers_run(tbk_fixture_t* fx, worker_t* workers) {
  tbk_thread_t* threads[WORKERS];
  atomic_store(workers->waiting, WORKERS);
  for (int i = 0; i < WORKERS; ++i)
    threads[i] = fx_thread(fx, worker_run, &workers[i]);
  for (int i = 0; i < WORKERS; ++i)
    fx_join(fx, threads[i]);
}

void worker_run_alone(tbk_fixture_t* fx, worker_t* worker, worker_fn body) {
  worker->body = body;
  atomic_store(worker->waiting, 1);
  fx_join(fx, fx_thread(fx, worker_run, worker));
}
