/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.c: device memory, pinned memory, copies and fills.
 */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "simulator.h"

typedef struct sim_pinned {
  uintptr_t start;
  uint64_t size_bytes;
  cu_context context;
} sim_pinned_t;

static int by_range(const void* left, const void* right) {
  const sim_pinned_t *a = left, *b = right;
  if (a->start + a->size_bytes <= b->start) return -1;
  return a->start >= b->start + b->size_bytes;
}

bool sim_is_pinned(const void* pointer, uint64_t size_bytes) {
  sim_pinned_t key = {.start = (uintptr_t)pointer, .size_bytes = 1};
  pthread_mutex_lock(&sim.lock);
  sim_pinned_t* const* found = tfind(&key, &sim.pinned, by_range);
  bool inside = found != NULL && key.start + size_bytes <= (*found)->start + (*found)->size_bytes;
  pthread_mutex_unlock(&sim.lock);
  return inside;
}

cu_result api_mem_host_alloc(void** out, size_t size_bytes, unsigned flags) {
  cu_context context;
  cu_result result = sim_begin_in_context("cuMemHostAlloc", &context);
  if (result != CU_OK) return result;
  if (out == NULL) return sim_broken(SIM_NULL_POINTER, "cuMemHostAlloc");
  if (size_bytes == 0) return sim_broken(SIM_SIZE_ELSEWHERE, "cuMemHostAlloc");
  if (flags > 7) return sim_broken(SIM_FLAGS, "cuMemHostAlloc");
  void* pointer = vdev_pinned_take(sim.machine, size_bytes);
  sim_pinned_t* entry = malloc(sizeof *entry);
  bool kept = false;
  if (pointer != NULL && entry != NULL) {
    *entry = (sim_pinned_t){(uintptr_t)pointer, size_bytes, context};
    pthread_mutex_lock(&sim.lock);
    kept = tsearch(entry, &sim.pinned, by_range) != NULL;
    pthread_mutex_unlock(&sim.lock);
  }
  if (!kept) {
    free(entry);
    if (pointer != NULL) vdev_pinned_give(sim.machine, pointer);
    return CU_OUT_OF_MEMORY;
  }
  *out = pointer;
  return CU_OK;
}

/* Takes the allocation that starts here out of the tree; NULL where there is none. */
static sim_pinned_t* forget(const void* pointer) {
  sim_pinned_t key = {.start = (uintptr_t)pointer, .size_bytes = 1};
  sim_pinned_t* const* found = tfind(&key, &sim.pinned, by_range);
  sim_pinned_t* entry = found != NULL && (*found)->start == key.start ? *found : NULL;
  if (entry != NULL) tdelete(entry, &sim.pinned, by_range);
  return entry;
}

cu_result api_mem_free_host(void* pointer) {
  cu_context context;
  cu_result result = sim_begin_in_context("cuMemFreeHost", &context);
  if (result != CU_OK) return result;
  pthread_mutex_lock(&sim.lock);
  sim_pinned_t* entry = forget(pointer);
  pthread_mutex_unlock(&sim.lock);
  if (entry == NULL) return sim_broken(SIM_FREE_HOST, "cuMemFreeHost");
  vdev_pinned_give(sim.machine, pointer);
  free(entry);
  return CU_OK;
}

typedef struct find_pinned {
  cu_context context;
  const sim_pinned_t* found;
} find_pinned_t;

static void find_of_context(const void* node, VISIT visit, void* closure) {
  find_pinned_t* find = closure;
  const sim_pinned_t* entry = *(sim_pinned_t* const*)node;
  (void)visit;
  if (entry->context == find->context) find->found = entry;
}

bool sim_pinned_end(cu_context context) {
  for (bool any = false;; any = true) {
    find_pinned_t find = {context, NULL};
    pthread_mutex_lock(&sim.lock);
    twalk_r(sim.pinned, find_of_context, &find);
    sim_pinned_t* entry = find.found ? forget((const void*)find.found->start) : NULL;
    pthread_mutex_unlock(&sim.lock);
    if (entry == NULL) return any;
    vdev_pinned_give(sim.machine, (void*)entry->start);
    free(entry);
  }
}

cu_result api_mem_alloc(cu_deviceptr* out, size_t size_bytes) {
  cu_context context;
  cu_result result = sim_begin_in_context("cuMemAlloc", &context);
  if (result != CU_OK) return result;
  if (out == NULL) return sim_broken(SIM_NULL_POINTER, "cuMemAlloc");
  if (size_bytes == 0) return sim_broken(SIM_SIZE, "cuMemAlloc");
  cu_deviceptr pointer = vdev_arena_take(vdev_device_arena(context->device), size_bytes);
  if (pointer == 0) return CU_OUT_OF_MEMORY;
  *out = pointer;
  return CU_OK;
}

