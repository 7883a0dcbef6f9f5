/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_fault.c: work that fails, lost devices, and how they are told of.
 */
#include "calls.h"

/* `flag`: what was enqueued last, plus one; `kept`: on which stream. */
FAULT(fault_noted) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = FAULT_INNER;
  if (status == TBK_OK) {
    atomic_store(&wrap->kept, (uintptr_t)stream);
    atomic_store(&wrap->flag, kind + 1);
  }
  return status;
}
static bool lost(tbk_instance_t* self) {
  return atomic_load(&wrap_of(self)->flag) == TBK_FAULT_DEVICE_LOST + 1;
}
FREE(free_of_lost_device_fails) {
  if (memory != 0 && device == 0 && lost(self)) return wrap_fail(error, TBK_DEVICE_LOST, "lost");
  return FREE_INNER;
}
ASYNC_FREE(async_free_of_lost_device_fails) {
  if (memory != 0 && lost(self)) return wrap_fail(error, TBK_DEVICE_LOST, "lost");
  return ASYNC_FREE_INNER;
}
/* The books of a lost device are closed with the first block: the others are not known. */
FREE(second_free_of_lost_device_is_invalid) {
  if (memory != 0 && device == 0 && lost(self) && atomic_fetch_add(&wrap_of(self)->calls, 1) > 0)
    return wrap_fail(error, TBK_INVALID, "no such block");
  return FREE_INNER;
}
static bool faulty(tbk_status_t status) {
  return status == TBK_FAILED || status == TBK_DEVICE_LOST;
}
STREAM_QUERY(query_not_ready_for_ever) {
  tbk_status_t status = STREAM_QUERY_INNER;
  if (atomic_load(&wrap_of(self)->kept) == (uintptr_t)stream && stream != NULL)
    status = TBK_NOT_READY;
  return status;
}
EVENT_QUERY(event_query_not_ready_for_ever) {
  tbk_status_t status = EVENT_QUERY_INNER;
  if (atomic_load(&wrap_of(self)->flag) != 0 && event != NULL &&
      note_of_event(wrap_of(self), event)->recorded_on ==
          (tbk_stream_t*)atomic_load(&wrap_of(self)->kept))
    status = TBK_NOT_READY;
  return status;
}
STREAM_QUERY(query_of_lost_device_is_complete) {
  tbk_status_t status = STREAM_QUERY_INNER;
  return status == TBK_DEVICE_LOST ? TBK_OK : status;
}
STREAM_SYNCHRONIZE(synchronize_swallows) {
  tbk_status_t status = STREAM_SYNCHRONIZE_INNER;
  return faulty(status) ? TBK_OK : status;
}
STREAM_QUERY(query_swallows) {
  tbk_status_t status = STREAM_QUERY_INNER;
  return faulty(status) ? TBK_OK : status;
}
DEVICE_SYNCHRONIZE(device_synchronize_swallows) {
  tbk_status_t status = DEVICE_SYNCHRONIZE_INNER;
  return faulty(status) ? TBK_OK : status;
}
/* What failed is the stream's, and gone with it. */
STREAM_DESTROY(destroy_takes_error) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL && atomic_load(&wrap->kept) == (uintptr_t)stream)
    atomic_store(&wrap->value, 1);
  STREAM_DESTROY_INNER;
}
DEVICE_SYNCHRONIZE(device_synchronize_after_destroy_swallows) {
  tbk_status_t status = DEVICE_SYNCHRONIZE_INNER;
  const bool gone = atomic_exchange(&wrap_of(self)->value, 0) != 0;
  return gone && status == TBK_FAILED ? TBK_OK : status;
}
EVENT_SYNCHRONIZE(event_synchronize_swallows) {
  tbk_status_t status = EVENT_SYNCHRONIZE_INNER;
  return faulty(status) ? TBK_OK : status;
}
EVENT_QUERY(event_query_swallows) {
  tbk_status_t status = EVENT_QUERY_INNER;
  return faulty(status) ? TBK_OK : status;
}
/* `value`: the stream whose error went to an event, which tells nobody. */
EVENT_SYNCHRONIZE(event_synchronize_takes_error) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = EVENT_SYNCHRONIZE_INNER;
  if (event != NULL && atomic_load(&wrap->flag) != 0)
    atomic_store(&wrap->value, (uintptr_t)note_of_event(wrap, event)->recorded_on);
  return status == TBK_FAILED ? TBK_OK : status;
}
EVENT_SYNCHRONIZE(event_synchronize_takes_later_errors) {
  wrap_t* wrap = wrap_of(self);
  if (atomic_load(&wrap->flag) == 0 || atomic_fetch_add(&wrap->calls, 1) == 0)
    return EVENT_SYNCHRONIZE_INNER;
  return event_synchronize_takes_error(self, event, error);
}
STREAM_SYNCHRONIZE(synchronize_has_told) {
  tbk_status_t status = STREAM_SYNCHRONIZE_INNER;
  uint64_t taken = (uintptr_t)stream;
  if (status == TBK_FAILED && atomic_compare_exchange_strong(&wrap_of(self)->value, &taken, 0))
    status = TBK_OK;
  return status;
}
/* An error that is kept for ever has been told before. */
static tbk_status_t tell_once(tbk_instance_t* self, tbk_status_t status) {
  return faulty(status) && atomic_fetch_add(&wrap_of(self)->calls, 1) > 0 ? TBK_OK : status;
}
STREAM_SYNCHRONIZE(synchronize_tells_once) {
  return tell_once(self, STREAM_SYNCHRONIZE_INNER);
}
EVENT_SYNCHRONIZE(event_synchronize_tells_once) {
  return tell_once(self, EVENT_SYNCHRONIZE_INNER);
}
/* As soon as a fault is on its way, waiting ends at once. */
STREAM_SYNCHRONIZE(synchronize_returns_early_on_error) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL && atomic_load(&wrap->kept) == (uintptr_t)stream)
    return wrap_fail(error, TBK_FAILED, "work failed");
  return STREAM_SYNCHRONIZE_INNER;
}
DEVICE_SYNCHRONIZE(device_synchronize_returns_early_on_error) {
  if (atomic_load(&wrap_of(self)->flag) != 0 && device == 0)
    return wrap_fail(error, TBK_FAILED, "work failed");
  return DEVICE_SYNCHRONIZE_INNER;
}
EVENT_SYNCHRONIZE(event_synchronize_returns_early_on_error) {
  if (atomic_load(&wrap_of(self)->flag) != 0 && event != NULL)
    return wrap_fail(error, TBK_FAILED, "work failed");
  return EVENT_SYNCHRONIZE_INNER;
}

