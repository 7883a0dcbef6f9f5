/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * arena.c: the memory of a device, and its allocator: a next-fit search over blocks in the order of
 * their addresses, which are joined again when they are free. Where the search begins is what the
 * configuration decides: behind the last allocation, or at the block that was freed last.
 */
#include "vdev/arena.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vdev/words.h"

typedef struct block block_t;
struct block {
  vdev_memory_t handle; /* the key in by_handle */
  block_t *previous, *next;
  uint64_t offset;
  uint64_t span_bytes; /* of addresses */
  uint64_t size_bytes; /* as asked for */
  uint64_t used_bytes; /* counted against the limit; 0 where it is free */
};

struct vdev_arena {
  pthread_mutex_t lock;
  vdev_arena_config_t config;
  void* reservation;
  uint64_t reservation_bytes;
  uint64_t base; /* the first address that is handed out */
  char* alias;
  uint64_t span_bytes;    /* of addresses; at least memory_bytes */
  uint64_t opaque_base;   /* of handles that are no addresses */
  uint64_t used_bytes;    /* never above memory_bytes */
  uint64_t live_count;    /* of blocks in use */
  block_t* first;         /* all blocks, by address */
  block_t* cursor;        /* the block that holds cursor_offset */
  uint64_t cursor_offset; /* where the next search begins */
  void* by_handle;        /* tree of blocks in use (tsearch) */
};

enum { PAGE = 4096 };
#define SPAN_MOST (UINT64_C(256) << 30)

static uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

static int compare(const void* left, const void* right) {
  vdev_memory_t a = ((const block_t*)left)->handle, b = ((const block_t*)right)->handle;
  return (a > b) - (a < b);
}

/* More addresses than memory where each block takes many, or where none may come back. */
static uint64_t span_for(const vdev_arena_config_t* config) {
  uint64_t times = config->alignment > 64 ? config->alignment / 64 : 1;
  uint64_t most = config->memory_bytes > SPAN_MOST ? config->memory_bytes : SPAN_MOST;
  if (config->handles == VDEV_NEVER || times > most / config->memory_bytes) return most;
  return config->memory_bytes * times;
}

static bool map_pair(vdev_arena_t* arena, int file) {
  uint64_t alignment = arena->config.alignment > PAGE ? arena->config.alignment : PAGE;
  arena->reservation_bytes = 2 * arena->span_bytes + alignment;
  arena->reservation = mmap(NULL, arena->reservation_bytes, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arena->reservation == MAP_FAILED) return false;
  arena->base = round_up((uintptr_t)arena->reservation, alignment);
  arena->alias = (char*)(uintptr_t)arena->base + arena->span_bytes;
  void* base = (void*)(uintptr_t)arena->base;
  size_t size = arena->span_bytes;
  if (mmap(base, size, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0) != base ||
      mmap(arena->alias, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file,
           0) != arena->alias) {
    munmap(arena->reservation, arena->reservation_bytes);
    return false;
  }
  madvise(arena->alias, size, MADV_DONTFORK); /* a child must not write its parent's memory */
  return true;
}

vdev_arena_t* vdev_arena_new(const vdev_arena_config_t* config, uint32_t generation) {
  vdev_arena_t* arena = calloc(1, sizeof *arena);
  block_t* all = calloc(1, sizeof *all);
  int file = memfd_create("vdev", MFD_CLOEXEC);
  if (arena && all && file >= 0) {
    arena->config = *config;
    arena->span_bytes = span_for(config);
    arena->opaque_base = (uint64_t)generation << 44;
    all->span_bytes = arena->span_bytes;
    arena->first = arena->cursor = all;
    if (ftruncate(file, (off_t)arena->span_bytes) == 0 && map_pair(arena, file)) {
      close(file);
      pthread_mutex_init(&arena->lock, NULL);
      return arena;
    }
  }
  if (file >= 0) close(file);
  free(arena);
  free(all);
  return NULL;
}

