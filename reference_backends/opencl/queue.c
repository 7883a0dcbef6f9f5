/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * queue.c: the way of every command into a queue, and what is kept of it until it is complete.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "opencl.h"

static cl_queue new_queue(opencl_device_t* device, int32_t priority, cl_int* out_result) {
  const opencl_driver_t* driver = &device->instance->driver;
  if (!device->has_properties_of_queues)
    return driver->clCreateCommandQueue(device->context, device->id, device->queue_properties,
                                        out_result);
  cl_ulong properties[] = {CL_QUEUE_PROPERTIES, device->queue_properties, 0, 0, 0};
  if (device->has_priorities) {
    properties[2] = CL_QUEUE_PRIORITY;
    properties[3] = priority < 0 ? CL_PRIORITY_HIGH : CL_PRIORITY_MEDIUM;
  }
  return driver->clCreateCommandQueueWithProperties(device->context, device->id, properties,
                                                    out_result);
}

tbk_stream_t* opencl_stream_new(opencl_device_t* device, int32_t priority, cl_int* out_result) {
  tbk_stream_t* stream = calloc(1, sizeof *stream);
  *out_result = CL_OUT_OF_HOST_MEMORY;
  if (stream == NULL) return NULL;
  stream->device = device;
  stream->queue = new_queue(device, priority, out_result);
  if (*out_result != CL_OK) {
    free(stream);
    return NULL;
  }
  pthread_mutex_init(&stream->lock, NULL);
  return stream;
}

void opencl_stream_strip(tbk_stream_t* stream) {
  if (stream->device == NULL) return;
  const opencl_driver_t* driver = &stream->device->instance->driver;
  for (size_t i = stream->first; i < stream->end; i++)
    driver->clReleaseEvent(stream->events[i]);
  driver->clReleaseCommandQueue(stream->queue);
  stream->device = NULL;
}

void opencl_stream_release(tbk_stream_t* stream) {
  opencl_stream_strip(stream);
  pthread_mutex_destroy(&stream->lock);
  free(stream->events);
  free(stream);
}

bool opencl_reserve(tbk_stream_t* queue) {
  if (queue->first > 0 && queue->end == queue->room) {
    memmove(queue->events, queue->events + queue->first,
            (queue->end - queue->first) * sizeof *queue->events);
    queue->end -= queue->first;
    queue->first = 0;
  }
  if (queue->end < queue->room) return true;
  const size_t room = queue->room ? 2 * queue->room : 64;
  cl_event* more = realloc(queue->events, room * sizeof *more);
  if (more == NULL) return false;
  queue->events = more;
  queue->room = room;
  return true;
}

bool opencl_reap(tbk_stream_t* queue) {
  const opencl_driver_t* driver = &queue->device->instance->driver;
  for (; queue->first < queue->end; queue->first++) {
    cl_event event = queue->events[queue->first];
    cl_int status = CL_COMPLETE;
    cl_int result = driver->clGetEventInfo(event, CL_EVENT_STATUS, sizeof status, &status, NULL);
    if (queue->failure == CL_OK) queue->failure = result != CL_OK || status > 0 ? result : status;
    if (result != CL_OK || status > CL_COMPLETE) return false;
    driver->clReleaseEvent(event);
  }
  queue->first = queue->end = 0;
  return true;
}

tbk_status_t opencl_begin(tbk_instance_t* self, int32_t index, tbk_stream_t* stream,
                          tbk_stream_t** out_queue, tbk_error_t* error) {
  opencl_device_t* device;
  tbk_status_t status = opencl_enter(self, index, &device, error);
  if (status != TBK_OK) return status;
  if (stream != NULL && stream->device != device)
    return opencl_fail(error, TBK_INVALID, "the stream is not one of device %d", index);
  tbk_stream_t* queue = stream ? stream : device->internal;
  pthread_mutex_lock(&queue->lock);
  opencl_reap(queue);
  if (opencl_reserve(queue)) {
    *out_queue = queue;
    return TBK_OK;
  }
  pthread_mutex_unlock(&queue->lock);
  return opencl_fail(error, TBK_OUT_OF_MEMORY, "no host memory for a command");
}

