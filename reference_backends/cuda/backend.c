/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * backend.c: the entry point, errors, and the way into a device's context and out of it.
 */
#include "job.h"
#include "library.h"
#include "nvrtc.h"

#include <stdlib.h>

/* Faults after which the driver answers every call on the context with the same error. */
static bool is_fault(cu_result result) {
  static const cu_result faults[] = {214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    if (faults[i] == result) return true;
  }
  return false;
}

tbk_status_t cuda_translate(cu_result result) {
  switch (result) {
    case CU_OK:
      return TBK_OK;
    case CU_INVALID_VALUE:
      return TBK_INVALID;
    case CU_OUT_OF_MEMORY:
      return TBK_OUT_OF_MEMORY;
    case CU_NOT_READY:
      return TBK_NOT_READY;
    case CU_DEVICE_UNAVAILABLE:
      return TBK_UNAVAILABLE;
    case CU_NOT_SUPPORTED:
      return TBK_UNSUPPORTED;
    default:
      return is_fault(result) ? TBK_DEVICE_LOST : TBK_FAILED;
  }
}

bool cuda_is_refusal(cu_result result) {
  const tbk_status_t status = cuda_translate(result);
  return status != TBK_OUT_OF_MEMORY && status != TBK_DEVICE_LOST && status != TBK_UNAVAILABLE;
}

tbk_status_t cuda_enter(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  cuda_count(self);
  if (cuda_driver_is_forked())
    return cuda_fail(error, TBK_INVALID_STATE, "the driver does not outlive a fork");
  bool exists = device >= 0 && device < self->device_count;
  pthread_mutex_lock(&self->lock);
  cu_context context = exists ? self->devices[device].context : NULL;
  bool lost = exists && self->devices[device].lost;
  pthread_mutex_unlock(&self->lock);
  if (context == NULL) {
    return cuda_fail(error, TBK_INVALID_STATE, "device %d is not open", device);
  }
  if (lost) return cuda_fail(error, TBK_DEVICE_LOST, "device %d is lost", device);
  cu_result result = cuda_driver()->context_push(context);
  if (result == CU_OK) return TBK_OK;
  return cuda_fail(error, cuda_translate(result), "entering device %d: %s", device,
                   cuda_error_text(result));
}

tbk_status_t cuda_leave(tbk_instance_t* self, int32_t device, cu_result result, const char* what,
                        tbk_error_t* error) {
  cu_context ignored;
  cu_result left = cuda_driver()->context_pop(&ignored);
  bool first = result == CU_OK || result == CU_NOT_READY;
  if (left != CU_OK && first) result = left;
  if (left != CU_OK && !first)
    driver_log(&self->host, TBK_LOG_WARNING, "%s", cuda_error_text(left));
  tbk_status_t status = cuda_translate(result);
  if (status == TBK_OK) return TBK_OK;
  if (status == TBK_DEVICE_LOST) {
    pthread_mutex_lock(&self->lock);
    self->devices[device].lost = true;
    pthread_mutex_unlock(&self->lock);
  }
  return cuda_fail(error, status, "%s on device %d: %s", what, device, cuda_error_text(result));
}

tbk_status_t cuda_begin(tbk_instance_t* self, int32_t device, tbk_stream_t* stream,
                        cu_stream* out_queue, tbk_error_t* error) {
  if (stream != NULL && stream->handle.device != device) {
    return cuda_fail(error, TBK_INVALID, "the stream is one of device %d", stream->handle.device);
  }
  tbk_status_t status = cuda_enter(self, device, error);
  if (status == TBK_OK)
    *out_queue = stream ? stream->handle.native : self->devices[device].internal;
  return status;
}

tbk_status_t cuda_end(tbk_instance_t* self, int32_t device, tbk_stream_t* stream, cu_result result,
                      const char* what, tbk_error_t* error) {
  if (result == CU_OK && stream == NULL) {
    result = cuda_driver()->stream_synchronize(self->devices[device].internal);
  }
  return cuda_leave(self, device, result, what, error);
}

static const tbk_backend_t table = {
    .struct_size = sizeof(tbk_backend_t),
    .abi_version = TBK_ABI_VERSION,
    .name = "tbk_cuda",
    .version = "0.1.0",
    .core = &cuda_core,
    .stream = &cuda_stream_ops,
    .event = &cuda_event_ops,
    .callback = &cuda_callback_ops,
    .pinned = &cuda_pinned_ops,
    .peer = &cuda_peer_ops,
    .async_memory = &cuda_async_memory_ops,
    .kernel = &cuda_kernel_ops,
    .random = &cuda_random_ops,
};

/* Without a compiler there is no device code, and the log says so. */
static void offer_kernels(tbk_instance_t* self) {
  if (cuda_compiler() != NULL) return;
  self->backend.kernel = NULL;
  self->backend.random = NULL;
  driver_log(&self->host, TBK_LOG_WARNING, "%s", cuda_nvrtc_missing());
}

tbk_status_t tbk_backend_create(const tbk_host_t* host, const tbk_backend_t** out_backend,
                                tbk_error_t* error) {
  tbk_status_t status = driver_check_host(host, out_backend, error);
  if (status == TBK_OK) status = driver_choose(&cuda_driver_choice, host->options, error);
  if (status != TBK_OK) return status;
  tbk_instance_t* self = calloc(1, sizeof *self);
  if (self == NULL) return cuda_fail(error, TBK_OUT_OF_MEMORY, "no host memory");
  self->backend = table;
  self->backend.instance = self;
  self->host = (tbk_host_t){.context = host->context, .log = host->log};
  offer_kernels(self);
  pthread_mutex_init(&self->lock, NULL);
  for (int i = 0; i < CUDA_MAX_DEVICES; i++) {
    pthread_mutex_init(&self->devices[i].program_lock, NULL);
    pthread_mutex_init(&self->devices[i].kept_lock, NULL);
    pthread_mutex_init(&self->devices[i].product_lock, NULL);
  }
  *out_backend = &self->backend;
  return TBK_OK;
}
