/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_event_time.c: the time between two events.
 */
#include <time.h>

#include "calls.h"

EVENT_ELAPSED(elapsed_without_timing) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status == TBK_INVALID_STATE) {
    *out_ms = 0.5;
    status = TBK_OK;
  }
  return status;
}
EVENT_ELAPSED(elapsed_misuse_is_invalid) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  return status == TBK_INVALID_STATE ? TBK_INVALID : status;
}
EVENT_CREATE(create_event_always_timing) {
  if (flags == 0) flags = TBK_EVENT_TIMING;
  return EVENT_CREATE_INNER;
}
EVENT_ELAPSED(elapsed_accepts_null) {
  return start == NULL || end == NULL || out_ms == NULL ? TBK_OK : EVENT_ELAPSED_INNER;
}
EVENT_ELAPSED(elapsed_null_place_is_accepted) {
  return out_ms == NULL ? TBK_OK : EVENT_ELAPSED_INNER;
}
EVENT_ELAPSED(elapsed_null_is_state) {
  if (start == NULL || end == NULL) return wrap_fail(error, TBK_INVALID_STATE, "no such event");
  return EVENT_ELAPSED_INNER;
}
EVENT_ELAPSED(elapsed_backwards) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status == TBK_OK) *out_ms = -1.0 - *out_ms;
  return status;
}
EVENT_ELAPSED(elapsed_short_is_negative) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status == TBK_OK && *out_ms < 1.0) *out_ms -= 1.0;
  return status;
}
EVENT_ELAPSED(elapsed_second_time_negative) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status == TBK_OK && wrap_every(wrap_of(self), 2)) *out_ms = -*out_ms - 0.25;
  return status;
}
EVENT_ELAPSED(elapsed_in_seconds) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status == TBK_OK) *out_ms /= 1000.0;
  return status;
}

EVENT_ELAPSED(elapsed_wraps_at_2_seconds) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status == TBK_OK) *out_ms = (int32_t)(int64_t)(*out_ms * 1e6) / 1e6;
  return status;
}
EVENT_ELAPSED(elapsed_wraps_at_4_seconds) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status == TBK_OK) *out_ms = (uint32_t)(int64_t)(*out_ms * 1e6) / 1e6;
  return status;
}

/* Where each stream has a clock of its own. */
static bool is_between_streams(tbk_instance_t* self, tbk_event_t* start, tbk_event_t* end) {
  wrap_t* wrap = wrap_of(self);
  return note_of_event(wrap, start)->recorded_on != note_of_event(wrap, end)->recorded_on;
}
EVENT_ELAPSED(elapsed_between_streams_is_negative) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status == TBK_OK && is_between_streams(self, start, end)) *out_ms = -1.0 - *out_ms;
  return status;
}
EVENT_ELAPSED(elapsed_between_streams_is_0) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status == TBK_OK && is_between_streams(self, start, end)) *out_ms = 0.0;
  return status;
}
EVENT_ELAPSED(elapsed_between_streams_in_microseconds) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status == TBK_OK && is_between_streams(self, start, end)) *out_ms *= 1000.0;
  return status;
}

/* The place of the time is filled once, and not again when the event is recorded again. */
EVENT_RECORD(record_notes_the_time) {
  struct timespec now;
  tbk_status_t status = EVENT_RECORD_INNER;
  if (status != TBK_OK) return status;
  event_note_t* note = note_of_event(wrap_of(self), event);
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  note->latest_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
  if (note->records++ == 0) note->first_ns = note->latest_ns;
  note->recorded_on = stream;
  return status;
}
EVENT_ELAPSED(elapsed_from_the_first_record) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status != TBK_OK) return status;
  const event_note_t* note = note_of_event(wrap_of(self), start);
  *out_ms += (double)(note->latest_ns - note->first_ns) / 1e6;
  return TBK_OK;
}

/* Keeps the time of an end that was recorded after the start already, when it is recorded again. */
EVENT_ELAPSED(elapsed_to_the_first_end) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status != TBK_OK) return status;
  const uint64_t started_ns = note_of_event(wrap_of(self), start)->latest_ns;
  const event_note_t* note = note_of_event(wrap_of(self), end);
  if (note->records < 2 || note->first_ns < started_ns) return status;
  *out_ms -= (double)(note->latest_ns - note->first_ns) / 1e6;
  if (*out_ms < 0) *out_ms = 0;
  return status;
}

