/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_memory.c: memory of devices, and pinned memory.
 */
#include <stdlib.h>

#include "narrow.h"

/* Which of the latest handles are marked; a place may be lost to another handle. */
enum { MARKS = 4096 };
static atomic_uint_fast64_t marks[MARKS];

static void mark(uint64_t handle) {
  atomic_store(&marks[handle / 64 % MARKS], handle);
}
static bool unmark(uint64_t handle) {
  uint64_t expected = handle;
  return handle != 0 && atomic_compare_exchange_strong(&marks[handle / 64 % MARKS], &expected, 0);
}

/* ------------------------------------------------------------------------------------- memory -- */

/* Counts refusals in `flag`. */
static tbk_status_t noting_exhaustion(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                                      tbk_memory_t* out_memory, tbk_error_t* error) {
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OUT_OF_MEMORY) atomic_store(&wrap_of(self)->flag, 1);
  return status;
}
ALLOC(alloc_after_exhaustion_misaligned) {
  if (size_bytes == 0 || out_memory == NULL || !once(&wrap_of(self)->flag))
    return noting_exhaustion(self, device, size_bytes, out_memory, error);
  size_bytes += 64;
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK) *out_memory += 8;
  return status;
}
FREE(free_aligned_down) {
  if (memory % 16 == 8) memory -= 8;
  return FREE_INNER;
}
ALLOC(alloc_after_exhaustion_overlaps) {
  wrap_t* wrap = wrap_of(self);
  const uint64_t latest = atomic_load(&wrap->kept);
  if (latest != 0 && size_bytes > 0 && size_bytes <= atomic_load(&wrap->value) &&
      out_memory != NULL && once(&wrap->flag)) {
    *out_memory = latest;
    return TBK_OK;
  }
  tbk_status_t status = noting_exhaustion(self, device, size_bytes, out_memory, error);
  if (status == TBK_OK) {
    atomic_store(&wrap->kept, *out_memory);
    atomic_store(&wrap->value, size_bytes);
  }
  return status;
}
FREE(free_forgets_latest) {
  if (atomic_load(&wrap_of(self)->kept) == memory) atomic_store(&wrap_of(self)->kept, 0);
  return FREE_INNER;
}
ALLOC(alloc_after_exhaustion_fails_once) {
  if (size_bytes > 0 && out_memory != NULL && once(&wrap_of(self)->flag))
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "still no memory");
  return noting_exhaustion(self, device, size_bytes, out_memory, error);
}
ALLOC(alloc_nothing_after_exhaustion_fails) {
  if (size_bytes == 0 && atomic_load(&wrap_of(self)->flag))
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no memory");
  return noting_exhaustion(self, device, size_bytes, out_memory, error);
}
ALLOC(alloc_size_loses_sign_bit) {
  size_bytes &= INT64_MAX;
  return ALLOC_INNER;
}
ALLOC(small_is_marked) {
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK && *out_memory != 0 && size_bytes < KIB(64)) mark(*out_memory);
  return status;
}
FREE(free_leaks_small) {
  return unmark(memory) ? TBK_OK : FREE_INNER;
}
ALLOC(large_is_marked) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = ALLOC_INNER;
  if (status != TBK_OK || *out_memory == 0) return status;
  if (size_bytes >= MIB(1)) {
    mark(*out_memory);
  } else if (size_bytes >= 4 && atomic_load(&wrap->kept) == 0) {
    atomic_store(&wrap->kept, *out_memory);
  }
  return status;
}
FREE(large_free_spoils_oldest) {
  wrap_t* wrap = wrap_of(self);
  if (atomic_load(&wrap->kept) == memory) atomic_store(&wrap->kept, 0);
  const uint64_t oldest = atomic_load(&wrap->kept);
  if (unmark(memory) && oldest != 0)
    ignore(INNER(self, core)->fill(self, device, oldest, 0, 0x5a, 4, NULL, NULL));
  return FREE_INNER;
}
ALLOC(large_alloc_is_cleared_late) {
  tbk_status_t status = ALLOC_INNER;
  if (status != TBK_OK || size_bytes < MIB(1)) return status;
  tbk_stream_t* side = side_held(wrap_of(self), device);
  ignore(INNER(self, core)->fill(self, device, *out_memory, 0, 0, 4096, side, NULL));
  return status;
}
MEMORY_INFO(free_underflows_when_nearly_full) {
  tbk_status_t status = MEMORY_INFO_INNER;
  if (status == TBK_OK) *out_free_bytes -= MIB(1);
  return status;
}
MEMORY_INFO(total_falls_after_exhaustion) {
  tbk_status_t status = MEMORY_INFO_INNER;
  if (status == TBK_OK && atomic_load(&wrap_of(self)->flag)) {
    *out_total_bytes -= 4096;
    if (*out_free_bytes > *out_total_bytes) *out_free_bytes = *out_total_bytes;
  }
  return status;
}
MEMORY_INFO(info_writes_free_before_refusal) {
  tbk_status_t status = MEMORY_INFO_INNER;
  if (status == TBK_INVALID && out_free_bytes != NULL) *out_free_bytes = 0;
  return status;
}

