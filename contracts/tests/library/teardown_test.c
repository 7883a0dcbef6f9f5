/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of instances, devices and processes, in any order.
 */
#include "child.h"
#include "gate.h"
#include "resources.h"
#include "room.h"
#include "tables.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const tbk_backend_t* make(tbk_fixture_t* fx) {
  const tbk_backend_t* backend = NULL;
  REQUIRE_OK(fx->create(fx->host, &backend, &fx->error));
  REQUIRE(backend != NULL);
  return backend;
}

static const tbk_backend_t* make_open(tbk_fixture_t* fx) {
  const tbk_backend_t* backend = make(fx);
  REQUIRE_OK(tbk_device_open_timed(backend, 0, &fx->error));
  return backend;
}

static void destroy(const tbk_backend_t* backend) {
  backend->core->destroy(backend->instance);
}

static int count_files(void) {
  DIR* files = opendir("/proc/self/fd");
  if (files == NULL) return 0;
  int count = 0;
  while (readdir(files) != NULL)
    count++;
  closedir(files);
  return count;
}

/* --------------------------------------------------------------------- destroying instances ----
 * */

static void destroying_closes_what_is_open(tbk_fixture_t* fx) {
  for (int i = 0; i < 2; i++) {
    const tbk_backend_t* backend = make_open(fx);
    tbk_memory_t memory = 0;
    CHECK_OK(backend->core->memory_alloc(backend->instance, 0, 4096, &memory, &fx->error));
    destroy(backend);
  }
  const tbk_backend_t* last = make_open(fx);
  const char* trouble = tbk_device_trouble(last->core, last->instance, 0, fx->seed);
  CHECK_SAID(trouble == NULL, "the device works", "%s fails", trouble);
  CHECK_OK(last->core->device_close(last->instance, 0, &fx->error));
  destroy(last);
}

/* A device that takes long to open is not opened dozens of times. */
static bool opens_quickly(tbk_fixture_t* fx) {
  for (int attempt = 0; attempt < 3; ++attempt) { /* a busy machine may be slow once */
    uint64_t began = fx_now_ns();
    const tbk_backend_t* backend = make_open(fx);
    uint64_t took = fx_now_ns() - began;
    CHECK_OK(backend->core->device_close(backend->instance, 0, &fx->error));
    destroy(backend);
    if (took < UINT64_C(1000000000)) return true;
  }
  fx_evidence(fx, TBK_NOT_SHOWN, "opening takes too long to be repeated often");
  return false;
}

/* Opens every device that there is, and makes something on each. */
static const tbk_backend_t* make_in_use(tbk_fixture_t* fx) {
  const tbk_backend_t* backend = make(fx);
  int32_t count = 0;
  CHECK_OK(backend->core->device_count(backend->instance, &count, &fx->error));
  for (int32_t device = 0; device < count && device < 2; device++) {
    tbk_memory_t memory = 0;
    tbk_stream_t* stream = NULL;
    REQUIRE_OK(tbk_device_open_timed(backend, device, &fx->error));
    CHECK_OK(backend->core->memory_alloc(backend->instance, device, 4096, &memory, &fx->error));
    if (!tbk_table_usable(backend, "stream")) continue;
    CHECK_OK(backend->stream->stream_create(backend->instance, device, 0, &stream, &fx->error));
  }
  return backend;
}

static void close_all(tbk_fixture_t* fx, const tbk_backend_t* backend) {
  int32_t count = 0;
  CHECK_OK(backend->core->device_count(backend->instance, &count, &fx->error));
  for (int32_t device = 0; device < count && device < 2; device++) {
    CHECK_OK(backend->core->device_close(backend->instance, device, &fx->error));
  }
}

/* Children too, which are counted where the test has adopted them. */
static int count_belongings(void) {
  return count_files() + tbk_count_threads() + tbk_children_left();
}

/* Returns what threads, files and processes grow by over some lives of an instance, after the
 * first few. */
static int growth(tbk_fixture_t* fx, int lives, bool close_first) {
  enum { FIRST = 4 };
  int before = 0;
  for (int i = 0; i < FIRST + lives; i++) {
    if (i == FIRST) before = count_belongings();
    const tbk_backend_t* backend = make_in_use(fx);
    if (close_first) close_all(fx, backend);
    destroy(backend);
  }
  return count_belongings() - before;
}

static void destroying_leaves_no_more_behind_than_closing(tbk_fixture_t* fx) {
  enum { LIVES = 8 };
  if (!opens_quickly(fx)) return;
  int with_close = growth(fx, LIVES, true);
  int without = growth(fx, LIVES, false);
  CHECK_SAID(without < LIVES || without <= with_close,
             "threads and files of an open device go with its instance",
             "%d more after %d instances", without, LIVES);
}

