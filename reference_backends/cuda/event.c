/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * event.c: events. What CUDA's do is what the contract asks for, but for the checks.
 */
#include <stdlib.h>

#include "cuda.h"

void cuda_event_end(driver_handle_t* handle) {
  cuda_driver()->event_destroy(handle->native);
}

static tbk_status_t event_create(tbk_instance_t* self, int32_t device, uint32_t flags,
                                 tbk_event_t** out_event, tbk_error_t* error) {
  if (out_event == NULL || (flags & ~(uint32_t)TBK_EVENT_FLAGS_KNOWN) != 0) {
    return cuda_fail(error, TBK_INVALID, "out_event is NULL, or a flag is unknown");
  }
  tbk_status_t status = cuda_enter(self, device, error);
  if (status != TBK_OK) return status;
  tbk_event_t* event = calloc(1, sizeof *event);
  cu_result result = CU_OUT_OF_MEMORY;
  if (event != NULL) {
    cu_event native = NULL;
    event->timing = (flags & TBK_EVENT_TIMING) != 0;
    result = cuda_driver()->event_create(&native, event->timing ? 0 : CU_EVENT_DISABLE_TIMING);
    event->handle = (driver_handle_t){.device = device, .native = native};
  }
  status = cuda_leave(self, device, result, "creating an event", error);
  if (status != TBK_OK) {
    if (result == CU_OK) cuda_driver()->event_destroy(event->handle.native); /* see stream_create */
    free(event);
    return status;
  }
  handle_add(&self->lock, &self->devices[device].events, &event->handle);
  *out_event = event;
  return TBK_OK;
}

static void event_destroy(tbk_instance_t* self, tbk_event_t* event) {
  if (event == NULL) return;
  if (handle_remove(&self->lock, &event->handle)) {
    tbk_error_t error = {""};
    tbk_status_t status = cuda_enter(self, event->handle.device, &error);
    if (status == TBK_OK) {
      cu_result result = cuda_driver()->event_destroy(event->handle.native);
      status = cuda_leave(self, event->handle.device, result, "destroying an event", &error);
    }
    driver_tell(&self->host, status, &error);
  }
  free(event);
}

static tbk_status_t event_record(tbk_instance_t* self, tbk_event_t* event, tbk_stream_t* stream,
                                 tbk_error_t* error) {
  if (event == NULL || stream == NULL || event->handle.device != stream->handle.device) {
    return cuda_fail(error, TBK_INVALID, "event or stream is NULL, or of another device");
  }
  tbk_status_t status = cuda_enter(self, event->handle.device, error);
  if (status != TBK_OK) return status;
  cu_result result = cuda_driver()->event_record(event->handle.native, stream->handle.native);
  if (result == CU_OK) __atomic_store_n(&event->recorded, true, __ATOMIC_RELEASE);
  return cuda_leave(self, event->handle.device, result, "recording an event", error);
}

static tbk_status_t event_wait(tbk_instance_t* self, tbk_stream_t* stream, tbk_event_t* event,
                               tbk_error_t* error) {
  if (event == NULL || stream == NULL) {
    return cuda_fail(error, TBK_INVALID, "stream or event is NULL");
  }
  tbk_status_t status = cuda_enter(self, stream->handle.device, error);
  if (status != TBK_OK) return status;
  cu_result result =
      cuda_driver()->stream_wait_event(stream->handle.native, event->handle.native, 0);
  return cuda_leave(self, stream->handle.device, result, "waiting for an event", error);
}

static tbk_status_t event_query(tbk_instance_t* self, tbk_event_t* event, tbk_error_t* error) {
  if (event == NULL) return cuda_fail(error, TBK_INVALID, "event is NULL");
  tbk_status_t status = cuda_enter(self, event->handle.device, error);
  if (status != TBK_OK) return status;
  cu_result result = cuda_driver()->event_query(event->handle.native);
  return cuda_leave(self, event->handle.device, result, "querying an event", error);
}

static tbk_status_t event_synchronize(tbk_instance_t* self, tbk_event_t* event,
                                      tbk_error_t* error) {
  if (event == NULL) return cuda_fail(error, TBK_INVALID, "event is NULL");
  tbk_status_t status = cuda_enter(self, event->handle.device, error);
  if (status != TBK_OK) return status;
  cu_result result = cuda_driver()->event_synchronize(event->handle.native);
  return cuda_leave(self, event->handle.device, result, "synchronising an event", error);
}

static bool can_be_timed(const tbk_event_t* event) {
  return event->timing && __atomic_load_n(&event->recorded, __ATOMIC_ACQUIRE);
}

static tbk_status_t event_elapsed(tbk_instance_t* self, tbk_event_t* start, tbk_event_t* end,
                                  double* out_ms, tbk_error_t* error) {
  if (start == NULL || end == NULL || out_ms == NULL) {
    return cuda_fail(error, TBK_INVALID, "start, end or out_ms is NULL");
  }
  if (!can_be_timed(start) || !can_be_timed(end) || start->handle.device != end->handle.device) {
    return cuda_fail(error, TBK_INVALID_STATE, "an event without timing, unrecorded or elsewhere");
  }
  tbk_status_t status = cuda_enter(self, start->handle.device, error);
  if (status != TBK_OK) return status;
  float milliseconds = 0;
  cu_result result =
      cuda_driver()->event_elapsed(&milliseconds, start->handle.native, end->handle.native);
  status = cuda_leave(self, start->handle.device, result, "timing events", error);
  if (status == TBK_OK) *out_ms = (double)milliseconds;
  return status;
}

const tbk_event_ops_t cuda_event_ops = {
    .struct_size = sizeof(tbk_event_ops_t),
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
    .event_elapsed = event_elapsed,
};
