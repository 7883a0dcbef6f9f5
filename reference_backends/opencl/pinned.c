/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * pinned.c: host memory that the driver allocates for copies: a buffer of the kind that it keeps
 * within reach of the host, mapped for as long as it lives. It counts as memory of the device, since a
 * driver may keep a twin of it there.
 */

#include "opencl.h"

enum { ALIGNMENT = 64 };

static cl_int map(opencl_device_t* device, opencl_memory_t* memory) {
  const opencl_driver_t* driver = &device->instance->driver;
  cl_int result = CL_OK;
  memory->mapped =
      driver->clEnqueueMapBuffer(device->internal->queue, memory->buffer, 1, CL_MAP_READ_WRITE, 0,
                                 memory->size_bytes, 0, NULL, NULL, &result);
  memory->pointer = (void*)(((uintptr_t)memory->mapped + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  return result;
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
  opencl_memory_t* memory = opencl_buffer_new(
      device, size_bytes + ALIGNMENT, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, &status, error);
  if (memory == NULL) return status;
  status = opencl_status(device, map(device, memory), "mapping pinned memory", error);
  if (status != TBK_OK)
    opencl_memory_free(self, index, (uintptr_t)memory, NULL);
  else
    *out_pointer = memory->pointer;
  return status;
}

static void pinned_free(tbk_instance_t* self, void* pointer) {
  if (pointer == NULL) return;
  opencl_memory_t* memory;
  pthread_mutex_lock(&self->lock);
  LIST_FOREACH(memory, &self->memories, entry)
  if (memory->pointer == pointer) break;
  pthread_mutex_unlock(&self->lock);
  opencl_memory_free(self, 0, (uintptr_t)memory, NULL);
}

const tbk_pinned_ops_t opencl_pinned_ops = {sizeof opencl_pinned_ops, pinned_alloc, pinned_free};
