/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * arena.c: the memory of a device, and its allocator: a next-fit search over blocks in the order of
 * their addresses, which are joined again when they are free. Where the search begins is what the
 * option handles= decides: behind the last allocation, or at the block that was freed last.
 */
#include "cpu.h"

#include <search.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct cpu_block {
  tbk_memory_t handle; /* the key in by_handle */
  cpu_block_t *previous, *next;
  uint64_t offset;
  uint64_t span_bytes; /* of addresses */
  uint64_t size_bytes; /* as asked for */
  uint64_t used_bytes; /* counted against the limit; 0 where it is free */
};

enum { PAGE = 4096 };
#define SPAN_MOST (UINT64_C(256) << 30)

static uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

static int compare(const void* left, const void* right) {
  tbk_memory_t a = ((const cpu_block_t*)left)->handle, b = ((const cpu_block_t*)right)->handle;
  return (a > b) - (a < b);
}

/* More addresses than memory where each block takes many, or where none may come back. */
static uint64_t span_for(const cpu_options_t* options) {
  uint64_t times = options->alignment > 64 ? options->alignment / 64 : 1;
  uint64_t most = options->memory > SPAN_MOST ? options->memory : SPAN_MOST;
  if (options->handles == CPU_NEVER || times > most / options->memory) return most;
  return options->memory * times;
}

