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

/* Takes a block; NULL where there is no room for one, which is no error, since the stream can be waited for. */
static acl_result take(npu_pool_t* pool, npu_block_t** out_block) {
  acl_result result = ACL_OK;
  pthread_mutex_lock(&pool->lock);
  *out_block = find_free(pool);
  if (*out_block != NULL) {
    TAILQ_REMOVE(&pool->blocks, *out_block, entry);
  } else if (pool->count < MOST_BLOCKS) {
    result = new_block(out_block);
    pool->count += result == ACL_OK;
  }
  pthread_mutex_unlock(&pool->lock);
  return npu_translate(result) == TBK_OUT_OF_MEMORY ? ACL_OK : result;
}

static void give_back(npu_pool_t* pool, npu_block_t* block) {
  pthread_mutex_lock(&pool->lock);
  TAILQ_INSERT_TAIL(&pool->blocks, block, entry);
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

npu_copy_t npu_part(const npu_copy_t* copy, uint64_t offset, uint64_t most_bytes) {
  const uint64_t left = copy->size_bytes - offset;
  return (npu_copy_t){(char*)copy->destination + offset, (const char*)copy->source + offset,
                      left < most_bytes ? left : most_bytes, copy->kind};
}

acl_result npu_bounce(npu_pool_t* pool, const npu_copy_t* copy, acl_stream stream,
                      uint64_t* out_bytes) {
  acl_result result = ACL_OK;
  *out_bytes = 0;
  if (copy->size_bytes > (uint64_t)MOST_BLOCKS * BLOCK_BYTES) return ACL_OK;
  while (result == ACL_OK && *out_bytes < copy->size_bytes) {
    npu_block_t* block;
    const npu_copy_t part = npu_part(copy, *out_bytes, BLOCK_BYTES);
    result = take(pool, &block);
    if (block == NULL) break;
    result = enqueue(block, &part, stream);
    give_back(pool, block);
    *out_bytes += part.size_bytes;
  }
  return result;
}
