/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stream.c: streams and host callbacks.
 */
#include <stdlib.h>

#include "cuda.h"

static void link_stream(tbk_instance_t* self, tbk_stream_t* stream) {
  pthread_mutex_lock(&self->lock);
  LIST_INSERT_HEAD(&self->devices[stream->device].streams, stream, entry);
  pthread_mutex_unlock(&self->lock);
}

/* Takes the stream out of its device's list; whether there is a native one left to destroy. */
static bool unlink_stream(tbk_instance_t* self, tbk_stream_t* stream) {
  pthread_mutex_lock(&self->lock);
  LIST_REMOVE(stream, entry);
  bool live = stream->native != NULL && !stream->borrowed;
  pthread_mutex_unlock(&self->lock);
  return live;
}

void cuda_streams_to_stale_handles(cuda_device_t* device, bool entered) {
  tbk_stream_t* stream;
  LIST_FOREACH(stream, &device->streams, entry) {
    if (stream->native != NULL && !stream->borrowed && entered)
      cuda_driver()->stream_destroy(stream->native);
    stream->native = NULL;
  }
}

void cuda_streams_free(cuda_device_t* device) {
  tbk_stream_t* stream;
  while ((stream = LIST_FIRST(&device->streams)) != NULL) {
    LIST_REMOVE(stream, entry);
    free(stream);
  }
}

static tbk_status_t stream_create(tbk_instance_t* self, int32_t device, int32_t priority,
                                  tbk_stream_t** out_stream, tbk_error_t* error) {
  if (out_stream == NULL) return cuda_fail(error, TBK_INVALID, "out_stream is NULL");
  tbk_status_t status = cuda_enter(self, device, error);
  if (status != TBK_OK) return status;
  tbk_stream_t* stream = calloc(1, sizeof *stream);
  cu_result result = CU_OUT_OF_MEMORY;
  if (stream != NULL) {
    stream->device = device;
    result = cuda_driver()->stream_create(&stream->native, CU_STREAM_NON_BLOCKING, priority);
  }
  status = cuda_leave(self, device, result, "creating a stream", error);
  if (status != TBK_OK) {
    /* The context is still there where it could not be left. */
    if (result == CU_OK) cuda_driver()->stream_destroy(stream->native);
    free(stream);
    return status;
  }
  link_stream(self, stream);
  *out_stream = stream;
  return TBK_OK;
}

static void stream_destroy(tbk_instance_t* self, tbk_stream_t* stream) {
  if (stream == NULL) return;
  const bool live = unlink_stream(self, stream);
  cuda_kept_leave_queue(&self->devices[stream->device], stream->native);
  if (live) {
    tbk_error_t error = {""};
    tbk_status_t status = cuda_enter(self, stream->device, &error);
    if (status == TBK_OK) {
      cu_result result = cuda_driver()->stream_destroy(stream->native);
      status = cuda_leave(self, stream->device, result, "destroying a stream", &error);
    }
    cuda_tell(self, status, &error);
  }
  free(stream);
}

static tbk_status_t stream_query(tbk_instance_t* self, tbk_stream_t* stream, tbk_error_t* error) {
  if (stream == NULL) return cuda_fail(error, TBK_INVALID, "stream is NULL");
  tbk_status_t status = cuda_enter(self, stream->device, error);
  if (status != TBK_OK) return status;
  cu_result result = cuda_driver()->stream_query(stream->native);
  return cuda_leave(self, stream->device, result, "querying a stream", error);
}

static tbk_status_t stream_synchronize(tbk_instance_t* self, tbk_stream_t* stream,
                                       tbk_error_t* error) {
  if (stream == NULL) return cuda_fail(error, TBK_INVALID, "stream is NULL");
  tbk_status_t status = cuda_enter(self, stream->device, error);
  if (status != TBK_OK) return status;
  cu_result result = cuda_driver()->stream_synchronize(stream->native);
  return cuda_leave(self, stream->device, result, "synchronising a stream", error);
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
  *out_native = stream->native;
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
  *stream = (tbk_stream_t){.device = device, .native = native, .borrowed = true};
  link_stream(self, stream);
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
  tbk_status_t status = cuda_enter(self, stream->device, error);
  if (status != TBK_OK) return status;
  cu_result result = cuda_driver()->launch_host_func(stream->native, function, argument);
  return cuda_leave(self, stream->device, result, "enqueuing a callback", error);
}

const tbk_callback_ops_t cuda_callback_ops = {
    .struct_size = sizeof(tbk_callback_ops_t),
    .callback_enqueue = callback_enqueue,
};