cu_result api_mem_free(cu_deviceptr pointer) {
  cu_context context;
  cu_result result = sim_begin_in_context("cuMemFree", &context);
  if (result != CU_OK) return result;
  if (!vdev_arena_give(vdev_device_arena(context->device), pointer))
    return sim_broken(SIM_FREE, "cuMemFree");
  return CU_OK;
}

cu_result api_mem_alloc_async(cu_deviceptr* out, size_t size_bytes, cu_stream stream) {
  static const char call[] = "cuMemAllocAsync";
  cu_context context;
  vdev_stream_t* queue;
  cu_result result = sim_begin_on_stream(stream, call, &context, &queue);
  if (result != CU_OK) return result;
  if (!sim.own.pools) return CU_NOT_SUPPORTED;
  if (out == NULL) return sim_broken(SIM_NULL_POINTER, call);
  if (size_bytes == 0) return sim_broken(SIM_SIZE_ELSEWHERE, call);
  cu_deviceptr pointer = vdev_arena_take(vdev_device_arena(context->device), size_bytes);
  if (pointer == 0) return CU_OUT_OF_MEMORY;
  *out = pointer;
  return CU_OK;
}

typedef struct give_work {
  vdev_work_t work;
  vdev_arena_t* arena;
  cu_deviceptr pointer;
} give_work_t;

static void give(vdev_work_t* work) {
  const give_work_t* this = (const give_work_t*)work;
  if (!vdev_arena_give(this->arena, this->pointer)) (void)sim_broken(SIM_FREE, "cuMemFreeAsync");
}

cu_result api_mem_free_async(cu_deviceptr pointer, cu_stream stream) {
  cu_context context;
  vdev_stream_t* queue;
  cu_result result = sim_begin_on_stream(stream, "cuMemFreeAsync", &context, &queue);
  if (result != CU_OK) return result;
  if (!sim.own.pools) return CU_NOT_SUPPORTED;
  sim_block_t block;
  if (!sim_find_block(context, pointer, &block) || block.offset != 0)
    return sim_broken(SIM_FREE, "cuMemFreeAsync");
  give_work_t* work = vdev_work_new(sizeof *work, give);
  if (work != NULL) {
    work->work.always = true;
    work->arena = vdev_device_arena(context->device);
    work->pointer = pointer;
  }
  return sim_of_status(vdev_submit(queue, work));
}

cu_result api_mem_get_info(size_t* out_free, size_t* out_total) {
  cu_context context;
  cu_result result = sim_begin_in_context("cuMemGetInfo", &context);
  if (result != CU_OK) return result;
  if (out_free == NULL || out_total == NULL) return sim_broken(SIM_NULL_POINTER, "cuMemGetInfo");
  *out_free = vdev_arena_free_bytes(vdev_device_arena(context->device));
  *out_total = vdev_machine_config(sim.machine)->arena.memory_bytes;
  return CU_OK;
}

bool sim_find_block(cu_context context, cu_deviceptr pointer, sim_block_t* out) {
  vdev_memory_t block = 0;
  uint64_t room = 0;
  pthread_mutex_lock(&sim.lock);
  vdev_arena_t* arena = context->references > 0 ? vdev_device_arena(context->device) : NULL;
  pthread_mutex_unlock(&sim.lock);
  if (arena == NULL || !vdev_arena_find(arena, pointer, &block, &room)) return false;
  *out = (sim_block_t){vdev_arena_at(arena, block, 0, room), room, pointer - block};
  return out->at != NULL;
}

/* Finds where work finds a range of one context; NULL where it does not lie in one live block. */
static char* find_in(cu_context context, cu_deviceptr pointer, uint64_t size_bytes) {
  sim_block_t block;
  if (!sim_find_block(context, pointer, &block)) return NULL;
  bool inside = block.offset <= block.size_bytes && size_bytes <= block.size_bytes - block.offset;
  return inside ? block.at + block.offset : NULL;
}

/* Finds a range in the current context, or, with a warning, in another one. */
static cu_result find_range(cu_context context, cu_deviceptr pointer, uint64_t size_bytes,
                            const char* call, char** out) {
  *out = find_in(context, pointer, size_bytes);
  for (int i = 0; *out == NULL && i < sim.device_count; i++) {
    if (&sim.contexts[i] == context) continue;
    *out = find_in(&sim.contexts[i], pointer, size_bytes);
    if (*out != NULL) (void)sim_broken(SIM_POINTER_CONTEXT, call);
  }
  return *out != NULL ? CU_OK : sim_broken(SIM_RANGE, call);
}

