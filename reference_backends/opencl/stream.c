/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stream.c: streams. There are no native handles: work that somebody else puts into a queue could be
 * waited for, but not asked about.
 */
#include "opencl.h"

/* Releases destroyed streams that are through. Called with the instance's lock. */
static void release_ended(tbk_instance_t* self) {
  tbk_stream_t* next;
  for (tbk_stream_t* stream = LIST_FIRST(&self->streams); stream != NULL; stream = next) {
    next = LIST_NEXT(stream, entry);
    if (!stream->ended) continue;
    pthread_mutex_lock(&stream->lock);
    const bool idle = stream->device == NULL || (opencl_reap(stream) && stream->failure == CL_OK);
    pthread_mutex_unlock(&stream->lock);
    if (!idle) continue;
    LIST_REMOVE(stream, entry);
    opencl_stream_release(stream);
  }
}

static tbk_status_t stream_create(tbk_instance_t* self, int32_t index, int32_t priority,
                                  tbk_stream_t** out_stream, tbk_error_t* error) {
  opencl_device_t* device;
  tbk_status_t status = opencl_enter(self, index, &device, error);
  if (status != TBK_OK) return status;
  if (out_stream == NULL) return opencl_fail(error, TBK_INVALID, "out_stream is NULL");
  cl_int result;
  tbk_stream_t* stream = opencl_stream_new(device, priority, &result);
  if (stream == NULL) return opencl_status(device, result, "creating a stream", error);
  pthread_mutex_lock(&self->lock);
  release_ended(self);
  LIST_INSERT_HEAD(&self->streams, stream, entry);
  pthread_mutex_unlock(&self->lock);
  *out_stream = stream;
  return TBK_OK;
}

static void stream_destroy(tbk_instance_t* self, tbk_stream_t* stream) {
  if (stream == NULL) return;
  pthread_mutex_lock(&self->lock);
  stream->ended = true;
  release_ended(self);
  pthread_mutex_unlock(&self->lock);
}

static tbk_status_t stream_query(tbk_instance_t* self, tbk_stream_t* stream, tbk_error_t* error) {
  opencl_device_t* device;
  tbk_status_t status =
      opencl_enter_of(self, stream, stream ? stream->device : NULL, &device, error);
  if (status != TBK_OK) return status;
  pthread_mutex_lock(&stream->lock);
  const bool idle = opencl_reap(stream);
  const cl_int failure = stream->failure;
  pthread_mutex_unlock(&stream->lock);
  if (!idle && failure == CL_OK) return opencl_fail(error, TBK_NOT_READY, "the stream is at work");
  return opencl_status(device, failure, "earlier work", error);
}

static tbk_status_t stream_synchronize(tbk_instance_t* self, tbk_stream_t* stream,
                                       tbk_error_t* error) {
  opencl_device_t* device;
  tbk_status_t status =
      opencl_enter_of(self, stream, stream ? stream->device : NULL, &device, error);
  if (status != TBK_OK && status != TBK_DEVICE_LOST) return status;
  const cl_int failure = opencl_drain(stream);
  return status == TBK_OK ? opencl_status(device, failure, "earlier work", error) : status;
}

static tbk_status_t device_synchronize(tbk_instance_t* self, int32_t index, tbk_error_t* error) {
  opencl_device_t* device;
  tbk_status_t status = opencl_enter(self, index, &device, error);
  if (status != TBK_OK && status != TBK_DEVICE_LOST) return status;
  const cl_int failure = opencl_device_drain(device);
  return status == TBK_OK ? opencl_status(device, failure, "earlier work", error) : status;
}

const tbk_stream_ops_t opencl_stream_ops = {
    sizeof opencl_stream_ops, stream_create,      stream_destroy, stream_query,
    stream_synchronize,       device_synchronize, NULL,           NULL};
