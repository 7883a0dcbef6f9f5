/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_wait.c: event_wait, the edge between streams, and destroying events.
 */
#include <stdlib.h>

#include "calls.h"

EVENT_WAIT(wait_accepts_null) {
  return event == NULL || stream == NULL ? TBK_OK : EVENT_WAIT_INNER;
}
EVENT_WAIT(wait_accepts_null_event) {
  return event == NULL ? TBK_OK : EVENT_WAIT_INNER;
}
EVENT_WAIT(wait_null_is_unsupported) {
  return event == NULL || stream == NULL ? TBK_UNSUPPORTED : EVENT_WAIT_INNER;
}

PROPERTIES(properties_without_cross_wait) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status == TBK_OK &&
      out_properties->struct_size > offsetof(tbk_device_properties_t, flags) + 7)
    out_properties->flags &= ~(uint64_t)TBK_DEVICE_CROSS_DEVICE_WAIT;
  return status;
}
static bool crosses_devices(tbk_instance_t* self, tbk_stream_t* stream, tbk_event_t* event) {
  wrap_t* wrap = wrap_of(self);
  return stream != NULL && event != NULL &&
         note_of_event(wrap, event)->device != note_of_stream(wrap, stream)->device;
}
EVENT_WAIT(wait_crosses_undeclared) {
  return crosses_devices(self, stream, event) ? TBK_OK : EVENT_WAIT_INNER;
}
EVENT_WAIT(wait_crossing_is_unsupported) {
  return crosses_devices(self, stream, event) ? TBK_UNSUPPORTED : EVENT_WAIT_INNER;
}

/* EVT-018: edges that are not there. */
EVENT_WAIT(wait_does_nothing) {
  return stream == NULL || event == NULL ? EVENT_WAIT_INNER : TBK_OK;
}
EVENT_WAIT(second_wait_does_nothing) {
  if (stream != NULL && event != NULL && wrap_every(wrap_of(self), 2)) return TBK_OK;
  return EVENT_WAIT_INNER;
}
EVENT_WAIT(wait_on_another_stream) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL && event != NULL)
    stream = side_stream(wrap, note_of_stream(wrap, stream)->device);
  return EVENT_WAIT_INNER;
}
EVENT_WAIT(wait_on_idle_stream_does_nothing) {
  if (stream != NULL && event != NULL &&
      INNER(self, stream)->stream_query(self, stream, NULL) == TBK_OK)
    return TBK_OK;
  return EVENT_WAIT_INNER;
}
EVENT_WAIT(wait_for_rerecorded_does_nothing) {
  if (stream != NULL && event != NULL && note_of_event(wrap_of(self), event)->records > 1)
    return TBK_OK;
  return EVENT_WAIT_INNER;
}
EVENT_WAIT(wait_on_second_device_does_nothing) {
  if (stream != NULL && event != NULL && note_of_stream(wrap_of(self), stream)->device == 1)
    return TBK_OK;
  return EVENT_WAIT_INNER;
}
EVENT_WAIT(wait_for_pending_does_nothing) {
  if (stream != NULL && event != NULL &&
      INNER(self, event)->event_query(self, event, NULL) == TBK_NOT_READY)
    return TBK_OK;
  return EVENT_WAIT_INNER;
}
/* Holds back copies but not kernels, as where engines have queues of their own. */
EVENT_WAIT(wait_noted) {
  if (stream != NULL) atomic_store(&wrap_of(self)->kept, (uintptr_t)stream);
  return EVENT_WAIT_INNER;
}
#define RUNS_AHEAD(f, signature, inner)                                                          \
  signature(f) {                                                                                 \
    if (stream != NULL && atomic_load(&wrap_of(self)->kept) == (uintptr_t)stream) stream = NULL; \
    return inner;                                                                                \
  }
RUNS_AHEAD(launch_ahead_of_wait, LAUNCH, LAUNCH_INNER)
RUNS_AHEAD(fill_ahead_of_wait, FILL, FILL_INNER)
RUNS_AHEAD(download_ahead_of_wait, DOWNLOAD, DOWNLOAD_INNER)

/*
 * A wait that looks at the event when its turn comes: a callback on the waiting stream that asks
 * again and again. What is recorded meanwhile counts; a destroyed event lets the stream go.
 */
