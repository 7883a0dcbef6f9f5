/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * broad_again.c: what fails in every use, once more, written after the order of causes had been mended by the
 * faults of the other files of this name.
 */
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "generic_copy.h"
#include "narrow.h"
#include "rewrite.h"

#define BASIC(name, clause, operation, note, install, ...) \
  { name, clause, MUTANT, operation, BROAD, note, {__VA_ARGS__}, 0, 0, install, 0 }
#define OF_KERNEL(function, clause, operation, op, note) \
  KERNEL_ROW(function, clause, operation, BROAD, op, launch, note)

DOWNLOAD(downloads_begin_at_0) {
  offset = 0;
  return DOWNLOAD_INNER;
}

FILL(fills_are_half) {
  if (size_bytes >= 32) size_bytes = size_bytes / 32 * 16;
  return FILL_INNER;
}

COPY(copies_need_two_allocations) {
  if (size_bytes != 0 && destination == source)
    return wrap_fail(error, TBK_INVALID, "source and destination are one allocation");
  return COPY_INNER;
}

/* Whole bursts are written. */
UPLOAD(uploads_write_16_more) {
  const tbk_status_t status = UPLOAD_INNER;
  if (status == TBK_OK && size_bytes != 0)
    ignore(
        INNER(self, core)->fill(self, device, memory, offset + size_bytes, 0x77, 16, stream, NULL));
  return status;
}

/* As if it were enqueued on all streams. */
COPY(copies_wait_for_the_device) {
  if (stream == NULL && size_bytes != 0)
    ignore(INNER(self, stream)->device_synchronize(self, device, NULL));
  return COPY_INNER;
}

STREAM_QUERY(busy_is_failed) {
  const tbk_status_t status = STREAM_QUERY_INNER;
  return status == TBK_NOT_READY ? wrap_fail(error, TBK_FAILED, "the stream is busy") : status;
}

DEVICE_SYNCHRONIZE(device_0_is_synchronised) {
  const tbk_status_t status = INNER(self, stream)->device_synchronize(self, 0, error);
  return device == 0 ? status : TBK_OK;
}

EVENT_RECORD(records_go_to_a_hidden_stream) {
  if (event == NULL || stream == NULL) return EVENT_RECORD_INNER;
  event_note_t* note = note_of_event(wrap_of(self), event);
  note->recorded_on = stream;
  if (note_of_stream(wrap_of(self), stream)->device == note->device)
    stream = side_stream(wrap_of(self), note->device);
  return EVENT_RECORD_INNER;
}

/* The two are changed for each other. */
EVENT_WAIT(waits_hold_the_recorded_stream) {
  tbk_stream_t* on = event == NULL ? NULL : note_of_event(wrap_of(self), event)->recorded_on;
  if (stream != NULL && on != NULL) stream = on;
  return EVENT_WAIT_INNER;
}

EVENT_RECORD(events_cannot_be_recorded_again) {
  event_note_t* note = event == NULL ? NULL : note_of_event(wrap_of(self), event);
  if (note != NULL && stream != NULL && note->records > 0)
    return wrap_fail(error, TBK_INVALID_STATE, "the event was recorded");
  const tbk_status_t status = EVENT_RECORD_INNER;
  if (status == TBK_OK && note != NULL) note->records++;
  return status;
}

EVENT_DESTROY(event_destroy_waits) {
  if (event != NULL) ignore(INNER(self, event)->event_synchronize(self, event, NULL));
  EVENT_DESTROY_INNER;
}

CALLBACK(one_callback_a_stream) {
  if (stream == NULL || function == NULL) return CALLBACK_INNER;
  stream_note_t* note = note_of_stream(wrap_of(self), stream);
  return note->count++ == 0 ? CALLBACK_INNER : TBK_OK;
}

PINNED_ALLOC(pinned_is_noted) {
  const tbk_status_t status = PINNED_ALLOC_INNER;
  if (status == TBK_OK) {
    atomic_store(&wrap_of(self)->kept, (uintptr_t)*out_pointer);
    atomic_store(&wrap_of(self)->value, size_bytes);
  }
  return status;
}
static bool is_pinned(tbk_instance_t* self, const void* pointer) {
  const uint64_t first = atomic_load(&wrap_of(self)->kept);
  return first != 0 && (uintptr_t)pointer - first < atomic_load(&wrap_of(self)->value);
}
UPLOAD(uploads_refuse_pinned) {
  if (is_pinned(self, source)) return wrap_fail(error, TBK_INVALID, "not pageable memory");
  return UPLOAD_INNER;
}
DOWNLOAD(downloads_refuse_pinned) {
  if (is_pinned(self, destination)) return wrap_fail(error, TBK_INVALID, "not pageable memory");
  return DOWNLOAD_INNER;
}

