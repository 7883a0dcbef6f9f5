/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * device.c: counting, describing, opening and closing devices; the end of the instance.
 */
#include <stdio.h>
#include <stdlib.h>

#include "npu.h"

/* Both without a context, so that an open device and a closed one answer alike. */
static void describe(const acl_runtime_t* acl, int32_t index, npu_device_t* device) {
  const char* name = acl->soc_name != NULL ? acl->soc_name() : NULL;
  int64_t bytes = 0;
  snprintf(device->name, sizeof device->name, "%s",
           name != NULL && name[0] != '\0' ? name : "an Ascend device");
  if (acl->device_info != NULL &&
      acl->device_info((uint32_t)index, ACL_ATTR_TOTAL_GLOBAL_MEM, &bytes) == ACL_OK && bytes > 0)
    device->memory_bytes = (uint64_t)bytes;
}

/* A number alone does not say why it is 0. */
static int32_t ask_count(const tbk_instance_t* self) {
  const acl_runtime_t* acl = npu_acl();
  uint32_t count = 0;
  char why[200] = "the driver counts none";
  acl_result result = acl != NULL ? acl->device_count(&count) : ACL_OK;
  if (acl != NULL && result == ACL_OK && count > 0)
    return count < NPU_MAX_DEVICES ? (int32_t)count : NPU_MAX_DEVICES;
  if (result != ACL_OK) npu_describe(result, why, sizeof why);
  driver_log(&self->host, TBK_LOG_WARNING, "0 devices: %s", acl != NULL ? why : npu_acl_reason());
  return 0;
}

void npu_count(tbk_instance_t* self) {
  pthread_mutex_lock(&self->lock);
  if (!self->counted) {
    int32_t count = ask_count(self);
    for (int32_t i = 0; i < count; i++)
      describe(npu_acl(), i, &self->devices[i]);
    if (count > 0 && npu_nn() == NULL)
      driver_log(&self->host, TBK_LOG_WARNING, "no kernels: %s", npu_nn_reason());
    if (count > 0) npu_describe_libraries(self->libraries, sizeof self->libraries);
    if (count > 0) npu_tell_unverified(self);
    self->device_count = count;
    self->counted = true;
  }
  pthread_mutex_unlock(&self->lock);
}

tbk_status_t npu_device_count(tbk_instance_t* self, int32_t* out_count, tbk_error_t* error) {
  if (out_count == NULL) return npu_fail(error, TBK_INVALID, "out_count is NULL");
  npu_count(self);
  *out_count = self->device_count;
  return TBK_OK;
}

tbk_status_t npu_device_properties(tbk_instance_t* self, int32_t device,
                                   tbk_device_properties_t* out_properties, tbk_error_t* error) {
  npu_count(self);
  if (device < 0 || device >= self->device_count)
    return npu_fail(error, TBK_INVALID, "there is no device %d", device);
  static const uint64_t dtypes = 0
#define BIT(name, value) | UINT64_C(1) << TBK_##name
      ACL_DTYPE_MAP(BIT)
#undef BIT
      ;
  const tbk_device_properties_t properties = {
      .name = self->devices[device].name,
      .flags = TBK_DEVICE_FLAT_ADDRESS | (npu_is_simulated() ? TBK_DEVICE_SIMULATED : 0),
      .memory_bytes = self->devices[device].memory_bytes,
      .memory_alignment = NPU_ALIGNMENT,
      .copy_granularity = 1,
      .dtypes = npu_nn() != NULL ? dtypes : 0,
      .max_rank = 8,
      /* Priorities are reserved on most products, and nothing tells on which (D 0069). */
      .priority_least = 0,
      .priority_greatest = 0,
      .driver = self->libraries,
  };
  return driver_give_properties(&properties, out_properties, error);
}

