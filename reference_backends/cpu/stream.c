/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stream.c: streams, each of a lane; two streams may be of one (stream_from_native).
 */
#include "cpu.h"

#include <stdlib.h>

/* Takes the reference to the lane, also on failure. */
static tbk_stream_t* wrap(tbk_instance_t* self, vdev_stream_t* lane) {
  tbk_stream_t* stream = calloc(1, sizeof *stream);
  if (!stream) return vdev_stream_drop(lane), NULL;
  stream->lane = lane;
  pthread_mutex_lock(&self->lock);
  LIST_INSERT_HEAD(&self->streams, stream, entry);
  pthread_mutex_unlock(&self->lock);
  return stream;
}

static tbk_status_t stream_create(tbk_instance_t* self, int32_t index, int32_t priority,
                                  tbk_stream_t** out_stream, tbk_error_t* error) {
  (void)priority;
  tbk_status_t status = cpu_enter(self, index, error);
  if (status != TBK_OK) return status;
  if (!out_stream) return cpu_fail(TBK_INVALID, error, "out_stream is NULL");
  vdev_stream_t* lane;
  vdev_status_t made = vdev_stream_new(cpu_device(self, index), &lane);
  if (made != VDEV_OK) return cpu_tell(made, error);
  tbk_stream_t* stream = wrap(self, lane);
  if (!stream) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a stream");
  *out_stream = stream;
  return TBK_OK;
}

static void stream_destroy(tbk_instance_t* self, tbk_stream_t* stream) {
  if (!stream) return;
  pthread_mutex_lock(&self->lock);
  LIST_REMOVE(stream, entry);
  pthread_mutex_unlock(&self->lock);
  vdev_stream_drop(stream->lane);
  free(stream);
}

/* Their lanes are gone with the machine. */
void cpu_streams_free_all(tbk_instance_t* self) {
  tbk_stream_t* stream;
  while ((stream = LIST_FIRST(&self->streams))) {
    LIST_REMOVE(stream, entry);
    free(stream);
  }
}

static tbk_status_t stream_query(tbk_instance_t* self, tbk_stream_t* stream, tbk_error_t* error) {
  (void)self;
  if (!stream) return cpu_fail(TBK_INVALID, error, "stream is NULL");
  return cpu_tell(vdev_stream_query(stream->lane, NULL), error);
}

/* Also where the device is lost: the call returns when nothing is running any more. */
static tbk_status_t stream_synchronize(tbk_instance_t* self, tbk_stream_t* stream,
                                       tbk_error_t* error) {
  (void)self;
  if (!stream) return cpu_fail(TBK_INVALID, error, "stream is NULL");
  return cpu_tell(vdev_stream_synchronize(stream->lane, NULL), error);
}

static tbk_status_t device_synchronize(tbk_instance_t* self, int32_t index, tbk_error_t* error) {
  vdev_device_t* device = cpu_device(self, index);
  return cpu_tell(device ? vdev_device_synchronize(device, NULL) : VDEV_CLOSED, error);
}

static tbk_status_t stream_native_handle(tbk_instance_t* self, tbk_stream_t* stream,
                                         void** out_native, tbk_error_t* error) {
  (void)self;
  if (!out_native) return cpu_fail(TBK_INVALID, error, "out_native is NULL");
  tbk_status_t status = cpu_enter_lane(stream, error);
  if (status == TBK_OK) *out_native = stream->lane;
  return status;
}

static tbk_status_t stream_from_native(tbk_instance_t* self, int32_t index, void* native,
                                       tbk_stream_t** out_stream, tbk_error_t* error) {
  tbk_status_t status = cpu_enter(self, index, error);
  if (status != TBK_OK) return status;
  vdev_stream_t* lane = native;
  if (!out_stream || !lane) return cpu_fail(TBK_INVALID, error, "a NULL argument");
  if (vdev_stream_device(lane) != cpu_device(self, index))
    return cpu_fail(TBK_INVALID, error, "the native handle is of another device");
  tbk_stream_t* stream = wrap(self, vdev_stream_keep(lane));
  if (!stream) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a stream");
  *out_stream = stream;
  return TBK_OK;
}

const tbk_stream_ops_t cpu_stream_ops = {
    sizeof cpu_stream_ops, stream_create,      stream_destroy,       stream_query,
    stream_synchronize,    device_synchronize, stream_native_handle, stream_from_native};
