/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_async_memory.c: memory in the order of a stream.
 */
#include <stdlib.h>

#include "calls.h"

ASYNC_ALLOC(async_alloc_accepts_null) {
  return stream == NULL || out_memory == NULL ? TBK_OK : ASYNC_ALLOC_INNER;
}
ASYNC_ALLOC(async_alloc_accepts_null_out) {
  return out_memory == NULL ? TBK_OK : ASYNC_ALLOC_INNER;
}
ASYNC_ALLOC(async_alloc_null_stream_is_failure) {
  return stream == NULL ? TBK_FAILED : ASYNC_ALLOC_INNER;
}

ASYNC_ALLOC(async_alloc_misaligned) {
  if (size_bytes == 0 || size_bytes > (UINT64_C(1) << 40)) return ASYNC_ALLOC_INNER;
  size_bytes += 8;
  tbk_status_t status = ASYNC_ALLOC_INNER;
  if (status == TBK_OK) *out_memory += 8;
  return status;
}
ASYNC_FREE(async_free_shifted) {
  if (memory % 16 == 8) memory -= 8;
  return ASYNC_FREE_INNER;
}
ASYNC_ALLOC(async_alloc_large_gives_0) {
  if (out_memory == NULL || size_bytes < 65536 || size_bytes > (1u << 24)) return ASYNC_ALLOC_INNER;
  *out_memory = 0;
  return TBK_OK;
}
ASYNC_ALLOC(async_alloc_nothing_is_invalid) {
  if (size_bytes == 0) return wrap_fail(error, TBK_INVALID, "nothing to allocate");
  return ASYNC_ALLOC_INNER;
}
ASYNC_ALLOC(async_alloc_exhausted_is_failure) {
  tbk_status_t status = ASYNC_ALLOC_INNER;
  return status == TBK_OUT_OF_MEMORY ? TBK_FAILED : status;
}
/* The same block for all that live at the same time. */
ASYNC_ALLOC(async_alloc_twice_the_same) {
  wrap_t* wrap = wrap_of(self);
  const bool again = wrap_every(wrap, 2) && stream != NULL && out_memory != NULL &&
                     size_bytes > 0 && size_bytes <= atomic_load(&wrap->value);
  if (again) {
    *out_memory = atomic_load(&wrap->kept);
    return TBK_OK;
  }
  tbk_status_t status = ASYNC_ALLOC_INNER;
  if (status == TBK_OK && size_bytes > 0) {
    atomic_store(&wrap->kept, (uintptr_t)*out_memory);
    atomic_store(&wrap->value, size_bytes);
  }
  return status;
}
ASYNC_FREE(async_free_unless_kept) {
  if (memory != 0 && memory == atomic_load(&wrap_of(self)->kept) && stream != NULL) return TBK_OK;
  return ASYNC_FREE_INNER;
}

/* SOM-003: other streams are not let in although they are ordered behind. */
ASYNC_ALLOC(async_alloc_belongs_to_stream) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = ASYNC_ALLOC_INNER;
  if (status == TBK_OK && size_bytes > 0) {
    atomic_store(&wrap->kept, (uintptr_t)*out_memory);
    atomic_store(&wrap->value, (uintptr_t)stream);
  }
  return status;
}
static bool of_other_stream(tbk_instance_t* self, tbk_memory_t memory, tbk_stream_t* stream) {
  wrap_t* wrap = wrap_of(self);
  return stream != NULL && memory != 0 && memory == atomic_load(&wrap->kept) &&
         (uintptr_t)stream != atomic_load(&wrap->value);
}
UPLOAD(upload_of_other_stream_refused) {
  if (of_other_stream(self, memory, stream))
    return wrap_fail(error, TBK_INVALID, "memory of another stream");
  return UPLOAD_INNER;
}
UPLOAD(upload_of_other_stream_lost) {
  return of_other_stream(self, memory, stream) ? TBK_OK : UPLOAD_INNER;
}
DOWNLOAD(download_of_other_stream_refused) {
  if (of_other_stream(self, memory, stream))
    return wrap_fail(error, TBK_INVALID, "memory of another stream");
  return DOWNLOAD_INNER;
}
FILL(fill_of_other_stream_lost) {
  return of_other_stream(self, memory, stream) ? TBK_OK : FILL_INNER;
}
COPY(copy_of_other_stream_refused) {
  if (of_other_stream(self, source, stream) || of_other_stream(self, destination, stream))
    return wrap_fail(error, TBK_INVALID, "memory of another stream");
  return COPY_INNER;
}

