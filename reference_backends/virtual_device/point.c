/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * point.c: points in queues, and work that waits for them.
 */
#include <stdlib.h>

#include "inside.h"

vdev_point_t* vdev_point_keep(vdev_point_t* point) {
  point->refs++;
  return point;
}

void vdev_point_unref(vdev_point_t* point) {
  if (point && --point->refs == 0) free(point);
}

void vdev_point_drop(vdev_point_t* point) {
  if (!point) return;
  vdev_machine_t* machine = point->machine;
  vdev_lock(machine);
  vdev_point_unref(point);
  vdev_unlock(machine);
}

/* Complete: those that wait for it may go on. */
static void reach(vdev_work_t* work) {
  vdev_point_t* point = (vdev_point_t*)work;
  point->done = true;
  point->time_ns = vdev_now_ns();
  vdev_wake_all(point->machine);
}

vdev_point_t* vdev_point_new(vdev_stream_t* stream) {
  vdev_point_t* point = vdev_work_new(sizeof *point, reach);
  if (!point) return NULL;
  point->work.always = point->work.brief = point->work.is_point = true;
  point->refs = 1;
  point->machine = stream->device->machine;
  return point;
}

void vdev_point_enqueue(vdev_point_t* point, vdev_stream_t* stream) {
  point->queue = stream->queue;
  point->ticket = point->machine->ticket + 1; /* the one that it is about to get */
  vdev_enqueue(stream, &point->work);
}

vdev_status_t vdev_point_record(vdev_stream_t* stream, vdev_point_t** out_point) {
  vdev_point_t* point = vdev_point_new(stream);
  if (!point) return VDEV_NO_ROOM;
  vdev_machine_t* machine = stream->device->machine;
  vdev_lock(machine);
  bool open = stream->queue != NULL;
  if (open) {
    *out_point = vdev_point_keep(point);
    vdev_point_enqueue(point, stream);
  }
  vdev_unlock(machine);
  if (!open) free(point);
  return open ? VDEV_OK : VDEV_CLOSED;
}

static void pass(vdev_work_t* work) {
  (void)work;
}

vdev_work_t* vdev_wait_new(void) {
  vdev_work_t* work = vdev_work_new(sizeof *work, pass);
  if (work) work->brief = true;
  return work;
}

void vdev_wait_enqueue(vdev_work_t* work, vdev_stream_t* stream, vdev_point_t* point) {
  if (point) work->waits_for = vdev_point_keep(point);
  vdev_enqueue(stream, work);
}

vdev_status_t vdev_point_wait(vdev_stream_t* stream, vdev_point_t* point) {
  vdev_machine_t* machine = stream->device->machine;
  vdev_work_t* work = vdev_wait_new();
  if (!work) return VDEV_NO_ROOM;
  vdev_lock(machine);
  bool open = stream->queue != NULL;
  if (open) vdev_wait_enqueue(work, stream, point);
  vdev_unlock(machine);
  if (!open) free(work);
  return open ? VDEV_OK : VDEV_CLOSED;
}

bool vdev_point_query(vdev_point_t* point) {
  vdev_machine_t* machine = point->machine;
  vdev_lock(machine);
  bool done = point->done;
  if (!done) {
    vdev_queue_demand(point->queue, point->ticket);
    vdev_asked(machine);
  }
  vdev_unlock(machine);
  return done;
}

void vdev_point_await(vdev_point_t* point) {
  vdev_point_keep(point);
  if (!point->done) vdev_queue_demand(point->queue, point->ticket);
  while (!point->done)
    vdev_wait_for(point->queue, point->ticket);
  vdev_point_unref(point);
}

void vdev_point_synchronize(vdev_point_t* point) {
  vdev_machine_t* machine = point->machine;
  vdev_lock(machine);
  vdev_point_await(point);
  vdev_unlock(machine);
}

uint64_t vdev_point_time_ns(vdev_point_t* point) {
  vdev_machine_t* machine = point->machine;
  vdev_lock(machine);
  uint64_t time_ns = point->time_ns;
  vdev_unlock(machine);
  return time_ns;
}
