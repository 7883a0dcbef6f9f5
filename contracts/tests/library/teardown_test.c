/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of instances: what it closes, waits for and leaves. What outlives its device is in
 * teardown_closed_test.c, processes that just end in teardown_exit_test.c.
 */
#include "child.h"
#include "gate.h"
#include "resources.h"
#include "room.h"
#include "tables.h"

#include <dirent.h>
#include <stdatomic.h>

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

/* --------------------------------------------------------------------- destroying instances ---- */

static void destroying_closes_what_is_open(tbk_fixture_t* fx) {
  for (int i = 0; i < 2; i++) {
    const tbk_backend_t* backend = make_open(fx);
    tbk_memory_t memory = 0;
    CHECK_OK(backend->core->memory_alloc(backend->instance, 0, 4096, &memory, &fx->error));
    destroy(backend);
  }
  const tbk_backend_t* last = make_open(fx);
  CHECK_DEVICE_WORKS(last->core, last->instance, 0, "the device works");
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
  enum { LIVES = 6 };
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
  tbk_fixture_t* fx;
  tbk_gate_t gate;
  tbk_stream_t* gone; /* destroyed before the instance; may be NULL */
  atomic_int ran;
};

static void destroy_instance(void* argument) {
  struct destroying* destroying = argument;
  tbk_fixture_t* fx = destroying->fx;
  if (destroying->gone != NULL) gate_stream_goes(fx, &destroying->gate, destroying->gone);
  destroy(fx->backend);
}

static void set_ran(void* argument) {
  atomic_store(&((struct destroying*)argument)->ran, 1);
}

static void check_destroying(tbk_fixture_t* fx, int32_t device, bool stream_goes) {
  static struct destroying destroying;
  tbk_stream_t* stream = NULL;
  REQUIRE_OK(fx->stream->stream_create(fx->self, device, 0, &stream, &fx->error));
  destroying = (struct destroying){.fx = fx, .gone = stream_goes ? stream : NULL};
  gate_close_over(fx, &destroying.gate, stream, TBK_ENQUEUE_CALLBACK);
  CHECK_OK(fx->callback->callback_enqueue(fx->self, stream, set_ran, &destroying, &fx->error));
  bool held = gate_held(fx, &destroying.gate, destroy_instance, &destroying);
  fx_disown_instance(fx);
  CHECK(held);
  CHECK(atomic_load(&destroying.ran) == 1);
}

static void destroying_waits_for_work(tbk_fixture_t* fx) {
  fx_open(fx);
  check_destroying(fx, fx->device, false);
}

static void destroying_waits_for_work_of_destroyed_streams(tbk_fixture_t* fx) {
  fx_open(fx);
  check_destroying(fx, fx->device, true);
}

static void destroying_waits_for_the_second_device(tbk_fixture_t* fx) {
  fx_open(fx);
  check_destroying(fx, fx_second_device(fx), false);
}

static void destroying_waits_for_destroyed_streams_of_the_second_device(tbk_fixture_t* fx) {
  fx_open(fx);
  check_destroying(fx, fx_second_device(fx), true);
}

static void check_copies(tbk_fixture_t* fx, bool stream_goes) {
  enum { SIZE = 65536 };
  static struct destroying destroying;
  fx_open(fx);
  uint8_t* sent = fx_bytes(fx, SIZE);
  uint8_t* got = fx_zeros(fx, SIZE);
  tbk_memory_t memory = fx_alloc_with(fx, sent, SIZE);
  tbk_stream_t* stream = fx_stream(fx);
  destroying = (struct destroying){.fx = fx, .gone = stream_goes ? stream : NULL};
  gate_close_over(fx, &destroying.gate, stream, TBK_ENQUEUE_DOWNLOAD);
  if (stream_goes) fx_disown_stream(fx, stream);
  CHECK_OK(fx->core->download(fx->self, 0, got, memory, 0, SIZE, stream, &fx->error));
  bool held = gate_held(fx, &destroying.gate, destroy_instance, &destroying);
  fx_disown_instance(fx);
  CHECK(held);
  CHECK_BYTES(sent, got, SIZE);
}

static void destroying_waits_for_copies(tbk_fixture_t* fx) {
  check_copies(fx, false);
}

static void destroying_waits_for_copies_of_destroyed_streams(tbk_fixture_t* fx) {
  check_copies(fx, true);
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

static const tbk_case_t cases[] = {
    TBK_CASE("TDN-002", NULL, TBK_CASE_RAW, destroying_closes_what_is_open),
    TBK_CASE("TDN-002", NULL, TBK_CASE_RAW, destroying_leaves_no_more_behind_than_closing),
    TBK_CASE("TDN-002", "memory_info", TBK_CASE_RAW, destroying_gives_memory_back),
    TBK_CASE("TDN-003", "stream callback", CLOSED, destroying_waits_for_work),
    TBK_CASE("TDN-003", "stream callback", CLOSED, destroying_waits_for_copies),
    TBK_CASE("TDN-003", "stream callback two_devices", CLOSED,
             destroying_waits_for_the_second_device),
    TBK_CASE("TDN-003", "stream callback", CLOSED, destroying_waits_for_work_of_destroyed_streams),
    TBK_CASE("TDN-003", "stream callback", CLOSED,
             destroying_waits_for_copies_of_destroyed_streams),
    TBK_CASE("TDN-003", "stream callback two_devices", CLOSED,
             destroying_waits_for_destroyed_streams_of_the_second_device),
    TBK_CASE("TDN-008", NULL, TBK_CASE_RAW, lives_leave_nothing_behind),
};
TBK_SUITE(teardown);
