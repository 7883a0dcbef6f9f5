/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_synchronize.c: asking streams and waiting for them.
 */
#include "calls.h"

static void wait_long(void* argument) {
  wrap_sleep_ms(400);
}

/* The second device forgets to finish what is left on a stream that goes. */
CALLBACK(callback_noted) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = CALLBACK_INNER;
  if (status == TBK_OK && stream != NULL) atomic_store(&wrap->kept, (uintptr_t)stream);
  return status;
}

#define NULL_STREAM(f, signature, answer, inner) \
  signature(f) {                                 \
    if (stream == NULL) return answer;           \
    return inner;                                \
  }
NULL_STREAM(query_accepts_null, STREAM_QUERY, TBK_OK, STREAM_QUERY_INNER)
NULL_STREAM(synchronize_accepts_null, STREAM_SYNCHRONIZE, TBK_OK, STREAM_SYNCHRONIZE_INNER)
NULL_STREAM(async_free_accepts_null_stream, ASYNC_FREE, TBK_OK, ASYNC_FREE_INNER)

STREAM_QUERY(query_always_complete) {
  return stream == NULL ? STREAM_QUERY_INNER : TBK_OK;
}
STREAM_QUERY(third_query_is_complete) {
  tbk_status_t status = STREAM_QUERY_INNER;
  return status == TBK_NOT_READY && wrap_every(wrap_of(self), 3) ? TBK_OK : status;
}
STREAM_QUERY(query_complete_after_callback) {
  tbk_status_t status = STREAM_QUERY_INNER;
  if (status == TBK_NOT_READY && atomic_load(&wrap_of(self)->kept) == (uintptr_t)stream)
    status = TBK_OK;
  return status;
}
STREAM_QUERY(query_of_second_device_complete_after_callback) {
  const bool is_second = stream != NULL && note_of_stream(wrap_of(self), stream)->device == 1;
  return is_second ? query_complete_after_callback(self, stream, error) : STREAM_QUERY_INNER;
}

STREAM_QUERY(query_waits) {
  if (stream != NULL) ignore(INNER(self, stream)->stream_synchronize(self, stream, NULL));
  return STREAM_QUERY_INNER;
}
STREAM_QUERY(query_fails_while_pending) {
  tbk_status_t status = STREAM_QUERY_INNER;
  if (status == TBK_NOT_READY) status = wrap_fail(error, TBK_FAILED, "still busy");
  return status;
}
STREAM_QUERY(fourth_query_waits) {
  if (stream != NULL && wrap_every(wrap_of(self), 4))
    ignore(INNER(self, stream)->stream_synchronize(self, stream, NULL));
  return STREAM_QUERY_INNER;
}

/* Complete only once somebody has waited; `kept` is the stream for which somebody has. */
STREAM_QUERY(query_never_complete) {
  tbk_status_t status = STREAM_QUERY_INNER;
  if (status == TBK_OK && atomic_load(&wrap_of(self)->kept) != (uintptr_t)stream)
    status = TBK_NOT_READY;
  return status;
}
STREAM_SYNCHRONIZE(synchronize_noted) {
  atomic_store(&wrap_of(self)->kept, (uintptr_t)stream);
  return STREAM_SYNCHRONIZE_INNER;
}
/* Once it has said NOT_READY it says so until somebody waits. */
STREAM_QUERY(query_sticks_to_not_ready) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = STREAM_QUERY_INNER;
  if (status == TBK_NOT_READY) atomic_store(&wrap->value, (uintptr_t)stream);
  if (status == TBK_OK && atomic_load(&wrap->value) == (uintptr_t)stream) status = TBK_NOT_READY;
  return status;
}
STREAM_SYNCHRONIZE(synchronize_unsticks) {
  atomic_store(&wrap_of(self)->value, 0);
  return STREAM_SYNCHRONIZE_INNER;
}
/* Each query enqueues something to ask for: it is never the last on its stream. */
STREAM_QUERY(query_enqueues) {
  if (stream != NULL)
    ignore(INNER(self, callback)->callback_enqueue(self, stream, wait_long, NULL, NULL));
  return STREAM_QUERY_INNER;
}

STREAM_SYNCHRONIZE(synchronize_returns_at_once) {
  return stream == NULL ? STREAM_SYNCHRONIZE_INNER : TBK_OK;
}
STREAM_SYNCHRONIZE(third_synchronize_returns_at_once) {
  if (stream != NULL && wrap_every(wrap_of(self), 3)) return TBK_OK;
  return STREAM_SYNCHRONIZE_INNER;
}
STREAM_SYNCHRONIZE(synchronize_of_second_device_returns_at_once) {
  if (stream != NULL && note_of_stream(wrap_of(self), stream)->device == 1) return TBK_OK;
  return STREAM_SYNCHRONIZE_INNER;
}
STREAM_SYNCHRONIZE(synchronize_asks_eight_times) {
  tbk_status_t status = TBK_NOT_READY;
  for (int turn = 0; status == TBK_NOT_READY && turn < 8; ++turn)
    status = INNER(self, stream)->stream_query(self, stream, error);
  return status == TBK_NOT_READY ? TBK_OK : status;
}
/* Waits for all streams, also for what others enqueue meanwhile. */
STREAM_SYNCHRONIZE(synchronize_waits_for_device) {
  tbk_status_t status = STREAM_SYNCHRONIZE_INNER;
  if (stream != NULL)
    ignore(INNER(self, stream)
               ->device_synchronize(self, note_of_stream(wrap_of(self), stream)->device, NULL));
  return status;
}

