/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * backend.c: the entry point, the end, and what an error of the driver means.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tbk/dtypes.h>

#include "job.h"

/* OpenCL has no code for a lost device. A context, queue or device of ours that the driver knows no
 * more is one; so is a terminated context. CL_OUT_OF_RESOURCES means too many things to be one. */
tbk_status_t opencl_translate(cl_int result) {
  switch (result) {
    case CL_OK:
      return TBK_OK;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE:
      return TBK_OUT_OF_MEMORY;
    case CL_DEVICE_NOT_AVAILABLE:
    case CL_INVALID_DEVICE:
    case CL_INVALID_CONTEXT:
    case CL_INVALID_COMMAND_QUEUE:
    case CL_CONTEXT_TERMINATED_KHR:
      return TBK_DEVICE_LOST;
    default:
      return TBK_FAILED;
  }
}

tbk_status_t opencl_status(opencl_device_t* device, cl_int result, const char* what,
                           tbk_error_t* error) {
  tbk_status_t status = opencl_translate(result);
  if (status == TBK_OK) return status;
  if (status == TBK_DEVICE_LOST) {
    pthread_mutex_lock(&device->instance->lock);
    device->lost = true;
    pthread_mutex_unlock(&device->instance->lock);
  }
  return opencl_fail(error, status, "%s on device %d: %s (%d)", what, device->index,
                     opencl_error_name(result), result);
}

/* What nobody gave back, all of it stale by now. */
static void free_handles(tbk_instance_t* self) {
  while (!LIST_EMPTY(&self->memories))
    opencl_memory_free(self, 0, (uintptr_t)LIST_FIRST(&self->memories), NULL);
  while (!LIST_EMPTY(&self->streams))
    opencl_stream_ops.stream_destroy(self, LIST_FIRST(&self->streams));
  while (!LIST_EMPTY(&self->events))
    opencl_event_ops.event_destroy(self, LIST_FIRST(&self->events));
}

static void destroy(tbk_instance_t* self) {
  for (int32_t i = 0; i < self->device_count; i++) {
    if (!self->devices[i].open) continue;
    if (opencl_device_close(self, i, NULL) != TBK_OK) continue; /* closed all the same */
  }
  driver_plans_free(&self->plans);
  free_handles(self);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

static tbk_status_t device_count(tbk_instance_t* self, int32_t* out_count, tbk_error_t* error) {
  if (out_count == NULL) return opencl_fail(error, TBK_INVALID, "out_count is NULL");
  opencl_count(self);
  *out_count = self->device_count;
  return TBK_OK;
}

static uint64_t dtypes(const opencl_device_t* device) {
  if (!device->has_compiler) return 0;
  const uint64_t doubles = UINT64_C(1) << TBK_FLOAT64 | UINT64_C(1) << TBK_COMPLEX128;
  return device->has_double ? TBK_DTYPES_ALL : TBK_DTYPES_ALL & ~doubles;
}

static tbk_status_t device_properties(tbk_instance_t* self, int32_t index,
                                      tbk_device_properties_t* out_properties, tbk_error_t* error) {
  opencl_count(self);
  if (index < 0 || index >= self->device_count)
    return opencl_fail(error, TBK_INVALID, "there is no device %d", index);
  const opencl_device_t* device = &self->devices[index];
  const tbk_device_properties_t all = {
      .name = device->name,
      .flags = TBK_DEVICE_PHILOX,
      .memory_bytes = device->memory_bytes,
      .memory_alignment = device->alignment,
      .copy_granularity = 1,
      .dtypes = dtypes(device),
      .max_rank = EMIT_MAX_RANK,
      .priority_least = 0,
      .priority_greatest = device->has_priorities ? -1 : 0,
      .max_allocation_bytes = device->max_allocation_bytes,
      .driver = device->driver,
  };
  return driver_give_properties(&all, out_properties, error);
}

static const tbk_core_t core = {sizeof core,         destroy,
                                device_count,        device_properties,
                                opencl_device_open,  opencl_device_close,
                                opencl_memory_alloc, opencl_memory_free,
                                opencl_upload,       opencl_download,
                                opencl_copy,         opencl_fill,
                                opencl_memory_info};

static const tbk_backend_t table = {
    .struct_size = sizeof(tbk_backend_t),
    .abi_version = TBK_ABI_VERSION,
    .name = "tbk_opencl",
    .version = "0.1.0",
    .core = &core,
    .stream = &opencl_stream_ops,
    .event = &opencl_event_ops,
    .callback = &opencl_callback_ops,
    .pinned = &opencl_pinned_ops,
    .kernel = &opencl_kernel_ops,
    .random = &opencl_random_ops,
};

tbk_status_t tbk_backend_create(const tbk_host_t* host, const tbk_backend_t** out_backend,
                                tbk_error_t* error) {
  opencl_options_t options;
  tbk_status_t status = driver_check_host(host, out_backend, error);
  if (status == TBK_OK) status = opencl_options_parse(&options, host->options, error);
  if (status != TBK_OK) return status;
  tbk_instance_t* self = calloc(1, sizeof *self);
  if (self == NULL) return opencl_fail(error, TBK_OUT_OF_MEMORY, "no host memory");
  self->options = options;
  self->host.log = host->log;
  self->host.context = host->context;
  self->backend = table;
  self->backend.instance = self;
  pthread_mutex_init(&self->lock, NULL);
  *out_backend = &self->backend;
  return TBK_OK;
}
