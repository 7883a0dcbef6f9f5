/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * bounce.h: pinned memory by which copies of pageable memory go; a pool for each device.
 */
#ifndef TBK_NPU_BOUNCE_H
#define TBK_NPU_BOUNCE_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "library.h"

typedef struct npu_block npu_block_t;

typedef struct npu_pool {
  pthread_mutex_t lock; /* guards what follows, and the blocks that are in the list */
  TAILQ_HEAD(, npu_block) blocks;
  int count; /* also of those that are taken */
} npu_pool_t;

typedef struct npu_copy {
  void* destination;
  const void* source;
  uint64_t size_bytes;
  int kind; /* ACL_HOST_TO_DEVICE, ... */
} npu_copy_t;

/* What begins so many bytes on, at the most so much of it. */
npu_copy_t npu_part(const npu_copy_t* copy, uint64_t offset, uint64_t most_bytes);

void npu_pool_begin(npu_pool_t* pool);
/* Frees the blocks where the device is `idle`, in its context. Where nobody knows that, as after a fault, the
 * driver's part goes with the context, and ours stays: a host function that comes late finds it. */
void npu_pool_end(npu_pool_t* pool, bool idle);

/*
 * Enqueues a copy between device and pageable memory, or as much of its beginning as there is room for, and says how
 * much; called with the lock of the stream's queue. Downloads need launch_host_function.
 */
acl_result npu_bounce(npu_pool_t* pool, const npu_copy_t* copy, acl_stream stream,
                      uint64_t* out_bytes);

#endif /* TBK_NPU_BOUNCE_H */
