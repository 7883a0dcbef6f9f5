/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stream.c: work, its order and its faults.
 */
#include <stdlib.h>

#include "simulator.h"

static cu_result find_queue(cu_context context, cu_stream stream, const char* call,
                            vdev_stream_t** out_queue) {
  sim_object_t* object;
  if (stream == NULL) {
    /* Stricter in order than the real one: it waits for everything, not only for blocking streams. */
    (void)sim_broken(SIM_LEGACY_STREAM, call);
    vdev_device_synchronize(context->device, NULL);
    *out_queue = context->legacy;
    return CU_OK;
  }
  cu_result result = sim_object_find(stream, SIM_STREAM, call, &object);
  if (result != CU_OK) return result;
  if (object->context != context) (void)sim_broken(SIM_STREAM_CONTEXT, call);
  *out_queue = object->stream;
  return CU_OK;
}

cu_result sim_begin_on_stream(cu_stream stream, const char* call, cu_context* out_context,
                              vdev_stream_t** out_queue) {
  cu_result result = sim_begin_in_context(call, out_context);
  return result == CU_OK ? find_queue(*out_context, stream, call, out_queue) : result;
}

static cu_result begin_on_event(cu_event event, const char* call, cu_context* out_context,
                                sim_object_t** out_event) {
  cu_result result = sim_begin_in_context(call, out_context);
  return result == CU_OK ? sim_object_find(event, SIM_EVENT, call, out_event) : result;
}

static void die(void* argument) {
  sim_kill(argument, SIM_LAUNCH_FAILED);
}

void sim_count_work(cu_context context, vdev_stream_t* queue) {
  uint64_t work = __atomic_add_fetch(&sim.work, 1, __ATOMIC_RELAXED);
  if (work == sim.own.fault_at) vdev_submit_call(queue, die, context);
}

cu_result api_stream_query(cu_stream stream) {
  cu_context context;
  vdev_stream_t* queue;
  cu_result result = sim_begin_on_stream(stream, "cuStreamQuery", &context, &queue);
  if (result != CU_OK) return result;
  return sim_after_wait(context, vdev_stream_query(queue, NULL));
}

cu_result api_stream_synchronize(cu_stream stream) {
  cu_context context;
  vdev_stream_t* queue;
  cu_result result = sim_begin_on_stream(stream, "cuStreamSynchronize", &context, &queue);
  if (result != CU_OK) return result;
  return sim_after_wait(context, vdev_stream_synchronize(queue, NULL));
}

/* What both orders between streams and events begin with. */
static cu_result find_pair(cu_stream stream, cu_event event, const char* call, cu_context* context,
                           vdev_stream_t** out_queue, sim_object_t** out_event) {
  cu_result result = begin_on_event(event, call, context, out_event);
  if (result == CU_OK) result = find_queue(*context, stream, call, out_queue);
  if (result == CU_OK) sim_count_work(*context, *out_queue);
  return result;
}

cu_result api_stream_wait_event(cu_stream stream, cu_event event, unsigned flags) {
  cu_context context;
  vdev_stream_t* queue;
  sim_object_t* object;
  cu_result result = find_pair(stream, event, "cuStreamWaitEvent", &context, &queue, &object);
  if (result != CU_OK) return result;
  if (flags > 1) return sim_broken(SIM_FLAGS, "cuStreamWaitEvent");
  return sim_of_status(vdev_event_wait(queue, object->event));
}

cu_result api_event_record(cu_event event, cu_stream stream) {
  cu_context context;
  vdev_stream_t* queue;
  sim_object_t* object;
  cu_result result = find_pair(stream, event, "cuEventRecord", &context, &queue, &object);
  if (result != CU_OK) return result;
  if (vdev_stream_device(queue) != object->context->device)
    return sim_broken(SIM_RECORD_CONTEXT, "cuEventRecord");
  result = sim_of_status(vdev_event_record(object->event, queue));
  if (result == CU_OK) __atomic_store_n(&object->recorded, true, __ATOMIC_RELEASE);
  return result;
}

cu_result api_event_query(cu_event event) {
  cu_context context;
  sim_object_t* object;
  cu_result result = begin_on_event(event, "cuEventQuery", &context, &object);
  if (result != CU_OK) return result;
  return sim_after_wait(context, vdev_event_query(object->event));
}

cu_result api_event_synchronize(cu_event event) {
  cu_context context;
  sim_object_t* object;
  cu_result result = begin_on_event(event, "cuEventSynchronize", &context, &object);
  if (result != CU_OK) return result;
  return sim_after_wait(context, vdev_event_synchronize(object->event));
}

static bool can_be_timed(const sim_object_t* object) {
  return object->timed && __atomic_load_n(&object->recorded, __ATOMIC_ACQUIRE);
}

cu_result api_event_elapsed(float* out_ms, cu_event start, cu_event end) {
  static const char call[] = "cuEventElapsedTime";
  cu_context context;
  sim_object_t *first, *second;
  cu_result result = begin_on_event(start, call, &context, &first);
  if (result == CU_OK) result = sim_object_find(end, SIM_EVENT, call, &second);
  if (result != CU_OK) return result;
  if (out_ms == NULL) return sim_broken(SIM_NULL_POINTER, call);
  if (!can_be_timed(first) || !can_be_timed(second)) return sim_broken(SIM_TIMING, call);
  if (first->context != second->context) return sim_broken(SIM_TIMING_CONTEXT, call);
  double milliseconds = 0;
  result = sim_after_wait(context, vdev_event_elapsed(first->event, second->event, &milliseconds));
  if (result == CU_OK) *out_ms = (float)milliseconds;
  return result;
}

typedef struct host_call {
  vdev_work_t work;
  cu_context context;
  void (*function)(void*);
  void* argument;
} host_call_t;

static void run_host_call(vdev_work_t* work) {
  host_call_t* call = (host_call_t*)work;
  if (__atomic_load_n(&call->context->fault, __ATOMIC_ACQUIRE) != CU_OK) return;
  sim_in_host_function(true);
  call->function(call->argument);
  sim_in_host_function(false);
}

cu_result api_launch_host_func(cu_stream stream, void (*function)(void*), void* argument) {
  cu_context context;
  vdev_stream_t* queue;
  cu_result result = sim_begin_on_stream(stream, "cuLaunchHostFunc", &context, &queue);
  if (result != CU_OK) return result;
  if (function == NULL) return sim_broken(SIM_NULL_POINTER, "cuLaunchHostFunc");
  sim_count_work(context, queue);
  host_call_t* call = vdev_work_new(sizeof *call, run_host_call);
  if (call != NULL) {
    call->context = context;
    call->function = function;
    call->argument = argument;
  }
  return sim_of_status(vdev_submit(queue, call));
}
