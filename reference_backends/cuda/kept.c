/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kept.c: memory in the order of a queue. The driver's pool of the device gives it, where there is one. Else it is
 * plain memory, which is kept when it is given back: later work of the same queue may have it at once; once the
 * queue is gone, any other may have it when an event behind its last work is complete. It is freed where memory is
 * short, and when the device is closed: freeing may wait, and a launch must not.
 */
#include <stdlib.h>

#include "cuda.h"

enum { LEAST_BYTES = 1 << 16 };

typedef enum kept_state {
  IN_USE,
  OF_QUEUE, /* given back: for later work of its queue */
  OF_NOBODY /* the queue is gone */
} kept_state_t;

struct cuda_kept {
  LIST_ENTRY(cuda_kept) entry;
  kept_state_t state;
  cu_deviceptr pointer;
  uint64_t size_bytes;
  cu_stream queue;
  cu_event event; /* recorded when it is given back */
};

static cu_result release(cuda_kept_t* kept) {
  if (kept->pointer != 0) {
    const cu_result freed = cuda_driver()->mem_free(kept->pointer);
    if (freed != CU_OK) return freed; /* it stays in its list, for the next try */
    kept->pointer = 0;
  }
  const cu_result destroyed =
      kept->event != NULL ? cuda_driver()->event_destroy(kept->event) : CU_OK;
  LIST_REMOVE(kept, entry);
  free(kept);
  return destroyed;
}

/* Frees what no work uses any more; the first error. Whether anything was is in *out_any. */
static cu_result trim(cuda_device_t* device, bool* out_any) {
  cuda_kept_t *kept = LIST_FIRST(&device->kept), *next;
  cu_result result = CU_OK;
  *out_any = false;
  for (; kept != NULL && result == CU_OK; kept = next) {
    next = LIST_NEXT(kept, entry);
    if (kept->state == IN_USE) continue;
    result = cuda_driver()->event_query(kept->event);
    if (result == CU_OK) {
      result = release(kept);
      *out_any = true;
    } else if (result == CU_NOT_READY) {
      result = CU_OK;
    }
  }
  return result;
}

cu_result cuda_mem_alloc(cuda_device_t* device, uint64_t size_bytes, cu_deviceptr* out) {
  bool any;
  cu_result result = cuda_driver()->mem_alloc(out, size_bytes);
  if (result != CU_OUT_OF_MEMORY || device->pools) return result;
  pthread_mutex_lock(&device->kept_lock);
  const cu_result trimmed = trim(device, &any);
  pthread_mutex_unlock(&device->kept_lock);
  if (trimmed != CU_OK) return trimmed;
  return any ? cuda_driver()->mem_alloc(out, size_bytes) : result;
}

/* Whether the queue may have it at once. */
static cu_result is_free(const cuda_kept_t* kept, cu_stream queue, bool* out) {
  *out = kept->state == OF_QUEUE && kept->queue == queue;
  if (kept->state != OF_NOBODY) return CU_OK;
  const cu_result result = cuda_driver()->event_query(kept->event);
  *out = result == CU_OK;
  return result == CU_NOT_READY ? CU_OK : result;
}

/* The smallest that is large enough; NULL where there is none. */
static cu_result find(cuda_device_t* device, cu_stream queue, uint64_t size_bytes,
                      cuda_kept_t** out) {
  cu_result result = CU_OK;
  cuda_kept_t* kept;
  *out = NULL;
  LIST_FOREACH(kept, &device->kept, entry) {
    bool fits = false;
    if (kept->size_bytes < size_bytes || (*out && (*out)->size_bytes <= kept->size_bytes)) continue;
    if (result == CU_OK) result = is_free(kept, queue, &fits);
    if (fits) *out = kept;
  }
  return result;
}

/* Rounded up to a power of two, so that what is kept is at most some times what is used at once; exactly what
 * is asked for where that is too much. */
static cu_result allocate(cuda_device_t* device, uint64_t size_bytes, cuda_kept_t* kept) {
  bool any;
  for (kept->size_bytes = LEAST_BYTES; kept->size_bytes < size_bytes;)
    kept->size_bytes *= 2;
  cu_result result = cuda_driver()->mem_alloc(&kept->pointer, kept->size_bytes);
  if (result != CU_OUT_OF_MEMORY) return result;
  result = trim(device, &any);
  if (result != CU_OK) return result;
  kept->size_bytes = size_bytes;
  return cuda_driver()->mem_alloc(&kept->pointer, size_bytes);
}

/* Called with the lock. */
static cu_result make(cuda_device_t* device, uint64_t size_bytes, cuda_kept_t** out) {
  cuda_kept_t* kept = calloc(1, sizeof *kept);
  if (kept == NULL) return CU_OUT_OF_MEMORY;
  cu_result result = cuda_driver()->event_create(&kept->event, CU_EVENT_DISABLE_TIMING);
  if (result != CU_OK) kept->event = NULL;
  if (result == CU_OK) result = allocate(device, size_bytes, kept);
  LIST_INSERT_HEAD(&device->kept, kept, entry);
  if (result == CU_OK) {
    *out = kept;
  } else {
    kept->pointer = 0;
    (void)release(kept);
  }
  return result;
}

cu_result cuda_take(cuda_device_t* device, cu_stream queue, uint64_t size_bytes,
                    cu_deviceptr* out) {
  if (device->pools) return cuda_driver()->mem_alloc_async(out, size_bytes, queue);
  cuda_kept_t* kept;
  pthread_mutex_lock(&device->kept_lock);
  cu_result result = find(device, queue, size_bytes, &kept);
  if (result == CU_OK && kept == NULL) result = make(device, size_bytes, &kept);
  if (result == CU_OK) {
    kept->state = IN_USE;
    *out = kept->pointer;
  }
  pthread_mutex_unlock(&device->kept_lock);
  return result;
}

cu_result cuda_give(cuda_device_t* device, cu_stream queue, cu_deviceptr pointer) {
  if (device->pools) return cuda_driver()->mem_free_async(pointer, queue);
  cuda_kept_t* kept;
  cu_result result = CU_OK;
  pthread_mutex_lock(&device->kept_lock);
  LIST_FOREACH(kept, &device->kept, entry) {
    if (kept->pointer == pointer && kept->state == IN_USE) break;
  }
  if (kept != NULL) result = cuda_driver()->event_record(kept->event, queue);
  if (kept != NULL && result == CU_OK) {
    kept->state = OF_QUEUE;
    kept->queue = queue;
  }
  pthread_mutex_unlock(&device->kept_lock);
  return result;
}

void cuda_kept_leave_queue(cuda_device_t* device, cu_stream queue) {
  cuda_kept_t* kept;
  pthread_mutex_lock(&device->kept_lock);
  LIST_FOREACH(kept, &device->kept, entry) {
    if (kept->state == OF_QUEUE && kept->queue == queue) kept->state = OF_NOBODY;
  }
  pthread_mutex_unlock(&device->kept_lock);
}

cu_result cuda_kept_free(cuda_device_t* device, bool entered) {
  cu_result first = CU_OK;
  cuda_kept_t* kept;
  while ((kept = LIST_FIRST(&device->kept)) != NULL) {
    const cu_result result = entered ? release(kept) : CU_OK;
    if (LIST_FIRST(&device->kept) == kept) { /* it goes with the context */
      LIST_REMOVE(kept, entry);
      free(kept);
    }
    if (first == CU_OK) first = result;
  }
  return first;
}
