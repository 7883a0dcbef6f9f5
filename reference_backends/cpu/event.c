/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * event.c: an event stands for a point, made anew by each record. A wait keeps the point that it saw,
 * so later records, and the event's end, change nothing for it.
 */
#include "cpu.h"

#include <stdlib.h>

typedef struct record_op {
  cpu_op_t op;
  tbk_instance_t* instance;
  cpu_point_t* point;
} record_op_t;

static tbk_status_t event_create(tbk_instance_t* self, int32_t index, uint32_t flags,
                                 tbk_event_t** out_event, tbk_error_t* error) {
  tbk_status_t status = cpu_enter(self, index, error);
  if (status != TBK_OK) return status;
  if (!out_event || (flags & ~(uint32_t)TBK_EVENT_FLAGS_KNOWN))
    return cpu_fail(TBK_INVALID, error, "out_event is NULL, or an unknown flag");
  cpu_device_t* device = &self->devices[index];
  cpu_lock(self);
  bool room = device->event_count < self->options.events;
  tbk_event_t* event = room ? calloc(1, sizeof *event) : NULL;
  if (event) {
    device->event_count++;
    event->device = device;
    event->generation = device->generation;
    event->flags = flags;
    LIST_INSERT_HEAD(&self->events, event, entry);
    *out_event = event;
  }
  cpu_unlock(self);
  return event ? TBK_OK : cpu_fail(TBK_OUT_OF_MEMORY, error, "no more events can be had");
}

static void event_destroy(tbk_instance_t* self, tbk_event_t* event) {
  if (!event) return;
  cpu_lock(self);
  if (event->generation == event->device->generation) event->device->event_count--;
  LIST_REMOVE(event, entry);
  cpu_point_drop(event->point);
  cpu_unlock(self);
  free(event);
}

/* Complete: those that wait for it may go on. */
static void reach(cpu_op_t* op) {
  record_op_t* record = (record_op_t*)op;
  cpu_lock(record->instance);
  record->point->done = true;
  record->point->time_ns = vdev_now_ns();
  cpu_wake_all(record->instance);
  cpu_unlock(record->instance);
}

static void drop_record(cpu_op_t* op) {
  cpu_point_drop(((record_op_t*)op)->point);
}

static record_op_t* new_record(tbk_instance_t* self, tbk_stream_t* stream) {
  record_op_t* record = cpu_op_new(sizeof *record, reach);
  cpu_point_t* point = calloc(1, sizeof *point);
  if (!record || !point) {
    free(record);
    free(point);
    return NULL;
  }
  record->op.drop = drop_record;
  record->op.always = true;
  record->instance = self;
  record->point = point;
  point->refs = 1;
  point->queue = stream->lane->queue;
  return record;
}

static tbk_status_t event_record(tbk_instance_t* self, tbk_event_t* event, tbk_stream_t* stream,
                                 tbk_error_t* error) {
  if (!event) return cpu_fail(TBK_INVALID, error, "event is NULL");
  tbk_status_t status = cpu_enter_lane(self, stream, error);
  if (status != TBK_OK) return status;
  if (event->device != stream->device)
    return cpu_fail(TBK_INVALID, error, "event and stream are of different devices");
  if ((status = cpu_enter_event(self, event, error)) != TBK_OK) return status;
  record_op_t* record = new_record(self, stream);
  if (!record) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a record");
  cpu_lock(self);
  cpu_point_drop(event->point);
  event->point = cpu_point_keep(record->point);
  event->point->ticket = self->ticket + 1; /* the one that it is about to get */
  cpu_enqueue(stream, &record->op);
  cpu_unlock(self);
  return TBK_OK;
}

static void pass(cpu_op_t* op) {
  (void)op;
}

static tbk_status_t event_wait(tbk_instance_t* self, tbk_stream_t* stream, tbk_event_t* event,
                               tbk_error_t* error) {
  if (!event) return cpu_fail(TBK_INVALID, error, "event is NULL");
  tbk_status_t status = cpu_enter_lane(self, stream, error);
  if (status == TBK_OK) status = cpu_enter_event(self, event, error);
  if (status != TBK_OK) return status;
  cpu_op_t* op = cpu_op_new(sizeof *op, pass);
  if (!op) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a wait");
  cpu_lock(self);
  if (event->point) op->waits_for = cpu_point_keep(event->point);
  cpu_unlock(self);
  return cpu_submit(self, stream, op, error);
}

static tbk_status_t event_query(tbk_instance_t* self, tbk_event_t* event, tbk_error_t* error) {
  if (!event) return cpu_fail(TBK_INVALID, error, "event is NULL");
  tbk_status_t status = cpu_enter_event(self, event, error);
  if (status != TBK_OK) return status;
  cpu_lock(self);
  const cpu_point_t* point = event->point;
  bool done = !point || point->done;
  if (!done) cpu_queue_demand(point->queue, point->ticket);
  cpu_unlock(self);
  return done ? TBK_OK : cpu_fail(TBK_NOT_READY, error, "the recorded work is not complete");
}

static tbk_status_t event_synchronize(tbk_instance_t* self, tbk_event_t* event,
                                      tbk_error_t* error) {
  if (!event) return cpu_fail(TBK_INVALID, error, "event is NULL");
  tbk_status_t status = cpu_enter_event(self, event, error);
  if (status != TBK_OK && status != TBK_DEVICE_LOST) return status;
  cpu_lock(self);
  const cpu_device_t* device = event->device;
  const uint32_t generation = event->generation;
  if (event->point) {
    cpu_point_t* point = cpu_point_keep(event->point);
    if (!point->done) cpu_queue_demand(point->queue, point->ticket);
    while (!point->done)
      cpu_wait(self);
    cpu_point_drop(point);
  }
  status = cpu_device_usable(device, generation, error);
  cpu_unlock(self);
  return status;
}

static bool measurable(const tbk_event_t* start, const tbk_event_t* end) {
  return start->device == end->device && (start->flags & end->flags & TBK_EVENT_TIMING) &&
         start->point && end->point;
}

static tbk_status_t event_elapsed(tbk_instance_t* self, tbk_event_t* start, tbk_event_t* end,
                                  double* out_ms, tbk_error_t* error) {
  if (!start || !end || !out_ms) return cpu_fail(TBK_INVALID, error, "a NULL argument");
  tbk_status_t status = cpu_enter_event(self, start, error);
  if (status == TBK_OK) status = cpu_enter_event(self, end, error);
  if (status != TBK_OK) return status;
  cpu_lock(self);
  if (!measurable(start, end)) {
    status = cpu_fail(TBK_INVALID_STATE, error, "not both timing, recorded and of one device");
  } else if (!start->point->done || !end->point->done) {
    status = cpu_fail(TBK_NOT_READY, error, "the recorded work is not complete");
  } else {
    *out_ms = (double)(int64_t)(end->point->time_ns - start->point->time_ns) / 1e6;
  }
  cpu_unlock(self);
  return status;
}

const tbk_event_ops_t cpu_event_ops = {sizeof cpu_event_ops, event_create, event_destroy,
                                       event_record,         event_wait,   event_query,
                                       event_synchronize,    event_elapsed};
