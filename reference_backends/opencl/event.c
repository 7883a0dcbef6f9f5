/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * event.c: an event of this interface stands for one of OpenCL's, made anew by each record: that of a
 * marker. A wait is a barrier, which keeps the one that it saw.
 */
#include <stdlib.h>

#include "opencl.h"

static tbk_status_t event_create(tbk_instance_t* self, int32_t index, uint32_t flags,
                                 tbk_event_t** out_event, tbk_error_t* error) {
  opencl_device_t* device;
  tbk_status_t status = opencl_enter(self, index, &device, error);
  if (status != TBK_OK) return status;
  if (out_event == NULL || (flags & ~(uint32_t)TBK_EVENT_FLAGS_KNOWN))
    return opencl_fail(error, TBK_INVALID, "out_event is NULL, or an unknown flag");
  tbk_event_t* event = calloc(1, sizeof *event);
  if (event == NULL) return opencl_fail(error, TBK_OUT_OF_MEMORY, "no host memory for an event");
  event->device = device;
  event->flags = flags;
  pthread_mutex_lock(&self->lock);
  LIST_INSERT_HEAD(&self->events, event, entry);
  pthread_mutex_unlock(&self->lock);
  *out_event = event;
  return TBK_OK;
}

static void event_destroy(tbk_instance_t* self, tbk_event_t* event) {
  if (event == NULL) return;
  pthread_mutex_lock(&self->lock);
  LIST_REMOVE(event, entry);
  pthread_mutex_unlock(&self->lock);
  if (event->point != NULL) self->driver.clReleaseEvent(event->point);
  free(event);
}

/* The device of an event that was not made stale. */
static tbk_status_t enter_event(tbk_instance_t* self, const tbk_event_t* event,
                                opencl_device_t** out_device, tbk_error_t* error) {
  return opencl_enter_of(self, event, event ? event->device : NULL, out_device, error);
}

/* What recording and waiting begin with, before the lock of a queue is taken. */
static tbk_status_t enter_pair(tbk_instance_t* self, const tbk_event_t* event,
                               const tbk_stream_t* stream, opencl_device_t** out_device,
                               tbk_error_t* error) {
  tbk_status_t status = enter_event(self, event, out_device, error);
  if (status != TBK_OK) return status;
  return stream != NULL ? TBK_OK : opencl_fail(error, TBK_INVALID, "stream is NULL");
}

/* What the event stands for now, retained; NULL where it was never recorded. */
static tbk_status_t point_of(opencl_device_t* device, const tbk_event_t* event, cl_event* out_point,
                             tbk_error_t* error) {
  cl_int result = CL_OK;
  pthread_mutex_lock(&device->instance->lock);
  *out_point = event->point;
  if (*out_point != NULL) result = device->instance->driver.clRetainEvent(*out_point);
  pthread_mutex_unlock(&device->instance->lock);
  return opencl_status(device, result, "asking for an event", error);
}

static tbk_status_t event_record(tbk_instance_t* self, tbk_event_t* event, tbk_stream_t* stream,
                                 tbk_error_t* error) {
  opencl_device_t* device;
  tbk_stream_t* queue;
  tbk_status_t status = enter_pair(self, event, stream, &device, error);
  if (status != TBK_OK) return status;
  status = opencl_begin(self, device->index, stream, &queue, error);
  if (status != TBK_OK) return status;
  cl_event marker = NULL;
  cl_int result = self->driver.clEnqueueMarkerWithWaitList(queue->queue, 0, NULL, &marker);
  if (result == CL_OK && (result = self->driver.clRetainEvent(marker)) != CL_OK)
    self->driver.clReleaseEvent(marker);
  status = opencl_end(queue, stream, result, marker, "recording an event", error);
  if (result != CL_OK) return status;
  pthread_mutex_lock(&self->lock); /* which is never taken under that of a queue */
  if (event->point != NULL) self->driver.clReleaseEvent(event->point);
  event->point = marker;
  pthread_mutex_unlock(&self->lock);
  return status;
}

