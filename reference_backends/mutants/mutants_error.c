/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_error.c: how failures are told, and faults.
 */
#include <string.h>

#include "calls.h"

/* ERR-001: out parameters written on failure. */
#define WRITES(f, signature, inner, out, value)              \
  signature(f) {                                             \
    tbk_status_t status = inner;                             \
    if (status != TBK_OK && (out) != NULL) *(out) = (value); \
    return status;                                           \
  }
WRITES(alloc_writes_0, ALLOC, ALLOC_INNER, out_memory, 0)
WRITES(stream_create_writes_null, STREAM_CREATE, STREAM_CREATE_INNER, out_stream, NULL)
WRITES(event_create_writes_null, EVENT_CREATE, EVENT_CREATE_INNER, out_event, NULL)
WRITES(elapsed_writes_0, EVENT_ELAPSED, EVENT_ELAPSED_INNER, out_ms, 0.0)
WRITES(pinned_alloc_writes_null, PINNED_ALLOC, PINNED_ALLOC_INNER, out_pointer, NULL)
WRITES(async_alloc_writes_0, ASYNC_ALLOC, ASYNC_ALLOC_INNER, out_memory, 0)
WRITES(can_access_writes_0, CAN_ACCESS, CAN_ACCESS_INNER, out_can, 0)
WRITES(prepare_writes_0, PREPARE, PREPARE_INNER, out_workspace_bytes, 0)
WRITES(info_writes_0, MEMORY_INFO, MEMORY_INFO_INNER, out_free_bytes, 0)
PROPERTIES(properties_write_on_error) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status != TBK_OK && out_properties != NULL && out_properties->struct_size >= 16)
    out_properties->name = "nothing";
  return status;
}
/* After a failed allocation the device has less than before. */
enum { LEAK_BYTES = 1 << 26 };
ALLOC(failed_alloc_leaks) {
  tbk_status_t status = ALLOC_INNER;
  tbk_memory_t lost = 0;
  if (status == TBK_OUT_OF_MEMORY)
    ignore(INNER(self, core)->memory_alloc(self, device, LEAK_BYTES, &lost, NULL));
  return status;
}
static tbk_status_t refuse_entry(const tbk_host_t* host, const tbk_backend_t** out_backend,
                                 tbk_error_t* error) {
  tbk_status_t status = wrap_create(wrap_active_row(), host, out_backend, error);
  if (status != TBK_OK && out_backend != NULL) *out_backend = NULL;
  return status;
}

/* ERR-008: the reason. */
static tbk_status_t wordless_entry(const tbk_host_t* host, const tbk_backend_t** out_backend,
                                   tbk_error_t* error) {
  tbk_error_t unseen;
  return wrap_create(wrap_active_row(), host, out_backend, error == NULL ? NULL : &unseen);
}
static tbk_status_t endless_entry(const tbk_host_t* host, const tbk_backend_t** out_backend,
                                  tbk_error_t* error) {
  tbk_status_t status = wrap_create(wrap_active_row(), host, out_backend, error);
  if (status != TBK_OK && error != NULL) memset(error->message, 'e', sizeof error->message);
  return status;
}
static tbk_status_t entry_wants_error(const tbk_host_t* host, const tbk_backend_t** out_backend,
                                      tbk_error_t* error) {
  tbk_status_t status = wrap_create(wrap_active_row(), host, out_backend, error);
  if (status != TBK_OK) ((volatile tbk_error_t*)error)->message[255] = '\0';
  return status;
}
ALLOC(alloc_without_reason) {
  tbk_error_t unseen;
  if (error != NULL) error = &unseen;
  return ALLOC_INNER;
}
PROPERTIES(properties_without_end) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status != TBK_OK && error != NULL) memset(error->message, 'e', sizeof error->message);
  return status;
}
ALLOC(alloc_wants_error) {
  tbk_status_t status = ALLOC_INNER;
  if (status != TBK_OK) ((volatile tbk_error_t*)error)->message[255] = '\0';
  return status;
}

