/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * bounce.c: copies of pageable host memory that nobody waits for, by way of pinned blocks. An upload's bytes
 * are in a block before the call returns; a download's are taken out of it by a host function behind the copy.
 * A block is used again when the event behind its last use is complete.
 */
#include "bounce.h"

#include <stdlib.h>
#include <string.h>

#include "npu.h"

/* Blocks of one size, so that any of them serves; 64 MiB in all. There are a few before one is used again,
 * because a copy right behind another would ask in vain. */
enum { BLOCK_BYTES = 256 << 10, MOST_BLOCKS = 256, FEW_BLOCKS = 8 };

struct npu_block {
  TAILQ_ENTRY(npu_block) entry;
  void* memory;
  acl_event last_use;
  bool used;         /* the event was recorded, and may be pending */
  bool stuck;        /* it could not be recorded: nobody knows when the block is free */
  void* destination; /* of a download */
  uint64_t size_bytes;
};

typedef TAILQ_HEAD(blocks, npu_block) blocks_t;

void npu_pool_begin(npu_pool_t* pool) {
  pthread_mutex_init(&pool->lock, NULL);
  TAILQ_INIT(&pool->blocks);
}

void npu_pool_end(npu_pool_t* pool, bool idle) {
  npu_block_t* block;
  while (idle && (block = TAILQ_FIRST(&pool->blocks)) != NULL) {
    TAILQ_REMOVE(&pool->blocks, block, entry);
    npu_acl()->event_destroy(block->last_use);
    npu_acl()->free_host(block->memory);
    free(block);
  }
  TAILQ_INIT(&pool->blocks);
  pool->count = 0;
}

static bool is_free(npu_block_t* block) {
  int state = ACL_EVENT_RECORDED_NOT_READY;
  if (block->used && !block->stuck)
    block->used = npu_acl()->event_query(block->last_use, &state) != ACL_OK ||
                  state != ACL_EVENT_RECORDED_COMPLETE;
  return !block->used;
}

/* Those that were used longest ago come first. All are looked at only where there can be no more of them. */
static npu_block_t* find_free(npu_pool_t* pool) {
  npu_block_t* block;
  int looked = 0;
  if (pool->count < FEW_BLOCKS) return NULL;
  TAILQ_FOREACH(block, &pool->blocks, entry) {
    if (is_free(block)) return block;
    if (++looked == FEW_BLOCKS && pool->count < MOST_BLOCKS) break;
  }
  return NULL;
}

static acl_result new_block(npu_block_t** out_block) {
  const acl_runtime_t* acl = npu_acl();
  npu_block_t* block = calloc(1, sizeof *block);
  if (block == NULL) return ACL_BAD_ALLOC;
  acl_result result = acl->malloc_host(&block->memory, BLOCK_BYTES);
  if (result == ACL_OK) {
    result = acl->event_create(&block->last_use, ACL_EVENT_SYNC);
    if (result != ACL_OK) acl->free_host(block->memory);
  }
  if (result == ACL_OK)
    *out_block = block;
  else
    free(block);
  return result;
}

/* Takes so many blocks, or none where there is no room: that is no error, since the stream can be waited for. */
static acl_result take(npu_pool_t* pool, uint64_t count, blocks_t* out_blocks) {
  acl_result result = ACL_OK;
  TAILQ_INIT(out_blocks);
  pthread_mutex_lock(&pool->lock);
  while (count > 0) {
    npu_block_t* block = find_free(pool);
    if (block != NULL) {
      TAILQ_REMOVE(&pool->blocks, block, entry);
    } else if (pool->count < MOST_BLOCKS) {
      result = new_block(&block);
      pool->count += result == ACL_OK;
    }
    if (block == NULL) break;
    TAILQ_INSERT_TAIL(out_blocks, block, entry);
    count--;
  }
  if (count > 0) TAILQ_CONCAT(&pool->blocks, out_blocks, entry);
  pthread_mutex_unlock(&pool->lock);
  return npu_translate(result) == TBK_OUT_OF_MEMORY ? ACL_OK : result;
}

static void give_back(npu_pool_t* pool, blocks_t* blocks) {
  pthread_mutex_lock(&pool->lock);
  TAILQ_CONCAT(&pool->blocks, blocks, entry);
  pthread_mutex_unlock(&pool->lock);
}

static void arrive(void* argument) {
  const npu_block_t* block = argument;
  memcpy(block->destination, block->memory, block->size_bytes);
}

static acl_result copy_by(npu_block_t* block, const npu_copy_t* part, acl_stream stream) {
  const acl_runtime_t* acl = npu_acl();
  const uint64_t size = block->size_bytes = part->size_bytes;
  if (part->kind == ACL_HOST_TO_DEVICE) {
    memcpy(block->memory, part->source, size);
    return acl->copy_async(part->destination, size, block->memory, size, part->kind, stream);
  }
  block->destination = part->destination;
  acl_result result = acl->copy_async(block->memory, size, part->source, size, part->kind, stream);
  return result == ACL_OK ? acl->launch_host_function(stream, arrive, block) : result;
}

/* The event is recorded after an error, too: part of the work may have been taken. */
static acl_result enqueue(npu_block_t* block, const npu_copy_t* part, acl_stream stream) {
  acl_result result = copy_by(block, part, stream);
  acl_result recorded = npu_acl()->event_record(block->last_use, stream);
  block->used = true;
  block->stuck = recorded != ACL_OK;
  return result != ACL_OK ? result : recorded;
}

acl_result npu_bounce(npu_pool_t* pool, const npu_copy_t* copy, acl_stream stream,
                      bool* out_enqueued) {
  const uint64_t count = (copy->size_bytes - 1) / BLOCK_BYTES + 1;
  npu_block_t* block;
  blocks_t blocks;
  *out_enqueued = false;
  if (count > MOST_BLOCKS) return ACL_OK;
  acl_result result = take(pool, count, &blocks);
  *out_enqueued = !TAILQ_EMPTY(&blocks);
  uint64_t offset = 0;
  TAILQ_FOREACH(block, &blocks, entry) {
    const uint64_t left = copy->size_bytes - offset;
    const npu_copy_t part = {(char*)copy->destination + offset, (const char*)copy->source + offset,
                             left < BLOCK_BYTES ? left : BLOCK_BYTES, copy->kind};
    if (result == ACL_OK) result = enqueue(block, &part, stream);
    offset += BLOCK_BYTES;
  }
  give_back(pool, &blocks);
  return result;
}
