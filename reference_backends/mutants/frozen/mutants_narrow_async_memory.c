/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_async_memory.c: memory in the order of streams.
 */
#include "narrow.h"

static struct {
  tbk_memory_t memory;
  uint64_t size_bytes;
  tbk_stream_t* stream;
} taken[64], parked;

static int taken_at(tbk_memory_t memory) {
  int at = 63;
  for (int i = 0; i < 63; ++i)
    if (taken[i].memory == memory) at = i;
  return at;
}
ASYNC_ALLOC(async_is_noted) {
  tbk_status_t status = ASYNC_ALLOC_INNER;
  if (status != TBK_OK || *out_memory == 0) return status;
  pthread_mutex_lock(&wrap_of(self)->lock);
  const int at = taken_at(0);
  taken[at].memory = *out_memory;
  taken[at].size_bytes = size_bytes;
  taken[at].stream = stream;
  pthread_mutex_unlock(&wrap_of(self)->lock);
  return status;
}
ASYNC_ALLOC(async_reuses_parked_of_other) {
  wrap_t* wrap = wrap_of(self);
  tbk_memory_t found = 0;
  pthread_mutex_lock(&wrap->lock);
  if (parked.memory != 0 && parked.stream != stream && size_bytes > 0 &&
      size_bytes <= parked.size_bytes) {
    found = parked.memory;
    parked.memory = 0;
  }
  pthread_mutex_unlock(&wrap->lock);
  if (found == 0 || stream == NULL || out_memory == NULL)
    return async_is_noted(self, stream, size_bytes, out_memory, error);
  *out_memory = found;
  return TBK_OK;
}
ASYNC_FREE(async_free_parks_small) {
  wrap_t* wrap = wrap_of(self);
  if (stream == NULL || memory == 0) return ASYNC_FREE_INNER;
  pthread_mutex_lock(&wrap->lock);
  const int at = taken_at(memory);
  const tbk_memory_t before = parked.memory;
  const bool park = taken[at].memory == memory && taken[at].size_bytes <= 4096;
  if (park) parked = taken[at];
  if (park) parked.stream = stream;
  taken[at].memory = 0;
  pthread_mutex_unlock(&wrap->lock);
  if (park) memory = before;
  return ASYNC_FREE_INNER;
}
ASYNC_ALLOC(async_reuses_parked_large) {
  wrap_t* wrap = wrap_of(self);
  tbk_memory_t found = 0;
  pthread_mutex_lock(&wrap->lock);
  if (parked.memory != 0 && parked.stream == stream && size_bytes == parked.size_bytes) {
    found = parked.memory;
    parked.memory = 0;
  }
  pthread_mutex_unlock(&wrap->lock);
  if (found == 0 || stream == NULL || out_memory == NULL)
    return async_is_noted(self, stream, size_bytes, out_memory, error);
  *out_memory = found;
  return TBK_OK;
}
ASYNC_FREE(async_free_parks_large) {
  wrap_t* wrap = wrap_of(self);
  if (stream == NULL || memory == 0) return ASYNC_FREE_INNER;
  pthread_mutex_lock(&wrap->lock);
  const int at = taken_at(memory);
  const bool park =
      taken[at].memory == memory && taken[at].size_bytes >= MIB(16) && parked.memory == 0;
  if (park) parked = taken[at];
  if (park) parked.stream = stream;
  taken[at].memory = 0;
  pthread_mutex_unlock(&wrap->lock);
  return park ? TBK_OK : ASYNC_FREE_INNER;
}
STREAM_DESTROY(stream_takes_its_memory) {
  wrap_t* wrap = wrap_of(self);
  const int32_t device = stream == NULL ? 0 : note_of_stream(wrap, stream)->device;
  for (int i = 0; i < 64 && stream != NULL; ++i) {
    if (taken[i].memory == 0 || taken[i].stream != stream) continue;
    ignore(INNER(self, core)->memory_free(self, device, taken[i].memory, NULL));
    taken[i].memory = 0;
  }
  STREAM_DESTROY_INNER;
  if (stream != NULL) note_of_stream(wrap, stream)->stream = NULL;
}
ASYNC_FREE(async_free_unnotes) {
  pthread_mutex_lock(&wrap_of(self)->lock);
  if (memory != 0) taken[taken_at(memory)].memory = 0;
  pthread_mutex_unlock(&wrap_of(self)->lock);
  return ASYNC_FREE_INNER;
}
static tbk_status_t free_now(tbk_instance_t* self, tbk_stream_t* stream, tbk_memory_t memory,
                             tbk_error_t* error) {
  const int32_t device = note_of_stream(wrap_of(self), stream)->device;
  return FREE_INNER;
}
EVENT_WAIT(wait_is_noted) {
  tbk_status_t status = EVENT_WAIT_INNER;
  if (status == TBK_OK) atomic_store(&wrap_of(self)->kept, (uintptr_t)stream);
  return status;
}
ASYNC_FREE(async_free_ignores_waits) {
  if (stream != NULL && memory != 0 && atomic_load(&wrap_of(self)->kept) == (uintptr_t)stream)
    return free_now(self, stream, memory, error);
  return ASYNC_FREE_INNER;
}
ASYNC_FREE(async_free_elsewhere_is_at_once) {
  if (stream == NULL || memory == 0) return ASYNC_FREE_INNER;
  pthread_mutex_lock(&wrap_of(self)->lock);
  const int at = taken_at(memory);
  const bool elsewhere = taken[at].memory == memory && taken[at].stream != stream;
  taken[at].memory = 0;
  pthread_mutex_unlock(&wrap_of(self)->lock);
  return elsewhere ? free_now(self, stream, memory, error) : ASYNC_FREE_INNER;
}
ASYNC_ALLOC(async_alloc_is_cleared_late) {
  tbk_status_t status = ASYNC_ALLOC_INNER;
  if (status != TBK_OK || size_bytes < KIB(64)) return status;
  const int32_t device = note_of_stream(wrap_of(self), stream)->device;
  tbk_stream_t* side = side_held(wrap_of(self), device);
  ignore(INNER(self, core)->fill(self, device, *out_memory, 0, 0, 4096, side, NULL));
  return status;
}
FAULT(failing_stream_is_kept) {
  tbk_status_t status = FAULT_INNER;
  if (status == TBK_OK) atomic_store(&wrap_of(self)->kept, (uintptr_t)stream);
  return status;
}
ASYNC_FREE(async_free_after_failure_leaks) {
  if (stream != NULL && memory != 0 && atomic_load(&wrap_of(self)->kept) == (uintptr_t)stream)
    return TBK_OK;
  return ASYNC_FREE_INNER;
}

