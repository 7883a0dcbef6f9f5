/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_dimension.c: faults that show at some values of one dimension alone: a size, an offset,
 * the hundredth call, the four hundredth that is pending, a thread, a state, a duration.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arguments.h"
#include "calls.h"
#include "generic_copy.h"

enum { KB = 1024, MB = 1024 * KB, BEHIND = 400, GIVES_UP_MS = 200, CACHED = 4096 };

/* ------------------------------------------------------------------------------- transfers ---- */

UPLOAD(upload_stops_after_16m) {
  if (size_bytes > 16 * MB) size_bytes = 16 * MB;
  return UPLOAD_INNER;
}
/* A field of 16 bits. */
FILL(fill_offset_wraps_at_64k) {
  if (size_bytes < 64) offset &= 64 * KB - 1;
  return FILL_INNER;
}
COPY(copy_every_100th_is_lost) {
  if (wrap_every(wrap_of(self), 100)) return TBK_OK;
  return COPY_INNER;
}
/* A ring of so many entries, which nobody asks whether it is full. */
UPLOAD(upload_is_lost_behind_400) {
  if (stream != NULL && atomic_fetch_add(&wrap_of(self)->calls, 1) >= BEHIND) return TBK_OK;
  return UPLOAD_INNER;
}
STREAM_SYNCHRONIZE(synchronize_empties_the_ring) {
  atomic_store(&wrap_of(self)->calls, 0);
  return STREAM_SYNCHRONIZE_INNER;
}
FILL(fill_off_main_thread_drops_last) {
  if (syscall(SYS_gettid) != getpid()) size_bytes -= size_bytes > 0;
  return FILL_INNER;
}
ALLOC(alloc_notes_out_of_memory) {
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OUT_OF_MEMORY) atomic_store(&wrap_of(self)->flag, 1);
  return status;
}
/* The staging buffer was given up to satisfy the allocation. */
COPY(copy_after_out_of_memory_drops_last) {
  if (atomic_load(&wrap_of(self)->flag)) size_bytes -= size_bytes > 0;
  return COPY_INNER;
}
UPLOAD(upload_without_error_is_lost) {
  return error == NULL ? TBK_OK : UPLOAD_INNER;
}
DOWNLOAD(download_to_odd_address_drops_last) {
  if (((uintptr_t)destination & 3) != 0 && size_bytes > 64) size_bytes -= 1;
  return DOWNLOAD_INNER;
}
STREAM_CREATE(create_keeps_prioritised) {
  tbk_status_t status = STREAM_CREATE_INNER;
  if (status == TBK_OK && priority < 0) atomic_store(&wrap_of(self)->kept, (uintptr_t)*out_stream);
  return status;
}
COPY(copy_on_prioritised_stream_drops_last) {
  bool prioritised = stream != NULL && atomic_load(&wrap_of(self)->kept) == (uintptr_t)stream;
  if (prioritised) size_bytes -= size_bytes > 0;
  return COPY_INNER;
}

/* --------------------------------------------------------------------------------- kernels ---- */

/* The output is cleared to be added to, and is read as an operand afterwards. */
LAUNCH(mm_clears_second_input) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments)) {
    const tbk_tensor_t* out = arguments_output(&copy);
    if (out->memory == copy.tensors[1].memory && tensor_contiguous(out))
      tensor_clear(self, device, out, stream);
  }
  return LAUNCH_INNER;
}
LAUNCH(add_takes_alpha_for_a_double) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments) && copy.as.add.alpha.kind == TBK_SCALAR_INT) {
    copy.as.add.alpha.integer = (int64_t)(double)copy.as.add.alpha.integer;
    arguments = &copy.as;
  }
  return LAUNCH_INNER;
}
/* Strides are kept without their sign. */
LAUNCH(mul_forgets_sign_of_strides) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments)) {
    for (int i = 0; i < copy.count - 1; i++)
      for (int32_t k = 0; k < copy.tensors[i].rank; k++)
        copy.strides[i][k] = llabs(copy.strides[i][k]);
    arguments = &copy.as;
  }
  return LAUNCH_INNER;
}

/* ----------------------------------------------------------------------------------- order ---- */

