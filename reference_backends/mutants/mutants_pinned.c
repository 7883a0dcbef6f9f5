/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_pinned.c: pinned host memory.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "calls.h"

PINNED_ALLOC(pinned_accepts_null) {
  return out_pointer == NULL ? TBK_OK : PINNED_ALLOC_INNER;
}
PINNED_ALLOC(pinned_null_is_failure) {
  return out_pointer == NULL ? TBK_FAILED : PINNED_ALLOC_INNER;
}

/* The same block at every second call; it is never given back. */
PINNED_ALLOC(pinned_twice_the_same) {
  wrap_t* wrap = wrap_of(self);
  if (out_pointer != NULL && wrap_every(wrap, 2) && atomic_load(&wrap->kept) != 0 &&
      size_bytes > 0 && size_bytes <= atomic_load(&wrap->value)) {
    *out_pointer = (void*)atomic_load(&wrap->kept);
    return TBK_OK;
  }
  tbk_status_t status = PINNED_ALLOC_INNER;
  if (status == TBK_OK && size_bytes > 0) {
    atomic_store(&wrap->kept, (uintptr_t)*out_pointer);
    atomic_store(&wrap->value, size_bytes);
  }
  return status;
}
PINNED_FREE(pinned_free_unless_kept) {
  if (pointer != NULL && (uintptr_t)pointer == atomic_load(&wrap_of(self)->kept)) return;
  PINNED_FREE_INNER;
}
/* What is large comes from one chunk, whoever has it. */
PINNED_ALLOC(large_pinned_share_a_chunk) {
  enum { LARGE = 1 << 20, CHUNK = 1 << 23 };
  wrap_t* wrap = wrap_of(self);
  if (out_pointer == NULL || size_bytes < LARGE || size_bytes > CHUNK) return PINNED_ALLOC_INNER;
  size_bytes = CHUNK;
  tbk_status_t status = atomic_load(&wrap->kept) == 0 ? PINNED_ALLOC_INNER : TBK_OK;
  if (status != TBK_OK) return status;
  if (atomic_load(&wrap->kept) == 0) atomic_store(&wrap->kept, (uintptr_t)*out_pointer);
  *out_pointer = (void*)atomic_load(&wrap->kept);
  return TBK_OK;
}
/* Readable and nothing else. */
PINNED_ALLOC(pinned_read_only) {
  tbk_status_t status = PINNED_ALLOC_INNER;
  if (status != TBK_OK || size_bytes == 0) return status;
  INNER(self, pinned)->pinned_free(self, *out_pointer);
  void* pages = mmap(NULL, size_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return wrap_fail(error, TBK_OUT_OF_MEMORY, "no host memory");
  *out_pointer = pages;
  return TBK_OK;
}
PINNED_FREE(pinned_free_nothing) {}

static tbk_status_t shifted(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                            void** out_pointer, tbk_error_t* error, unsigned shift) {
  if (out_pointer == NULL || size_bytes == 0 || size_bytes > (UINT64_C(1) << 40))
    return PINNED_ALLOC_INNER;
  size_bytes += 64;
  tbk_status_t status = PINNED_ALLOC_INNER;
  if (status == TBK_OK) *out_pointer = (char*)*out_pointer + shift;
  return status;
}
PINNED_ALLOC(pinned_aligned_to_16) {
  return shifted(self, device, size_bytes, out_pointer, error, 16);
}
PINNED_ALLOC(pinned_odd_aligned_to_32) {
  return shifted(self, device, size_bytes, out_pointer, error, size_bytes % 2 == 1 ? 32 : 0);
}
PINNED_FREE(pinned_free_shifted) {
  pointer = (void*)((uintptr_t)pointer & ~(uintptr_t)63);
  PINNED_FREE_INNER;
}
PINNED_ALLOC(pinned_nothing_is_invalid) {
  if (size_bytes == 0 && out_pointer != NULL) return wrap_fail(error, TBK_INVALID, "nothing");
  return PINNED_ALLOC_INNER;
}
static bool in_kept(tbk_instance_t* self, const void* pointer) {
  wrap_t* wrap = wrap_of(self);
  const uintptr_t begin = atomic_load(&wrap->kept);
  return (uintptr_t)pointer - begin < atomic_load(&wrap->value) && begin != 0;
}
PINNED_ALLOC(pinned_is_kept) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = PINNED_ALLOC_INNER;
  if (status == TBK_OK && size_bytes > 0) {
    atomic_store(&wrap->kept, (uintptr_t)*out_pointer);
    atomic_store(&wrap->value, size_bytes);
    atomic_store(&wrap->flag, device);
  }
  return status;
}
UPLOAD(upload_from_pinned_of_other_refused) {
  if (in_kept(self, source) && device != atomic_load(&wrap_of(self)->flag))
    return wrap_fail(error, TBK_INVALID, "pinned for another device");
  return UPLOAD_INNER;
}
UPLOAD(upload_from_pinned_lost) {
  return in_kept(self, source) ? TBK_OK : UPLOAD_INNER;
}
DOWNLOAD(download_to_pinned_of_other_lost) {
  if (in_kept(self, destination) && device != atomic_load(&wrap_of(self)->flag)) return TBK_OK;
  return DOWNLOAD_INNER;
}

