/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stranger_memory.c: memory, memory in the order of streams, and pinned memory, as allocators that cache err.
 */
#include <string.h>

#include "narrow.h"

/* ------------------------------------------------------------------------------ what is alive ---- */

enum { MOST_BLOCKS = 4096, CLASSES = 64 };

/* In the order in which they were allocated. */
typedef struct block {
  const tbk_instance_t* self;
  uint64_t handle, size_bytes;
  int32_t device;
  bool freed;
} block_t;
static block_t blocks[MOST_BLOCKS];
static int block_count;
static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;

/* With the lock held. */
static void block_add(const tbk_instance_t* self, int32_t device, uint64_t handle,
                      uint64_t size_bytes) {
  if (handle == 0 || block_count == MOST_BLOCKS) return;
  blocks[block_count++] = (block_t){self, handle, size_bytes, device, false};
}
static int block_find(const tbk_instance_t* self, int32_t device, uint64_t handle) {
  for (int i = block_count; i-- > 0;)
    if (blocks[i].self == self && blocks[i].device == device && blocks[i].handle == handle)
      return i;
  return -1;
}
static void block_remove(int at) {
  memmove(&blocks[at], &blocks[at + 1], (size_t)(block_count - at - 1) * sizeof *blocks);
  block_count--;
}
static void blocks_forget(const tbk_instance_t* self, int32_t device) {
  for (int i = block_count; i-- > 0;)
    if (blocks[i].self == self && blocks[i].device == device) block_remove(i);
}
/* A free block is found by the power of two below its size, and is taken to be as long as asked for. */
static struct {
  const tbk_instance_t* self;
  uint64_t size_bytes;
} free_of_class[WRAP_DEVICES][CLASSES];

OPEN(open_forgets_blocks) {
  const tbk_status_t status = OPEN_INNER;
  pthread_mutex_lock(&blocks_lock);
  if (status == TBK_OK) blocks_forget(self, device);
  if (status == TBK_OK && device < WRAP_DEVICES)
    memset(free_of_class[device], 0, sizeof free_of_class[device]);
  pthread_mutex_unlock(&blocks_lock);
  return status;
}

/* ------------------------------------------------------------------------------------- memory ---- */

static int class_of(uint64_t size_bytes) {
  return 63 - __builtin_clzll(size_bytes);
}
ALLOC(alloc_finds_by_power) {
  pthread_mutex_lock(&blocks_lock);
  if (device >= 0 && device < WRAP_DEVICES && size_bytes >= 4096) {
    const int class = class_of(size_bytes);
    const uint64_t had = free_of_class[device][class].size_bytes;
    if (free_of_class[device][class].self == self && had < size_bytes && out_memory != NULL) {
      free_of_class[device][class].self = NULL;
      size_bytes = had;
    }
  }
  const tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK) block_add(self, device, *out_memory, size_bytes);
  pthread_mutex_unlock(&blocks_lock);
  return status;
}
FREE(free_is_found_by_power) {
  pthread_mutex_lock(&blocks_lock);
  const int at = block_find(self, device, memory);
  if (at >= 0 && device < WRAP_DEVICES && blocks[at].size_bytes >= 4096) {
    const int class = class_of(blocks[at].size_bytes);
    free_of_class[device][class].self = self;
    free_of_class[device][class].size_bytes = blocks[at].size_bytes;
  }
  if (at >= 0) block_remove(at);
  pthread_mutex_unlock(&blocks_lock);
  return FREE_INNER;
}

/* As a stack: what is below a block that lives comes back with it. */
ALLOC(alloc_is_on_top) {
  pthread_mutex_lock(&blocks_lock);
  const tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK) block_add(self, device, *out_memory, size_bytes);
  pthread_mutex_unlock(&blocks_lock);
  return status;
}
static int top_of(const tbk_instance_t* self, int32_t device) {
  for (int i = block_count; i-- > 0;)
    if (blocks[i].self == self && blocks[i].device == device) return i;
  return -1;
}
FREE(free_is_from_the_top) {
  pthread_mutex_lock(&blocks_lock);
  const int at = block_find(self, device, memory);
  if (at >= 0) blocks[at].freed = true;
  int top = top_of(self, device);
  while (at >= 0 && top >= 0 && blocks[top].freed) {
    ignore(INNER(self, core)->memory_free(self, device, blocks[top].handle, NULL));
    block_remove(top);
    top = top_of(self, device);
  }
  pthread_mutex_unlock(&blocks_lock);
  return at >= 0 ? TBK_OK : FREE_INNER;
}

/* A block of no bytes counts as a page. */
FREE(free_of_nothing_counts) {
  wrap_t* wrap = wrap_of(self);
  const tbk_status_t status = FREE_INNER;
  if (status != TBK_OK || memory != 0 || device >= WRAP_DEVICES) return status;
  pthread_mutex_lock(&wrap->lock);
  wrap->opened[device]++;
  pthread_mutex_unlock(&wrap->lock);
  return status;
}
MEMORY_INFO(info_has_freed_nothing) {
  const tbk_status_t status = MEMORY_INFO_INNER;
  if (status == TBK_OK && device < WRAP_DEVICES)
    *out_free_bytes += KIB(64) * (uint64_t)wrap_of(self)->opened[device];
  return status;
}

