/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_stream.c: streams, and the order of what is enqueued on them.
 */
#include <stdlib.h>
#include <string.h>

#include "calls.h"

/* STR-001: work that does not wait for what is before it. Without a stream it runs at once. */
#define EARLY(f, signature, condition, inner) \
  signature(f) {                              \
    if (condition) stream = NULL;             \
    return inner;                             \
  }
EARLY(upload_early, UPLOAD, true, UPLOAD_INNER)
EARLY(download_early, DOWNLOAD, true, DOWNLOAD_INNER)
EARLY(copy_early, COPY, true, COPY_INNER)
EARLY(fill_early, FILL, true, FILL_INNER)
EARLY(launch_early, LAUNCH, true, LAUNCH_INNER)
EARLY(random_early, RANDOM_BITS, true, RANDOM_BITS_INNER)
EARLY(peer_copy_early, PEER_COPY, true, PEER_COPY_INNER)
EARLY(small_upload_early, UPLOAD, size_bytes <= 64, UPLOAD_INNER)
EARLY(large_upload_early, UPLOAD, size_bytes >= 65536, UPLOAD_INNER)
EARLY(third_fill_early, FILL, wrap_every(wrap_of(self), 3), FILL_INNER)
EARLY(upload_early_on_second_device, UPLOAD, device == 1, UPLOAD_INNER)

/* Everything of one kind on a queue of its own: in order among itself, not with the rest. */
#define ASIDE(f, signature, inner)                                   \
  signature(f) {                                                     \
    if (stream != NULL) stream = side_stream(wrap_of(self), device); \
    return inner;                                                    \
  }
ASIDE(copy_aside, COPY, COPY_INNER)
ASIDE(fill_aside, FILL, FILL_INNER)
ASIDE(launch_aside, LAUNCH, LAUNCH_INNER)

#define FOREIGN(f, signature, home, inner)                                               \
  signature(f) {                                                                         \
    wrap_t* wrap = wrap_of(self);                                                        \
    if (stream != NULL && note_of_stream(wrap, stream)->device != (home)) stream = NULL; \
    return inner;                                                                        \
  }
FOREIGN(upload_on_foreign_stream, UPLOAD, device, UPLOAD_INNER)
FOREIGN(download_on_foreign_stream, DOWNLOAD, device, DOWNLOAD_INNER)
FOREIGN(copy_on_foreign_stream, COPY, device, COPY_INNER)
FOREIGN(fill_on_foreign_stream, FILL, device, FILL_INNER)
FOREIGN(launch_on_foreign_stream, LAUNCH, device, LAUNCH_INNER)
FOREIGN(random_on_foreign_stream, RANDOM_BITS, device, RANDOM_BITS_INNER)
UPLOAD(upload_on_foreign_stream_is_failure) {
  tbk_status_t status = UPLOAD_INNER;
  if (status == TBK_INVALID && stream != NULL &&
      note_of_stream(wrap_of(self), stream)->device != device)
    status = TBK_FAILED;
  return status;
}

STREAM_CREATE(create_accepts_null) {
  return out_stream == NULL ? TBK_OK : STREAM_CREATE_INNER;
}
STREAM_CREATE(create_null_is_failure) {
  return out_stream == NULL ? TBK_FAILED : STREAM_CREATE_INNER;
}
FROM_NATIVE(from_native_accepts_null) {
  return out_stream == NULL ? TBK_OK : FROM_NATIVE_INNER;
}

