/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * object.c: handles, known also after their end.
 */
#include <search.h>
#include <stdlib.h>

#include "simulator.h"

/* Dead descriptors and executors, the oldest first; guarded by sim.lock. */
enum { DEAD = 4096 };
static STAILQ_HEAD(, sim_object) dead = STAILQ_HEAD_INITIALIZER(dead);
static int dead_count;

static int by_address(const void* left, const void* right) {
  return ((uintptr_t)left > (uintptr_t)right) - ((uintptr_t)left < (uintptr_t)right);
}

sim_object_t* sim_object_add(const sim_object_t* value) {
  sim_object_t* object = malloc(sizeof *object);
  if (object != NULL) *object = *value;
  pthread_mutex_lock(&sim.lock);
  bool kept = object != NULL && tsearch(object, &sim.objects, by_address) != NULL;
  if (kept) {
    object->live = true;
    object->serial = ++sim.serial;
    object->generation = value->context != NULL ? value->context->generation : 0;
  }
  pthread_mutex_unlock(&sim.lock);
  if (kept) return object;
  free(object);
  (void)sim_no_memory();
  return NULL;
}

static sim_object_t* look_up(const void* handle) {
  sim_object_t* const* found = tfind(handle, &sim.objects, by_address);
  return found != NULL ? *found : NULL;
}

static bool is_stale(const sim_object_t* object) {
  return object->context != NULL &&
         (object->generation != object->context->generation || object->context->references == 0);
}

acl_result sim_object_find(const void* handle, sim_kind_t kind, const char* call,
                           sim_object_t** out_object) {
  pthread_mutex_lock(&sim.lock);
  sim_object_t* object = look_up(handle);
  if (object != NULL && object->kind != kind) object = NULL;
  bool live = object != NULL && object->live;
  bool stale = object != NULL && is_stale(object);
  pthread_mutex_unlock(&sim.lock);
  if (object == NULL) return sim_broken(SIM_BAD_HANDLE, call);
  if (stale) return sim_broken(SIM_STALE_HANDLE, call);
  if (!live) return sim_broken(SIM_DESTROYED, call);
  *out_object = object;
  return ACL_OK;
}

bool sim_object_lives(const void* handle, uint64_t serial) {
  pthread_mutex_lock(&sim.lock);
  const sim_object_t* object = look_up(handle);
  bool lives = object != NULL && object->serial == serial && object->live;
  pthread_mutex_unlock(&sim.lock);
  return lives;
}

/* Frees the oldest of too many dead; the lock is held. */
static void bury(sim_object_t* object) {
  STAILQ_INSERT_TAIL(&dead, object, next_dead);
  if (++dead_count <= DEAD) return;
  sim_object_t* gone = STAILQ_FIRST(&dead);
  STAILQ_REMOVE_HEAD(&dead, next_dead);
  dead_count--;
  tdelete(gone, &sim.objects, by_address);
  free(gone);
}

/* Gives back what it has, but for what is said of it. */
static void release(sim_object_t* object) {
  if (object->kind == SIM_STREAM) (void)sim_report_forget(object);
  if (object->kind == SIM_STREAM) vdev_stream_drop(object->as.stream.queue);
  if (object->kind == SIM_EVENT) vdev_event_free(object->as.event.event);
  if (object->kind == SIM_INTS) free((void*)object->as.ints.items);
  if (object->kind == SIM_LIST) free(object->as.list.items);
  if (object->kind == SIM_EXECUTOR) free(object->as.executor);
}

bool sim_object_is(const void* handle, sim_kind_t kind) {
  pthread_mutex_lock(&sim.lock);
  const sim_object_t* object = look_up(handle);
  bool is = object != NULL && object->kind == kind;
  pthread_mutex_unlock(&sim.lock);
  return is;
}

bool sim_object_end(sim_object_t* object, sim_kind_t kind) {
  pthread_mutex_lock(&sim.lock);
  bool first = object->live;
  object->live = false;
  pthread_mutex_unlock(&sim.lock);
  if (!first) return false;
  release(object);
  pthread_mutex_lock(&sim.lock);
  object->kind = kind;
  if (object->kind != SIM_STREAM && object->kind != SIM_EVENT) bury(object);
  pthread_mutex_unlock(&sim.lock);
  return true;
}

acl_result sim_object_destroy(sim_object_t* object, const char* call) {
  const sim_kind_t kind = object->kind;
  return sim_object_end(object, kind) ? ACL_OK : sim_object_find(object, kind, call, &object);
}

/* A live object of one of the kinds from `first` to `last`; of any context where that is NULL. */
typedef struct seek {
  const sim_context_t* context;
  sim_kind_t first, last;
  sim_object_t* found;
} seek_t;

static void seek_live(const void* node, VISIT visit, void* closure) {
  sim_object_t* object = *(sim_object_t* const*)node;
  seek_t* seek = closure;
  (void)visit;
  const bool meant = object->kind >= seek->first && object->kind <= seek->last && object->live;
  if (meant && (seek->context == NULL || object->context == seek->context)) seek->found = object;
}

static sim_object_t* find_live(const sim_context_t* context, sim_kind_t first, sim_kind_t last) {
  seek_t seek = {context, first, last, NULL};
  pthread_mutex_lock(&sim.lock);
  twalk_r(sim.objects, seek_live, &seek);
  pthread_mutex_unlock(&sim.lock);
  return seek.found;
}

bool sim_descriptors_left(void) {
  return find_live(NULL, SIM_TENSOR, SIM_INTS) != NULL;
}

bool sim_objects_end(const sim_context_t* context, sim_kind_t first, sim_kind_t last) {
  sim_object_t* object;
  bool any = false;
  for (; (object = find_live(context, first, last)) != NULL; any = true)
    (void)sim_object_end(object, object->kind);
  return any;
}