typedef struct late_wait {
  tbk_instance_t* self;
  _Atomic(tbk_event_t*) event;
  struct late_wait* next;
} late_wait_t;
static pthread_mutex_t late_lock = PTHREAD_MUTEX_INITIALIZER;
static late_wait_t* late_waits;

static void poll_event(void* argument) {
  late_wait_t* wait = argument;
  tbk_status_t status = TBK_NOT_READY;
  while (status == TBK_NOT_READY) {
    pthread_mutex_lock(&late_lock);
    tbk_event_t* event = atomic_load(&wait->event);
    status =
        event == NULL ? TBK_OK : INNER(wait->self, event)->event_query(wait->self, event, NULL);
    pthread_mutex_unlock(&late_lock);
    if (status == TBK_NOT_READY) wrap_sleep_ms(1);
  }
}
EVENT_WAIT(wait_looks_when_it_runs) {
  if (stream == NULL || event == NULL) return EVENT_WAIT_INNER;
  late_wait_t* wait = calloc(1, sizeof *wait);
  if (wait == NULL) return TBK_OUT_OF_MEMORY;
  wait->self = self;
  atomic_store(&wait->event, event);
  pthread_mutex_lock(&late_lock);
  wait->next = late_waits;
  late_waits = wait;
  pthread_mutex_unlock(&late_lock);
  return INNER(self, callback)->callback_enqueue(self, stream, poll_event, wait, error);
}
EVENT_DESTROY(destroy_releases_waiters) {
  pthread_mutex_lock(&late_lock);
  for (late_wait_t* wait = late_waits; wait != NULL; wait = wait->next) {
    if (atomic_load(&wait->event) == event) atomic_store(&wait->event, NULL);
  }
  EVENT_DESTROY_INNER;
  pthread_mutex_unlock(&late_lock);
}

/*
 * EVT-019, the other way: a later record holds up the stream that waited for the earlier one, and so
 * fails where that stream is gone.
 */
static pthread_mutex_t waiters_lock = PTHREAD_MUTEX_INITIALIZER;

EVENT_WAIT(wait_remembered) {
  if (event == NULL) return EVENT_WAIT_INNER;
  event_note_t* note = note_of_event(wrap_of(self), event);
  pthread_mutex_lock(&waiters_lock);
  note->waiter = stream;
  note->waiter_is_gone = false;
  pthread_mutex_unlock(&waiters_lock);
  return EVENT_WAIT_INNER;
}
STREAM_DESTROY(destroy_lets_waiter_go) {
  wrap_t* wrap = wrap_of(self);
  pthread_mutex_lock(&waiters_lock);
  for (size_t i = 0; stream != NULL && i < WRAP_EVENTS; ++i) {
    event_note_t* note = &wrap->events[i];
    if (note->waiter != stream) continue;
    note->waiter = NULL;
    note->waiter_is_gone = true;
  }
  pthread_mutex_unlock(&waiters_lock);
  STREAM_DESTROY_INNER;
}
EVENT_RECORD(record_reaches_waiters) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = EVENT_RECORD_INNER;
  if (status != TBK_OK) return status;
  const event_note_t* note = note_of_event(wrap, event);
  pthread_mutex_lock(&waiters_lock); /* so that it is not destroyed meanwhile */
  if (note->waiter_is_gone)
    status = wrap_fail(error, TBK_FAILED, "the stream that waited is gone");
  else if (note->waiter != NULL && note->waiter != stream)
    ignore(wrap->inner->event->event_wait(self, note->waiter, event, NULL));
  pthread_mutex_unlock(&waiters_lock);
  return status;
}
/* EVT-020: one waiter, and not its own stream. */
EVENT_WAIT(wait_once_per_event) {
  wrap_t* wrap = wrap_of(self);
  if (event != NULL && stream != NULL && note_of_event(wrap, event)->waits++ > 0) return TBK_OK;
  return EVENT_WAIT_INNER;
}
EVENT_WAIT(wait_own_stream_refused) {
  if (event != NULL && stream != NULL && note_of_event(wrap_of(self), event)->recorded_on == stream)
    return wrap_fail(error, TBK_INVALID, "a stream cannot wait for itself");
  return EVENT_WAIT_INNER;
}
EVENT_WAIT(wait_third_stream_exhausted) {
  wrap_t* wrap = wrap_of(self);
  if (event != NULL && stream != NULL && ++note_of_event(wrap, event)->waits > 2)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no more waiters");
  return EVENT_WAIT_INNER;
}