PINNED_ALLOC(pinned_exhausted_is_failure) {
  tbk_status_t status = PINNED_ALLOC_INNER;
  return status == TBK_OUT_OF_MEMORY ? TBK_FAILED : status;
}
PINNED_ALLOC(pinned_size_wraps) {
  if (size_bytes >> 32 != 0) size_bytes &= 0xffff;
  return PINNED_ALLOC_INNER;
}

PINNED_ALLOC(pinned_size_rounds_up_to_nothing) {
  if (size_bytes > UINT64_MAX - 63) size_bytes = (size_bytes + 63) & ~UINT64_C(63);
  return PINNED_ALLOC_INNER;
}

/* What is not given back counts against a limit of 64 MiB. */
PINNED_ALLOC(pinned_limited) {
  wrap_t* wrap = wrap_of(self);
  if (size_bytes < (UINT64_C(1) << 40) &&
      atomic_load(&wrap->value) + size_bytes > (UINT64_C(64) << 20))
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no page-locked memory left");
  tbk_status_t status = PINNED_ALLOC_INNER;
  if (status == TBK_OK) atomic_fetch_add(&wrap->value, size_bytes);
  return status;
}
PINNED_FREE(third_pinned_free_is_lost) {
  if (pointer == NULL || !wrap_every(wrap_of(self), 3)) PINNED_FREE_INNER;
}
PINNED_ALLOC(pinned_up_to_63_blocks) {
  wrap_t* wrap = wrap_of(self);
  if (out_pointer != NULL && size_bytes > 0 && atomic_load(&wrap->value) == 63)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no more blocks");
  const tbk_status_t status = PINNED_ALLOC_INNER;
  if (status == TBK_OK && size_bytes > 0) atomic_fetch_add(&wrap->value, 1);
  return status;
}
PINNED_FREE(pinned_free_counts) {
  if (pointer != NULL) atomic_fetch_sub(&wrap_of(self)->value, 1);
  PINNED_FREE_INNER;
}
PINNED_ALLOC(pinned_up_to_15_mib) {
  if (out_pointer != NULL && size_bytes > UINT64_C(15) << 20)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "too many bytes for one block");
  return PINNED_ALLOC_INNER;
}
/* A list through the blocks themselves, which begins at `kept`. */
PINNED_FREE(pinned_free_waits_for_close) {
  wrap_t* wrap = wrap_of(self);
  if (pointer == NULL) return;
  pthread_mutex_lock(&wrap->lock);
  *(uintptr_t*)pointer = atomic_exchange(&wrap->kept, (uintptr_t)pointer);
  pthread_mutex_unlock(&wrap->lock);
}
CLOSE(close_frees_pinned) {
  wrap_t* wrap = wrap_of(self);
  pthread_mutex_lock(&wrap->lock);
  for (uintptr_t next, block = atomic_exchange(&wrap->kept, 0); block != 0; block = next) {
    next = *(uintptr_t*)block;
    wrap->inner->pinned->pinned_free(self, (void*)block);
  }
  pthread_mutex_unlock(&wrap->lock);
  return CLOSE_INNER;
}

#define PINNED(name, clause, operation, narrow, note, ...) \
  { name, clause, MUTANT, operation, narrow, note, {__VA_ARGS__}, 0, 0, 0, 0 }

