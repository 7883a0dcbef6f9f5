/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * device.c: counting, describing, opening and closing devices; the end of the instance.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tbk/dtypes.h>

#include "memory.h"

/* A driver that does not know the attribute is older than pools. */
static bool has_pools(const tbk_instance_t* self, cu_device device) {
  const cuda_driver_t* driver = cuda_driver();
  int pools = 0;
  if (driver->mem_alloc_async == NULL || driver->mem_free_async == NULL) return false;
  const cu_result result = driver->device_get_attribute(&pools, CU_ATTRIBUTE_MEMORY_POOLS, device);
  if (result != CU_OK && result != CU_INVALID_VALUE)
    driver_log(&self->host, TBK_LOG_WARNING, "asking for pools of memory: %s",
               cuda_error_text(result));
  return result == CU_OK && pools != 0;
}

static void describe(const tbk_instance_t* self, int index, cuda_device_t* device) {
  const cuda_driver_t* driver = cuda_driver();
  size_t total = 0;
  device->handle = -1;
  if (driver->device_get(&device->handle, index) != CU_OK) return;
  if (driver->device_get_name(device->name, sizeof device->name - 1, device->handle) != CU_OK ||
      device->name[0] == '\0') {
    strcpy(device->name, "a CUDA device");
  }
  if (driver->device_total_mem(&total, device->handle) == CU_OK) device->memory_bytes = total;
  device->pools = has_pools(self, device->handle);
}

/* A number alone does not say why it is 0. */
static int ask_count(const tbk_instance_t* self) {
  const cuda_driver_t* driver = cuda_driver();
  int count = 0;
  cu_result result = driver != NULL ? driver->device_get_count(&count) : CU_OK;
  if (driver != NULL && result == CU_OK && count > 0)
    return count < CUDA_MAX_DEVICES ? count : CUDA_MAX_DEVICES;
  driver_log(&self->host, TBK_LOG_WARNING, "0 devices: %s",
             driver == NULL    ? cuda_driver_reason()
             : result == CU_OK ? "the driver counts none"
                               : cuda_error_text(result));
  return 0;
}

void cuda_count(tbk_instance_t* self) {
  pthread_mutex_lock(&self->lock);
  if (!self->counted) {
    int count = ask_count(self);
    for (int i = 0; i < count; i++)
      describe(self, i, &self->devices[i]);
    if (count > 0) cuda_describe_libraries(self->libraries, sizeof self->libraries);
    self->device_count = count;
    self->counted = true;
  }
  pthread_mutex_unlock(&self->lock);
}

static tbk_status_t device_count(tbk_instance_t* self, int32_t* out_count, tbk_error_t* error) {
  if (out_count == NULL) return cuda_fail(error, TBK_INVALID, "out_count is NULL");
  cuda_count(self);
  *out_count = self->device_count;
  return TBK_OK;
}

static tbk_status_t device_properties(tbk_instance_t* self, int32_t device,
                                      tbk_device_properties_t* out_properties, tbk_error_t* error) {
  cuda_count(self);
  if (device < 0 || device >= self->device_count) {
    return cuda_fail(error, TBK_INVALID, "there is no device %d", device);
  }
  const tbk_device_properties_t properties = {
      .name = self->devices[device].name,
      .flags = TBK_DEVICE_FLAT_ADDRESS | TBK_DEVICE_CROSS_DEVICE_WAIT |
               (self->backend.random ? TBK_DEVICE_PHILOX : 0) |
               (cuda_driver_is_simulated() ? TBK_DEVICE_SIMULATED : 0),
      .memory_bytes = self->devices[device].memory_bytes,
      .memory_alignment = CUDA_ALIGNMENT,
      .copy_granularity = 1,
      .dtypes = self->backend.kernel ? TBK_DTYPES_ALL : 0,
      .max_rank = 8,
      /* The driver clamps to its own range, which only an open context can tell. */
      .priority_least = 0,
      .priority_greatest = -5,
      .driver = self->libraries,
  };
  return driver_give_properties(&properties, out_properties, error);
}

/* Puts the new context and its internal stream into `device`, or undoes what it did. */
static cu_result open_context(const cuda_driver_t* driver, cuda_device_t* device) {
  cu_context context = NULL;
  cu_context ignored;
  cu_stream internal = NULL;
  cu_result result = driver->primary_retain(&context, device->handle);
  if (result != CU_OK) return result;
  result = driver->context_push(context);
  if (result == CU_OK) {
    result = driver->stream_create(&internal, CU_STREAM_NON_BLOCKING, 0);
    if (result == CU_OK) {
      result = driver->context_pop(&ignored);
      if (result != CU_OK) driver->stream_destroy(internal);
    } else {
      driver->context_pop(&ignored);
    }
  }
  if (result != CU_OK) {
    driver->primary_release(device->handle);
    return result;
  }
  device->context = context;
  device->internal = internal;
  return CU_OK;
}

