/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_event.c: events.
 */
#include <string.h>

#include "narrow.h"

/* Events with timing have waits at TIMING or above in their notes. */
#define TIMING (UINT64_C(1) << 40)

EVENT_CREATE(timing_is_noted) {
  tbk_status_t status = EVENT_CREATE_INNER;
  if (status != TBK_OK) return status;
  event_note_t* note = note_of_event(wrap_of(self), *out_event);
  note->device = device;
  note->waits = flags & TBK_EVENT_TIMING ? TIMING : 0;
  return status;
}
static bool has_timing(tbk_instance_t* self, tbk_event_t* event) {
  return event != NULL && note_of_event(wrap_of(self), event)->waits >= TIMING;
}
EVENT_RECORD(timing_records_on_idle_stream) {
  if (stream != NULL && has_timing(self, event) &&
      note_of_event(wrap_of(self), event)->device == note_of_stream(wrap_of(self), stream)->device)
    stream = side_stream(wrap_of(self), note_of_stream(wrap_of(self), stream)->device);
  return EVENT_RECORD_INNER;
}
EVENT_WAIT(wait_for_timing_does_nothing) {
  return stream != NULL && has_timing(self, event) ? TBK_OK : EVENT_WAIT_INNER;
}
EVENT_QUERY(timing_query_waits) {
  if (has_timing(self, event)) ignore(EVENT_SYNCHRONIZE_INNER);
  return EVENT_QUERY_INNER;
}
EVENT_DESTROY(timing_destroy_waits) {
  if (has_timing(self, event)) ignore(INNER(self, event)->event_synchronize(self, event, NULL));
  if (event != NULL) memset(note_of_event(wrap_of(self), event), 0, sizeof(event_note_t));
  EVENT_DESTROY_INNER;
}

/* --------------------------------------------------------------------------------- how many -- */

EVENT_CREATE(four_timing_events) {
  if (flags == TBK_EVENT_TIMING && out_event != NULL && atomic_load(&wrap_of(self)->flag) >= 4)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no more events with timing");
  tbk_status_t status = timing_is_noted(self, device, flags, out_event, error);
  if (status == TBK_OK && flags == TBK_EVENT_TIMING) atomic_fetch_add(&wrap_of(self)->flag, 1);
  return status;
}
EVENT_DESTROY(timing_end_is_counted) {
  if (has_timing(self, event)) atomic_fetch_sub(&wrap_of(self)->flag, 1);
  if (event != NULL) memset(note_of_event(wrap_of(self), event), 0, sizeof(event_note_t));
  EVENT_DESTROY_INNER;
}
EVENT_CREATE(no_event_after_40_leaks) {
  if (out_event != NULL && atomic_load(&wrap_of(self)->flag) >= 40)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no more events");
  return EVENT_CREATE_INNER;
}
EVENT_DESTROY(pending_event_leaks_its_place) {
  if (event_pending(self, event)) atomic_fetch_add(&wrap_of(self)->flag, 1);
  EVENT_DESTROY_INNER;
}
EVENT_RECORD(ninth_record_is_ignored) {
  event_note_t* note = note_of_event(wrap_of(self), event);
  if (event == NULL || stream == NULL || ++note->queries < 9) return EVENT_RECORD_INNER;
  return TBK_OK;
}
EVENT_WAIT(ninth_waiter_does_not_wait) {
  event_note_t* note = note_of_event(wrap_of(self), event);
  if (event == NULL || stream == NULL || ++note->queries < 9) return EVENT_WAIT_INNER;
  return TBK_OK;
}
EVENT_WAIT(waiter_is_noted) {
  if (event != NULL) note_of_event(wrap_of(self), event)->waiter = stream;
  return EVENT_WAIT_INNER;
}
EVENT_RECORD(record_after_wait_is_ignored) {
  if (event != NULL && stream != NULL && note_of_event(wrap_of(self), event)->waiter != NULL)
    return TBK_OK;
  return EVENT_RECORD_INNER;
}
EVENT_WAIT(second_crossing_does_nothing) {
  wrap_t* wrap = wrap_of(self);
  if (event == NULL || stream == NULL) return EVENT_WAIT_INNER;
  event_note_t* note = note_of_event(wrap, event);
  if (note->device == note_of_stream(wrap, stream)->device) return EVENT_WAIT_INNER;
  return ++note->queries > 1 ? TBK_OK : EVENT_WAIT_INNER;
}

/* --------------------------------------------------------------------------------- lifetimes -- */