static bool map_pair(cpu_arena_t* arena, int file) {
  uint64_t alignment = arena->options->alignment > PAGE ? arena->options->alignment : PAGE;
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

cpu_arena_t* cpu_arena_new(const cpu_options_t* options, uint32_t generation) {
  cpu_arena_t* arena = calloc(1, sizeof *arena);
  cpu_block_t* all = calloc(1, sizeof *all);
  int file = memfd_create("tbk_cpu", MFD_CLOEXEC);
  if (arena && all && file >= 0) {
    arena->options = options;
    arena->span_bytes = span_for(options);
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

void cpu_arena_empty(cpu_arena_t* arena) {
  void* base = arena->reservation;
  mmap(base, arena->reservation_bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static void keep_node(void* node) {
  (void)node; /* blocks are freed by their list */
}

void cpu_arena_free(cpu_arena_t* arena) {
  if (!arena) return;
  tdestroy(arena->by_handle, keep_node);
  for (cpu_block_t *block = arena->first, *next; block; block = next) {
    next = block->next;
    free(block);
  }
  munmap(arena->reservation, arena->reservation_bytes);
  pthread_mutex_destroy(&arena->lock);
  free(arena);
}

static bool fits(const cpu_block_t* block, uint64_t from, uint64_t span_bytes) {
  if (block->used_bytes || block->span_bytes < span_bytes) return false;
  uint64_t skipped = from > block->offset ? from - block->offset : 0;
  return block->span_bytes >= skipped && block->span_bytes - skipped >= span_bytes;
}

static cpu_block_t* search(cpu_arena_t* arena, uint64_t span_bytes, uint64_t* out_offset) {
  *out_offset = arena->cursor_offset;
  if (fits(arena->cursor, arena->cursor_offset, span_bytes)) return arena->cursor;
  for (cpu_block_t* block = arena->cursor->next; block; block = block->next)
    if (fits(block, 0, span_bytes)) return *out_offset = block->offset, block;
  for (cpu_block_t* block = arena->first; block; block = block->next)
    if (fits(block, 0, span_bytes)) return *out_offset = block->offset, block;
  return NULL;
}

/* Cuts `block` in two at `offset`, and gives the second; NULL without host memory. */
static cpu_block_t* split(cpu_block_t* block, uint64_t offset) {
  cpu_block_t* rest = calloc(1, sizeof *rest);
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
static void join(cpu_arena_t* arena, cpu_block_t* block) {
  cpu_block_t* next = block ? block->next : NULL;
  if (!next || block->used_bytes || next->used_bytes) return;
  block->span_bytes += next->span_bytes;
  block->next = next->next;
  if (block->next) block->next->previous = block;
  if (arena->cursor == next) arena->cursor = block;
  free(next);
}

static cpu_block_t* carve(cpu_arena_t* arena, cpu_block_t* block, uint64_t offset,
                          uint64_t span_bytes) {
  cpu_block_t* before = NULL;
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

static bool enlist(cpu_arena_t* arena, cpu_block_t* block, uint64_t size_bytes) {
  uint64_t unit = arena->options->alignment < 64 ? arena->options->alignment : 64;
  block->handle = arena->options->flat ? arena->base + block->offset
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

tbk_memory_t cpu_arena_take(cpu_arena_t* arena, uint64_t size_bytes) {
  tbk_memory_t memory = 0;
  char* poisoned = NULL;
  pthread_mutex_lock(&arena->lock);
  if (size_bytes <= arena->options->memory - arena->used_bytes &&
      arena->used_bytes < arena->options->memory) {
    uint64_t offset, span_bytes = round_up(size_bytes ? size_bytes : 1, arena->options->alignment);
    cpu_block_t* block = search(arena, span_bytes, &offset);
    if (block) block = carve(arena, block, offset, span_bytes);
    if (block && enlist(arena, block, size_bytes)) {
      memory = block->handle;
      poisoned = arena->options->poison ? arena->alias + block->offset : NULL;
    } else if (block) {
      join(arena, block);
      join(arena, block->previous);
    }
  }
  pthread_mutex_unlock(&arena->lock);
  if (poisoned) cpu_words_fill(poisoned, 0xcb, size_bytes);
  return memory;
}

/* Where there are more addresses than memory, pages of free blocks go back. */
static void give_pages(const cpu_arena_t* arena, const cpu_block_t* block) {
  if (arena->span_bytes == arena->options->memory) return;
  uint64_t begin = round_up(block->offset, PAGE);
  uint64_t end = (block->offset + block->span_bytes) / PAGE * PAGE;
  uint64_t used_end = round_up(block->offset + block->size_bytes, PAGE);
  if (end > used_end) end = used_end;
  if (end > begin) madvise(arena->alias + begin, end - begin, MADV_REMOVE);
}

void cpu_arena_give(cpu_arena_t* arena, tbk_memory_t memory) {
  const cpu_block_t key = {.handle = memory};
  pthread_mutex_lock(&arena->lock);
  void* node = tfind(&key, &arena->by_handle, compare);
  cpu_block_t* block = node ? *(cpu_block_t**)node : NULL;
  if (block) {
    tdelete(block, &arena->by_handle, compare);
    give_pages(arena, block);
    arena->used_bytes -= block->used_bytes;
    arena->live_count--;
    block->used_bytes = 0;
    if (arena->options->handles == CPU_REUSE) {
      arena->cursor = block;
      arena->cursor_offset = block->offset;
    }
    join(arena, block);
    join(arena, block->previous);
  }
  pthread_mutex_unlock(&arena->lock);
}

static char* find_opaque(cpu_arena_t* arena, tbk_memory_t memory, uint64_t offset,
                         uint64_t size_bytes) {
  const cpu_block_t key = {.handle = memory};
  char* found = NULL;
  pthread_mutex_lock(&arena->lock);
  void* node = tfind(&key, &arena->by_handle, compare);
  const cpu_block_t* block = node ? *(cpu_block_t**)node : NULL;
  if (block && offset <= block->size_bytes && size_bytes <= block->size_bytes - offset)
    found = arena->alias + block->offset + offset;
  pthread_mutex_unlock(&arena->lock);
  return found;
}

char* cpu_arena_at(cpu_arena_t* arena, tbk_memory_t memory, uint64_t offset, uint64_t size_bytes) {
  if (!arena->options->flat) return find_opaque(arena, memory, offset, size_bytes);
  if (memory < arena->base || memory - arena->base > arena->span_bytes) return NULL;
  uint64_t left = arena->span_bytes - (memory - arena->base);
  if (offset > left || size_bytes > left - offset) return NULL;
  return arena->alias + (memory - arena->base) + offset;
}

uint64_t cpu_arena_free_bytes(cpu_arena_t* arena) {
  pthread_mutex_lock(&arena->lock);
  uint64_t free_bytes = arena->options->memory - arena->used_bytes;
  pthread_mutex_unlock(&arena->lock);
  return free_bytes;
}