EVENT_WAIT(wait_crossing_does_nothing) {
  return crosses_devices(self, stream, event) ? TBK_OK : EVENT_WAIT_INNER;
}
EVENT_WAIT(wait_crossing_downwards_does_nothing) {
  if (crosses_devices(self, stream, event) && note_of_stream(wrap_of(self), stream)->device == 0)
    return TBK_OK;
  return EVENT_WAIT_INNER;
}
EVENT_WAIT(wait_crossing_is_failure) {
  if (crosses_devices(self, stream, event)) return wrap_fail(error, TBK_FAILED, "another device");
  return EVENT_WAIT_INNER;
}

/* The wait is in force only for what is enqueued after the next piece of work. */
FILL(fill_before_wait) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL && atomic_exchange(&wrap->kept, 0) == (uintptr_t)stream) stream = NULL;
  return FILL_INNER;
}
UPLOAD(upload_before_wait) {
  wrap_t* wrap = wrap_of(self);
  uintptr_t waiting = (uintptr_t)stream;
  if (stream != NULL && atomic_compare_exchange_strong(&wrap->kept, &waiting, 0)) stream = NULL;
  return UPLOAD_INNER;
}

/* EVT-015: what is enqueued already is taken for what comes later, or the other way round. */
CALLBACK(callback_is_latest) {
  if (stream != NULL) atomic_store(&wrap_of(self)->value, (uintptr_t)stream);
  return CALLBACK_INNER;
}
UPLOAD(upload_is_latest) {
  if (stream != NULL) atomic_store(&wrap_of(self)->value, (uintptr_t)stream);
  return UPLOAD_INNER;
}
COPY(copy_is_latest) {
  if (stream != NULL) atomic_store(&wrap_of(self)->value, (uintptr_t)stream);
  return COPY_INNER;
}
/* A stream that has had work is past the place where a wait could still be put. */
EVENT_WAIT(wait_behind_work_does_nothing) {
  if (stream != NULL && event != NULL && atomic_load(&wrap_of(self)->value) == (uintptr_t)stream)
    return TBK_OK;
  return EVENT_WAIT_INNER;
}
/* A record on a stream that waits stands for what was there before the wait. */
EVENT_WAIT(wait_pending_noted) {
  tbk_status_t status = EVENT_WAIT_INNER;
  if (status == TBK_OK) note_of_stream(wrap_of(self), stream)->count = 1;
  return status;
}
EVENT_RECORD(record_before_waits) {
  wrap_t* wrap = wrap_of(self);
  stream_note_t* note = stream == NULL ? NULL : note_of_stream(wrap, stream);
  if (event != NULL && note != NULL && note->count > 0) {
    note->count = 0;
    stream = side_stream(wrap, note->device);
  }
  return EVENT_RECORD_INNER;
}

EVENT_DESTROY(destroy_waits_for_event) {
  if (event != NULL) ignore(INNER(self, event)->event_synchronize(self, event, NULL));
  EVENT_DESTROY_INNER;
}
EVENT_DESTROY(destroy_waits_for_device) {
  if (event != NULL)
    ignore(INNER(self, stream)
               ->device_synchronize(self, note_of_event(wrap_of(self), event)->device, NULL));
  EVENT_DESTROY_INNER;
}
EVENT_DESTROY(second_destroy_waits_for_event) {
  if (event != NULL && wrap_every(wrap_of(self), 2))
    ignore(INNER(self, event)->event_synchronize(self, event, NULL));
  EVENT_DESTROY_INNER;
}
EVENT_DESTROY(destroy_pending_crashes) {
  if (event != NULL && INNER(self, event)->event_query(self, event, NULL) == TBK_NOT_READY) abort();
  EVENT_DESTROY_INNER;
}
/* A wait is enqueued only at the next call that needs it; the event may be gone by then. */
EVENT_WAIT(wait_deferred) {
  wrap_t* wrap = wrap_of(self);
  if (stream == NULL || event == NULL) return EVENT_WAIT_INNER;
  note_of_event(wrap, event)->waiter = stream;
  return TBK_OK;
}
static void flush_waits(tbk_instance_t* self, tbk_stream_t* stream) {
  wrap_t* wrap = wrap_of(self);
  for (size_t i = 0; stream != NULL && i < WRAP_EVENTS; ++i) {
    event_note_t* note = &wrap->events[i];
    if (note->event == NULL || note->waiter != stream) continue;
    note->waiter = NULL;
    ignore(wrap->inner->event->event_wait(self, stream, note->event, NULL));
  }
}
#define FLUSHED(f, signature, inner) \
  signature(f) {                     \
    flush_waits(self, stream);       \
    return inner;                    \
  }