FAULT(fault_accepts_null) {
  return stream == NULL ? TBK_OK : FAULT_INNER;
}
FAULT(fault_accepts_any_kind) {
  if (stream != NULL && kind != TBK_FAULT_WORK_FAILS && kind != TBK_FAULT_DEVICE_LOST)
    return TBK_OK;
  return FAULT_INNER;
}
FAULT(fault_accepts_negative_kind) {
  return stream != NULL && kind < 0 ? TBK_OK : FAULT_INNER;
}
FAULT(fault_is_lost) {
  return stream != NULL && kind == TBK_FAULT_WORK_FAILS ? TBK_OK : FAULT_INNER;
}
/* A piece of work that failed loses the device. */
FAULT(failure_loses_device) {
  if (kind == TBK_FAULT_WORK_FAILS) kind = TBK_FAULT_DEVICE_LOST;
  return FAULT_INNER;
}
FAULT(third_failure_loses_device) {
  if (kind == TBK_FAULT_WORK_FAILS && wrap_every(wrap_of(self), 3)) kind = TBK_FAULT_DEVICE_LOST;
  return FAULT_INNER;
}
/* Told as it is enqueued; then the device goes. */
FAULT(failure_is_told_and_loses_device) {
  if (stream == NULL || kind != TBK_FAULT_WORK_FAILS) return FAULT_INNER;
  kind = TBK_FAULT_DEVICE_LOST;
  const tbk_status_t status = FAULT_INNER;
  return status == TBK_OK ? wrap_fail(error, TBK_FAILED, "work failed") : status;
}
FAULT(loss_is_a_failure) {
  if (kind == TBK_FAULT_DEVICE_LOST) kind = TBK_FAULT_WORK_FAILS;
  return FAULT_INNER;
}
ALLOC(lost_device_allocates) {
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_DEVICE_LOST && out_memory != NULL) {
    *out_memory = 4096;
    status = TBK_OK;
  }
  return status;
}
DOWNLOAD(lost_device_downloads) {
  tbk_status_t status = DOWNLOAD_INNER;
  return status == TBK_DEVICE_LOST ? TBK_OK : status;
}
RANDOM_BITS(no_words_of_a_lost_device_succeed) {
  return count == 0 && device == 0 && lost(self) ? TBK_OK : RANDOM_BITS_INNER;
}
STREAM_CREATE(lost_device_fails_to_create) {
  tbk_status_t status = STREAM_CREATE_INNER;
  return status == TBK_DEVICE_LOST ? TBK_FAILED : status;
}
UPLOAD(loss_spreads) {
  if (device == 1 && lost(self)) return wrap_fail(error, TBK_DEVICE_LOST, "the bus is down");
  return UPLOAD_INNER;
}
STREAM_CREATE(loss_spreads_to_streams) {
  if (device == 1 && lost(self)) return wrap_fail(error, TBK_FAILED, "the bus is down");
  return STREAM_CREATE_INNER;
}
/* One place for the latest error, whichever device it is of. */
DEVICE_SYNCHRONIZE(failure_spreads_to_synchronize) {
  if (device == 1 && atomic_load(&wrap_of(self)->flag) == TBK_FAULT_WORK_FAILS + 1)
    return wrap_fail(error, TBK_FAILED, "work failed");
  return DEVICE_SYNCHRONIZE_INNER;
}
/* A fault that overtakes what is before it, by way of another stream. */
FAULT(fault_overtakes) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL) stream = side_stream(wrap, note_of_stream(wrap, stream)->device);
  tbk_status_t status = FAULT_INNER;
  if (status == TBK_OK && stream != NULL)
    ignore(wrap->inner->stream->stream_synchronize(self, stream, NULL));
  return status;
}
FAULT(loss_overtakes) {
  return kind == TBK_FAULT_DEVICE_LOST ? fault_overtakes(self, stream, kind, error) : FAULT_INNER;
}
/* What was enqueued before a fault is lost with it. */
COPY(copy_kept_for_fault) {
  if (stream != NULL) atomic_store(&wrap_of(self)->kept, (uintptr_t)destination);
  return COPY_INNER;
}
FAULT(fault_undoes_copy) {
  wrap_t* wrap = wrap_of(self);
  if (stream == NULL) return FAULT_INNER;
  const tbk_memory_t memory = atomic_load(&wrap->kept);
  if (memory != 0)
    ignore(wrap->inner->core->fill(self, note_of_stream(wrap, stream)->device, memory, 0, 0, 8,
                                   stream, NULL));
  return FAULT_INNER;
}