STREAM_CREATE(create_gives_null) {
  if (out_stream == NULL || !wrap_every(wrap_of(self), 3)) return STREAM_CREATE_INNER;
  *out_stream = NULL;
  return TBK_OK;
}
STREAM_CREATE(create_with_priority_gives_null) {
  if (out_stream == NULL || priority >= 0) return STREAM_CREATE_INNER;
  *out_stream = NULL;
  return TBK_OK;
}
/* A new stream begins behind the one that was made before it. */
STREAM_CREATE(create_waits_for_latest) {
  wrap_t* wrap = wrap_of(self);
  const tbk_event_ops_t* event = wrap->inner->event;
  tbk_stream_t* latest = (tbk_stream_t*)atomic_load(&wrap->kept);
  tbk_event_t* point = NULL;
  tbk_status_t status = STREAM_CREATE_INNER;
  if (status != TBK_OK) return status;
  if (latest != NULL && event->event_create(self, device, 0, &point, NULL) == TBK_OK) {
    if (event->event_record(self, point, latest, NULL) == TBK_OK)
      ignore(event->event_wait(self, *out_stream, point, NULL));
    event->event_destroy(self, point);
  }
  atomic_store(&wrap->kept, (uintptr_t)*out_stream);
  return status;
}

STREAM_CREATE(create_refuses_priority) {
  if (priority < -100 || priority > 100) return wrap_fail(error, TBK_INVALID, "no such priority");
  return STREAM_CREATE_INNER;
}
STREAM_CREATE(create_refuses_low_priority) {
  if (priority > 100) return wrap_fail(error, TBK_INVALID, "no such priority");
  return STREAM_CREATE_INNER;
}
STREAM_CREATE(create_refuses_lowest_priority) {
  if (priority == INT32_MIN) return wrap_fail(error, TBK_UNSUPPORTED, "cannot negate it");
  return STREAM_CREATE_INNER;
}

static tbk_status_t create_up_to(tbk_instance_t* self, int32_t device, int32_t priority,
                                 tbk_stream_t** out_stream, tbk_error_t* error, int limit) {
  wrap_t* wrap = wrap_of(self);
  if (atomic_load(&wrap->flag) >= limit)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no more streams");
  tbk_status_t status = STREAM_CREATE_INNER;
  if (status == TBK_OK) atomic_fetch_add(&wrap->flag, 1);
  return status;
}
STREAM_CREATE(create_up_to_four) {
  return create_up_to(self, device, priority, out_stream, error, 4);
}
STREAM_CREATE(create_up_to_seven) {
  return create_up_to(self, device, priority, out_stream, error, 7);
}
STREAM_DESTROY(destroy_counted) {
  if (stream != NULL) atomic_fetch_sub(&wrap_of(self)->flag, 1);
  STREAM_DESTROY_INNER;
}
/* The places of destroyed streams are lost. */
STREAM_CREATE(create_up_to_twelve_ever) {
  return create_up_to(self, device, priority, out_stream, error, 12);
}

/* STR-011: what is enqueued and not yet run is dropped with the stream. Work is kept back in a
 * closed list: the latest upload of each stream runs only when somebody waits for the stream. */
typedef struct kept_upload {
  tbk_stream_t* stream;
  int32_t device;
  tbk_memory_t memory;
  uint64_t offset, size_bytes;
  void* bytes;
  tbk_event_t* event; /* recorded behind it; NULL: none is */
} kept_upload_t;
static kept_upload_t kept;

static void run_kept(tbk_instance_t* self) {
  if (kept.stream == NULL) return;
  ignore(INNER(self, core)
             ->upload(self, kept.device, kept.memory, kept.offset, kept.bytes, kept.size_bytes,
                      kept.stream, NULL));
  if (kept.event != NULL)
    ignore(INNER(self, event)->event_record(self, kept.event, kept.stream, NULL));
  kept.stream = NULL; /* the bytes are still being read */
}
UPLOAD(upload_kept_back) {
  run_kept(self);
  if (stream == NULL || size_bytes == 0) return UPLOAD_INNER;
  const tbk_status_t status =
      INNER(self, core)->upload(self, device, memory, offset, source, 0, stream, error);
  if (status != TBK_OK) return status;
  kept = (kept_upload_t){stream, device, memory, offset, size_bytes, malloc(size_bytes), NULL};
  if (kept.bytes == NULL) return TBK_OUT_OF_MEMORY;
  memcpy(kept.bytes, source, size_bytes);
  return TBK_OK;
}
STREAM_DESTROY(destroy_drops_work) {
  if (stream == kept.stream) kept.stream = NULL;
  STREAM_DESTROY_INNER;
}
STREAM_DESTROY(destroy_drops_small_work) {
  if (stream == kept.stream && kept.size_bytes <= 1024) kept.stream = NULL;
  run_kept(self);
  STREAM_DESTROY_INNER;
}
#define RUNS_KEPT(f, signature, inner) \
  signature(f) {                       \
    run_kept(self);                    \
    return inner;                      \
  }
