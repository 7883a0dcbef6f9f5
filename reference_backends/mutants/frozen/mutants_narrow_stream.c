/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_stream.c: making, asking and awaiting streams.
 */
#include "narrow.h"

/* Streams with a priority have count 1 in their notes. */
STREAM_CREATE(priority_is_noted) {
  tbk_status_t status = STREAM_CREATE_INNER;
  if (status != TBK_OK) return status;
  stream_note_t* note = note_of_stream(wrap_of(self), *out_stream);
  note->device = device;
  note->count = priority < 0;
  return status;
}
static bool has_priority(tbk_instance_t* self, tbk_stream_t* stream) {
  return stream != NULL && note_of_stream(wrap_of(self), stream)->count == 1;
}
STREAM_SYNCHRONIZE(priority_synchronize_at_once) {
  return has_priority(self, stream) ? TBK_OK : STREAM_SYNCHRONIZE_INNER;
}
STREAM_QUERY(priority_query_is_complete) {
  tbk_status_t status = STREAM_QUERY_INNER;
  return status == TBK_NOT_READY && has_priority(self, stream) ? TBK_OK : status;
}
EVENT_WAIT(priority_wait_does_nothing) {
  return event != NULL && has_priority(self, stream) ? TBK_OK : EVENT_WAIT_INNER;
}
STREAM_CREATE(three_priority_streams) {
  if (priority < 0 && out_stream != NULL && atomic_load(&wrap_of(self)->flag) >= 3)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no more queues of that priority");
  tbk_status_t status = priority_is_noted(self, device, priority, out_stream, error);
  if (status == TBK_OK && priority < 0) atomic_fetch_add(&wrap_of(self)->flag, 1);
  return status;
}
STREAM_DESTROY(priority_is_forgotten) {
  if (has_priority(self, stream)) atomic_fetch_sub(&wrap_of(self)->flag, 1);
  STREAM_DESTROY_INNER;
  if (stream != NULL) {
    stream_note_t* note = note_of_stream(wrap_of(self), stream);
    note->count = 0;
    note->stream = NULL;
  }
}

/* `flag` counts the streams that live, of all devices. */
STREAM_CREATE(eight_streams_of_all_devices) {
  if (out_stream != NULL && atomic_load(&wrap_of(self)->flag) >= 8)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no more streams");
  tbk_status_t status = STREAM_CREATE_INNER;
  if (status == TBK_OK) atomic_fetch_add(&wrap_of(self)->flag, 1);
  return status;
}
STREAM_DESTROY(stream_end_is_counted) {
  if (stream != NULL) atomic_fetch_sub(&wrap_of(self)->flag, 1);
  STREAM_DESTROY_INNER;
}
STREAM_CREATE(eight_less_leaked) {
  if (out_stream != NULL && atomic_load(&wrap_of(self)->flag) >= 25)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no more streams");
  return STREAM_CREATE_INNER;
}
STREAM_DESTROY(busy_stream_leaks_its_place) {
  if (stream_pending(self, stream)) atomic_fetch_add(&wrap_of(self)->flag, 1);
  STREAM_DESTROY_INNER;
}

/* The end of the work of the latest stream that was destroyed while busy, in `kept`. */
STREAM_DESTROY(busy_queue_is_kept) {
  wrap_t* wrap = wrap_of(self);
  if (stream_pending(self, stream)) {
    tbk_event_t* end = NULL;
    const int32_t device = note_of_stream(wrap, stream)->device;
    ignore(wrap->inner->event->event_create(self, device, 0, &end, NULL));
    if (end != NULL) ignore(wrap->inner->event->event_record(self, end, stream, NULL));
    end = (tbk_event_t*)atomic_exchange(&wrap->kept, (uintptr_t)end);
    wrap->inner->event->event_destroy(self, end);
    atomic_store(&wrap->value, (uint64_t)device);
  }
  STREAM_DESTROY_INNER;
  if (stream != NULL) note_of_stream(wrap, stream)->stream = NULL;
}
STREAM_CREATE(new_stream_gets_busy_queue) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = STREAM_CREATE_INNER;
  if (status != TBK_OK) return status;
  note_of_stream(wrap, *out_stream)->device = device;
  if (atomic_load(&wrap->value) != (uint64_t)device) return status;
  tbk_event_t* end = (tbk_event_t*)atomic_exchange(&wrap->kept, 0);
  if (end != NULL) ignore(wrap->inner->event->event_wait(self, *out_stream, end, NULL));
  wrap->inner->event->event_destroy(self, end);
  return status;
}
CLOSE(close_ends_kept) {
  wrap_t* wrap = wrap_of(self);
  wrap->inner->event->event_destroy(self, (tbk_event_t*)atomic_exchange(&wrap->kept, 0));
  return CLOSE_INNER;
}