/* An event that is destroyed leaves its place with what is set in it: `calls` counts those with a time. */
EVENT_DESTROY(destroyed_timing_leaves_a_place) {
  double ms = 0;
  const bool is_timed =
      event != NULL &&
      INNER(self, event)->event_elapsed(self, event, event, &ms, NULL) != TBK_INVALID_STATE;
  if (is_timed) atomic_fetch_add(&wrap_of(self)->calls, 1);
  EVENT_DESTROY_INNER;
}
EVENT_CREATE(create_event_in_a_place_with_timing) {
  wrap_t* wrap = wrap_of(self);
  if (flags != 0 || atomic_load(&wrap->calls) == 0) return EVENT_CREATE_INNER;
  atomic_fetch_sub(&wrap->calls, 1);
  flags = TBK_EVENT_TIMING;
  return EVENT_CREATE_INNER;
}

EVENT_ELAPSED(elapsed_pending_is_0) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status == TBK_NOT_READY) {
    *out_ms = 0.0;
    status = TBK_OK;
  }
  return status;
}
EVENT_ELAPSED(elapsed_pending_is_state) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  return status == TBK_NOT_READY ? TBK_INVALID_STATE : status;
}
EVENT_ELAPSED(elapsed_waits) {
  if (start != NULL) ignore(INNER(self, event)->event_synchronize(self, start, NULL));
  if (end != NULL) ignore(INNER(self, event)->event_synchronize(self, end, NULL));
  return EVENT_ELAPSED_INNER;
}

#define BETWEEN(function, clause, note)                                 \
  {                                                                     \
#function, clause, MUTANT, VALUE, NARROW, note,                     \
        {PATCH(event.event_elapsed, function) }, 0, 0, notes_install, 0 \
  }

extern const mutant_t mutants_event_time[];
const mutant_t mutants_event_time[] = {
    ROW(elapsed_without_timing, "EVT-027", RETURN, BROAD, event.event_elapsed, "half a ms"),
    ROW(elapsed_misuse_is_invalid, "EVT-027", RETURN, NARROW, event.event_elapsed, "INVALID"),
    ROW(create_event_always_timing, "EVT-027", STATE, NARROW, event.event_create,
        "every event has its time taken"),
    ROW(elapsed_accepts_null, "EVT-028", RETURN, BROAD, event.event_elapsed, "OK for NULL"),
    ROW(elapsed_null_place_is_accepted, "EVT-028", RETURN, NARROW, event.event_elapsed,
        "OK with nowhere to put it"),
    ROW(elapsed_null_is_state, "EVT-028", RETURN, BROAD, event.event_elapsed, "INVALID_STATE"),
    ROW(elapsed_backwards, "EVT-029", VALUE, BROAD, event.event_elapsed, "the sign is wrong"),
    ROW(elapsed_short_is_negative, "EVT-029", VALUE, NARROW, event.event_elapsed, "below 1 ms"),
    ROW(elapsed_second_time_negative, "EVT-029", COUNT, NARROW, event.event_elapsed,
        "the second time"),
    ROW(elapsed_in_seconds, "EVT-030", VALUE, BROAD, event.event_elapsed, "seconds"),
    BETWEEN(elapsed_between_streams_is_negative, "EVT-029", "between events of two streams"),
    BETWEEN(elapsed_between_streams_is_0, "EVT-032", "0 between events of two streams"),
    BETWEEN(elapsed_between_streams_in_microseconds, "EVT-032", "between events of two streams"),
    ROW(elapsed_wraps_at_2_seconds, "EVT-032", VALUE, NARROW, event.event_elapsed,
        "nanoseconds in 31 bits"),
    ROW(elapsed_wraps_at_4_seconds, "EVT-032", VALUE, NARROW, event.event_elapsed,
        "nanoseconds in 32 bits"),
    {"elapsed_from_the_first_record",
     "EVT-014",
     MUTANT,
     STATE,
     NARROW,
     "since the start was recorded first",
     {PATCH(event.event_elapsed, elapsed_from_the_first_record),
      PATCH(event.event_record, record_notes_the_time)},
     0,
     0,
     notes_install,
     0},
    ROW(elapsed_pending_is_0, "EVT-031", RETURN, BROAD, event.event_elapsed, "OK and 0"),
    ROW(elapsed_pending_is_state, "EVT-031", RETURN, NARROW, event.event_elapsed, "INVALID_STATE"),
    ROW(elapsed_waits, "EVT-031", ORDER, BROAD, event.event_elapsed, "waits for both"),
    {"elapsed_to_the_first_end",
     "EVT-014",
     MUTANT,
     STATE,
     NARROW,
     "up to the end as it was recorded first, where that is after the start",
     {PATCH(event.event_elapsed, elapsed_to_the_first_end),
      PATCH(event.event_record, record_notes_the_time)},
     0,
     0,
     notes_install,
     0},
    {"create_event_in_a_place_with_timing",
     "EVT-027",
     MUTANT,
     STATE,
     NARROW,
     "its time is taken where that of a destroyed one was",
     {PATCH(event.event_create, create_event_in_a_place_with_timing),
      PATCH(event.event_destroy, destroyed_timing_leaves_a_place)},
     0,
     0,
     0,
     0},
    {0}};
