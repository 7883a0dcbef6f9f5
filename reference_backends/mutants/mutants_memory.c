/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_memory.c: allocating and freeing.
 */
#include <stdlib.h>

#include "calls.h"

enum { LARGE = 1 << 20, MIDDLE = 4096 };

ALLOC(alloc_accepts_null) {
  return out_memory == NULL ? TBK_OK : ALLOC_INNER;
}
ALLOC(alloc_null_is_failure) {
  return out_memory == NULL ? TBK_FAILED : ALLOC_INNER;
}
ALLOC(alloc_nothing_accepts_null) {
  return out_memory == NULL && size_bytes == 0 ? TBK_OK : ALLOC_INNER;
}

#define ALLOC_GIVES_0(f, condition)                             \
  ALLOC(f) {                                                    \
    if (out_memory == NULL || !(condition)) return ALLOC_INNER; \
    *out_memory = 0;                                            \
    return TBK_OK;                                              \
  }
ALLOC_GIVES_0(large_handle_is_0, size_bytes >= LARGE && size_bytes < 16 * LARGE)
ALLOC_GIVES_0(one_byte_handle_is_0, size_bytes == 1)
ALLOC_GIVES_0(fifth_handle_is_0, size_bytes > 0 && wrap_every(wrap_of(self), 5))

/* Handles 8 bytes behind the block; free knows how to undo it. */
#define ALLOC_SHIFTED(f, condition)                                                       \
  ALLOC(f) {                                                                              \
    const bool shift = (condition) && size_bytes > 0 && size_bytes < (UINT64_C(1) << 40); \
    if (shift) size_bytes += 8;                                                           \
    tbk_status_t status = ALLOC_INNER;                                                    \
    if (shift && status == TBK_OK) *out_memory += 8;                                      \
    return status;                                                                        \
  }
ALLOC_SHIFTED(alloc_misaligned, true)
ALLOC_SHIFTED(alloc_odd_misaligned, size_bytes % 2 == 1)
ALLOC_SHIFTED(alloc_second_misaligned, wrap_every(wrap_of(self), 2))
FREE(free_shifted) {
  if (memory % 16 == 8) memory -= 8;
  return FREE_INNER;
}

/* `value` counts the live ones, on all devices. */
static tbk_status_t alloc_up_to(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                                tbk_memory_t* out_memory, tbk_error_t* error, uint64_t most) {
  wrap_t* wrap = wrap_of(self);
  if (out_memory != NULL && atomic_load(&wrap->value) >= most)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no more allocations");
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK && *out_memory != 0) atomic_fetch_add(&wrap->value, 1);
  return status;
}
ALLOC(alloc_up_to_sixteen) {
  return alloc_up_to(self, device, size_bytes, out_memory, error, 16);
}
ALLOC(alloc_up_to_31) {
  return alloc_up_to(self, device, size_bytes, out_memory, error, 31);
}
ALLOC(alloc_up_to_24_on_second_device) {
  return device == 1 ? alloc_up_to(self, device, size_bytes, out_memory, error, 24) : ALLOC_INNER;
}
FREE(free_counted_on_second_device) {
  if (memory != 0 && device == 1) atomic_fetch_sub(&wrap_of(self)->value, 1);
  return FREE_INNER;
}
FREE(free_counted) {
  if (memory != 0) atomic_fetch_sub(&wrap_of(self)->value, 1);
  return FREE_INNER;
}

/* As a driver's own status for a size beyond its limit would come through. */
ALLOC(alloc_beyond_limit_is_invalid) {
  if (out_memory != NULL && size_bytes > UINT64_C(16) << 20 && size_bytes < UINT64_C(256) << 20)
    return wrap_fail(error, TBK_INVALID, "more than one allocation may have");
  return ALLOC_INNER;
}

ALLOC(alloc_nothing_is_invalid) {
  if (size_bytes == 0 && out_memory) return wrap_fail(error, TBK_INVALID, "nothing to allocate");
  return ALLOC_INNER;
}
ALLOC(alloc_nothing_is_exhausted) {
  if (size_bytes == 0 && out_memory) return wrap_fail(error, TBK_OUT_OF_MEMORY, "nothing there");
  return ALLOC_INNER;
}
enum { BOGUS = 0x7ff0 };
ALLOC(alloc_nothing_is_bogus) {
  if (size_bytes != 0 || out_memory == NULL) return ALLOC_INNER;
  *out_memory = BOGUS;
  return TBK_OK;
}
FREE(free_refuses_bogus) {
  if (memory == BOGUS) return wrap_fail(error, TBK_INVALID, "that is no allocation");
  return FREE_INNER;
}

