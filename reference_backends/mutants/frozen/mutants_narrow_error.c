/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_error.c: refusals, failures and losses.
 */
#include <string.h>

#include "narrow.h"

/* -------------------------------------------------------------- what was done all the same ---- */

UPLOAD(refused_upload_has_copied) {
  tbk_status_t status = UPLOAD_INNER;
  stream = NULL;
  if (status == TBK_INVALID)
    ignore(INNER(self, core)->upload(self, device, memory, offset, source, size_bytes, NULL, NULL));
  return status;
}
FILL(refused_fill_has_filled) {
  tbk_status_t status = FILL_INNER;
  if (status == TBK_INVALID)
    ignore(INNER(self, core)->fill(self, device, memory, offset, value, size_bytes, NULL, NULL));
  return status;
}
DOWNLOAD(refused_download_has_cleared) {
  tbk_status_t status = DOWNLOAD_INNER;
  if (status == TBK_INVALID && stream != NULL && destination != NULL)
    memset(destination, 0, size_bytes);
  return status;
}
PEER_COPY(refused_peer_copy_has_copied) {
  tbk_status_t status = PEER_COPY_INNER;
  if (status == TBK_INVALID && stream != NULL)
    ignore(INNER(self, peer)
               ->peer_copy(self, destination_device, destination, destination_offset, source_device,
                           source, source_offset, size_bytes, NULL, NULL));
  return status;
}
CALLBACK(refused_callback_has_run) {
  if (stream == NULL && function != NULL) function(argument);
  return CALLBACK_INNER;
}
EVENT_RECORD(refused_record_moves_event) {
  tbk_status_t status = EVENT_RECORD_INNER;
  if (status != TBK_INVALID || event == NULL || stream == NULL) return status;
  tbk_stream_t* side = side_stream(wrap_of(self), note_of_event(wrap_of(self), event)->device);
  ignore(INNER(self, event)->event_record(self, event, side, NULL));
  return status;
}

/* -------------------------------------------------------------------------- statuses and words -- */

PINNED_ALLOC(pinned_of_closed_is_unavailable) {
  tbk_status_t status = PINNED_ALLOC_INNER;
  return status == TBK_INVALID_STATE ? TBK_UNAVAILABLE : status;
}
RANDOM_BITS(random_off_4_is_unsupported) {
  tbk_status_t status = RANDOM_BITS_INNER;
  return status == TBK_INVALID && generator != NULL && generator->offset % 4 != 0 ? TBK_UNSUPPORTED
                                                                                  : status;
}
EVENT_RECORD(record_refusal_wants_error) {
  tbk_status_t status = EVENT_RECORD_INNER;
  if (status == TBK_INVALID && error == NULL) *(volatile char*)error = 0;
  return status;
}
CALLBACK(callback_refusal_wants_error) {
  tbk_status_t status = CALLBACK_INNER;
  if (status == TBK_INVALID && error == NULL) *(volatile char*)error = 0;
  return status;
}
RANDOM_BITS(random_refusal_wants_error) {
  tbk_status_t status = RANDOM_BITS_INNER;
  if (status == TBK_INVALID && error == NULL) *(volatile char*)error = 0;
  return status;
}
ALLOC(exhaustion_has_no_end) {
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OUT_OF_MEMORY && error != NULL)
    memset(error->message, '.', sizeof error->message);
  return status;
}
PEER_COPY(peer_refusal_has_no_end) {
  tbk_status_t status = PEER_COPY_INNER;
  if (status == TBK_INVALID_STATE && error != NULL)
    memset(error->message, '.', sizeof error->message);
  return status;
}
COPY(copy_of_nothing_clears_message) {
  if (size_bytes == 0 && error != NULL) error->message[0] = '\0';
  return COPY_INNER;
}
OPEN(reopen_clears_message) {
  tbk_status_t status = OPEN_INNER;
  if (status == TBK_OK && wrap_every(wrap_of(self), 2) && error != NULL) error->message[0] = '\0';
  return status;
}
LAUNCH(launch_without_stream_is_told) {
  tbk_status_t status = LAUNCH_INNER;
  if (status == TBK_OK && stream == NULL && error != NULL) memcpy(error->message, "done", 5);
  return status;
}

/* ------------------------------------------------------------------------------------ failures -- */