/* ERR-009 to 011: which status, and when there is a message. */
ALLOC(alloc_answers_99) {
  tbk_status_t status = ALLOC_INNER;
  return status == TBK_OUT_OF_MEMORY || status == TBK_INVALID ? 99 : status;
}
STREAM_QUERY(query_answers_minus_1) {
  return stream == NULL ? -1 : STREAM_QUERY_INNER;
}
PROPERTIES(properties_answer_no_name) {
  tbk_status_t status = PROPERTIES_INNER;
  return status == TBK_INVALID && device < 0 ? TBK_STATUS_COUNT : status;
}
UPLOAD(upload_wants_error) {
  return error == NULL ? TBK_INVALID : UPLOAD_INNER;
}
DOWNLOAD(download_without_error_is_lost) {
  return error == NULL ? TBK_OK : DOWNLOAD_INNER;
}
FREE(free_wants_error) {
  return error == NULL ? TBK_INVALID : FREE_INNER;
}
STREAM_CREATE(stream_create_wants_error) {
  return error == NULL ? TBK_INVALID : STREAM_CREATE_INNER;
}
ALLOC(alloc_clears_message) {
  if (error != NULL) error->message[0] = '\0';
  return ALLOC_INNER;
}
UPLOAD(upload_always_writes) {
  tbk_status_t status = UPLOAD_INNER;
  return status == TBK_OK ? wrap_fail(error, TBK_OK, "success") : status;
}
STREAM_SYNCHRONIZE(synchronize_always_writes) {
  tbk_status_t status = STREAM_SYNCHRONIZE_INNER;
  return status == TBK_OK ? wrap_fail(error, TBK_OK, "success") : status;
}