EVENT_WAIT(wait_every_100th_is_left_out) {
  if (wrap_every(wrap_of(self), 100)) return TBK_OK;
  return EVENT_WAIT_INNER;
}
/* A semaphore with a time limit, whose answer is not looked at. */
EVENT_SYNCHRONIZE(synchronize_gives_up_after_200ms) {
  for (int ms = 0; ms < GIVES_UP_MS && event != NULL; ms++) {
    if (INNER(self, event)->event_query(self, event, NULL) != TBK_NOT_READY)
      return EVENT_SYNCHRONIZE_INNER;
    wrap_sleep_ms(1);
  }
  return event != NULL ? TBK_OK : EVENT_SYNCHRONIZE_INNER;
}
COPY(copy_beyond_1000_in_a_row_is_lost) {
  if (stream != NULL && atomic_fetch_add(&wrap_of(self)->calls, 1) >= 1000) return TBK_OK;
  return COPY_INNER;
}
CALLBACK(callback_every_256th_twice) {
  if (function != NULL && wrap_every(wrap_of(self), 256)) ignore(CALLBACK_INNER);
  return CALLBACK_INNER;
}

/* As where the upper bits hold what kind of entry it is. */
CALLBACK(callback_argument_of_48_bits) {
  argument = (void*)((uintptr_t)argument & UINT64_C(0xFFFFFFFFFFFF));
  return CALLBACK_INNER;
}
/* The event names its stream, in which there is nothing to find any more. */
STREAM_DESTROY(destroy_takes_its_events_along) {
  wrap_t* wrap = wrap_of(self);
  for (size_t i = 0; stream != NULL && i < WRAP_EVENTS; ++i)
    if (wrap->events[i].recorded_on == stream) wrap->events[i].recorder_is_gone = true;
  STREAM_DESTROY_INNER;
}
EVENT_RECORD(record_has_a_stream) {
  tbk_status_t status = EVENT_RECORD_INNER;
  if (status != TBK_OK) return status;
  event_note_t* note = note_of_event(wrap_of(self), event);
  note->recorded_on = stream;
  note->recorder_is_gone = false;
  return status;
}
EVENT_WAIT(wait_crossing_from_a_destroyed_stream_does_nothing) {
  wrap_t* wrap = wrap_of(self);
  if (stream == NULL || event == NULL) return EVENT_WAIT_INNER;
  const event_note_t* note = note_of_event(wrap, event);
  const bool crosses = note->device != note_of_stream(wrap, stream)->device;
  return crosses && note->recorder_is_gone ? TBK_OK : EVENT_WAIT_INNER;
}
EVENT_WAIT(wait_for_a_destroyed_stream_does_nothing) {
  wrap_t* wrap = wrap_of(self);
  if (stream == NULL || event == NULL) return EVENT_WAIT_INNER;
  return note_of_event(wrap, event)->recorder_is_gone ? TBK_OK : EVENT_WAIT_INNER;
}

/* ---------------------------------------------------------------------------------- memory ---- */

/* What was counted before the attempt is not taken back after it. */
ALLOC(alloc_refused_is_accounted) {
  tbk_memory_t lost = 0;
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OUT_OF_MEMORY)
    ignore(INNER(self, core)->memory_alloc(self, device, 16 * MB, &lost, NULL));
  return status;
}
/* The reference's own function frees whatever came from the device, and at once. */
ASYNC_FREE(async_free_does_not_wait) {
  const stream_note_t* note = stream != NULL ? note_of_stream(wrap_of(self), stream) : NULL;
  if (note == NULL || memory == 0) return ASYNC_FREE_INNER;
  return INNER(self, core)->memory_free(self, note->device, memory, error);
}

/* A cache of small blocks in front of the allocator, and no lock around it. */
static struct {
  tbk_memory_t blocks[CACHED];
  volatile int count;
  unsigned char small[1 << 16];
} cache;

static unsigned char* is_small(tbk_memory_t memory) {
  return &cache.small[memory >> 6 & 0xffff];
}

