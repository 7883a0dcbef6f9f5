/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stream.c: streams, work and its faults.
 */
#include <stdlib.h>
#include <string.h>

#include "simulator.h"

static acl_result find_on_stream(acl_stream stream, const char* call, sim_queue_t* out_queue) {
  sim_context_t* context;
  acl_result result = sim_begin_in_context(call, &context);
  if (result != ACL_OK) return result;
  *out_queue = (sim_queue_t){context, context->stream, NULL};
  if (stream == NULL) return ACL_OK;
  result = sim_object_find(stream, SIM_STREAM, call, &out_queue->stream);
  if (result != ACL_OK) return result;
  if (out_queue->stream->context != context) return sim_broken(SIM_STREAM_CONTEXT, call);
  out_queue->queue = out_queue->stream->as.stream.queue;
  return ACL_OK;
}

acl_result sim_begin_on_stream(acl_stream stream, const char* call, sim_queue_t* out_queue) {
  acl_result result = find_on_stream(stream, call, out_queue);
  return result == ACL_OK ? sim_fault(out_queue->context) : result;
}

void sim_fail(const sim_queue_t* queue, acl_result code) {
  bool stops = queue->stream != NULL && queue->stream->as.stream.stops;
  if (stops) __atomic_store_n(&queue->context->fault, code, __ATOMIC_RELEASE);
  if (!stops) vdev_stream_fail(queue->queue, VDEV_FAULT_ONCE, code);
}

static void run_task(vdev_work_t* work) {
  sim_task_t* task = (sim_task_t*)work;
  if (__atomic_load_n(&task->queue.context->fault, __ATOMIC_ACQUIRE) != 0) return;
  if (task->fails)
    sim_fail(&task->queue, ACL_AICORE_EXCEPTION);
  else
    task->run(task);
}

static void drop_task(vdev_work_t* work) {
  sim_task_t* task = (sim_task_t*)work;
  for (int i = 0; i < SIM_USES; i++)
    sim_memory_use(task->uses[i], -1);
  vdev_stream_drop(task->queue.queue);
}

void* sim_task_new(const void* value, size_t size, void (*run)(sim_task_t* task)) {
  sim_task_t* task = vdev_work_new(size, run_task);
  if (task == NULL) return NULL;
  const vdev_work_t work = task->work;
  memcpy(task, value, size);
  task->work = work;
  task->work.drop = drop_task;
  task->run = run;
  return task;
}

acl_result sim_submit(const sim_queue_t* queue, void* work) {
  sim_task_t* task = work;
  if (task == NULL) return sim_no_memory();
  uint64_t count = __atomic_add_fetch(&sim.work, 1, __ATOMIC_RELAXED);
  task->fails = count == sim.own.fault_at;
  task->queue = *queue;
  vdev_stream_keep(queue->queue);
  for (int i = 0; i < SIM_USES; i++)
    sim_memory_use(task->uses[i], 1);
  return sim_of_status(vdev_submit(queue->queue, task));
}

static acl_result create(acl_stream* out, const char* call) {
  sim_context_t* context;
  acl_result result = sim_begin_in_context(call, &context);
  if (result != ACL_OK) return result;
  if (out == NULL) return sim_broken(SIM_NULL_POINTER, call);
  sim_object_t value = {.kind = SIM_STREAM, .context = context};
  vdev_status_t status = vdev_stream_new(context->device, &value.as.stream.queue);
  if (status == VDEV_NO_ROOM) return sim_refuse(ACL_NO_STREAM_RESOURCE, "no stream left");
  if (status != VDEV_OK) return sim_of_status(status);
  sim_object_t* stream = sim_object_add(&value);
  if (stream == NULL) {
    vdev_stream_drop(value.as.stream.queue);
    return ACL_BAD_ALLOC;
  }
  *out = stream;
  return ACL_OK;
}

acl_result api_stream_create(acl_stream* out) {
  return create(out, "aclrtCreateStream");
}

acl_result api_stream_create_config(acl_stream* out, uint32_t priority, uint32_t flags) {
  enum { LOWEST_PRIORITY = 7, ALL_FLAGS = 0x1f };
  static const char call[] = "aclrtCreateStreamWithConfig";
  if (priority > LOWEST_PRIORITY || flags > ALL_FLAGS) return sim_broken(SIM_FLAGS, call);
  return create(out, call);
}

acl_result api_stream_failure_mode(acl_stream stream, uint64_t mode) {
  static const char call[] = "aclrtSetStreamFailureMode";
  sim_queue_t queue;
  acl_result result = find_on_stream(stream, call, &queue);
  if (result != ACL_OK) return result;
  if (queue.stream == NULL) return sim_broken(SIM_DEFAULT_STREAM, call);
  sim_stream_t* own = &queue.stream->as.stream;
  if (mode > ACL_STOP_ON_FAILURE || own->mode_set) return sim_broken(SIM_FAILURE_MODE, call);
  own->mode_set = true;
  own->stops = mode == ACL_STOP_ON_FAILURE;
  return ACL_OK;
}

acl_result api_stream_destroy(acl_stream stream) {
  static const char call[] = "aclrtDestroyStream";
  sim_queue_t queue;
  acl_result result = find_on_stream(stream, call, &queue);
  if (result != ACL_OK) return result;
  if (queue.stream == NULL) return sim_broken(SIM_DEFAULT_STREAM, call);
  if (sim_report_forget(queue.stream)) (void)sim_broken(SIM_REPORTS_LEFT, call);
  vdev_stream_synchronize(queue.queue, NULL); /* it waits for its work */
  return sim_object_destroy(queue.stream, call);
}

acl_result api_stream_synchronize(acl_stream stream) {
  sim_queue_t queue;
  int code = 0;
  acl_result result = find_on_stream(stream, "aclrtSynchronizeStream", &queue);
  if (result != ACL_OK) return result;
  vdev_status_t status = vdev_stream_synchronize(queue.queue, &code);
  return sim_after_wait(queue.context, status, code);
}

acl_result api_stream_query(acl_stream stream, int* out_status) {
  sim_queue_t queue;
  int code = 0;
  acl_result result = find_on_stream(stream, "aclrtStreamQuery", &queue);
  if (result != ACL_OK) return result;
  if (out_status == NULL) return sim_broken(SIM_NULL_POINTER, "aclrtStreamQuery");
  vdev_status_t status = vdev_stream_query(queue.queue, &code);
  if (status == VDEV_NOT_READY) {
    *out_status = ACL_STREAM_NOT_READY;
    return ACL_OK;
  }
  result = sim_after_wait(queue.context, status, code);
  if (result == ACL_OK) *out_status = ACL_STREAM_COMPLETE;
  return result;
}