void vdev_arena_empty(vdev_arena_t* arena) {
  void* base = arena->reservation;
  mmap(base, arena->reservation_bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static void keep_node(void* node) {
  (void)node; /* blocks are freed by their list */
}

void vdev_arena_free(vdev_arena_t* arena) {
  if (!arena) return;
  tdestroy(arena->by_handle, keep_node);
  for (block_t *block = arena->first, *next; block; block = next) {
    next = block->next;
    free(block);
  }
  munmap(arena->reservation, arena->reservation_bytes);
  pthread_mutex_destroy(&arena->lock);
  free(arena);
}

static bool fits(const block_t* block, uint64_t from, uint64_t span_bytes) {
  if (block->used_bytes || block->span_bytes < span_bytes) return false;
  uint64_t skipped = from > block->offset ? from - block->offset : 0;
  return block->span_bytes >= skipped && block->span_bytes - skipped >= span_bytes;
}

static block_t* search(vdev_arena_t* arena, uint64_t span_bytes, uint64_t* out_offset) {
  *out_offset = arena->cursor_offset;
  if (fits(arena->cursor, arena->cursor_offset, span_bytes)) return arena->cursor;
  for (block_t* block = arena->cursor->next; block; block = block->next)
    if (fits(block, 0, span_bytes)) return *out_offset = block->offset, block;
  for (block_t* block = arena->first; block; block = block->next)
    if (fits(block, 0, span_bytes)) return *out_offset = block->offset, block;
  return NULL;
}

/* Cuts `block` in two at `offset`, and gives the second; NULL without host memory. */
static block_t* split(block_t* block, uint64_t offset) {
  block_t* rest = calloc(1, sizeof *rest);
  if (!rest) return NULL;
  rest->offset = offset;
  rest->span_bytes = block->offset + block->span_bytes - offset;
  rest->previous = block;
  rest->next = block->next;
  if (rest->next) rest->next->previous = rest;
  block->next = rest;
  block->span_bytes -= rest->span_bytes;
  return rest;
}

/* Joins `block` with the next one where both are free. */
static void join(vdev_arena_t* arena, block_t* block) {
  block_t* next = block ? block->next : NULL;
  if (!next || block->used_bytes || next->used_bytes) return;
  block->span_bytes += next->span_bytes;
  block->next = next->next;
  if (block->next) block->next->previous = block;
  if (arena->cursor == next) arena->cursor = block;
  free(next);
}

static block_t* carve(vdev_arena_t* arena, block_t* block, uint64_t offset, uint64_t span_bytes) {
  block_t* before = NULL;
  if (offset > block->offset) {
    before = block;
    block = split(block, offset);
    if (!block) return NULL;
  }
  if (block->span_bytes > span_bytes && !split(block, offset + span_bytes)) {
    join(arena, before);
    return NULL;
  }
  return block;
}

static bool enlist(vdev_arena_t* arena, block_t* block, uint64_t size_bytes) {
  uint64_t unit = arena->config.alignment < 64 ? arena->config.alignment : 64;
  block->handle = arena->config.flat ? arena->base + block->offset
                                     : arena->opaque_base + block->offset / 16 + 1;
  if (!tsearch(block, &arena->by_handle, compare)) return false;
  block->size_bytes = size_bytes;
  block->used_bytes = round_up(size_bytes ? size_bytes : 1, unit);
  arena->used_bytes += block->used_bytes;
  arena->live_count++;
  arena->cursor = block->next ? block->next : arena->first;
  arena->cursor_offset = arena->cursor->offset;
  return true;
}

vdev_memory_t vdev_arena_take(vdev_arena_t* arena, uint64_t size_bytes) {
  const uint64_t most = arena->config.allocation_bytes;
  if (most && size_bytes > most) return 0;
  vdev_memory_t memory = 0;
  char* poisoned = NULL;
  pthread_mutex_lock(&arena->lock);
  if (size_bytes <= arena->config.memory_bytes - arena->used_bytes &&
      arena->used_bytes < arena->config.memory_bytes) {
    uint64_t offset, span_bytes = round_up(size_bytes ? size_bytes : 1, arena->config.alignment);
    block_t* block = search(arena, span_bytes, &offset);
    if (block) block = carve(arena, block, offset, span_bytes);
    if (block && enlist(arena, block, size_bytes)) {
      memory = block->handle;
      poisoned = arena->config.poison ? arena->alias + block->offset : NULL;
    } else if (block) {
      join(arena, block);
      join(arena, block->previous);
    }
  }
  pthread_mutex_unlock(&arena->lock);
  if (poisoned) vdev_words_fill(poisoned, 0xcb, size_bytes);
  return memory;
}

/* Where there are more addresses than memory, pages of free blocks go back. */
static void give_pages(const vdev_arena_t* arena, const block_t* block) {
  if (arena->span_bytes == arena->config.memory_bytes) return;
  uint64_t begin = round_up(block->offset, PAGE);
  uint64_t end = (block->offset + block->span_bytes) / PAGE * PAGE;
  uint64_t used_end = round_up(block->offset + block->size_bytes, PAGE);
  if (end > used_end) end = used_end;
  if (end > begin) madvise(arena->alias + begin, end - begin, MADV_REMOVE);
}

/* With the lock held. */
static block_t* find(const vdev_arena_t* arena, vdev_memory_t memory) {
  const block_t key = {.handle = memory};
  void* node = tfind(&key, &arena->by_handle, compare);
  return node ? *(block_t**)node : NULL;
}

bool vdev_arena_give(vdev_arena_t* arena, vdev_memory_t memory) {
  pthread_mutex_lock(&arena->lock);
  block_t* block = find(arena, memory);
  if (block) {
    tdelete(block, &arena->by_handle, compare);
    give_pages(arena, block);
    arena->used_bytes -= block->used_bytes;
    arena->live_count--;
    block->used_bytes = 0;
    if (arena->config.handles == VDEV_REUSE) {
      arena->cursor = block;
      arena->cursor_offset = block->offset;
    }
    join(arena, block);
    join(arena, block->previous);
  }
  pthread_mutex_unlock(&arena->lock);
  return block != NULL;
}

static char* find_opaque(vdev_arena_t* arena, vdev_memory_t memory, uint64_t offset,
                         uint64_t size_bytes) {
  char* found = NULL;
  pthread_mutex_lock(&arena->lock);
  const block_t* block = find(arena, memory);
  if (block && offset <= block->size_bytes && size_bytes <= block->size_bytes - offset)
    found = arena->alias + block->offset + offset;
  pthread_mutex_unlock(&arena->lock);
  return found;
}

char* vdev_arena_at(vdev_arena_t* arena, vdev_memory_t memory, uint64_t offset,
                    uint64_t size_bytes) {
  if (!arena->config.flat) return find_opaque(arena, memory, offset, size_bytes);
  if (memory < arena->base || memory - arena->base > arena->span_bytes) return NULL;
  uint64_t left = arena->span_bytes - (memory - arena->base);
  if (offset > left || size_bytes > left - offset) return NULL;
  return arena->alias + (memory - arena->base) + offset;
}

/* Returns whether a handle is this block's, or an address lies in it. */
static bool holds(const vdev_arena_t* arena, const block_t* block, vdev_memory_t memory) {
  if (!block->used_bytes || memory < block->handle) return false;
  return memory == block->handle ||
         (arena->config.flat && memory - block->handle < block->size_bytes);
}

bool vdev_arena_find(vdev_arena_t* arena, vdev_memory_t memory, vdev_memory_t* out_block,
                     uint64_t* out_size_bytes) {
  pthread_mutex_lock(&arena->lock);
  const block_t* block = arena->first;
  while (block && !holds(arena, block, memory))
    block = block->next;
  if (block) {
    *out_block = block->handle;
    *out_size_bytes = block->size_bytes;
  }
  pthread_mutex_unlock(&arena->lock);
  return block != NULL;
}

uint64_t vdev_arena_free_bytes(vdev_arena_t* arena) {
  pthread_mutex_lock(&arena->lock);
  uint64_t free_bytes = arena->config.memory_bytes - arena->used_bytes;
  pthread_mutex_unlock(&arena->lock);
  return free_bytes;
}

uint64_t vdev_arena_live_count(vdev_arena_t* arena) {
  pthread_mutex_lock(&arena->lock);
  uint64_t count = arena->live_count;
  pthread_mutex_unlock(&arena->lock);
  return count;
}
