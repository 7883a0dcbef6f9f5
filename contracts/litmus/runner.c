/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * runner.c: from a path to devices that programs can be run on.
 */
#include "runner.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "resources.h"
#include "tables.h"

/* To wake a thread takes longer than most programs. */
enum { THREADS_IN = 64, PARTS_IN = 8 };
/* Between two tries to open a device that somebody has. */
enum { PAUSE_US = 1000 };

/* A program takes at most half of the memory: two cells, where they are so large. */
#define MOST_BYTES (UINT64_C(64) << 20)
#define PARTS 4

static void take_tables(litmus_runner_t* runner) {
  const tbk_backend_t* backend = runner->library.backend;
  runner->self = backend->instance;
  runner->core = backend->core;
#define TAKE(name) runner->name = tbk_table_usable(backend, #name) ? backend->name : NULL
  TAKE(stream);
  TAKE(event);
  TAKE(callback);
  TAKE(pinned);
  TAKE(peer);
  TAKE(async_memory);
  TAKE(kernel);
#undef TAKE
}

/* Whoever has an exclusive device is waited for. The parent sees for how long, since that is no time that
   the library takes to open it. */
static tbk_status_t open_device(litmus_runner_t* runner, int32_t device, bool is_exclusive) {
  litmus_progress_t* progress = runner->progress;
  const uint64_t before_ns = progress->refused_ns, began_ns = fx_awake_ns();
  for (;;) {
    const tbk_status_t status =
        tbk_open_within(runner->core, runner->self, device, &runner->error, 0);
    progress->is_refused = is_exclusive && status == TBK_UNAVAILABLE;
    if (!progress->is_refused) return status;
    progress->refused_ns = before_ns + (fx_awake_ns() - began_ns);
    if (progress->refused_ns >= progress->opening_ns) return status;
    (void)usleep(PAUSE_US);
  }
}

static tbk_status_t open_devices(litmus_runner_t* runner) {
  litmus_offers_t* offers = &runner->offers;
  int32_t count = 0;
  tbk_status_t status = runner->core->device_count(runner->self, &count, &runner->error);
  if (status != TBK_OK) return status;
  offers->devices = count < LITMUS_DEVICES ? (uint32_t)(count < 0 ? 0 : count) : LITMUS_DEVICES;
  offers->granularity = 1;
  offers->most_bytes = MOST_BYTES;
  offers->cross_device_wait = offers->devices > 1;
  for (uint32_t device = 0; device < offers->devices; device++) {
    tbk_device_properties_t properties = {.struct_size = sizeof properties};
    status =
        runner->core->device_properties(runner->self, (int32_t)device, &properties, &runner->error);
    if (status == TBK_OK)
      status = open_device(runner, (int32_t)device, (properties.flags & TBK_DEVICE_EXCLUSIVE) != 0);
    if (status != TBK_OK) return status;
    if (properties.copy_granularity > offers->granularity)
      offers->granularity = properties.copy_granularity;
    if (properties.memory_bytes / PARTS < offers->most_bytes)
      offers->most_bytes = properties.memory_bytes / PARTS;
    offers->cross_device_wait &= (properties.flags & TBK_DEVICE_CROSS_DEVICE_WAIT) != 0;
  }
  return TBK_OK;
}

typedef struct who {
  pthread_t thread;
  int ran; /* atomic */
} who_t;

static void note_thread(void* argument) {
  who_t* who = argument;
  who->thread = pthread_self();
  __atomic_store_n(&who->ran, 1, __ATOMIC_RELEASE);
}

