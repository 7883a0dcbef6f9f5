/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_thread.c: what depends on which thread asks. Windows are wide, so that two threads that
 * call at the same time surely meet.
 */
#include <stdlib.h>
#include <string.h>

#include "calls.h"

/* The thread that made the instance has this mark. */
static _Thread_local bool at_home;
static void marks_home(wrap_t* wrap) {
  at_home = true;
}
static tbk_status_t abroad(tbk_error_t* error) {
  return wrap_fail(error, TBK_INVALID_STATE, "called from another thread");
}
ALLOC(alloc_at_home_only) {
  return at_home ? ALLOC_INNER : abroad(error);
}
UPLOAD(upload_at_home_only) {
  return at_home ? UPLOAD_INNER : abroad(error);
}
DEVICE_COUNT(count_at_home_only) {
  return at_home ? DEVICE_COUNT_INNER : abroad(error);
}
DOWNLOAD(download_at_home_only) {
  return at_home ? DOWNLOAD_INNER : abroad(error);
}

/* Waits a while for a second thread to come in; true in both when they have met. */
static bool meet(atomic_int* inside) {
  const bool other = atomic_fetch_add(inside, 1) > 0;
  for (int turn = 0; turn < 20 && !other && atomic_load(inside) < 2; ++turn)
    wrap_sleep_ms(1);
  return other || atomic_load(inside) > 1;
}
ALLOC(alloc_one_at_a_time) {
  static atomic_int inside;
  const bool met = meet(&inside);
  tbk_status_t status = met ? abroad(error) : ALLOC_INNER;
  atomic_fetch_sub(&inside, 1);
  return status;
}
/* Two that allocate at the same time get the same block. */
ALLOC(alloc_races) {
  static atomic_int inside;
  static _Atomic(tbk_memory_t) latest;
  static atomic_uint_fast64_t latest_size;
  if (meet(&inside) && out_memory != NULL && size_bytes > 0 &&
      size_bytes <= atomic_load(&latest_size)) {
    *out_memory = atomic_load(&latest);
    atomic_fetch_sub(&inside, 1);
    return TBK_OK;
  }
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK && size_bytes > 0) {
    atomic_store(&latest, *out_memory);
    atomic_store(&latest_size, size_bytes);
  }
  atomic_fetch_sub(&inside, 1);
  return status;
}
FREE(free_forgives) {
  ignore(FREE_INNER);
  return TBK_OK;
}
FREE(free_one_at_a_time) {
  static atomic_int inside;
  const bool met = memory != 0 && meet(&inside);
  tbk_status_t status = met ? abroad(error) : FREE_INNER;
  if (memory != 0) atomic_fetch_sub(&inside, 1);
  return status;
}

/* In two halves, between which others get in. */
UPLOAD(upload_in_two_halves) {
  static atomic_int inside;
  if (stream == NULL || size_bytes < 2) return UPLOAD_INNER;
  const uint64_t half = size_bytes / 2, all = size_bytes;
  const tbk_core_t* core = INNER(self, core);
  tbk_status_t status = core->upload(self, device, memory, offset, source, half, stream, error);
  (void)meet(&inside);
  wrap_sleep_ms(1);
  if (status == TBK_OK)
    status = core->upload(self, device, memory, offset + half, (const char*)source + half,
                          all - half, stream, error);
  atomic_fetch_sub(&inside, 1);
  return status;
}
FILL(fill_in_two_halves) {
  static atomic_int inside;
  if (stream == NULL || size_bytes < 2) return FILL_INNER;
  const uint64_t half = size_bytes / 2, all = size_bytes;
  const tbk_core_t* core = INNER(self, core);
  tbk_status_t status = core->fill(self, device, memory, offset, value, half, stream, error);
  (void)meet(&inside);
  if (status == TBK_OK)
    status = core->fill(self, device, memory, offset + half, value, all - half, stream, error);
  atomic_fetch_sub(&inside, 1);
  return status;
}
/* One of two that enqueue at the same time is forgotten. */
CALLBACK(callback_of_one_is_lost) {
  static atomic_int inside;
  static atomic_int turn;
  if (stream == NULL || function == NULL) return CALLBACK_INNER;
  const bool met = meet(&inside);
  tbk_status_t status = TBK_OK;
  if (!met || (atomic_fetch_add(&turn, 1) & 1) == 0) status = CALLBACK_INNER;
  atomic_fetch_sub(&inside, 1);
  return status;
}
UPLOAD(upload_of_one_is_lost) {
  static atomic_int inside;
  static atomic_int turn;
  if (stream == NULL) return UPLOAD_INNER;
  const bool met = meet(&inside);
  tbk_status_t status = TBK_OK;
  if (!met || (atomic_fetch_add(&turn, 1) & 1) == 0) status = UPLOAD_INNER;
  atomic_fetch_sub(&inside, 1);
  return status;
}

