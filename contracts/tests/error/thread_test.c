/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads: four of them make calls at the same time, and no call goes by what is current. What they
 * share is in thread_stream_test.c, what they hand on in thread_relay_test.c.
 */
#include <sched.h>
#include <string.h>

#include "range.h"
#include "workers.h"

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
    CHECK_EQUAL(fx->properties.memory_alignment, properties.memory_alignment);
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
  fx_use_device(fx, fx_second_device(fx));
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
  fx_use_device(fx, fx_second_device(fx));
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
    fx_use_device(fx, turn % 2 == 0 ? first : second);
    block_make(fx, &gone, WORK_BYTES);
    fx_use_device(fx, turn % 2 == 0 ? second : first);
    block_make(fx, &kept, WORK_BYTES);
    fx_use_device(fx, turn % 2 == 0 ? first : second);
    block_drop(fx, &gone);
    fx_use_device(fx, turn % 2 == 0 ? second : first);
    block_make(fx, &later, WORK_BYTES);
    BLOCK_CHECK(fx, &kept);
    BLOCK_CHECK(fx, &later);
  }
  fx_use_device(fx, first);
}

/* The same with more than a device has: what went to the wrong one is missing here. */
static void a_free_gives_back_to_the_device_that_it_names(tbk_fixture_t* fx) {
  const int32_t second = fx_second_device(fx);
  uint64_t size_bytes = room_left(fx) / 8;
  for (int turn = 0; turn < RANGE_ROUNDS; ++turn) {
    tbk_memory_t small = 0;
    REQUIRE_OK(room_take(fx, size_bytes));
    REQUIRE_OK(fx->core->memory_alloc(fx->self, second, WORK_BYTES, &small, &fx->error));
    room_release(fx, 0);
    CHECK_OK(fx->core->memory_free(fx->self, second, small, &fx->error));
  }
}

/* Calls that name a device, and might make it the current one. */
static void name_by_properties(tbk_fixture_t* fx, int32_t device) {
  tbk_device_properties_t properties = {.struct_size = sizeof properties};
  CHECK_OK(fx->core->device_properties(fx->self, device, &properties, &fx->error));
}

static void name_by_memory(tbk_fixture_t* fx, int32_t device) {
  tbk_memory_t memory = 0;
  CHECK_OK(fx->core->memory_alloc(fx->self, device, WORK_BYTES, &memory, &fx->error));
  CHECK_OK(fx->core->memory_free(fx->self, device, memory, &fx->error));
}

static void name_by_stream(tbk_fixture_t* fx, int32_t device) {
  tbk_stream_t* stream = NULL;
  if (fx->stream == NULL) return;
  CHECK_OK(fx->stream->stream_create(fx->self, device, 0, &stream, &fx->error));
  fx->stream->stream_destroy(fx->self, stream);
}

static void name_by_synchronize(tbk_fixture_t* fx, int32_t device) {
  if (fx->stream == NULL) return;
  CHECK_OK(fx->stream->device_synchronize(fx->self, device, &fx->error));
}

typedef void (*name_fn)(tbk_fixture_t* fx, int32_t device);
static const name_fn naming_calls[] = {name_by_properties, name_by_memory, name_by_stream,
                                       name_by_synchronize};
enum { NAMING_CALLS = sizeof naming_calls / sizeof *naming_calls };

static uint64_t free_bytes_of(tbk_fixture_t* fx, int32_t device) {
  uint64_t free_bytes = 0, total_bytes = 0;
  REQUIRE_OK(fx->core->memory_info(fx->self, device, &free_bytes, &total_bytes, &fx->error));
  return free_bytes;
}

/* Returns what is free, right even where the answer goes by an earlier call. */
static uint64_t free_when_named(tbk_fixture_t* fx, int32_t device) {
  for (int i = 0; i < NAMING_CALLS; ++i)
    naming_calls[i](fx, device);
  return free_bytes_of(fx, device);
}

/* Returns whether `higher` reports at least `least` bytes less each time that `lower` was named before it. Neither what
   others take nor what is given back late has this rhythm. */
static bool follows(tbk_fixture_t* fx, int32_t higher, int32_t lower, name_fn name,
                    uint64_t least) {
  enum { TIMES = 12 };
  for (int turn = 0; turn < TIMES; ++turn) {
    name(fx, lower);
    const uint64_t low = free_bytes_of(fx, higher);
    name(fx, higher);
    const uint64_t high = free_bytes_of(fx, higher);
    if (high < low || high - low < least) return false;
  }
  return true;
}

