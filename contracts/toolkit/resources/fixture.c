/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a test makes with the fixture's help, and the resources that knows of it. clean.c gives it back.
 */
#include "fixture.h"

#include "look.h"
#include "resources.h"
#include "trace.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t tbk_patience_ns = UINT64_C(10000000000);

/* A helper's success is no check of the test; its failure is one, and leaves the test. */
#define HELPER_OK(call) helper_status((call), &fx->error, TBK_HERE(#call))

static void helper_status(tbk_status_t status, const tbk_error_t* error, tbk_here_t here) {
  if (status == TBK_OK) return;
  tbk_check_status(TBK_OK, status, error, here);
  tbk_leave();
}

static void helper_require(bool held, const char* expected, const char* seen, tbk_here_t here) {
  if (held) return;
  tbk_record_failure(here, expected, "%s", seen);
  tbk_leave();
}

static bool injects_errors(const char* needs) {
  const char* word = needs != NULL ? strstr(needs, "fault") : NULL;
  return word != NULL && (word == needs || word[-1] == ' ');
}

void tbk_resources_begin(tbk_fixture_t* fx, tbk_session_t* session, const tbk_case_t* row) {
  static tbk_resources_t resources = {.memory.item_bytes = sizeof(tbk_memory_record_t),
                                      .streams.item_bytes = sizeof(tbk_stream_t*),
                                      .events.item_bytes = sizeof(tbk_event_t*),
                                      .host.item_bytes = sizeof(tbk_host_record_t),
                                      .threads.item_bytes = sizeof(tbk_thread_t*),
                                      .gates.item_bytes = sizeof(struct tbk_gate_core*)};
  resources.memory.count = resources.streams.count = resources.events.count = 0;
  resources.host.count = resources.threads.count = resources.gates.count = 0;
  resources.busy[0] = resources.busy[1] = 0;
  resources.session = session;
  resources.second_open = 0;
  resources.properties[0].struct_size = resources.properties[1].struct_size = 0;
  resources.was_closed = false;
  resources.tolerant = row != NULL && injects_errors(row->needs);
  resources.by_gates = 0;
  resources.evidence = TBK_PROVEN;
  resources.evidence_reason[0] = resources.notes[0] = '\0';
  resources.random = fx->seed;
  fx->resources = &resources;
}

bool fx_has_dtype(const tbk_fixture_t* fx, int32_t dtype) {
  return (fx->properties.dtypes >> dtype & 1) != 0;
}

uint64_t fx_round(const tbk_fixture_t* fx, uint64_t size_bytes) {
  uint64_t granularity = fx->properties.copy_granularity;
  return granularity > 1 ? (size_bytes + granularity - 1) / granularity * granularity : size_bytes;
}

/* ------------------------------------------------------------------------------------ host ---- */