/* What one thread made is not known to another: the last 64 streams that this thread made. */
static _Thread_local tbk_stream_t* mine[64];
static _Thread_local unsigned mine_count;
static tbk_status_t note_mine(tbk_status_t status, tbk_stream_t** made) {
  if (status == TBK_OK) mine[mine_count++ % 64] = *made;
  return status;
}
STREAM_CREATE(create_is_mine) {
  return note_mine(STREAM_CREATE_INNER, out_stream);
}
FROM_NATIVE(from_native_is_mine) {
  return note_mine(FROM_NATIVE_INNER, out_stream);
}
static bool is_mine(const tbk_stream_t* stream) {
  for (unsigned i = 0; i < 64; ++i) {
    if (mine[i] == stream) return true;
  }
  return stream == NULL;
}
UPLOAD(upload_on_own_streams_only) {
  return is_mine(stream) ? UPLOAD_INNER : wrap_fail(error, TBK_INVALID, "not this thread's stream");
}
STREAM_SYNCHRONIZE(synchronize_own_streams_only) {
  return is_mine(stream) ? STREAM_SYNCHRONIZE_INNER : TBK_OK;
}
STREAM_DESTROY(destroy_own_streams_only) {
  if (!is_mine(stream)) abort();
  STREAM_DESTROY_INNER;
}
static _Thread_local tbk_event_t* my_event;
EVENT_CREATE(event_create_is_mine) {
  tbk_status_t status = EVENT_CREATE_INNER;
  if (status == TBK_OK) my_event = *out_event;
  return status;
}
EVENT_RECORD(record_own_events_only) {
  if (my_event == NULL && event != NULL && stream != NULL)
    return wrap_fail(error, TBK_INVALID, "not this thread's event");
  return EVENT_RECORD_INNER;
}
static _Thread_local bool allocated_here;
ALLOC(alloc_is_mine) {
  allocated_here = true;
  return ALLOC_INNER;
}
FREE(free_own_memory_only) {
  if (memory != 0 && !allocated_here)
    return wrap_fail(error, TBK_INVALID, "not this thread's memory");
  return FREE_INNER;
}

/* THR-005: with a thread go the memory that it allocated last and the stream that it made last. */
typedef struct belongings {
  tbk_instance_t* self;
  int32_t device;
  tbk_memory_t memory;
  uint64_t size_bytes;
  tbk_stream_t* stream;
  tbk_memory_t disowned; /* what nobody can free from then on */
} belongings_t;
static pthread_key_t belongings_key;
static pthread_once_t belongings_once = PTHREAD_ONCE_INIT;