/* Opens the context and its internal stream, or undoes what it did. */
static acl_result open_device(int32_t index, npu_device_t* device) {
  npu_entry_t entry;
  acl_context context = NULL;
  acl_result result = npu_context_open(index, &context);
  if (result != ACL_OK) return result;
  result = npu_context_swap(context, &entry);
  if (result == ACL_OK) {
    result = npu_queue_open(&device->internal);
    acl_result back = npu_context_put_back(&entry);
    if (result == ACL_OK && back != ACL_OK) {
      npu_queue_close(&device->internal, false);
      result = back;
    }
  }
  if (result != ACL_OK) {
    npu_context_close(index);
    return result;
  }
  device->reporter.context = context;
  device->context = context;
  return ACL_OK;
}

tbk_status_t npu_device_open(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  npu_count(self);
  if (device < 0 || device >= self->device_count)
    return npu_fail(error, TBK_INVALID, "there is no device %d", device);
  if (npu_is_forked()) return npu_fail(error, TBK_FAILED, "the driver does not outlive a fork");
  tbk_status_t status = TBK_OK;
  pthread_mutex_lock(&self->lock);
  npu_device_t* state = &self->devices[device];
  if (state->context != NULL) {
    status = npu_fail(error, TBK_INVALID_STATE, "device %d is open already", device);
  } else {
    acl_result result = open_device(device, state);
    if (result != ACL_OK) {
      status = npu_tell(error, result, "opening device %d", device);
      if (status == TBK_NOT_READY) status = TBK_FAILED;
    }
  }
  pthread_mutex_unlock(&self->lock);
  return status;
}

static acl_result first_of(acl_result first, acl_result second) {
  return first != ACL_OK ? first : second;
}

/* Closes the device whatever fails on the way; the first error. */
static acl_result close_device(int32_t index, npu_device_t* device) {
  npu_entry_t entry;
  acl_result result = npu_context_swap(device->context, &entry);
  const bool entered = result == ACL_OK;
  if (entered) result = npu_acl()->synchronize_device();
  const bool idle = result == ACL_OK;
  result = first_of(result, npu_streams_close(device, entered));
  handles_make_stale(&device->events, entered ? npu_event_end : NULL);
  npu_reporter_stop(&device->reporter);
  if (entered) result = first_of(result, npu_queue_close(&device->internal, false));
  npu_pool_end(&device->pool, idle);
  npu_free_all(device, entered);
  if (entered) result = first_of(result, npu_context_put_back(&entry));
  device->context = NULL;
  return first_of(result, npu_context_close(index));
}

tbk_status_t npu_device_close(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  npu_count(self);
  if (device < 0 || device >= self->device_count)
    return npu_fail(error, TBK_INVALID_STATE, "there is no device %d", device);
  if (npu_is_forked())
    return npu_fail(error, TBK_INVALID_STATE, "the driver does not outlive a fork");
  npu_device_t* state = &self->devices[device];
  pthread_mutex_lock(&self->lock);
  if (state->context == NULL) {
    pthread_mutex_unlock(&self->lock);
    return npu_fail(error, TBK_INVALID_STATE, "device %d is not open", device);
  }
  acl_result result = close_device(device, state);
  if (npu_translate(result) == TBK_DEVICE_LOST) state->lost = true;
  const bool lost = state->lost;
  pthread_mutex_unlock(&self->lock);
  if (lost) return npu_fail(error, TBK_DEVICE_LOST, "device %d was lost", device);
  if (result == ACL_OK) return TBK_OK;
  (void)npu_tell(error, result, "closing device %d", device);
  return TBK_FAILED;
}

void npu_destroy(tbk_instance_t* self) {
  for (int32_t i = 0; i < NPU_MAX_DEVICES; i++) {
    npu_device_t* device = &self->devices[i];
    if (device->context != NULL && npu_device_close(self, i, NULL) != TBK_OK) {
      /* Nobody is left to be told; the device is closed all the same. */
    }
    handles_free(&device->streams, npu_stream_free);
    handles_free(&device->events, npu_event_free);
    pthread_mutex_destroy(&device->internal.lock);
    pthread_mutex_destroy(&device->reporter.lock);
    pthread_mutex_destroy(&device->pool.lock);
  }
  pthread_mutex_destroy(&self->lock);
  free(self);
}
