/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Callbacks while work before them is pending, without a gate: a gate is a callback itself, and where they run
 * at once nothing can be held. What is judged is the bytes that a callback, or who has seen that it ran, finds;
 * that the work was seen pending before is no more than the control.
 */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "fixture.h"
#include "room.h"

enum { CELL_BYTES = 1 << 18, CELLS = 4, LEAST_COPIES = 64, MOST_COPIES = 1024 };
enum { MOST_ROUNDS = 16, ROUNDS = 4 };

typedef struct pending {
  tbk_fixture_t* fx;
  tbk_stream_t* stream;
  tbk_memory_t memory; /* source, target, and two cells that keep the stream busy */
  uint64_t cell;
  const uint8_t* expected;
  uint8_t* host; /* to which the target is brought, pinned; NULL: it is looked for on the device */
  uint8_t* seen;
  atomic_int ran;
} pending_t;

/* Fresh bytes in the source, and others where they are to arrive. */
static void prepare(pending_t* p) {
  tbk_fixture_t* fx = p->fx;
  uint8_t* both = fx_bytes(fx, 2 * p->cell);
  p->expected = both;
  fx_upload(fx, p->memory, both, 2 * p->cell);
  if (p->host != NULL) memcpy(p->host, both + p->cell, p->cell);
  atomic_store(&p->ran, 0);
}

static void copy_cell(pending_t* p, uint64_t to, uint64_t from) {
  tbk_fixture_t* fx = p->fx;
  REQUIRE_OK(fx->core->copy(fx->self, fx->device, p->memory, to * p->cell, p->memory,
                            from * p->cell, p->cell, p->stream, &fx->error));
}

/* The last of it writes the target; what is before only takes time. */
static void enqueue_work(pending_t* p, int copies) {
  tbk_fixture_t* fx = p->fx;
  for (int i = 0; i < copies; i++)
    copy_cell(p, 3, 2);
  copy_cell(p, 1, 0);
  if (p->host != NULL)
    REQUIRE_OK(fx->core->download(fx->self, fx->device, p->host, p->memory, p->cell, p->cell,
                                  p->stream, &fx->error));
}

/* Looks at the target on the device as it is now, by a call that waits for no stream. */
static bool is_written(pending_t* p) {
  tbk_fixture_t* fx = p->fx;
  REQUIRE_OK(fx->core->download(fx->self, fx->device, p->seen, p->memory, p->cell, p->cell, NULL,
                                &fx->error));
  return memcmp(p->seen, p->expected, p->cell) == 0;
}

static void note_that_it_ran(void* argument) {
  pending_t* p = argument;
  if (p->host != NULL) memcpy(p->seen, p->host, p->cell);
  atomic_store(&p->ran, 1);
}

/* It need not run before somebody asks for what is after it. */
static bool comes_to_run(pending_t* p) {
  tbk_fixture_t* fx = p->fx;
  tbk_status_t status = TBK_NOT_READY;
  const uint64_t begin = fx_awake_ns();
  while (!atomic_load(&p->ran) && status == TBK_NOT_READY &&
         fx_awake_ns() - begin < FX_PATIENCE_NS) {
    status = fx->stream->stream_query(fx->self, p->stream, &fx->error);
    sched_yield();
  }
  return atomic_load(&p->ran);
}

/* Returns whether the work was seen pending before the callback was enqueued. */
static bool run_behind(pending_t* p, int copies) {
  tbk_fixture_t* fx = p->fx;
  prepare(p);
  enqueue_work(p, copies);
  const bool pending = !is_written(p);
  REQUIRE_OK(fx->callback->callback_enqueue(fx->self, p->stream, note_that_it_ran, p, &fx->error));
  const bool ran = comes_to_run(p);
  const bool done = p->host != NULL ? memcmp(p->seen, p->expected, p->cell) == 0 : is_written(p);
  fx_synchronize(fx, p->stream);
  CHECK_SAID(ran, "the callback runs", "it has not run");
  CHECK_SAID(!ran || done, "earlier work is complete and visible to a callback",
             "it ran before the last of %d copies was complete", copies + 1);
  return pending;
}

static void run_rounds(tbk_fixture_t* fx, uint8_t* pinned, uint64_t cell) {
  pending_t* p = (pending_t*)(void*)fx_zeros(fx, sizeof *p);
  *p = (pending_t){.fx = fx, .stream = fx_stream(fx), .cell = cell, .host = pinned};
  p->memory = fx_alloc(fx, CELLS * cell);
  p->seen = fx_zeros(fx, cell);
  fx_upload(fx, p->memory, fx_bytes(fx, CELLS * cell), CELLS * cell);
  int shown = 0;
  for (int i = 0, copies = LEAST_COPIES; i < MOST_ROUNDS && shown < ROUNDS; i++) {
    const bool pending = run_behind(p, copies);
    shown += pending;
    if (!pending && copies == MOST_COPIES) break;
    if (!pending) copies *= 4;
  }
  if (shown == 0)
    fx_evidence(fx, TBK_TRIVIAL, "work before a callback is through before anybody can look");
}

static uint64_t cell_of(const tbk_fixture_t* fx) {
  return fx_round(fx, room_cell(fx, CELL_BYTES, CELLS));
}

static void who_saw_it_run_finds_earlier_work_done(tbk_fixture_t* fx) {
  run_rounds(fx, NULL, cell_of(fx));
}

static void it_finds_what_earlier_work_brought(tbk_fixture_t* fx) {
  void* pinned = NULL;
  const uint64_t cell = cell_of(fx);
  REQUIRE_OK(fx->pinned->pinned_alloc(fx->self, fx->device, cell, &pinned, &fx->error));
  run_rounds(fx, pinned, cell);
  fx->pinned->pinned_free(fx->self, pinned);
}

static const tbk_case_t cases[] = {
    TBK_CASE("CBK-003", "callback", 0, who_saw_it_run_finds_earlier_work_done),
    TBK_CASE("CBK-003", "callback pinned", 0, it_finds_what_earlier_work_brought),
};
TBK_SUITE(callback_pending);
