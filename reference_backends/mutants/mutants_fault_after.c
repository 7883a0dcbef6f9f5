/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_fault_after.c: what a failure or a loss leaves behind.
 */
#include "calls.h"

/* The error of the stream is still to be told: the queue is not looked at again before. */
CALLBACK(callback_behind_a_failure_is_dropped) {
  const bool untold = stream != NULL && function != NULL &&
                      INNER(self, stream)->stream_query(self, stream, NULL) == TBK_FAILED;
  return untold ? TBK_OK : CALLBACK_INNER;
}
/* `kept`: where work has failed; `flag`: somebody asked elsewhere, and the error of the device was cleared. */
FAULT(failure_is_noted) {
  wrap_t* wrap = wrap_of(self);
  const tbk_status_t status = FAULT_INNER;
  if (status != TBK_OK || kind != TBK_FAULT_WORK_FAILS) return status;
  atomic_store(&wrap->kept, (uintptr_t)stream);
  atomic_store(&wrap->flag, 0);
  return status;
}
static tbk_status_t unless_cleared(tbk_instance_t* self, tbk_status_t status) {
  return status == TBK_FAILED && atomic_load(&wrap_of(self)->flag) != 0 ? TBK_OK : status;
}
static void clear_others(tbk_instance_t* self, const tbk_stream_t* stream) {
  if (atomic_load(&wrap_of(self)->kept) != (uintptr_t)stream) atomic_store(&wrap_of(self)->flag, 1);
}
STREAM_SYNCHRONIZE(synchronize_clears_other_streams) {
  clear_others(self, stream);
  return unless_cleared(self, STREAM_SYNCHRONIZE_INNER);
}
STREAM_SYNCHRONIZE(synchronize_tells_unless_cleared) {
  return unless_cleared(self, STREAM_SYNCHRONIZE_INNER);
}
DEVICE_SYNCHRONIZE(device_synchronize_tells_unless_cleared) {
  return unless_cleared(self, DEVICE_SYNCHRONIZE_INNER);
}
EVENT_QUERY(event_query_clears_other_streams) {
  if (event != NULL) clear_others(self, note_of_event(wrap_of(self), event)->recorded_on);
  return EVENT_QUERY_INNER;
}
/* The status of the stream is that of what ran on it last. */
CALLBACK(callback_clears_its_stream) {
  if (stream != NULL && atomic_load(&wrap_of(self)->kept) == (uintptr_t)stream)
    atomic_store(&wrap_of(self)->flag, 1);
  return CALLBACK_INNER;
}
/* `value`: a device was closed with an error. */
CLOSE(close_keeps_its_error) {
  tbk_status_t status = CLOSE_INNER;
  if (status == TBK_FAILED) atomic_store(&wrap_of(self)->value, 1);
  return status;
}
DEVICE_SYNCHRONIZE(device_synchronize_tells_what_close_told) {
  tbk_status_t status = DEVICE_SYNCHRONIZE_INNER;
  if (status == TBK_OK && atomic_exchange(&wrap_of(self)->value, 0) != 0)
    return wrap_fail(error, TBK_FAILED, "work failed");
  return status;
}
/* The destination is looked at, and the device that is asked is not. */
PEER_COPY(peer_copy_from_a_lost_device_is_accepted) {
  uint64_t free_bytes, total_bytes;
  const tbk_status_t status = PEER_COPY_INNER;
  const bool lives =
      status == TBK_DEVICE_LOST &&
      INNER(self, core)->memory_info(self, destination_device, &free_bytes, &total_bytes, NULL) ==
          TBK_OK;
  return lives ? TBK_OK : status;
}
PEER_COPY(peer_copy_to_a_lost_device_breaks_its_source) {
  const tbk_status_t status = PEER_COPY_INNER;
  if (status == TBK_DEVICE_LOST && source_device != destination_device)
    atomic_store(&wrap_of(self)->value, (uint64_t)source_device + 1);
  return status;
}
ALLOC(no_memory_of_a_broken_source) {
  if (atomic_load(&wrap_of(self)->value) == (uint64_t)device + 1)
    return wrap_fail(error, TBK_DEVICE_LOST, "the bus is down");
  return ALLOC_INNER;
}

#define CLEARS(name, note, ...)                                                                   \
  {                                                                                               \
    name, "ERR-005", MUTANT, STATE, NARROW, note,                                                 \
        {PATCH(fault.fault_enqueue, failure_is_noted),                                            \
         PATCH(stream.device_synchronize, device_synchronize_tells_unless_cleared), __VA_ARGS__}, \
        0, 0, notes_install, 0                                                                    \
  }

extern const mutant_t mutants_fault_after[];
const mutant_t mutants_fault_after[] = {
    ROW(callback_behind_a_failure_is_dropped, "CBK-002", STATE, NARROW, callback.callback_enqueue,
        "OK, and never run, until the failure is told"),
    CLEARS("synchronize_clears_other_streams", "of a stream on which nothing has failed",
           PATCH(stream.stream_synchronize, synchronize_clears_other_streams)),
    CLEARS("event_query_clears_other_streams",
           "of an event of a stream on which nothing has failed",
           PATCH(stream.stream_synchronize, synchronize_tells_unless_cleared),
           PATCH(event.event_query, event_query_clears_other_streams)),
    CLEARS("callback_clears_its_stream", "a callback behind it, and nobody was told",
           PATCH(stream.stream_synchronize, synchronize_tells_unless_cleared),
           PATCH(callback.callback_enqueue, callback_clears_its_stream)),
    {"errors_outlive_a_close",
     "DEV-022",
     MUTANT,
     STATE,
     NARROW,
     "told by close, and again when it is open once more",
     {PATCH(core.device_close, close_keeps_its_error),
      PATCH(stream.device_synchronize, device_synchronize_tells_what_close_told)},
     0,
     0,
     0,
     0},
    ROW(peer_copy_from_a_lost_device_is_accepted, "FLT-003", RETURN, NARROW, peer.peer_copy,
        "OK where the destination is not lost"),
    {"peer_copy_to_a_lost_device_breaks_its_source",
     "FLT-004",
     MUTANT,
     STATE,
     NARROW,
     "the source gives no memory any more",
     {PATCH(peer.peer_copy, peer_copy_to_a_lost_device_breaks_its_source),
      PATCH(core.memory_alloc, no_memory_of_a_broken_source)},
     0,
     0,
     0,
     0},
    {0}};