/* ------------------------------------------------------------------------------------- pinned ---- */

/* 16 MiB, of blocks of 2 to the n. */
static uint64_t rounded(uint64_t size_bytes) {
  uint64_t power = 1;
  while (power < size_bytes)
    power *= 2;
  return power;
}
PINNED_ALLOC(pinned_alloc_rounds) {
  wrap_t* wrap = wrap_of(self);
  void* pointer = NULL;
  tbk_status_t status =
      INNER(self, pinned)
          ->pinned_alloc(self, device, size_bytes, out_pointer == NULL ? NULL : &pointer, error);
  if (status != TBK_OK) return status;
  pthread_mutex_lock(&blocks_lock);
  const uint64_t taken = pointer == NULL ? 0 : rounded(size_bytes);
  if (atomic_load(&wrap->value) + taken > MIB(16)) status = TBK_OUT_OF_MEMORY;
  if (status == TBK_OK) atomic_fetch_add(&wrap->value, taken);
  if (status == TBK_OK) block_add(self, -1, (uintptr_t)pointer, taken);
  pthread_mutex_unlock(&blocks_lock);
  if (status == TBK_OK) return *out_pointer = pointer, status;
  INNER(self, pinned)->pinned_free(self, pointer);
  return wrap_fail(error, status, "no more memory can be pinned");
}
PINNED_FREE(pinned_free_rounds) {
  pthread_mutex_lock(&blocks_lock);
  const int at = block_find(self, -1, (uintptr_t)pointer);
  if (at >= 0) atomic_fetch_sub(&wrap_of(self)->value, blocks[at].size_bytes);
  if (at >= 0) block_remove(at);
  pthread_mutex_unlock(&blocks_lock);
  PINNED_FREE_INNER;
}
/* Those of an instance that is gone: another one may have its address. */
static void forget_pinned(wrap_t* wrap) {
  pthread_mutex_lock(&blocks_lock);
  blocks_forget(atomic_load(&wrap->self), -1);
  pthread_mutex_unlock(&blocks_lock);
}

/* ----------------------------------------------------------------------- in order of a stream ---- */

/* A ring of eight remembers what the stream is to give back. */
ASYNC_FREE(ninth_async_free_is_at_once) {
  if (stream == NULL || memory == 0) return ASYNC_FREE_INNER;
  stream_note_t* note = note_of_stream(wrap_of(self), stream);
  if (!stream_pending(self, stream)) note->count = 0;
  if (++note->count <= 8) return ASYNC_FREE_INNER;
  return INNER(self, core)->memory_free(self, note->device, memory, error);
}

/* It is to be told when the allocation's turn comes, and is not. */
ASYNC_ALLOC(async_exhaustion_while_busy_is_null) {
  if (out_memory == NULL || !stream_pending(self, stream)) return ASYNC_ALLOC_INNER;
  const tbk_status_t status =
      INNER(self, async_memory)->async_alloc(self, stream, size_bytes, out_memory, NULL);
  if (status == TBK_OK) return status;
  if (status != TBK_OUT_OF_MEMORY) return ASYNC_ALLOC_INNER;
  *out_memory = 0;
  return TBK_OK;
}

extern const mutant_t mutants_stranger_memory[];
const mutant_t mutants_stranger_memory[] = {
    SEVERAL("freed_block_is_found_by_its_power_of_two", "MEM-005", EXTENT,
            "from 4 KiB on, after a shorter one of the same power was given back",
            PATCH(core.memory_alloc, alloc_finds_by_power),
            PATCH(core.memory_free, free_is_found_by_power),
            PATCH(core.device_open, open_forgets_blocks)),
    SEVERAL("memory_comes_back_from_the_top", "MEM-012", LIFETIME,
            "not while a later allocation lives", PATCH(core.memory_alloc, alloc_is_on_top),
            PATCH(core.memory_free, free_is_from_the_top),
            PATCH(core.device_open, open_forgets_blocks)),
    SEVERAL("free_of_nothing_gives_64_kib", "MEM-014", COUNT, "in what memory_info says",
            PATCH(core.memory_free, free_of_nothing_counts),
            PATCH(core.memory_info, info_has_freed_nothing)),
    {"pinned_sizes_are_rounded_to_powers_of_two",
     "PIN-011",
     MUTANT,
     EXTENT,
     NARROW,
     "of 16 MiB that there are",
     {PATCH(pinned.pinned_alloc, pinned_alloc_rounds),
      PATCH(pinned.pinned_free, pinned_free_rounds)},
     0,
     0,
     forget_pinned,
     0},
    NOTED("ninth_pending_async_free_is_at_once", "SOM-005", COUNT, "on one stream that is busy",
          PATCH(async_memory.async_free, ninth_async_free_is_at_once)),
    ONE(async_exhaustion_while_busy_is_null, "MEM-009", RETURN, async_memory.async_alloc,
        "OK and no memory"),
    {0}};
