/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_event.c: making, recording and asking events.
 */
#include "calls.h"

EVENT_CREATE(create_event_accepts_null) {
  return out_event == NULL ? TBK_OK : EVENT_CREATE_INNER;
}
EVENT_CREATE(create_event_ignores_flags) {
  flags &= TBK_EVENT_FLAGS_KNOWN;
  return EVENT_CREATE_INNER;
}
EVENT_CREATE(create_event_ignores_highest_flag) {
  flags &= ~(UINT32_C(1) << 31);
  return EVENT_CREATE_INNER;
}

EVENT_QUERY(unrecorded_is_not_ready) {
  wrap_t* wrap = wrap_of(self);
  if (event != NULL && note_of_event(wrap, event)->recorded_on == NULL) return TBK_NOT_READY;
  return EVENT_QUERY_INNER;
}
EVENT_SYNCHRONIZE(unrecorded_synchronize_is_refused) {
  wrap_t* wrap = wrap_of(self);
  if (event != NULL && note_of_event(wrap, event)->recorded_on == NULL)
    return wrap_fail(error, TBK_INVALID_STATE, "it was never recorded");
  return EVENT_SYNCHRONIZE_INNER;
}
EVENT_WAIT(unrecorded_wait_is_refused) {
  wrap_t* wrap = wrap_of(self);
  if (event != NULL && stream != NULL && note_of_event(wrap, event)->recorded_on == NULL)
    return wrap_fail(error, TBK_INVALID_STATE, "it was never recorded");
  return EVENT_WAIT_INNER;
}

static tbk_status_t create_up_to(tbk_instance_t* self, int32_t device, uint32_t flags,
                                 tbk_event_t** out_event, tbk_error_t* error, int limit) {
  wrap_t* wrap = wrap_of(self);
  if (atomic_load(&wrap->flag) >= limit)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no more events");
  tbk_status_t status = EVENT_CREATE_INNER;
  if (status == TBK_OK) atomic_fetch_add(&wrap->flag, 1);
  return status;
}
EVENT_CREATE(create_up_to_four_events) {
  return create_up_to(self, device, flags, out_event, error, 4);
}
EVENT_CREATE(create_up_to_seven_events) {
  return create_up_to(self, device, flags, out_event, error, 7);
}
EVENT_CREATE(create_up_to_twelve_events_ever) {
  return create_up_to(self, device, flags, out_event, error, 12);
}
EVENT_DESTROY(destroy_event_counted) {
  if (event != NULL) atomic_fetch_sub(&wrap_of(self)->flag, 1);
  EVENT_DESTROY_INNER;
}

EVENT_RECORD(record_accepts_null) {
  return event == NULL || stream == NULL ? TBK_OK : EVENT_RECORD_INNER;
}
EVENT_RECORD(record_accepts_null_stream) {
  return stream == NULL ? TBK_OK : EVENT_RECORD_INNER;
}
EVENT_RECORD(record_on_foreign_stream) {
  wrap_t* wrap = wrap_of(self);
  if (event != NULL && stream != NULL &&
      note_of_event(wrap, event)->device != note_of_stream(wrap, stream)->device)
    return TBK_OK;
  return EVENT_RECORD_INNER;
}

/* EVT-012: completes without the work. */
EVENT_RECORD(record_does_nothing) {
  return event == NULL || stream == NULL ? EVENT_RECORD_INNER : TBK_OK;
}
EVENT_RECORD(record_on_idle_stream) {
  wrap_t* wrap = wrap_of(self);
  if (event != NULL && stream != NULL)
    stream = side_stream(wrap, note_of_stream(wrap, stream)->device);
  return EVENT_RECORD_INNER;
}
/* Records the point before marked work, not behind it, where some was enqueued since the last record. Each record has
 * a stream of its own, which nothing else holds up. */
EVENT_RECORD(record_before_marked_work) {
  wrap_t* wrap = wrap_of(self);
  const tbk_stream_ops_t* streams = wrap->inner->stream;
  stream_note_t* note = stream == NULL ? NULL : note_of_stream(wrap, stream);
  tbk_stream_t* side = NULL;
  if (event == NULL || note == NULL || !note->shadowed ||
      streams->stream_create(self, note->device, 0, &side, NULL) != TBK_OK)
    return EVENT_RECORD_INNER;
  ignore(wrap->inner->event->event_wait(self, side, note->shadow, NULL));
  note->shadowed = false;
  stream = side;
  const tbk_status_t status = EVENT_RECORD_INNER;
  streams->stream_destroy(self, side);
  return status;
}
#define MARKED(f, signature, inner)    \
  signature(f) {                       \
    note_point(wrap_of(self), stream); \
    return inner;                      \
  }
