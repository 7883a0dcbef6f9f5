/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_error.c: what failing calls write and answer.
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
