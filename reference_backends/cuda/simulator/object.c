/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * object.c: streams, events and modules, known by their handles also after their end.
 */
#include <search.h>
#include <stdlib.h>

#include "simulator.h"

static int by_address(const void* left, const void* right) {
  return ((uintptr_t)left > (uintptr_t)right) - ((uintptr_t)left < (uintptr_t)right);
}

cu_result sim_object_add(const sim_object_t* value, void** out_handle) {
  sim_object_t* object = malloc(sizeof *object);
  if (object == NULL) return CU_OUT_OF_MEMORY;
  *object = *value;
  object->live = true;
  pthread_mutex_lock(&sim.lock);
  object->generation = object->context->generation;
  bool kept = tsearch(object, &sim.objects, by_address) != NULL;
  pthread_mutex_unlock(&sim.lock);
  if (!kept) free(object);
  if (kept) *out_handle = object;
  return kept ? CU_OK : CU_OUT_OF_MEMORY;
}

cu_result sim_object_find(const void* handle, sim_kind_t kind, const char* call,
                          sim_object_t** out_object) {
  pthread_mutex_lock(&sim.lock);
  sim_object_t* const* found = tfind(handle, &sim.objects, by_address);
  sim_object_t* object = found != NULL && (*found)->kind == kind ? *found : NULL;
  bool live = object != NULL && object->live;
  bool stale = object != NULL && (object->generation != object->context->generation ||
                                  object->context->references == 0);
  pthread_mutex_unlock(&sim.lock);
  if (object == NULL) return sim_broken(SIM_BAD_HANDLE, call);
  if (stale) return sim_broken(SIM_STALE_HANDLE, call);
  if (!live) return sim_broken(SIM_DESTROYED, call);
  *out_object = object;
  return CU_OK;
}

/* Ends an object; the lock is not held. */
static void end(sim_object_t* object) {
  if (object->kind == SIM_STREAM) vdev_stream_drop(object->stream);
  if (object->kind == SIM_EVENT) vdev_event_free(object->event);
}

typedef struct ending {
  cu_context context;
  bool any;
} ending_t;

static void end_in_context(const void* node, VISIT visit, void* closure) {
  sim_object_t* object = *(sim_object_t* const*)node;
  ending_t* ending = closure;
  bool first = visit == preorder || visit == leaf;
  if (!first || object->context != ending->context || !object->live) return;
  ending->any = true;
  object->live = false;
  end(object);
}

bool sim_objects_end(cu_context context) {
  ending_t ending = {context, false};
  pthread_mutex_lock(&sim.lock);
  twalk_r(sim.objects, end_in_context, &ending);
  pthread_mutex_unlock(&sim.lock);
  return ending.any;
}

cu_result sim_object_destroy(const void* handle, sim_kind_t kind, const char* call) {
  cu_context context;
  sim_object_t* object;
  cu_result result = sim_begin_in_context(call, &context);
  if (result != CU_OK) return result;
  result = sim_object_find(handle, kind, call, &object);
  if (result != CU_OK) return result;
  pthread_mutex_lock(&sim.lock);
  bool first = object->live;
  object->live = false;
  pthread_mutex_unlock(&sim.lock);
  if (!first) return sim_object_find(handle, kind, call, &object); /* another thread was first */
  end(object);
  return CU_OK;
}

cu_result api_stream_destroy(cu_stream stream) {
  return sim_object_destroy(stream, SIM_STREAM, "cuStreamDestroy");
}

cu_result api_event_destroy(cu_event event) {
  return sim_object_destroy(event, SIM_EVENT, "cuEventDestroy");
}

cu_result api_stream_create(cu_stream* out_stream, unsigned flags, int priority) {
  (void)priority; /* out of range is clamped, and what it does is not defined */
  cu_context context;
  cu_result result = sim_begin_in_context("cuStreamCreateWithPriority", &context);
  if (result != CU_OK) return result;
  if (out_stream == NULL) return sim_broken(SIM_NULL_POINTER, "cuStreamCreateWithPriority");
  if (flags > CU_STREAM_NON_BLOCKING) return sim_broken(SIM_FLAGS, "cuStreamCreateWithPriority");
  sim_object_t value = {.kind = SIM_STREAM, .context = context};
  result = sim_of_status(vdev_stream_new(context->device, &value.stream));
  if (result != CU_OK) return result;
  void* handle = NULL;
  result = sim_object_add(&value, &handle);
  if (result != CU_OK) vdev_stream_drop(value.stream);
  if (result == CU_OK) *out_stream = handle;
  return result;
}

cu_result api_event_create(cu_event* out_event, unsigned flags) {
  enum { BLOCKING_SYNC = 1, INTERPROCESS = 4 };
  cu_context context;
  cu_result result = sim_begin_in_context("cuEventCreate", &context);
  if (result != CU_OK) return result;
  if (out_event == NULL) return sim_broken(SIM_NULL_POINTER, "cuEventCreate");
  bool shared_and_timed = (flags & INTERPROCESS) != 0 && (flags & CU_EVENT_DISABLE_TIMING) == 0;
  if (flags > (INTERPROCESS | CU_EVENT_DISABLE_TIMING | BLOCKING_SYNC) || shared_and_timed)
    return sim_broken(SIM_FLAGS, "cuEventCreate");
  sim_object_t value = {.kind = SIM_EVENT, .context = context};
  value.timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  result = sim_of_status(vdev_event_new(context->device, value.timed, &value.event));
  if (result != CU_OK) return result;
  void* handle = NULL;
  result = sim_object_add(&value, &handle);
  if (result != CU_OK) vdev_event_free(value.event);
  if (result == CU_OK) *out_event = handle;
  return result;
}