ALLOC(alloc_from_cache_without_lock) {
  if (size_bytes == 0 || size_bytes > CACHED || out_memory == NULL || device != 0)
    return ALLOC_INNER;
  int count = cache.count;
  if (count > 0) {
    tbk_memory_t memory = cache.blocks[count - 1];
    sched_yield();
    cache.count = count - 1;
    *out_memory = memory;
    return TBK_OK;
  }
  size_bytes = CACHED;
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK) *is_small(*out_memory) = 1;
  return status;
}
FREE(free_into_cache_without_lock) {
  int count = cache.count;
  if (memory == 0 || device != 0 || count >= CACHED || !*is_small(memory)) return FREE_INNER;
  cache.blocks[count] = memory;
  sched_yield();
  cache.count = count + 1;
  return TBK_OK;
}

/* ------------------------------------------------------------------- calls, and the time ------ */

/* From what the host remembers. */
MEMORY_INFO(memory_info_of_lost_device) {
  tbk_status_t status = MEMORY_INFO_INNER;
  if (status != TBK_DEVICE_LOST) return status;
  *out_free_bytes = *out_total_bytes = MB;
  return TBK_OK;
}
EVENT_ELAPSED(elapsed_in_ticks) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status == TBK_OK) *out_ms *= 19.2;
  return status;
}

EVENT_ELAPSED(elapsed_saturates) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status == TBK_OK && *out_ms > 2.0) *out_ms = 2.0;
  return status;
}
EVENT_ELAPSED(elapsed_is_a_constant) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status == TBK_OK) *out_ms = 0.5;
  return status;
}

/* ------------------------------------------------------------------- far, long, and by name ---- */

DOWNLOAD(download_beyond_17m_is_off) {
  if (offset > (UINT64_C(17) << 20) && size_bytes > 0) offset -= UINT64_C(1) << 20;
  return DOWNLOAD_INNER;
}
EVENT_ELAPSED(elapsed_is_negative_from_1s_on) {
  tbk_status_t status = EVENT_ELAPSED_INNER;
  if (status == TBK_OK && *out_ms >= 1000) *out_ms = -*out_ms;
  return status;
}
KERNEL_FIND(find_version_of_8_bits) {
  version &= 0xFF;
  return wrap_kernel_find(self, device, name, version);
}
LAUNCH(mul_strides_of_16_bits) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments)) {
    for (int i = 0; i < copy.count - 1; i++)
      for (int32_t k = 0; k < copy.tensors[i].rank; k++)
        copy.strides[i][k] = (int16_t)copy.strides[i][k];
    arguments = &copy.as;
  }
  return LAUNCH_INNER;
}
/* As of a sum that is split into pieces of 65536. */
static void leave_last_product_out(generic_copy_t* c) {
  generic_view_t *a = &c->views[MATMUL_A], *b = &c->views[MATMUL_B];
  const int32_t last = generic_last(a);
  if (a->sizes[last] <= 65536) return;
  a->sizes[last]--;
  b->sizes[last - 1]--;
}
LAUNCH(last_of_many_products_is_left_out) {
  GENERIC_CHANGED(leave_last_product_out(c));
}