/* Over a third of what is free, so that three leaks are noticed. */
static uint64_t large_size(tbk_fixture_t* fx, const tbk_backend_t* backend) {
  uint64_t free_bytes = 0, total_bytes = 0;
  CHECK_OK(backend->core->memory_info(backend->instance, 0, &free_bytes, &total_bytes, &fx->error));
  return free_bytes / 8 * 3 / 65536 * 65536;
}

/* Nothing is given back but by the end of the instance. */
static tbk_status_t take_in_pieces(tbk_fixture_t* fx, const tbk_backend_t* backend, uint64_t size) {
  tbk_device_properties_t properties = {.struct_size = sizeof properties};
  tbk_status_t status =
      backend->core->device_properties(backend->instance, 0, &properties, &fx->error);
  uint64_t most = room_allocation(&properties);
  while (status == TBK_OK && size > 0) {
    tbk_memory_t memory = 0;
    uint64_t piece = size < most ? size : most;
    status = backend->core->memory_alloc(backend->instance, 0, piece, &memory, &fx->error);
    size -= piece;
  }
  return status;
}

static void destroying_gives_memory_back(tbk_fixture_t* fx) {
  const tbk_backend_t* backend = make_open(fx);
  uint64_t size = large_size(fx, backend);
  for (int i = 0; i < 4; i++) {
    uint64_t free_bytes = 0, total_bytes = 0;
    if (i > 0) backend = make_open(fx);
    CHECK_OK(
        backend->core->memory_info(backend->instance, 0, &free_bytes, &total_bytes, &fx->error));
    tbk_status_t status = take_in_pieces(fx, backend, size);
    CHECK_SAID(status == TBK_OK || (status == TBK_OUT_OF_MEMORY && free_bytes / 2 < size / 2),
               "what earlier instances held is free again", "%s for %llu of %llu free bytes: %s",
               tbk_status_name(status), (unsigned long long)size, (unsigned long long)free_bytes,
               fx->error.message);
    destroy(backend);
  }
}

struct destroying {
  const tbk_backend_t* backend;
  atomic_int ran;
};

static void destroy_instance(void* argument) {
  destroy(((struct destroying*)argument)->backend);
}

static void set_ran(void* argument) {
  atomic_store(&((struct destroying*)argument)->ran, 1);
}

static void destroying_waits_for_work(tbk_fixture_t* fx) {
  static struct destroying destroying;
  destroying = (struct destroying){.backend = fx->backend};
  tbk_gate_t gate;
  fx_open(fx);
  tbk_stream_t* stream = fx_stream(fx);
  gate_close_over(fx, &gate, stream, TBK_ENQUEUE_CALLBACK);
  CHECK_OK(fx->callback->callback_enqueue(fx->self, stream, set_ran, &destroying, &fx->error));
  bool held = gate_held(fx, &gate, destroy_instance, &destroying);
  fx_disown_instance(fx);
  CHECK(held);
  CHECK(atomic_load(&destroying.ran) == 1);
}

static void destroying_waits_for_copies(tbk_fixture_t* fx) {
  enum { SIZE = 65536 };
  static struct destroying destroying;
  destroying = (struct destroying){.backend = fx->backend};
  tbk_gate_t gate;
  fx_open(fx);
  uint8_t* sent = fx_bytes(fx, SIZE);
  uint8_t* got = fx_zeros(fx, SIZE);
  tbk_memory_t memory = fx_alloc_with(fx, sent, SIZE);
  tbk_stream_t* stream = fx_stream(fx);
  gate_close_over(fx, &gate, stream, TBK_ENQUEUE_DOWNLOAD);
  CHECK_OK(fx->core->download(fx->self, 0, got, memory, 0, SIZE, stream, &fx->error));
  bool held = gate_held(fx, &gate, destroy_instance, &destroying);
  fx_disown_instance(fx);
  CHECK(held);
  CHECK_BYTES(sent, got, SIZE);
}

static void destroying_waits_for_the_second_device(tbk_fixture_t* fx) {
  static struct destroying destroying;
  destroying = (struct destroying){.backend = fx->backend};
  tbk_gate_t gate;
  tbk_stream_t* stream = NULL;
  fx_open(fx);
  REQUIRE_OK(fx->stream->stream_create(fx->self, fx_second_device(fx), 0, &stream, &fx->error));
  gate_close_over(fx, &gate, stream, TBK_ENQUEUE_CALLBACK);
  CHECK_OK(fx->callback->callback_enqueue(fx->self, stream, set_ran, &destroying, &fx->error));
  bool held = gate_held(fx, &gate, destroy_instance, &destroying);
  fx_disown_instance(fx);
  CHECK(held);
  CHECK(atomic_load(&destroying.ran) == 1);
}