MARKED(download_marked, DOWNLOAD, DOWNLOAD_INNER)
MARKED(upload_marked, UPLOAD, UPLOAD_INNER)
MARKED(copy_marked, COPY, COPY_INNER)
MARKED(fill_marked, FILL, FILL_INNER)
MARKED(launch_marked, LAUNCH, LAUNCH_INNER)
MARKED(random_marked, RANDOM_BITS, RANDOM_BITS_INNER)
MARKED(callback_marked, CALLBACK, CALLBACK_INNER)
EVENT_RECORD(second_record_does_nothing) {
  if (event != NULL && stream != NULL && wrap_every(wrap_of(self), 2)) return TBK_OK;
  return EVENT_RECORD_INNER;
}

/* EVT-013: completes with the stream, whatever was recorded. */
static tbk_stream_t* recorded_stream(tbk_instance_t* self, tbk_event_t* event) {
  return event == NULL ? NULL : note_of_event(wrap_of(self), event)->recorded_on;
}
EVENT_QUERY(query_of_whole_stream) {
  tbk_stream_t* stream = recorded_stream(self, event);
  return stream == NULL ? EVENT_QUERY_INNER
                        : INNER(self, stream)->stream_query(self, stream, error);
}
EVENT_SYNCHRONIZE(synchronize_whole_stream) {
  tbk_stream_t* stream = recorded_stream(self, event);
  return stream == NULL ? EVENT_SYNCHRONIZE_INNER
                        : INNER(self, stream)->stream_synchronize(self, stream, error);
}
EVENT_SYNCHRONIZE(second_synchronize_whole_stream) {
  tbk_stream_t* stream = recorded_stream(self, event);
  if (stream != NULL && wrap_every(wrap_of(self), 2))
    return INNER(self, stream)->stream_synchronize(self, stream, error);
  return EVENT_SYNCHRONIZE_INNER;
}

/* EVT-014: what was recorded first stays. */
EVENT_RECORD(record_once_only) {
  wrap_t* wrap = wrap_of(self);
  event_note_t* note = event == NULL ? NULL : note_of_event(wrap, event);
  if (note != NULL && stream != NULL && note->records++ > 0) return TBK_OK;
  return EVENT_RECORD_INNER;
}
EVENT_RECORD(record_while_pending_ignored) {
  if (event != NULL && stream != NULL &&
      INNER(self, event)->event_query(self, event, NULL) == TBK_NOT_READY)
    return TBK_OK;
  return EVENT_RECORD_INNER;
}
EVENT_RECORD(record_third_time_ignored) {
  wrap_t* wrap = wrap_of(self);
  event_note_t* note = event == NULL ? NULL : note_of_event(wrap, event);
  if (note != NULL && stream != NULL && ++note->records == 3) return TBK_OK;
  return EVENT_RECORD_INNER;
}
EVENT_RECORD(record_elsewhere_keeps_stream) {
  wrap_t* wrap = wrap_of(self);
  event_note_t* note = event == NULL ? NULL : note_of_event(wrap, event);
  if (note != NULL && stream != NULL) {
    if (note->recorded_on != NULL) stream = note->recorded_on;
    note->recorded_on = stream;
  }
  return EVENT_RECORD_INNER;
}

#define NULL_EVENT(f, signature, inner) \
  signature(f) {                        \
    if (event == NULL) return TBK_OK;   \
    return inner;                       \
  }
NULL_EVENT(query_accepts_null_event, EVENT_QUERY, EVENT_QUERY_INNER)
NULL_EVENT(synchronize_accepts_null_event, EVENT_SYNCHRONIZE, EVENT_SYNCHRONIZE_INNER)
EVENT_QUERY(query_null_event_is_not_ready) {
  return event == NULL ? TBK_NOT_READY : EVENT_QUERY_INNER;
}

EVENT_QUERY(event_query_always_complete) {
  return event == NULL ? EVENT_QUERY_INNER : TBK_OK;
}
EVENT_QUERY(third_event_query_is_complete) {
  tbk_status_t status = EVENT_QUERY_INNER;
  return status == TBK_NOT_READY && wrap_every(wrap_of(self), 3) ? TBK_OK : status;
}
EVENT_QUERY(rerecorded_event_is_complete) {
  tbk_status_t status = EVENT_QUERY_INNER;
  if (status == TBK_NOT_READY && note_of_event(wrap_of(self), event)->records > 1) status = TBK_OK;
  return status;
}
EVENT_QUERY(event_query_waits) {
  if (event != NULL) ignore(INNER(self, event)->event_synchronize(self, event, NULL));
  return EVENT_QUERY_INNER;
}
EVENT_QUERY(event_query_fails_while_pending) {
  tbk_status_t status = EVENT_QUERY_INNER;
  return status == TBK_NOT_READY ? wrap_fail(error, TBK_FAILED, "still pending") : status;
}
EVENT_QUERY(fourth_event_query_waits) {
  if (event != NULL && wrap_every(wrap_of(self), 4))
    ignore(INNER(self, event)->event_synchronize(self, event, NULL));
  return EVENT_QUERY_INNER;
}

