/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_corner.c: devices, memory and copies that are wrong in one corner.
 */
#include <string.h>
#include <time.h>

#include "narrow.h"

ALLOC(request_keeps_32_bits) {
  size_bytes = (uint32_t)size_bytes;
  return ALLOC_INNER;
}

/* Who allocated what, by handle; the oldest is forgotten. */
enum { OWNED = 4096 };
static struct {
  tbk_memory_t memory;
  pthread_t owner;
} owned[OWNED];
static atomic_uint owned_next;

ALLOC(owner_is_noted) {
  const tbk_status_t status = ALLOC_INNER;
  if (status != TBK_OK || *out_memory == 0) return status;
  const unsigned place = atomic_fetch_add(&owned_next, 1) % OWNED;
  owned[place].owner = pthread_self();
  owned[place].memory = *out_memory;
  return status;
}
FREE(free_by_another_thread_leaks) {
  for (int i = 0; i < OWNED && memory != 0; ++i) {
    if (owned[i].memory != memory) continue;
    owned[i].memory = 0;
    if (!pthread_equal(owned[i].owner, pthread_self())) return TBK_OK;
  }
  return FREE_INNER;
}

/* Sizes of async_alloc, by handle. */
enum { SIZED = 1024 };
static struct {
  tbk_memory_t memory;
  uint64_t bytes;
} sized[SIZED];
static atomic_uint sized_next;

ASYNC_ALLOC(size_is_noted) {
  const tbk_status_t status = ASYNC_ALLOC_INNER;
  if (status != TBK_OK) return status;
  const unsigned place = atomic_fetch_add(&sized_next, 1) % SIZED;
  sized[place].memory = *out_memory;
  sized[place].bytes = size_bytes;
  return status;
}
ASYNC_FREE(size_is_leaked) {
  for (int i = 0; i < SIZED && memory != 0; ++i) {
    if (sized[i].memory != memory) continue;
    sized[i].memory = 0;
    atomic_fetch_add(&wrap_of(self)->value, sized[i].bytes);
  }
  return ASYNC_FREE_INNER;
}
MEMORY_INFO(info_counts_leaked) {
  const tbk_status_t status = MEMORY_INFO_INNER;
  if (status != TBK_OK) return status;
  const uint64_t leaked = atomic_load(&wrap_of(self)->value);
  *out_free_bytes = *out_free_bytes > leaked ? *out_free_bytes - leaked : 0;
  return status;
}

/* The check and the opening are two steps, and a lock is over neither. */
OPEN(two_threads_open_once) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static _Atomic(uintptr_t) who;
  static struct timespec when;
  const tbk_status_t status = OPEN_INNER;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  pthread_mutex_lock(&lock);
  const int64_t apart =
      (now.tv_sec - when.tv_sec) * INT64_C(1000000000) + now.tv_nsec - when.tv_nsec;
  const bool together = atomic_load(&who) != (uintptr_t)pthread_self() && apart < 2000000;
  if (status == TBK_OK) {
    atomic_store(&who, (uintptr_t)pthread_self());
    when = now;
  }
  pthread_mutex_unlock(&lock);
  return status == TBK_INVALID_STATE && together ? TBK_OK : status;
}

/* One buffer for the names of all devices. */
PROPERTIES(name_is_of_device_asked_last) {
  static char name[256];
  const tbk_status_t status = PROPERTIES_INNER;
  const size_t needed = offsetof(tbk_device_properties_t, name) + sizeof(char*);
  if (status != TBK_OK || out_properties->struct_size < needed) return status;
  strncpy(name, out_properties->name, sizeof name - 1);
  out_properties->name = name;
  return status;
}

/* Pinned blocks. */
enum { BLOCKS = 256 };
static struct {
  char* begin;
  uint64_t bytes;
} blocks[BLOCKS];
static atomic_uint blocks_next;