DEVICE_SYNCHRONIZE(device_synchronize_returns_at_once) {
  int32_t count = 0;
  ignore(INNER(self, core)->device_count(self, &count, NULL));
  return device >= 0 && device < count && wrap_of(self)->opened[device] ? TBK_OK
                                                                        : DEVICE_SYNCHRONIZE_INNER;
}
OPEN(open_noted) {
  tbk_status_t status = OPEN_INNER;
  if (status == TBK_OK && device < WRAP_DEVICES) wrap_of(self)->opened[device] = 1;
  return status;
}
CLOSE(close_noted) {
  tbk_status_t status = CLOSE_INNER;
  if (device >= 0 && device < WRAP_DEVICES) wrap_of(self)->opened[device] = 0;
  return status;
}
/* Waits for one stream and takes it for the device. */
DEVICE_SYNCHRONIZE(device_synchronize_latest_stream) {
  wrap_t* wrap = wrap_of(self);
  tbk_stream_t* latest = (tbk_stream_t*)atomic_load(&wrap->kept);
  if (device != 0 || latest == NULL) return DEVICE_SYNCHRONIZE_INNER;
  return wrap->inner->stream->stream_synchronize(self, latest, error);
}
DEVICE_SYNCHRONIZE(second_device_synchronize_returns_at_once) {
  if (wrap_every(wrap_of(self), 2)) return TBK_OK;
  return DEVICE_SYNCHRONIZE_INNER;
}
DEVICE_SYNCHRONIZE(device_synchronize_wants_streams) {
  if (atomic_load(&wrap_of(self)->kept) == 0)
    return wrap_fail(error, TBK_INVALID_STATE, "there is no stream");
  return DEVICE_SYNCHRONIZE_INNER;
}
DEVICE_SYNCHRONIZE(device_synchronize_idle_is_not_ready) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = DEVICE_SYNCHRONIZE_INNER;
  if (status == TBK_OK && atomic_load(&wrap->kept) != 0 && atomic_load(&wrap->calls) == 0)
    status = TBK_NOT_READY;
  return status;
}
UPLOAD(upload_counted) {
  atomic_fetch_add(&wrap_of(self)->calls, 1);
  return UPLOAD_INNER;
}

/* Twice in a row with nothing in between. */
DEVICE_SYNCHRONIZE(device_synchronize_again_is_failure) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = DEVICE_SYNCHRONIZE_INNER;
  if (status == TBK_OK && atomic_load(&wrap->calls) == 0 && atomic_fetch_add(&wrap->flag, 1) > 0)
    status = wrap_fail(error, TBK_FAILED, "there is nothing to wait for");
  return status;
}

/* STR-018: what should be the host's alone waits for the device. */
KERNEL_FIND(find_waits_for_device) {
  ignore(INNER(self, stream)->device_synchronize(self, device, NULL));
  return KERNEL_FIND_INNER;
}
PREPARE(prepare_waits_for_device) {
  ignore(INNER(self, stream)->device_synchronize(self, device, NULL));
  return PREPARE_INNER;
}
PLAN_DESTROY(plan_destroy_waits) {
  ignore(INNER(self, stream)->device_synchronize(self, 0, NULL));
  PLAN_DESTROY_INNER;
}

static void delay(void* argument) {
  wrap_sleep_ms(100);
}

/* Downloads run on a second queue behind this one; nothing on this one waits for them. */
DOWNLOAD(download_on_copy_queue) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL) {
    stream = side_after(wrap, stream);
    ignore(wrap->inner->callback->callback_enqueue(self, stream, delay, NULL, NULL));
  }
  return DOWNLOAD_INNER;
}
UPLOAD(upload_on_copy_queue) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL) {
    stream = side_after(wrap, stream);
    ignore(wrap->inner->callback->callback_enqueue(self, stream, delay, NULL, NULL));
  }
  return UPLOAD_INNER;
}

#define STREAM(name, clause, operation, narrow, note, ...) \
  { name, clause, MUTANT, operation, narrow, note, {__VA_ARGS__}, 0, 0, notes_install, 0 }
