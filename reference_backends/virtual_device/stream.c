/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stream.c: streams, and the faults of their work.
 */
#include <stdlib.h>

#include "inside.h"

typedef struct fault_work {
  vdev_work_t work;
  vdev_stream_t* stream;
  int kind, code;
} fault_work_t;

/* With the lock held. */
static vdev_queue_t* queue_for(vdev_device_t* device) {
  if (!device->shared) return vdev_queue_new(device);
  device->shared->refs++;
  return device->shared;
}

vdev_status_t vdev_stream_new(vdev_device_t* device, vdev_stream_t** out_stream) {
  vdev_machine_t* machine = device->machine;
  vdev_stream_t* stream = vdev_zeroed(sizeof *stream);
  if (!stream) return VDEV_NO_ROOM;
  vdev_lock(machine);
  vdev_status_t status = vdev_device_usable(device, device->generation);
  if (machine->scheduler->begin && LIST_EMPTY(&machine->streams))
    machine->scheduler->begin(machine);
  if (status == VDEV_OK && !(stream->queue = queue_for(device))) status = VDEV_NO_ROOM;
  if (status == VDEV_OK) {
    stream->refs = 1;
    stream->device = device;
    stream->generation = device->generation;
    LIST_INSERT_HEAD(&machine->streams, stream, entry);
    *out_stream = stream;
  }
  vdev_unlock(machine);
  if (status != VDEV_OK) free(stream);
  return status;
}

vdev_stream_t* vdev_stream_keep(vdev_stream_t* stream) {
  vdev_lock(stream->device->machine);
  stream->refs++;
  vdev_unlock(stream->device->machine);
  return stream;
}

void vdev_stream_unref(vdev_stream_t* stream) {
  if (--stream->refs > 0) return;
  if (stream->error && stream->queue) stream->device->error = stream->error;
  LIST_REMOVE(stream, entry);
  vdev_queue_drop(stream->queue);
  free(stream);
}

void vdev_stream_drop(vdev_stream_t* stream) {
  vdev_machine_t* machine = stream->device->machine;
  vdev_lock(machine);
  vdev_stream_unref(stream);
  vdev_unlock(machine);
}

vdev_device_t* vdev_stream_device(const vdev_stream_t* stream) {
  return stream->device;
}

vdev_status_t vdev_stream_check(vdev_stream_t* stream) {
  if (vdev_device_serves(stream->device, stream->generation)) return VDEV_OK;
  vdev_lock(stream->device->machine);
  vdev_status_t status = vdev_device_usable(stream->device, stream->generation);
  vdev_unlock(stream->device->machine);
  return status;
}

vdev_status_t vdev_stream_query(vdev_stream_t* stream, int* out_code) {
  vdev_lock(stream->device->machine);
  vdev_status_t status = vdev_device_usable(stream->device, stream->generation);
  if (status == VDEV_OK && vdev_queue_pending(stream->queue, stream->last)) {
    vdev_queue_demand(stream->queue, stream->last);
    vdev_asked(stream->device->machine);
    status = VDEV_NOT_READY;
  } else if (status == VDEV_OK) {
    status = vdev_tell_fault(stream->device, stream, false, out_code);
  }
  vdev_unlock(stream->device->machine);
  return status;
}

vdev_status_t vdev_stream_synchronize(vdev_stream_t* stream, int* out_code) {
  vdev_machine_t* machine = stream->device->machine;
  vdev_lock(machine);
  vdev_status_t status = vdev_device_usable(stream->device, stream->generation);
  if (status != VDEV_CLOSED) {
    const uint64_t last = stream->last;
    stream->refs++;
    vdev_queue_demand(stream->queue, last);
    while (stream->queue && vdev_queue_pending(stream->queue, last))
      vdev_wait_for(stream->queue, last);
    status = vdev_tell_fault(stream->device, stream, true, out_code);
    vdev_stream_unref(stream);
  }
  vdev_unlock(machine);
  return status;
}

void vdev_stream_fail(vdev_stream_t* stream, int kind, int code) {
  vdev_device_t* device = stream->device;
  if (kind == VDEV_FAULT_LOSS) {
    vdev_device_lose(device);
    return;
  }
  vdev_lock(device->machine);
  stream->error = code;
  if (kind == VDEV_FAULT_STICKY || device->machine->config.sticky) device->sticky = code;
  vdev_unlock(device->machine);
}

static void happen(vdev_work_t* work) {
  const fault_work_t* fault = (const fault_work_t*)work;
  vdev_stream_fail(fault->stream, fault->kind, fault->code);
}

static void drop_fault(vdev_work_t* work) {
  vdev_stream_drop(((fault_work_t*)work)->stream);
}

vdev_status_t vdev_submit_fault(vdev_stream_t* stream, int kind, int code) {
  fault_work_t* fault = vdev_work_new(sizeof *fault, happen);
  if (fault) {
    fault->work.drop = drop_fault;
    fault->stream = vdev_stream_keep(stream);
    fault->kind = kind;
    fault->code = code;
  }
  return vdev_submit(stream, fault);
}