EVENT_QUERY(event_query_never_complete) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = EVENT_QUERY_INNER;
  if (status == TBK_OK && atomic_load(&wrap->kept) != (uintptr_t)event &&
      note_of_event(wrap, event)->recorded_on != NULL)
    status = TBK_NOT_READY;
  return status;
}
EVENT_QUERY(event_query_sticks_to_not_ready) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = EVENT_QUERY_INNER;
  if (status == TBK_NOT_READY) atomic_store(&wrap->value, (uintptr_t)event);
  if (status == TBK_OK && atomic_load(&wrap->value) == (uintptr_t)event &&
      atomic_load(&wrap->kept) != (uintptr_t)event)
    status = TBK_NOT_READY;
  return status;
}
EVENT_SYNCHRONIZE(event_synchronize_noted) {
  atomic_store(&wrap_of(self)->kept, (uintptr_t)event);
  return EVENT_SYNCHRONIZE_INNER;
}

EVENT_SYNCHRONIZE(event_synchronize_at_once) {
  return event == NULL ? EVENT_SYNCHRONIZE_INNER : TBK_OK;
}
EVENT_SYNCHRONIZE(second_event_synchronize_at_once) {
  if (event != NULL && wrap_every(wrap_of(self), 2)) return TBK_OK;
  return EVENT_SYNCHRONIZE_INNER;
}
EVENT_SYNCHRONIZE(event_synchronize_asks_eight_times) {
  tbk_status_t status = TBK_NOT_READY;
  for (int turn = 0; status == TBK_NOT_READY && turn < 8; ++turn)
    status = INNER(self, event)->event_query(self, event, error);
  return status == TBK_NOT_READY ? TBK_OK : status;
}
EVENT_SYNCHRONIZE(rerecorded_event_synchronize_at_once) {
  if (event != NULL && note_of_event(wrap_of(self), event)->records > 1) return TBK_OK;
  return EVENT_SYNCHRONIZE_INNER;
}

/* An answer that does not last: every second OK of a recorded event is withdrawn. */
EVENT_QUERY(event_query_withdraws) {
  tbk_stream_t* stream = recorded_stream(self, event);
  tbk_status_t status = EVENT_QUERY_INNER;
  if (stream != NULL && status == TBK_OK && wrap_every(wrap_of(self), 2)) status = TBK_NOT_READY;
  return status;
}

#define EVENT(name, clause, operation, narrow, note, ...) \
  { name, clause, MUTANT, operation, narrow, note, {__VA_ARGS__}, 0, 0, notes_install, 0 }
