/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads that share one stream: each call is whole, and none is lost.
 */
#include <string.h>

#include "range.h"
#include "workers.h"

/* All write the same place on one stream; then each writes a place of its own, in order. */
static void enqueue_on_one_stream(tbk_fixture_t* fx, worker_t* worker) {
  for (int turn = 0; turn < TURNS; ++turn) {
    uint8_t* bytes = worker->bytes + turn * WORK_BYTES;
    uint8_t* seen = worker->seen + turn * WORK_BYTES;
    CHECK_OK(fx->core->upload(fx->self, fx->device, worker->memory, 0, bytes, WORK_BYTES,
                              worker->stream, &fx->error));
    CHECK_OK(fx->core->copy(fx->self, fx->device, worker->other, 0, worker->memory, 0, WORK_BYTES,
                            worker->stream, &fx->error));
    CHECK_OK(fx->core->download(fx->self, fx->device, seen, worker->memory, 0, WORK_BYTES,
                                worker->stream, &fx->error));
  }
}

static bool is_last_of_one(const worker_t* workers, const uint8_t* seen) {
  for (int i = 0; i < WORKERS; ++i)
    if (memcmp(workers[i].bytes + (TURNS - 1) * WORK_BYTES, seen, WORK_BYTES) == 0) return true;
  return false;
}

static void check_one_stream(tbk_fixture_t* fx) {
  worker_t* workers = workers_make(fx, enqueue_on_one_stream);
  tbk_stream_t* stream = fx_stream(fx);
  tbk_memory_t shared = fx_alloc(fx, WORK_BYTES);
  for (int i = 0; i < WORKERS; ++i) {
    workers[i].stream = stream;
    workers[i].memory = fx_alloc(fx, WORK_BYTES);
    workers[i].other = shared;
  }
  workers_run(fx, workers);
  fx_synchronize(fx, stream);
  for (int i = 0; i < WORKERS; ++i)
    CHECK_BYTES(workers[i].bytes, workers[i].seen, TURNS * WORK_BYTES);
  uint8_t* last = fx_zeros(fx, WORK_BYTES);
  fx_download(fx, last, shared, WORK_BYTES);
  CHECK_SAID(is_last_of_one(workers, last), "what one thread wrote last, whole", "%s",
             "a mixture, or something older");
}

static void threads_share_a_stream(tbk_fixture_t* fx) {
  check_one_stream(fx);
}

static void threads_share_a_stream_of_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_one_stream(fx);
}

enum { TAGGED_TURNS = 16 };

/* Writes one byte all over a shared place, reads it back, and does the same with a fill. */
static void write_tags(tbk_fixture_t* fx, worker_t* worker) {
  for (int turn = 0; turn < TAGGED_TURNS; ++turn) {
    uint8_t* bytes = worker->bytes + turn * WORK_BYTES;
    uint8_t* seen = worker->seen + 2 * turn * WORK_BYTES;
    memset(bytes, worker->index * TAGGED_TURNS + turn, WORK_BYTES);
    CHECK_OK(fx->core->upload(fx->self, fx->device, worker->other, 0, bytes, WORK_BYTES,
                              worker->stream, &fx->error));
    CHECK_OK(fx->core->download(fx->self, fx->device, seen, worker->other, 0, WORK_BYTES,
                                worker->stream, &fx->error));
    if (TBK_HAS(fx->core, tbk_core_t, fill))
      CHECK_OK(fx->core->fill(fx->self, fx->device, worker->other, 0,
                              (uint8_t)(128 + worker->index * TAGGED_TURNS + turn), WORK_BYTES,
                              worker->stream, &fx->error));
    CHECK_OK(fx->core->download(fx->self, fx->device, seen + WORK_BYTES, worker->other, 0,
                                WORK_BYTES, worker->stream, &fx->error));
  }
}

/* Whoever wrote what was read, it is one byte all over. */
static void a_call_on_a_shared_stream_is_never_half_done(tbk_fixture_t* fx) {
  worker_t* workers = workers_make(fx, write_tags);
  tbk_stream_t* stream = fx_stream(fx);
  tbk_memory_t shared = fx_alloc(fx, WORK_BYTES);
  uint8_t* expected = fx_zeros(fx, WORK_BYTES);
  fx_upload(fx, shared, expected, WORK_BYTES);
  for (int i = 0; i < WORKERS; ++i) {
    workers[i].stream = stream;
    workers[i].other = shared;
  }
  workers_run(fx, workers);
  fx_synchronize(fx, stream);
  for (int i = 0; i < WORKERS; ++i) {
    for (int block = 0; block < 2 * TAGGED_TURNS; ++block) {
      const uint8_t* seen = workers[i].seen + block * WORK_BYTES;
      memset(expected, seen[0], WORK_BYTES);
      CHECK_BYTES(expected, seen, WORK_BYTES);
    }
  }
}

static void count_one(void* argument) {
  atomic_fetch_add((atomic_int*)argument, 1);
}

static void enqueue_callbacks(tbk_fixture_t* fx, worker_t* worker) {
  for (int turn = 0; turn < TAGGED_TURNS; ++turn)
    CHECK_OK(fx->callback->callback_enqueue(fx->self, worker->stream, count_one, worker->pinned,
                                            &fx->error));
}

static void no_callback_on_a_shared_stream_is_lost(tbk_fixture_t* fx) {
  worker_t* workers = workers_make(fx, enqueue_callbacks);
  atomic_int* count = (atomic_int*)(void*)fx_zeros(fx, sizeof *count);
  tbk_stream_t* stream = fx_stream(fx);
  for (int i = 0; i < WORKERS; ++i) {
    workers[i].stream = stream;
    workers[i].pinned = count;
  }
  workers_run(fx, workers);
  fx_synchronize(fx, stream);
  CHECK_EQUAL(WORKERS * TAGGED_TURNS, atomic_load(count));
}

static const tbk_case_t cases[] = {
    TBK_CASE("THR-003", "stream", 0, threads_share_a_stream),
    TBK_CASE("THR-003", "stream two_devices", 0, threads_share_a_stream_of_the_second_device),
    TBK_CASE("THR-003", "stream", 0, a_call_on_a_shared_stream_is_never_half_done),
    TBK_CASE("THR-003", "stream callback", 0, no_callback_on_a_shared_stream_is_lost),
};
TBK_SUITE(thread_stream);