static void clear_away(void* argument) {
  belongings_t* had = argument;
  const tbk_backend_t* inner = wrap_of(had->self)->inner;
  if (had->memory != 0)
    ignore(
        inner->core->fill(had->self, had->device, had->memory, 0, 0, had->size_bytes, NULL, NULL));
  if (had->stream != NULL) inner->stream->stream_destroy(had->self, had->stream);
  if (had->disowned != 0) atomic_store(&wrap_of(had->self)->kept, (uintptr_t)had->disowned);
  free(had);
}
static void make_key(void) {
  if (pthread_key_create(&belongings_key, clear_away) != 0) abort();
}
static belongings_t* belongings(tbk_instance_t* self) {
  pthread_once(&belongings_once, make_key);
  belongings_t* had = pthread_getspecific(belongings_key);
  if (had == NULL) {
    had = calloc(1, sizeof *had);
    pthread_setspecific(belongings_key, had);
  }
  if (had == NULL) abort();
  had->self = self;
  return had;
}
ALLOC(alloc_ends_with_thread) {
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK && size_bytes > 0 && !at_home) {
    belongings_t* had = belongings(self);
    had->device = device;
    had->memory = *out_memory;
    had->size_bytes = size_bytes;
  }
  return status;
}
STREAM_CREATE(stream_ends_with_thread) {
  tbk_status_t status = STREAM_CREATE_INNER;
  if (status == TBK_OK && !at_home) belongings(self)->stream = *out_stream;
  return status;
}

/* What an ended thread allocated last is nobody's to give back. */
ALLOC(alloc_is_of_thread) {
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK && size_bytes > 0 && !at_home) belongings(self)->disowned = *out_memory;
  return status;
}
FREE(free_of_ended_thread_is_refused) {
  if (memory != 0 && memory == atomic_load(&wrap_of(self)->kept))
    return wrap_fail(error, TBK_INVALID, "its thread has ended");
  return FREE_INNER;
}

/* THR-006: a device that is "current", for all or for a thread. */
static atomic_int current_device;
static _Thread_local int32_t my_device;
ALLOC(alloc_sets_current) {
  atomic_store(&current_device, device);
  my_device = device;
  return ALLOC_INNER;
}
UPLOAD(upload_to_current) {
  device = atomic_load(&current_device);
  return UPLOAD_INNER;
}
DOWNLOAD(download_from_current_of_thread) {
  device = my_device;
  return DOWNLOAD_INNER;
}
FREE(free_of_current_only) {
  return device == atomic_load(&current_device) ? FREE_INNER : TBK_OK;
}

/* Whoever waits for a stream is woken for all, and so one who waits for an event of it meanwhile is not put to sleep. */
STREAM_SYNCHRONIZE(stream_wait_is_known) {
  wrap_t* wrap = wrap_of(self);
  atomic_store(&wrap->kept, (uintptr_t)stream);
  const tbk_status_t status = STREAM_SYNCHRONIZE_INNER;
  atomic_store(&wrap->kept, 0);
  return status;
}
EVENT_SYNCHRONIZE(event_wait_beside_stream_wait) {
  wrap_t* wrap = wrap_of(self);
  const uintptr_t waited_for = atomic_load(&wrap->kept);
  const bool beside = event != NULL && waited_for != 0 &&
                      waited_for == (uintptr_t)note_of_event(wrap, event)->recorded_on;
  return beside ? TBK_OK : EVENT_SYNCHRONIZE_INNER;
}

#define THREADED(name, clause, narrow, note, ...) \
  { name, clause, MUTANT, THREAD, narrow, note, {__VA_ARGS__}, 0, 0, marks_home, 0 }