tbk_status_t cuda_device_open(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  cuda_count(self);
  if (device < 0 || device >= self->device_count) {
    return cuda_fail(error, TBK_INVALID, "there is no device %d", device);
  }
  if (cuda_driver_is_forked())
    return cuda_fail(error, TBK_FAILED, "the driver does not outlive a fork");
  tbk_status_t status = TBK_OK;
  pthread_mutex_lock(&self->lock);
  cuda_device_t* state = &self->devices[device];
  if (state->context != NULL) {
    status = cuda_fail(error, TBK_INVALID_STATE, "device %d is open already", device);
  } else if (state->handle < 0) {
    status =
        cuda_fail(error, TBK_FAILED, "the driver counts device %d and does not give it", device);
  } else {
    cu_result result = open_context(cuda_driver(), state);
    if (result != CU_OK) {
      status = cuda_translate(result);
      if (status == TBK_INVALID || status == TBK_NOT_READY) status = TBK_FAILED;
      cuda_fail(error, status, "opening device %d: %s", device, cuda_error_text(result));
    }
  }
  pthread_mutex_unlock(&self->lock);
  return status;
}

/* Closes the device whatever fails on the way; the first error. */
static cu_result close_context(const cuda_driver_t* driver, cuda_device_t* state) {
  cu_context ignored;
  cu_result result = driver->context_push(state->context);
  bool entered = result == CU_OK;
  if (entered) {
    result = driver->context_synchronize();
    const cu_result unloaded = cuda_programs_unload(state);
    if (result == CU_OK) result = unloaded;
    cuda_products_end(state);
  }
  handles_make_stale(&state->streams, entered ? cuda_stream_end : NULL);
  handles_make_stale(&state->events, entered ? cuda_event_end : NULL);
  cuda_free_all(state, entered);
  const cu_result kept = cuda_kept_free(state, entered);
  if (result == CU_OK) result = kept;
  if (entered) {
    cu_result destroyed = driver->stream_destroy(state->internal);
    cu_result left = driver->context_pop(&ignored);
    if (result == CU_OK) result = destroyed != CU_OK ? destroyed : left;
  }
  cu_result released = driver->primary_release(state->handle);
  state->context = NULL;
  state->products = NULL;
  state->no_products = false;
  return result == CU_OK ? released : result;
}

tbk_status_t cuda_device_close(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  cuda_count(self);
  if (device < 0 || device >= self->device_count) {
    return cuda_fail(error, TBK_INVALID_STATE, "there is no device %d", device);
  }
  if (cuda_driver_is_forked())
    return cuda_fail(error, TBK_INVALID_STATE, "the driver does not outlive a fork");
  cuda_device_t* state = &self->devices[device];
  pthread_mutex_lock(&self->lock);
  if (state->context == NULL) {
    pthread_mutex_unlock(&self->lock);
    return cuda_fail(error, TBK_INVALID_STATE, "device %d is not open", device);
  }
  cu_result result = close_context(cuda_driver(), state);
  bool lost = state->lost || cuda_translate(result) == TBK_DEVICE_LOST;
  pthread_mutex_unlock(&self->lock);
  if (lost) return cuda_fail(error, TBK_DEVICE_LOST, "device %d was lost", device);
  if (result == CU_OK) return TBK_OK;
  return cuda_fail(error, TBK_FAILED, "closing device %d: %s", device, cuda_error_text(result));
}

static void destroy(tbk_instance_t* self) {
  for (int32_t i = 0; i < self->device_count; i++) {
    if (self->devices[i].context != NULL && cuda_device_close(self, i, NULL) != TBK_OK) {
      /* Nobody is left to be told; the device is closed all the same. */
    }
    handles_free(&self->devices[i].streams, free);
    handles_free(&self->devices[i].events, free);
  }
  driver_plans_free(&self->plans);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

const tbk_core_t cuda_core = {
    .struct_size = sizeof(tbk_core_t),
    .destroy = destroy,
    .device_count = device_count,
    .device_properties = device_properties,
    .device_open = cuda_device_open,
    .device_close = cuda_device_close,
    .memory_alloc = cuda_memory_alloc,
    .memory_free = cuda_memory_free,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .memory_info = cuda_memory_info,
};
