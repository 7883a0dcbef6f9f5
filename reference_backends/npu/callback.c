/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * callback.c: calls of the host. Newer drivers run them in a thread of their own (D 1959); others in one of
 * ours that asks for them again and again, one for each device (D 0125). The two are not mixed.
 */
#include <time.h>

#include "npu.h"

enum { REPORT_MS = 100 };

static void* report(void* argument) {
  static const struct timespec pause = {0, 10000000};
  npu_reporter_t* reporter = argument;
  bool entered = npu_acl()->set_context(reporter->context) == ACL_OK;
  while (!__atomic_load_n(&reporter->stop, __ATOMIC_ACQUIRE)) {
    acl_result result = entered ? npu_acl()->process_report(REPORT_MS) : ACL_CONTEXT_NULL;
    /* An error may be of one call, and streams wait for theirs: ask on, but not without a pause. */
    const bool well =
        result == ACL_OK || result == ACL_REPORT_TIMEOUT || result == ACL_WAIT_CALLBACK_TIMEOUT;
    if (!well) (void)nanosleep(&pause, NULL);
    if (!entered) entered = npu_acl()->set_context(reporter->context) == ACL_OK;
  }
  return NULL;
}

/* Called with the reporter's lock. */
static acl_result start(npu_reporter_t* reporter) {
  if (reporter->running) return ACL_OK;
  reporter->stop = false;
  if (pthread_create(&reporter->thread, NULL, report, reporter) != 0) return ACL_RESOURCE_ALLOC;
  reporter->running = true;
  return ACL_OK;
}

void npu_reporter_stop(npu_reporter_t* reporter) {
  if (!reporter->running) return;
  __atomic_store_n(&reporter->stop, true, __ATOMIC_RELEASE);
  pthread_join(reporter->thread, NULL);
  reporter->running = false;
}

static acl_result subscribe(npu_reporter_t* reporter, tbk_stream_t* stream) {
  pthread_mutex_lock(&reporter->lock);
  acl_result result = stream->subscribed ? ACL_OK : start(reporter);
  if (result == ACL_OK && !stream->subscribed) {
    result = npu_acl()->subscribe_report((uint64_t)reporter->thread, stream->handle.native);
    stream->subscribed = result == ACL_OK;
  }
  pthread_mutex_unlock(&reporter->lock);
  return result;
}

acl_result npu_callbacks_end(npu_device_t* device, tbk_stream_t* stream) {
  npu_reporter_t* reporter = &device->reporter;
  if (!stream->subscribed) return ACL_OK;
  acl_result result = npu_acl()->stream_synchronize(stream->handle.native);
  pthread_mutex_lock(&reporter->lock);
  acl_result ended =
      npu_acl()->unsubscribe_report((uint64_t)reporter->thread, stream->handle.native);
  stream->subscribed = false;
  pthread_mutex_unlock(&reporter->lock);
  return result != ACL_OK ? result : ended;
}

static acl_result enqueue(npu_reporter_t* reporter, tbk_stream_t* stream, tbk_callback_fn function,
                          void* argument) {
  const acl_runtime_t* acl = npu_acl();
  npu_queue_t* queue = &stream->queue;
  const bool reported = acl->launch_host_function == NULL;
  acl_result result = reported ? subscribe(reporter, stream) : ACL_OK;
  if (result != ACL_OK) return result;
  pthread_mutex_lock(&queue->lock);
  result = reported
               ? acl->launch_callback(function, argument, ACL_CALLBACK_BLOCK, queue->handle.native)
               : acl->launch_host_function(queue->handle.native, function, argument);
  pthread_mutex_unlock(&queue->lock);
  return result;
}

static tbk_status_t callback_enqueue(tbk_instance_t* self, tbk_stream_t* stream,
                                     tbk_callback_fn function, void* argument, tbk_error_t* error) {
  npu_entry_t entry;
  if (stream == NULL || function == NULL)
    return npu_fail(error, TBK_INVALID, "stream or function is NULL");
  tbk_status_t status = npu_enter_with(self, stream->handle.device, stream, &entry, error);
  if (status != TBK_OK) return status;
  acl_result result =
      enqueue(&self->devices[stream->handle.device].reporter, stream, function, argument);
  return npu_leave(self, stream->handle.device, &entry, result, "enqueuing a callback", error);
}

const tbk_callback_ops_t npu_callback_ops = {sizeof npu_callback_ops, callback_enqueue};