PEER_COPY(peer_copies_go_to_0) {
  destination_offset = 0;
  return PEER_COPY_INNER;
}

PEER_COPY(peer_copies_are_not_queued) {
  stream = NULL;
  return PEER_COPY_INNER;
}

ASYNC_ALLOC(async_alloc_needs_an_idle_stream) {
  if (out_memory != NULL && stream_pending(self, stream))
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "the stream is busy");
  return ASYNC_ALLOC_INNER;
}

LAUNCH(where_is_turned) {
  arguments_copy_t copy;
  if (!arguments_copy(&copy, KERNEL_NAME, arguments)) return LAUNCH_INNER;
  const tbk_tensor_t* taken = copy.as.where.self;
  copy.as.where.self = copy.as.where.other;
  copy.as.where.other = taken;
  arguments = &copy.as;
  return LAUNCH_INNER;
}

LAUNCH(kernels_of_device_0_only) {
  if (device > 0) return wrap_fail(error, TBK_UNSUPPORTED, "no code for this device");
  return LAUNCH_INNER;
}

LAUNCH(launches_run_twice) {
  const tbk_status_t status = LAUNCH_INNER;
  return status == TBK_OK ? LAUNCH_INNER : status;
}

static uint32_t le_for_lt(rewrite_t* to, const tbk_instruction_t* instruction,
                          const uint32_t* operands, uint64_t context) {
  tbk_instruction_t other = *instruction;
  if (other.opcode == TBK_OPCODE_LT) other.opcode = TBK_OPCODE_LE;
  return rewrite_keep(to, &other, operands);
}
LAUNCH(less_is_less_or_equal) {
  static _Thread_local rewrite_t to;
  const tbk_args_pointwise_t* given = pointwise_arguments(arguments);
  if (given == NULL) return LAUNCH_INNER;
  tbk_args_pointwise_t changed = *given;
  changed.program = rewrite_program(&to, given->program, le_for_lt, 0);
  arguments = &changed;
  return LAUNCH_INNER;
}

static void zero_numbers(generic_copy_t* c) {
  for (size_t s = 0; s < c->set_count; ++s)
    memset(c->numbers[s], 0, sizeof c->numbers[s]);
}
LAUNCH(numbers_are_zero) {
  GENERIC_CHANGED(zero_numbers(c));
}

LAUNCH(index_writes_add) {
  GENERIC_CHANGED(if (c->as.index.mode == TBK_INDEX_WRITE) c->as.index.mode = TBK_INDEX_ADD);
}

LAUNCH(products_without_c) {
  GENERIC_CHANGED(c->as.matmul.c = NULL);
}

static void step_by_one(generic_copy_t* c) {
  for (size_t d = 0; d < TBK_CONVOLUTION_MOST_SPATIAL; ++d)
    c->stride[d] = 1;
}
LAUNCH(convolutions_step_by_one) {
  GENERIC_CHANGED(step_by_one(c));
}

RANDOM_BITS(random_has_one_seed) {
  if (generator == NULL || generator->offset % 4 != 0) return RANDOM_BITS_INNER;
  const tbk_generator_t one = {1, generator->offset};
  generator = &one;
  return RANDOM_BITS_INNER;
}

FREE(lost_memory_cannot_be_freed) {
  const tbk_status_t state = INNER(self, stream)->device_synchronize(self, device, error);
  return state == TBK_DEVICE_LOST ? state : FREE_INNER;
}

STREAM_SYNCHRONIZE(failure_is_for_ever) {
  const tbk_status_t status = STREAM_SYNCHRONIZE_INNER;
  if (status == TBK_FAILED) atomic_store(&wrap_of(self)->flag, 1);
  if (atomic_load(&wrap_of(self)->flag) && status == TBK_OK)
    return wrap_fail(error, TBK_FAILED, "work failed");
  return status;
}