/* ------------------------------------------------------------------------------------- pinned -- */

static tbk_status_t pinned_off_by_32(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                                     void** out_pointer, tbk_error_t* error) {
  size_bytes += 64;
  tbk_status_t status = PINNED_ALLOC_INNER;
  if (status == TBK_OK) *out_pointer = (char*)*out_pointer + 32;
  return status;
}
PINNED_ALLOC(large_pinned_aligned_to_32) {
  if (size_bytes < KIB(64) || size_bytes > MIB(512) || out_pointer == NULL)
    return PINNED_ALLOC_INNER;
  return pinned_off_by_32(self, device, size_bytes, out_pointer, error);
}
PINNED_ALLOC(second_pinned_aligned_to_32) {
  if (device != 1 || size_bytes == 0 || size_bytes > MIB(512) || out_pointer == NULL)
    return PINNED_ALLOC_INNER;
  return pinned_off_by_32(self, device, size_bytes, out_pointer, error);
}
PINNED_FREE(pinned_free_aligned_down) {
  if ((uintptr_t)pointer % 64 == 32) pointer = (char*)pointer - 32;
  PINNED_FREE_INNER;
}
PINNED_ALLOC(pinned_latest_is_kept) {
  tbk_status_t status = PINNED_ALLOC_INNER;
  if (status == TBK_OK && size_bytes >= 128) {
    atomic_store(&wrap_of(self)->kept, (uintptr_t)*out_pointer);
    atomic_store(&wrap_of(self)->value, size_bytes);
  }
  return status;
}
static bool in_latest_pinned(wrap_t* wrap, const void* pointer) {
  const uint64_t base = atomic_load(&wrap->kept), at = (uintptr_t)pointer;
  return base != 0 && at >= base && at < base + atomic_load(&wrap->value);
}
PINNED_ALLOC(small_pinned_shares_tail) {
  wrap_t* wrap = wrap_of(self);
  const uintptr_t base = atomic_load(&wrap->kept);
  if (size_bytes == 0 || size_bytes > 64 || base == 0 || out_pointer == NULL)
    return pinned_latest_is_kept(self, device, size_bytes, out_pointer, error);
  *out_pointer = (void*)(base + (atomic_load(&wrap->value) - 64) / 64 * 64);
  atomic_store(&wrap->flag, 1);
  return TBK_OK;
}
PINNED_FREE(pinned_free_of_shared) {
  wrap_t* wrap = wrap_of(self);
  if (pointer != NULL && in_latest_pinned(wrap, pointer)) {
    const bool shared = atomic_load(&wrap->flag) != 0;
    if ((uintptr_t)pointer != atomic_load(&wrap->kept)) return;
    atomic_store(&wrap->kept, 0);
    if (shared) return;
  }
  PINNED_FREE_INNER;
}
PINNED_FREE(pinned_free_forgets) {
  if (atomic_load(&wrap_of(self)->kept) == (uintptr_t)pointer)
    atomic_store(&wrap_of(self)->kept, 0);
  PINNED_FREE_INNER;
}
UPLOAD(upload_from_inside_pinned_takes_base) {
  if (in_latest_pinned(wrap_of(self), source))
    source = (const void*)atomic_load(&wrap_of(self)->kept);
  return UPLOAD_INNER;
}
UPLOAD(upload_from_pinned_is_late) {
  wrap_t* wrap = wrap_of(self);
  if (stream == NULL && size_bytes > 0 && in_latest_pinned(wrap, source))
    stream = side_held(wrap, device);
  return UPLOAD_INNER;
}
PINNED_ALLOC(huge_pinned_is_null) {
  if (size_bytes < UINT64_C(1) << 40 || out_pointer == NULL) return PINNED_ALLOC_INNER;
  *out_pointer = NULL;
  return TBK_OK;
}
PINNED_ALLOC(second_pinned_is_marked) {
  tbk_status_t status = PINNED_ALLOC_INNER;
  if (status == TBK_OK && device == 1) mark((uintptr_t)*out_pointer);
  return status;
}
PINNED_FREE(pinned_free_of_second_leaks) {
  if (pointer != NULL && unmark((uintptr_t)pointer)) return;
  PINNED_FREE_INNER;
}

