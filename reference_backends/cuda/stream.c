/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stream.c: streams and host callbacks.
 */
#include <stdlib.h>

#include "cuda.h"

void cuda_stream_end(driver_handle_t* handle) {
  if (!((tbk_stream_t*)handle)->borrowed) cuda_driver()->stream_destroy(handle->native);
}

static tbk_status_t stream_create(tbk_instance_t* self, int32_t device, int32_t priority,
                                  tbk_stream_t** out_stream, tbk_error_t* error) {
  if (out_stream == NULL) return cuda_fail(error, TBK_INVALID, "out_stream is NULL");
  tbk_status_t status = cuda_enter(self, device, error);
  if (status != TBK_OK) return status;
  tbk_stream_t* stream = calloc(1, sizeof *stream);
  cu_result result = CU_OUT_OF_MEMORY;
  if (stream != NULL) {
    cu_stream native = NULL;
    result = cuda_driver()->stream_create(&native, CU_STREAM_NON_BLOCKING, priority);
    stream->handle = (driver_handle_t){.device = device, .native = native};
  }
  status = cuda_leave(self, device, result, "creating a stream", error);
  if (status != TBK_OK) {
    /* The context is still there where it could not be left. */
    if (result == CU_OK) cuda_driver()->stream_destroy(stream->handle.native);
    free(stream);
    return status;
  }
  handle_add(&self->lock, &self->devices[device].streams, &stream->handle);
  *out_stream = stream;
  return TBK_OK;
}

static void stream_destroy(tbk_instance_t* self, tbk_stream_t* stream) {
  if (stream == NULL) return;
  const bool live = handle_remove(&self->lock, &stream->handle);
  cuda_kept_leave_queue(&self->devices[stream->handle.device], stream->handle.native);
  if (live && !stream->borrowed) {
    tbk_error_t error = {""};
    tbk_status_t status = cuda_enter(self, stream->handle.device, &error);
    if (status == TBK_OK) {
      cu_result result = cuda_driver()->stream_destroy(stream->handle.native);
      status = cuda_leave(self, stream->handle.device, result, "destroying a stream", &error);
    }
    driver_tell(&self->host, status, &error);
  }
  free(stream);
}

static tbk_status_t stream_query(tbk_instance_t* self, tbk_stream_t* stream, tbk_error_t* error) {
  if (stream == NULL) return cuda_fail(error, TBK_INVALID, "stream is NULL");
  tbk_status_t status = cuda_enter(self, stream->handle.device, error);
  if (status != TBK_OK) return status;
  cu_result result = cuda_driver()->stream_query(stream->handle.native);
  return cuda_leave(self, stream->handle.device, result, "querying a stream", error);
}

static tbk_status_t stream_synchronize(tbk_instance_t* self, tbk_stream_t* stream,
                                       tbk_error_t* error) {
  if (stream == NULL) return cuda_fail(error, TBK_INVALID, "stream is NULL");
  tbk_status_t status = cuda_enter(self, stream->handle.device, error);
  if (status != TBK_OK) return status;
  cu_result result = cuda_driver()->stream_synchronize(stream->handle.native);
  return cuda_leave(self, stream->handle.device, result, "synchronising a stream", error);
}

static tbk_status_t device_synchronize(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  tbk_status_t status = cuda_enter(self, device, error);
  if (status != TBK_OK) return status;
  cu_result result = cuda_driver()->context_synchronize();
  return cuda_leave(self, device, result, "synchronising", error);
}

static tbk_status_t stream_native_handle(tbk_instance_t* self, tbk_stream_t* stream,
                                         void** out_native, tbk_error_t* error) {
  (void)self;
  if (stream == NULL || out_native == NULL) {
    return cuda_fail(error, TBK_INVALID, "stream or out_native is NULL");
  }
  *out_native = stream->handle.native;
  return TBK_OK;
}

static tbk_status_t stream_from_native(tbk_instance_t* self, int32_t device, void* native,
                                       tbk_stream_t** out_stream, tbk_error_t* error) {
  if (out_stream == NULL) return cuda_fail(error, TBK_INVALID, "out_stream is NULL");
  tbk_status_t status = cuda_enter(self, device, error);
  if (status != TBK_OK) return status;
  tbk_stream_t* stream = calloc(1, sizeof *stream);
  cu_result result = stream == NULL ? CU_OUT_OF_MEMORY : CU_OK;
  status = cuda_leave(self, device, result, "wrapping a stream", error);
  if (status != TBK_OK) {
    free(stream);
    return status;
  }
  *stream = (tbk_stream_t){{.device = device, .native = native}, .borrowed = true};
  handle_add(&self->lock, &self->devices[device].streams, &stream->handle);
  *out_stream = stream;
  return TBK_OK;
}

const tbk_stream_ops_t cuda_stream_ops = {
    .struct_size = sizeof(tbk_stream_ops_t),
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_query = stream_query,
    .stream_synchronize = stream_synchronize,
    .device_synchronize = device_synchronize,
    .stream_native_handle = stream_native_handle,
    .stream_from_native = stream_from_native,
};

static tbk_status_t callback_enqueue(tbk_instance_t* self, tbk_stream_t* stream,
                                     tbk_callback_fn function, void* argument, tbk_error_t* error) {
  if (stream == NULL || function == NULL) {
    return cuda_fail(error, TBK_INVALID, "stream or function is NULL");
  }
  tbk_status_t status = cuda_enter(self, stream->handle.device, error);
  if (status != TBK_OK) return status;
  cu_result result = cuda_driver()->launch_host_func(stream->handle.native, function, argument);
  return cuda_leave(self, stream->handle.device, result, "enqueuing a callback", error);
}

const tbk_callback_ops_t cuda_callback_ops = {
    .struct_size = sizeof(tbk_callback_ops_t),
    .callback_enqueue = callback_enqueue,
};
