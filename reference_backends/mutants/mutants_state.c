/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_state.c: faults that show in one state of the device, on one kind of stream, or in what a
 * refused call leaves behind.
 */
#include <pthread.h>
#include <stdlib.h>

#include "calls.h"

enum { MB = 1 << 20 };

/* ------------------------------------------------------------------------------ refused calls -- */

COPY(copy_for_foreign_stream_is_made) {
  tbk_status_t status = COPY_INNER;
  if (status != TBK_INVALID || stream == NULL) return status;
  stream = NULL;
  (void)!COPY_INNER;
  return TBK_INVALID;
}
EVENT_CREATE(event_flags_of_16_bits) {
  flags &= 0xffff;
  return EVENT_CREATE_INNER;
}

/* ------------------------------------------------------------------------------------- states -- */

CLOSE(close_is_noted) {
  tbk_status_t status = CLOSE_INNER;
  if (status == TBK_OK) atomic_store(&wrap_of(self)->flag, 1);
  return status;
}
FILL(fill_on_reopened_is_0) {
  if (atomic_load(&wrap_of(self)->flag)) value = 0;
  return FILL_INNER;
}

OPEN(open_makes_pinned_stale) {
  tbk_status_t status = OPEN_INNER;
  if (status == TBK_OK && atomic_load(&wrap_of(self)->flag)) atomic_store(&wrap_of(self)->calls, 1);
  return status;
}
PINNED_ALLOC(pinned_is_kept) {
  tbk_status_t status = PINNED_ALLOC_INNER;
  if (status != TBK_OK) return status;
  atomic_store(&wrap_of(self)->kept, (uintptr_t)*out_pointer);
  atomic_store(&wrap_of(self)->calls, 0);
  atomic_store(&wrap_of(self)->flag, 0);
  return status;
}
PINNED_FREE(stale_pinned_free_aborts) {
  wrap_t* wrap = wrap_of(self);
  bool kept = atomic_load(&wrap->kept) == (uintptr_t)pointer;
  if (kept && pointer != NULL && atomic_load(&wrap->calls) != 0) abort();
  PINNED_FREE_INNER;
}

ALLOC(small_refusal_is_noted) {
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OUT_OF_MEMORY && size_bytes < MB) atomic_store(&wrap_of(self)->flag, 1);
  return status;
}
FILL(fill_after_exhaustion_drops_last) {
  if (atomic_load(&wrap_of(self)->flag)) size_bytes -= size_bytes > 0;
  return FILL_INNER;
}

FAULT(fault_is_noted) {
  tbk_status_t status = FAULT_INNER;
  if (stream != NULL) atomic_store(&wrap_of(self)->flag, kind + 1);
  return status;
}
FILL(fill_after_failure_is_lost) {
  bool failed = atomic_load(&wrap_of(self)->flag) == TBK_FAULT_WORK_FAILS + 1;
  return failed && stream != NULL ? TBK_OK : FILL_INNER;
}
RANDOM_BITS(random_beside_lost_draws_less) {
  if (atomic_load(&wrap_of(self)->flag) == TBK_FAULT_DEVICE_LOST + 1) count -= count > 0;
  return RANDOM_BITS_INNER;
}

static atomic_int forks;
static void note_fork(void) {
  atomic_fetch_add(&forks, 1);
}
OPEN(open_watches_forks) {
  static atomic_int watching;
  if (atomic_exchange(&watching, 1) == 0) pthread_atfork(NULL, note_fork, NULL);
  return OPEN_INNER;
}
DOWNLOAD(download_after_fork_drops_last) {
  if (atomic_load(&forks) > 0 && stream != NULL) size_bytes -= size_bytes > 0;
  return DOWNLOAD_INNER;
}

STREAM_CREATE(create_makes_device_current) {
  tbk_status_t status = STREAM_CREATE_INNER;
  if (status == TBK_OK) atomic_store(&wrap_of(self)->kept, (uintptr_t)device);
  return status;
}
DEVICE_SYNCHRONIZE(synchronizes_current_device) {
  device = (int32_t)atomic_load(&wrap_of(self)->kept);
  return DEVICE_SYNCHRONIZE_INNER;
}

/* ------------------------------------------------------------------------- kinds of streams ---- */

