/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * event.c: events of the newer kind.
 */
#include "simulator.h"

enum { MICROSECONDS = 1000, UP_SINCE_US = 1800000000 };

acl_result api_event_create(acl_event* out, uint32_t flags) {
  enum { EXTERNAL = 0x20, INTERPROCESS = 0x40 };
  static const char call[] = "aclrtCreateEventExWithFlag";
  const uint32_t together = ACL_EVENT_SYNC | ACL_EVENT_PROGRESS | ACL_EVENT_TIME_LINE | EXTERNAL;
  sim_context_t* context;
  acl_result result = sim_begin_in_context(call, &context);
  if (result != ACL_OK) return result;
  if (out == NULL) return sim_broken(SIM_NULL_POINTER, call);
  if (flags == 0 || ((flags & ~together) != 0 && flags != INTERPROCESS))
    return sim_broken(SIM_FLAGS, call);
  sim_object_t value = {.kind = SIM_EVENT, .context = context, .as.event.flags = flags};
  vdev_status_t status =
      vdev_event_new(context->device, (flags & ACL_EVENT_TIME_LINE) != 0, &value.as.event.event);
  if (status == VDEV_NO_ROOM) return sim_refuse(ACL_NO_EVENT_RESOURCE, "no event left");
  if (status != VDEV_OK) return sim_of_status(status);
  sim_object_t* event = sim_object_add(&value);
  if (event == NULL) {
    vdev_event_free(value.as.event.event);
    return ACL_BAD_ALLOC;
  }
  *out = event;
  return ACL_OK;
}

static acl_result begin_on_event(acl_event handle, const char* call, sim_context_t** out_context,
                                 sim_object_t** out_event) {
  acl_result result = sim_begin_in_context(call, out_context);
  if (result == ACL_OK) result = sim_object_find(handle, SIM_EVENT, call, out_event);
  if (result != ACL_OK) return result;
  if ((*out_event)->context != *out_context) (void)sim_broken(SIM_EVENT_CONTEXT, call);
  return ACL_OK;
}

acl_result api_event_destroy(acl_event handle) {
  sim_context_t* context;
  sim_object_t* event;
  acl_result result = begin_on_event(handle, "aclrtDestroyEvent", &context, &event);
  if (result != ACL_OK) return result;
  return sim_object_destroy(event, "aclrtDestroyEvent");
}

acl_result api_event_record(acl_event handle, acl_stream stream) {
  static const char call[] = "aclrtRecordEvent";
  sim_queue_t queue;
  sim_object_t* event;
  acl_result result = sim_begin_on_stream(stream, call, &queue);
  if (result == ACL_OK) result = sim_object_find(handle, SIM_EVENT, call, &event);
  if (result != ACL_OK) return result;
  if (event->context != queue.context) return sim_broken(SIM_RECORD_DEVICE, call);
  result = sim_of_status(vdev_event_record(event->as.event.event, queue.queue));
  if (result != ACL_OK) return result;
  pthread_mutex_lock(&sim.lock);
  event->as.event.recorded = queue.stream != NULL ? queue.stream->serial : SIM_DEFAULT_SERIAL;
  pthread_mutex_unlock(&sim.lock);
  return ACL_OK;
}

/* Returns which stream it was recorded on last; 0 for none. */
static uint64_t recorded_on(sim_object_t* event) {
  pthread_mutex_lock(&sim.lock);
  uint64_t stream = event->as.event.recorded;
  pthread_mutex_unlock(&sim.lock);
  return stream;
}

