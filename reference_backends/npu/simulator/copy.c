/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * copy.c: copies and fills, at once and as work.
 */
#include "simulator.h"

enum { HOST_TO_HOST = 0, KINDS = 4 };

/* One side of a copy, or what is filled. */
typedef struct side {
  char* at;
  sim_memory_t* memory; /* NULL: host memory that is not pinned */
} side_t;

/* Host memory is what is no device's; of pinned memory, the range lies inside. */
static acl_result find_host(const void* pointer, uint64_t size_bytes, const char* call,
                            side_t* out) {
  sim_memory_t* memory;
  *out = (side_t){(char*)pointer, NULL};
  if (!sim_memory_find(pointer, &memory)) return ACL_OK;
  if (!memory->pinned) return sim_broken(SIM_KIND, call);
  uint64_t offset = (uintptr_t)pointer - memory->start;
  if (size_bytes > memory->size_bytes - offset) return sim_broken(SIM_RANGE, call);
  out->memory = memory;
  return ACL_OK;
}

static acl_result find_device(const sim_context_t* context, const void* pointer,
                              uint64_t size_bytes, const char* call, side_t* out) {
  sim_memory_t* memory;
  if (sim_memory_find(pointer, &memory) && memory->pinned) return sim_broken(SIM_KIND, call);
  acl_result result = sim_memory_range(context, pointer, size_bytes, call, &memory);
  if (result == ACL_OK) *out = (side_t){sim_memory_at(memory, pointer), memory};
  return result;
}

static bool have_access(const sim_context_t* one, const sim_context_t* other) {
  pthread_mutex_lock(&sim.lock);
  bool both = one->peers[other - sim.contexts] && other->peers[one - sim.contexts];
  pthread_mutex_unlock(&sim.lock);
  return both;
}

/* Between devices, one of the two is the current one. */
static acl_result check_devices(const sim_context_t* context, const side_t* to, const side_t* from,
                                const char* call) {
  const sim_context_t *one = to->memory->context, *other = from->memory->context;
  if (one != context && other != context) (void)sim_broken(SIM_POINTER_DEVICE, call);
  if (one != other && !have_access(one, other)) return sim_broken(SIM_PEER, call);
  return ACL_OK;
}

typedef struct copy {
  void* destination;
  size_t destination_bytes;
  const void* source;
  size_t size_bytes;
  int kind;
} copy_t;

static acl_result check_copy(const sim_context_t* context, const copy_t* copy, const char* call,
                             side_t* out_to, side_t* out_from) {
  const bool to_device = copy->kind == ACL_HOST_TO_DEVICE || copy->kind == ACL_DEVICE_TO_DEVICE;
  const bool from_device = copy->kind == ACL_DEVICE_TO_HOST || copy->kind == ACL_DEVICE_TO_DEVICE;
  const sim_context_t* own = to_device && from_device ? NULL : context;
  if (copy->kind < HOST_TO_HOST || copy->kind >= KINDS) return sim_broken(SIM_FLAGS, call);
  if (copy->destination == NULL || copy->source == NULL) return sim_broken(SIM_NULL_POINTER, call);
  if (copy->size_bytes == 0) return sim_broken(SIM_COUNT, call);
  if (copy->size_bytes > copy->destination_bytes) return sim_broken(SIM_DESTINATION, call);
  acl_result result = to_device
                          ? find_device(own, copy->destination, copy->size_bytes, call, out_to)
                          : find_host(copy->destination, copy->size_bytes, call, out_to);
  if (result != ACL_OK) return result;
  result = from_device ? find_device(own, copy->source, copy->size_bytes, call, out_from)
                       : find_host(copy->source, copy->size_bytes, call, out_from);
  if (result != ACL_OK || own != NULL) return result;
  return check_devices(context, out_to, out_from, call);
}