/* `value` counts failures that were told by any synchronize. */
static tbk_status_t telling_once(tbk_instance_t* self, tbk_status_t status) {
  if (status != TBK_FAILED) return status;
  return atomic_fetch_add(&wrap_of(self)->value, 1) == 0 ? status : TBK_OK;
}
STREAM_SYNCHRONIZE(synchronize_tells_first_failure) {
  return telling_once(self, STREAM_SYNCHRONIZE_INNER);
}
DEVICE_SYNCHRONIZE(device_synchronize_tells_first_failure) {
  return telling_once(self, DEVICE_SYNCHRONIZE_INNER);
}
STREAM_QUERY(query_tells_first_failure) {
  tbk_status_t status = STREAM_QUERY_INNER;
  return status == TBK_FAILED && atomic_load(&wrap_of(self)->value) > 0 ? TBK_OK : status;
}
FAULT(failing_stream_is_noted) {
  tbk_status_t status = FAULT_INNER;
  if (status == TBK_OK) atomic_store(&wrap_of(self)->kept, (uintptr_t)stream);
  if (status == TBK_OK && kind == TBK_FAULT_WORK_FAILS) atomic_store(&wrap_of(self)->flag, 1);
  return status;
}
STREAM_DESTROY(end_swallows_failure) {
  if (stream != NULL && atomic_load(&wrap_of(self)->kept) == (uintptr_t)stream)
    ignore(INNER(self, stream)->stream_synchronize(self, stream, NULL));
  STREAM_DESTROY_INNER;
}
STREAM_CREATE(no_stream_after_failure) {
  if (out_stream != NULL && atomic_load(&wrap_of(self)->flag))
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no more streams");
  return STREAM_CREATE_INNER;
}
UPLOAD(uploads_after_failure_are_lost) {
  if (atomic_load(&wrap_of(self)->flag)) size_bytes = 0;
  return UPLOAD_INNER;
}
LAUNCH(launches_after_failure_are_lost) {
  return atomic_load(&wrap_of(self)->flag) ? TBK_OK : LAUNCH_INNER;
}
FAULT(fault_kind_of_8_bits) {
  kind &= 0xff;
  return FAULT_INNER;
}

/* -------------------------------------------------------------------------------------- losses -- */

#define LOST_IS_OK(function, KIND, inner)               \
  KIND(function) {                                      \
    tbk_status_t status = inner;                        \
    return status == TBK_DEVICE_LOST ? TBK_OK : status; \
  }                                                     \
  _Static_assert(1, "")

LOST_IS_OK(lost_device_draws_random, RANDOM_BITS, RANDOM_BITS_INNER);
LOST_IS_OK(lost_device_records, EVENT_RECORD, EVENT_RECORD_INNER);
LOST_IS_OK(lost_device_waits, EVENT_WAIT, EVENT_WAIT_INNER);
LOST_IS_OK(lost_device_calls_back, CALLBACK, CALLBACK_INNER);
LOST_IS_OK(lost_device_launches, LAUNCH, LAUNCH_INNER);
MEMORY_INFO(lost_device_has_memory) {
  tbk_status_t status = MEMORY_INFO_INNER;
  if (status != TBK_DEVICE_LOST) return status;
  *out_free_bytes = *out_total_bytes = MIB(256);
  return TBK_OK;
}
FAULT(losing_stream_is_kept) {
  tbk_status_t status = FAULT_INNER;
  if (status == TBK_OK && kind == TBK_FAULT_DEVICE_LOST) {
    const int32_t device = note_of_stream(wrap_of(self), stream)->device;
    atomic_store(&wrap_of(self)->value, (uint64_t)device + 1);
  }
  return status;
}
static bool other_is_lost(tbk_instance_t* self, int32_t device) {
  const uint64_t lost = atomic_load(&wrap_of(self)->value);
  return lost != 0 && lost != (uint64_t)device + 1;
}
STREAM_CREATE(loss_ends_new_streams_of_others) {
  if (out_stream != NULL && other_is_lost(self, device))
    return wrap_fail(error, TBK_DEVICE_LOST, "a device is lost");
  tbk_status_t status = STREAM_CREATE_INNER;
  if (status == TBK_OK) note_of_stream(wrap_of(self), *out_stream)->device = device;
  return status;
}
CALLBACK(loss_drops_callbacks_of_others) {
  if (stream != NULL && function != NULL &&
      other_is_lost(self, note_of_stream(wrap_of(self), stream)->device))
    return TBK_OK;
  return CALLBACK_INNER;
}

#define LOST(function, member, note) ONE(function, "FLT-003", RETURN, member, note)
#define AFTER_FAILURE(name, clause, note, member, function)                               \
  SEVERAL(name, clause, STATE, note, PATCH(fault.fault_enqueue, failing_stream_is_noted), \
          PATCH(member, function))