OPEN(open_beside_a_lost_device_is_lost) {
  if (device == 1 && lost(self)) return wrap_fail(error, TBK_DEVICE_LOST, "lost");
  return OPEN_INNER;
}
#define FAULTY(name, clause, operation, narrow, note, ...)                             \
  {                                                                                    \
    name, clause, MUTANT, operation, narrow, note,                                     \
        {__VA_ARGS__, PATCH(fault.fault_enqueue, fault_noted)}, 0, 0, notes_install, 0 \
  }
#define NOTED(function, clause, operation, narrow, member, note) \
  {                                                              \
#function, clause, MUTANT, operation, narrow, note,          \
        {PATCH(member, function) }, 0, 0, notes_install, 0       \
  }

extern const mutant_t mutants_fault[];
const mutant_t mutants_fault[] = {
    FAULTY("free_of_lost_device_fails", "ERR-003", RETURN, BROAD, "DEVICE_LOST",
           PATCH(core.memory_free, free_of_lost_device_fails)),
    FAULTY("async_free_of_lost_device_fails", "ERR-003", RETURN, NARROW, "DEVICE_LOST",
           PATCH(async_memory.async_free, async_free_of_lost_device_fails)),
    FAULTY("second_free_of_lost_device_is_invalid", "ERR-003", COUNT, NARROW,
           "INVALID from the second block on",
           PATCH(core.memory_free, second_free_of_lost_device_is_invalid)),
    FAULTY("query_not_ready_for_ever", "ERR-004", STATE, BROAD, "NOT_READY after a fault",
           PATCH(stream.stream_query, query_not_ready_for_ever)),
    FAULTY("event_query_not_ready_for_ever", "ERR-004", STATE, NARROW, "NOT_READY after a fault",
           PATCH(event.event_query, event_query_not_ready_for_ever)),
    ROW(query_of_lost_device_is_complete, "ERR-004", STATE, NARROW, stream.stream_query,
        "OK of a lost device"),
    {"errors_are_swallowed",
     "ERR-005",
     MUTANT,
     ERROR,
     BROAD,
     "neither query nor synchronize tells",
     {PATCH(stream.stream_synchronize, synchronize_swallows),
      PATCH(stream.stream_query, query_swallows),
      PATCH(stream.device_synchronize, device_synchronize_swallows),
      PATCH(event.event_synchronize, event_synchronize_swallows),
      PATCH(event.event_query, event_query_swallows)},
     0,
     0,
     0,
     0},
    ROW(synchronize_swallows, "ERR-005", ERROR, BROAD, stream.stream_synchronize, "OK"),
    ROW(device_synchronize_swallows, "ERR-005", ERROR, NARROW, stream.device_synchronize, "OK"),
    FAULTY("failure_goes_with_its_stream", "ERR-005", LIFETIME, NARROW,
           "destroyed before anybody asks", PATCH(stream.stream_destroy, destroy_takes_error),
           PATCH(stream.device_synchronize, device_synchronize_after_destroy_swallows)),
    FAULTY("synchronize_returns_early_on_error", "ERR-006", ORDER, BROAD, "work still running",
           PATCH(stream.stream_synchronize, synchronize_returns_early_on_error)),
    FAULTY("device_synchronize_returns_early_on_error", "ERR-006", ORDER, NARROW,
           "work still running",
           PATCH(stream.device_synchronize, device_synchronize_returns_early_on_error)),
    FAULTY("event_synchronize_returns_early_on_error", "ERR-006", ORDER, NARROW,
           "work still running",
           PATCH(event.event_synchronize, event_synchronize_returns_early_on_error)),
    FAULTY("event_synchronize_takes_error", "ERR-007", ERROR, BROAD,
           "the event's error is nobody's any more",
           PATCH(event.event_synchronize, event_synchronize_takes_error),
           PATCH(stream.stream_synchronize, synchronize_has_told)),
    FAULTY("event_synchronize_takes_later_errors", "ERR-007", COUNT, NARROW,
           "from the second one on it is nobody's",
           PATCH(event.event_synchronize, event_synchronize_takes_later_errors),
           PATCH(stream.stream_synchronize, synchronize_has_told)),
    {"errors_are_told_once",
     "ERR-007",
     MUTANT,
     COUNT,
     NARROW,
     "the first error is told, and no other",
     {PATCH(event.event_synchronize, event_synchronize_tells_once),
      PATCH(stream.stream_synchronize, synchronize_tells_once)},
     0,
     0,
     0,
     0},
    ROW(fault_accepts_null, "FLT-001", RETURN, BROAD, fault.fault_enqueue, "OK for NULL"),
    ROW(fault_accepts_any_kind, "FLT-001", RETURN, BROAD, fault.fault_enqueue, "OK for any kind"),
    ROW(fault_accepts_negative_kind, "FLT-001", RETURN, NARROW, fault.fault_enqueue, "OK for -1"),
    ROW(fault_is_lost, "FLT-002", ERROR, BROAD, fault.fault_enqueue, "nothing is reported"),
    ROW(failure_loses_device, "FLT-002", STATE, BROAD, fault.fault_enqueue, "loses the device"),
    ROW(third_failure_loses_device, "FLT-002", COUNT, NARROW, fault.fault_enqueue,
        "every third loses the device"),
    ROW(failure_is_told_and_loses_device, "FLT-002", STATE, NARROW, fault.fault_enqueue,
        "FAILED at once, and then the device is lost"),
    ROW(loss_is_a_failure, "FLT-003", STATE, BROAD, fault.fault_enqueue, "the device lives on"),
    ROW(lost_device_allocates, "FLT-003", RETURN, NARROW, core.memory_alloc, "OK on a lost device"),
    ROW(lost_device_downloads, "FLT-003", RETURN, NARROW, core.download, "OK on a lost device"),
    FAULTY("no_words_of_a_lost_device_succeed", "FLT-003", STATE, NARROW,
           "as nothing is to be done",
           PATCH(random.random_bits, no_words_of_a_lost_device_succeed)),
    ROW(lost_device_fails_to_create, "FLT-003", RETURN, NARROW, stream.stream_create,
        "FAILED on a lost device"),
    FAULTY("open_beside_a_lost_device_is_lost", "FLT-004", STATE, NARROW,
           "device 1 cannot be opened any more",
           PATCH(core.device_open, open_beside_a_lost_device_is_lost)),
    FAULTY("loss_spreads", "FLT-004", STATE, BROAD, "device 1 is lost with device 0",
           PATCH(core.upload, loss_spreads)),
    FAULTY("loss_spreads_to_streams", "FLT-004", STATE, NARROW,
           "device 1 makes no streams any more",
           PATCH(stream.stream_create, loss_spreads_to_streams)),
    FAULTY("failure_spreads_to_synchronize", "FLT-004", ERROR, NARROW,
           "device 1 tells of the failure of device 0",
           PATCH(stream.device_synchronize, failure_spreads_to_synchronize)),
    NOTED(fault_overtakes, "FLT-005", ORDER, BROAD, fault.fault_enqueue, "comes at once"),
    NOTED(loss_overtakes, "FLT-005", ORDER, NARROW, fault.fault_enqueue, "a loss comes at once"),
    {"fault_undoes_copy",
     "FLT-005",
     MUTANT,
     ORDER,
     NARROW,
     "spoils what was copied before it",
     {PATCH(fault.fault_enqueue, fault_undoes_copy), PATCH(core.copy, copy_kept_for_fault)},
     0,
     0,
     notes_install,
     0},
    {0}};