/* Much is taken from a device, so that the answers of the two differ; returns whether they do. */
static bool check_free_memory(tbk_fixture_t* fx, const int32_t devices[2], int from) {
  const size_t mark = room_mark(fx);
  fx_use_device(fx, devices[from]);
  const uint64_t piece = free_when_named(fx, devices[from]) / 4;
  const tbk_status_t status = room_take(fx, piece);
  fx_use_device(fx, devices[0]);
  const uint64_t has[2] = {free_when_named(fx, devices[0]), free_when_named(fx, devices[1])};
  const int low = has[0] <= has[1] ? 0 : 1;
  const uint64_t gap = has[1 - low] - has[low];
  const bool differ = status == TBK_OK && gap >= 2 && gap >= piece / 2;
  for (int i = 0; differ && i < NAMING_CALLS; ++i)
    CHECK_SAID(!follows(fx, devices[1 - low], devices[low], naming_calls[i], gap / 2),
               "the free memory of the device that is named",
               "for device %d that of the one that an earlier call named", (int)devices[1 - low]);
  room_release(fx, mark);
  return differ;
}

static void free_memory_is_told_of_the_device_that_is_named(tbk_fixture_t* fx) {
  const int32_t devices[2] = {fx->device, fx_second_device(fx)};
  const bool first = check_free_memory(fx, devices, 0), second = check_free_memory(fx, devices, 1);
  if (!first && !second)
    fx_evidence(fx, TBK_NOT_SHOWN, "the devices do not differ in their free memory");
}

/* The check and the opening are one step: of all that open a device at a time, one has. */
static void open_at_once(tbk_fixture_t* fx, worker_t* worker) {
  const tbk_status_t status = fx->core->device_open(fx->self, fx->device, &fx->error);
  *worker->seen = status == TBK_OK;
  if (status != TBK_OK) CHECK_STATUS(TBK_INVALID_STATE, status);
}

static void one_of_several_threads_opens_a_device(tbk_fixture_t* fx) {
  const uint64_t enough = fx_now_ns() + FX_PATIENCE_NS / 8; /* to open may take seconds */
  worker_t* workers = workers_make(fx, open_at_once);
  for (int turn = 0; turn < 12 && (turn == 0 || fx_now_ns() < enough); ++turn) {
    int opened = 0;
    workers_run(fx, workers);
    for (int i = 0; i < WORKERS; ++i)
      opened += *workers[i].seen;
    CHECK_EQUAL(1, opened);
    if (opened > 0) CHECK_OK(fx->core->device_close(fx->self, fx->device, &fx->error));
  }
}

/* Two threads to each device. */
static void threads_use_different_devices_at_the_same_time(tbk_fixture_t* fx) {
  worker_t* workers = workers_make(fx, ask_and_copy);
  int32_t first = fx->device;
  for (int i = 0; i < WORKERS; ++i) {
    fx_use_device(fx, i % 2 == 0 ? first : fx_second_device(fx));
    workers[i].fx.device = fx->device;
    workers[i].fx.properties = fx->properties;
    workers[i].memory = fx_alloc(fx, WORK_BYTES);
    workers[i].other = fx_alloc(fx, WORK_BYTES);
  }
  fx_use_device(fx, first);
  workers_run(fx, workers);
  for (int i = 0; i < WORKERS; ++i)
    CHECK_BYTES(workers[i].bytes, workers[i].seen, TURNS * WORK_BYTES);
}

static const tbk_case_t cases[] = {
    TBK_CASE("THR-001", NULL, 0, threads_copy_at_the_same_time),
    TBK_CASE("THR-001", "two_devices", 0, threads_copy_on_the_second_device_at_the_same_time),
    TBK_CASE("THR-001", NULL, 0, an_error_stays_with_the_thread_that_made_it),
    TBK_CASE("THR-001", "stream", 0, threads_make_and_destroy_streams_at_the_same_time),
    TBK_CASE("DEV-017", NULL, TBK_CASE_CLOSED, one_of_several_threads_opens_a_device),
    TBK_CASE("THR-002", NULL, 0, threads_allocate_and_free_at_the_same_time),
    TBK_CASE("THR-002", "two_devices", 0, threads_allocate_and_free_on_the_second_device),
    TBK_CASE("THR-002", "pinned", 0, threads_pin_and_unpin_at_the_same_time),
    TBK_CASE("THR-006", "two_devices", 0, a_call_goes_to_the_device_that_it_names),
    TBK_CASE("THR-006", "two_devices", 0, a_free_goes_to_the_device_that_it_names),
    TBK_CASE("THR-006", "memory_bytes two_devices", 0,
             a_free_gives_back_to_the_device_that_it_names),
    TBK_CASE("THR-006", "memory_info two_devices", TBK_CASE_ALONE,
             free_memory_is_told_of_the_device_that_is_named),
    TBK_CASE("THR-006", "two_devices", 0, threads_use_different_devices_at_the_same_time),
};
TBK_SUITE(thread);