/* Where callbacks run in the thread that makes the calls, nothing piles up while one sleeps. */
static bool callbacks_run_elsewhere(litmus_runner_t* runner) {
  tbk_stream_t* stream = NULL;
  who_t who = {.ran = 0};
  if (runner->callback == NULL || runner->stream == NULL) return false;
  if (runner->stream->stream_create(runner->self, 0, 0, &stream, &runner->error) != TBK_OK)
    return false;
  tbk_status_t status =
      runner->callback->callback_enqueue(runner->self, stream, note_thread, &who, &runner->error);
  if (status == TBK_OK)
    status = runner->stream->stream_synchronize(runner->self, stream, &runner->error);
  bool ran = __atomic_load_n(&who.ran, __ATOMIC_ACQUIRE) != 0;
  if (ran) runner->stream->stream_destroy(runner->self, stream);
  return status == TBK_OK && ran && !pthread_equal(who.thread, pthread_self());
}

/* That another process has the device is the library's word. */
static void say_closed(const litmus_runner_t* runner, tbk_status_t status, char* out, size_t size) {
  const litmus_progress_t* progress = runner->progress;
  const char* name = tbk_status_name(status);
  char what[100];
  snprintf(what, sizeof what, "the device cannot be opened: %s", name);
  if (progress->is_refused)
    snprintf(what, sizeof what, "the device answered %s, as if another process had it, for %.1f s",
             name, (double)progress->refused_ns / 1e9);
  snprintf(out, size, "%s%s%.*s", what, progress->is_refused ? ": " : " ",
           (int)sizeof runner->error.message, runner->error.message);
}

litmus_runner_t* litmus_runner_open(const char* path, const char* options,
                                    litmus_progress_t* progress, char* out_reason,
                                    size_t reason_size, int* out_load, int* out_status) {
  static litmus_runner_t only; /* a process has one: slots of a library stay its own */
  litmus_runner_t* runner = &only;
  memset(runner, 0, sizeof *runner);
  runner->progress = progress;
  *out_status = TBK_OK;
  *out_load = (int)tbk_library_open(&runner->library, path, options);
  if (*out_load == TBK_LOAD_OK) *out_load = (int)tbk_library_create(&runner->library);
  if (*out_load != TBK_LOAD_OK) {
    snprintf(out_reason, reason_size, "%s", runner->library.reason);
    return NULL;
  }
  take_tables(runner);
  progress->refused_ns = progress->is_refused = 0;
  *out_status = open_devices(runner);
  if (*out_status != TBK_OK) {
    say_closed(runner, *out_status, out_reason, reason_size);
    return NULL;
  }
  runner->offers.fill = TBK_HAS(runner->core, tbk_core_t, fill);
  runner->offers.pinned = runner->pinned != NULL;
  runner->offers.callback = runner->callback != NULL;
  runner->offers.peer = runner->peer != NULL;
  runner->offers.async_memory = runner->async_memory != NULL;
  runner->offers.threads = LITMUS_THREADS;
  runner->offers.threads_in = THREADS_IN;
  runner->offers.parts_in = PARTS_IN;
  if (runner->offers.devices == 0) return runner;
  runner->offers.kernel = litmus_find_kernels(runner);
  runner->offers.delays = runner->offers.races = callbacks_run_elsewhere(runner);
  if (litmus_rooms_open(runner)) return runner;
  snprintf(out_reason, reason_size, "the host has no memory for programs");
  *out_status = TBK_OUT_OF_MEMORY;
  return NULL;
}

void litmus_runner_close(litmus_runner_t* runner) {
  litmus_end_threads();
  for (int cell = 0; cell < LITMUS_CELLS; cell++)
    if (runner->has_cell[cell])
      (void)!runner->core->memory_free(runner->self, runner->cell_device[cell], runner->cells[cell],
                                       &runner->error);
  for (uint32_t device = 0; device < runner->offers.devices; device++)
    (void)!runner->core->device_close(runner->self, (int32_t)device, &runner->error);
  runner->core->destroy(runner->self);
}

bool litmus_runner_offers(const litmus_runner_t* runner, litmus_offers_t* out_offers) {
  *out_offers = runner->offers;
  return runner->stream != NULL && runner->event != NULL;
}