/* splitmix64: the numbers are those of states that lie a step apart. */
static const uint64_t random_step = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t random_of(uint64_t state) {
  uint64_t z = state;
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

/* Takes the next `count` numbers, and returns the state of the first. */
static uint64_t take_random(tbk_fixture_t* fx, uint64_t count) {
  return atomic_fetch_add(&fx->resources->random, count * random_step) + random_step;
}

uint64_t fx_random(tbk_fixture_t* fx) {
  return random_of(take_random(fx, 1));
}

uint8_t tbk_guard_byte(uint64_t offset) {
  return (uint8_t)(0xa7 ^ offset * 29);
}

typedef enum filling { AS_IT_COMES, ZEROS } filling_t;

static uint8_t* host_block(tbk_fixture_t* fx, size_t size_bytes, filling_t filling) {
  const size_t all_bytes = size_bytes + 2 * TBK_GUARD_BYTES;
  uint8_t* block = filling == ZEROS ? calloc(1, all_bytes) : malloc(all_bytes);
  helper_require(block != NULL, "host memory", "malloc failed", TBK_HERE("malloc"));
  for (unsigned i = 0; i < TBK_GUARD_BYTES; i++) {
    block[i] = block[TBK_GUARD_BYTES + size_bytes + i] = tbk_guard_byte(i);
  }
  tbk_list_append(&fx->resources->host, &(tbk_host_record_t){block, size_bytes});
  return block + TBK_GUARD_BYTES;
}

uint8_t* fx_bytes(tbk_fixture_t* fx, size_t size_bytes) {
  uint8_t* bytes = host_block(fx, size_bytes, AS_IT_COMES);
  uint64_t word;
  uint64_t state = take_random(fx, (size_bytes + sizeof word - 1) / sizeof word);
  for (size_t i = 0; i < size_bytes; i += sizeof word, state += random_step) {
    const size_t left = size_bytes - i;
    word = random_of(state);
    memcpy(bytes + i, &word, left < sizeof word ? left : sizeof word);
  }
  return bytes;
}

uint8_t* fx_zeros(tbk_fixture_t* fx, size_t size_bytes) {
  return host_block(fx, size_bytes, ZEROS);
}

/* ---------------------------------------------------------------------------------- device ---- */

tbk_status_t fx_reopen(tbk_fixture_t* fx, int32_t device) {
  return tbk_device_open_timed(fx->backend, device, &fx->error);
}

/* Refused after a close, it is the close that is broken. */
void fx_open(tbk_fixture_t* fx) {
  TBK_CHECKS(fx->resources->was_closed ? "DEV-022" : NULL);
  HELPER_OK(tbk_session_open(fx->resources->session, &fx->error));
  tbk_fixture_opened(fx, fx->resources->session);
}

void fx_close(tbk_fixture_t* fx) {
  HELPER_OK(fx->core->device_close(fx->self, fx->device, &fx->error));
  fx_disown_device(fx);
}

/* Given back at once: after the next open the same handles may stand for something new. */
void fx_disown_device(tbk_fixture_t* fx) {
  fx->resources->session->device_open = 0;
  fx->resources->was_closed = true;
  tbk_resources_give_back(fx);
}

void fx_disown_instance(tbk_fixture_t* fx) {
  tbk_resources_t* resources = fx->resources;
  resources->session->device_open = 0;
  resources->session->library.backend = NULL;
  resources->memory.count = resources->streams.count = resources->events.count = 0;
  resources->second_open = 0;
  fx->core = NULL;
}

int32_t fx_second_device(tbk_fixture_t* fx) {
  if (!fx->resources->second_open) {
    HELPER_OK(tbk_device_open_timed(fx->backend, 1, &fx->error));
    fx->resources->second_open = 1;
  }
  return 1;
}

const tbk_device_properties_t* fx_properties(const tbk_fixture_t* fx, int32_t device) {
  tbk_device_properties_t* declared = &fx->resources->properties[device];
  if (device == fx->device) return &fx->properties;
  if (declared->struct_size != 0) return declared;
  declared->struct_size = sizeof *declared;
  HELPER_OK(fx->core->device_properties(fx->self, device, declared, NULL));
  return declared;
}

void fx_use_device(tbk_fixture_t* fx, int32_t device) {
  fx->properties = *fx_properties(fx, device);
  fx->device = device;
}

static tbk_status_t lay_guard(tbk_fixture_t* fx, const tbk_memory_record_t* record) {
  uint8_t* guard = malloc(record->guard_bytes);
  if (guard == NULL) abort();
  for (unsigned i = 0; i < record->guard_bytes; i++)
    guard[i] = tbk_guard_byte(i);
  tbk_status_t status =
      fx->core->upload(fx->self, record->device, record->memory, record->guard_offset, guard,
                       record->guard_bytes, NULL, &fx->error);
  free(guard);
  return status;
}

static void require_handle(bool held, tbk_here_t here) {
  TBK_CHECKS("MEM-002");
  helper_require(held, "a handle", "0", here);
}

tbk_memory_t fx_alloc(tbk_fixture_t* fx, uint64_t size_bytes) {
  tbk_memory_t memory = 0;
  uint64_t offset = fx_round(fx, size_bytes);
  uint64_t guard = fx_round(fx, TBK_GUARD_BYTES);
  if (size_bytes == 0) guard = 0;
  HELPER_OK(fx->core->memory_alloc(fx->self, fx->device, offset + guard, &memory, &fx->error));
  tbk_memory_record_t record = {memory, fx->device, offset, (uint32_t)guard};
  const tbk_status_t status = guard != 0 && memory != 0 ? lay_guard(fx, &record) : TBK_OK;
  if (status != TBK_OK) record.guard_bytes = 0;
  tbk_list_append(&fx->resources->memory, &record);
  if (guard != 0) require_handle(memory != 0, TBK_HERE("memory_alloc"));
  helper_status(status, &fx->error, TBK_HERE("upload of the guard behind the memory"));
  return memory;
}

tbk_memory_t fx_alloc_with(tbk_fixture_t* fx, const void* bytes, uint64_t size_bytes) {
  tbk_memory_t memory = fx_alloc(fx, size_bytes);
  fx_upload(fx, memory, bytes, size_bytes);
  return memory;
}

void fx_upload(tbk_fixture_t* fx, tbk_memory_t memory, const void* bytes, uint64_t size_bytes) {
  HELPER_OK(fx->core->upload(fx->self, fx->device, memory, 0, bytes, size_bytes, NULL, &fx->error));
}

void fx_download(tbk_fixture_t* fx, void* bytes, tbk_memory_t memory, uint64_t size_bytes) {
  HELPER_OK(
      fx->core->download(fx->self, fx->device, bytes, memory, 0, size_bytes, NULL, &fx->error));
}

static void invert(uint8_t* to, const uint8_t* from, uint64_t size_bytes) {
  uint64_t word, i = 0;
  for (; size_bytes - i >= sizeof word; i += sizeof word) {
    memcpy(&word, from + i, sizeof word);
    word = ~word;
    memcpy(to + i, &word, sizeof word);
  }
  for (; i < size_bytes; i++)
    to[i] = (uint8_t)~from[i];
}

/* Who says that what was enqueued before is complete, and the clause that says so. */
static const struct {
  const char *function, *clause;
} completes[] = {
    {"stream_synchronize", "STR-019"}, {"device_synchronize", "STR-022"},
    {"event_synchronize", "EVT-026"},  {"stream_query", "STR-015"},
    {"event_query", "EVT-023"},
};

/* Bytes came late: of the call before they were read, or of work that no stream was given. */
static const char* clause_of_late(const char* before) {
  for (size_t i = 0; before != NULL && i < sizeof completes / sizeof *completes; i++)
    if (strcmp(completes[i].function, before) == 0) return completes[i].clause;
  return "CPY-006";
}

const char* fx_late_clause(tbk_fixture_t* fx, const void* seen, tbk_memory_t memory,
                           uint64_t size_bytes) {
  const char* before = tbk_trace_before();
  return look_changes(fx, seen, memory, size_bytes) ? clause_of_late(before) : NULL;
}

/* What is wrong is looked at again, so that the failure says of what it is. */
static bool check_bytes(tbk_fixture_t* fx, const uint8_t* expected, const uint8_t* seen,
                        tbk_memory_t memory, uint64_t size_bytes, tbk_here_t here) {
  const bool is_right = size_bytes == 0 || memcmp(expected, seen, size_bytes) == 0;
  if (!is_right && look_later(fx, expected, memory, size_bytes)) {
    TBK_CHECKS(clause_of_late(tbk_trace_before()));
    return tbk_check_said(false, here, "the bytes when first read back",
                          "they came late: others at first, as expected when read back again");
  }
  TBK_CHECKS(is_right ? NULL : look_again(fx, expected, memory, size_bytes));
  return tbk_check_bytes(expected, seen, (size_t)size_bytes, here);
}

bool fx_check_memory(tbk_fixture_t* fx, const void* expected, tbk_memory_t memory,
                     uint64_t size_bytes, tbk_here_t here) {
  uint8_t* seen = malloc(size_bytes + TBK_GUARD_BYTES); /* a backend may overrun */
  if (seen == NULL) abort();
  invert(seen, expected, size_bytes);
  tbk_status_t status =
      fx->core->download(fx->self, fx->device, seen, memory, 0, size_bytes, NULL, &fx->error);
  bool held = tbk_check_status(TBK_OK, status, &fx->error, here) &&
              check_bytes(fx, expected, seen, memory, size_bytes, here);
  free(seen);
  if (!held) tbk_leave();
  return held;
}

/* --------------------------------------------------------------------- streams and events ----- */

tbk_stream_t* fx_stream(tbk_fixture_t* fx) {
  tbk_stream_t* stream = NULL;
  HELPER_OK(fx->stream->stream_create(fx->self, fx->device, 0, &stream, &fx->error));
  TBK_CHECKS("STR-004");
  helper_require(stream != NULL, "a stream", "NULL", TBK_HERE("stream_create"));
  fx_adopt_stream(fx, stream);
  return stream;
}

tbk_event_t* fx_event(tbk_fixture_t* fx, uint32_t flags) {
  tbk_event_t* event = NULL;
  HELPER_OK(fx->event->event_create(fx->self, fx->device, flags, &event, &fx->error));
  helper_require(event != NULL, "an event", "NULL", TBK_HERE("event_create"));
  fx_adopt_event(fx, event);
  return event;
}

void fx_synchronize(tbk_fixture_t* fx, tbk_stream_t* stream) {
  HELPER_OK(fx->stream->stream_synchronize(fx->self, stream, &fx->error));
}

bool fx_poll_stream(tbk_fixture_t* fx, tbk_stream_t* stream, tbk_status_t* out_status) {
  uint64_t deadline = fx_awake_ns() + FX_PATIENCE_NS;
  while ((*out_status = fx->stream->stream_query(fx->self, stream, &fx->error)) == TBK_NOT_READY) {
    if (fx_awake_ns() > deadline) return false;
    sched_yield();
  }
  return true;
}

bool fx_poll_event(tbk_fixture_t* fx, tbk_event_t* event, tbk_status_t* out_status) {
  uint64_t deadline = fx_awake_ns() + FX_PATIENCE_NS;
  while ((*out_status = fx->event->event_query(fx->self, event, &fx->error)) == TBK_NOT_READY) {
    if (fx_awake_ns() > deadline) return false;
    sched_yield();
  }
  return true;
}

bool fx_check_name(const char* expected, const char* seen, tbk_here_t here) {
  const bool is_name = seen != NULL && seen[0] != '\0';
  TBK_CHECKS(is_name ? "DEV-010" : "DEV-011");
  if (!is_name) return tbk_check_said(false, here, "a name", "%s", seen == NULL ? "NULL" : "none");
  const bool is_same = expected != NULL && strcmp(expected, seen) == 0;
  return tbk_check_said(is_same, here, expected != NULL ? expected : "no name", "%s", seen);
}

static const char an_end[] = "an end, asked again and again", no_end[] = "NOT_READY for ever";

bool fx_check_stream_ends(tbk_fixture_t* fx, tbk_stream_t* stream, tbk_status_t* out_status,
                          tbk_here_t here) {
  TBK_CHECKS("STR-017");
  return tbk_check_said(fx_poll_stream(fx, stream, out_status), here, an_end, no_end);
}

bool fx_check_event_ends(tbk_fixture_t* fx, tbk_event_t* event, tbk_status_t* out_status,
                         tbk_here_t here) {
  TBK_CHECKS("EVT-025");
  return tbk_check_said(fx_poll_event(fx, event, out_status), here, an_end, no_end);
}

/* ---------------------------------------------------------------------------------- resources ---- */

void fx_adopt_memory(tbk_fixture_t* fx, int32_t device, tbk_memory_t memory) {
  tbk_list_append(&fx->resources->memory, &(tbk_memory_record_t){memory, device, 0, 0});
}

void fx_adopt_stream(tbk_fixture_t* fx, tbk_stream_t* stream) {
  tbk_list_append(&fx->resources->streams, &stream);
}

void fx_adopt_event(tbk_fixture_t* fx, tbk_event_t* event) {
  tbk_list_append(&fx->resources->events, &event);
}

void fx_disown_memory(tbk_fixture_t* fx, tbk_memory_t memory) {
  tbk_list_remove(&fx->resources->memory, &memory, sizeof memory);
}

void fx_disown_stream(tbk_fixture_t* fx, tbk_stream_t* stream) {
  tbk_list_remove(&fx->resources->streams, &stream, sizeof stream);
}

void fx_disown_event(tbk_fixture_t* fx, tbk_event_t* event) {
  tbk_list_remove(&fx->resources->events, &event, sizeof event);
}

/* ---------------------------------------------------------------------------- what it says ---- */

bool fx_check_exhausted(const char* clause, tbk_status_t status, const tbk_error_t* error,
                        tbk_here_t here) {
  TBK_CHECKS(clause);
  return tbk_check_status(TBK_OUT_OF_MEMORY, status, error, here);
}

void fx_evidence(tbk_fixture_t* fx, tbk_evidence_t evidence, const char* reason) {
  if (evidence <= fx->resources->evidence) return;
  fx->resources->evidence = evidence;
  snprintf(fx->resources->evidence_reason, sizeof fx->resources->evidence_reason, "%s", reason);
}

void fx_note(tbk_fixture_t* fx, const char* text) {
  size_t used = strlen(fx->resources->notes);
  snprintf(fx->resources->notes + used, sizeof fx->resources->notes - used, "%s%s",
           used > 0 ? "; " : "", text);
}

void fx_note_once(tbk_fixture_t* fx, const char* text) {
  if (strstr(fx->resources->notes, text) == NULL) fx_note(fx, text);
}