static tbk_status_t event_wait(tbk_instance_t* self, tbk_stream_t* stream, tbk_event_t* event,
                               tbk_error_t* error) {
  opencl_device_t* device;
  tbk_stream_t* queue;
  tbk_status_t status = enter_pair(self, event, stream, &device, error);
  if (status != TBK_OK) return status;
  cl_event point;
  status = point_of(device, event, &point, error);
  if (status != TBK_OK) return status;
  status = opencl_begin(self, device->index, stream, &queue, error);
  if (status == TBK_OK) {
    cl_event barrier = NULL;
    cl_int result = self->driver.clEnqueueBarrierWithWaitList(queue->queue, point ? 1 : 0,
                                                              point ? &point : NULL, &barrier);
    status = opencl_end(queue, stream, result, barrier, "waiting for an event", error);
  }
  if (point != NULL) self->driver.clReleaseEvent(point);
  return status;
}

/* Takes the point; how it stands, which is an error below 0. */
static cl_int status_of(tbk_instance_t* self, cl_event point) {
  cl_int status = CL_COMPLETE;
  if (point == NULL) return CL_COMPLETE;
  cl_int result = self->driver.clGetEventInfo(point, CL_EVENT_STATUS, sizeof status, &status, NULL);
  self->driver.clReleaseEvent(point);
  return result == CL_OK ? status : result;
}

static tbk_status_t tell(opencl_device_t* device, cl_int status, tbk_error_t* error) {
  if (status > CL_COMPLETE)
    return opencl_fail(error, TBK_NOT_READY, "the recorded work is not complete");
  return opencl_status(device, status, "recorded work", error);
}

static tbk_status_t event_query(tbk_instance_t* self, tbk_event_t* event, tbk_error_t* error) {
  opencl_device_t* device;
  cl_event point;
  tbk_status_t status = enter_event(self, event, &device, error);
  if (status == TBK_OK) status = point_of(device, event, &point, error);
  return status == TBK_OK ? tell(device, status_of(self, point), error) : status;
}

static tbk_status_t event_synchronize(tbk_instance_t* self, tbk_event_t* event,
                                      tbk_error_t* error) {
  opencl_device_t* device;
  cl_event point;
  tbk_status_t status = enter_event(self, event, &device, error);
  if (status != TBK_OK && status != TBK_DEVICE_LOST) return status;
  const tbk_status_t of_point = point_of(device, event, &point, error);
  if (of_point != TBK_OK) return of_point;
  const cl_int result = point != NULL ? opencl_wait(device, point) : CL_COMPLETE;
  return status == TBK_OK ? tell(device, result, error) : status;
}

/* The device's clock when the event was reached; or why it cannot be told. */
static tbk_status_t time_of(tbk_instance_t* self, opencl_device_t* device, const tbk_event_t* event,
                            cl_ulong* out_ns, tbk_error_t* error) {
  const bool can = (event->flags & TBK_EVENT_TIMING) != 0 && event->device == device;
  cl_event point = NULL;
  tbk_status_t status = can ? point_of(device, event, &point, error) : TBK_OK;
  if (status == TBK_OK && point == NULL)
    return opencl_fail(error, TBK_INVALID_STATE, "not both timing, recorded and of one device");
  if (status != TBK_OK) return status;
  cl_int result =
      self->driver.clGetEventProfilingInfo(point, CL_PROFILING_END, sizeof *out_ns, out_ns, NULL);
  status = tell(device, status_of(self, point), error);
  return status == TBK_OK ? opencl_status(device, result, "timing", error) : status;
}

static tbk_status_t event_elapsed(tbk_instance_t* self, tbk_event_t* start, tbk_event_t* end,
                                  double* out_ms, tbk_error_t* error) {
  if (start == NULL || end == NULL || out_ms == NULL)
    return opencl_fail(error, TBK_INVALID, "start, end or out_ms is NULL");
  opencl_device_t* device;
  cl_ulong from = 0, to = 0;
  tbk_status_t status = enter_event(self, start, &device, error);
  if (status != TBK_OK) return status;
  const tbk_status_t of_end = time_of(self, device, end, &to, error);
  if (of_end == TBK_INVALID_STATE) return of_end;
  status = time_of(self, device, start, &from, error);
  if (status == TBK_OK) status = of_end;
  if (status == TBK_OK) *out_ms = (double)(int64_t)(to - from) / 1e6;
  return status;
}

const tbk_event_ops_t opencl_event_ops = {
    sizeof opencl_event_ops, event_create, event_destroy, event_record, event_wait, event_query,
    event_synchronize,       event_elapsed};