acl_result api_stream_wait_event(acl_stream stream, acl_event handle) {
  static const char call[] = "aclrtStreamWaitEvent";
  sim_queue_t queue;
  sim_object_t* event;
  acl_result result = sim_begin_on_stream(stream, call, &queue);
  if (result == ACL_OK) result = sim_object_find(handle, SIM_EVENT, call, &event);
  if (result != ACL_OK) return result;
  if (event->context != queue.context) return sim_broken(SIM_WAIT_DEVICE, call);
  if ((event->as.event.flags & ACL_EVENT_SYNC) == 0) return sim_broken(SIM_EVENT_SYNC, call);
  if (recorded_on(event) == 0) return sim_broken(SIM_UNRECORDED, call);
  return sim_of_status(vdev_event_wait(queue.queue, event->as.event.event));
}

acl_result api_event_query(acl_event handle, int* out_status) {
  static const char call[] = "aclrtQueryEventStatus";
  sim_context_t* context;
  sim_object_t* event;
  acl_result result = begin_on_event(handle, call, &context, &event);
  if (result != ACL_OK) return result;
  if (out_status == NULL) return sim_broken(SIM_NULL_POINTER, call);
  vdev_status_t status = vdev_event_query(event->as.event.event);
  if (status == VDEV_NOT_READY) {
    *out_status = ACL_EVENT_RECORDED_NOT_READY;
    return ACL_OK;
  }
  result = sim_after_wait(context, status, 0);
  if (result == ACL_OK) *out_status = ACL_EVENT_RECORDED_COMPLETE;
  return result;
}

acl_result api_event_synchronize(acl_event handle) {
  static const char call[] = "aclrtSynchronizeEvent";
  sim_context_t* context;
  sim_object_t* event;
  acl_result result = begin_on_event(handle, call, &context, &event);
  if (result != ACL_OK) return result;
  if (recorded_on(event) == 0) return sim_broken(SIM_UNRECORDED, call);
  return sim_after_wait(context, vdev_event_synchronize(event->as.event.event), 0);
}

static bool can_be_timed(sim_object_t* event) {
  return (event->as.event.flags & ACL_EVENT_TIME_LINE) != 0 && recorded_on(event) != 0;
}

acl_result api_event_elapsed(float* out_ms, acl_event start, acl_event end) {
  static const char call[] = "aclrtEventElapsedTime";
  sim_context_t* context;
  sim_object_t *first, *second;
  acl_result result = begin_on_event(start, call, &context, &first);
  if (result == ACL_OK) result = begin_on_event(end, call, &context, &second);
  if (result != ACL_OK) return result;
  if (out_ms == NULL) return sim_broken(SIM_NULL_POINTER, call);
  if (!can_be_timed(first) || !can_be_timed(second) || recorded_on(first) != recorded_on(second))
    return sim_broken(SIM_TIMING, call);
  double milliseconds = 0;
  vdev_status_t status =
      vdev_event_elapsed(first->as.event.event, second->as.event.event, &milliseconds);
  result = sim_after_wait(context, status, 0);
  if (result != ACL_OK) return result;
  if (milliseconds < 0) return sim_refuse(ACL_EVENT_TIMESTAMP_REVERSED, "the end comes first");
  *out_ms = (float)milliseconds;
  return ACL_OK;
}

/* Counted from the start of the chip, which ran long before the process. */
acl_result api_event_timestamp(acl_event handle, uint64_t* out_microseconds) {
  static const char call[] = "aclrtEventGetTimestamp";
  sim_context_t* context;
  sim_object_t* event;
  acl_result result = begin_on_event(handle, call, &context, &event);
  if (result != ACL_OK) return result;
  if (out_microseconds == NULL) return sim_broken(SIM_NULL_POINTER, call);
  if (!can_be_timed(event)) return sim_broken(SIM_TIMING, call);
  double milliseconds = 0;
  vdev_event_synchronize(context->epoch); /* it came first, on another stream */
  vdev_status_t status = vdev_event_elapsed(context->epoch, event->as.event.event, &milliseconds);
  result = sim_after_wait(context, status, 0);
  if (result == ACL_OK) *out_microseconds = UP_SINCE_US + (uint64_t)(milliseconds * MICROSECONDS);
  return result;
}
