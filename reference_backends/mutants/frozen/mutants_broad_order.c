/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * broad_order.c: streams, events and callbacks that fail in every use.
 */
#include <stdlib.h>
#include <string.h>

#include "narrow.h"

#define BASIC(name, clause, operation, note, install, ...) \
  { name, clause, MUTANT, operation, BROAD, note, {__VA_ARGS__}, 0, 0, install, 0 }

static void count_down(wrap_t* wrap, const void* object) {
  uint64_t value = atomic_load(&wrap->value);
  while (object != NULL && value != 0 &&
         !atomic_compare_exchange_weak(&wrap->value, &value, value - 1))
    continue;
}

/* Waits for one stream of the device, the latest. */
DEVICE_SYNCHRONIZE(device_waits_for_one_stream) {
  tbk_stream_t* latest = (tbk_stream_t*)atomic_load(&wrap_of(self)->kept);
  stream_note_t* note = latest == NULL ? NULL : note_of_stream(wrap_of(self), latest);
  if (note == NULL || note->count == 0 || note->device != device) return DEVICE_SYNCHRONIZE_INNER;
  return INNER(self, stream)->stream_synchronize(self, latest, error);
}
STREAM_CREATE(the_latest_stream) {
  const tbk_status_t status = STREAM_CREATE_INNER;
  if (status != TBK_OK) return status;
  note_of_stream(wrap_of(self), *out_stream)->device = device;
  note_of_stream(wrap_of(self), *out_stream)->count = 1;
  atomic_store(&wrap_of(self)->kept, (uintptr_t)*out_stream);
  return status;
}

DEVICE_SYNCHRONIZE(device_needs_a_stream) {
  if (atomic_load(&wrap_of(self)->value) == 0)
    return wrap_fail(error, TBK_INVALID_STATE, "the device has no stream");
  return DEVICE_SYNCHRONIZE_INNER;
}
STREAM_CREATE(one_stream_more) {
  const tbk_status_t status = STREAM_CREATE_INNER;
  if (status == TBK_OK) atomic_fetch_add(&wrap_of(self)->value, 1);
  return status;
}
STREAM_DESTROY(one_stream_less) {
  count_down(wrap_of(self), stream);
  STREAM_DESTROY_INNER;
}

STREAM_QUERY(query_says_done) {
  const tbk_status_t status = STREAM_QUERY_INNER;
  return status == TBK_NOT_READY ? TBK_OK : status;
}

STREAM_QUERY(query_says_not_ready) {
  const tbk_status_t status = STREAM_QUERY_INNER;
  return status == TBK_OK ? TBK_NOT_READY : status;
}

STREAM_QUERY(query_waits) {
  if (stream == NULL) return STREAM_QUERY_INNER;
  return INNER(self, stream)->stream_synchronize(self, stream, error);
}

/* Two streams of a device and no more. */
STREAM_CREATE(two_streams_at_most) {
  if (atomic_load(&wrap_of(self)->value) >= 2)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no more streams");
  const tbk_status_t status = STREAM_CREATE_INNER;
  if (status == TBK_OK) atomic_fetch_add(&wrap_of(self)->value, 1);
  return status;
}

/* Kernels are run in the call. */
LAUNCH(kernels_are_not_queued) {
  stream = NULL;
  return LAUNCH_INNER;
}

/* What a stream is made of is another queue than the one that was named. */
FROM_NATIVE(from_native_is_a_new_queue) {
  if (out_stream == NULL || native == NULL) return FROM_NATIVE_INNER;
  return INNER(self, stream)->stream_create(self, device, 0, out_stream, error);
}

EVENT_QUERY(event_query_says_done) {
  const tbk_status_t status = EVENT_QUERY_INNER;
  return status == TBK_NOT_READY ? TBK_OK : status;
}

EVENT_QUERY(event_query_says_not_ready) {
  const tbk_status_t status = EVENT_QUERY_INNER;
  return status == TBK_OK ? TBK_NOT_READY : status;
}