cl_int opencl_wait(opencl_device_t* device, cl_event event) {
  const opencl_driver_t* driver = &device->instance->driver;
  const struct timespec pause = {.tv_nsec = 1000000};
  cl_int asked, status = CL_COMPLETE;
  const cl_int result = driver->clWaitForEvents(1, &event);
  /* A wait that failed has waited for nothing, and the command may use memory of the caller. */
  while ((asked = driver->clGetEventInfo(event, CL_EVENT_STATUS, sizeof status, &status, NULL)) ==
             CL_OK &&
         status > CL_COMPLETE && opencl_translate(result) != TBK_DEVICE_LOST)
    nanosleep(&pause, NULL);
  driver->clReleaseEvent(event);
  return asked == CL_OK && status <= CL_COMPLETE ? status : result;
}

/* Without this, nothing need ever begin: neither a query nor another queue makes it. The command is
 * there already and cannot be taken back, so a driver in need is asked again. */
static cl_int flush(tbk_stream_t* queue) {
  cl_int result = CL_OUT_OF_RESOURCES;
  for (int i = 0; i < OPENCL_TRIES && result != CL_OK; i++)
    result = queue->device->instance->driver.clFlush(queue->queue);
  return result;
}

tbk_status_t opencl_end(tbk_stream_t* queue, tbk_stream_t* stream, cl_int result, cl_event event,
                        const char* what, tbk_error_t* error) {
  opencl_device_t* device = queue->device;
  if (result == CL_OK && stream != NULL) queue->events[queue->end++] = event;
  pthread_mutex_unlock(&queue->lock);
  const bool enqueued = result == CL_OK;
  if (enqueued) result = flush(queue);
  if (enqueued && stream == NULL) result = opencl_wait(device, event); /* which flushes as well */
  return opencl_status(device, result, what, error);
}

/* The last command that is not complete, retained; NULL where there is none. */
static cl_event last_of(tbk_stream_t* queue) {
  const opencl_driver_t* driver = &queue->device->instance->driver;
  cl_event last = NULL;
  pthread_mutex_lock(&queue->lock);
  if (!opencl_reap(queue)) last = queue->events[queue->end - 1];
  if (last != NULL && driver->clRetainEvent(last) != CL_OK) {
    driver->clWaitForEvents(1, &last); /* here, as long as it cannot go */
    last = NULL;
  }
  pthread_mutex_unlock(&queue->lock);
  return last;
}

static cl_int take_failure(tbk_stream_t* queue) {
  pthread_mutex_lock(&queue->lock);
  opencl_reap(queue);
  const cl_int failure = queue->failure;
  queue->failure = CL_OK;
  pthread_mutex_unlock(&queue->lock);
  return failure;
}

cl_int opencl_drain(tbk_stream_t* queue) {
  cl_event last = last_of(queue);
  if (last != NULL) opencl_wait(queue->device, last);
  return take_failure(queue); /* of whichever command */
}

/* The last event of each queue of the device, at most `room`; how many there are. */
static size_t find_lasts(opencl_device_t* device, cl_event* lasts, size_t room) {
  size_t count = 0;
  tbk_stream_t* stream;
  LIST_FOREACH(stream, &device->instance->streams, entry) {
    if (stream->device != device || count == room) continue;
    cl_event last = last_of(stream);
    if (last != NULL) lasts[count++] = last;
  }
  return count;
}

/* Waits without the lock, so that nobody else has to. Queues in excess of the room get their turn in
 * the next round: whoever is complete is not found any more. */
cl_int opencl_device_drain(opencl_device_t* device) {
  tbk_instance_t* self = device->instance;
  tbk_stream_t* stream;
  cl_int failure = CL_OK;
  cl_event lasts[64];
  size_t count;
  do {
    pthread_mutex_lock(&self->lock);
    count = find_lasts(device, lasts, sizeof lasts / sizeof *lasts);
    pthread_mutex_unlock(&self->lock);
    for (size_t i = 0; i < count; i++)
      opencl_wait(device, lasts[i]);
  } while (count == sizeof lasts / sizeof *lasts);
  pthread_mutex_lock(&self->lock);
  LIST_FOREACH(stream, &self->streams, entry) {
    const cl_int result = stream->device == device ? take_failure(stream) : CL_OK;
    if (failure == CL_OK) failure = result;
  }
  pthread_mutex_unlock(&self->lock);
  return failure;
}