STREAM_CREATE(create_notes_greatest) {
  tbk_status_t status = STREAM_CREATE_INNER;
  if (status != TBK_OK) return status;
  stream_note_t* note = note_of_stream(wrap_of(self), *out_stream);
  note->device = device;
  note->greatest = priority < 0;
  return status;
}
static bool is_greatest(tbk_instance_t* self, tbk_stream_t* stream) {
  return stream != NULL && note_of_stream(wrap_of(self), stream)->greatest;
}
STREAM_QUERY(query_of_greatest_is_ok) {
  return is_greatest(self, stream) ? TBK_OK : STREAM_QUERY_INNER;
}
EVENT_WAIT(wait_of_greatest_is_left_out) {
  return is_greatest(self, stream) && event != NULL ? TBK_OK : EVENT_WAIT_INNER;
}
EVENT_RECORD(record_on_greatest_is_left_out) {
  return is_greatest(self, stream) && event != NULL ? TBK_OK : EVENT_RECORD_INNER;
}
STREAM_DESTROY(destroy_while_pending_is_noted) {
  bool pending =
      stream != NULL && INNER(self, stream)->stream_query(self, stream, NULL) == TBK_NOT_READY;
  if (pending) atomic_store(&wrap_of(self)->flag, 1);
  STREAM_DESTROY_INNER;
}
DEVICE_SYNCHRONIZE(synchronize_forgets_gone) {
  if (atomic_exchange(&wrap_of(self)->flag, 0) != 0) return TBK_OK;
  return DEVICE_SYNCHRONIZE_INNER;
}

/* -------------------------------------------------------------------------------------- rows --- */

#define ROW_OF(name, clause, operation, note, ...) \
  { #name, clause, MUTANT, operation, NARROW, note, {__VA_ARGS__ }, 0, 0, 0, 0 }
#define ROW_NOTED(name, clause, operation, note, ...) \
  { #name, clause, MUTANT, operation, NARROW, note, {__VA_ARGS__ }, 0, 0, notes_install, 0 }

extern const mutant_t mutants_state[];
const mutant_t mutants_state[] = {
    ROW(copy_for_foreign_stream_is_made, "ERR-001", STATE, NARROW, core.copy,
        "INVALID, and the bytes are there"),
    ROW(event_flags_of_16_bits, "ERR-001", RETURN, NARROW, event.event_create, "65536 is no flag"),
    ROW_OF(fill_on_reopened_is_0, "DEV-018", STATE, "on a device that was closed before",
           PATCH(core.device_close, close_is_noted), PATCH(core.fill, fill_on_reopened_is_0)),
    ROW_OF(stale_pinned_free_aborts, "TDN-006", STATE, "once the device is open again",
           PATCH(core.device_close, close_is_noted),
           PATCH(core.device_open, open_makes_pinned_stale),
           PATCH(pinned.pinned_alloc, pinned_is_kept),
           PATCH(pinned.pinned_free, stale_pinned_free_aborts)),
    ROW_OF(fill_after_exhaustion_drops_last, "MEM-009", STATE, "after a small one was refused",
           PATCH(core.memory_alloc, small_refusal_is_noted),
           PATCH(core.fill, fill_after_exhaustion_drops_last)),
    ROW_OF(fill_after_failure_is_lost, "FLT-002", STATE, "OK, no effect",
           PATCH(fault.fault_enqueue, fault_is_noted),
           PATCH(core.fill, fill_after_failure_is_lost)),
    ROW_OF(random_beside_lost_draws_less, "FLT-004", STATE, "one word less",
           PATCH(fault.fault_enqueue, fault_is_noted),
           PATCH(random.random_bits, random_beside_lost_draws_less)),
    ROW_OF(download_after_fork_drops_last, "FRK-004", STATE, "the last byte, on streams",
           PATCH(core.device_open, open_watches_forks),
           PATCH(core.download, download_after_fork_drops_last)),
    ROW_OF(synchronizes_current_device, "THR-006", STATE, "that of the latest stream",
           PATCH(stream.stream_create, create_makes_device_current),
           PATCH(stream.device_synchronize, synchronizes_current_device)),
    ROW_NOTED(query_of_greatest_is_ok, "STR-015", STATE, "streams of the greatest priority",
              PATCH(stream.stream_create, create_notes_greatest),
              PATCH(stream.stream_query, query_of_greatest_is_ok)),
    ROW_NOTED(wait_of_greatest_is_left_out, "EVT-018", STATE, "streams of the greatest priority",
              PATCH(stream.stream_create, create_notes_greatest),
              PATCH(event.event_wait, wait_of_greatest_is_left_out)),
    ROW_NOTED(record_on_greatest_is_left_out, "EVT-023", STATE, "streams of the greatest priority",
              PATCH(stream.stream_create, create_notes_greatest),
              PATCH(event.event_record, record_on_greatest_is_left_out)),
    ROW_OF(synchronize_forgets_gone, "STR-022", STATE, "once after a busy stream was destroyed",
           PATCH(stream.stream_destroy, destroy_while_pending_is_noted),
           PATCH(stream.device_synchronize, synchronize_forgets_gone)),
    {0}};
