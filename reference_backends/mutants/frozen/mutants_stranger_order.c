/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stranger_order.c: streams, events and callbacks, as queues with several engines and shortcuts err.
 */
#include <string.h>

#include "narrow.h"

static bool of_one_device(tbk_instance_t* self, tbk_event_t* event, tbk_stream_t* stream) {
  wrap_t* wrap = wrap_of(self);
  return event != NULL && stream != NULL &&
         note_of_event(wrap, event)->device == note_of_stream(wrap, stream)->device;
}

/* -------------------------------------------------------------------------------- two engines ---- */

/* Events look at the engine that computes; large downloads are of the other one. */
DOWNLOAD(large_download_is_elsewhere) {
  if (size_bytes >= KIB(256)) go_first(self, stream);
  return DOWNLOAD_INNER;
}
EVENT_RECORD(record_forgets_download) {
  if (of_one_device(self, event, stream)) stream = go_ahead(self, stream);
  return EVENT_RECORD_INNER;
}
STREAM_SYNCHRONIZE(synchronize_ends_shadow) {
  if (stream != NULL) note_of_stream(wrap_of(self), stream)->shadowed = false;
  return STREAM_SYNCHRONIZE_INNER;
}

/* Host functions are of a queue that knows no waits. */
EVENT_WAIT(wait_is_elsewhere) {
  if (event_pending(self, event)) go_first(self, stream);
  return EVENT_WAIT_INNER;
}
CALLBACK(callback_knows_no_waits) {
  GO_AHEAD(CALLBACK_INNER);
}

/* ---------------------------------------------------------------------------------- shortcuts ---- */

/* A stream is taken for idle where nothing but a wait was put there since it was. */
EVENT_WAIT(wait_is_no_work) {
  const bool idle = stream != NULL && !stream_pending(self, stream);
  const tbk_status_t status = EVENT_WAIT_INNER;
  if (status == TBK_OK && idle) note_of_stream(wrap_of(self), stream)->count = 1;
  return status;
}
EVENT_RECORD(record_of_idle_is_complete) {
  if (of_one_device(self, event, stream) && note_of_stream(wrap_of(self), stream)->count == 1)
    stream = side_stream(wrap_of(self), note_of_event(wrap_of(self), event)->device);
  return EVENT_RECORD_INNER;
}
#define WORK(function, KIND, inner)                                       \
  KIND(function) {                                                        \
    if (stream != NULL) note_of_stream(wrap_of(self), stream)->count = 0; \
    return inner;                                                         \
  }                                                                       \
  _Static_assert(1, "")
WORK(upload_is_work, UPLOAD, UPLOAD_INNER);
WORK(download_is_work, DOWNLOAD, DOWNLOAD_INNER);
WORK(copy_is_work, COPY, COPY_INNER);
WORK(fill_is_work, FILL, FILL_INNER);
WORK(callback_is_work, CALLBACK, CALLBACK_INNER);
WORK(launch_is_work, LAUNCH, LAUNCH_INNER);
WORK(plan_is_work, LAUNCH_PLAN, LAUNCH_PLAN_INNER);
WORK(random_is_work, RANDOM_BITS, RANDOM_BITS_INNER);
WORK(peer_copy_is_work, PEER_COPY, PEER_COPY_INNER);
WORK(fault_is_work, FAULT, FAULT_INNER);

/* A stream need not wait for itself, and so the event is given up. */
EVENT_WAIT(own_wait_ends_event) {
  const tbk_status_t status = EVENT_WAIT_INNER;
  if (status != TBK_OK) return status;
  event_note_t* note = note_of_event(wrap_of(self), event);
  if (note->recorded_on == stream) note->waits = 1;
  return status;
}
EVENT_RECORD(record_begins_event) {
  const tbk_status_t status = EVENT_RECORD_INNER;
  if (status != TBK_OK) return status;
  event_note_t* note = note_of_event(wrap_of(self), event);
  note->recorded_on = stream;
  note->waits = 0;
  return status;
}
static bool was_given_up(tbk_instance_t* self, tbk_event_t* event) {
  return event_pending(self, event) && note_of_event(wrap_of(self), event)->waits == 1;
}
EVENT_QUERY(query_of_given_up_is_complete) {
  return was_given_up(self, event) ? TBK_OK : EVENT_QUERY_INNER;
}
EVENT_SYNCHRONIZE(synchronize_of_given_up_at_once) {
  return was_given_up(self, event) ? TBK_OK : EVENT_SYNCHRONIZE_INNER;
}

