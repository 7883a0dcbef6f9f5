/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_teardown.c: the end of an instance.
 */
#include <stdlib.h>
#include <string.h>

#include "calls.h"

static void keep_open(tbk_instance_t* self, tbk_instance_t** out_leaked) {
  *out_leaked = self;
}

/* The wrap goes, the cpu's instance stays as it is. */
static void destroy_closes_nothing(tbk_instance_t* self) {
  wrap_t* wrap = wrap_of(self);
  static tbk_instance_t* leaked;
  keep_open(self, &leaked);
  atomic_store(&wrap->self, NULL);
}

/* An exclusive or pending device is left behind when it was opened a second time. */
static void destroy_forgets_second_device(tbk_instance_t* self) {
  wrap_t* wrap = wrap_of(self);
  if (wrap->opened[1] > 0) {
    atomic_store(&wrap->self, NULL);
    return;
  }
  wrap_destroy(self);
}

OPEN(open_noted) {
  tbk_status_t status = OPEN_INNER;
  if (status == TBK_OK && device >= 0 && device < WRAP_DEVICES) wrap_of(self)->opened[device]++;
  return status;
}

static void* destroy_later(void* argument) {
  wrap_sleep_ms(300);
  wrap_destroy(argument);
  return NULL;
}

static void in_background(void* (*function)(void*), void* argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, function, argument) == 0) pthread_detach(thread);
}

static void destroy_returns_early(tbk_instance_t* self) {
  in_background(destroy_later, self);
}

static void destroy_with_streams_returns_early(tbk_instance_t* self) {
  if (atomic_load(&wrap_of(self)->value) == 0) {
    wrap_destroy(self);
  } else {
    in_background(destroy_later, self);
  }
}

STREAM_CREATE(stream_create_counted) {
  atomic_fetch_add(&wrap_of(self)->value, 1);
  return STREAM_CREATE_INNER;
}

/* In the background too, where there was a callback. */
static void destroy_with_callbacks_returns_early(tbk_instance_t* self) {
  if (atomic_load(&wrap_of(self)->calls) == 0) {
    wrap_destroy(self);
  } else {
    in_background(destroy_later, self);
  }
}

CALLBACK(callback_counted) {
  atomic_fetch_add(&wrap_of(self)->calls, 1);
  return CALLBACK_INNER;
}

static void destroy_crashes_with_open_device(tbk_instance_t* self) {
  if (wrap_of(self)->opened[0] > 0) abort();
  wrap_destroy(self);
}

CLOSE(close_noted) {
  tbk_status_t status = CLOSE_INNER;
  if (device >= 0 && device < WRAP_DEVICES) wrap_of(self)->opened[device] = 0;
  return status;
}

/* A stream is a place among those of its device, which begin anew when it is opened again: of what is from before, the
 * newest one is ended. `opened` counts the closes; `kept` is the newest stream, `value` the one that was ended. */
CLOSE(close_counted) {
  const tbk_status_t status = CLOSE_INNER;
  if (status == TBK_OK && device < WRAP_DEVICES) wrap_of(self)->opened[device]++;
  return status;
}
STREAM_CREATE(stream_has_place) {
  wrap_t* wrap = wrap_of(self);
  const tbk_status_t status = STREAM_CREATE_INNER;
  if (status != TBK_OK || device >= WRAP_DEVICES) return status;
  stream_note_t* note = note_of_stream(wrap, *out_stream);
  note->device = device;
  note->count = 1 + (uint64_t)wrap->opened[device];
  atomic_store(&wrap->kept, (uintptr_t)*out_stream);
  return status;
}
STREAM_DESTROY(end_is_by_place) {
  wrap_t* wrap = wrap_of(self);
  if (stream == NULL) return;
  stream_note_t* note = note_of_stream(wrap, stream);
  uintptr_t newest = (uintptr_t)stream;
  uint64_t ended = (uintptr_t)stream;
  atomic_compare_exchange_strong(&wrap->kept, &newest, 0);
  atomic_compare_exchange_strong(&wrap->value, &ended, 0);
  const int32_t device = note->device;
  const uint64_t now = 1 + (uint64_t)wrap->opened[device % WRAP_DEVICES];
  tbk_stream_t* other = (tbk_stream_t*)atomic_load(&wrap->kept);
  if (note->count != 0 && note->count != now && other != NULL &&
      note_of_stream(wrap, other)->device == device && note_of_stream(wrap, other)->count == now)
    atomic_store(&wrap->value, (uintptr_t)other);
  memset(note, 0, sizeof *note);
  STREAM_DESTROY_INNER;
}
UPLOAD(upload_on_ended_is_lost) {
  if (stream != NULL && atomic_load(&wrap_of(self)->value) == (uintptr_t)stream) return TBK_OK;
  return UPLOAD_INNER;
}

extern const mutant_t mutants_teardown[];
const mutant_t mutants_teardown[] = {
    {"destroy_closes_nothing",
     "TDN-002",
     MUTANT,
     LIFETIME,
     BROAD,
     "an open device stays open for ever",
     {PATCH(core.destroy, destroy_closes_nothing)},
     0,
     0,
     0,
     0},
    {"destroy_forgets_second_device",
     "TDN-002",
     MUTANT,
     LIFETIME,
     NARROW,
     "device 1 stays open for ever",
     {PATCH(core.destroy, destroy_forgets_second_device), PATCH(core.device_open, open_noted)},
     0,
     0,
     0,
     0},
    {"destroy_crashes_with_open_device",
     "TDN-002",
     MUTANT,
     STATE,
     BROAD,
     "aborts where a device is still open",
     {PATCH(core.destroy, destroy_crashes_with_open_device), PATCH(core.device_open, open_noted),
      PATCH(core.device_close, close_noted)},
     0,
     0,
     0,
     0},
    {"destroy_returns_early",
     "TDN-003",
     MUTANT,
     ORDER,
     BROAD,
     "destroys in the background, work still running",
     {PATCH(core.destroy, destroy_returns_early)},
     0,
     0,
     0,
     0},
    {"destroy_with_streams_returns_early",
     "TDN-003",
     MUTANT,
     ORDER,
     NARROW,
     "the same, only where streams were made",
     {PATCH(core.destroy, destroy_with_streams_returns_early),
      PATCH(stream.stream_create, stream_create_counted)},
     0,
     0,
     0,
     0},
    {"destroy_with_callbacks_returns_early",
     "TDN-003",
     MUTANT,
     ORDER,
     NARROW,
     "the same, only where there were callbacks",
     {PATCH(core.destroy, destroy_with_callbacks_returns_early),
      PATCH(callback.callback_enqueue, callback_counted)},
     0,
     0,
     0,
     0},
    {"stale_stream_ends_the_newest",
     "TDN-006",
     MUTANT,
     LIFETIME,
     NARROW,
     "uploads are lost on it once a stream from before the device was closed is destroyed",
     {PATCH(core.device_close, close_counted), PATCH(stream.stream_create, stream_has_place),
      PATCH(stream.stream_destroy, end_is_by_place), PATCH(core.upload, upload_on_ended_is_lost)},
     0,
     0,
     0,
     0},
    {0}};
