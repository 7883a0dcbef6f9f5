/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * callback.c: calls of the host, enqueued. A driver may make its callbacks in a thread of its own that
 * others wait for, or in the caller of the function that registers them; so that of a driver only
 * hands over to a thread of ours. Later work of the stream waits for a user event, which that thread
 * completes.
 */
#include <stdlib.h>

#include "opencl.h"

typedef struct opencl_call {
  STAILQ_ENTRY(opencl_call) entry;
  opencl_device_t* device;
  tbk_callback_fn function;
  void* argument;
  cl_event returned; /* the user event */
} opencl_call_t;

/* What waits for the call goes on, which nothing else can bring about. */
static void finish(opencl_call_t* call) {
  const opencl_driver_t* driver = &call->device->instance->driver;
  cl_int result = CL_OUT_OF_RESOURCES;
  for (int i = 0; i < OPENCL_TRIES && result != CL_OK; i++)
    result = driver->clSetUserEventStatus(call->returned, CL_COMPLETE);
  if (result != CL_OK)
    driver_log(&call->device->instance->host, TBK_LOG_ERROR, "a stream waits for ever: %s",
               opencl_error_name(result));
  driver->clReleaseEvent(call->returned);
  free(call);
}

static void* work(void* argument) {
  opencl_callers_t* callers = argument;
  pthread_mutex_lock(&callers->lock);
  for (;;) {
    opencl_call_t* call = STAILQ_FIRST(&callers->calls);
    if (call != NULL) {
      STAILQ_REMOVE_HEAD(&callers->calls, entry);
      pthread_mutex_unlock(&callers->lock);
      call->function(call->argument);
      finish(call);
      pthread_mutex_lock(&callers->lock);
    } else if (callers->ending) {
      break;
    } else {
      callers->idle++;
      pthread_cond_wait(&callers->changed, &callers->lock);
      callers->idle--;
    }
  }
  pthread_mutex_unlock(&callers->lock);
  return NULL;
}

/* Called with the lock. */
static bool start_thread(opencl_callers_t* callers) {
  pthread_t* more =
      realloc(callers->threads, (callers->thread_count + 1) * sizeof *callers->threads);
  if (more == NULL) return false;
  callers->threads = more;
  if (pthread_create(&more[callers->thread_count], NULL, work, callers) != 0) return false;
  callers->thread_count++;
  return true;
}

void opencl_callers_start(opencl_callers_t* callers) {
  *callers = (opencl_callers_t){.ending = false};
  pthread_mutex_init(&callers->lock, NULL);
  pthread_cond_init(&callers->changed, NULL);
  STAILQ_INIT(&callers->calls);
}

void opencl_callers_end(opencl_callers_t* callers) {
  pthread_mutex_lock(&callers->lock);
  callers->ending = true;
  pthread_cond_broadcast(&callers->changed);
  pthread_mutex_unlock(&callers->lock);
  for (size_t i = 0; i < callers->thread_count; i++)
    pthread_join(callers->threads[i], NULL);
  free(callers->threads);
  pthread_cond_destroy(&callers->changed);
  pthread_mutex_destroy(&callers->lock);
}

/* The driver's callback, in whatever thread; it also comes where earlier work has failed. */
static void hand_over(cl_event event, cl_int status, void* argument) {
  (void)event;
  (void)status;
  opencl_call_t* call = argument;
  opencl_callers_t* callers = &call->device->callers;
  pthread_mutex_lock(&callers->lock);
  STAILQ_INSERT_TAIL(&callers->calls, call, entry);
  size_t waiting = 0;
  STAILQ_FOREACH(call, &callers->calls, entry) waiting++;
  /* Others may block for ever in theirs. Without one more thread, this waits for one of them. */
  if (waiting > callers->idle) start_thread(callers);
  pthread_cond_signal(&callers->changed);
  pthread_mutex_unlock(&callers->lock);
}

/* The first thread, so that a call that was enqueued has somebody to run it. */
static bool have_thread(opencl_callers_t* callers) {
  pthread_mutex_lock(&callers->lock);
  const bool have = callers->thread_count > 0 || start_thread(callers);
  pthread_mutex_unlock(&callers->lock);
  return have;
}

static opencl_call_t* new_call(opencl_device_t* device, tbk_callback_fn function, void* argument,
                               cl_int* out_result) {
  *out_result = CL_OUT_OF_HOST_MEMORY;
  opencl_call_t* call = have_thread(&device->callers) ? calloc(1, sizeof *call) : NULL;
  if (call == NULL) return NULL;
  call->device = device;
  call->function = function;
  call->argument = argument;
  call->returned = device->instance->driver.clCreateUserEvent(device->context, out_result);
  if (*out_result == CL_OK) return call;
  free(call);
  return NULL;
}

/* Marker, barrier, and then the driver's callback, which may come at once. */
static cl_int enqueue(tbk_stream_t* queue, opencl_call_t* call, cl_event* out_barrier) {
  const opencl_driver_t* driver = &call->device->instance->driver;
  cl_event marker = NULL;
  cl_int result = driver->clEnqueueMarkerWithWaitList(queue->queue, 0, NULL, &marker);
  if (result == CL_OK)
    result = driver->clEnqueueBarrierWithWaitList(queue->queue, 1, &call->returned, out_barrier);
  if (result == CL_OK) {
    result = driver->clSetEventCallback(marker, CL_COMPLETE, hand_over, call);
    if (result != CL_OK) driver->clReleaseEvent(*out_barrier);
  }
  if (result != CL_OK) finish(call);
  if (marker != NULL) driver->clReleaseEvent(marker);
  return result;
}

static tbk_status_t callback_enqueue(tbk_instance_t* self, tbk_stream_t* stream,
                                     tbk_callback_fn function, void* argument, tbk_error_t* error) {
  opencl_device_t* device;
  tbk_stream_t* queue;
  if (function == NULL) return opencl_fail(error, TBK_INVALID, "function is NULL");
  tbk_status_t status =
      opencl_enter_of(self, stream, stream ? stream->device : NULL, &device, error);
  if (status == TBK_OK) status = opencl_begin(self, device->index, stream, &queue, error);
  if (status != TBK_OK) return status;
  cl_int result;
  cl_event barrier = NULL;
  opencl_call_t* call = new_call(device, function, argument, &result);
  if (call != NULL) result = enqueue(queue, call, &barrier);
  return opencl_end(queue, stream, result, barrier, "enqueuing a callback", error);
}

const tbk_callback_ops_t opencl_callback_ops = {sizeof opencl_callback_ops, callback_enqueue};
