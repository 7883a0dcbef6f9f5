/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * workers.h: threads that a test starts at the same time, or one after the other.
 */
#ifndef TBK_CONTRACTS_WORKERS_H
#define TBK_CONTRACTS_WORKERS_H

#include <stdatomic.h>

#include "fixture.h"

enum { WORKERS = 4, TURNS = 40, WORK_BYTES = 4096 };

typedef struct worker worker_t;
typedef void (*worker_fn)(tbk_fixture_t* fx, worker_t* worker);

struct worker {
  tbk_fixture_t fx; /* a copy with an error of its own: CHECK is allowed, REQUIRE is not */
  worker_fn body;
  int index;
  atomic_int* waiting; /* all start together */
  tbk_stream_t* stream;
  tbk_event_t* event;
  tbk_memory_t memory;
  tbk_memory_t other;
  void* pinned;
  uint8_t* bytes; /* WORK_BYTES for each turn */
  uint8_t* seen;
};

/* Returns WORKERS of them, each with `body` and bytes of its own. */
worker_t* workers_make(tbk_fixture_t* fx, worker_fn body);
/* Runs all at the same time, and returns when all have ended. */
void workers_run(tbk_fixture_t* fx, worker_t* workers);
/* Runs `body` for one worker alone, on a thread that has ended when this returns. */
void worker_run_alone(tbk_fixture_t* fx, worker_t* worker, worker_fn body);

#endif /* TBK_CONTRACTS_WORKERS_H */