extern const mutant_t mutants_pinned[];
const mutant_t mutants_pinned[] = {
    ROW(pinned_accepts_null, "PIN-001", RETURN, BROAD, pinned.pinned_alloc, "OK for NULL"),
    ROW(pinned_null_is_failure, "PIN-001", RETURN, BROAD, pinned.pinned_alloc, "FAILED for NULL"),
    PINNED("pinned_twice_the_same", "PIN-002", LIFETIME, BROAD, "a live block at every second call",
           PATCH(pinned.pinned_alloc, pinned_twice_the_same),
           PATCH(pinned.pinned_free, pinned_free_unless_kept)),
    PINNED("pinned_read_only", "PIN-002", STATE, BROAD, "the host cannot write it",
           PATCH(pinned.pinned_alloc, pinned_read_only),
           PATCH(pinned.pinned_free, pinned_free_nothing)),
    PINNED("large_pinned_share_a_chunk", "PIN-002", LIFETIME, NARROW,
           "from 1 MiB to 8 MiB always the same block",
           PATCH(pinned.pinned_alloc, large_pinned_share_a_chunk),
           PATCH(pinned.pinned_free, pinned_free_unless_kept)),
    PINNED("pinned_aligned_to_16", "PIN-003", VALUE, BROAD, "16 bytes off",
           PATCH(pinned.pinned_alloc, pinned_aligned_to_16),
           PATCH(pinned.pinned_free, pinned_free_shifted)),
    PINNED("pinned_odd_aligned_to_32", "PIN-003", VALUE, NARROW, "32 bytes off for odd sizes",
           PATCH(pinned.pinned_alloc, pinned_odd_aligned_to_32),
           PATCH(pinned.pinned_free, pinned_free_shifted)),
    ROW(pinned_nothing_is_invalid, "PIN-003", RETURN, NARROW, pinned.pinned_alloc,
        "INVALID for size 0"),
    PINNED("upload_from_pinned_of_other_refused", "PIN-004", RETURN, BROAD,
           "only the device it was allocated for takes it",
           PATCH(pinned.pinned_alloc, pinned_is_kept),
           PATCH(core.upload, upload_from_pinned_of_other_refused)),
    PINNED("download_to_pinned_of_other_lost", "PIN-004", VALUE, NARROW,
           "downloads of other devices do not arrive", PATCH(pinned.pinned_alloc, pinned_is_kept),
           PATCH(core.download, download_to_pinned_of_other_lost)),
    PINNED("upload_from_pinned_lost", "PIN-004", VALUE, BROAD, "uploads from it have no effect",
           PATCH(pinned.pinned_alloc, pinned_is_kept), PATCH(core.upload, upload_from_pinned_lost)),
    PINNED("pinned_up_to_63_blocks", "PIN-011", COUNT, NARROW, "63 blocks, no more",
           PATCH(pinned.pinned_alloc, pinned_up_to_63_blocks),
           PATCH(pinned.pinned_free, pinned_free_counts)),
    ROW(pinned_up_to_15_mib, "PIN-011", EXTENT, NARROW, pinned.pinned_alloc,
        "15 MiB in one block, no more"),
    ROW(pinned_exhausted_is_failure, "PIN-007", ERROR, BROAD, pinned.pinned_alloc,
        "FAILED instead of OUT_OF_MEMORY"),
    ROW(pinned_size_wraps, "PIN-007", EXTENT, NARROW, pinned.pinned_alloc,
        "the size is taken modulo 2^32"),
    ROW(pinned_size_rounds_up_to_nothing, "PIN-007", EXTENT, NARROW, pinned.pinned_alloc,
        "2^64 - 1 is rounded up to 0"),
    ROW(pinned_limited, "PIN-009", LIFETIME, BROAD, pinned.pinned_alloc,
        "nothing is given back to a limit of 64 MiB"),
    PINNED("pinned_free_waits_for_close", "PIN-009", LIFETIME, BROAD,
           "given back when a device is closed",
           PATCH(pinned.pinned_free, pinned_free_waits_for_close),
           PATCH(core.device_close, close_frees_pinned)),
    ROW(third_pinned_free_is_lost, "PIN-009", COUNT, NARROW, pinned.pinned_free, "every third"),
    {0}};