RUNS_KEPT(copy_runs_kept, COPY, COPY_INNER)
RUNS_KEPT(fill_runs_kept, FILL, FILL_INNER)
RUNS_KEPT(download_runs_kept, DOWNLOAD, DOWNLOAD_INNER)
RUNS_KEPT(callback_runs_kept, CALLBACK, CALLBACK_INNER)
RUNS_KEPT(launch_runs_kept, LAUNCH, LAUNCH_INNER)
RUNS_KEPT(launch_plan_runs_kept, LAUNCH_PLAN, LAUNCH_PLAN_INNER)
RUNS_KEPT(peer_copy_runs_kept, PEER_COPY, PEER_COPY_INNER)
RUNS_KEPT(wait_runs_kept, EVENT_WAIT, EVENT_WAIT_INNER)
RUNS_KEPT(synchronize_runs_kept, STREAM_SYNCHRONIZE, STREAM_SYNCHRONIZE_INNER)
RUNS_KEPT(device_synchronize_runs_kept, DEVICE_SYNCHRONIZE, DEVICE_SYNCHRONIZE_INNER)
RUNS_KEPT(query_runs_kept, STREAM_QUERY, STREAM_QUERY_INNER)
RUNS_KEPT(event_query_runs_kept, EVENT_QUERY, EVENT_QUERY_INNER)
RUNS_KEPT(event_synchronize_runs_kept, EVENT_SYNCHRONIZE, EVENT_SYNCHRONIZE_INNER)
EVENT_DESTROY(event_destroy_runs_kept) {
  run_kept(self);
  EVENT_DESTROY_INNER;
}
EVENT_RECORD(record_behind_kept) {
  if (stream == NULL || stream != kept.stream || kept.event != NULL) run_kept(self);
  const tbk_status_t status = EVENT_RECORD_INNER;
  if (status == TBK_OK && stream != NULL && stream == kept.stream) kept.event = event;
  return status;
}
#define ALL_RUN_KEPT                                                                          \
  PATCH(core.copy, copy_runs_kept), PATCH(core.fill, fill_runs_kept),                         \
      PATCH(launching.launch, launch_runs_kept),                                              \
      PATCH(launching.launch_plan, launch_plan_runs_kept),                                    \
      PATCH(peer.peer_copy, peer_copy_runs_kept), PATCH(core.download, download_runs_kept),   \
      PATCH(event.event_wait, wait_runs_kept), PATCH(event.event_record, record_behind_kept), \
      PATCH(event.event_query, event_query_runs_kept),                                        \
      PATCH(event.event_synchronize, event_synchronize_runs_kept),                            \
      PATCH(event.event_destroy, event_destroy_runs_kept),                                    \
      PATCH(stream.stream_query, query_runs_kept),                                            \
      PATCH(stream.stream_synchronize, synchronize_runs_kept),                                \
      PATCH(stream.device_synchronize, device_synchronize_runs_kept)
/* The second device forgets to finish what is left on a stream that goes. */
CALLBACK(callback_noted) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = CALLBACK_INNER;
  if (status == TBK_OK && stream != NULL) atomic_store(&wrap->kept, (uintptr_t)stream);
  return status;
}
UPLOAD(upload_after_callback_kept) {
  if (stream == NULL || atomic_load(&wrap_of(self)->kept) != (uintptr_t)stream) return UPLOAD_INNER;
  return upload_kept_back(self, device, memory, offset, source, size_bytes, stream, error);
}