/* Gives a live block a second time. `kept` is the block, `value` its size, `flag` its owners. */
static tbk_status_t alloc_again(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                                tbk_memory_t* out_memory, tbk_error_t* error, bool again) {
  wrap_t* wrap = wrap_of(self);
  if (again && device == 0 && size_bytes > 0 && size_bytes <= atomic_load(&wrap->value) &&
      atomic_load(&wrap->kept) != 0) {
    atomic_fetch_add(&wrap->flag, 1);
    *out_memory = atomic_load(&wrap->kept);
    return TBK_OK;
  }
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK && device == 0 && size_bytes > 0) {
    atomic_store(&wrap->kept, (uintptr_t)*out_memory);
    atomic_store(&wrap->value, size_bytes);
    atomic_store(&wrap->flag, 0);
  }
  return status;
}
ALLOC(alloc_twice_the_same) {
  const bool again = out_memory != NULL && wrap_every(wrap_of(self), 2);
  return alloc_again(self, device, size_bytes, out_memory, error, again);
}
ALLOC(alloc_seventh_the_same) {
  const bool again = out_memory != NULL && wrap_every(wrap_of(self), 7);
  return alloc_again(self, device, size_bytes, out_memory, error, again);
}
FREE(free_shared) {
  wrap_t* wrap = wrap_of(self);
  if (memory != 0 && memory == atomic_load(&wrap->kept)) {
    if (atomic_fetch_sub(&wrap->flag, 1) > 0) return TBK_OK;
    atomic_store(&wrap->kept, 0);
  }
  return FREE_INNER;
}
/* Seen where the size is one above a multiple of the alignment: the last byte is the neighbour's. */
ALLOC(alloc_one_byte_short) {
  if (size_bytes > 1 && size_bytes < (UINT64_C(1) << 40)) size_bytes -= 1;
  return ALLOC_INNER;
}

DOWNLOAD(last_byte_reads_0) {
  tbk_status_t status = DOWNLOAD_INNER;
  if (status == TBK_OK && size_bytes > 1 && stream == NULL)
    ((unsigned char*)destination)[size_bytes - 1] = 0;
  return status;
}
static void lose_byte_at(uint64_t place, void* destination, uint64_t offset, uint64_t size_bytes) {
  if (offset <= place && offset + size_bytes > place)
    ((unsigned char*)destination)[place - offset] = 0;
}
DOWNLOAD(page_boundary_reads_0) {
  tbk_status_t status = DOWNLOAD_INNER;
  if (status == TBK_OK && stream == NULL) lose_byte_at(MIDDLE, destination, offset, size_bytes);
  return status;
}
DOWNLOAD(byte_behind_a_mib_reads_0) {
  tbk_status_t status = DOWNLOAD_INNER;
  if (status == TBK_OK && stream == NULL) lose_byte_at(LARGE, destination, offset, size_bytes);
  return status;
}

ALLOC(alloc_is_kept) {
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK && size_bytes > 0) {
    wrap_t* wrap = wrap_of(self);
    atomic_store(&wrap->kept, (uintptr_t)*out_memory);
    atomic_store(&wrap->value, size_bytes);
    atomic_store(&wrap->flag, device);
  }
  return status;
}
UPLOAD(first_upload_on_stream_refused) {
  uintptr_t fresh = (uintptr_t)memory;
  if (stream != NULL && memory != 0 &&
      atomic_compare_exchange_strong(&wrap_of(self)->kept, &fresh, 0))
    return wrap_fail(error, TBK_INVALID, "the allocation has not reached this stream");
  return UPLOAD_INNER;
}
UPLOAD(first_upload_on_stream_lost) {
  uintptr_t fresh = (uintptr_t)memory;
  if (stream != NULL && memory != 0 &&
      atomic_compare_exchange_strong(&wrap_of(self)->kept, &fresh, 0))
    return TBK_OK;
  return UPLOAD_INNER;
}
/* The allocator clears its latest block when somebody waits for a stream the next time. */
STREAM_SYNCHRONIZE(synchronize_clears_fresh_memory) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = STREAM_SYNCHRONIZE_INNER;
  const tbk_memory_t memory = atomic_exchange(&wrap->kept, 0);
  if (memory != 0)
    ignore(wrap->inner->core->fill(self, atomic_load(&wrap->flag), memory, 0, 0,
                                   atomic_load(&wrap->value), NULL, NULL));
  return status;
}