#define NOTED(function, clause, operation, narrow, member, note) \
  STREAM(#function, clause, operation, narrow, note, PATCH(member, function))

extern const mutant_t mutants_synchronize[];
const mutant_t mutants_synchronize[] = {
    ROW(query_accepts_null, "STR-014", RETURN, BROAD, stream.stream_query, "OK for NULL"),
    ROW(synchronize_accepts_null, "STR-014", RETURN, BROAD, stream.stream_synchronize, "OK"),
    ROW(async_free_accepts_null_stream, "STR-014", RETURN, NARROW, async_memory.async_free, "OK"),
    ROW(query_always_complete, "STR-015", ORDER, BROAD, stream.stream_query, "OK, always"),
    ROW(third_query_is_complete, "STR-015", COUNT, NARROW, stream.stream_query,
        "OK at every third NOT_READY"),
    STREAM("query_complete_after_callback", "STR-015", ORDER, NARROW,
           "OK where a callback was the last to be enqueued",
           PATCH(stream.stream_query, query_complete_after_callback),
           PATCH(callback.callback_enqueue, callback_noted)),
    STREAM("query_of_second_device_complete_after_callback", "STR-016", ORDER, NARROW,
           "OK on device 1 where a callback was the last to be enqueued",
           PATCH(stream.stream_query, query_of_second_device_complete_after_callback),
           PATCH(callback.callback_enqueue, callback_noted)),
    ROW(query_waits, "STR-016", ORDER, BROAD, stream.stream_query, "waits for the stream"),
    ROW(query_fails_while_pending, "STR-016", RETURN, BROAD, stream.stream_query, "FAILED"),
    ROW(fourth_query_waits, "STR-016", COUNT, NARROW, stream.stream_query, "every fourth waits"),
    STREAM("query_never_complete", "STR-017", STATE, BROAD, "NOT_READY until synchronised",
           PATCH(stream.stream_query, query_never_complete),
           PATCH(stream.stream_synchronize, synchronize_noted)),
    STREAM("query_sticks_to_not_ready", "STR-017", STATE, NARROW,
           "once NOT_READY, always until synchronised",
           PATCH(stream.stream_query, query_sticks_to_not_ready),
           PATCH(stream.stream_synchronize, synchronize_unsticks)),
    ROW(query_enqueues, "STR-017", STATE, NARROW, stream.stream_query, "each query adds work"),
    ROW(find_waits_for_device, "STR-018", ORDER, BROAD, kernel.kernel_find, "waits for the device"),
    ROW(prepare_waits_for_device, "STR-018", ORDER, NARROW, launching.prepare,
        "waits for the device"),
    {"plan_destroy_waits",
     "STR-018",
     MUTANT,
     ORDER,
     NARROW,
     "waits for the device",
     {PATCH(launching.plan_destroy, plan_destroy_waits)},
     0,
     0,
     0,
     0},
    ROW(synchronize_returns_at_once, "STR-019", ORDER, BROAD, stream.stream_synchronize, "at once"),
    ROW(third_synchronize_returns_at_once, "STR-019", COUNT, NARROW, stream.stream_synchronize,
        "every third"),
    ROW(synchronize_asks_eight_times, "STR-019", ORDER, NARROW, stream.stream_synchronize,
        "gives up after eight queries"),
    NOTED(synchronize_of_second_device_returns_at_once, "STR-019", ORDER, NARROW,
          stream.stream_synchronize, "on device 1"),
    NOTED(download_on_copy_queue, "STR-001", ORDER, NARROW, core.download,
          "downloads run on another queue, for which nobody waits"),
    NOTED(upload_on_copy_queue, "STR-001", ORDER, NARROW, core.upload,
          "uploads run on another queue, for which nobody waits"),
    NOTED(synchronize_waits_for_device, "STR-020", ORDER, BROAD, stream.stream_synchronize,
          "waits for all streams"),
    STREAM("device_synchronize_returns_at_once", "STR-022", ORDER, BROAD, "at once",
           PATCH(stream.device_synchronize, device_synchronize_returns_at_once),
           PATCH(core.device_open, open_noted), PATCH(core.device_close, close_noted)),
    STREAM("device_synchronize_latest_stream", "STR-022", ORDER, NARROW,
           "waits for the stream that was made last",
           PATCH(stream.device_synchronize, device_synchronize_latest_stream),
           PATCH(stream.stream_create, notes_create_kept),
           PATCH(stream.stream_destroy, notes_destroy_unkept)),
    ROW(second_device_synchronize_returns_at_once, "STR-022", COUNT, NARROW,
        stream.device_synchronize, "every second"),
    STREAM("device_synchronize_wants_streams", "STR-023", RETURN, BROAD,
           "INVALID_STATE where there is no stream",
           PATCH(stream.device_synchronize, device_synchronize_wants_streams),
           PATCH(stream.stream_create, notes_create_kept),
           PATCH(stream.stream_destroy, notes_destroy_unkept)),
    STREAM("device_synchronize_idle_is_not_ready", "STR-023", RETURN, NARROW,
           "NOT_READY where there are streams and nothing was enqueued",
           PATCH(stream.device_synchronize, device_synchronize_idle_is_not_ready),
           PATCH(stream.stream_create, notes_create_kept),
           PATCH(stream.stream_destroy, notes_destroy_unkept), PATCH(core.upload, upload_counted)),
    STREAM("device_synchronize_again_is_failure", "STR-023", STATE, NARROW,
           "FAILED the second time where nothing was enqueued",
           PATCH(stream.device_synchronize, device_synchronize_again_is_failure),
           PATCH(core.upload, upload_counted)),
    {0}};