EVENT_SYNCHRONIZE(event_synchronize_does_nothing) {
  const tbk_status_t status = INNER(self, event)->event_query(self, event, error);
  return status == TBK_NOT_READY ? TBK_OK : status;
}

/* An event that was not recorded is one whose work is not complete. */
EVENT_QUERY(unrecorded_is_pending) {
  if (event != NULL && note_of_event(wrap_of(self), event)->records == 0) return TBK_NOT_READY;
  return EVENT_QUERY_INNER;
}
EVENT_SYNCHRONIZE(unrecorded_is_refused) {
  if (event != NULL && note_of_event(wrap_of(self), event)->records == 0)
    return wrap_fail(error, TBK_INVALID_STATE, "the event was not recorded");
  return EVENT_SYNCHRONIZE_INNER;
}
EVENT_WAIT(unrecorded_is_not_waited_for) {
  if (event != NULL && stream != NULL && note_of_event(wrap_of(self), event)->records == 0)
    return wrap_fail(error, TBK_INVALID_STATE, "the event was not recorded");
  return EVENT_WAIT_INNER;
}

EVENT_RECORD(events_are_recorded_once) {
  if (event == NULL || stream == NULL) return EVENT_RECORD_INNER;
  event_note_t* note = note_of_event(wrap_of(self), event);
  if (note->records > 0) return TBK_OK;
  const tbk_status_t status = EVENT_RECORD_INNER;
  if (status == TBK_OK) note->records++;
  return status;
}

/* An event is its stream: it completes with all that is on it. */
EVENT_QUERY(event_is_its_stream) {
  tbk_stream_t* on = event == NULL ? NULL : note_of_event(wrap_of(self), event)->recorded_on;
  if (on == NULL || note_of_stream(wrap_of(self), on)->count == 0) return EVENT_QUERY_INNER;
  return INNER(self, stream)->stream_query(self, on, error);
}
EVENT_SYNCHRONIZE(waits_for_its_stream) {
  tbk_stream_t* on = event == NULL ? NULL : note_of_event(wrap_of(self), event)->recorded_on;
  if (on == NULL || note_of_stream(wrap_of(self), on)->count == 0) return EVENT_SYNCHRONIZE_INNER;
  return INNER(self, stream)->stream_synchronize(self, on, error);
}
STREAM_CREATE(a_stream_of_events) {
  const tbk_status_t status = STREAM_CREATE_INNER;
  if (status != TBK_OK) return status;
  note_of_stream(wrap_of(self), *out_stream)->device = device;
  note_of_stream(wrap_of(self), *out_stream)->count = 1;
  return status;
}

EVENT_CREATE(two_events_at_most) {
  if (atomic_load(&wrap_of(self)->value) >= 2)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no more events");
  const tbk_status_t status = EVENT_CREATE_INNER;
  if (status == TBK_OK) atomic_fetch_add(&wrap_of(self)->value, 1);
  return status;
}
EVENT_DESTROY(one_event_less) {
  count_down(wrap_of(self), event);
  EVENT_DESTROY_INNER;
}
CALLBACK(callbacks_run_twice) {
  const tbk_status_t status = CALLBACK_INNER;
  if (status == TBK_OK) ignore(CALLBACK_INNER);
  return status;
}

CALLBACK(callbacks_run_at_once) {
  if (stream == NULL || function == NULL) return CALLBACK_INNER;
  stream = side_stream(wrap_of(self), note_of_stream(wrap_of(self), stream)->device);
  return CALLBACK_INNER;
}

/* Behind what is on the stream, and not in front of what comes. */
CALLBACK(callbacks_hold_nothing) {
  if (stream == NULL || function == NULL) return CALLBACK_INNER;
  stream = side_after(wrap_of(self), stream);
  return CALLBACK_INNER;
}

CALLBACK(callbacks_get_no_argument) {
  argument = NULL;
  return CALLBACK_INNER;
}