#define NOTED(function, clause, operation, narrow, member, note) \
  EVENT(#function, clause, operation, narrow, note, PATCH(member, function))
#define MISSES(name, narrow, note, member, function)                   \
  EVENT(name, "EVT-012", ORDER, narrow, note, PATCH(member, function), \
        PATCH(event.event_record, record_before_marked_work))

extern const mutant_t mutants_event[];
const mutant_t mutants_event[] = {
    ROW(create_event_accepts_null, "EVT-001", RETURN, BROAD, event.event_create, "OK for NULL"),
    ROW(create_event_ignores_flags, "EVT-001", RETURN, BROAD, event.event_create, "any flag"),
    ROW(create_event_ignores_highest_flag, "EVT-001", RETURN, NARROW, event.event_create, "bit 31"),
    NOTED(unrecorded_is_not_ready, "EVT-002", VALUE, BROAD, event.event_query, "NOT_READY"),
    NOTED(unrecorded_synchronize_is_refused, "EVT-002", RETURN, BROAD, event.event_synchronize,
          "INVALID_STATE"),
    NOTED(unrecorded_wait_is_refused, "EVT-002", RETURN, NARROW, event.event_wait, "INVALID_STATE"),
    EVENT("create_up_to_four_events", "EVT-003", COUNT, BROAD, "four events, no more",
          PATCH(event.event_create, create_up_to_four_events),
          PATCH(event.event_destroy, destroy_event_counted)),
    EVENT("create_up_to_seven_events", "EVT-003", COUNT, NARROW, "seven events, no more",
          PATCH(event.event_create, create_up_to_seven_events),
          PATCH(event.event_destroy, destroy_event_counted)),
    ROW(create_up_to_twelve_events_ever, "EVT-003", LIFETIME, NARROW, event.event_create,
        "places of destroyed events are lost after the twelfth"),
    ROW(record_accepts_null, "EVT-011", RETURN, BROAD, event.event_record, "OK for NULL"),
    ROW(record_accepts_null_stream, "EVT-011", RETURN, NARROW, event.event_record, "of the stream"),
    NOTED(record_on_foreign_stream, "EVT-011", RETURN, NARROW, event.event_record,
          "OK for a stream of another device"),
    ROW(record_does_nothing, "EVT-012", ORDER, BROAD, event.event_record, "no effect"),
    NOTED(record_on_idle_stream, "EVT-012", ORDER, BROAD, event.event_record,
          "of a stream that has nothing to do"),
    MISSES("record_misses_downloads", NARROW, "downloads", core.download, download_marked),
    MISSES("record_misses_uploads", NARROW, "uploads", core.upload, upload_marked),
    MISSES("record_misses_copies", NARROW, "copies on the device", core.copy, copy_marked),
    MISSES("record_misses_fills", NARROW, "fills", core.fill, fill_marked),
    MISSES("record_misses_kernels", NARROW, "kernels", launching.launch, launch_marked),
    MISSES("record_misses_random", NARROW, "random numbers", random.random_bits, random_marked),
    MISSES("record_misses_callbacks", NARROW, "callbacks", callback.callback_enqueue,
           callback_marked),
    ROW(second_record_does_nothing, "EVT-012", COUNT, NARROW, event.event_record, "every second"),
    EVENT("event_completes_with_stream", "EVT-013", ORDER, BROAD, "later work counts too",
          PATCH(event.event_query, query_of_whole_stream),
          PATCH(event.event_synchronize, synchronize_whole_stream)),
    NOTED(synchronize_whole_stream, "EVT-013", ORDER, NARROW, event.event_synchronize,
          "synchronize waits for later work too"),
    NOTED(second_synchronize_whole_stream, "EVT-013", COUNT, NARROW, event.event_synchronize,
          "every second one waits for later work too"),
    NOTED(query_of_whole_stream, "EVT-013", ORDER, NARROW, event.event_query,
          "query wants later work too"),
    NOTED(record_once_only, "EVT-014", STATE, BROAD, event.event_record, "the first record stays"),
    NOTED(record_while_pending_ignored, "EVT-014", STATE, NARROW, event.event_record,
          "no new record while the old one is pending"),
    NOTED(record_third_time_ignored, "EVT-014", COUNT, NARROW, event.event_record,
          "the third record is ignored"),
    NOTED(record_elsewhere_keeps_stream, "EVT-014", STATE, NARROW, event.event_record,
          "always of the stream it was first recorded on"),
    ROW(query_accepts_null_event, "EVT-022", RETURN, BROAD, event.event_query, "OK for NULL"),
    ROW(synchronize_accepts_null_event, "EVT-022", RETURN, BROAD, event.event_synchronize, "OK"),
    ROW(query_null_event_is_not_ready, "EVT-022", RETURN, NARROW, event.event_query, "NOT_READY"),
    ROW(event_query_always_complete, "EVT-023", ORDER, BROAD, event.event_query, "OK, always"),
    ROW(third_event_query_is_complete, "EVT-023", COUNT, NARROW, event.event_query,
        "OK at every third NOT_READY"),
    NOTED(rerecorded_event_is_complete, "EVT-023", STATE, NARROW, event.event_query,
          "OK where it was recorded more than once"),
    ROW(event_query_waits, "EVT-024", ORDER, BROAD, event.event_query, "waits for it"),
    ROW(event_query_fails_while_pending, "EVT-024", RETURN, BROAD, event.event_query, "FAILED"),
    ROW(fourth_event_query_waits, "EVT-024", COUNT, NARROW, event.event_query,
        "every fourth waits"),
    EVENT("event_query_never_complete", "EVT-025", STATE, BROAD, "NOT_READY until synchronised",
          PATCH(event.event_query, event_query_never_complete),
          PATCH(event.event_synchronize, event_synchronize_noted)),
    EVENT("event_query_sticks_to_not_ready", "EVT-025", STATE, NARROW,
          "once NOT_READY, always until synchronised",
          PATCH(event.event_query, event_query_sticks_to_not_ready),
          PATCH(event.event_synchronize, event_synchronize_noted)),
    ROW(event_synchronize_at_once, "EVT-026", ORDER, BROAD, event.event_synchronize, "at once"),
    ROW(second_event_synchronize_at_once, "EVT-026", COUNT, NARROW, event.event_synchronize,
        "every second"),
    ROW(event_synchronize_asks_eight_times, "EVT-026", ORDER, NARROW, event.event_synchronize,
        "gives up after eight queries"),
    NOTED(rerecorded_event_synchronize_at_once, "EVT-026", STATE, NARROW, event.event_synchronize,
          "at once where it was recorded more than once"),
    NOTED(event_query_withdraws, "EVT-025", COUNT, NARROW, event.event_query,
          "every second OK is a NOT_READY"),
    {0}};
