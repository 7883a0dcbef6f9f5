/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stream.c: streams, and the memory that operators on them use while they run.
 */
#include <stdlib.h>

#include "npu.h"

enum { CHUNK_BYTES = 1 << 16 };

/* STOP_ON_FAILURE: what follows a fault does not run on what it left (D 0074). Where the driver has no such
 * mode, or refuses it, the fault is told at a synchronise all the same. */
acl_result npu_queue_open(npu_queue_t* queue) {
  const acl_runtime_t* acl = npu_acl();
  acl_result result = acl->stream_create_config != NULL
                          ? acl->stream_create_config(&queue->handle.native, 0,
                                                      ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC)
                          : acl->stream_create(&queue->handle.native);
  if (result != ACL_OK) return result;
  if (acl->stream_failure_mode != NULL)
    result = acl->stream_failure_mode(queue->handle.native, ACL_STOP_ON_FAILURE);
  if (npu_translate(result) == TBK_UNSUPPORTED) result = ACL_OK;
  if (result != ACL_OK) acl->stream_destroy(queue->handle.native);
  return result;
}

acl_result npu_queue_close(npu_queue_t* queue, bool borrowed) {
  const acl_runtime_t* acl = npu_acl();
  npu_workspace_t* workspace = &queue->workspace;
  acl_result result = workspace->count > 0 ? acl->stream_synchronize(queue->handle.native) : ACL_OK;
  acl_result destroyed = borrowed ? ACL_OK : acl->stream_destroy(queue->handle.native);
  if (result == ACL_OK) result = destroyed;
  while (workspace->count > 0) {
    acl_result freed = acl->free(workspace->chunks[--workspace->count]);
    if (result == ACL_OK) result = freed;
  }
  workspace->size_bytes = 0;
  return result;
}

acl_result npu_workspace_reserve(npu_queue_t* queue, uint64_t size_bytes, void** out_memory) {
  npu_workspace_t* workspace = &queue->workspace;
  *out_memory = NULL;
  if (size_bytes == 0) return ACL_OK;
  if (size_bytes > workspace->size_bytes) {
    uint64_t grown = workspace->size_bytes > 0 ? 2 * workspace->size_bytes : CHUNK_BYTES;
    if (grown < size_bytes) grown = size_bytes;
    if (workspace->count == NPU_CHUNKS) return ACL_DEVICE_OOM;
    void* chunk = NULL;
    acl_result result = npu_malloc(&chunk, grown);
    if (result != ACL_OK) return result;
    workspace->chunks[workspace->count++] = chunk;
    workspace->size_bytes = grown;
  }
  *out_memory = workspace->chunks[workspace->count - 1];
  return ACL_OK;
}

void npu_stream_free(void* stream) {
  pthread_mutex_destroy(&((tbk_stream_t*)stream)->queue.lock);
  free(stream);
}

/* Callbacks are ended first: their thread has to be there as long as one may come. */
static acl_result close_stream(npu_device_t* device, tbk_stream_t* stream) {
  acl_result ended = npu_callbacks_end(device, stream);
  acl_result closed = npu_queue_close(&stream->queue, stream->borrowed);
  return ended != ACL_OK ? ended : closed;
}

acl_result npu_streams_close(npu_device_t* device, bool entered) {
  driver_handle_t* handle;
  acl_result result = ACL_OK;
  LIST_FOREACH(handle, &device->streams, entry) {
    tbk_stream_t* stream = (tbk_stream_t*)handle;
    acl_result closed = stream->handle.live && entered ? close_stream(device, stream) : ACL_OK;
    if (result == ACL_OK) result = closed;
  }
  handles_make_stale(&device->streams, NULL);
  return result;
}

