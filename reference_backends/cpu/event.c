/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * event.c: a tbk_event_t is an event of the virtual device, under another name.
 */
#include "cpu.h"

static vdev_event_t* inner(tbk_event_t* event) {
  return (vdev_event_t*)event;
}

static tbk_status_t event_create(tbk_instance_t* self, int32_t index, uint32_t flags,
                                 tbk_event_t** out_event, tbk_error_t* error) {
  tbk_status_t status = cpu_enter(self, index, error);
  if (status != TBK_OK) return status;
  if (!out_event || (flags & ~(uint32_t)TBK_EVENT_FLAGS_KNOWN))
    return cpu_fail(TBK_INVALID, error, "out_event is NULL, or an unknown flag");
  vdev_event_t* event = NULL;
  vdev_status_t made = vdev_event_new(cpu_device(self, index), flags & TBK_EVENT_TIMING, &event);
  if (made == VDEV_OK) *out_event = (tbk_event_t*)event;
  return cpu_tell(made, error);
}

static void event_destroy(tbk_instance_t* self, tbk_event_t* event) {
  (void)self;
  if (event) vdev_event_free(inner(event));
}

static tbk_status_t event_record(tbk_instance_t* self, tbk_event_t* event, tbk_stream_t* stream,
                                 tbk_error_t* error) {
  (void)self;
  if (!event || !stream) return cpu_fail(TBK_INVALID, error, "event or stream is NULL");
  return cpu_tell(vdev_event_record(inner(event), stream->lane), error);
}

static tbk_status_t event_wait(tbk_instance_t* self, tbk_stream_t* stream, tbk_event_t* event,
                               tbk_error_t* error) {
  (void)self;
  if (!event || !stream) return cpu_fail(TBK_INVALID, error, "event or stream is NULL");
  return cpu_tell(vdev_event_wait(stream->lane, inner(event)), error);
}

static tbk_status_t event_query(tbk_instance_t* self, tbk_event_t* event, tbk_error_t* error) {
  (void)self;
  if (!event) return cpu_fail(TBK_INVALID, error, "event is NULL");
  return cpu_tell(vdev_event_query(inner(event)), error);
}

static tbk_status_t event_synchronize(tbk_instance_t* self, tbk_event_t* event,
                                      tbk_error_t* error) {
  (void)self;
  if (!event) return cpu_fail(TBK_INVALID, error, "event is NULL");
  return cpu_tell(vdev_event_synchronize(inner(event)), error);
}

static tbk_status_t event_elapsed(tbk_instance_t* self, tbk_event_t* start, tbk_event_t* end,
                                  double* out_ms, tbk_error_t* error) {
  (void)self;
  if (!start || !end || !out_ms) return cpu_fail(TBK_INVALID, error, "a NULL argument");
  vdev_status_t status = vdev_event_elapsed(inner(start), inner(end), out_ms);
  if (status == VDEV_STATE)
    return cpu_fail(TBK_INVALID_STATE, error, "not both timing, recorded and of one device");
  return cpu_tell(status, error);
}

const tbk_event_ops_t cpu_event_ops = {sizeof cpu_event_ops, event_create, event_destroy,
                                       event_record,         event_wait,   event_query,
                                       event_synchronize,    event_elapsed};