ALLOC(exhausted_is_failure) {
  tbk_status_t status = ALLOC_INNER;
  return status == TBK_OUT_OF_MEMORY ? TBK_FAILED : status;
}
ALLOC(exhausted_is_invalid_for_huge) {
  tbk_status_t status = ALLOC_INNER;
  return status == TBK_OUT_OF_MEMORY && size_bytes >> 48 != 0 ? TBK_INVALID : status;
}
ALLOC(size_wraps_at_32_bits) {
  if (size_bytes >> 32 != 0) size_bytes &= UINT32_MAX;
  return ALLOC_INNER;
}
ALLOC(size_rounds_up_to_nothing) {
  if (size_bytes > UINT64_MAX - 63) size_bytes = (size_bytes + 63) & ~UINT64_C(63);
  return ALLOC_INNER;
}

FREE(free_leaks) {
  return TBK_OK;
}
FREE(free_leaks_every_fourth) {
  return memory != 0 && wrap_every(wrap_of(self), 4) ? TBK_OK : FREE_INNER;
}
FREE(free_leaks_large) {
  wrap_t* wrap = wrap_of(self);
  if (memory != 0 && memory == atomic_load(&wrap->kept) && atomic_load(&wrap->value) >= LARGE)
    return TBK_OK;
  return FREE_INNER;
}

/* Spoils the block that was allocated last, if it is not the one that is freed. */
static tbk_status_t free_spoils(tbk_instance_t* self, int32_t device, tbk_memory_t memory,
                                tbk_error_t* error, uint64_t offset, uint64_t size_bytes) {
  wrap_t* wrap = wrap_of(self);
  const tbk_memory_t other = atomic_load(&wrap->kept);
  if (memory != 0 && other != 0 && other != memory && device == atomic_load(&wrap->flag))
    ignore(wrap->inner->core->fill(self, device, other, offset, 0x3c, size_bytes, NULL, NULL));
  if (memory == other) atomic_store(&wrap->kept, 0);
  return FREE_INNER;
}
FREE(free_spoils_neighbour) {
  return free_spoils(self, device, memory, error, 0, atomic_load(&wrap_of(self)->value));
}
FREE(free_spoils_last_byte) {
  const uint64_t size_bytes = atomic_load(&wrap_of(self)->value);
  return free_spoils(self, device, memory, error, size_bytes - 1, 1);
}
FREE(third_free_spoils_first_byte) {
  if (!wrap_every(wrap_of(self), 3)) return FREE_INNER;
  return free_spoils(self, device, memory, error, 0, 1);
}

FREE(free_0_is_invalid) {
  return memory == 0 ? wrap_fail(error, TBK_INVALID, "0 is no memory") : FREE_INNER;
}
FREE(free_0_again_is_invalid) {
  if (memory == 0 && wrap_every(wrap_of(self), 2))
    return wrap_fail(error, TBK_INVALID, "0 was freed before");
  return FREE_INNER;
}
FREE(free_0_spoils_latest) {
  wrap_t* wrap = wrap_of(self);
  if (memory == 0 && atomic_load(&wrap->kept) != 0)
    ignore(wrap->inner->core->fill(self, device, atomic_load(&wrap->kept), 0, 0,
                                   atomic_load(&wrap->value), NULL, NULL));
  return FREE_INNER;
}

/* Freeing memory of a closed device answers INVALID_STATE, or worse. */
FREE(free_after_close_is_refused) {
  if (memory != 0 && device >= 0 && device < WRAP_DEVICES && wrap_of(self)->opened[device] < 0)
    return wrap_fail(error, TBK_INVALID_STATE, "the device is closed");
  return FREE_INNER;
}
CLOSE(close_is_noted) {
  tbk_status_t status = CLOSE_INNER;
  if (device >= 0 && device < WRAP_DEVICES) wrap_of(self)->opened[device] = -1;
  return status;
}
OPEN(open_is_noted) {
  tbk_status_t status = OPEN_INNER;
  if (status == TBK_OK && device >= 0 && device < WRAP_DEVICES) wrap_of(self)->opened[device] = 1;
  return status;
}
/* Here the wrap's own marks say which device is closed: a stream carries no device. */
static bool any_closed(wrap_t* wrap) {
  for (int i = 0; i < WRAP_DEVICES; ++i) {
    if (wrap->opened[i] < 0) return true;
  }
  return false;
}
STREAM_DESTROY(stream_destroy_after_close_crashes) {
  if (stream != NULL && any_closed(wrap_of(self))) abort();
  STREAM_DESTROY_INNER;
}
EVENT_DESTROY(event_destroy_after_close_crashes) {
  if (event != NULL && any_closed(wrap_of(self))) abort();
  EVENT_DESTROY_INNER;
}

