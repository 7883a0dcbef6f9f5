/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_progress.c: drivers that begin work when they are asked, and are asked about too little. What a
 * stream has enqueued counts as begun once the stream, or what was recorded on it, was asked or waited
 * for; a stream that waits for what has not begun is held.
 */
#include "calls.h"

enum { HOLDS = 256, HELD_MS = 30000 };

typedef struct hold {
  tbk_stream_t* of; /* what has not begun */
  bool gone;        /* it was destroyed */
  atomic_bool open;
} hold_t;

static struct {
  pthread_mutex_t lock;
  hold_t holds[HOLDS];
  size_t next;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void stay(void* argument) {
  hold_t* hold = argument;
  for (int ms = 0; ms < HELD_MS && !atomic_load(&hold->open); ms++)
    wrap_sleep_ms(1);
}

static hold_t* hold_new(tbk_stream_t* of) {
  pthread_mutex_lock(&all.lock);
  hold_t* hold = &all.holds[all.next++ % HOLDS];
  atomic_store(&hold->open, false);
  hold->of = of;
  hold->gone = false;
  pthread_mutex_unlock(&all.lock);
  return hold;
}

/* What waits for `of` goes on, and where that is NULL everything but what waits for streams gone. */
static void begin(tbk_stream_t* of, bool also_gone) {
  pthread_mutex_lock(&all.lock);
  for (size_t i = 0; i < HOLDS; i++)
    if ((of == NULL || all.holds[i].of == of) && (also_gone || !all.holds[i].gone))
      atomic_store(&all.holds[i].open, true);
  pthread_mutex_unlock(&all.lock);
}

EVENT_RECORD(record_begins_nothing) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = EVENT_RECORD_INNER;
  if (status != TBK_OK) return status;
  note_of_event(wrap, event)->recorded_on = stream;
  note_of_stream(wrap, stream)->count = 1; /* not begun */
  return status;
}
EVENT_WAIT(wait_for_what_has_not_begun) {
  wrap_t* wrap = wrap_of(self);
  tbk_stream_t* of = event != NULL ? note_of_event(wrap, event)->recorded_on : NULL;
  if (stream != NULL && of != NULL && of != stream && note_of_stream(wrap, of)->count != 0)
    ignore(INNER(self, callback)->callback_enqueue(self, stream, stay, hold_new(of), NULL));
  return EVENT_WAIT_INNER;
}
STREAM_DESTROY(destroy_begins_nothing) {
  wrap_t* wrap = wrap_of(self);
  pthread_mutex_lock(&all.lock);
  for (size_t i = 0; i < HOLDS && stream != NULL; i++)
    if (all.holds[i].of == stream) all.holds[i].gone = true;
  pthread_mutex_unlock(&all.lock);
  STREAM_DESTROY_INNER;
  if (stream != NULL) *note_of_stream(wrap, stream) = (stream_note_t){0};
}

STREAM_QUERY(query_begins_all) {
  if (stream != NULL) note_of_stream(wrap_of(self), stream)->count = 0;
  begin(NULL, true);
  return STREAM_QUERY_INNER;
}
STREAM_QUERY(query_begins_its_stream) {
  if (stream != NULL) note_of_stream(wrap_of(self), stream)->count = 0;
  if (stream != NULL) begin(stream, true);
  return STREAM_QUERY_INNER;
}
STREAM_QUERY(query_begins_what_is_there) {
  if (stream != NULL) note_of_stream(wrap_of(self), stream)->count = 0;
  begin(NULL, false);
  return STREAM_QUERY_INNER;
}
EVENT_QUERY(event_query_begins_all) {
  begin(NULL, true);
  return EVENT_QUERY_INNER;
}
EVENT_QUERY(event_query_begins_its_stream) {
  tbk_stream_t* of = event != NULL ? note_of_event(wrap_of(self), event)->recorded_on : NULL;
  if (of != NULL) begin(of, true);
  return EVENT_QUERY_INNER;
}
STREAM_SYNCHRONIZE(synchronize_begins_all) {
  if (stream != NULL) note_of_stream(wrap_of(self), stream)->count = 0;
  begin(NULL, true);
  return STREAM_SYNCHRONIZE_INNER;
}
DEVICE_SYNCHRONIZE(device_synchronize_begins_all) {
  begin(NULL, true);
  return DEVICE_SYNCHRONIZE_INNER;
}
EVENT_SYNCHRONIZE(event_synchronize_begins_all) {
  begin(NULL, true);
  return EVENT_SYNCHRONIZE_INNER;
}
CLOSE(close_begins_all) {
  begin(NULL, true);
  return CLOSE_INNER;
}

/* All that asks or waits does its duty, but for what a row replaces. */
static void begins_when_asked(wrap_t* wrap) {
  wrap->core.device_close = close_begins_all;
  wrap->event.event_record = record_begins_nothing;
  wrap->event.event_wait = wait_for_what_has_not_begun;
  wrap->event.event_synchronize = event_synchronize_begins_all;
  wrap->stream.stream_destroy = destroy_begins_nothing;
  wrap->stream.stream_synchronize = synchronize_begins_all;
  wrap->stream.device_synchronize = device_synchronize_begins_all;
  wrap->stream.stream_query = query_begins_all;
  wrap->event.event_query = event_query_begins_all;
  notes_install(wrap);
}
static void query_flushes_one_stream(wrap_t* wrap) {
  begins_when_asked(wrap);
  wrap->stream.stream_query = query_begins_its_stream;
}
static void query_misses_destroyed_streams(wrap_t* wrap) {
  begins_when_asked(wrap);
  wrap->stream.stream_query = query_begins_what_is_there;
}
static void event_query_flushes_one_stream(wrap_t* wrap) {
  begins_when_asked(wrap);
  wrap->event.event_query = event_query_begins_its_stream;
}

extern const mutant_t mutants_progress[];
const mutant_t mutants_progress[] = {
    INSTALL_ROW(query_flushes_one_stream, "STR-017", STATE, NARROW,
                "begins what is on the stream, and not what it waits for"),
    INSTALL_ROW(query_misses_destroyed_streams, "STR-017", LIFETIME, NARROW,
                "begins what the stream waits for, unless that stream is destroyed"),
    INSTALL_ROW(event_query_flushes_one_stream, "EVT-025", STATE, NARROW,
                "begins what is on its stream, and not what that waits for"),
    {0}};