/* ---------------------------------------------------------------- giving back after closing ----
 * */

static void expect_works_again(tbk_fixture_t* fx) {
  fx_open(fx);
  const char* trouble = tbk_device_trouble(fx->core, fx->self, 0, fx->seed);
  CHECK_SAID(trouble == NULL, "the device works when it is open again", "%s fails", trouble);
}

static void memory_can_be_freed_after_closing(tbk_fixture_t* fx) {
  enum { COUNT = 16 };
  tbk_memory_t memory[COUNT];
  fx_open(fx);
  for (int i = 0; i < COUNT; i++) {
    REQUIRE_OK(fx->core->memory_alloc(fx->self, 0, UINT64_C(64) << i % 13, &memory[i], &fx->error));
  }
  fx_close(fx);
  for (int i = 0; i < COUNT; i++) {
    CHECK_OK(fx->core->memory_free(fx->self, 0, memory[i], &fx->error));
  }
  expect_works_again(fx);
}

static void streams_can_be_destroyed_after_closing(tbk_fixture_t* fx) {
  tbk_stream_t* streams[4];
  fx_open(fx);
  for (int i = 0; i < 4; i++) {
    REQUIRE_OK(fx->stream->stream_create(fx->self, 0, 0, &streams[i], &fx->error));
  }
  fx_close(fx);
  for (int i = 0; i < 4; i++)
    fx->stream->stream_destroy(fx->self, streams[i]);
  expect_works_again(fx);
  CHECK_OK(fx->stream->device_synchronize(fx->self, 0, &fx->error));
}

static void events_can_be_destroyed_after_closing(tbk_fixture_t* fx) {
  tbk_event_t* events[4];
  fx_open(fx);
  tbk_stream_t* stream = fx_stream(fx);
  for (int i = 0; i < 4; i++) {
    REQUIRE_OK(fx->event->event_create(fx->self, 0, 0, &events[i], &fx->error));
    if (i % 2 == 0) CHECK_OK(fx->event->event_record(fx->self, events[i], stream, &fx->error));
  }
  fx_close(fx);
  for (int i = 0; i < 4; i++)
    fx->event->event_destroy(fx->self, events[i]);
  expect_works_again(fx);
}

static void pinned_memory_can_be_freed_after_closing(tbk_fixture_t* fx) {
  void* pointers[4];
  fx_open(fx);
  for (int i = 0; i < 4; i++) {
    REQUIRE_OK(
        fx->pinned->pinned_alloc(fx->self, 0, UINT64_C(100) << 4 * i, &pointers[i], &fx->error));
  }
  fx_close(fx);
  for (int i = 0; i < 4; i++)
    fx->pinned->pinned_free(fx->self, pointers[i]);
  expect_works_again(fx);
}

static void stream_ordered_memory_can_be_freed_after_closing(tbk_fixture_t* fx) {
  tbk_stream_t* stream = NULL;
  tbk_memory_t memory = 0;
  fx_open(fx);
  REQUIRE_OK(fx->stream->stream_create(fx->self, 0, 0, &stream, &fx->error));
  REQUIRE_OK(fx->async_memory->async_alloc(fx->self, stream, 4096, &memory, &fx->error));
  fx_close(fx);
  (void)!fx->async_memory->async_free(fx->self, stream, memory, &fx->error);
  fx->stream->stream_destroy(fx->self, stream);
  expect_works_again(fx);
}

static void memory_of_the_second_device_can_be_freed_after_closing(tbk_fixture_t* fx) {
  tbk_memory_t memory = 0;
  fx_open(fx);
  int32_t second = fx_second_device(fx);
  REQUIRE_OK(fx->core->memory_alloc(fx->self, second, 4096, &memory, &fx->error));
  CHECK_OK(fx->core->device_close(fx->self, second, &fx->error));
  fx->resources->second_open = 0;
  CHECK_OK(fx->core->memory_free(fx->self, second, memory, &fx->error));
  const char* trouble = tbk_device_trouble(fx->core, fx->self, 0, fx->seed);
  CHECK_SAID(trouble == NULL, "the other device works", "%s fails", trouble);
}

/* -------------------------------------------------------------------- processes that just end --
 * */

/* Reachable from here, so that leak checkers see what is on purpose. */
static struct {
  const tbk_backend_t* backend;
  tbk_memory_t memory;
  tbk_stream_t* stream;
  tbk_event_t* event;
  uint8_t bytes[65536];
} left_behind;

static int create_only(tbk_child_t* self, void* argument) {
  (void)self;
  tbk_fixture_t* fx = argument;
  return fx->create(fx->host, &left_behind.backend, NULL) == TBK_OK ? 0 : 10;
}