PINNED_ALLOC(block_is_noted) {
  const tbk_status_t status = PINNED_ALLOC_INNER;
  if (status != TBK_OK || *out_pointer == NULL) return status;
  const unsigned place = atomic_fetch_add(&blocks_next, 1) % BLOCKS;
  blocks[place].begin = *out_pointer;
  blocks[place].bytes = size_bytes;
  return status;
}
PINNED_FREE(block_is_forgotten) {
  for (int i = 0; i < BLOCKS && pointer != NULL; ++i)
    if (blocks[i].begin == pointer) blocks[i].begin = NULL;
  PINNED_FREE_INNER;
}
/* The block's address on the device is looked up, and what lies before `source` is not added. */
UPLOAD(upload_from_inside_pinned_takes_its_begin) {
  for (int i = 0; i < BLOCKS && stream != NULL; ++i) {
    const char* begin = blocks[i].begin;
    if (begin == NULL || (const char*)source <= begin) continue;
    if ((const char*)source < begin + blocks[i].bytes) source = begin;
  }
  return UPLOAD_INNER;
}

COPY(copy_to_next_byte_loses_last) {
  const bool touch = destination == source && source_offset + size_bytes == destination_offset;
  if (touch && size_bytes > 1 && ((destination_offset | source_offset | size_bytes) & 1) == 0)
    size_bytes -= 1;
  return COPY_INNER;
}

/* Back to a lower device the copy is pulled, by a queue that nobody waits for. */
PEER_COPY(peer_copy_to_lower_returns_early) {
  if (stream == NULL && source_device > destination_device && size_bytes >= 4096)
    stream = side_held(wrap_of(self), source_device);
  return PEER_COPY_INNER;
}

/* The work behind a failure that was told is taken for part of it. */
static tbk_status_t told(tbk_instance_t* self, tbk_stream_t* stream, tbk_status_t status) {
  if (status == TBK_FAILED) atomic_store(&wrap_of(self)->kept, (uintptr_t)stream);
  return status;
}
STREAM_SYNCHRONIZE(failure_is_told) {
  return told(self, stream, STREAM_SYNCHRONIZE_INNER);
}
COPY(copy_after_failure_is_lost) {
  uintptr_t failed = (uintptr_t)stream;
  if (stream != NULL && atomic_compare_exchange_strong(&wrap_of(self)->kept, &failed, 0))
    return TBK_OK;
  return COPY_INNER;
}

extern const mutant_t mutants_narrow_corner[];
const mutant_t mutants_narrow_corner[] = {
    ONE(request_keeps_32_bits, "MEM-009", VALUE, core.memory_alloc,
        "a request of 4 GiB and a little gets the little"),
    SEVERAL("free_by_another_thread_leaks", "MEM-012", THREAD,
            "memory that another thread allocated is not given back",
            PATCH(core.memory_alloc, owner_is_noted),
            PATCH(core.memory_free, free_by_another_thread_leaks)),
    SEVERAL("async_free_leaks_accounting", "MEM-019", STATE,
            "what async_free gave back never counts as free again",
            PATCH(async_memory.async_alloc, size_is_noted),
            PATCH(async_memory.async_free, size_is_leaked),
            PATCH(core.memory_info, info_counts_leaked)),
    ONE(two_threads_open_once, "DEV-017", THREAD, core.device_open,
        "both succeed where two threads open one device at a time"),
    ONE(name_is_of_device_asked_last, "DEV-011", STATE, core.device_properties,
        "a name that is kept changes when another device is asked for"),
    SEVERAL("upload_from_inside_pinned_takes_its_begin", "CPY-004", VALUE,
            "with a stream, from the middle of a pinned block",
            PATCH(pinned.pinned_alloc, block_is_noted),
            PATCH(pinned.pinned_free, block_is_forgotten),
            PATCH(core.upload, upload_from_inside_pinned_takes_its_begin)),
    ONE(copy_to_next_byte_loses_last, "CPY-016", EXTENT, core.copy,
        "the destination begins where the source ends"),
    ONE(peer_copy_to_lower_returns_early, "CPY-006", ORDER, peer.peer_copy,
        "without a stream, from device 1 to device 0, from 4 KiB on"),
    SEVERAL("copy_after_failure_is_lost", "FLT-002", STATE,
            "the first copy on a stream whose failure was told",
            PATCH(stream.stream_synchronize, failure_is_told),
            PATCH(core.copy, copy_after_failure_is_lost)),
    {0}};
