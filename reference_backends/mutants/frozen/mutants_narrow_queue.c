/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_queue.c: streams and events that are wrong in one corner.
 */
#include "narrow.h"

/* Live streams; of those made from a native handle it is known that they are. */
enum { LIVE = 512, NATIVE_SLOTS = 64 };
static struct {
  tbk_instance_t* self;
  tbk_stream_t* stream;
  int32_t device;
  bool native;
} live[LIVE];
static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;

static void live_add(tbk_instance_t* self, tbk_stream_t* stream, int32_t device, bool native) {
  pthread_mutex_lock(&live_lock);
  for (int i = 0; i < LIVE; ++i) {
    if (live[i].stream != NULL) continue;
    live[i].self = self;
    live[i].stream = stream;
    live[i].device = device;
    live[i].native = native;
    break;
  }
  pthread_mutex_unlock(&live_lock);
}
static bool live_native(tbk_stream_t* stream) {
  bool native = false;
  pthread_mutex_lock(&live_lock);
  for (int i = 0; i < LIVE; ++i)
    if (live[i].stream == stream) native = live[i].native;
  pthread_mutex_unlock(&live_lock);
  return native;
}
static void live_remove(tbk_stream_t* stream) {
  pthread_mutex_lock(&live_lock);
  for (int i = 0; i < LIVE; ++i)
    if (live[i].stream == stream) live[i].stream = NULL;
  pthread_mutex_unlock(&live_lock);
}

STREAM_CREATE(stream_is_listed) {
  const tbk_status_t status = STREAM_CREATE_INNER;
  if (status == TBK_OK) live_add(self, *out_stream, device, false);
  return status;
}
FROM_NATIVE(native_is_listed) {
  const tbk_status_t status = FROM_NATIVE_INNER;
  if (status == TBK_OK) live_add(self, *out_stream, device, true);
  return status;
}
STREAM_DESTROY(stream_is_unlisted) {
  if (stream != NULL) live_remove(stream);
  STREAM_DESTROY_INNER;
}
CLOSE(streams_are_unlisted) {
  pthread_mutex_lock(&live_lock);
  for (int i = 0; i < LIVE; ++i)
    if (live[i].self == self && live[i].device == device) live[i].stream = NULL;
  pthread_mutex_unlock(&live_lock);
  return CLOSE_INNER;
}

/* Walks the list; what belongs to a stream that is no more is not in it. */
DEVICE_SYNCHRONIZE(device_synchronize_walks_live_streams) {
  tbk_stream_t* mine[LIVE];
  int count = 0;
  pthread_mutex_lock(&live_lock);
  for (int i = 0; i < LIVE; ++i)
    if (live[i].stream != NULL && live[i].self == self && live[i].device == device)
      mine[count++] = live[i].stream;
  pthread_mutex_unlock(&live_lock);
  uint64_t free_bytes = 0, total_bytes = 0; /* is it open, is it lost */
  tbk_status_t status =
      INNER(self, core)->memory_info(self, device, &free_bytes, &total_bytes, error);
  for (int i = 0; i < count; ++i) {
    const tbk_status_t one = INNER(self, stream)->stream_synchronize(self, mine[i], error);
    if (one != TBK_OK) status = one;
  }
  return status;
}

CALLBACK(native_callback_runs_at_once) {
  if (function == NULL || stream == NULL || !live_native(stream)) return CALLBACK_INNER;
  function(argument);
  return TBK_OK;
}

FROM_NATIVE(native_slots_are_not_given_back) {
  if (atomic_load(&wrap_of(self)->calls) >= NATIVE_SLOTS)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no slot for a native queue");
  const tbk_status_t status = FROM_NATIVE_INNER;
  if (status == TBK_OK) atomic_fetch_add(&wrap_of(self)->calls, 1);
  return status;
}

/* Ticks of 10 us in 16 bits, with a sign. */
EVENT_ELAPSED(elapsed_wraps_after_a_third_of_a_second) {
  const tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status == TBK_OK) *out_ms = (int16_t)(uint16_t)(int64_t)(*out_ms * 100) / 100.0;
  return status;
}

/* An event that some stream still waits for is taken to be in use. */
EVENT_WAIT(waiter_is_noted) {
  const tbk_status_t status = EVENT_WAIT_INNER;
  if (status == TBK_OK) note_of_event(wrap_of(self), event)->waiter = stream;
  return status;
}
EVENT_RECORD(record_while_waited_for_is_dropped) {
  event_note_t* note = event == NULL ? NULL : note_of_event(wrap_of(self), event);
  if (note != NULL && note->waiter != NULL && event_pending(self, event)) return TBK_OK;
  if (note != NULL) note->waiter = NULL;
  return EVENT_RECORD_INNER;
}

STREAM_QUERY(query_clears_message) {
  const tbk_status_t status = STREAM_QUERY_INNER;
  if (status == TBK_OK && error != NULL) error->message[0] = '\0';
  return status;
}

/* The 64-bit counter of blocks does not carry into its upper half. */
RANDOM_BITS(random_counter_does_not_carry) {
  if (generator == NULL || generator->offset % 4 != 0) return RANDOM_BITS_INNER;
  const uint64_t first = generator->offset / 4;
  const uint64_t before = (UINT64_C(1) << 32) - (first & UINT32_MAX);
  if (count <= before * 4) return RANDOM_BITS_INNER;
  const tbk_generator_t wrapped = {generator->seed, (first >> 32 << 32) * 4};
  const uint64_t all = count;
  count = before * 4;
  const tbk_status_t status = RANDOM_BITS_INNER;
  if (status != TBK_OK) return status;
  return INNER(self, random)
      ->random_bits(self, device, &wrapped, memory, offset + count * 4, all - count, stream, error);
}

#define LISTED                                            \
  PATCH(stream.stream_create, stream_is_listed),          \
      PATCH(stream.stream_from_native, native_is_listed), \
      PATCH(stream.stream_destroy, stream_is_unlisted),   \
      PATCH(core.device_close, streams_are_unlisted)

extern const mutant_t mutants_narrow_queue[];
const mutant_t mutants_narrow_queue[] = {
    SEVERAL("device_synchronize_walks_live_streams", "STR-022", ORDER,
            "work of a stream that was destroyed meanwhile", LISTED,
            PATCH(stream.device_synchronize, device_synchronize_walks_live_streams)),
    SEVERAL("native_callback_runs_at_once", "CBK-003", ORDER, "on a stream of stream_from_native",
            LISTED, PATCH(callback.callback_enqueue, native_callback_runs_at_once)),
    ONE(native_slots_are_not_given_back, "STR-030", COUNT, stream.stream_from_native,
        "the 65th of an instance is refused, though all were destroyed"),
    ONE(elapsed_wraps_after_a_third_of_a_second, "EVT-029", VALUE, event.event_elapsed,
        "negative from 328 ms to 655 ms"),
    NOTED("record_while_waited_for_is_dropped", "EVT-014", STATE,
          "a pending event that some stream was told to wait for",
          PATCH(event.event_wait, waiter_is_noted),
          PATCH(event.event_record, record_while_waited_for_is_dropped)),
    ONE(query_clears_message, "ERR-011", ERROR, stream.stream_query,
        "a call that succeeds ends the message at its beginning"),
    ONE(random_counter_does_not_carry, "RNG-006", VALUE, random.random_bits,
        "a call that crosses word 2^34"),
    {0}};