extern const mutant_t mutants_broad_again[];
const mutant_t mutants_broad_again[] = {
    BASIC("downloads_begin_at_0", "CPY-009", VALUE, "their offset is not read", 0,
          PATCH(core.download, downloads_begin_at_0)),
    BASIC("fills_are_half", "CPY-018", EXTENT, "from 32 bytes on", 0,
          PATCH(core.fill, fills_are_half)),
    BASIC("copies_need_two_allocations", "CPY-016", RETURN, "else they are refused", 0,
          PATCH(core.copy, copies_need_two_allocations)),
    BASIC("uploads_write_16_more", "CPY-004", EXTENT, "behind the range", 0,
          PATCH(core.upload, uploads_write_16_more)),
    BASIC("copies_wait_for_the_device", "CPY-006", ORDER, "without a stream", 0,
          PATCH(core.copy, copies_wait_for_the_device)),
    BASIC("busy_is_failed", "STR-016", RETURN, "FAILED where NOT_READY is due", 0,
          PATCH(stream.stream_query, busy_is_failed)),
    BASIC("device_0_is_synchronised", "STR-022", ORDER, "whichever is named", 0,
          PATCH(stream.device_synchronize, device_0_is_synchronised)),
    BASIC("records_go_to_a_hidden_stream", "EVT-012", ORDER, "with nothing on it", notes_install,
          PATCH(event.event_record, records_go_to_a_hidden_stream)),
    BASIC("waits_hold_the_recorded_stream", "EVT-018", ORDER, "and not the one that is to wait",
          notes_install, PATCH(event.event_wait, waits_hold_the_recorded_stream)),
    BASIC("events_cannot_be_recorded_again", "EVT-014", RETURN, "they are refused", notes_install,
          PATCH(event.event_record, events_cannot_be_recorded_again)),
    BASIC("event_destroy_waits", "EVT-009", ORDER, "for what it recorded", 0,
          PATCH(event.event_destroy, event_destroy_waits)),
    BASIC("one_callback_a_stream", "CBK-002", COUNT, "others are dropped", notes_install,
          PATCH(callback.callback_enqueue, one_callback_a_stream)),
    BASIC("copies_refuse_pinned", "PIN-004", RETURN, "memory that was made last", 0,
          PATCH(pinned.pinned_alloc, pinned_is_noted), PATCH(core.upload, uploads_refuse_pinned),
          PATCH(core.download, downloads_refuse_pinned)),
    BASIC("peer_copies_go_to_0", "PER-006", VALUE, "the destination's offset is not read", 0,
          PATCH(peer.peer_copy, peer_copies_go_to_0)),
    BASIC("peer_copies_are_not_queued", "STR-001", ORDER, "done in the call", 0,
          PATCH(peer.peer_copy, peer_copies_are_not_queued)),
    BASIC("async_alloc_needs_an_idle_stream", "SOM-002", STATE, "else there is no memory", 0,
          PATCH(async_memory.async_alloc, async_alloc_needs_an_idle_stream)),
    OF_KERNEL(where_is_turned, "KRN-106", VALUE, "where.self", "self and other change places"),
    BASIC("kernels_of_device_0_only", "KRN-023", RETURN, "all are refused elsewhere", 0,
          PATCH(launching.launch, kernels_of_device_0_only)),
    BASIC("launches_run_twice", "KRN-006", COUNT, "which an output in place shows", 0,
          PATCH(launching.launch, launches_run_twice)),
    OF_KERNEL(less_is_less_or_equal, "PRG-002", VALUE, "tbk::pointwise", "LT is LE"),
    OF_KERNEL(numbers_are_zero, "PRG-002", VALUE, "tbk::pointwise", "NUMBER gives 0"),
    OF_KERNEL(index_writes_add, "PRG-023", VALUE, "tbk::index", "WRITE is ADD"),
    OF_KERNEL(products_without_c, "PRG-039", VALUE, "tbk::matmul", "it is not read"),
    OF_KERNEL(convolutions_step_by_one, "PRG-046", VALUE, "tbk::convolution",
              "whatever the stride"),
    BASIC("random_has_one_seed", "RNG-004", VALUE, "it is not read", 0,
          PATCH(random.random_bits, random_has_one_seed)),
    BASIC("lost_memory_cannot_be_freed", "ERR-003", LIFETIME, "DEVICE_LOST is answered", 0,
          PATCH(core.memory_free, lost_memory_cannot_be_freed)),
    BASIC("failure_is_for_ever", "FLT-002", STATE, "each later wait fails", 0,
          PATCH(stream.stream_synchronize, failure_is_for_ever)),
    {0}};