NATIVE_HANDLE(native_accepts_null_stream) {
  return stream == NULL ? TBK_OK : NATIVE_HANDLE_INNER;
}
NATIVE_HANDLE(native_accepts_null_out) {
  return out_native == NULL ? TBK_OK : NATIVE_HANDLE_INNER;
}
NATIVE_HANDLE(native_null_is_unsupported) {
  if (stream == NULL || out_native == NULL) return TBK_UNSUPPORTED;
  return NATIVE_HANDLE_INNER;
}
NATIVE_HANDLE(native_differs) {
  tbk_status_t status = NATIVE_HANDLE_INNER;
  if (status == TBK_OK && wrap_every(wrap_of(self), 2)) *out_native = (char*)*out_native + 1;
  return status;
}
/* The handle of another queue: what is done there is not ordered after this stream. */
NATIVE_HANDLE(native_of_another_stream) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL && out_native != NULL)
    stream = side_stream(wrap, note_of_stream(wrap, stream)->device);
  return NATIVE_HANDLE_INNER;
}
NATIVE_HANDLE(second_stream_has_native_of_another) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL && out_native != NULL && (uintptr_t)stream == atomic_load(&wrap->kept) &&
      atomic_load(&wrap->value) != 0)
    stream = (tbk_stream_t*)(uintptr_t)atomic_load(&wrap->value);
  return NATIVE_HANDLE_INNER;
}

FROM_NATIVE(from_native_makes_new_queue) {
  if (out_stream == NULL || native == NULL) return FROM_NATIVE_INNER;
  return INNER(self, stream)->stream_create(self, device, 0, out_stream, error);
}
FROM_NATIVE(second_from_native_makes_new_queue) {
  if (out_stream == NULL || !wrap_every(wrap_of(self), 2)) return FROM_NATIVE_INNER;
  return INNER(self, stream)->stream_create(self, device, 0, out_stream, error);
}
/* The stream that came from outside gives the queue back with itself. */
FROM_NATIVE(from_native_noted) {
  tbk_status_t status = FROM_NATIVE_INNER;
  if (status == TBK_OK) note_of_stream(wrap_of(self), *out_stream)->count = 4711;
  return status;
}
UPLOAD(upload_on_dead_queue_lost) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL && atomic_load(&wrap->flag) != 0) return TBK_OK;
  return UPLOAD_INNER;
}
STREAM_DESTROY(destroy_takes_native) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL && note_of_stream(wrap, stream)->count == 4711) atomic_store(&wrap->flag, 1);
  STREAM_DESTROY_INNER;
}
STREAM_QUERY(query_on_dead_queue_fails) {
  if (stream != NULL && atomic_load(&wrap_of(self)->flag) != 0)
    return wrap_fail(error, TBK_INVALID, "the queue is gone");
  return STREAM_QUERY_INNER;
}

FROM_NATIVE(from_native_of_second_device_makes_new_queue) {
  if (out_stream == NULL || native == NULL || device != 1) return FROM_NATIVE_INNER;
  return INNER(self, stream)->stream_create(self, device, 0, out_stream, error);
}
STREAM_SYNCHRONIZE(synchronize_on_dead_queue_is_lost) {
  if (stream != NULL && atomic_load(&wrap_of(self)->flag) != 0)
    return wrap_fail(error, TBK_INVALID, "the queue is gone");
  return STREAM_SYNCHRONIZE_INNER;
}

#define STREAM(name, clause, operation, narrow, note, ...) \
  { name, clause, MUTANT, operation, narrow, note, {__VA_ARGS__}, 0, 0, notes_install, 0 }