extern const mutant_t mutants_thread[];
const mutant_t mutants_thread[] = {
    THREADED("alloc_at_home_only", "THR-001", BROAD, "only the thread that made the instance",
             PATCH(core.memory_alloc, alloc_at_home_only)),
    THREADED("upload_at_home_only", "THR-001", BROAD, "only the thread that made the instance",
             PATCH(core.upload, upload_at_home_only)),
    THREADED("download_at_home_only", "THR-001", NARROW, "only the thread that made the instance",
             PATCH(core.download, download_at_home_only)),
    THREADED("count_at_home_only", "THR-001", NARROW, "only the thread that made the instance",
             PATCH(core.device_count, count_at_home_only)),
    THREADED("alloc_one_at_a_time", "THR-002", BROAD, "INVALID_STATE for two at the same time",
             PATCH(core.memory_alloc, alloc_one_at_a_time)),
    THREADED("alloc_races", "THR-002", BROAD, "two at the same time get the same block",
             PATCH(core.memory_alloc, alloc_races), PATCH(core.memory_free, free_forgives)),
    THREADED("free_one_at_a_time", "THR-002", NARROW, "INVALID_STATE for two at the same time",
             PATCH(core.memory_free, free_one_at_a_time)),
    THREADED("upload_in_two_halves", "THR-003", BROAD, "others get in between the halves",
             PATCH(core.upload, upload_in_two_halves)),
    THREADED("fill_in_two_halves", "THR-003", NARROW, "others get in between the halves",
             PATCH(core.fill, fill_in_two_halves)),
    THREADED("callback_of_one_is_lost", "THR-003", NARROW, "of two at the same time one is lost",
             PATCH(callback.callback_enqueue, callback_of_one_is_lost)),
    THREADED("upload_of_one_is_lost", "THR-003", BROAD, "of two at the same time one is lost",
             PATCH(core.upload, upload_of_one_is_lost)),
    THREADED("upload_on_own_streams_only", "THR-004", BROAD, "INVALID on another thread's stream",
             PATCH(stream.stream_create, create_is_mine),
             PATCH(stream.stream_from_native, from_native_is_mine),
             PATCH(core.upload, upload_on_own_streams_only)),
    THREADED("synchronize_own_streams_only", "THR-004", NARROW,
             "does not wait for another thread's stream",
             PATCH(stream.stream_create, create_is_mine),
             PATCH(stream.stream_from_native, from_native_is_mine),
             PATCH(stream.stream_synchronize, synchronize_own_streams_only)),
    THREADED("destroy_own_streams_only", "THR-004", NARROW, "aborts for another thread's stream",
             PATCH(stream.stream_create, create_is_mine),
             PATCH(stream.stream_from_native, from_native_is_mine),
             PATCH(stream.stream_destroy, destroy_own_streams_only)),
    THREADED("record_own_events_only", "THR-004", NARROW, "INVALID for another thread's event",
             PATCH(event.event_create, event_create_is_mine),
             PATCH(event.event_record, record_own_events_only)),
    THREADED("free_own_memory_only", "THR-004", BROAD, "INVALID for another thread's memory",
             PATCH(core.memory_alloc, alloc_is_mine),
             PATCH(core.memory_free, free_own_memory_only)),
    THREADED("memory_ends_with_thread", "THR-005", BROAD, "memory is cleared when its thread ends",
             PATCH(core.memory_alloc, alloc_ends_with_thread)),
    THREADED("stream_ends_with_thread", "THR-005", NARROW, "a stream goes when its thread ends",
             PATCH(stream.stream_create, stream_ends_with_thread)),
    THREADED("free_of_ended_thread_is_refused", "THR-005", NARROW,
             "INVALID for the last memory of a thread that has ended",
             PATCH(core.memory_alloc, alloc_is_of_thread),
             PATCH(core.memory_free, free_of_ended_thread_is_refused)),
    THREADED("upload_to_current_device", "THR-006", BROAD, "to the device that allocated last",
             PATCH(core.memory_alloc, alloc_sets_current), PATCH(core.upload, upload_to_current)),
    THREADED("download_from_current_device", "THR-006", NARROW,
             "from the device on which this thread allocated last",
             PATCH(core.memory_alloc, alloc_sets_current),
             PATCH(core.download, download_from_current_of_thread)),
    THREADED("free_of_current_device", "THR-006", NARROW,
             "no effect but on the device that allocated last",
             PATCH(core.memory_alloc, alloc_sets_current),
             PATCH(core.memory_free, free_of_current_only)),
    {"event_wait_beside_stream_wait",
     "THR-001",
     MUTANT,
     THREAD,
     NARROW,
     "returns at once while another thread waits for the stream it was recorded on",
     {PATCH(stream.stream_synchronize, stream_wait_is_known),
      PATCH(event.event_synchronize, event_wait_beside_stream_wait)},
     0,
     0,
     notes_install,
     0},
    {0}};