#define ROW_OF(name, clause, operation, note, ...) \
  { #name, clause, MUTANT, operation, NARROW, note, {__VA_ARGS__ }, 0, 0, 0, 0 }

#define OF_DESTROYED(function, clause, note)                                                \
  {                                                                                         \
#function, clause, MUTANT, LIFETIME, NARROW, note,                                      \
        {PATCH(event.event_wait, function), PATCH(event.event_record, record_has_a_stream), \
         PATCH(stream.stream_destroy, destroy_takes_its_events_along) },                    \
         0, 0, notes_install, 0                                                             \
  }

extern const mutant_t mutants_dimension[];
const mutant_t mutants_dimension[] = {
    ROW(upload_stops_after_16m, "CPY-004", EXTENT, NARROW, core.upload, "16 MiB at most"),
    ROW(fill_offset_wraps_at_64k, "CPY-018", VALUE, NARROW, core.fill, "offsets from 64 KiB on"),
    ROW(copy_every_100th_is_lost, "CPY-015", COUNT, NARROW, core.copy, "each hundredth"),
    ROW_OF(upload_is_lost_behind_400, "CPY-004", COUNT, "behind 400 others",
           PATCH(core.upload, upload_is_lost_behind_400),
           PATCH(stream.stream_synchronize, synchronize_empties_the_ring)),
    ROW(fill_off_main_thread_drops_last, "CPY-018", THREAD, NARROW, core.fill, "the last byte"),
    ROW_OF(copy_after_out_of_memory_drops_last, "CPY-015", STATE, "the last byte",
           PATCH(core.memory_alloc, alloc_notes_out_of_memory),
           PATCH(core.copy, copy_after_out_of_memory_drops_last)),
    ROW(upload_without_error_is_lost, "CPY-004", STATE, NARROW, core.upload, "OK, no effect"),
    ROW(download_to_odd_address_drops_last, "CPY-009", EXTENT, NARROW, core.download,
        "the last byte"),
    ROW_OF(copy_on_prioritised_stream_drops_last, "CPY-015", EXTENT, "the last byte",
           PATCH(stream.stream_create, create_keeps_prioritised),
           PATCH(core.copy, copy_on_prioritised_stream_drops_last)),
    KERNEL_ROW(mm_clears_second_input, "KRN-108", VALUE, NARROW, "mm", launch,
               "where that is the output"),
    KERNEL_ROW(add_takes_alpha_for_a_double, "KRN-104", VALUE, NARROW, "add.Tensor", launch,
               "alpha beyond 2^53"),
    KERNEL_ROW(mul_forgets_sign_of_strides, "KRN-105", VALUE, NARROW, "mul.Tensor", launch,
               "negative strides"),
    ROW(wait_every_100th_is_left_out, "EVT-018", COUNT, NARROW, event.event_wait, "OK, no effect"),
    ROW(synchronize_gives_up_after_200ms, "EVT-026", ORDER, NARROW, event.event_synchronize,
        "OK after 200 ms"),
    ROW(copy_beyond_1000_in_a_row_is_lost, "STR-001", COUNT, NARROW, core.copy,
        "after the first 1000 on streams"),
    ROW(callback_every_256th_twice, "CBK-002", COUNT, NARROW, callback.callback_enqueue,
        "runs twice"),
    ROW(alloc_refused_is_accounted, "MEM-009", STATE, NARROW, core.memory_alloc,
        "16 MiB less after each refusal"),
    {"async_free_does_not_wait",
     "SOM-005",
     MUTANT,
     LIFETIME,
     NARROW,
     "free at once",
     {PATCH(async_memory.async_free, async_free_does_not_wait)},
     0,
     0,
     notes_install,
     0},
    ROW_OF(alloc_from_cache_without_lock, "THR-001", THREAD, "one block for two threads",
           PATCH(core.memory_alloc, alloc_from_cache_without_lock),
           PATCH(core.memory_free, free_into_cache_without_lock)),
    ROW(memory_info_of_lost_device, "FLT-003", RETURN, NARROW, core.memory_info, "OK"),
    ROW(elapsed_in_ticks, "EVT-032", VALUE, BROAD, event.event_elapsed, "ticks of 19.2 MHz"),
    ROW(elapsed_saturates, "EVT-032", VALUE, NARROW, event.event_elapsed, "2 ms at most"),
    ROW(download_beyond_17m_is_off, "CPY-009", EXTENT, NARROW, core.download, "1 MiB before it"),
    ROW(elapsed_is_negative_from_1s_on, "EVT-029", VALUE, NARROW, event.event_elapsed,
        "from 1000 ms on"),
    ROW(find_version_of_8_bits, "KRN-020", RETURN, NARROW, kernel.kernel_find, "257 is 1"),
    KERNEL_ROW(mul_strides_of_16_bits, "KRN-105", VALUE, NARROW, "mul.Tensor", launch,
               "strides from 32768 on"),
    KERNEL_ROW(last_of_many_products_is_left_out, "PRG-034", EXTENT, NARROW, TBK_NAME_matmul,
               launch, "above 65536"),
    ROW(elapsed_is_a_constant, "EVT-032", VALUE, BROAD, event.event_elapsed, "half a ms"),
    ROW(callback_argument_of_48_bits, "CBK-002", VALUE, NARROW, callback.callback_enqueue,
        "the upper bits of its argument are 0"),
    OF_DESTROYED(wait_for_a_destroyed_stream_does_nothing, "EVT-018",
                 "no edge where the stream that recorded is gone"),
    OF_DESTROYED(wait_crossing_from_a_destroyed_stream_does_nothing, "EVT-021",
                 "no edge where the stream that recorded, on another device, is gone"),
    {0}};