#define PAIR(name, clause, operation, note, slot, first, member, second) \
  SEVERAL(name, clause, operation, note, PATCH(slot, first), PATCH(member, second))
#define NOTED_PAIR(name, clause, operation, note, slot, first, member, second) \
  NOTED(name, clause, operation, note, PATCH(slot, first), PATCH(member, second))

extern const mutant_t mutants_narrow_async_memory[];
const mutant_t mutants_narrow_async_memory[] = {
    PAIR("async_reuses_for_other_stream", "SOM-005", ORDER,
         "up to 4 KiB, given back with work pending, go to another stream at once",
         async_memory.async_alloc, async_reuses_parked_of_other, async_memory.async_free,
         async_free_parks_small),
    PAIR("async_caches_large_for_its_stream", "SOM-009", LIFETIME,
         "memory_alloc never gets 16 MiB that were given back", async_memory.async_alloc,
         async_reuses_parked_large, async_memory.async_free, async_free_parks_large),
    NOTED("async_memory_ends_with_stream", "SOM-002", LIFETIME,
          "what a stream has allocated goes with it",
          PATCH(async_memory.async_alloc, async_is_noted),
          PATCH(async_memory.async_free, async_free_unnotes),
          PATCH(stream.stream_destroy, stream_takes_its_memory)),
    NOTED_PAIR("async_free_ignores_waits", "SOM-005", ORDER,
               "at once where the stream was told to wait", event.event_wait, wait_is_noted,
               async_memory.async_free, async_free_ignores_waits),
    NOTED_PAIR("async_free_elsewhere_is_at_once", "SOM-005", ORDER,
               "on another stream than that of the allocation", async_memory.async_alloc,
               async_is_noted, async_memory.async_free, async_free_elsewhere_is_at_once),
    NOTED("async_alloc_is_cleared_late", "SOM-002", ORDER,
          "a page of 64 KiB is cleared beside the stream",
          PATCH(async_memory.async_alloc, async_alloc_is_cleared_late)),
    PAIR("async_free_after_failure_leaks", "SOM-009", LIFETIME, "on a stream whose work failed",
         fault.fault_enqueue, failing_stream_is_kept, async_memory.async_free,
         async_free_after_failure_leaks),
    {0}};