#define PAIR(name, clause, operation, note, slot, first, member, second) \
  SEVERAL(name, clause, operation, note, PATCH(slot, first), PATCH(member, second))

extern const mutant_t mutants_narrow_memory[];
const mutant_t mutants_narrow_memory[] = {
    PAIR("alloc_after_exhaustion_misaligned", "MEM-003", VALUE, "the first one after OUT_OF_MEMORY",
         core.memory_alloc, alloc_after_exhaustion_misaligned, core.memory_free, free_aligned_down),
    PAIR("alloc_after_exhaustion_overlaps", "MEM-005", EXTENT, "the first one after OUT_OF_MEMORY",
         core.memory_alloc, alloc_after_exhaustion_overlaps, core.memory_free, free_forgets_latest),
    ONE(alloc_after_exhaustion_fails_once, "ERR-001", STATE, core.memory_alloc,
        "a small one after a large one was refused"),
    ONE(alloc_nothing_after_exhaustion_fails, "MEM-004", RETURN, core.memory_alloc,
        "0 bytes, once memory was exhausted"),
    ONE(alloc_size_loses_sign_bit, "MEM-009", RETURN, core.memory_alloc, "2^63 + 64 is 64"),
    PAIR("free_leaks_small", "MEM-012", LIFETIME, "below 64 KiB", core.memory_alloc,
         small_is_marked, core.memory_free, free_leaks_small),
    PAIR("large_free_spoils_oldest", "MEM-013", STATE,
         "4 bytes of an older small allocation, when 1 MiB is given back", core.memory_alloc,
         large_is_marked, core.memory_free, large_free_spoils_oldest),
    NOTED("large_alloc_is_cleared_late", "MEM-007", ORDER,
          "a page of 1 MiB is cleared after the first upload to it",
          PATCH(core.memory_alloc, large_alloc_is_cleared_late)),
    ONE(free_underflows_when_nearly_full, "MEM-018", VALUE, core.memory_info,
        "less than 1 MiB free is nearly 2^64"),
    PAIR("total_falls_after_exhaustion", "MEM-018", VALUE, "after OUT_OF_MEMORY", core.memory_alloc,
         noting_exhaustion, core.memory_info, total_falls_after_exhaustion),
    ONE(info_writes_free_before_refusal, "ERR-001", STATE, core.memory_info,
        "the total's place is NULL"),
    PAIR("large_pinned_aligned_to_32", "PIN-003", VALUE, "from 64 KiB on", pinned.pinned_alloc,
         large_pinned_aligned_to_32, pinned.pinned_free, pinned_free_aligned_down),
    PAIR("second_pinned_aligned_to_32", "PIN-003", VALUE, "of device 1", pinned.pinned_alloc,
         second_pinned_aligned_to_32, pinned.pinned_free, pinned_free_aligned_down),
    PAIR("small_pinned_shares_tail", "PIN-002", EXTENT, "up to 64 bytes after a longer allocation",
         pinned.pinned_alloc, small_pinned_shares_tail, pinned.pinned_free, pinned_free_of_shared),
    SEVERAL("upload_from_inside_pinned_takes_base", "PIN-004", EXTENT,
            "the source is not the first byte of the allocation",
            PATCH(pinned.pinned_alloc, pinned_latest_is_kept),
            PATCH(pinned.pinned_free, pinned_free_forgets),
            PATCH(core.upload, upload_from_inside_pinned_takes_base)),
    NOTED("upload_from_pinned_is_late", "CPY-006", ORDER,
          "without a stream, the source is read after the call",
          PATCH(pinned.pinned_alloc, pinned_latest_is_kept),
          PATCH(pinned.pinned_free, pinned_free_forgets),
          PATCH(core.upload, upload_from_pinned_is_late)),
    ONE(huge_pinned_is_null, "PIN-007", RETURN, pinned.pinned_alloc, "OK and NULL from 2^40 on"),
    PAIR("pinned_free_of_second_leaks", "PIN-009", LIFETIME, "memory pinned for device 1",
         pinned.pinned_alloc, second_pinned_is_marked, pinned.pinned_free,
         pinned_free_of_second_leaks),
    {0}};
