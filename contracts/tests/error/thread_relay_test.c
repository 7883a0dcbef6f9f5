/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads that hand on what they made: another uses it, and it outlives its maker.
 */
#include <string.h>

#include "range.h"
#include "workers.h"

static void make_all(tbk_fixture_t* fx, worker_t* worker) {
  CHECK_OK(fx->core->memory_alloc(fx->self, fx->device, WORK_BYTES, &worker->memory, &fx->error));
  if (fx->stream != NULL)
    CHECK_OK(fx->stream->stream_create(fx->self, fx->device, 0, &worker->stream, &fx->error));
  if (fx->event != NULL)
    CHECK_OK(fx->event->event_create(fx->self, fx->device, 0, &worker->event, &fx->error));
  if (fx->pinned != NULL)
    CHECK_OK(
        fx->pinned->pinned_alloc(fx->self, fx->device, WORK_BYTES, &worker->pinned, &fx->error));
}

static void use_all(tbk_fixture_t* fx, worker_t* worker) {
  CHECK_OK(fx->core->upload(fx->self, fx->device, worker->memory, 0, worker->bytes, WORK_BYTES,
                            worker->stream, &fx->error));
  if (worker->event != NULL) {
    CHECK_OK(fx->event->event_record(fx->self, worker->event, worker->stream, &fx->error));
    CHECK_OK(fx->event->event_synchronize(fx->self, worker->event, &fx->error));
  }
  CHECK_OK(fx->core->download(fx->self, fx->device, worker->seen, worker->memory, 0, WORK_BYTES,
                              worker->stream, &fx->error));
  if (worker->stream != NULL)
    CHECK_OK(fx->stream->stream_synchronize(fx->self, worker->stream, &fx->error));
  CHECK_BYTES(worker->bytes, worker->seen, WORK_BYTES);
  if (worker->pinned != NULL) memcpy(worker->pinned, worker->bytes, WORK_BYTES);
}

static void destroy_all(tbk_fixture_t* fx, worker_t* worker) {
  CHECK_OK(fx->core->memory_free(fx->self, fx->device, worker->memory, &fx->error));
  if (worker->event != NULL) fx->event->event_destroy(fx->self, worker->event);
  if (worker->stream != NULL) fx->stream->stream_destroy(fx->self, worker->stream);
  if (worker->pinned != NULL) fx->pinned->pinned_free(fx->self, worker->pinned);
}

/* A thread of its own for each step; the maker has ended before its things are used. */
static void check_relay(tbk_fixture_t* fx) {
  worker_t* workers = workers_make(fx, NULL);
  for (int i = 0; i < WORKERS; ++i) {
    worker_run_alone(fx, &workers[i], make_all);
    worker_run_alone(fx, &workers[i], use_all);
    use_all(fx, &workers[i]);
    worker_run_alone(fx, &workers[i], destroy_all);
  }
}

static void what_one_thread_made_another_uses_and_destroys(tbk_fixture_t* fx) {
  check_relay(fx);
}

static void what_a_thread_made_on_the_second_device_another_uses(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_relay(fx);
}

static void what_the_main_thread_made_others_use_and_destroy(tbk_fixture_t* fx) {
  worker_t* workers = workers_make(fx, NULL);
  for (int i = 0; i < WORKERS; ++i)
    make_all(fx, &workers[i]);
  for (int i = 0; i < WORKERS; ++i)
    workers[i].body = use_all;
  workers_run(fx, workers);
  for (int i = 0; i < WORKERS; ++i)
    worker_run_alone(fx, &workers[i], destroy_all);
}

/* Some end while their work is still to be done, others when it is complete. */
static void enqueue_and_end(tbk_fixture_t* fx, worker_t* worker) {
  make_all(fx, worker);
  for (int turn = 0; turn < TURNS; ++turn)
    CHECK_OK(fx->core->upload(fx->self, fx->device, worker->memory, 0,
                              worker->bytes + turn * WORK_BYTES, WORK_BYTES, worker->stream,
                              &fx->error));
  if (worker->index % 2 == 0 && worker->stream != NULL)
    CHECK_OK(fx->stream->stream_synchronize(fx->self, worker->stream, &fx->error));
}

/* Neither its work nor what it made ends with the thread. */
static void a_thread_that_ends_takes_nothing_with_it(tbk_fixture_t* fx) {
  worker_t* workers = workers_make(fx, enqueue_and_end);
  for (int i = 0; i < WORKERS; ++i)
    worker_run_alone(fx, &workers[i], enqueue_and_end);
  for (int i = 0; i < WORKERS; ++i) {
    if (workers[i].stream != NULL) fx_synchronize(fx, workers[i].stream);
    FX_CHECK_MEMORY(fx, workers[i].bytes + (TURNS - 1) * WORK_BYTES, workers[i].memory, WORK_BYTES);
    use_all(fx, &workers[i]);
  }
  for (int i = 0; i < WORKERS; ++i)
    destroy_all(fx, &workers[i]);
}

static const tbk_case_t cases[] = {
    TBK_CASE("THR-004", NULL, 0, what_one_thread_made_another_uses_and_destroys),
    TBK_CASE("THR-004", "two_devices", 0, what_a_thread_made_on_the_second_device_another_uses),
    TBK_CASE("THR-004", NULL, 0, what_the_main_thread_made_others_use_and_destroy),
    TBK_CASE("THR-005", NULL, 0, a_thread_that_ends_takes_nothing_with_it),
};
TBK_SUITE(thread_relay);