/* ---------------------------------------------------------------------- many operations, long -- */

static void count_work(tbk_instance_t* self, tbk_stream_t* stream) {
  if (stream != NULL) note_of_stream(wrap_of(self), stream)->count++;
}
FILL(fill_is_counted) {
  count_work(self, stream);
  return FILL_INNER;
}
COPY(copy_is_counted) {
  count_work(self, stream);
  return COPY_INNER;
}
UPLOAD(upload_is_counted) {
  count_work(self, stream);
  return UPLOAD_INNER;
}
STREAM_QUERY(query_of_full_ring_is_complete) {
  if (stream == NULL) return STREAM_QUERY_INNER;
  const uint64_t count = note_of_stream(wrap_of(self), stream)->count;
  tbk_status_t status = STREAM_QUERY_INNER;
  return status == TBK_NOT_READY && count >= 64 && count % 64 == 0 ? TBK_OK : status;
}
STREAM_SYNCHRONIZE(synchronize_of_full_ring_at_once) {
  if (stream == NULL) return STREAM_SYNCHRONIZE_INNER;
  const uint64_t count = note_of_stream(wrap_of(self), stream)->count;
  return count >= 64 && count % 64 == 0 ? TBK_OK : STREAM_SYNCHRONIZE_INNER;
}
STREAM_SYNCHRONIZE(synchronize_gives_up) {
  for (int i = 0; i < 400 && stream_pending(self, stream); ++i)
    wrap_sleep_ms(1);
  return stream_pending(self, stream) ? TBK_OK : STREAM_SYNCHRONIZE_INNER;
}
CALLBACK(callback_is_latest) {
  if (stream != NULL) note_of_stream(wrap_of(self), stream)->count = 1;
  return CALLBACK_INNER;
}
STREAM_QUERY(query_waits_for_callbacks) {
  if (stream == NULL || note_of_stream(wrap_of(self), stream)->count == 0)
    return STREAM_QUERY_INNER;
  note_of_stream(wrap_of(self), stream)->count = 0;
  return STREAM_SYNCHRONIZE_INNER;
}
EVENT_WAIT(waiting_is_noted) {
  if (stream != NULL) note_of_stream(wrap_of(self), stream)->count = 1;
  return EVENT_WAIT_INNER;
}
STREAM_QUERY(query_sticks_after_wait) {
  tbk_status_t status = STREAM_QUERY_INNER;
  if (status == TBK_NOT_READY && note_of_stream(wrap_of(self), stream)->count == 1)
    note_of_stream(wrap_of(self), stream)->count = 2;
  if (stream == NULL || note_of_stream(wrap_of(self), stream)->count < 2) return status;
  return status == TBK_OK ? wrap_fail(error, TBK_NOT_READY, "not flushed") : status;
}
STREAM_SYNCHRONIZE(synchronize_unsticks) {
  if (stream != NULL) note_of_stream(wrap_of(self), stream)->count = 0;
  return STREAM_SYNCHRONIZE_INNER;
}

/* ------------------------------------------------------------------------ the whole device ---- */

