/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * pinned.c: host memory that the driver allocates for copies: a buffer of the kind that it keeps
 * within reach of the host, mapped for as long as it lives.
 */
#include <stdlib.h>

#include "opencl.h"

enum { ALIGNMENT = 64 };

static cl_int map(opencl_device_t* device, opencl_memory_t* memory) {
  const opencl_driver_t* driver = &device->instance->driver;
  cl_int result = CL_OK;
  memory->mapped = driver->clEnqueueMapBuffer(device->internal->queue, memory->buffer, 1,
                                              CL_MAP_READ | CL_MAP_WRITE, 0, memory->size_bytes, 0,
                                              NULL, NULL, &result);
  memory->pointer = (void*)(((uintptr_t)memory->mapped + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  return result;
}

/* Pinned memory is the host's, so that it counts for nothing on the device. */
static opencl_memory_t* new_pinned(opencl_device_t* device, uint64_t size_bytes,
                                   tbk_status_t* out_status, tbk_error_t* error) {
  const opencl_driver_t* driver = &device->instance->driver;
  opencl_memory_t* memory = calloc(1, sizeof *memory);
  cl_int result = CL_OUT_OF_HOST_MEMORY;
  if (memory != NULL && size_bytes <= device->max_allocation_bytes) {
    memory->device = device;
    memory->size_bytes = size_bytes;
    memory->buffer = driver->clCreateBuffer(
        device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size_bytes, NULL, &result);
    if (result == CL_OK && (result = map(device, memory)) != CL_OK)
      driver->clReleaseMemObject(memory->buffer);
  }
  *out_status = opencl_status(device, result, "allocating pinned memory", error);
  if (result == CL_OK) return memory;
  free(memory);
  return NULL;
}

static tbk_status_t pinned_alloc(tbk_instance_t* self, int32_t index, uint64_t size_bytes,
                                 void** out_pointer, tbk_error_t* error) {
  opencl_device_t* device;
  tbk_status_t status = opencl_enter(self, index, &device, error);
  if (status != TBK_OK) return status;
  if (out_pointer == NULL) return opencl_fail(error, TBK_INVALID, "out_pointer is NULL");
  if (size_bytes > device->max_allocation_bytes)
    return opencl_fail(error, TBK_OUT_OF_MEMORY, "more than one allocation may have");
  if (size_bytes == 0) {
    *out_pointer = NULL;
    return TBK_OK;
  }
  opencl_memory_t* memory = new_pinned(device, size_bytes + ALIGNMENT, &status, error);
  if (memory == NULL) return status;
  pthread_mutex_lock(&self->lock);
  LIST_INSERT_HEAD(&self->pinned, memory, entry);
  pthread_mutex_unlock(&self->lock);
  *out_pointer = memory->pointer;
  return TBK_OK;
}

void opencl_pinned_release(opencl_memory_t* memory) {
  const opencl_driver_t* driver = &memory->device->instance->driver;
  cl_event event = NULL;
  if (driver->clEnqueueUnmapMemObject(memory->device->internal->queue, memory->buffer,
                                      memory->mapped, 0, NULL, &event) == CL_OK) {
    driver->clWaitForEvents(1, &event);
    driver->clReleaseEvent(event);
  }
  driver->clReleaseMemObject(memory->buffer);
  memory->device = NULL;
}

static void pinned_free(tbk_instance_t* self, void* pointer) {
  if (pointer == NULL) return;
  opencl_memory_t* memory;
  pthread_mutex_lock(&self->lock);
  LIST_FOREACH(memory, &self->pinned, entry)
  if (memory->pointer == pointer) break;
  if (memory != NULL) LIST_REMOVE(memory, entry);
  pthread_mutex_unlock(&self->lock);
  if (memory == NULL) return;
  if (memory->device != NULL) opencl_pinned_release(memory);
  free(memory);
}

const tbk_pinned_ops_t opencl_pinned_ops = {
    .struct_size = sizeof(tbk_pinned_ops_t),
    .pinned_alloc = pinned_alloc,
    .pinned_free = pinned_free,
};