FLUSHED(upload_after_waits, UPLOAD, UPLOAD_INNER)
FLUSHED(download_after_waits, DOWNLOAD, DOWNLOAD_INNER)
FLUSHED(copy_after_waits, COPY, COPY_INNER)
FLUSHED(fill_after_waits, FILL, FILL_INNER)
FLUSHED(callback_after_waits, CALLBACK, CALLBACK_INNER)
FLUSHED(record_after_waits, EVENT_RECORD, EVENT_RECORD_INNER)
FLUSHED(query_after_waits, STREAM_QUERY, STREAM_QUERY_INNER)
FLUSHED(synchronize_after_waits, STREAM_SYNCHRONIZE, STREAM_SYNCHRONIZE_INNER)
#define ALL_AFTER_WAITS                                                               \
  PATCH(core.upload, upload_after_waits), PATCH(core.download, download_after_waits), \
      PATCH(core.copy, copy_after_waits), PATCH(core.fill, fill_after_waits),         \
      PATCH(callback.callback_enqueue, callback_after_waits),                         \
      PATCH(event.event_record, record_after_waits),                                  \
      PATCH(stream.stream_query, query_after_waits),                                  \
      PATCH(stream.stream_synchronize, synchronize_after_waits)

#define WAIT(name, clause, operation, narrow, note, ...) \
  { name, clause, MUTANT, operation, narrow, note, {__VA_ARGS__}, 0, 0, notes_install, 0 }