/* SOM-005: the bytes are somebody else's while earlier work still runs. `kept` was freed so. */
ASYNC_ALLOC(async_alloc_sized) {
  wrap_t* wrap = wrap_of(self);
  tbk_memory_t freed = atomic_load(&wrap->kept);
  if (freed != 0 && size_bytes > 0 && size_bytes <= atomic_load(&wrap->value) && out_memory &&
      stream != NULL) {
    atomic_store(&wrap->kept, 0);
    *out_memory = freed;
    return TBK_OK;
  }
  tbk_status_t status = ASYNC_ALLOC_INNER;
  if (status == TBK_OK) atomic_store(&wrap->value, size_bytes);
  return status;
}
/* Given out again at once, to any stream. */
ASYNC_FREE(async_free_at_once) {
  wrap_t* wrap = wrap_of(self);
  if (stream == NULL || memory == 0) return ASYNC_FREE_INNER;
  const uintptr_t before = atomic_exchange(&wrap->kept, (uintptr_t)memory);
  memory = before;
  return before == 0 ? TBK_OK : ASYNC_FREE_INNER;
}
ALLOC(alloc_takes_freed) {
  wrap_t* wrap = wrap_of(self);
  tbk_memory_t freed = atomic_load(&wrap->kept);
  if (freed != 0 && device == 0 && size_bytes > 0 && size_bytes <= atomic_load(&wrap->value) &&
      out_memory != NULL) {
    atomic_store(&wrap->kept, 0);
    *out_memory = freed;
    return TBK_OK;
  }
  return ALLOC_INNER;
}
FREE(free_of_either_kind) {
  tbk_status_t status = FREE_INNER;
  return status == TBK_INVALID ? TBK_OK : status;
}
/* In the order of the wrong stream: one that has nothing to do. */
ASYNC_FREE(async_free_on_idle_stream) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL && memory != 0)
    stream = side_stream(wrap, note_of_stream(wrap, stream)->device);
  return ASYNC_FREE_INNER;
}
ASYNC_FREE(async_free_of_second_device_on_idle_stream) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL && memory != 0 && note_of_stream(wrap, stream)->device == 1)
    stream = side_stream(wrap, note_of_stream(wrap, stream)->device);
  return ASYNC_FREE_INNER;
}
/* SOM-008 and 009: nothing to give back, and giving back. */
ASYNC_FREE(async_free_0_is_invalid) {
  if (memory == 0 && stream != NULL) return wrap_fail(error, TBK_INVALID, "0 is no memory");
  return ASYNC_FREE_INNER;
}
ASYNC_FREE(async_free_0_again_is_invalid) {
  if (memory == 0 && stream != NULL && wrap_every(wrap_of(self), 2))
    return wrap_fail(error, TBK_INVALID, "0 was freed before");
  return ASYNC_FREE_INNER;
}
ASYNC_FREE(async_free_0_crashes) {
  if (memory == 0 && stream != NULL) abort();
  return ASYNC_FREE_INNER;
}
ASYNC_FREE(async_free_leaks) {
  return stream != NULL ? TBK_OK : ASYNC_FREE_INNER;
}
ASYNC_FREE(async_free_leaks_every_third) {
  return stream != NULL && wrap_every(wrap_of(self), 3) ? TBK_OK : ASYNC_FREE_INNER;
}
ASYNC_FREE(async_free_leaks_latest) {
  wrap_t* wrap = wrap_of(self);
  if (memory != 0 && stream != NULL && memory == atomic_load(&wrap->kept) &&
      atomic_load(&wrap->flag) > 0)
    return TBK_OK;
  return ASYNC_FREE_INNER;
}
ASYNC_ALLOC(async_alloc_large_noted) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = ASYNC_ALLOC_INNER;
  if (status == TBK_OK) {
    atomic_store(&wrap->kept, (uintptr_t)*out_memory);
    atomic_store(&wrap->flag, size_bytes >= 65536);
  }
  return status;
}
ASYNC_FREE(async_free_waits) {
  if (stream != NULL) ignore(INNER(self, stream)->stream_synchronize(self, stream, NULL));
  return ASYNC_FREE_INNER;
}

#define SOM(name, clause, operation, narrow, note, ...) \
  { name, clause, MUTANT, operation, narrow, note, {__VA_ARGS__}, 0, 0, notes_install, 0 }