extern const mutant_t mutants_broad_order[];
const mutant_t mutants_broad_order[] = {
    BASIC("device_waits_for_one_stream", "STR-022", ORDER, "the latest that was made",
          notes_install, PATCH(stream.device_synchronize, device_waits_for_one_stream),
          PATCH(stream.stream_create, the_latest_stream),
          PATCH(stream.stream_destroy, notes_destroy_unkept)),
    BASIC("device_needs_a_stream", "STR-023", RETURN, "else it is refused", 0,
          PATCH(stream.device_synchronize, device_needs_a_stream),
          PATCH(stream.stream_create, one_stream_more),
          PATCH(stream.stream_destroy, one_stream_less)),
    BASIC("query_says_done", "STR-015", RETURN, "of every stream", 0,
          PATCH(stream.stream_query, query_says_done)),
    BASIC("query_says_not_ready", "STR-017", RETURN, "of every stream", 0,
          PATCH(stream.stream_query, query_says_not_ready)),
    BASIC("query_waits_for_the_stream", "STR-016", ORDER, "as stream_synchronize does", 0,
          PATCH(stream.stream_query, query_waits)),
    BASIC("two_streams_at_most", "STR-006", COUNT, "the third is refused", 0,
          PATCH(stream.stream_create, two_streams_at_most),
          PATCH(stream.stream_destroy, one_stream_less)),
    BASIC("kernels_are_not_queued", "STR-001", ORDER, "done in the call, whatever the stream holds",
          0, PATCH(launching.launch, kernels_are_not_queued)),
    BASIC("from_native_is_a_new_queue", "STR-029", ORDER, "beside the native one", 0,
          PATCH(stream.stream_from_native, from_native_is_a_new_queue)),
    BASIC("event_query_says_done", "EVT-023", RETURN, "of every event", 0,
          PATCH(event.event_query, event_query_says_done)),
    BASIC("event_query_says_not_ready", "EVT-025", RETURN, "of every event", 0,
          PATCH(event.event_query, event_query_says_not_ready)),
    BASIC("event_synchronize_does_nothing", "EVT-026", ORDER, "returns at once", 0,
          PATCH(event.event_synchronize, event_synchronize_does_nothing)),
    BASIC("unrecorded_is_pending", "EVT-002", STATE, "and cannot be waited for", notes_install,
          PATCH(event.event_query, unrecorded_is_pending),
          PATCH(event.event_synchronize, unrecorded_is_refused),
          PATCH(event.event_wait, unrecorded_is_not_waited_for)),
    BASIC("events_are_recorded_once", "EVT-014", STATE, "the first point stays", notes_install,
          PATCH(event.event_record, events_are_recorded_once)),
    BASIC("event_is_its_stream", "EVT-013", ORDER, "it waits for later work too", notes_install,
          PATCH(event.event_query, event_is_its_stream),
          PATCH(event.event_synchronize, waits_for_its_stream),
          PATCH(stream.stream_create, a_stream_of_events)),
    BASIC("two_events_at_most", "EVT-003", COUNT, "the third is refused", 0,
          PATCH(event.event_create, two_events_at_most),
          PATCH(event.event_destroy, one_event_less)),
    BASIC("callbacks_run_twice", "CBK-002", COUNT, "each", 0,
          PATCH(callback.callback_enqueue, callbacks_run_twice)),
    BASIC("callbacks_run_at_once", "CBK-003", ORDER, "whatever the stream holds", notes_install,
          PATCH(callback.callback_enqueue, callbacks_run_at_once)),
    BASIC("callbacks_hold_nothing", "CBK-004", ORDER, "later work does not wait for them",
          notes_install, PATCH(callback.callback_enqueue, callbacks_hold_nothing)),
    BASIC("callbacks_get_no_argument", "CBK-002", VALUE, "NULL, each", 0,
          PATCH(callback.callback_enqueue, callbacks_get_no_argument)),
    {0}};