#define NOTED(function, clause, operation, narrow, member, note) \
  WAIT(#function, clause, operation, narrow, note, PATCH(member, function))

extern const mutant_t mutants_wait[];
const mutant_t mutants_wait[] = {
    ROW(wait_accepts_null, "EVT-016", RETURN, BROAD, event.event_wait, "OK for NULL"),
    ROW(wait_accepts_null_event, "EVT-016", RETURN, NARROW, event.event_wait, "of the event"),
    ROW(wait_null_is_unsupported, "EVT-016", RETURN, BROAD, event.event_wait, "UNSUPPORTED"),
    WAIT("wait_crosses_undeclared", "EVT-017", RETURN, BROAD, "OK, no effect, not declared",
         PATCH(event.event_wait, wait_crosses_undeclared),
         PATCH(core.device_properties, properties_without_cross_wait)),
    WAIT("wait_crossing_is_unsupported", "EVT-017", RETURN, NARROW, "UNSUPPORTED, not declared",
         PATCH(event.event_wait, wait_crossing_is_unsupported),
         PATCH(core.device_properties, properties_without_cross_wait)),
    ROW(wait_does_nothing, "EVT-018", ORDER, BROAD, event.event_wait, "no edge"),
    ROW(second_wait_does_nothing, "EVT-018", COUNT, NARROW, event.event_wait, "every second"),
    NOTED(wait_on_another_stream, "EVT-018", ORDER, BROAD, event.event_wait,
          "another stream waits"),
    ROW(wait_on_idle_stream_does_nothing, "EVT-018", ORDER, NARROW, event.event_wait,
        "no edge where the waiting stream is idle"),
    NOTED(wait_for_rerecorded_does_nothing, "EVT-018", STATE, NARROW, event.event_wait,
          "no edge where the event was recorded more than once"),
    NOTED(wait_on_second_device_does_nothing, "EVT-018", ORDER, NARROW, event.event_wait,
          "no edge on device 1"),
    ROW(wait_for_pending_does_nothing, "EVT-018", ORDER, BROAD, event.event_wait,
        "no edge where it would matter"),
    WAIT("kernels_run_ahead_of_wait", "EVT-018", ORDER, NARROW, "kernels do not heed it",
         PATCH(event.event_wait, wait_noted), PATCH(launching.launch, launch_ahead_of_wait)),
    WAIT("fills_run_ahead_of_wait", "EVT-018", ORDER, NARROW, "fills do not heed it",
         PATCH(event.event_wait, wait_noted), PATCH(core.fill, fill_ahead_of_wait)),
    WAIT("downloads_run_ahead_of_wait", "EVT-018", ORDER, NARROW, "downloads do not heed it",
         PATCH(event.event_wait, wait_noted), PATCH(core.download, download_ahead_of_wait)),
    WAIT("wait_looks_when_it_runs", "EVT-019", ORDER, BROAD, "what is recorded meanwhile counts",
         PATCH(event.event_wait, wait_looks_when_it_runs),
         PATCH(event.event_destroy, destroy_releases_waiters)),
    WAIT("record_reaches_waiters", "EVT-019", ORDER, BROAD,
         "a later record holds up who waited for the earlier one",
         PATCH(event.event_wait, wait_remembered),
         PATCH(stream.stream_destroy, destroy_lets_waiter_go),
         PATCH(event.event_record, record_reaches_waiters)),
    WAIT("waits_apply_late", "EVT-019", ORDER, NARROW,
         "a wait takes effect with the next work of its stream, with what is recorded then",
         PATCH(event.event_wait, wait_deferred), ALL_AFTER_WAITS),
    NOTED(wait_once_per_event, "EVT-020", COUNT, BROAD, event.event_wait, "the first waiter only"),
    NOTED(wait_own_stream_refused, "EVT-020", RETURN, NARROW, event.event_wait,
          "INVALID on the stream it was recorded on"),
    NOTED(wait_third_stream_exhausted, "EVT-020", COUNT, NARROW, event.event_wait,
          "OUT_OF_MEMORY for the third waiter"),
    NOTED(wait_crossing_does_nothing, "EVT-021", ORDER, BROAD, event.event_wait,
          "no edge between devices"),
    NOTED(wait_crossing_downwards_does_nothing, "EVT-021", ORDER, NARROW, event.event_wait,
          "no edge from device 1 to device 0"),
    NOTED(wait_crossing_is_failure, "EVT-021", RETURN, BROAD, event.event_wait, "FAILED"),
    WAIT("wait_behind_work_does_nothing", "EVT-015", ORDER, BROAD,
         "no edge where the stream has had work",
         PATCH(event.event_wait, wait_behind_work_does_nothing),
         PATCH(core.upload, upload_is_latest), PATCH(core.copy, copy_is_latest)),
    WAIT("wait_behind_callback_does_nothing", "EVT-015", ORDER, NARROW,
         "no edge where the stream has had a callback",
         PATCH(event.event_wait, wait_behind_work_does_nothing),
         PATCH(callback.callback_enqueue, callback_is_latest)),
    WAIT("record_before_waits", "EVT-015", ORDER, NARROW,
         "a record on a stream that waits stands for what was before the wait",
         PATCH(event.event_wait, wait_pending_noted),
         PATCH(event.event_record, record_before_waits)),
    WAIT("fill_before_wait", "EVT-018", ORDER, NARROW, "the first fill after a wait runs before it",
         PATCH(event.event_wait, wait_noted), PATCH(core.fill, fill_before_wait)),
    WAIT("upload_before_wait", "EVT-018", ORDER, NARROW,
         "the first upload after a wait runs before it", PATCH(event.event_wait, wait_noted),
         PATCH(core.upload, upload_before_wait)),
    WAIT("destroy_releases_waiters", "EVT-008", LIFETIME, BROAD,
         "who waits for a destroyed event goes on",
         PATCH(event.event_wait, wait_looks_when_it_runs),
         PATCH(event.event_destroy, destroy_releases_waiters)),
    ROW(destroy_pending_crashes, "EVT-008", LIFETIME, BROAD, event.event_destroy,
        "aborts where the event is pending"),
    WAIT("destroy_drops_deferred_waits", "EVT-008", LIFETIME, NARROW,
         "a wait that no work has followed yet is dropped with the event",
         PATCH(event.event_wait, wait_deferred), ALL_AFTER_WAITS),
    ROW(destroy_waits_for_event, "EVT-009", ORDER, BROAD, event.event_destroy, "waits for it"),
    NOTED(destroy_waits_for_device, "EVT-009", ORDER, BROAD, event.event_destroy,
          "waits for the device"),
    ROW(second_destroy_waits_for_event, "EVT-009", COUNT, NARROW, event.event_destroy,
        "every second waits"),
    WAIT("wait_crossing_to_device_0_undeclared", "EVT-017", RETURN, NARROW,
         "OK, no effect, not declared, for streams of device 0",
         PATCH(event.event_wait, wait_crossing_downwards_does_nothing),
         PATCH(core.device_properties, properties_without_cross_wait)),
    {0}};