static cu_result begin_copy(cu_stream stream, const char* call, cu_context* out_context,
                            vdev_stream_t** out_queue) {
  cu_result result = sim_begin_on_stream(stream, call, out_context, out_queue);
  if (result == CU_OK) sim_count_work(*out_context, *out_queue);
  return result;
}

typedef struct staged_copy {
  vdev_work_t work;
  char* to;
  uint64_t size_bytes;
  char bytes[];
} staged_copy_t;

static void run_staged_copy(vdev_work_t* work) {
  staged_copy_t* copy = (staged_copy_t*)work;
  vdev_words_copy(copy->to, copy->bytes, copy->size_bytes);
}

/* Reads pageable memory at once, as the driver may. */
static cu_result copy_staged(vdev_stream_t* queue, char* to, const void* source,
                             uint64_t size_bytes) {
  staged_copy_t* copy = vdev_work_new(sizeof *copy + size_bytes, run_staged_copy);
  if (copy != NULL) {
    copy->to = to;
    copy->size_bytes = size_bytes;
    vdev_words_copy(copy->bytes, source, size_bytes);
  }
  return sim_of_status(vdev_submit(queue, copy));
}

cu_result api_copy_h2d(cu_deviceptr destination, const void* source, size_t size_bytes,
                       cu_stream stream) {
  static const char call[] = "cuMemcpyHtoDAsync";
  cu_context context;
  vdev_stream_t* queue;
  char* to;
  cu_result result = begin_copy(stream, call, &context, &queue);
  if (result != CU_OK || size_bytes == 0) return result;
  if (source == NULL) return sim_broken(SIM_NULL_POINTER, call);
  result = find_range(context, destination, size_bytes, call, &to);
  if (result != CU_OK) return result;
  if (!sim.own.late && !sim_is_pinned(source, size_bytes))
    return copy_staged(queue, to, source, size_bytes);
  return sim_of_status(vdev_submit_copy(queue, to, source, size_bytes));
}

cu_result api_copy_d2h(void* destination, cu_deviceptr source, size_t size_bytes,
                       cu_stream stream) {
  static const char call[] = "cuMemcpyDtoHAsync";
  cu_context context;
  vdev_stream_t* queue;
  char* from;
  cu_result result = begin_copy(stream, call, &context, &queue);
  if (result != CU_OK || size_bytes == 0) return result;
  if (destination == NULL) return sim_broken(SIM_NULL_POINTER, call);
  result = find_range(context, source, size_bytes, call, &from);
  if (result != CU_OK) return result;
  result = sim_of_status(vdev_submit_copy(queue, destination, from, size_bytes));
  if (result != CU_OK || sim.own.late || sim_is_pinned(destination, size_bytes)) return result;
  return sim_after_wait(context, vdev_stream_synchronize(queue, NULL));
}

cu_result api_copy_d2d(cu_deviceptr destination, cu_deviceptr source, size_t size_bytes,
                       cu_stream stream) {
  static const char call[] = "cuMemcpyDtoDAsync";
  cu_context context;
  vdev_stream_t* queue;
  char *to, *from;
  cu_result result = begin_copy(stream, call, &context, &queue);
  if (result != CU_OK || size_bytes == 0) return result;
  result = find_range(context, destination, size_bytes, call, &to);
  if (result == CU_OK) result = find_range(context, source, size_bytes, call, &from);
  if (result != CU_OK) return result;
  return sim_of_status(vdev_submit_copy(queue, to, from, size_bytes));
}

cu_result api_copy_peer(cu_deviceptr destination, cu_context destination_context,
                        cu_deviceptr source, cu_context source_context, size_t size_bytes,
                        cu_stream stream) {
  static const char call[] = "cuMemcpyPeerAsync";
  cu_context context;
  vdev_stream_t* queue;
  char *to, *from;
  cu_result result = begin_copy(stream, call, &context, &queue);
  if (result != CU_OK || size_bytes == 0) return result;
  if (!sim_is_context(destination_context) || !sim_is_context(source_context))
    return sim_broken(SIM_BAD_HANDLE, call);
  result = find_range(destination_context, destination, size_bytes, call, &to);
  if (result == CU_OK) result = find_range(source_context, source, size_bytes, call, &from);
  if (result != CU_OK) return result;
  return sim_of_status(vdev_submit_copy(queue, to, from, size_bytes));
}

cu_result api_fill(cu_deviceptr pointer, unsigned char value, size_t size_bytes, cu_stream stream) {
  cu_context context;
  vdev_stream_t* queue;
  char* to;
  cu_result result = begin_copy(stream, "cuMemsetD8Async", &context, &queue);
  if (result != CU_OK || size_bytes == 0) return result;
  result = find_range(context, pointer, size_bytes, "cuMemsetD8Async", &to);
  if (result != CU_OK) return result;
  return sim_of_status(vdev_submit_fill(queue, to, value, size_bytes));
}