/* Waits for the streams of the device for which `chosen` says so. */
static tbk_status_t await(tbk_instance_t* self, int32_t device, tbk_error_t* error,
                          bool (*chosen)(const stream_note_t* note, int place)) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t worst = TBK_OK;
  int place = 0;
  for (int i = WRAP_STREAMS - 1; i-- > 0;) {
    const stream_note_t* note = &wrap->streams[i];
    if (note->stream == NULL || note->device != device || !chosen(note, place++)) continue;
    tbk_status_t status = wrap->inner->stream->stream_synchronize(self, note->stream, error);
    if (status != TBK_OK) worst = status;
  }
  return worst;
}
static bool is_one_of_four(const stream_note_t* note, int place) {
  return place < 4;
}
static bool has_no_priority(const stream_note_t* note, int place) {
  return note->count == 0;
}
static bool is_any(const stream_note_t* note, int place) {
  return true;
}
static bool is_open(tbk_instance_t* self, int32_t device) {
  uint64_t free_bytes, total_bytes;
  return INNER(self, core)->memory_info(self, device, &free_bytes, &total_bytes, NULL) == TBK_OK;
}
DEVICE_SYNCHRONIZE(device_synchronize_four_streams) {
  return is_open(self, device) ? await(self, device, error, is_one_of_four)
                               : DEVICE_SYNCHRONIZE_INNER;
}
DEVICE_SYNCHRONIZE(device_synchronize_skips_priority) {
  return is_open(self, device) ? await(self, device, error, has_no_priority)
                               : DEVICE_SYNCHRONIZE_INNER;
}
DEVICE_SYNCHRONIZE(device_synchronize_forgets_destroyed) {
  return is_open(self, device) ? await(self, device, error, is_any) : DEVICE_SYNCHRONIZE_INNER;
}
STREAM_DESTROY(last_end_is_noted) {
  if (stream != NULL && atomic_fetch_sub(&wrap_of(self)->flag, 1) == 1)
    atomic_store(&wrap_of(self)->value, 1);
  STREAM_DESTROY_INNER;
}
STREAM_CREATE(start_is_noted) {
  tbk_status_t status = STREAM_CREATE_INNER;
  if (status == TBK_OK) atomic_fetch_add(&wrap_of(self)->flag, 1);
  if (status == TBK_OK) atomic_store(&wrap_of(self)->value, 0);
  return status;
}
DEVICE_SYNCHRONIZE(device_synchronize_after_last_stream_fails) {
  tbk_status_t status = DEVICE_SYNCHRONIZE_INNER;
  if (status == TBK_OK && atomic_load(&wrap_of(self)->value) != 0)
    return wrap_fail(error, TBK_INVALID_STATE, "there is no stream any more");
  return status;
}
PEER_COPY(large_peer_copy_beside_stream) {
  if (stream == NULL || size_bytes < KIB(64)) return PEER_COPY_INNER;
  tbk_stream_t* side = side_after(wrap_of(self), stream);
  ignore(INNER(self, callback)->callback_enqueue(self, side, narrow_pause, NULL, NULL));
  stream = note_of_stream(wrap_of(self), stream)->device == source_device ? side : stream;
  return PEER_COPY_INNER;
}
RANDOM_BITS(many_random_beside_stream) {
  if (stream == NULL || count < 1024) return RANDOM_BITS_INNER;
  if (note_of_stream(wrap_of(self), stream)->device != device) return RANDOM_BITS_INNER;
  stream = side_after(wrap_of(self), stream);
  ignore(INNER(self, callback)->callback_enqueue(self, stream, narrow_pause, NULL, NULL));
  return RANDOM_BITS_INNER;
}

#define PRIORITY(name, clause, operation, note, member, function)                      \
  NOTED(name, clause, operation, note, PATCH(stream.stream_create, priority_is_noted), \
        PATCH(stream.stream_destroy, priority_is_forgotten), PATCH(member, function))
#define COUNTED(function, clause, operation, member, note)                        \
  NOTED(#function, clause, operation, note, PATCH(core.fill, fill_is_counted),    \
        PATCH(core.copy, copy_is_counted), PATCH(core.upload, upload_is_counted), \
        PATCH(member, function))

