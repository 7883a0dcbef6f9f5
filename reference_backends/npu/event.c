/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * event.c: events. Only the newer kind of ACL is used, which may be recorded again and destroyed while it is
 * pending (D 0081). What ACL does with events that were never recorded is not documented: none is asked.
 */
#include <stdlib.h>

#include "npu.h"

struct tbk_event {
  driver_handle_t handle;
  bool timing;
  pthread_mutex_t lock; /* guards what follows */
  bool recorded;
  acl_stream stream; /* on which it was last recorded */
};

void npu_event_end(driver_handle_t* handle) {
  npu_acl()->event_destroy(handle->native);
}

void npu_event_free(void* event) {
  pthread_mutex_destroy(&((tbk_event_t*)event)->lock);
  free(event);
}

/* With SYNC streams may wait for it, with TIME_LINE it has a time (D 0079). */
static tbk_status_t event_create(tbk_instance_t* self, int32_t device, uint32_t flags,
                                 tbk_event_t** out_event, tbk_error_t* error) {
  npu_entry_t entry;
  const bool timing = (flags & TBK_EVENT_TIMING) != 0;
  const uint32_t own_flags = ACL_EVENT_SYNC | (timing ? (uint32_t)ACL_EVENT_TIME_LINE : 0);
  if (out_event == NULL || (flags & ~(uint32_t)TBK_EVENT_FLAGS_KNOWN) != 0)
    return npu_fail(error, TBK_INVALID, "out_event is NULL, or a flag is unknown");
  tbk_status_t status = npu_enter(self, device, &entry, error);
  if (status != TBK_OK) return status;
  tbk_event_t* event = calloc(1, sizeof *event);
  acl_result result = ACL_BAD_ALLOC;
  if (event != NULL) {
    pthread_mutex_init(&event->lock, NULL);
    event->handle.device = device;
    event->timing = timing;
    result = npu_acl()->event_create(&event->handle.native, own_flags);
  }
  status = npu_leave(self, device, &entry, result, "creating an event", error);
  if (status != TBK_OK) { /* the context is still there where it could not be left */
    if (result == ACL_OK) npu_acl()->event_destroy(event->handle.native);
    if (event != NULL) npu_event_free(event);
    return status;
  }
  handle_add(&self->lock, &self->devices[device].events, &event->handle);
  *out_event = event;
  return TBK_OK;
}

static void event_destroy(tbk_instance_t* self, tbk_event_t* event) {
  if (event == NULL) return;
  if (handle_remove(&self->lock, &event->handle)) {
    npu_entry_t entry;
    tbk_error_t error = {""};
    tbk_status_t status = npu_enter(self, event->handle.device, &entry, &error);
    if (status == TBK_OK) {
      acl_result result = npu_acl()->event_destroy(event->handle.native);
      status = npu_leave(self, event->handle.device, &entry, result, "destroying an event", &error);
    }
    driver_tell(&self->host, status, &error);
  }
  npu_event_free(event);
}

/* npu_enter, for an event, whose device may have been closed. */
static tbk_status_t enter(tbk_instance_t* self, const tbk_event_t* event, npu_entry_t* entry,
                          tbk_error_t* error) {
  if (!event->handle.live)
    return npu_fail(error, TBK_INVALID_STATE, "the event ended with its device");
  return npu_enter(self, event->handle.device, entry, error);
}

/* `out_stream` may be NULL. */
static bool is_recorded(tbk_event_t* event, acl_stream* out_stream) {
  pthread_mutex_lock(&event->lock);
  bool recorded = event->recorded;
  if (out_stream != NULL) *out_stream = event->stream;
  pthread_mutex_unlock(&event->lock);
  return recorded;
}

static tbk_status_t event_record(tbk_instance_t* self, tbk_event_t* event, tbk_stream_t* stream,
                                 tbk_error_t* error) {
  npu_entry_t entry;
  if (event == NULL || stream == NULL || event->handle.device != stream->handle.device)
    return npu_fail(error, TBK_INVALID, "event or stream is NULL, or of another device");
  tbk_status_t status = enter(self, event, &entry, error);
  if (status != TBK_OK) return status;
  pthread_mutex_lock(&stream->queue.lock);
  pthread_mutex_lock(&event->lock);
  acl_result result = npu_acl()->event_record(event->handle.native, stream->handle.native);
  if (result == ACL_OK) {
    event->recorded = true;
    event->stream = stream->handle.native;
  }
  pthread_mutex_unlock(&event->lock);
  pthread_mutex_unlock(&stream->queue.lock);
  return npu_leave(self, event->handle.device, &entry, result, "recording an event", error);
}