/* Makes a stream of a native one, or with one of its own. */
static tbk_status_t make(tbk_instance_t* self, int32_t device, bool borrowed, void* native,
                         tbk_stream_t** out_stream, tbk_error_t* error) {
  npu_entry_t entry;
  if (out_stream == NULL) return npu_fail(error, TBK_INVALID, "out_stream is NULL");
  tbk_status_t status = npu_enter(self, device, &entry, error);
  if (status != TBK_OK) return status;
  tbk_stream_t* stream = calloc(1, sizeof *stream);
  acl_result result = stream != NULL ? ACL_OK : ACL_BAD_ALLOC;
  if (stream != NULL) {
    pthread_mutex_init(&stream->queue.lock, NULL);
    stream->handle = (driver_handle_t){.native = native, .device = device};
    stream->borrowed = borrowed;
    if (!borrowed) result = npu_queue_open(&stream->queue);
  }
  status = npu_leave(self, device, &entry, result, "making a stream", error);
  if (status != TBK_OK) {
    /* The context is still there where it could not be left. */
    if (result == ACL_OK) npu_queue_close(&stream->queue, borrowed);
    if (stream != NULL) npu_stream_free(stream);
    return status;
  }
  handle_add(&self->lock, &self->devices[device].streams, &stream->handle);
  *out_stream = stream;
  return TBK_OK;
}

/* The priority changes nothing: see device_properties. */
static tbk_status_t stream_create(tbk_instance_t* self, int32_t device, int32_t priority,
                                  tbk_stream_t** out_stream, tbk_error_t* error) {
  (void)priority;
  return make(self, device, false, NULL, out_stream, error);
}

static void stream_destroy(tbk_instance_t* self, tbk_stream_t* stream) {
  if (stream == NULL) return;
  if (handle_remove(&self->lock, &stream->handle)) {
    npu_entry_t entry;
    tbk_error_t error = {""};
    tbk_status_t status = npu_enter(self, stream->handle.device, &entry, &error);
    if (status == TBK_OK) {
      acl_result result = close_stream(&self->devices[stream->handle.device], stream);
      status =
          npu_leave(self, stream->handle.device, &entry, result, "destroying a stream", &error);
    }
    driver_tell(&self->host, status, &error);
  }
  npu_stream_free(stream);
}

/* 507004 where it is not complete, which ACL tells by a status. */
static acl_result query(const npu_queue_t* queue) {
  int state = ACL_STREAM_NOT_READY;
  acl_result result = npu_acl()->stream_query(queue->handle.native, &state);
  return result == ACL_OK && state != ACL_STREAM_COMPLETE ? ACL_STREAM_NOT_COMPLETE : result;
}

static tbk_status_t stream_query(tbk_instance_t* self, tbk_stream_t* stream, tbk_error_t* error) {
  npu_entry_t entry;
  if (stream == NULL) return npu_fail(error, TBK_INVALID, "stream is NULL");
  tbk_status_t status = npu_enter_with(self, stream->handle.device, stream, &entry, error);
  if (status != TBK_OK) return status;
  acl_result result = query(&stream->queue);
  return npu_leave(self, stream->handle.device, &entry, result, "querying a stream", error);
}

static tbk_status_t stream_synchronize(tbk_instance_t* self, tbk_stream_t* stream,
                                       tbk_error_t* error) {
  npu_entry_t entry;
  if (stream == NULL) return npu_fail(error, TBK_INVALID, "stream is NULL");
  tbk_status_t status = npu_enter_with(self, stream->handle.device, stream, &entry, error);
  if (status != TBK_OK) return status;
  acl_result result = npu_acl()->stream_synchronize(stream->handle.native);
  return npu_leave(self, stream->handle.device, &entry, result, "synchronising a stream", error);
}

static tbk_status_t device_synchronize(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  npu_entry_t entry;
  tbk_status_t status = npu_enter(self, device, &entry, error);
  if (status != TBK_OK) return status;
  acl_result result = npu_acl()->synchronize_device();
  return npu_leave(self, device, &entry, result, "synchronising", error);
}

static tbk_status_t stream_native_handle(tbk_instance_t* self, tbk_stream_t* stream,
                                         void** out_native, tbk_error_t* error) {
  (void)self;
  if (stream == NULL || out_native == NULL)
    return npu_fail(error, TBK_INVALID, "stream or out_native is NULL");
  *out_native = stream->handle.native;
  return TBK_OK;
}

static tbk_status_t stream_from_native(tbk_instance_t* self, int32_t device, void* native,
                                       tbk_stream_t** out_stream, tbk_error_t* error) {
  return make(self, device, true, native, out_stream, error);
}

const tbk_stream_ops_t npu_stream_ops = {
    .struct_size = sizeof(tbk_stream_ops_t),
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_query = stream_query,
    .stream_synchronize = stream_synchronize,
    .device_synchronize = device_synchronize,
    .stream_native_handle = stream_native_handle,
    .stream_from_native = stream_from_native,
};
