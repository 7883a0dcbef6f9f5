/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stranger_state.c: what a failure, a loss, another thread or a device that was closed leaves behind.
 */
#include <string.h>

#include "narrow.h"

/* ------------------------------------------------------------------------------------ failures ---- */

/* The failure is taken by who asks the event, and not told. */
EVENT_SYNCHRONIZE(event_takes_failure) {
  const tbk_status_t status = EVENT_SYNCHRONIZE_INNER;
  tbk_stream_t* on = status == TBK_OK ? note_of_event(wrap_of(self), event)->recorded_on : NULL;
  if (on != NULL && INNER(self, stream)->stream_query(self, on, NULL) == TBK_FAILED)
    ignore(INNER(self, stream)->stream_synchronize(self, on, NULL));
  return status;
}
STREAM_DESTROY(end_is_told_to_events) {
  wrap_t* wrap = wrap_of(self);
  STREAM_DESTROY_INNER;
  if (stream == NULL) return;
  pthread_mutex_lock(&wrap->lock);
  for (int i = 0; i < WRAP_EVENTS; ++i)
    if (wrap->events[i].recorded_on == stream) wrap->events[i].recorded_on = NULL;
  pthread_mutex_unlock(&wrap->lock);
  memset(note_of_stream(wrap, stream), 0, sizeof(stream_note_t));
}

/* What the stream counts by stands at its end since it failed. */
FAULT(failure_ends_counting) {
  const tbk_status_t status = FAULT_INNER;
  if (status == TBK_OK && kind == TBK_FAULT_WORK_FAILS)
    note_of_stream(wrap_of(self), stream)->count = 1;
  return status;
}
EVENT_RECORD(record_after_failure_is_complete) {
  wrap_t* wrap = wrap_of(self);
  if (event == NULL || stream == NULL) return EVENT_RECORD_INNER;
  const stream_note_t* note = note_of_stream(wrap, stream);
  if (note->count == 1 && note->device == note_of_event(wrap, event)->device)
    stream = side_stream(wrap, note->device);
  return EVENT_RECORD_INNER;
}

/* --------------------------------------------------------------------------------------- losses ---- */

LAUNCH_PLAN(lost_device_runs_plans) {
  const tbk_status_t status = LAUNCH_PLAN_INNER;
  return status == TBK_DEVICE_LOST ? TBK_OK : status;
}

/* -------------------------------------------------------------------------------------- threads ---- */

/* One thread is woken when the stream is done, and so a second one does not wait. */
STREAM_SYNCHRONIZE(second_waiter_returns_at_once) {
  wrap_t* wrap = wrap_of(self);
  uintptr_t nobody = 0;
  if (stream == NULL) return STREAM_SYNCHRONIZE_INNER;
  if (atomic_compare_exchange_strong(&wrap->kept, &nobody, (uintptr_t)stream)) {
    const tbk_status_t status = STREAM_SYNCHRONIZE_INNER;
    atomic_store(&wrap->kept, 0);
    return status;
  }
  return nobody == (uintptr_t)stream ? TBK_OK : STREAM_SYNCHRONIZE_INNER;
}

/* ---------------------------------------------------------------------------- opened once more ---- */

/* Events are places in a table, which begins anew when the device is opened again: what is from before ends the
 * newest. `opened` counts the closes, `waits` of an event says after how many it was made; `value` is the newest
 * event, `kept` the one that was ended. */
CLOSE(close_begins_anew) {
  const tbk_status_t status = CLOSE_INNER;
  if (status == TBK_OK && device < WRAP_DEVICES) wrap_of(self)->opened[device]++;
  return status;
}
EVENT_CREATE(event_is_of_table) {
  wrap_t* wrap = wrap_of(self);
  const tbk_status_t status = EVENT_CREATE_INNER;
  if (status != TBK_OK || device >= WRAP_DEVICES) return status;
  event_note_t* note = note_of_event(wrap, *out_event);
  note->device = device;
  note->waits = (uint64_t)wrap->opened[device];
  atomic_store(&wrap->value, (uintptr_t)*out_event);
  return status;
}
EVENT_DESTROY(end_is_by_place) {
  wrap_t* wrap = wrap_of(self);
  if (event == NULL) return;
  event_note_t* note = note_of_event(wrap, event);
  uint64_t newest = (uintptr_t)event;
  uintptr_t kept = (uintptr_t)event;
  atomic_compare_exchange_strong(&wrap->value, &newest, 0);
  atomic_compare_exchange_strong(&wrap->kept, &kept, 0);
  const int32_t device = note->device;
  const uint64_t now = (uint64_t)wrap->opened[device % WRAP_DEVICES];
  tbk_event_t* other = (tbk_event_t*)atomic_load(&wrap->value);
  if (note->waits != now && other != NULL && note_of_event(wrap, other)->device == device &&
      note_of_event(wrap, other)->waits == now)
    atomic_store(&wrap->kept, (uintptr_t)other);
  EVENT_DESTROY_INNER;
  memset(note, 0, sizeof *note);
}
static bool was_ended(tbk_instance_t* self, const tbk_event_t* event) {
  return event != NULL && atomic_load(&wrap_of(self)->kept) == (uintptr_t)event;
}
EVENT_RECORD(record_of_ended_is_refused) {
  if (stream != NULL && was_ended(self, event))
    return wrap_fail(error, TBK_INVALID_STATE, "there is no such event");
  return EVENT_RECORD_INNER;
}
EVENT_QUERY(query_of_ended_is_refused) {
  if (was_ended(self, event)) return wrap_fail(error, TBK_INVALID_STATE, "there is no such event");
  return EVENT_QUERY_INNER;
}

extern const mutant_t mutants_stranger_state[];
const mutant_t mutants_stranger_state[] = {
    NOTED("event_synchronize_takes_the_failure", "ERR-007", ERROR,
          "of a stream that is done, and nobody is told",
          PATCH(event.event_synchronize, event_takes_failure),
          PATCH(stream.stream_destroy, end_is_told_to_events)),
    NOTED("records_after_failure_are_complete", "FLT-002", STATE,
          "whatever is pending on the stream whose work failed",
          PATCH(fault.fault_enqueue, failure_ends_counting),
          PATCH(event.event_record, record_after_failure_is_complete)),
    KERNEL(lost_device_runs_plans, "FLT-003", RETURN, NULL, launch_plan,
           "OK where a plan was made before the loss"),
    ONE(second_waiter_returns_at_once, "THR-001", THREAD, stream.stream_synchronize,
        "while another thread waits for the same stream"),
    SEVERAL("stale_event_ends_the_newest", "TDN-006", LIFETIME,
            "destroyed once its device was closed and opened again",
            PATCH(core.device_close, close_begins_anew),
            PATCH(event.event_create, event_is_of_table),
            PATCH(event.event_destroy, end_is_by_place),
            PATCH(event.event_record, record_of_ended_is_refused),
            PATCH(event.event_query, query_of_ended_is_refused)),
    {0}};
