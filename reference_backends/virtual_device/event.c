/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * event.c: an event is a point, made anew by each record.
 */
#include <stdlib.h>

#include "inside.h"

vdev_status_t vdev_event_new(vdev_device_t* device, bool timed, vdev_event_t** out_event) {
  vdev_machine_t* machine = device->machine;
  vdev_lock(machine);
  vdev_status_t status = vdev_device_usable(device, device->generation);
  bool room = device->event_count < machine->config.events;
  vdev_event_t* event = status == VDEV_OK && room ? vdev_zeroed(sizeof *event) : NULL;
  if (event) {
    device->event_count++;
    event->device = device;
    event->generation = device->generation;
    event->timed = timed;
    LIST_INSERT_HEAD(&machine->events, event, entry);
    *out_event = event;
  }
  vdev_unlock(machine);
  return status == VDEV_OK && !event ? VDEV_NO_ROOM : status;
}

void vdev_event_free(vdev_event_t* event) {
  vdev_machine_t* machine = event->device->machine;
  vdev_lock(machine);
  if (event->generation == event->device->generation) event->device->event_count--;
  LIST_REMOVE(event, entry);
  vdev_point_unref(event->point);
  vdev_unlock(machine);
  free(event);
}

/* With the lock held. */
static vdev_status_t usable(const vdev_event_t* event) {
  return vdev_device_usable(event->device, event->generation);
}

vdev_status_t vdev_event_check(vdev_event_t* event) {
  if (vdev_device_serves(event->device, event->generation)) return VDEV_OK;
  vdev_lock(event->device->machine);
  vdev_status_t status = usable(event);
  vdev_unlock(event->device->machine);
  return status;
}

vdev_status_t vdev_event_record(vdev_event_t* event, vdev_stream_t* stream) {
  vdev_machine_t* machine = stream->device->machine;
  vdev_point_t* point = vdev_point_new(stream);
  if (!point) return VDEV_NO_ROOM;
  vdev_lock(machine);
  vdev_status_t status = vdev_device_usable(stream->device, stream->generation);
  if (status == VDEV_OK && event->device != stream->device) status = VDEV_INVALID;
  if (status == VDEV_OK) status = usable(event);
  if (status == VDEV_OK) {
    vdev_point_unref(event->point);
    event->point = vdev_point_keep(point);
    vdev_point_enqueue(point, stream);
  }
  vdev_unlock(machine);
  if (status != VDEV_OK) free(point);
  return status;
}

vdev_status_t vdev_event_wait(vdev_stream_t* stream, vdev_event_t* event) {
  vdev_machine_t* machine = stream->device->machine;
  vdev_work_t* work = vdev_wait_new();
  if (!work) return VDEV_NO_ROOM;
  vdev_lock(machine);
  vdev_status_t status = vdev_device_usable(stream->device, stream->generation);
  if (status == VDEV_OK) status = usable(event);
  if (status == VDEV_OK) vdev_wait_enqueue(work, stream, event->point);
  vdev_unlock(machine);
  if (status != VDEV_OK) free(work);
  return status;
}

vdev_status_t vdev_event_query(vdev_event_t* event) {
  vdev_machine_t* machine = event->device->machine;
  vdev_lock(machine);
  vdev_status_t status = usable(event);
  const vdev_point_t* point = event->point;
  if (status == VDEV_OK && point && !point->done) {
    vdev_queue_demand(point->queue, point->ticket);
    vdev_asked(machine);
    status = VDEV_NOT_READY;
  }
  vdev_unlock(machine);
  return status;
}

vdev_status_t vdev_event_synchronize(vdev_event_t* event) {
  vdev_machine_t* machine = event->device->machine;
  vdev_lock(machine);
  const vdev_device_t* device = event->device;
  const uint32_t generation = event->generation;
  vdev_status_t status = usable(event);
  if (status != VDEV_CLOSED) {
    if (event->point) vdev_point_await(event->point);
    status = vdev_device_usable(device, generation); /* the event may be gone by now */
  }
  vdev_unlock(machine);
  return status;
}

vdev_status_t vdev_event_elapsed(vdev_event_t* start, vdev_event_t* end, double* out_ms) {
  vdev_machine_t* machine = start->device->machine;
  vdev_lock(machine);
  vdev_status_t status = usable(start);
  if (status == VDEV_OK) status = usable(end);
  const vdev_point_t *from = start->point, *to = end->point;
  if (status == VDEV_OK) {
    if (start->device != end->device || !start->timed || !end->timed || !from || !to)
      status = VDEV_STATE;
    else if (!from->done || !to->done)
      status = VDEV_NOT_READY;
    else
      *out_ms = (double)(int64_t)(to->time_ns - from->time_ns) / 1e6;
  }
  vdev_unlock(machine);
  return status;
}