static int open_and_use(tbk_child_t* self, void* argument) {
  (void)self;
  tbk_fixture_t* fx = argument;
  const tbk_backend_t* backend = fx->backend;
  if (tbk_open_patiently(fx->core, fx->self, 0, NULL) != TBK_OK) return 11;
  left_behind.backend = backend;
  tbk_status_t status =
      fx->core->memory_alloc(fx->self, 0, sizeof left_behind.bytes, &left_behind.memory, NULL);
  if (status != TBK_OK) return 12;
  status = fx->core->upload(fx->self, 0, left_behind.memory, 0, left_behind.bytes,
                            sizeof left_behind.bytes, NULL, NULL);
  return status == TBK_OK ? 0 : 13;
}

static int enqueue_and_leave(tbk_child_t* self, void* argument) {
  tbk_fixture_t* fx = argument;
  int code = open_and_use(self, argument);
  if (code != 0) return code;
  if (fx->stream->stream_create(fx->self, 0, 0, &left_behind.stream, NULL) != TBK_OK) return 14;
  for (int i = 0; i < 32; i++) {
    tbk_status_t status = fx->core->upload(fx->self, 0, left_behind.memory, 0, left_behind.bytes,
                                           sizeof left_behind.bytes, left_behind.stream, NULL);
    if (status != TBK_OK) return 15;
  }
  if (fx->event == NULL) return 0;
  if (fx->event->event_create(fx->self, 0, 0, &left_behind.event, NULL) != TBK_OK) return 16;
  tbk_status_t status =
      fx->event->event_record(fx->self, left_behind.event, left_behind.stream, NULL);
  return status == TBK_OK ? 0 : 17;
}

static void expect_clean_exit(tbk_fixture_t* fx, tbk_child_fn body) {
  tbk_child_t child;
  tbk_child_start(fx, &child, body, fx, TBK_CHILD_EXIT);
  CHILD_CHECK_END(&child);
}

static void a_process_that_only_created_ends_cleanly(tbk_fixture_t* fx) {
  expect_clean_exit(fx, create_only);
}

static void a_process_that_closes_nothing_ends_cleanly(tbk_fixture_t* fx) {
  expect_clean_exit(fx, open_and_use);
}

static void a_process_with_work_enqueued_ends_cleanly(tbk_fixture_t* fx) {
  expect_clean_exit(fx, enqueue_and_leave);
}

static void lives_leave_nothing_behind(tbk_fixture_t* fx) {
  enum { LIVES = 8 };
  tbk_adopt_orphans();
  if (!opens_quickly(fx)) return;
  int grown = growth(fx, LIVES, true);
  CHECK_SAID(grown < LIVES, "files, threads and processes do not grow with the instances",
             "%d more after %d instances", grown, LIVES);
}

#define CLOSED TBK_CASE_CLOSED
#define FRESH (TBK_CASE_CLOSED | TBK_CASE_FRESH)

static const tbk_case_t cases[] = {
    TBK_CASE("TDN-002", NULL, TBK_CASE_RAW, destroying_closes_what_is_open),
    TBK_CASE("TDN-002", NULL, TBK_CASE_RAW, destroying_leaves_no_more_behind_than_closing),
    TBK_CASE("TDN-002", "memory_info", TBK_CASE_RAW, destroying_gives_memory_back),
    TBK_CASE("TDN-003", "stream callback", CLOSED, destroying_waits_for_work),
    TBK_CASE("TDN-003", "stream callback", CLOSED, destroying_waits_for_copies),
    TBK_CASE("TDN-003", "stream callback two_devices", CLOSED,
             destroying_waits_for_the_second_device),
    TBK_CASE("TDN-006", NULL, CLOSED, memory_can_be_freed_after_closing),
    TBK_CASE("TDN-006", "stream", CLOSED, streams_can_be_destroyed_after_closing),
    TBK_CASE("TDN-006", "event", CLOSED, events_can_be_destroyed_after_closing),
    TBK_CASE("TDN-006", "pinned", CLOSED, pinned_memory_can_be_freed_after_closing),
    TBK_CASE("TDN-006", "async_memory", CLOSED, stream_ordered_memory_can_be_freed_after_closing),
    TBK_CASE("TDN-006", "two_devices", CLOSED,
             memory_of_the_second_device_can_be_freed_after_closing),
    TBK_CASE("TDN-007", NULL, TBK_CASE_RAW | TBK_CASE_FRESH,
             a_process_that_only_created_ends_cleanly),
    TBK_CASE("TDN-007", NULL, FRESH, a_process_that_closes_nothing_ends_cleanly),
    TBK_CASE("TDN-007", "stream", FRESH, a_process_with_work_enqueued_ends_cleanly),
    TBK_CASE("TDN-008", NULL, TBK_CASE_RAW, lives_leave_nothing_behind),
};
TBK_SUITE(teardown);