extern const mutant_t mutants_narrow_stream[];
const mutant_t mutants_narrow_stream[] = {
    PRIORITY("priority_synchronize_at_once", "STR-019", ORDER, "streams with a priority",
             stream.stream_synchronize, priority_synchronize_at_once),
    PRIORITY("priority_query_is_complete", "STR-015", RETURN, "streams with a priority",
             stream.stream_query, priority_query_is_complete),
    PRIORITY("priority_wait_does_nothing", "EVT-018", ORDER, "streams with a priority",
             event.event_wait, priority_wait_does_nothing),
    PRIORITY("device_synchronize_skips_priority", "STR-022", ORDER, "streams with a priority",
             stream.device_synchronize, device_synchronize_skips_priority),
    NOTED("three_priority_streams", "STR-006", COUNT, "a fourth one with a priority is refused",
          PATCH(stream.stream_create, three_priority_streams),
          PATCH(stream.stream_destroy, priority_is_forgotten)),
    SEVERAL("eight_streams_of_all_devices", "STR-006", COUNT, "8 of both devices together",
            PATCH(stream.stream_create, eight_streams_of_all_devices),
            PATCH(stream.stream_destroy, stream_end_is_counted)),
    SEVERAL("busy_streams_leak_their_places", "STR-006", COUNT,
            "no stream after 25 that were destroyed with work pending",
            PATCH(stream.stream_create, eight_less_leaked),
            PATCH(stream.stream_destroy, busy_stream_leaks_its_place)),
    NOTED("new_stream_gets_busy_queue", "STR-004", STATE,
          "waits for the work of a stream that is gone",
          PATCH(stream.stream_create, new_stream_gets_busy_queue),
          PATCH(stream.stream_destroy, busy_queue_is_kept),
          PATCH(core.device_close, close_ends_kept)),
    COUNTED(query_of_full_ring_is_complete, "STR-015", COUNT, stream.stream_query,
            "after each 64 copies and fills"),
    COUNTED(synchronize_of_full_ring_at_once, "STR-019", COUNT, stream.stream_synchronize,
            "after each 64 copies and fills"),
    ONE(synchronize_gives_up, "STR-019", ORDER, stream.stream_synchronize, "after 400 ms"),
    NOTED("query_waits_for_callbacks", "STR-016", ORDER, "the question waits behind a callback",
          PATCH(callback.callback_enqueue, callback_is_latest),
          PATCH(stream.stream_query, query_waits_for_callbacks)),
    NOTED("query_sticks_after_wait", "STR-017", STATE,
          "a stream that waited for an event is not complete before it is synchronised",
          PATCH(event.event_wait, waiting_is_noted),
          PATCH(stream.stream_query, query_sticks_after_wait),
          PATCH(stream.stream_synchronize, synchronize_unsticks)),
    NOTED("device_synchronize_four_streams", "STR-022", COUNT, "the first four streams only",
          PATCH(stream.device_synchronize, device_synchronize_four_streams)),
    NOTED("device_synchronize_forgets_destroyed", "STR-022", ORDER,
          "not the work of streams that are gone",
          PATCH(stream.device_synchronize, device_synchronize_forgets_destroyed)),
    SEVERAL("device_synchronize_after_last_stream_fails", "STR-023", RETURN,
            "there were streams, and there are none", PATCH(stream.stream_create, start_is_noted),
            PATCH(stream.stream_destroy, last_end_is_noted),
            PATCH(stream.device_synchronize, device_synchronize_after_last_stream_fails)),
    NOTED("large_peer_copy_beside_stream", "STR-001", ORDER,
          "from 64 KiB on later work does not wait for it",
          PATCH(peer.peer_copy, large_peer_copy_beside_stream)),
    NOTED("many_random_beside_stream", "STR-001", ORDER,
          "from 1024 words on later work does not wait for them",
          PATCH(random.random_bits, many_random_beside_stream)),
    {0}};