/* Faults. `flag`: what was enqueued last, plus one; `kept`: on which stream. */
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
EVENT_SYNCHRONIZE(event_synchronize_swallows) {
  tbk_status_t status = EVENT_SYNCHRONIZE_INNER;
  return faulty(status) ? TBK_OK : status;
}
EVENT_QUERY(event_query_swallows) {
  tbk_status_t status = EVENT_QUERY_INNER;
  return faulty(status) ? TBK_OK : status;
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

extern const mutant_t mutants_error[];
const mutant_t mutants_error[] = {
    ROW(alloc_writes_0, "ERR-001", STATE, BROAD, core.memory_alloc, "the handle is 0"),
    ROW(failed_alloc_leaks, "ERR-001", LIFETIME, NARROW, core.memory_alloc,
        "64 MiB are gone after OUT_OF_MEMORY"),
    ROW(stream_create_writes_null, "ERR-001", STATE, NARROW, stream.stream_create, "NULL"),
    ROW(event_create_writes_null, "ERR-001", STATE, NARROW, event.event_create, "NULL"),
    ROW(elapsed_writes_0, "ERR-001", STATE, NARROW, event.event_elapsed, "0"),
    ROW(pinned_alloc_writes_null, "ERR-001", STATE, NARROW, pinned.pinned_alloc, "NULL"),
    ROW(async_alloc_writes_0, "ERR-001", STATE, NARROW, async_memory.async_alloc, "0"),
    ROW(can_access_writes_0, "ERR-001", STATE, NARROW, peer.peer_can_access, "0"),
    ROW(prepare_writes_0, "ERR-001", STATE, NARROW, launching.prepare, "0 bytes of workspace"),
    ROW(info_writes_0, "ERR-001", STATE, NARROW, core.memory_info, "0 bytes free"),
    ROW(properties_write_on_error, "ERR-001", STATE, NARROW, core.device_properties, "a name"),
    ENTRY_ROW(refuse_entry, "ERR-001", STATE, NARROW, "NULL where the entry refuses"),
    ENTRY_ROW(wordless_entry, "ERR-008", ERROR, BROAD, "the entry gives no reason"),
    ENTRY_ROW(endless_entry, "ERR-008", ERROR, NARROW, "the entry's reason has no end"),
    ENTRY_ROW(entry_wants_error, "ERR-008", ERROR, NARROW, "crashes where error is NULL"),
    ROW(alloc_without_reason, "ERR-008", ERROR, NARROW, core.memory_alloc, "no reason"),
    ROW(properties_without_end, "ERR-008", ERROR, NARROW, core.device_properties, "no NUL"),
    ROW(alloc_wants_error, "ERR-008", ERROR, NARROW, core.memory_alloc, "crashes without error"),
    FAULTY("free_of_lost_device_fails", "ERR-003", RETURN, BROAD, "DEVICE_LOST",
           PATCH(core.memory_free, free_of_lost_device_fails)),
    FAULTY("async_free_of_lost_device_fails", "ERR-003", RETURN, NARROW, "DEVICE_LOST",
           PATCH(async_memory.async_free, async_free_of_lost_device_fails)),
    FAULTY("query_not_ready_for_ever", "ERR-004", STATE, BROAD, "NOT_READY after a fault",
           PATCH(stream.stream_query, query_not_ready_for_ever)),
    FAULTY("event_query_not_ready_for_ever", "ERR-004", STATE, NARROW, "NOT_READY after a fault",
           PATCH(event.event_query, event_query_not_ready_for_ever)),
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
    FAULTY("synchronize_returns_early_on_error", "ERR-006", ORDER, BROAD, "work still running",
           PATCH(stream.stream_synchronize, synchronize_returns_early_on_error)),
    FAULTY("device_synchronize_returns_early_on_error", "ERR-006", ORDER, NARROW,
           "work still running",
           PATCH(stream.device_synchronize, device_synchronize_returns_early_on_error)),
    FAULTY("event_synchronize_returns_early_on_error", "ERR-006", ORDER, NARROW,
           "work still running",
           PATCH(event.event_synchronize, event_synchronize_returns_early_on_error)),
    {"event_errors_are_swallowed",
     "ERR-007",
     MUTANT,
     ERROR,
     BROAD,
     "neither the event nor a later synchronize tells",
     {PATCH(event.event_synchronize, event_synchronize_swallows),
      PATCH(stream.stream_synchronize, synchronize_swallows),
      PATCH(stream.device_synchronize, device_synchronize_swallows)},
     0,
     0,
     0,
     0},
    ROW(fault_accepts_null, "FLT-001", RETURN, BROAD, fault.fault_enqueue, "OK for NULL"),
    ROW(fault_accepts_any_kind, "FLT-001", RETURN, BROAD, fault.fault_enqueue, "OK for any kind"),
    ROW(fault_accepts_negative_kind, "FLT-001", RETURN, NARROW, fault.fault_enqueue, "OK for -1"),
    ROW(fault_is_lost, "FLT-002", ERROR, BROAD, fault.fault_enqueue, "nothing is reported"),
    ROW(failure_loses_device, "FLT-002", STATE, BROAD, fault.fault_enqueue, "loses the device"),
    ROW(loss_is_a_failure, "FLT-003", STATE, BROAD, fault.fault_enqueue, "the device lives on"),
    ROW(lost_device_allocates, "FLT-003", RETURN, NARROW, core.memory_alloc, "OK on a lost device"),
    ROW(lost_device_downloads, "FLT-003", RETURN, NARROW, core.download, "OK on a lost device"),
    ROW(lost_device_fails_to_create, "FLT-003", RETURN, NARROW, stream.stream_create,
        "FAILED on a lost device"),
    FAULTY("loss_spreads", "FLT-004", STATE, BROAD, "device 1 is lost with device 0",
           PATCH(core.upload, loss_spreads)),
    FAULTY("loss_spreads_to_streams", "FLT-004", STATE, NARROW,
           "device 1 makes no streams any more",
           PATCH(stream.stream_create, loss_spreads_to_streams)),
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
    ROW(alloc_answers_99, "ERR-009", RETURN, BROAD, core.memory_alloc, "99 instead"),
    ROW(query_answers_minus_1, "ERR-009", RETURN, NARROW, stream.stream_query, "-1 for NULL"),
    ROW(properties_answer_no_name, "ERR-009", RETURN, NARROW, core.device_properties,
        "the first number without a name, for device -1"),
    ROW(upload_wants_error, "ERR-010", RETURN, BROAD, core.upload, "INVALID without a place"),
    ROW(download_without_error_is_lost, "ERR-010", STATE, NARROW, core.download,
        "no effect without a place"),
    ROW(stream_create_wants_error, "ERR-010", RETURN, NARROW, stream.stream_create,
        "INVALID without a place"),
    ROW(free_wants_error, "ERR-010", RETURN, NARROW, core.memory_free, "INVALID without a place"),
    ROW(upload_always_writes, "ERR-011", ERROR, BROAD, core.upload, "a message of success"),
    ROW(alloc_clears_message, "ERR-011", ERROR, NARROW, core.memory_alloc,
        "begins with clearing it"),
    ROW(synchronize_always_writes, "ERR-011", ERROR, NARROW, stream.stream_synchronize,
        "a message of success"),
    {0}};