extern const mutant_t mutants_narrow_error[];
const mutant_t mutants_narrow_error[] = {
    ONE(refused_upload_has_copied, "ERR-001", STATE, core.upload, "the stream is another device's"),
    ONE(refused_fill_has_filled, "ERR-001", STATE, core.fill, "the stream is another device's"),
    ONE(refused_download_has_cleared, "ERR-001", STATE, core.download,
        "the stream is another device's"),
    ONE(refused_peer_copy_has_copied, "ERR-001", STATE, peer.peer_copy,
        "the stream is the destination's"),
    ONE(refused_callback_has_run, "ERR-001", STATE, callback.callback_enqueue,
        "the stream is NULL"),
    NOTED("refused_record_moves_event", "ERR-001", STATE, "the stream is another device's",
          PATCH(event.event_record, refused_record_moves_event)),
    ONE(pinned_of_closed_is_unavailable, "DEV-021", RETURN, pinned.pinned_alloc,
        "UNAVAILABLE where the device is closed"),
    ONE(random_off_4_is_unsupported, "RNG-001", RETURN, random.random_bits,
        "UNSUPPORTED for an offset off 4"),
    ONE(record_refusal_wants_error, "ERR-010", ERROR, event.event_record,
        "crashes where it refuses and error is NULL"),
    ONE(callback_refusal_wants_error, "ERR-010", ERROR, callback.callback_enqueue,
        "crashes where it refuses and error is NULL"),
    ONE(random_refusal_wants_error, "ERR-010", ERROR, random.random_bits,
        "crashes where it refuses and error is NULL"),
    ONE(exhaustion_has_no_end, "ERR-008", ERROR, core.memory_alloc,
        "the reason of OUT_OF_MEMORY has no NUL"),
    ONE(peer_refusal_has_no_end, "ERR-008", ERROR, peer.peer_copy,
        "the reason of INVALID_STATE has no NUL"),
    ONE(copy_of_nothing_clears_message, "ERR-011", ERROR, core.copy, "0 bytes"),
    ONE(reopen_clears_message, "ERR-011", ERROR, core.device_open, "at every second open"),
    KERNEL(launch_without_stream_is_told, "ERR-011", ERROR, NULL, launch,
           "words for a success without a stream"),
    SEVERAL("second_failure_is_swallowed", "ERR-005", COUNT, "once a failure was told",
            PATCH(stream.stream_synchronize, synchronize_tells_first_failure),
            PATCH(stream.device_synchronize, device_synchronize_tells_first_failure),
            PATCH(stream.stream_query, query_tells_first_failure)),
    AFTER_FAILURE("stream_takes_its_failure_away", "ERR-005",
                  "nobody is told of a failure on a stream that is gone", stream.stream_destroy,
                  end_swallows_failure),
    AFTER_FAILURE("no_stream_after_failure", "FLT-002", "OUT_OF_MEMORY", stream.stream_create,
                  no_stream_after_failure),
    AFTER_FAILURE("uploads_after_failure_are_lost", "FLT-002", "and answered with OK", core.upload,
                  uploads_after_failure_are_lost),
    AFTER_FAILURE("launches_after_failure_are_lost", "FLT-002", "and answered with OK",
                  launching.launch, launches_after_failure_are_lost),
    ONE(fault_kind_of_8_bits, "FLT-001", RETURN, fault.fault_enqueue, "kind 256 is 0"),
    LOST(lost_device_draws_random, random.random_bits, "random words"),
    LOST(lost_device_records, event.event_record, "records"),
    LOST(lost_device_waits, event.event_wait, "waits"),
    LOST(lost_device_calls_back, callback.callback_enqueue, "callbacks"),
    LOST(lost_device_launches, launching.launch, "kernels"),
    LOST(lost_device_has_memory, core.memory_info, "a question for its memory"),
    NOTED("loss_ends_new_streams_of_others", "FLT-004", STATE, "no stream on any other device",
          PATCH(fault.fault_enqueue, losing_stream_is_kept),
          PATCH(stream.stream_create, loss_ends_new_streams_of_others)),
    NOTED("loss_drops_callbacks_of_others", "FLT-004", STATE, "OK, and they never run",
          PATCH(fault.fault_enqueue, losing_stream_is_kept),
          PATCH(callback.callback_enqueue, loss_drops_callbacks_of_others)),
    {0}};
