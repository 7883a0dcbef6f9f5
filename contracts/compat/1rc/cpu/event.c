/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * event.c: events, and what else is enqueued and is no copy: callbacks and faults.
 */
#include <stdlib.h>

#include "cpu.h"

static tbk_status_t event_create(tbk_instance_t* self, int32_t device, uint32_t flags,
                                 tbk_event_t** out_event, tbk_error_t* error) {
  const tbk_status_t status = cpu_enter(self, device, error);
  if (status != TBK_OK) return status;
  if (!out_event || (flags & ~(uint32_t)TBK_EVENT_FLAGS_KNOWN))
    return cpu_fail(TBK_INVALID, error, "out_event is NULL, or an unknown flag");
  tbk_event_t* event = calloc(1, sizeof *event);
  if (!event) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for an event");
  event->device = device;
  event->flags = flags;
  pthread_mutex_lock(&self->lock);
  LIST_INSERT_HEAD(&self->events, event, entry);
  pthread_mutex_unlock(&self->lock);
  *out_event = event;
  return TBK_OK;
}

static void event_destroy(tbk_instance_t* self, tbk_event_t* event) {
  if (!event) return;
  pthread_mutex_lock(&self->lock);
  LIST_REMOVE(event, entry);
  cpu_point_drop(event->point);
  pthread_mutex_unlock(&self->lock);
  free(event);
}

static tbk_status_t event_record(tbk_instance_t* self, tbk_event_t* event, tbk_stream_t* stream,
                                 tbk_error_t* error) {
  if (!event || !stream || event->device != stream->device)
    return cpu_fail(TBK_INVALID, error, "event or stream is NULL, or of another device");
  pthread_mutex_lock(&self->lock);
  tbk_status_t status = cpu_enter_stream(stream, error);
  cpu_point_t* here = status == TBK_OK ? cpu_point_new() : NULL;
  if (here && cpu_enqueue_point(stream, NULL, here)) {
    cpu_point_drop(event->point);
    event->point = here;
  } else if (status == TBK_OK) {
    cpu_point_drop(here);
    status = cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a point");
  }
  pthread_mutex_unlock(&self->lock);
  return status;
}

static tbk_status_t event_wait(tbk_instance_t* self, tbk_stream_t* stream, tbk_event_t* event,
                               tbk_error_t* error) {
  if (!event || !stream) return cpu_fail(TBK_INVALID, error, "event or stream is NULL");
  pthread_mutex_lock(&self->lock);
  tbk_status_t status = cpu_enter_stream(stream, error);
  if (status == TBK_OK && event->point && !cpu_enqueue_point(stream, event->point, NULL))
    status = cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a task");
  pthread_mutex_unlock(&self->lock);
  return status;
}

static tbk_status_t lost_or_ok(tbk_instance_t* self, const tbk_event_t* event, tbk_error_t* error) {
  if (!self->devices[event->device].is_lost) return TBK_OK;
  return cpu_fail(TBK_DEVICE_LOST, error, "the device is lost");
}

static tbk_status_t event_query(tbk_instance_t* self, tbk_event_t* event, tbk_error_t* error) {
  if (!event) return cpu_fail(TBK_INVALID, error, "event is NULL");
  pthread_mutex_lock(&self->lock);
  tbk_status_t status = lost_or_ok(self, event, error);
  if (status == TBK_OK && event->point && event->point->pending > 0)
    status = cpu_fail(TBK_NOT_READY, error, "what was recorded is not complete");
  pthread_mutex_unlock(&self->lock);
  return status;
}

/* Of failed work the stream tells. */
static tbk_status_t event_synchronize(tbk_instance_t* self, tbk_event_t* event,
                                      tbk_error_t* error) {
  if (!event) return cpu_fail(TBK_INVALID, error, "event is NULL");
  pthread_mutex_lock(&self->lock);
  cpu_point_t* point = event->point; /* what another thread records meanwhile is not waited for */
  if (point) {
    point->references++;
    cpu_point_wait(self, point);
    cpu_point_drop(point);
  }
  const tbk_status_t status = lost_or_ok(self, event, error);
  pthread_mutex_unlock(&self->lock);
  return status;
}

static tbk_status_t event_elapsed(tbk_instance_t* self, tbk_event_t* start, tbk_event_t* end,
                                  double* out_ms, tbk_error_t* error) {
  if (!start || !end || !out_ms) return cpu_fail(TBK_INVALID, error, "a NULL argument");
  pthread_mutex_lock(&self->lock);
  tbk_status_t status = lost_or_ok(self, start, error);
  const bool are_timed = start->flags & end->flags & TBK_EVENT_TIMING;
  if (status != TBK_OK) {
  } else if (!are_timed || !start->point || !end->point || start->device != end->device) {
    status = cpu_fail(TBK_INVALID_STATE, error, "not both timing, recorded and of one device");
  } else if (start->point->pending > 0 || end->point->pending > 0) {
    status = cpu_fail(TBK_NOT_READY, error, "what was recorded is not complete");
  } else {
    const struct timespec from = start->point->at, to = end->point->at;
    *out_ms = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
  }
  pthread_mutex_unlock(&self->lock);
  return status;
}

const tbk_event_ops_t cpu_event_ops = {sizeof cpu_event_ops, event_create, event_destroy,
                                       event_record,         event_wait,   event_query,
                                       event_synchronize,    event_elapsed};

/* ---------------------------------------------------------------------------------- callbacks -- */

typedef struct call {
  tbk_callback_fn function;
  void* argument;
} call_t;

static void run_call(tbk_stream_t* stream, void* payload) {
  (void)stream;
  const call_t* call = payload;
  call->function(call->argument);
}

static tbk_status_t callback_enqueue(tbk_instance_t* self, tbk_stream_t* stream,
                                     tbk_callback_fn function, void* argument, tbk_error_t* error) {
  if (!stream || !function) return cpu_fail(TBK_INVALID, error, "stream or function is NULL");
  const call_t call = {function, argument};
  return cpu_submit(self, stream->device, stream, run_call, &call, sizeof call, error);
}

const tbk_callback_ops_t cpu_callback_ops = {sizeof cpu_callback_ops, callback_enqueue};

/* ------------------------------------------------------------------------------------- faults -- */

static void run_fault(tbk_stream_t* stream, void* payload) {
  const int32_t kind = *(const int32_t*)payload;
  pthread_mutex_lock(&stream->instance->lock);
  if (kind == TBK_FAULT_DEVICE_LOST)
    stream->instance->devices[stream->device].is_lost = true;
  else
    stream->is_failed = true;
  pthread_mutex_unlock(&stream->instance->lock);
}

static tbk_status_t fault_enqueue(tbk_instance_t* self, tbk_stream_t* stream, int32_t kind,
                                  tbk_error_t* error) {
  if (!stream || (kind != TBK_FAULT_WORK_FAILS && kind != TBK_FAULT_DEVICE_LOST))
    return cpu_fail(TBK_INVALID, error, "stream is NULL, or there is no such fault");
  return cpu_submit(self, stream->device, stream, run_fault, &kind, sizeof kind, error);
}

const tbk_fault_ops_t cpu_fault_ops = {sizeof cpu_fault_ops, fault_enqueue};
