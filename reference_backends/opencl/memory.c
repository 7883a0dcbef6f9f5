/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.c: buffers. Drivers give memory when it is first used, and say so late, so what was asked for
 * is counted here, and a new buffer is moved to the device at once.
 */
#include <stdlib.h>

#include "opencl.h"

/* Takes the bytes off what is left; false where there is not so much. */
static bool take(opencl_device_t* device, uint64_t size_bytes) {
  pthread_mutex_lock(&device->instance->lock);
  const bool fits = size_bytes <= device->max_allocation_bytes &&
                    size_bytes <= device->memory_bytes - device->used_bytes;
  if (fits) device->used_bytes += size_bytes;
  pthread_mutex_unlock(&device->instance->lock);
  return fits;
}

/* Makes the driver find room for the buffer now. */
static cl_int settle(opencl_device_t* device, cl_mem buffer) {
  const opencl_driver_t* driver = &device->instance->driver;
  cl_event event = NULL;
  const cl_int result = driver->clEnqueueMigrateMemObjects(
      device->internal->queue, 1, &buffer, CL_MIGRATE_CONTENT_UNDEFINED, 0, NULL, &event);
  return result == CL_OK ? opencl_wait(device, event) : result;
}

static cl_int make(opencl_device_t* device, opencl_memory_t* memory, cl_bits flags) {
  const opencl_driver_t* driver = &device->instance->driver;
  cl_int result = CL_OK;
  memory->buffer =
      driver->clCreateBuffer(device->context, flags, memory->size_bytes, NULL, &result);
  if (result != CL_OK) return result;
  result = settle(device, memory->buffer);
  if (result != CL_OK) driver->clReleaseMemObject(memory->buffer);
  return result;
}

opencl_memory_t* opencl_buffer_new(opencl_device_t* device, uint64_t size_bytes, cl_bits flags,
                                   tbk_status_t* out_status, tbk_error_t* error) {
  opencl_memory_t* memory = calloc(1, sizeof *memory);
  const bool fits = memory != NULL && take(device, size_bytes);
  if (!fits) {
    free(memory);
    *out_status = opencl_fail(error, TBK_OUT_OF_MEMORY, "%llu bytes are more than is left",
                              (unsigned long long)size_bytes);
    return NULL;
  }
  memory->device = device;
  memory->size_bytes = size_bytes;
  const cl_int result = make(device, memory, flags);
  *out_status = opencl_status(device, result, "allocating", error);
  pthread_mutex_lock(&device->instance->lock);
  if (result == CL_OK)
    LIST_INSERT_HEAD(&device->instance->memories, memory, entry);
  else
    device->used_bytes -= size_bytes;
  pthread_mutex_unlock(&device->instance->lock);
  if (result == CL_OK) return memory;
  free(memory);
  return NULL;
}

void opencl_buffer_release(opencl_memory_t* memory) {
  if (memory->device == NULL) return;
  const opencl_driver_t* driver = &memory->device->instance->driver;
  cl_event event = NULL;
  if (memory->mapped != NULL &&
      driver->clEnqueueUnmapMemObject(memory->device->internal->queue, memory->buffer,
                                      memory->mapped, 0, NULL, &event) == CL_OK)
    opencl_wait(memory->device, event);
  driver->clReleaseMemObject(memory->buffer);
  memory->device->used_bytes -= memory->size_bytes;
  memory->device = NULL;
}

tbk_status_t opencl_memory_alloc(tbk_instance_t* self, int32_t index, uint64_t size_bytes,
                                 tbk_memory_t* out_memory, tbk_error_t* error) {
  opencl_device_t* device;
  tbk_status_t status = opencl_enter(self, index, &device, error);
  if (status != TBK_OK) return status;
  if (out_memory == NULL) return opencl_fail(error, TBK_INVALID, "out_memory is NULL");
  opencl_memory_t* memory = NULL;
  if (size_bytes > 0) {
    memory = opencl_buffer_new(device, size_bytes, CL_MEM_READ_WRITE, &status, error);
    if (memory == NULL) return status;
  }
  *out_memory = (uintptr_t)memory;
  return TBK_OK;
}

tbk_status_t opencl_memory_free(tbk_instance_t* self, int32_t index, tbk_memory_t handle,
                                tbk_error_t* error) {
  (void)index; /* memory knows its device, also one that was closed or lost since */
  (void)error;
  opencl_memory_t* memory = (opencl_memory_t*)(uintptr_t)handle;
  if (memory == NULL) return TBK_OK;
  pthread_mutex_lock(&self->lock);
  LIST_REMOVE(memory, entry);
  opencl_buffer_release(memory);
  pthread_mutex_unlock(&self->lock);
  free(memory);
  return TBK_OK;
}

tbk_status_t opencl_memory_info(tbk_instance_t* self, int32_t index, uint64_t* out_free_bytes,
                                uint64_t* out_total_bytes, tbk_error_t* error) {
  opencl_device_t* device;
  tbk_status_t status = opencl_enter(self, index, &device, error);
  if (status != TBK_OK) return status;
  if (out_free_bytes == NULL || out_total_bytes == NULL)
    return opencl_fail(error, TBK_INVALID, "out_free_bytes or out_total_bytes is NULL");
  pthread_mutex_lock(&self->lock);
  *out_free_bytes = device->memory_bytes - device->used_bytes;
  *out_total_bytes = device->memory_bytes;
  pthread_mutex_unlock(&self->lock);
  return TBK_OK;
}