#define AFTER_CLOSE(name, operation, narrow, note, ...)         \
  {                                                             \
    name, "TDN-006", MUTANT, operation, narrow, note,           \
        {__VA_ARGS__, PATCH(core.device_close, close_is_noted), \
         PATCH(core.device_open, open_is_noted)},               \
        0, 0, 0, 0                                              \
  }
/* `...` are the patches; most of these also keep the block that was allocated last. */
#define MEMORY(name, clause, operation, narrow, note, ...) \
  { name, clause, MUTANT, operation, narrow, note, {__VA_ARGS__}, 0, 0, 0, 0 }

extern const mutant_t mutants_memory[];
const mutant_t mutants_memory[] = {
    ROW(alloc_accepts_null, "MEM-001", RETURN, BROAD, core.memory_alloc, "OK for NULL"),
    ROW(alloc_null_is_failure, "MEM-001", RETURN, BROAD, core.memory_alloc, "FAILED for NULL"),
    ROW(alloc_nothing_accepts_null, "MEM-001", RETURN, NARROW, core.memory_alloc,
        "OK for NULL and size 0"),
    ROW(large_handle_is_0, "MEM-002", VALUE, NARROW, core.memory_alloc, "0 for a MiB and more"),
    ROW(one_byte_handle_is_0, "MEM-002", VALUE, NARROW, core.memory_alloc, "0 for one byte"),
    ROW(fifth_handle_is_0, "MEM-002", COUNT, NARROW, core.memory_alloc, "0 at every fifth call"),
    MEMORY("alloc_misaligned", "MEM-003", VALUE, BROAD, "8 bytes off",
           PATCH(core.memory_alloc, alloc_misaligned), PATCH(core.memory_free, free_shifted)),
    MEMORY("alloc_odd_misaligned", "MEM-003", VALUE, NARROW, "8 bytes off where the size is odd",
           PATCH(core.memory_alloc, alloc_odd_misaligned), PATCH(core.memory_free, free_shifted)),
    MEMORY("alloc_second_misaligned", "MEM-003", COUNT, NARROW, "8 bytes off at every second call",
           PATCH(core.memory_alloc, alloc_second_misaligned),
           PATCH(core.memory_free, free_shifted)),
    ROW(alloc_nothing_is_invalid, "MEM-004", RETURN, BROAD, core.memory_alloc, "INVALID"),
    ROW(alloc_nothing_is_exhausted, "MEM-004", RETURN, BROAD, core.memory_alloc, "OUT_OF_MEMORY"),
    MEMORY("alloc_nothing_is_bogus", "MEM-004", LIFETIME, NARROW, "a handle that free refuses",
           PATCH(core.memory_alloc, alloc_nothing_is_bogus),
           PATCH(core.memory_free, free_refuses_bogus)),
    MEMORY("alloc_twice_the_same", "MEM-005", LIFETIME, BROAD, "a live block at every second call",
           PATCH(core.memory_alloc, alloc_twice_the_same), PATCH(core.memory_free, free_shared)),
    MEMORY("alloc_seventh_the_same", "MEM-005", LIFETIME, NARROW, "at every seventh call",
           PATCH(core.memory_alloc, alloc_seventh_the_same), PATCH(core.memory_free, free_shared)),
    ROW(alloc_one_byte_short, "MEM-005", EXTENT, NARROW, core.memory_alloc,
        "the last byte belongs to the neighbour"),
    ROW(last_byte_reads_0, "MEM-006", EXTENT, BROAD, core.download, "the last byte is not kept"),
    ROW(byte_behind_a_mib_reads_0, "MEM-006", EXTENT, NARROW, core.download, "is not kept"),
    ROW(page_boundary_reads_0, "MEM-006", EXTENT, NARROW, core.download, "byte 4096 is not kept"),
    MEMORY("first_upload_on_stream_refused", "MEM-007", STATE, BROAD,
           "fresh memory is not known to streams", PATCH(core.memory_alloc, alloc_is_kept),
           PATCH(core.upload, first_upload_on_stream_refused)),
    MEMORY("first_upload_on_stream_lost", "MEM-007", STATE, BROAD,
           "the first upload to fresh memory on a stream is lost",
           PATCH(core.memory_alloc, alloc_is_kept),
           PATCH(core.upload, first_upload_on_stream_lost)),
    MEMORY("synchronize_clears_fresh_memory", "MEM-007", ORDER, NARROW,
           "cleared at the next synchronize", PATCH(core.memory_alloc, alloc_is_kept),
           PATCH(stream.stream_synchronize, synchronize_clears_fresh_memory)),
    ROW(exhausted_is_failure, "MEM-009", ERROR, BROAD, core.memory_alloc, "FAILED instead"),
    ROW(exhausted_is_invalid_for_huge, "MEM-009", ERROR, NARROW, core.memory_alloc,
        "INVALID above 2^48"),
    ROW(size_wraps_at_32_bits, "MEM-009", EXTENT, NARROW, core.memory_alloc,
        "the size is taken modulo 2^32"),
    ROW(size_rounds_up_to_nothing, "MEM-009", EXTENT, NARROW, core.memory_alloc,
        "2^64 - 1 is rounded up to 0"),
    {"alloc_beyond_limit_is_invalid",
     "MEM-009",
     MUTANT,
     ERROR,
     NARROW,
     "INVALID beyond max_allocation_bytes",
     {PATCH(core.memory_alloc, alloc_beyond_limit_is_invalid)},
     0,
     "max_allocation=16M",
     0,
     0},
    MEMORY("alloc_up_to_sixteen", "MEM-023", COUNT, BROAD, "sixteen allocations, no more",
           PATCH(core.memory_alloc, alloc_up_to_sixteen), PATCH(core.memory_free, free_counted)),
    MEMORY("alloc_up_to_31", "MEM-023", COUNT, NARROW, "31 allocations, no more",
           PATCH(core.memory_alloc, alloc_up_to_31), PATCH(core.memory_free, free_counted)),
    MEMORY("alloc_up_to_24_on_second_device", "MEM-023", COUNT, NARROW, "24, on device 1",
           PATCH(core.memory_alloc, alloc_up_to_24_on_second_device),
           PATCH(core.memory_free, free_counted_on_second_device)),
    ROW(free_leaks, "MEM-012", LIFETIME, BROAD, core.memory_free, "nothing is ever given back"),
    ROW(free_leaks_every_fourth, "MEM-012", COUNT, NARROW, core.memory_free, "every fourth stays"),
    MEMORY("free_leaks_large", "MEM-012", LIFETIME, NARROW, "a MiB and more is not given back",
           PATCH(core.memory_alloc, alloc_is_kept), PATCH(core.memory_free, free_leaks_large)),
    MEMORY("free_spoils_neighbour", "MEM-013", VALUE, BROAD, "fills the latest other block",
           PATCH(core.memory_alloc, alloc_is_kept), PATCH(core.memory_free, free_spoils_neighbour)),
    MEMORY("free_spoils_last_byte", "MEM-013", VALUE, NARROW, "one byte of the latest other block",
           PATCH(core.memory_alloc, alloc_is_kept), PATCH(core.memory_free, free_spoils_last_byte)),
    MEMORY("third_free_spoils_first_byte", "MEM-013", COUNT, NARROW, "at every third free",
           PATCH(core.memory_alloc, alloc_is_kept),
           PATCH(core.memory_free, third_free_spoils_first_byte)),
    ROW(free_0_is_invalid, "MEM-014", RETURN, BROAD, core.memory_free, "INVALID"),
    ROW(free_0_again_is_invalid, "MEM-014", COUNT, NARROW, core.memory_free, "the second time"),
    MEMORY("free_0_spoils_latest", "MEM-014", VALUE, NARROW, "clears the latest block",
           PATCH(core.memory_alloc, alloc_is_kept), PATCH(core.memory_free, free_0_spoils_latest)),
    AFTER_CLOSE("free_after_close_is_refused", RETURN, BROAD, "INVALID_STATE for memory",
                PATCH(core.memory_free, free_after_close_is_refused)),
    AFTER_CLOSE("stream_destroy_after_close_crashes", LIFETIME, BROAD, "crashes for a stream",
                PATCH(stream.stream_destroy, stream_destroy_after_close_crashes)),
    AFTER_CLOSE("event_destroy_after_close_crashes", LIFETIME, NARROW, "crashes for an event",
                PATCH(event.event_destroy, event_destroy_after_close_crashes)),
    {0}};