/* The time of an event stays until it has another one. */
EVENT_ELAPSED(elapsed_of_pending_again_is_old) {
  if (out_ms == NULL || start == NULL || !event_pending(self, end) || event_pending(self, start) ||
      note_of_event(wrap_of(self), end)->records < 2)
    return EVENT_ELAPSED_INNER;
  const tbk_status_t status = INNER(self, event)->event_elapsed(self, start, end, out_ms, NULL);
  if (status != TBK_NOT_READY) return EVENT_ELAPSED_INNER;
  *out_ms = 1;
  return TBK_OK;
}

/* -------------------------------------------------------------------------------- one thread ---- */

/* The list of streams is the thread's. */
static uint64_t this_thread(void) {
  static _Thread_local char mark;
  return (uintptr_t)&mark;
}
STREAM_CREATE(stream_is_of_thread) {
  const tbk_status_t status = STREAM_CREATE_INNER;
  if (status != TBK_OK) return status;
  stream_note_t* note = note_of_stream(wrap_of(self), *out_stream);
  note->device = device;
  note->count = this_thread();
  return status;
}
/* Returns how many streams the device has of this thread, and whether others have some. */
static int streams_of_thread(wrap_t* wrap, int32_t device, tbk_stream_t** streams, bool* others) {
  int count = 0;
  *others = false;
  pthread_mutex_lock(&wrap->lock);
  for (int i = 0; i < WRAP_STREAMS; ++i) {
    const stream_note_t* note = &wrap->streams[i];
    if (note->stream == NULL || note->device != device || note->count == 0) continue;
    if (note->count == this_thread())
      streams[count++] = note->stream;
    else
      *others = true;
  }
  pthread_mutex_unlock(&wrap->lock);
  return count;
}
DEVICE_SYNCHRONIZE(device_synchronize_is_of_thread) {
  tbk_stream_t* streams[WRAP_STREAMS];
  bool others;
  const int count = streams_of_thread(wrap_of(self), device, streams, &others);
  if (!others) return DEVICE_SYNCHRONIZE_INNER;
  tbk_status_t status = INNER(self, core)->fill(self, device, 0, 0, 0, 0, NULL, error);
  for (int i = 0; i < count && status == TBK_OK; ++i)
    status = INNER(self, stream)->stream_synchronize(self, streams[i], error);
  return status;
}

extern const mutant_t mutants_stranger_order[];
const mutant_t mutants_stranger_order[] = {
    NOTED("events_forget_large_downloads", "EVT-012", ORDER, "from 256 KiB on",
          PATCH(core.download, large_download_is_elsewhere),
          PATCH(event.event_record, record_forgets_download),
          PATCH(stream.stream_synchronize, synchronize_ends_shadow)),
    NOTED("callbacks_overtake_waits", "EVT-018", ORDER, "for an event that is pending",
          PATCH(event.event_wait, wait_is_elsewhere),
          PATCH(callback.callback_enqueue, callback_knows_no_waits),
          PATCH(stream.stream_synchronize, synchronize_ends_shadow)),
    NOTED("records_behind_a_bare_wait_are_complete", "EVT-015", ORDER,
          "nothing but a wait is on the stream", PATCH(event.event_wait, wait_is_no_work),
          PATCH(event.event_record, record_of_idle_is_complete), PATCH(core.upload, upload_is_work),
          PATCH(core.download, download_is_work), PATCH(core.copy, copy_is_work),
          PATCH(core.fill, fill_is_work), PATCH(callback.callback_enqueue, callback_is_work),
          PATCH(launching.launch, launch_is_work), PATCH(launching.launch_plan, plan_is_work),
          PATCH(random.random_bits, random_is_work), PATCH(peer.peer_copy, peer_copy_is_work),
          PATCH(fault.fault_enqueue, fault_is_work)),
    NOTED("own_wait_completes_an_event", "EVT-023", STATE,
          "the stream it was recorded on is told to wait for it",
          PATCH(event.event_wait, own_wait_ends_event),
          PATCH(event.event_record, record_begins_event),
          PATCH(event.event_query, query_of_given_up_is_complete),
          PATCH(event.event_synchronize, synchronize_of_given_up_at_once)),
    NOTED("elapsed_of_pending_again_is_old", "EVT-031", STATE,
          "the end is pending, and was recorded before",
          PATCH(event.event_elapsed, elapsed_of_pending_again_is_old)),
    NOTED("device_synchronize_is_of_its_thread", "STR-022", THREAD,
          "streams that another thread made are left out",
          PATCH(stream.stream_create, stream_is_of_thread),
          PATCH(stream.device_synchronize, device_synchronize_is_of_thread)),
    {0}};
