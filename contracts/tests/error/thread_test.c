/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads: four of them make calls at the same time, or hand on to each other what they made.
 */
#include "fixture.h"
#include "range.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

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

static void worker_run(void* argument) {
  worker_t* worker = argument;
  atomic_fetch_sub(worker->waiting, 1);
  while (atomic_load(worker->waiting) > 0)
    sched_yield();
  worker->body(&worker->fx, worker);
}

static worker_t* workers_make(tbk_fixture_t* fx, worker_fn body) {
  worker_t* workers = (worker_t*)(void*)fx_zeros(fx, WORKERS * sizeof *workers);
  atomic_int* waiting = (atomic_int*)(void*)fx_zeros(fx, sizeof *waiting);
  atomic_store(waiting, WORKERS);
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

static void workers_run(tbk_fixture_t* fx, worker_t* workers) {
  tbk_thread_t* threads[WORKERS];
  for (int i = 0; i < WORKERS; ++i)
    threads[i] = fx_thread(fx, worker_run, &workers[i]);
  for (int i = 0; i < WORKERS; ++i)
    fx_join(fx, threads[i]);
}

/* One worker alone, on a thread that has ended when this returns. */
static void worker_run_alone(tbk_fixture_t* fx, worker_t* worker) {
  atomic_store(worker->waiting, 1);
  fx_join(fx, fx_thread(fx, worker_run, worker));
}

/* ---------------------------------------------------------------- every call at the same time -- */

static void ask_and_copy(tbk_fixture_t* fx, worker_t* worker) {
  for (int turn = 0; turn < TURNS; ++turn) {
    uint8_t* bytes = worker->bytes + turn * WORK_BYTES;
    uint8_t* seen = worker->seen + turn * WORK_BYTES;
    int32_t count = 0;
    tbk_device_properties_t properties = {.struct_size = sizeof properties};
    CHECK_OK(fx->core->device_count(fx->self, &count, &fx->error));
    CHECK_EQUAL(fx->device_count, count);
    CHECK_OK(fx->core->device_properties(fx->self, fx->device, &properties, &fx->error));
    CHECK(properties.memory_alignment == fx->properties.memory_alignment);
    CHECK_OK(fx->core->upload(fx->self, fx->device, worker->memory, 0, bytes, WORK_BYTES, NULL,
                              &fx->error));
    CHECK_OK(fx->core->copy(fx->self, fx->device, worker->other, 0, worker->memory, 0, WORK_BYTES,
                            NULL, &fx->error));
    CHECK_OK(fx->core->download(fx->self, fx->device, seen, worker->other, 0, WORK_BYTES, NULL,
                                &fx->error));
  }
}

static void check_ask_and_copy(tbk_fixture_t* fx) {
  worker_t* workers = workers_make(fx, ask_and_copy);
  for (int i = 0; i < WORKERS; ++i) {
    workers[i].memory = fx_alloc(fx, WORK_BYTES);
    workers[i].other = fx_alloc(fx, WORK_BYTES);
  }
  workers_run(fx, workers);
  for (int i = 0; i < WORKERS; ++i)
    CHECK_BYTES(workers[i].bytes, workers[i].seen, TURNS * WORK_BYTES);
}

static void threads_copy_at_the_same_time(tbk_fixture_t* fx) {
  check_ask_and_copy(fx);
}

static void threads_copy_on_the_second_device_at_the_same_time(tbk_fixture_t* fx) {
  range_use_second_device(fx);
  check_ask_and_copy(fx);
}

/* Refusals and successes side by side: an error belongs to the call that failed. */
static void fail_and_copy(tbk_fixture_t* fx, worker_t* worker) {
  for (int turn = 0; turn < TURNS; ++turn) {
    tbk_memory_t memory = 0;
    if (worker->index % 2 == 0) {
      fx->error.message[0] = '\0';
      CHECK_STATUS(TBK_INVALID, fx->core->memory_alloc(fx->self, fx->device, 64, NULL, &fx->error));
      CHECK(fx->error.message[0] != '\0');
      CHECK_STATUS(TBK_OUT_OF_MEMORY,
                   fx->core->memory_alloc(fx->self, fx->device, INT64_MAX, &memory, &fx->error));
    } else {
      CHECK_OK(fx->core->memory_alloc(fx->self, fx->device, 64, &memory, &fx->error));
      CHECK_OK(fx->core->memory_free(fx->self, fx->device, memory, &fx->error));
    }
  }
}

static void an_error_stays_with_the_thread_that_made_it(tbk_fixture_t* fx) {
  workers_run(fx, workers_make(fx, fail_and_copy));
}

/* Each thread makes, uses and destroys streams and events of its own. */
static void make_and_destroy(tbk_fixture_t* fx, worker_t* worker) {
  for (int turn = 0; turn < TURNS; ++turn) {
    uint8_t* bytes = worker->bytes + turn * WORK_BYTES;
    uint8_t* seen = worker->seen + turn * WORK_BYTES;
    tbk_stream_t* stream = NULL;
    CHECK_OK(fx->stream->stream_create(fx->self, fx->device, 0, &stream, &fx->error));
    if (stream == NULL) return;
    CHECK_OK(fx->core->upload(fx->self, fx->device, worker->memory, 0, bytes, WORK_BYTES, stream,
                              &fx->error));
    CHECK_OK(fx->core->download(fx->self, fx->device, seen, worker->memory, 0, WORK_BYTES, stream,
                                &fx->error));
    CHECK_OK(fx->stream->stream_synchronize(fx->self, stream, &fx->error));
    fx->stream->stream_destroy(fx->self, stream);
  }
}

static void threads_make_and_destroy_streams_at_the_same_time(tbk_fixture_t* fx) {
  worker_t* workers = workers_make(fx, make_and_destroy);
  for (int i = 0; i < WORKERS; ++i)
    workers[i].memory = fx_alloc(fx, WORK_BYTES);
  workers_run(fx, workers);
  for (int i = 0; i < WORKERS; ++i)
    CHECK_BYTES(workers[i].bytes, workers[i].seen, TURNS * WORK_BYTES);
}

/* ---------------------------------------------------------------------- allocate and free ------ */

static void allocate_and_free(tbk_fixture_t* fx, worker_t* worker) {
  enum { KEPT = 4 };
  tbk_memory_t kept[KEPT] = {0};
  for (int turn = 0; turn < TURNS; ++turn) {
    uint8_t* bytes = worker->bytes + turn % KEPT * WORK_BYTES;
    tbk_memory_t* memory = &kept[turn % KEPT];
    if (*memory != 0) {
      CHECK_OK(fx->core->download(fx->self, fx->device, worker->seen, *memory, 0, WORK_BYTES, NULL,
                                  &fx->error));
      CHECK_BYTES(bytes, worker->seen, WORK_BYTES);
      CHECK_OK(fx->core->memory_free(fx->self, fx->device, *memory, &fx->error));
      *memory = 0;
    }
    CHECK_OK(fx->core->memory_alloc(fx->self, fx->device, WORK_BYTES, memory, &fx->error));
    CHECK(*memory != 0);
    CHECK_OK(
        fx->core->upload(fx->self, fx->device, *memory, 0, bytes, WORK_BYTES, NULL, &fx->error));
  }
  for (int i = 0; i < KEPT; ++i)
    CHECK_OK(fx->core->memory_free(fx->self, fx->device, kept[i], &fx->error));
}

static void threads_allocate_and_free_at_the_same_time(tbk_fixture_t* fx) {
  workers_run(fx, workers_make(fx, allocate_and_free));
}

static void threads_allocate_and_free_on_the_second_device(tbk_fixture_t* fx) {
  range_use_second_device(fx);
  workers_run(fx, workers_make(fx, allocate_and_free));
}

static void pin_and_unpin(tbk_fixture_t* fx, worker_t* worker) {
  for (int turn = 0; turn < TURNS; ++turn) {
    uint8_t* bytes = worker->bytes + turn * WORK_BYTES;
    void* pointer = NULL;
    CHECK_OK(fx->pinned->pinned_alloc(fx->self, fx->device, WORK_BYTES, &pointer, &fx->error));
    if (pointer == NULL) return;
    memcpy(pointer, bytes, WORK_BYTES);
    sched_yield();
    CHECK_BYTES(bytes, pointer, WORK_BYTES);
    fx->pinned->pinned_free(fx->self, pointer);
  }
}

static void threads_pin_and_unpin_at_the_same_time(tbk_fixture_t* fx) {
  workers_run(fx, workers_make(fx, pin_and_unpin));
}

/* ------------------------------------------------------------------------- one stream for all -- */

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
  range_use_second_device(fx);
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

/* ------------------------------------------------------------------- made here, used there ----- */

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

static void run_alone(tbk_fixture_t* fx, worker_t* worker, worker_fn body) {
  worker->body = body;
  worker_run_alone(fx, worker);
}

/* A thread of its own for each step; the maker has ended before its things are used. */
static void check_relay(tbk_fixture_t* fx) {
  worker_t* workers = workers_make(fx, NULL);
  for (int i = 0; i < WORKERS; ++i) {
    run_alone(fx, &workers[i], make_all);
    run_alone(fx, &workers[i], use_all);
    use_all(fx, &workers[i]);
    run_alone(fx, &workers[i], destroy_all);
  }
}

static void what_one_thread_made_another_uses_and_destroys(tbk_fixture_t* fx) {
  check_relay(fx);
}

static void what_a_thread_made_on_the_second_device_another_uses(tbk_fixture_t* fx) {
  range_use_second_device(fx);
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
    run_alone(fx, &workers[i], destroy_all);
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
    run_alone(fx, &workers[i], enqueue_and_end);
  for (int i = 0; i < WORKERS; ++i) {
    if (workers[i].stream != NULL) fx_synchronize(fx, workers[i].stream);
    FX_CHECK_MEMORY(fx, workers[i].bytes + (TURNS - 1) * WORK_BYTES, workers[i].memory, WORK_BYTES);
    use_all(fx, &workers[i]);
  }
  for (int i = 0; i < WORKERS; ++i)
    destroy_all(fx, &workers[i]);
}

/* ----------------------------------------------------------------------- nothing is current ---- */

/* Calls that name one device and the other in turn, from one thread. */
static void a_call_goes_to_the_device_that_it_names(tbk_fixture_t* fx) {
  const int32_t devices[2] = {fx->device, fx_second_device(fx)};
  tbk_memory_t memory[2];
  uint8_t* seen = fx_zeros(fx, WORK_BYTES);
  for (int turn = 0; turn < RANGE_ROUNDS; ++turn) {
    uint8_t* bytes[2] = {fx_bytes(fx, WORK_BYTES), fx_bytes(fx, WORK_BYTES)};
    for (int i = 0; i < 2; ++i)
      REQUIRE_OK(fx->core->memory_alloc(fx->self, devices[i], WORK_BYTES, &memory[i], &fx->error));
    for (int i = 0; i < 2; ++i)
      REQUIRE_OK(fx->core->upload(fx->self, devices[i], memory[i], 0, bytes[i], WORK_BYTES, NULL,
                                  &fx->error));
    for (int i = 0; i < 2; ++i) {
      REQUIRE_OK(fx->core->download(fx->self, devices[i], seen, memory[i], 0, WORK_BYTES, NULL,
                                    &fx->error));
      CHECK_BYTES(bytes[i], seen, WORK_BYTES);
    }
    for (int i = 0; i < 2; ++i)
      CHECK_OK(fx->core->memory_free(fx->self, devices[i], memory[i], &fx->error));
  }
}

/* Memory of one device is given back while the other allocated last. */
static void a_free_goes_to_the_device_that_it_names(tbk_fixture_t* fx) {
  const int32_t first = fx->device;
  const int32_t second = fx_second_device(fx);
  for (int turn = 0; turn < RANGE_ROUNDS; ++turn) {
    block_t gone;
    block_t kept;
    block_t later;
    fx->device = turn % 2 == 0 ? first : second;
    block_make(fx, &gone, WORK_BYTES);
    fx->device = turn % 2 == 0 ? second : first;
    block_make(fx, &kept, WORK_BYTES);
    fx->device = turn % 2 == 0 ? first : second;
    block_drop(fx, &gone);
    fx->device = turn % 2 == 0 ? second : first;
    block_make(fx, &later, WORK_BYTES);
    BLOCK_CHECK(fx, &kept);
    BLOCK_CHECK(fx, &later);
  }
  fx->device = first;
}

/* The same with more than a device has: what went to the wrong one is missing here. */
static void a_free_gives_back_to_the_device_that_it_names(tbk_fixture_t* fx) {
  const int32_t second = fx_second_device(fx);
  uint64_t size_bytes = fx->properties.memory_bytes / 8;
  for (int turn = 0; turn < RANGE_ROUNDS; ++turn) {
    tbk_memory_t small = 0;
    REQUIRE_OK(room_take(fx, size_bytes));
    REQUIRE_OK(fx->core->memory_alloc(fx->self, second, WORK_BYTES, &small, &fx->error));
    room_release(fx, 0);
    CHECK_OK(fx->core->memory_free(fx->self, second, small, &fx->error));
  }
}

/* Two threads to each device. */
static void threads_use_different_devices_at_the_same_time(tbk_fixture_t* fx) {
  worker_t* workers = workers_make(fx, ask_and_copy);
  int32_t first = fx->device;
  for (int i = 0; i < WORKERS; ++i) {
    fx->device = i % 2 == 0 ? first : fx_second_device(fx);
    workers[i].fx.device = fx->device;
    workers[i].memory = fx_alloc(fx, WORK_BYTES);
    workers[i].other = fx_alloc(fx, WORK_BYTES);
  }
  fx->device = first;
  workers_run(fx, workers);
  for (int i = 0; i < WORKERS; ++i)
    CHECK_BYTES(workers[i].bytes, workers[i].seen, TURNS * WORK_BYTES);
}

static const tbk_case_t cases[] = {
    TBK_CASE("THR-001", NULL, 0, threads_copy_at_the_same_time),
    TBK_CASE("THR-001", "two_devices", 0, threads_copy_on_the_second_device_at_the_same_time),
    TBK_CASE("THR-001", NULL, 0, an_error_stays_with_the_thread_that_made_it),
    TBK_CASE("THR-001", "stream", 0, threads_make_and_destroy_streams_at_the_same_time),
    TBK_CASE("THR-002", NULL, 0, threads_allocate_and_free_at_the_same_time),
    TBK_CASE("THR-002", "two_devices", 0, threads_allocate_and_free_on_the_second_device),
    TBK_CASE("THR-002", "pinned", 0, threads_pin_and_unpin_at_the_same_time),
    TBK_CASE("THR-003", "stream", 0, threads_share_a_stream),
    TBK_CASE("THR-003", "stream two_devices", 0, threads_share_a_stream_of_the_second_device),
    TBK_CASE("THR-003", "stream", 0, a_call_on_a_shared_stream_is_never_half_done),
    TBK_CASE("THR-003", "stream callback", 0, no_callback_on_a_shared_stream_is_lost),
    TBK_CASE("THR-004", NULL, 0, what_one_thread_made_another_uses_and_destroys),
    TBK_CASE("THR-004", "two_devices", 0, what_a_thread_made_on_the_second_device_another_uses),
    TBK_CASE("THR-004", NULL, 0, what_the_main_thread_made_others_use_and_destroy),
    TBK_CASE("THR-005", NULL, 0, a_thread_that_ends_takes_nothing_with_it),
    TBK_CASE("THR-006", "two_devices", 0, a_call_goes_to_the_device_that_it_names),
    TBK_CASE("THR-006", "two_devices", 0, a_free_goes_to_the_device_that_it_names),
    TBK_CASE("THR-006", "memory_bytes two_devices", 0,
             a_free_gives_back_to_the_device_that_it_names),
    TBK_CASE("THR-006", "two_devices", 0, threads_use_different_devices_at_the_same_time),
};
TBK_SUITE(thread);
