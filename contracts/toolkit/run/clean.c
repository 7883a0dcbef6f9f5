/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of every test: what it made is given back, and the invariants are looked at. Nothing here
 * counts as a check of the test; what fails is a failure in TBK_PHASE_CLEAN.
 */
#include "resources.h"
#include "threads.h"

#include <stdlib.h>
#include <string.h>

#define CLEAN_OK(call) clean_status(fx, (call), TBK_HERE(#call))

static void clean_status(tbk_fixture_t* fx, tbk_status_t status, tbk_here_t here) {
  if (status == TBK_OK || fx->resources->tolerant) return;
  tbk_check_status(TBK_OK, status, &fx->error, here);
}

static bool join_threads(tbk_fixture_t* fx) {
  tbk_thread_t** threads = fx->resources->threads.items;
  bool all = true;
  for (size_t i = 0; i < fx->resources->threads.count; i++) {
    if (tbk_thread_end(threads[i], FX_PATIENCE_NS)) continue;
    tbk_record_failure(TBK_HERE("after the test"), "every thread of the test has ended",
                       "thread %zu is still in a call", i);
    all = false;
  }
  fx->resources->threads.count = 0;
  return all;
}

static void check_guard(tbk_fixture_t* fx, const tbk_memory_record_t* record) {
  if (record->guard_bytes == 0 || fx->resources->tolerant || !fx->resources->session->device_open)
    return;
  uint8_t* guard = calloc(1, record->guard_bytes + TBK_GUARD_BYTES); /* a backend may overrun */
  if (guard == NULL) abort();
  tbk_status_t status =
      fx->core->download(fx->self, record->device, guard, record->memory, record->guard_offset,
                         record->guard_bytes, NULL, &fx->error);
  clean_status(fx, status, TBK_HERE("download of the guard behind the memory"));
  for (unsigned i = 0; status == TBK_OK && i < record->guard_bytes; i++) {
    if (guard[i] == tbk_guard_byte(i)) continue;
    tbk_record_failure(TBK_HERE("after the test"), "nothing is written behind an allocation",
                       "byte %llu behind it was overwritten with 0x%02x", (unsigned long long)i,
                       guard[i]);
    break;
  }
  free(guard);
}

static void check_host(tbk_fixture_t* fx, const tbk_host_record_t* record) {
  (void)fx;
  TBK_CHECKS("CPY-009"); /* nothing else writes to the host's memory */
  const uint8_t* behind = record->block + TBK_GUARD_BYTES + record->size_bytes;
  for (unsigned i = 0; i < TBK_GUARD_BYTES; i++) {
    if (record->block[i] == tbk_guard_byte(i) && behind[i] == tbk_guard_byte(i)) continue;
    tbk_record_failure(TBK_HERE("after the test"), "nothing is written beside host memory",
                       "a byte %s a buffer of %zu bytes was overwritten",
                       behind[i] != tbk_guard_byte(i) ? "behind" : "before", record->size_bytes);
    break;
  }
  free(record->block);
}

void tbk_resources_give_back(tbk_fixture_t* fx) {
  tbk_resources_t* resources = fx->resources;
  resources->busy[0] = resources->busy[1] = 0;
  tbk_memory_record_t* memory = resources->memory.items;
  tbk_event_t** events = resources->events.items;
  tbk_stream_t** streams = resources->streams.items;
  for (size_t i = 0; i < resources->memory.count; i++)
    check_guard(fx, &memory[i]);
  for (size_t i = 0; i < resources->events.count; i++) {
    fx->event->event_destroy(fx->self, events[i]);
  }
  for (size_t i = 0; i < resources->streams.count; i++) {
    fx->stream->stream_destroy(fx->self, streams[i]);
  }
  for (size_t i = 0; i < resources->memory.count; i++) {
    CLEAN_OK(fx->core->memory_free(fx->self, memory[i].device, memory[i].memory, &fx->error));
  }
  resources->memory.count = resources->events.count = resources->streams.count = 0;
}

static void synchronize(tbk_fixture_t* fx) {
  CLEAN_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
  if (fx->resources->second_open) {
    CLEAN_OK(fx->stream->device_synchronize(fx->self, 1, &fx->error));
  }
}

void tbk_memory_give_back(tbk_fixture_t* fx, size_t from) {
  tbk_list_t* list = &fx->resources->memory;
  tbk_memory_record_t* memory = list->items;
  if (fx->stream != NULL) synchronize(fx);
  for (size_t i = from; i < list->count; i++) {
    check_guard(fx, &memory[i]);
    for (int k = 0; k < 2; k++) /* its handle may come again, as that of something else */
      if (fx->resources->busy[k] == memory[i].memory) fx->resources->busy[k] = 0;
    CLEAN_OK(fx->core->memory_free(fx->self, memory[i].device, memory[i].memory, &fx->error));
  }
  if (list->count > from) list->count = from;
}

static bool holds_any(const tbk_resources_t* resources) {
  return resources->memory.count + resources->events.count + resources->streams.count > 0;
}

/* False: a thread of the test is still in a call, and what it uses must stay. */
static bool settle(tbk_fixture_t* fx) {
  bool open = fx->resources->session->device_open && fx->core != NULL;
  tbk_gates_open(fx);
  bool idle = join_threads(fx);
  if (idle && open && fx->stream != NULL) synchronize(fx);
  if (idle && fx->core != NULL && holds_any(fx->resources)) {
    tbk_resources_give_back(fx);
    if (open && fx->stream != NULL) synchronize(fx);
  }
  return idle;
}

static void free_host(tbk_fixture_t* fx) {
  tbk_host_record_t* host = fx->resources->host.items;
  for (size_t i = 0; i < fx->resources->host.count; i++)
    check_host(fx, &host[i]);
  fx->resources->host.count = 0;
}

void tbk_resources_clean(tbk_fixture_t* fx) {
  bool idle = settle(fx);
  if (idle && fx->resources->second_open) CLEAN_OK(fx->core->device_close(fx->self, 1, &fx->error));
  tbk_gates_free(fx, idle);
  if (idle) free_host(fx);
}

void tbk_resources_between(tbk_fixture_t* fx) {
  bool idle = settle(fx);
  tbk_gates_free(fx, idle);
  if (idle) free_host(fx);
}