#define NOTED(function, clause, operation, narrow, member, note) \
  STREAM(#function, clause, operation, narrow, note, PATCH(member, function))

extern const mutant_t mutants_stream[];
const mutant_t mutants_stream[] = {
    ROW(upload_early, "STR-001", ORDER, BROAD, core.upload, "runs at once"),
    ROW(download_early, "STR-001", ORDER, BROAD, core.download, "runs at once"),
    ROW(copy_early, "STR-001", ORDER, BROAD, core.copy, "runs at once"),
    ROW(fill_early, "STR-001", ORDER, BROAD, core.fill, "runs at once"),
    ROW(launch_early, "STR-001", ORDER, BROAD, launching.launch, "runs at once"),
    ROW(random_early, "STR-001", ORDER, BROAD, random.random_bits, "runs at once"),
    ROW(peer_copy_early, "STR-001", ORDER, NARROW, peer.peer_copy, "runs at once"),
    ROW(small_upload_early, "STR-001", ORDER, NARROW, core.upload, "up to 64 bytes"),
    ROW(large_upload_early, "STR-001", ORDER, NARROW, core.upload, "from 64 KiB on"),
    ROW(third_fill_early, "STR-001", COUNT, NARROW, core.fill, "every third runs at once"),
    ROW(upload_early_on_second_device, "STR-001", ORDER, NARROW, core.upload, "on device 1"),
    NOTED(copy_aside, "STR-001", ORDER, BROAD, core.copy, "copies have a queue of their own"),
    NOTED(fill_aside, "STR-001", ORDER, BROAD, core.fill, "fills have a queue of their own"),
    NOTED(launch_aside, "STR-001", ORDER, BROAD, launching.launch, "kernels have their own"),
    NOTED(upload_on_foreign_stream, "STR-002", RETURN, BROAD, core.upload, "runs at once instead"),
    NOTED(download_on_foreign_stream, "STR-002", RETURN, NARROW, core.download, "runs at once"),
    NOTED(copy_on_foreign_stream, "STR-002", RETURN, NARROW, core.copy, "runs at once"),
    NOTED(fill_on_foreign_stream, "STR-002", RETURN, NARROW, core.fill, "runs at once"),
    NOTED(launch_on_foreign_stream, "STR-002", RETURN, NARROW, launching.launch, "runs at once"),
    NOTED(random_on_foreign_stream, "STR-002", RETURN, NARROW, random.random_bits, "runs at once"),
    NOTED(upload_on_foreign_stream_is_failure, "STR-002", RETURN, BROAD, core.upload, "FAILED"),
    ROW(create_accepts_null, "STR-003", RETURN, BROAD, stream.stream_create, "OK for NULL"),
    ROW(create_null_is_failure, "STR-003", RETURN, BROAD, stream.stream_create, "FAILED for NULL"),
    ROW(from_native_accepts_null, "STR-003", RETURN, NARROW, stream.stream_from_native, "OK"),
    ROW(create_gives_null, "STR-004", COUNT, NARROW, stream.stream_create, "every third is NULL"),
    ROW(create_with_priority_gives_null, "STR-004", VALUE, NARROW, stream.stream_create,
        "NULL for a negative priority"),
    STREAM("create_waits_for_latest", "STR-004", ORDER, BROAD, "behind the stream made before it",
           PATCH(stream.stream_create, create_waits_for_latest),
           PATCH(stream.stream_destroy, notes_destroy_unkept)),
    ROW(create_refuses_priority, "STR-005", RETURN, BROAD, stream.stream_create, "INVALID"),
    ROW(create_refuses_low_priority, "STR-005", RETURN, NARROW, stream.stream_create,
        "INVALID above the range"),
    ROW(create_refuses_lowest_priority, "STR-005", RETURN, NARROW, stream.stream_create,
        "UNSUPPORTED for the least number"),
    STREAM("create_up_to_four", "STR-006", COUNT, BROAD, "four streams, no more",
           PATCH(stream.stream_create, create_up_to_four),
           PATCH(stream.stream_destroy, destroy_counted)),
    STREAM("create_up_to_seven", "STR-006", COUNT, NARROW, "seven streams, no more",
           PATCH(stream.stream_create, create_up_to_seven),
           PATCH(stream.stream_destroy, destroy_counted)),
    ROW(create_up_to_twelve_ever, "STR-006", LIFETIME, NARROW, stream.stream_create,
        "places of destroyed streams are lost after the twelfth"),
    STREAM("destroy_drops_work", "STR-011", LIFETIME, BROAD, "pending uploads go with the stream",
           PATCH(core.upload, upload_kept_back), PATCH(stream.stream_destroy, destroy_drops_work),
           PATCH(callback.callback_enqueue, callback_runs_kept), ALL_RUN_KEPT),
    STREAM("destroy_drops_small_work", "STR-011", LIFETIME, NARROW, "uploads of up to 1 KiB",
           PATCH(core.upload, upload_kept_back),
           PATCH(stream.stream_destroy, destroy_drops_small_work),
           PATCH(callback.callback_enqueue, callback_runs_kept), ALL_RUN_KEPT),
    STREAM("destroy_drops_work_after_callback", "STR-011", LIFETIME, NARROW,
           "uploads behind a callback go with the stream",
           PATCH(core.upload, upload_after_callback_kept),
           PATCH(callback.callback_enqueue, callback_noted),
           PATCH(stream.stream_destroy, destroy_drops_work), ALL_RUN_KEPT),
    ROW(native_accepts_null_stream, "STR-024", RETURN, BROAD, stream.stream_native_handle, "OK"),
    ROW(native_accepts_null_out, "STR-024", RETURN, NARROW, stream.stream_native_handle, "OK"),
    ROW(native_null_is_unsupported, "STR-024", RETURN, BROAD, stream.stream_native_handle,
        "UNSUPPORTED"),
    ROW(native_differs, "STR-025", DETERMINISM, NARROW, stream.stream_native_handle,
        "another one at every second call"),
    NOTED(native_of_another_stream, "STR-025", ORDER, BROAD, stream.stream_native_handle,
          "the queue of another stream"),
    STREAM("second_stream_has_native_of_another", "STR-025", ORDER, NARROW,
           "the latest stream gives the queue of the one before",
           PATCH(stream.stream_native_handle, second_stream_has_native_of_another),
           PATCH(stream.stream_create, notes_create_kept),
           PATCH(stream.stream_destroy, notes_destroy_unkept)),
    ROW(from_native_makes_new_queue, "STR-029", ORDER, BROAD, stream.stream_from_native,
        "a new queue"),
    ROW(second_from_native_makes_new_queue, "STR-029", COUNT, NARROW, stream.stream_from_native,
        "a new queue at every second call"),
    STREAM("destroy_takes_native", "STR-030", LIFETIME, BROAD,
           "uploads on streams are lost once a foreign queue was given back",
           PATCH(stream.stream_from_native, from_native_noted),
           PATCH(stream.stream_destroy, destroy_takes_native),
           PATCH(core.upload, upload_on_dead_queue_lost)),
    STREAM("destroy_takes_native_and_says_so", "STR-030", LIFETIME, NARROW,
           "queries fail once a foreign queue was given back",
           PATCH(stream.stream_from_native, from_native_noted),
           PATCH(stream.stream_destroy, destroy_takes_native),
           PATCH(stream.stream_query, query_on_dead_queue_fails)),
    ROW(from_native_of_second_device_makes_new_queue, "STR-029", ORDER, NARROW,
        stream.stream_from_native, "a new queue on device 1"),
    STREAM("destroy_takes_native_and_synchronize_fails", "STR-030", LIFETIME, NARROW,
           "synchronize fails once a foreign queue was given back",
           PATCH(stream.stream_from_native, from_native_noted),
           PATCH(stream.stream_destroy, destroy_takes_native),
           PATCH(stream.stream_synchronize, synchronize_on_dead_queue_is_lost)),
    {0}};