extern const mutant_t mutants_async_memory[];
const mutant_t mutants_async_memory[] = {
    ROW(async_alloc_accepts_null, "SOM-001", RETURN, BROAD, async_memory.async_alloc,
        "OK for NULL"),
    ROW(async_alloc_accepts_null_out, "SOM-001", RETURN, NARROW, async_memory.async_alloc,
        "OK with nowhere to put the handle"),
    ROW(async_alloc_null_stream_is_failure, "SOM-001", RETURN, NARROW, async_memory.async_alloc,
        "FAILED without a stream"),
    SOM("async_alloc_misaligned", "SOM-002", VALUE, BROAD, "8 bytes off",
        PATCH(async_memory.async_alloc, async_alloc_misaligned),
        PATCH(async_memory.async_free, async_free_shifted)),
    ROW(async_alloc_large_gives_0, "SOM-002", VALUE, NARROW, async_memory.async_alloc,
        "0 from 64 KiB on"),
    ROW(async_alloc_nothing_is_invalid, "SOM-002", RETURN, NARROW, async_memory.async_alloc,
        "INVALID for size 0"),
    SOM("async_alloc_twice_the_same", "SOM-002", LIFETIME, BROAD,
        "a live block at every second call",
        PATCH(async_memory.async_alloc, async_alloc_twice_the_same),
        PATCH(async_memory.async_free, async_free_unless_kept)),
    ROW(async_alloc_exhausted_is_failure, "MEM-009", ERROR, NARROW, async_memory.async_alloc,
        "FAILED instead of OUT_OF_MEMORY"),
    SOM("upload_of_other_stream_refused", "SOM-003", RETURN, BROAD,
        "INVALID on another stream than that of the allocation",
        PATCH(async_memory.async_alloc, async_alloc_belongs_to_stream),
        PATCH(core.upload, upload_of_other_stream_refused),
        PATCH(core.download, download_of_other_stream_refused),
        PATCH(core.copy, copy_of_other_stream_refused)),
    SOM("work_of_other_stream_lost", "SOM-003", VALUE, BROAD, "no effect on another stream",
        PATCH(async_memory.async_alloc, async_alloc_belongs_to_stream),
        PATCH(core.upload, upload_of_other_stream_lost),
        PATCH(core.fill, fill_of_other_stream_lost),
        PATCH(core.copy, copy_of_other_stream_refused)),
    SOM("download_of_other_stream_refused", "SOM-003", RETURN, NARROW,
        "INVALID for downloads on another stream",
        PATCH(async_memory.async_alloc, async_alloc_belongs_to_stream),
        PATCH(core.download, download_of_other_stream_refused)),
    SOM("async_free_at_once", "SOM-005", LIFETIME, BROAD, "its bytes go to the next who asks",
        PATCH(async_memory.async_alloc, async_alloc_sized),
        PATCH(async_memory.async_free, async_free_at_once),
        PATCH(core.memory_alloc, alloc_takes_freed), PATCH(core.memory_free, free_of_either_kind)),
    {"async_free_on_idle_stream",
     "SOM-005",
     MUTANT,
     LIFETIME,
     BROAD,
     "given back in the order of another stream",
     {PATCH(async_memory.async_free, async_free_on_idle_stream)},
     0,
     "handles=reuse",
     notes_install,
     0},
    {"async_free_of_second_device_on_idle_stream",
     "SOM-005",
     MUTANT,
     LIFETIME,
     NARROW,
     "on device 1 in the order of another stream",
     {PATCH(async_memory.async_free, async_free_of_second_device_on_idle_stream)},
     0,
     "handles=reuse",
     notes_install,
     0},
    ROW(async_free_waits, "SOM-006", ORDER, BROAD, async_memory.async_free, "waits for the stream"),
    ROW(async_free_0_is_invalid, "SOM-008", RETURN, BROAD, async_memory.async_free, "INVALID"),
    ROW(async_free_0_again_is_invalid, "SOM-008", COUNT, NARROW, async_memory.async_free,
        "INVALID every second time"),
    ROW(async_free_0_crashes, "SOM-008", LIFETIME, BROAD, async_memory.async_free, "aborts"),
    ROW(async_free_leaks, "SOM-009", LIFETIME, BROAD, async_memory.async_free,
        "nothing is ever given back"),
    ROW(async_free_leaks_every_third, "SOM-009", COUNT, NARROW, async_memory.async_free,
        "every third stays"),
    SOM("async_free_leaks_large", "SOM-009", LIFETIME, NARROW, "64 KiB and more is not given back",
        PATCH(async_memory.async_alloc, async_alloc_large_noted),
        PATCH(async_memory.async_free, async_free_leaks_latest)),
    {0}};
