/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * notes.c: what the mutants of order remember: the device of a stream, where an event was last
 * recorded, a hidden stream beside the host's own.
 */
#include <string.h>

#include "calls.h"

/* Long against what a test does between two calls; the mutants' races are meant to be lost. */
enum { DELAY_MS = 120 };

stream_note_t* note_of_stream(wrap_t* wrap, tbk_stream_t* stream) {
  stream_note_t* found = &wrap->streams[WRAP_STREAMS - 1]; /* a spare one when the table is full */
  pthread_mutex_lock(&wrap->lock);
  for (size_t i = WRAP_STREAMS - 1; i-- > 0;) {
    stream_note_t* note = &wrap->streams[i];
    if (note->stream == NULL) found = note;
    if (note->stream == stream) {
      found = note;
      break;
    }
  }
  found->stream = stream;
  pthread_mutex_unlock(&wrap->lock);
  return found;
}

event_note_t* note_of_event(wrap_t* wrap, tbk_event_t* event) {
  event_note_t* found = &wrap->events[WRAP_EVENTS - 1];
  pthread_mutex_lock(&wrap->lock);
  for (size_t i = WRAP_EVENTS - 1; i-- > 0;) {
    event_note_t* note = &wrap->events[i];
    if (note->event == NULL) found = note;
    if (note->event == event) {
      found = note;
      break;
    }
  }
  found->event = event;
  pthread_mutex_unlock(&wrap->lock);
  return found;
}

tbk_stream_t* side_stream(wrap_t* wrap, int32_t device) {
  tbk_instance_t* self = atomic_load(&wrap->self);
  pthread_mutex_lock(&wrap->lock);
  if (wrap->side[device % WRAP_DEVICES] == NULL)
    ignore(wrap->inner->stream->stream_create(self, device, 0, &wrap->side[device % WRAP_DEVICES],
                                              NULL));
  tbk_stream_t* side = wrap->side[device % WRAP_DEVICES];
  pthread_mutex_unlock(&wrap->lock);
  return side;
}

tbk_stream_t* side_after(wrap_t* wrap, tbk_stream_t* stream) {
  tbk_instance_t* self = atomic_load(&wrap->self);
  const tbk_event_ops_t* event = wrap->inner->event;
  const int32_t device = note_of_stream(wrap, stream)->device;
  tbk_stream_t* side = side_stream(wrap, device);
  tbk_event_t* point = NULL;
  if (event->event_create(self, device, 0, &point, NULL) != TBK_OK) return side;
  ignore(event->event_record(self, point, stream, NULL));
  ignore(event->event_wait(self, side, point, NULL));
  event->event_destroy(self, point);
  return side;
}

static void delay(void* argument) {
  (void)argument;
  wrap_sleep_ms(DELAY_MS);
}

void note_point(wrap_t* wrap, tbk_stream_t* stream) {
  if (stream == NULL) return;
  tbk_instance_t* self = atomic_load(&wrap->self);
  const tbk_backend_t* inner = wrap->inner;
  stream_note_t* note = note_of_stream(wrap, stream);
  if (note->shadow == NULL)
    ignore(inner->event->event_create(self, note->device, 0, &note->shadow, NULL));
  if (note->shadow == NULL) return;
  ignore(inner->event->event_record(self, note->shadow, stream, NULL));
  ignore(inner->callback->callback_enqueue(self, stream, delay, NULL, NULL));
  note->shadowed = true;
}

STREAM_CREATE(noted_stream_create) {
  tbk_status_t status = STREAM_CREATE_INNER;
  if (status == TBK_OK) note_of_stream(wrap_of(self), *out_stream)->device = device;
  return status;
}

FROM_NATIVE(noted_from_native) {
  tbk_status_t status = FROM_NATIVE_INNER;
  if (status == TBK_OK) note_of_stream(wrap_of(self), *out_stream)->device = device;
  return status;
}

STREAM_DESTROY(noted_stream_destroy) {
  wrap_t* wrap = wrap_of(self);
  STREAM_DESTROY_INNER;
  if (stream == NULL) return;
  stream_note_t* note = note_of_stream(wrap, stream);
  if (note->shadow != NULL) wrap->inner->event->event_destroy(self, note->shadow);
  memset(note, 0, sizeof *note);
}

EVENT_CREATE(noted_event_create) {
  tbk_status_t status = EVENT_CREATE_INNER;
  if (status == TBK_OK) note_of_event(wrap_of(self), *out_event)->device = device;
  return status;
}

EVENT_DESTROY(noted_event_destroy) {
  wrap_t* wrap = wrap_of(self);
  EVENT_DESTROY_INNER;
  if (event != NULL) memset(note_of_event(wrap, event), 0, sizeof(event_note_t));
}

EVENT_RECORD(noted_event_record) {
  tbk_status_t status = EVENT_RECORD_INNER;
  if (status == TBK_OK) {
    event_note_t* note = note_of_event(wrap_of(self), event);
    note->recorded_on = stream;
    note->records++;
  }
  return status;
}

/* Streams and events of a closed device are no more. */
CLOSE(noted_close) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = CLOSE_INNER;
  if (device < 0 || device >= WRAP_DEVICES) return status;
  wrap->side[device] = NULL;
  for (size_t i = 0; i < WRAP_STREAMS; ++i) {
    if (wrap->streams[i].device == device) memset(&wrap->streams[i], 0, sizeof *wrap->streams);
  }
  return status;
}

void notes_install(wrap_t* wrap) {
  const tbk_backend_t* inner = wrap->inner;
#define UNLESS_PATCHED(table, entry, function) \
  if (wrap->table.entry == inner->table->entry) wrap->table.entry = function
  UNLESS_PATCHED(core, device_close, noted_close);
  UNLESS_PATCHED(stream, stream_create, noted_stream_create);
  UNLESS_PATCHED(stream, stream_from_native, noted_from_native);
  UNLESS_PATCHED(stream, stream_destroy, noted_stream_destroy);
  UNLESS_PATCHED(event, event_create, noted_event_create);
  UNLESS_PATCHED(event, event_destroy, noted_event_destroy);
  UNLESS_PATCHED(event, event_record, noted_event_record);
#undef UNLESS_PATCHED
}

tbk_status_t notes_create_kept(tbk_instance_t* self, int32_t device, int32_t priority,
                               tbk_stream_t** out_stream, tbk_error_t* error) {
  tbk_status_t status = STREAM_CREATE_INNER;
  if (status == TBK_OK) {
    atomic_store(&wrap_of(self)->value, atomic_load(&wrap_of(self)->kept));
    atomic_store(&wrap_of(self)->kept, (uintptr_t)*out_stream);
  }
  return status;
}

void notes_destroy_unkept(tbk_instance_t* self, tbk_stream_t* stream) {
  wrap_t* wrap = wrap_of(self);
  if (atomic_load(&wrap->kept) == (uintptr_t)stream) atomic_store(&wrap->kept, 0);
  STREAM_DESTROY_INNER;
}