acl_result api_copy(void* destination, size_t destination_bytes, const void* source,
                    size_t size_bytes, int kind) {
  const copy_t copy = {destination, destination_bytes, source, size_bytes, kind};
  sim_context_t* context;
  side_t to = {NULL, NULL}, from = {NULL, NULL};
  acl_result result = sim_begin_in_context("aclrtMemcpy", &context);
  if (result == ACL_OK) result = sim_fault(context);
  if (result == ACL_OK) result = check_copy(context, &copy, "aclrtMemcpy", &to, &from);
  if (result == ACL_OK) vdev_words_copy(to.at, from.at, size_bytes);
  return result;
}

typedef struct move {
  sim_task_t task;
  char* to;
  const char* from; /* NULL: a fill */
  uint8_t value;
  uint64_t size_bytes;
} move_t;

static void run_move(sim_task_t* task) {
  const move_t* move = (const move_t*)task;
  if (move->from != NULL)
    vdev_words_copy(move->to, move->from, move->size_bytes);
  else
    vdev_words_fill(move->to, move->value, move->size_bytes);
}

static acl_result submit(const sim_queue_t* queue, const side_t* to, const side_t* from,
                         uint8_t value, uint64_t size_bytes) {
  const move_t move = {.task.uses = {to->memory, from->memory},
                       .to = to->at,
                       .from = from->at,
                       .value = value,
                       .size_bytes = size_bytes};
  return sim_submit(queue, sim_task_new(&move, sizeof move, run_move));
}

acl_result api_copy_async(void* destination, size_t destination_bytes, const void* source,
                          size_t size_bytes, int kind, acl_stream stream) {
  static const char call[] = "aclrtMemcpyAsync";
  const copy_t copy = {destination, destination_bytes, source, size_bytes, kind};
  sim_queue_t queue;
  side_t to = {NULL, NULL}, from = {NULL, NULL};
  acl_result result = sim_begin_on_stream(stream, call, &queue);
  if (result != ACL_OK) return result;
  if (kind == HOST_TO_HOST) return sim_broken(SIM_HOST_TO_HOST, call);
  result = check_copy(queue.context, &copy, call, &to, &from);
  if (result != ACL_OK) return result;
  if (to.memory == NULL || from.memory == NULL) return sim_broken(SIM_PAGEABLE, call);
  return submit(&queue, &to, &from, 0, size_bytes);
}

/* Where the memory is, is seen by its address. */
static acl_result check_fill(const sim_context_t* context, void* pointer, size_t bytes,
                             size_t size_bytes, const char* call, side_t* out) {
  sim_memory_t* memory;
  if (pointer == NULL) return sim_broken(SIM_NULL_POINTER, call);
  if (size_bytes == 0) return sim_broken(SIM_COUNT, call);
  if (size_bytes > bytes) return sim_broken(SIM_DESTINATION, call);
  bool pinned = sim_memory_find(pointer, &memory) && memory->pinned;
  return pinned ? find_host(pointer, size_bytes, call, out)
                : find_device(context, pointer, size_bytes, call, out);
}

acl_result api_fill(void* pointer, size_t bytes, int32_t value, size_t size_bytes) {
  sim_context_t* context;
  side_t side = {NULL, NULL};
  acl_result result = sim_begin_in_context("aclrtMemset", &context);
  if (result == ACL_OK) result = sim_fault(context);
  if (result == ACL_OK)
    result = check_fill(context, pointer, bytes, size_bytes, "aclrtMemset", &side);
  if (result == ACL_OK) vdev_words_fill(side.at, (uint8_t)value, size_bytes);
  return result;
}

acl_result api_fill_async(void* pointer, size_t bytes, int32_t value, size_t size_bytes,
                          acl_stream stream) {
  static const char call[] = "aclrtMemsetAsync";
  sim_queue_t queue;
  side_t side = {NULL, NULL};
  acl_result result = sim_begin_on_stream(stream, call, &queue);
  if (result == ACL_OK) result = check_fill(queue.context, pointer, bytes, size_bytes, call, &side);
  if (result != ACL_OK) return result;
  const side_t nothing = {NULL, NULL};
  return submit(&queue, &side, &nothing, (uint8_t)value, size_bytes);
}
