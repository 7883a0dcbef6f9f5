/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * device.c: opening and closing devices.
 */
#include <stdlib.h>

#include "opencl.h"

static opencl_device_t* device_at(tbk_instance_t* self, int32_t index) {
  opencl_count(self);
  return index >= 0 && index < self->device_count ? &self->devices[index] : NULL;
}

tbk_status_t opencl_enter(tbk_instance_t* self, int32_t index, opencl_device_t** out_device,
                          tbk_error_t* error) {
  opencl_device_t* device = device_at(self, index);
  pthread_mutex_lock(&self->lock);
  const bool open = device != NULL && device->open, lost = device != NULL && device->lost;
  pthread_mutex_unlock(&self->lock);
  if (!open) return opencl_fail(error, TBK_INVALID_STATE, "device %d is not open", index);
  *out_device = device;
  return lost ? opencl_fail(error, TBK_DEVICE_LOST, "device %d is lost", index) : TBK_OK;
}

tbk_status_t opencl_enter_of(tbk_instance_t* self, const void* handle, opencl_device_t* device,
                             opencl_device_t** out_device, tbk_error_t* error) {
  if (handle == NULL) return opencl_fail(error, TBK_INVALID, "stream or event is NULL");
  if (device == NULL)
    return opencl_fail(error, TBK_INVALID_STATE, "the device of the stream or event was closed");
  return opencl_enter(self, device->index, out_device, error);
}

static cl_int open_context(opencl_device_t* device) {
  const opencl_driver_t* driver = &device->instance->driver;
  const intptr_t properties[] = {CL_CONTEXT_PLATFORM, (intptr_t)device->platform, 0};
  cl_int result = CL_OK;
  device->context = driver->clCreateContext(properties, 1, &device->id, NULL, NULL, &result);
  if (result != CL_OK) return result;
  device->internal = opencl_stream_new(device, 0, &result);
  if (device->internal == NULL) driver->clReleaseContext(device->context);
  return result;
}

static tbk_status_t open_locked(opencl_device_t* device, tbk_error_t* error) {
  if (device->open)
    return opencl_fail(error, TBK_INVALID_STATE, "device %d is open already", device->index);
  if (device->lost) return opencl_fail(error, TBK_DEVICE_LOST, "device %d is lost", device->index);
  const cl_int result = open_context(device);
  if (result != CL_OK) {
    const tbk_status_t status = result == CL_DEVICE_NOT_AVAILABLE ? TBK_UNAVAILABLE : TBK_FAILED;
    return opencl_fail(error, status, "opening device %d: %s (%d)", device->index,
                       opencl_error_name(result), result);
  }
  pthread_mutex_init(&device->kernel_lock, NULL);
  pthread_mutex_init(&device->program_lock, NULL);
  opencl_callers_start(&device->callers);
  device->used_bytes = 0;
  device->open = true;
  return TBK_OK;
}

tbk_status_t opencl_device_open(tbk_instance_t* self, int32_t index, tbk_error_t* error) {
  opencl_device_t* device = device_at(self, index);
  if (device == NULL) return opencl_fail(error, TBK_INVALID, "there is no device %d", index);
  pthread_mutex_lock(&self->lock);
  tbk_status_t status = open_locked(device, error);
  pthread_mutex_unlock(&self->lock);
  return status;
}

/* What nobody gave back becomes a stale handle, with nothing of the driver behind it. */
static void strip(opencl_device_t* device) {
  tbk_instance_t* self = device->instance;
  tbk_stream_t* stream;
  tbk_event_t* event;
  opencl_memory_t* memory;
  LIST_FOREACH(stream, &self->streams, entry)
  if (stream->device == device) opencl_stream_strip(stream);
  LIST_FOREACH(event, &self->events, entry) {
    if (event->device != device) continue;
    if (event->point != NULL) self->driver.clReleaseEvent(event->point);
    event->point = NULL;
    event->device = NULL;
  }
  LIST_FOREACH(memory, &self->memories, entry)
  if (memory->device == device) opencl_buffer_release(memory);
}

tbk_status_t opencl_device_close(tbk_instance_t* self, int32_t index, tbk_error_t* error) {
  opencl_device_t* device;
  tbk_status_t status = opencl_enter(self, index, &device, error);
  if (status == TBK_INVALID_STATE) return status;
  const cl_int failure = opencl_device_drain(device);
  opencl_callers_end(&device->callers);
  pthread_mutex_lock(&self->lock);
  opencl_programs_release(device);
  strip(device);
  opencl_stream_release(device->internal);
  device->internal = NULL;
  self->driver.clReleaseContext(device->context);
  pthread_mutex_destroy(&device->kernel_lock);
  pthread_mutex_destroy(&device->program_lock);
  device->open = false;
  const bool lost = device->lost;
  pthread_mutex_unlock(&self->lock);
  if (lost) return opencl_fail(error, TBK_DEVICE_LOST, "device %d was lost", index);
  return opencl_status(device, failure, "earlier work", error);
}
