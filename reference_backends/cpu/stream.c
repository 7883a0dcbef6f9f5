/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stream.c: streams, each a lane in a queue; two streams may be of one lane (stream_from_native).
 */
#include "cpu.h"

#include <stdlib.h>

/* Takes the lane's reference, also on failure. */
static tbk_stream_t* wrap(cpu_device_t* device, cpu_lane_t* lane) {
  tbk_stream_t* stream = calloc(1, sizeof *stream);
  if (!stream) return cpu_lane_drop(lane), NULL;
  stream->device = device;
  stream->generation = device->generation;
  stream->lane = lane;
  LIST_INSERT_HEAD(&device->instance->streams, stream, entry);
  return stream;
}

static cpu_lane_t* new_lane(cpu_device_t* device) {
  cpu_lane_t* lane = calloc(1, sizeof *lane);
  if (!lane) return NULL;
  lane->refs = 1;
  lane->device = device;
  if (device->shared) {
    lane->queue = device->shared;
    lane->queue->refs++;
  } else {
    lane->queue = cpu_queue_new(device);
  }
  if (!lane->queue) return free(lane), NULL;
  return lane;
}

static tbk_status_t stream_create(tbk_instance_t* self, int32_t index, int32_t priority,
                                  tbk_stream_t** out_stream, tbk_error_t* error) {
  (void)priority;
  tbk_status_t status = cpu_enter(self, index, error);
  if (status != TBK_OK) return status;
  if (!out_stream) return cpu_fail(TBK_INVALID, error, "out_stream is NULL");
  cpu_lock(self);
  cpu_lane_t* lane = new_lane(&self->devices[index]);
  tbk_stream_t* stream = lane ? wrap(&self->devices[index], lane) : NULL;
  cpu_unlock(self);
  if (!stream) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no thread for another stream");
  *out_stream = stream;
  return TBK_OK;
}

static void stream_destroy(tbk_instance_t* self, tbk_stream_t* stream) {
  if (!stream) return;
  cpu_lock(self);
  LIST_REMOVE(stream, entry);
  cpu_lane_drop(stream->lane);
  cpu_unlock(self);
  free(stream);
}

static tbk_status_t stream_query(tbk_instance_t* self, tbk_stream_t* stream, tbk_error_t* error) {
  tbk_status_t status = cpu_enter_lane(self, stream, error);
  if (status != TBK_OK) return status;
  cpu_lock(self);
  cpu_lane_t* lane = stream->lane;
  if (cpu_queue_pending(lane->queue, lane->last)) {
    cpu_queue_demand(lane->queue, lane->last);
    status = cpu_fail(TBK_NOT_READY, error, "work is not complete");
  } else {
    status = cpu_tell_error(stream->device, lane, false, error);
  }
  cpu_unlock(self);
  return status;
}

/* Also where the device is lost: the call returns when nothing is running any more. */
static tbk_status_t stream_synchronize(tbk_instance_t* self, tbk_stream_t* stream,
                                       tbk_error_t* error) {
  tbk_status_t status = cpu_enter_lane(self, stream, error);
  if (status != TBK_OK && status != TBK_DEVICE_LOST) return status;
  cpu_lock(self);
  cpu_device_t* device = stream->device;
  cpu_lane_t* lane = stream->lane;
  const uint64_t last = lane->last;
  lane->refs++;
  cpu_queue_demand(lane->queue, last);
  while (lane->queue && cpu_queue_pending(lane->queue, last))
    cpu_wait(self);
  status = cpu_tell_error(device, lane, true, error);
  cpu_lane_drop(lane);
  cpu_unlock(self);
  return status;
}

static tbk_status_t device_synchronize(tbk_instance_t* self, int32_t index, tbk_error_t* error) {
  tbk_status_t status = cpu_enter(self, index, error);
  if (status != TBK_OK && status != TBK_DEVICE_LOST) return status;
  cpu_lock(self);
  cpu_device_t* device = &self->devices[index];
  const uint64_t last = self->ticket;
  cpu_device_demand(device, last);
  while (cpu_device_pending(device, last))
    cpu_wait(self);
  status = cpu_tell_error(device, NULL, true, error);
  cpu_unlock(self);
  return status;
}

static tbk_status_t stream_native_handle(tbk_instance_t* self, tbk_stream_t* stream,
                                         void** out_native, tbk_error_t* error) {
  if (!out_native) return cpu_fail(TBK_INVALID, error, "out_native is NULL");
  tbk_status_t status = cpu_enter_lane(self, stream, error);
  if (status == TBK_OK) *out_native = stream->lane;
  return status;
}

static tbk_status_t stream_from_native(tbk_instance_t* self, int32_t index, void* native,
                                       tbk_stream_t** out_stream, tbk_error_t* error) {
  tbk_status_t status = cpu_enter(self, index, error);
  if (status != TBK_OK) return status;
  cpu_lane_t* lane = native;
  if (!out_stream || !lane) return cpu_fail(TBK_INVALID, error, "a NULL argument");
  if (lane->device != &self->devices[index])
    return cpu_fail(TBK_INVALID, error, "the native handle is of another device");
  cpu_lock(self);
  lane->refs++;
  tbk_stream_t* stream = wrap(lane->device, lane);
  cpu_unlock(self);
  if (!stream) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a stream");
  *out_stream = stream;
  return TBK_OK;
}

const tbk_stream_ops_t cpu_stream_ops = {
    sizeof cpu_stream_ops, stream_create,      stream_destroy,       stream_query,
    stream_synchronize,    device_synchronize, stream_native_handle, stream_from_native};