/* Between devices it depends on the chip, and nothing tells on which: not offered. */
static tbk_status_t event_wait(tbk_instance_t* self, tbk_stream_t* stream, tbk_event_t* event,
                               tbk_error_t* error) {
  npu_entry_t entry;
  if (event == NULL || stream == NULL || event->handle.device != stream->handle.device)
    return npu_fail(error, TBK_INVALID, "stream or event is NULL, or of another device");
  tbk_status_t status = enter(self, event, &entry, error);
  if (status != TBK_OK) return status;
  acl_result result = ACL_OK;
  if (is_recorded(event, NULL)) {
    pthread_mutex_lock(&stream->queue.lock);
    result = npu_acl()->stream_wait_event(stream->handle.native, event->handle.native);
    pthread_mutex_unlock(&stream->queue.lock);
  }
  return npu_leave(self, stream->handle.device, &entry, result, "waiting for an event", error);
}

/* 507006 where it is not complete, which ACL tells by a status. */
static acl_result query(tbk_event_t* event) {
  int state = ACL_EVENT_RECORDED_NOT_READY;
  if (!is_recorded(event, NULL)) return ACL_OK;
  acl_result result = npu_acl()->event_query(event->handle.native, &state);
  return result == ACL_OK && state != ACL_EVENT_RECORDED_COMPLETE ? ACL_EVENT_NOT_COMPLETE : result;
}

static tbk_status_t event_query(tbk_instance_t* self, tbk_event_t* event, tbk_error_t* error) {
  npu_entry_t entry;
  if (event == NULL) return npu_fail(error, TBK_INVALID, "event is NULL");
  tbk_status_t status = enter(self, event, &entry, error);
  if (status != TBK_OK) return status;
  acl_result result = query(event);
  return npu_leave(self, event->handle.device, &entry, result, "querying an event", error);
}

static tbk_status_t event_synchronize(tbk_instance_t* self, tbk_event_t* event,
                                      tbk_error_t* error) {
  npu_entry_t entry;
  if (event == NULL) return npu_fail(error, TBK_INVALID, "event is NULL");
  tbk_status_t status = enter(self, event, &entry, error);
  if (status != TBK_OK) return status;
  acl_result result =
      is_recorded(event, NULL) ? npu_acl()->event_synchronize(event->handle.native) : ACL_OK;
  return npu_leave(self, event->handle.device, &entry, result, "synchronising an event", error);
}

/* Elapsed time is documented for events of one stream (D 0090); between others the time from the chip's
 * start to each is taken, in microseconds (D 1780). */
static acl_result elapsed(tbk_event_t* start, tbk_event_t* end, bool one_stream, double* out_ms) {
  const acl_runtime_t* acl = npu_acl();
  float milliseconds = 0;
  uint64_t from = 0, to = 0;
  acl_result result = query(start);
  if (result == ACL_OK) result = query(end);
  if (result != ACL_OK) return result;
  if (one_stream) {
    result = acl->event_elapsed(&milliseconds, start->handle.native, end->handle.native);
    *out_ms = (double)milliseconds;
    if (result != ACL_EVENT_TIMESTAMP_REVERSED) return result;
    result = acl->event_elapsed(&milliseconds, end->handle.native, start->handle.native);
    *out_ms = -(double)milliseconds; /* the end came first, which is no error here */
    return result;
  }
  result = acl->event_timestamp(start->handle.native, &from);
  if (result == ACL_OK) result = acl->event_timestamp(end->handle.native, &to);
  *out_ms = ((double)to - (double)from) / 1000;
  return result;
}

static tbk_status_t event_elapsed(tbk_instance_t* self, tbk_event_t* start, tbk_event_t* end,
                                  double* out_ms, tbk_error_t* error) {
  npu_entry_t entry;
  acl_stream first, second;
  double milliseconds = 0;
  if (start == NULL || end == NULL || out_ms == NULL)
    return npu_fail(error, TBK_INVALID, "start, end or out_ms is NULL");
  const bool recorded = is_recorded(start, &first) && is_recorded(end, &second);
  if (!start->timing || !end->timing || !recorded || start->handle.device != end->handle.device)
    return npu_fail(error, TBK_INVALID_STATE, "an event without timing, unrecorded or elsewhere");
  tbk_status_t status = enter(self, start, &entry, error);
  if (status != TBK_OK) return status;
  acl_result result = elapsed(start, end, first == second, &milliseconds);
  status = npu_leave(self, start->handle.device, &entry, result, "timing events", error);
  if (status == TBK_OK) *out_ms = milliseconds;
  return status;
}

const tbk_event_ops_t npu_event_ops = {
    .struct_size = sizeof(tbk_event_ops_t),
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
    .event_elapsed = event_elapsed,
};
