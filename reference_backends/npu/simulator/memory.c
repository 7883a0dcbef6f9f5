/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.c: what is allocated, on devices and pinned.
 */
#include <search.h>
#include <stdlib.h>

#include "simulator.h"

enum { LAST_POLICY = 7, POLICY_BITS = 0x100 | 0x1000 | 0x100000 };

uint64_t sim_round_up(uint64_t size_bytes) {
  return (size_bytes + SIM_UNIT - 1) / SIM_UNIT * SIM_UNIT;
}

static int by_range(const void* left, const void* right) {
  const sim_memory_t *a = left, *b = right;
  if (a->start + a->room_bytes <= b->start) return -1;
  return a->start >= b->start + b->room_bytes;
}

static sim_memory_t* look_up(const void* pointer) {
  sim_memory_t key = {.start = (uintptr_t)pointer, .room_bytes = 1};
  sim_memory_t* const* found = tfind(&key, &sim.memory, by_range);
  return found != NULL ? *found : NULL;
}

bool sim_memory_find(const void* pointer, sim_memory_t** out_memory) {
  pthread_mutex_lock(&sim.lock);
  *out_memory = look_up(pointer);
  pthread_mutex_unlock(&sim.lock);
  return *out_memory != NULL;
}

char* sim_memory_at(const sim_memory_t* memory, const void* pointer) {
  return memory->at + ((uintptr_t)pointer - memory->start);
}

acl_result sim_memory_range(const sim_context_t* context, const void* pointer, uint64_t size_bytes,
                            const char* call, sim_memory_t** out_memory) {
  sim_memory_t* memory;
  if (!sim_memory_find(pointer, &memory) || memory->pinned) return sim_broken(SIM_RANGE, call);
  uint64_t offset = (uintptr_t)pointer - memory->start;
  if (offset > memory->size_bytes || size_bytes > memory->size_bytes - offset)
    return sim_broken(SIM_RANGE, call);
  if (context != NULL && memory->context != context) (void)sim_broken(SIM_POINTER_DEVICE, call);
  *out_memory = memory;
  return ACL_OK;
}

void sim_memory_use(sim_memory_t* memory, int change) {
  if (memory == NULL) return;
  pthread_mutex_lock(&sim.lock);
  memory->uses += change;
  pthread_mutex_unlock(&sim.lock);
}

static void give_back(const sim_memory_t* memory) {
  if (memory->pinned)
    vdev_pinned_give(sim.machine, (void*)memory->start);
  else
    vdev_arena_give(vdev_device_arena(memory->context->device), memory->start);
}

/* Keeps a copy of what was allocated, or gives it back. */
static acl_result keep(const sim_memory_t* value, void** out) {
  sim_memory_t* memory = malloc(sizeof *memory);
  if (memory != NULL) *memory = *value;
  pthread_mutex_lock(&sim.lock);
  bool kept = memory != NULL && tsearch(memory, &sim.memory, by_range) != NULL;
  pthread_mutex_unlock(&sim.lock);
  if (kept) {
    *out = (void*)value->start;
    return ACL_OK;
  }
  free(memory);
  give_back(value);
  return sim_no_memory();
}

/* The beginning of all allocations: in the current context. */
static acl_result begin(void* const* out, size_t size_bytes, const char* call,
                        sim_memory_t* out_value) {
  *out_value = (sim_memory_t){.size_bytes = size_bytes};
  acl_result result = sim_begin_in_context(call, &out_value->context);
  if (result != ACL_OK) return result;
  if (out == NULL) return sim_broken(SIM_NULL_POINTER, call);
  return size_bytes > 0 ? ACL_OK : sim_broken(SIM_SIZE, call);
}

static acl_result allocate(void** out, size_t size_bytes, int policy, uint64_t padding_bytes,
                           const char* call) {
  sim_memory_t value;
  acl_result result = begin(out, size_bytes, call, &value);
  if (result != ACL_OK) return result;
  if (policy < 0 || (policy & ~POLICY_BITS) > LAST_POLICY) return sim_broken(SIM_FLAGS, call);
  if (size_bytes > UINT64_MAX / 2) return sim_refuse(ACL_MEMORY_ALLOCATION, "no memory left");
  value.room_bytes = sim_round_up(size_bytes) + padding_bytes;
  vdev_arena_t* arena = vdev_device_arena(value.context->device);
  value.start = vdev_arena_take(arena, value.room_bytes);
  if (value.start == 0) return sim_refuse(ACL_MEMORY_ALLOCATION, "no device memory left");
  value.at = vdev_arena_at(arena, value.start, 0, value.room_bytes);
  return keep(&value, out);
}

acl_result api_malloc_padded(void** out, size_t size_bytes, int policy) {
  return allocate(out, size_bytes, policy, SIM_UNIT, "aclrtMalloc");
}

acl_result api_malloc_align32(void** out, size_t size_bytes, int policy) {
  return allocate(out, size_bytes, policy, 0, "aclrtMallocAlign32");
}

acl_result api_malloc_host(void** out, size_t size_bytes) {
  sim_memory_t value;
  acl_result result = begin(out, size_bytes, "aclrtMallocHost", &value);
  if (result != ACL_OK) return result;
  value.at = vdev_pinned_take(sim.machine, size_bytes);
  if (value.at == NULL) return sim_refuse(ACL_MEMORY_ALLOCATION, "no pinned memory left");
  value.start = (uintptr_t)value.at;
  value.room_bytes = size_bytes;
  value.pinned = true;
  return keep(&value, out);
}

static acl_result release(const void* pointer, bool pinned, const char* call) {
  sim_context_t* context;
  acl_result result = sim_begin_in_context(call, &context);
  if (result != ACL_OK) return result;
  pthread_mutex_lock(&sim.lock);
  sim_memory_t* memory = look_up(pointer);
  if (memory != NULL && (memory->start != (uintptr_t)pointer || memory->pinned != pinned))
    memory = NULL;
  bool used = memory != NULL && memory->uses > 0;
  if (memory != NULL && !used) tdelete(memory, &sim.memory, by_range);
  pthread_mutex_unlock(&sim.lock);
  if (memory == NULL) return sim_broken(SIM_FREE, call);
  if (used) return sim_broken(SIM_FREE_IN_USE, call);
  if (!pinned && memory->context != context) (void)sim_broken(SIM_POINTER_DEVICE, call);
  give_back(memory);
  free(memory);
  return ACL_OK;
}

acl_result api_free(void* pointer) {
  return release(pointer, false, "aclrtFree");
}

acl_result api_free_host(void* pointer) {
  return release(pointer, true, "aclrtFreeHost");
}

typedef struct seek {
  const sim_context_t* context;
  sim_memory_t* found;
} seek_t;

static void seek_in(const void* node, VISIT visit, void* closure) {
  seek_t* seek = closure;
  sim_memory_t* memory = *(sim_memory_t* const*)node;
  (void)visit;
  if (memory->context == seek->context) seek->found = memory;
}

bool sim_memory_end(const sim_context_t* context) {
  for (bool any = false;; any = true) {
    seek_t seek = {context, NULL};
    pthread_mutex_lock(&sim.lock);
    twalk_r(sim.memory, seek_in, &seek);
    if (seek.found != NULL) tdelete(seek.found, &sim.memory, by_range);
    pthread_mutex_unlock(&sim.lock);
    if (seek.found == NULL) return any;
    give_back(seek.found);
    free(seek.found);
  }
}