/* Events whose stream is gone are found by what their notes say. */
STREAM_DESTROY(end_orphans_events) {
  wrap_t* wrap = wrap_of(self);
  for (int i = 0; i < WRAP_EVENTS && stream != NULL; ++i) {
    event_note_t* note = &wrap->events[i];
    if (note->event != NULL && note->recorded_on == stream) note->queries = 1;
  }
  STREAM_DESTROY_INNER;
  if (stream != NULL) note_of_stream(wrap, stream)->stream = NULL;
}
EVENT_RECORD(record_adopts) {
  tbk_status_t status = EVENT_RECORD_INNER;
  if (status != TBK_OK) return status;
  event_note_t* note = note_of_event(wrap_of(self), event);
  note->recorded_on = stream;
  note->queries = 0;
  return status;
}
static bool orphaned(tbk_instance_t* self, tbk_event_t* event) {
  return event != NULL && note_of_event(wrap_of(self), event)->queries == 1;
}
EVENT_WAIT(wait_for_orphan_does_nothing) {
  return stream != NULL && orphaned(self, event) ? TBK_OK : EVENT_WAIT_INNER;
}
EVENT_QUERY(query_of_orphan_is_complete) {
  tbk_status_t status = EVENT_QUERY_INNER;
  return status == TBK_NOT_READY && orphaned(self, event) ? TBK_OK : status;
}
EVENT_SYNCHRONIZE(synchronize_of_orphan_at_once) {
  return orphaned(self, event) ? TBK_OK : EVENT_SYNCHRONIZE_INNER;
}

/* A pending event that is destroyed is handed out again as it is. */
EVENT_DESTROY(pending_event_is_kept) {
  uintptr_t expected = 0;
  if (event_pending(self, event) && note_of_event(wrap_of(self), event)->waits < TIMING &&
      atomic_compare_exchange_strong(&wrap_of(self)->kept, &expected, (uintptr_t)event))
    return;
  EVENT_DESTROY_INNER;
}
EVENT_CREATE(pending_event_is_recycled) {
  wrap_t* wrap = wrap_of(self);
  tbk_event_t* kept = (tbk_event_t*)atomic_load(&wrap->kept);
  if (out_event == NULL || flags != 0 || kept == NULL ||
      note_of_event(wrap, kept)->device != device)
    return timing_is_noted(self, device, flags, out_event, error);
  atomic_store(&wrap->kept, 0);
  *out_event = kept;
  return TBK_OK;
}
CLOSE(close_ends_recycling) {
  wrap_t* wrap = wrap_of(self);
  wrap->inner->event->event_destroy(self, (tbk_event_t*)atomic_exchange(&wrap->kept, 0));
  return CLOSE_INNER;
}

/* -------------------------------------------------------------------------------- long waits -- */

EVENT_SYNCHRONIZE(event_synchronize_gives_up) {
  for (int i = 0; i < 400 && event_pending(self, event); ++i)
    wrap_sleep_ms(1);
  return event_pending(self, event) ? TBK_OK : EVENT_SYNCHRONIZE_INNER;
}
EVENT_QUERY(event_query_gives_up) {
  tbk_status_t status = EVENT_QUERY_INNER;
  if (status != TBK_NOT_READY) return status;
  event_note_t* note = note_of_event(wrap_of(self), event);
  return ++note->queries > 500 ? TBK_OK : status;
}
EVENT_RECORD(record_restarts_patience) {
  if (event != NULL) note_of_event(wrap_of(self), event)->queries = 0;
  return EVENT_RECORD_INNER;
}

/* ------------------------------------------------------------------------------------- elapsed -- */

EVENT_ELAPSED(elapsed_across_streams_is_negative) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status != TBK_OK) return status;
  const tbk_stream_t* from = note_of_event(wrap_of(self), start)->recorded_on;
  if (from != note_of_event(wrap_of(self), end)->recorded_on && *out_ms > 0) *out_ms = -*out_ms;
  return status;
}
EVENT_ELAPSED(elapsed_wraps_at_an_eighth) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status == TBK_OK && *out_ms >= 125) {
    const int64_t turns = 1 + (int64_t)(*out_ms - 125) / 250;
    *out_ms -= 250.0 * (double)turns;
  }
  return status;
}
EVENT_ELAPSED(elapsed_asks_end_only) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status != TBK_NOT_READY || event_pending(self, end)) return status;
  *out_ms = 0;
  return TBK_OK;
}
EVENT_ELAPSED(elapsed_of_two_devices_is_0) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status != TBK_INVALID_STATE || !has_timing(self, start) || !has_timing(self, end) ||
      note_of_event(wrap_of(self), start)->device == note_of_event(wrap_of(self), end)->device ||
      note_of_event(wrap_of(self), start)->recorded_on == NULL ||
      note_of_event(wrap_of(self), end)->recorded_on == NULL)
    return status;
  *out_ms = 0;
  return TBK_OK;
}
EVENT_ELAPSED(elapsed_asks_start_for_timing) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status != TBK_INVALID_STATE || !has_timing(self, start) || has_timing(self, end) ||
      note_of_event(wrap_of(self), end)->recorded_on == NULL)
    return status;
  *out_ms = 0;
  return TBK_OK;
}
EVENT_ELAPSED(elapsed_of_unrecorded_end_is_0) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status != TBK_INVALID_STATE || !has_timing(self, start) || !has_timing(self, end) ||
      note_of_event(wrap_of(self), end)->recorded_on != NULL)
    return status;
  *out_ms = 0;
  return TBK_OK;
}

