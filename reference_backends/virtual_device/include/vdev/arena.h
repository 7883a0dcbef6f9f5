/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * arena.h: the memory of a device, with an allocator and a limit. It is a file in memory, mapped
 * twice: the addresses that are handed out trap when the host touches them, and the alias at a fixed
 * distance is what the device's work reads and writes (words.h).
 */
#ifndef VDEV_ARENA_H
#define VDEV_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vdev_arena vdev_arena_t;

/* A handle of memory; 0 is none. */
typedef uint64_t vdev_memory_t;

/* Which addresses come next: not those that were used lately; the last given back; none twice. */
enum { VDEV_FRESH, VDEV_REUSE, VDEV_NEVER };

typedef struct vdev_arena_config {
  uint64_t memory_bytes;     /* all that can be taken; a multiple of 4096, not 0 */
  uint64_t alignment;        /* of handles; a power of two, 16 to 2 MiB */
  uint64_t handles;          /* VDEV_FRESH, VDEV_REUSE or VDEV_NEVER */
  uint64_t flat;             /* handles are addresses: what lies inside of a block may be named */
  uint64_t poison;           /* fresh memory is filled with 0xcb */
  uint64_t allocation_bytes; /* most of one block; 0: no limit but memory */
} vdev_arena_config_t;

/*
 * Makes an arena. `generation` makes opaque handles (flat = 0) differ from those of an older arena.
 * Requires: `config` is as said above; it is copied.
 * Ensures: nothing is taken; memory is given by the host when it is first written.
 * Ownership: the caller's, until vdev_arena_free.
 * Errors: NULL where the host has no memory, addresses or descriptors left.
 */
vdev_arena_t* vdev_arena_new(const vdev_arena_config_t* config, uint32_t generation);

/*
 * Gives the memory back, and keeps the addresses: no arena that comes later hands them out.
 * Requires: no work on its memory is left. Ensures: only vdev_arena_free may follow.
 */
void vdev_arena_empty(vdev_arena_t* arena);

/*
 * Ends the arena, with all blocks that are in use.
 * Requires: no thread uses it; NULL is nothing.
 */
void vdev_arena_free(vdev_arena_t* arena);

/*
 * Takes `size_bytes`; 0 bytes get a handle too.
 * Ensures: the handle is a multiple of the alignment where handles are addresses, no other block in use
 * has it, and it is live until given back. What is counted is the size, rounded up to 64 bytes at most.
 * Threads: any. Errors: 0 where a limit, the addresses or the host's memory do not suffice.
 */
vdev_memory_t vdev_arena_take(vdev_arena_t* arena, uint64_t size_bytes);

/*
 * Gives a block back. Whether work still uses it is the caller's affair.
 * Threads: any. Errors: false, and nothing changes, where it is not the handle of a block in use.
 */
bool vdev_arena_give(vdev_arena_t* arena, vdev_memory_t memory);

/*
 * Returns where work finds [memory + offset, memory + offset + size_bytes): in the block of this
 * handle where handles are opaque, else anywhere in the device's memory, as on hardware.
 * Ensures: the place stays until the arena is emptied.
 * Threads: any. Errors: NULL where that is outside.
 */
char* vdev_arena_at(vdev_arena_t* arena, vdev_memory_t memory, uint64_t offset,
                    uint64_t size_bytes);

/*
 * Finds the block in use that a handle, or an address inside of a block, belongs to, and writes its
 * handle and its size as asked for. It is for faces that check what hardware does not; its time grows
 * with the number of blocks.
 * Threads: any. Errors: false, and nothing is written, where there is none.
 */
bool vdev_arena_find(vdev_arena_t* arena, vdev_memory_t memory, vdev_memory_t* out_block,
                     uint64_t* out_size_bytes);

/* Returns how much can still be taken, if it were in one piece. Threads: any. */
uint64_t vdev_arena_free_bytes(vdev_arena_t* arena);

/* Returns how many blocks are in use. Threads: any. */
uint64_t vdev_arena_live_count(vdev_arena_t* arena);

#endif /* VDEV_ARENA_H */