#define TIMED(name, clause, operation, note, member, function)                     \
  NOTED(name, clause, operation, note, PATCH(event.event_create, timing_is_noted), \
        PATCH(member, function))
#define ORPHANED(name, clause, operation, note, member, function)                        \
  NOTED(name, clause, operation, note, PATCH(stream.stream_destroy, end_orphans_events), \
        PATCH(event.event_record, record_adopts), PATCH(member, function))

extern const mutant_t mutants_narrow_event[];
const mutant_t mutants_narrow_event[] = {
    TIMED("timing_records_on_idle_stream", "EVT-012", ORDER, "events with timing",
          event.event_record, timing_records_on_idle_stream),
    TIMED("wait_for_timing_does_nothing", "EVT-018", ORDER, "events with timing", event.event_wait,
          wait_for_timing_does_nothing),
    TIMED("timing_query_waits", "EVT-024", ORDER, "events with timing", event.event_query,
          timing_query_waits),
    TIMED("timing_destroy_waits", "EVT-009", ORDER, "events with timing", event.event_destroy,
          timing_destroy_waits),
    NOTED("four_timing_events", "EVT-003", COUNT, "a fifth one with timing is refused",
          PATCH(event.event_create, four_timing_events),
          PATCH(event.event_destroy, timing_end_is_counted)),
    SEVERAL("pending_events_leak_their_places", "EVT-003", COUNT,
            "no event after 40 that were destroyed while pending",
            PATCH(event.event_create, no_event_after_40_leaks),
            PATCH(event.event_destroy, pending_event_leaks_its_place)),
    NOTED("ninth_record_is_ignored", "EVT-014", COUNT, "of one event",
          PATCH(event.event_record, ninth_record_is_ignored)),
    NOTED("ninth_waiter_does_not_wait", "EVT-020", COUNT, "for one event",
          PATCH(event.event_wait, ninth_waiter_does_not_wait)),
    NOTED("record_after_wait_is_ignored", "EVT-014", STATE, "once a stream was told to wait",
          PATCH(event.event_wait, waiter_is_noted),
          PATCH(event.event_record, record_after_wait_is_ignored)),
    NOTED("second_crossing_does_nothing", "EVT-021", COUNT,
          "the second wait of another device for an event",
          PATCH(event.event_wait, second_crossing_does_nothing)),
    ORPHANED("wait_for_orphan_does_nothing", "EVT-018", LIFETIME,
             "the stream of the record is gone", event.event_wait, wait_for_orphan_does_nothing),
    ORPHANED("query_of_orphan_is_complete", "EVT-023", LIFETIME, "the stream of the record is gone",
             event.event_query, query_of_orphan_is_complete),
    ORPHANED("synchronize_of_orphan_at_once", "EVT-026", LIFETIME,
             "the stream of the record is gone", event.event_synchronize,
             synchronize_of_orphan_at_once),
    NOTED("pending_event_is_recycled", "EVT-002", STATE,
          "a new event is one that was destroyed while pending",
          PATCH(event.event_create, pending_event_is_recycled),
          PATCH(event.event_destroy, pending_event_is_kept),
          PATCH(core.device_close, close_ends_recycling)),
    ONE(event_synchronize_gives_up, "EVT-026", ORDER, event.event_synchronize, "after 400 ms"),
    NOTED("event_query_gives_up", "EVT-023", COUNT, "OK after 500 questions",
          PATCH(event.event_query, event_query_gives_up),
          PATCH(event.event_record, record_restarts_patience)),
    NOTED("elapsed_across_streams_is_negative", "EVT-029", VALUE, "recorded on two streams",
          PATCH(event.event_elapsed, elapsed_across_streams_is_negative)),
    ONE(elapsed_wraps_at_an_eighth, "EVT-029", VALUE, event.event_elapsed,
        "negative from 125 ms on"),
    ONE(elapsed_asks_end_only, "EVT-031", RETURN, event.event_elapsed,
        "OK where only the start is pending"),
    TIMED("elapsed_of_two_devices_is_0", "EVT-027", RETURN, "OK for events of two devices",
          event.event_elapsed, elapsed_of_two_devices_is_0),
    TIMED("elapsed_asks_start_for_timing", "EVT-027", RETURN, "OK where only the end has no timing",
          event.event_elapsed, elapsed_asks_start_for_timing),
    TIMED("elapsed_of_unrecorded_end_is_0", "EVT-027", RETURN,
          "OK where only the end was never recorded", event.event_elapsed,
          elapsed_of_unrecorded_end_is_0),
    {0}};
