/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * backend.c: the entry point, errors, and the way into a device's context and out of it.
 */
#include "npu.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct answer {
  acl_result result;
  tbk_status_t status;
  const char* name;
} answer_t;

/* 507xxx and 500xxx are of the device or of what runs it; with STOP_ON_FAILURE nothing of the context works
 * after them (D 0074). Those that are about one call have rows. */
static answer_t answer_of(acl_result result) {
  static const answer_t answers[] = {
#define ANSWER(name, value, status) {value, TBK_##status, #name},
      ACL_RESULT_MAP(ANSWER)
#undef ANSWER
  };
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
    if (answers[i].result == result) return answers[i];
  const bool is_fault = result / 1000 == 507 || result / 1000 == 500;
  return (answer_t){result, is_fault ? TBK_DEVICE_LOST : TBK_FAILED, "of which no name is known"};
}

tbk_status_t npu_translate(acl_result result) {
  return answer_of(result).status;
}

void npu_describe(acl_result result, char* out, size_t size) {
  const char* text = npu_acl()->recent_error ? npu_acl()->recent_error() : NULL;
  snprintf(out, size, "error %d %s%s%.120s", result, answer_of(result).name, text ? ": " : "",
           text ? text : "");
  for (char* at = out; *at != '\0'; at++) /* the driver's own text has many lines */
    if ((unsigned char)*at < ' ') *at = ' ';
}

tbk_status_t npu_tell(tbk_error_t* error, acl_result result, const char* format, ...) {
  char text[200], what[80];
  va_list arguments;
  npu_describe(result, text, sizeof text);
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  return npu_fail(error, npu_translate(result), "%s: %s", what, text);
}

static tbk_status_t lose(tbk_instance_t* self, int32_t device, tbk_status_t status) {
  if (status != TBK_DEVICE_LOST) return status;
  pthread_mutex_lock(&self->lock);
  self->devices[device].lost = true;
  pthread_mutex_unlock(&self->lock);
  return status;
}

tbk_status_t npu_enter(tbk_instance_t* self, int32_t device, npu_entry_t* out_entry,
                       tbk_error_t* error) {
  npu_count(self);
  if (npu_is_forked())
    return npu_fail(error, TBK_INVALID_STATE, "the driver does not outlive a fork");
  bool exists = device >= 0 && device < self->device_count;
  pthread_mutex_lock(&self->lock);
  acl_context context = exists ? self->devices[device].context : NULL;
  bool lost = exists && self->devices[device].lost;
  pthread_mutex_unlock(&self->lock);
  if (context == NULL) return npu_fail(error, TBK_INVALID_STATE, "device %d is not open", device);
  if (lost) return npu_fail(error, TBK_DEVICE_LOST, "device %d is lost", device);
  acl_result result = npu_context_swap(context, out_entry);
  if (result == ACL_OK) return TBK_OK;
  return lose(self, device, npu_tell(error, result, "entering device %d", device));
}

tbk_status_t npu_leave(tbk_instance_t* self, int32_t device, const npu_entry_t* entry,
                       acl_result result, const char* what, tbk_error_t* error) {
  tbk_status_t status = npu_translate(result);
  const bool well = status == TBK_OK || status == TBK_NOT_READY;
  if (status == TBK_NOT_READY)
    npu_fail(error, status, "%s on device %d: not complete", what, device);
  if (!well) npu_tell(error, result, "%s on device %d", what, device); /* before it is forgotten */
  acl_result back = npu_context_put_back(entry);
  if (back != ACL_OK && well)
    status = npu_tell(error, back, "%s on device %d", what, device);
  else if (back != ACL_OK)
    driver_log(&self->host, TBK_LOG_WARNING, "leaving device %d: error %d", device, back);
  return lose(self, device, status);
}

tbk_status_t npu_enter_with(tbk_instance_t* self, int32_t device, const tbk_stream_t* stream,
                            npu_entry_t* out_entry, tbk_error_t* error) {
  if (stream != NULL && stream->handle.device != device)
    return npu_fail(error, TBK_INVALID, "the stream is one of device %d", stream->handle.device);
  if (stream != NULL && !stream->handle.live)
    return npu_fail(error, TBK_INVALID_STATE, "the stream ended with its device");
  return npu_enter(self, device, out_entry, error);
}

static const tbk_backend_t table = {
    .struct_size = sizeof(tbk_backend_t),
    .abi_version = TBK_ABI_VERSION,
    .name = "tbk_npu",
    .version = "0.1.0",
    .core = &npu_core,
    .stream = &npu_stream_ops,
    .event = &npu_event_ops,
    .callback = &npu_callback_ops,
    .pinned = &npu_pinned_ops,
    .peer = &npu_peer_ops,
    .kernel = &npu_kernel_ops,
};

tbk_status_t tbk_backend_create(const tbk_host_t* host, const tbk_backend_t** out_backend,
                                tbk_error_t* error) {
  tbk_status_t status = driver_check_host(host, out_backend, error);
  if (status == TBK_OK) status = driver_choose(&npu_choice, host->options, error);
  if (status != TBK_OK) return status;
  tbk_instance_t* self = calloc(1, sizeof *self);
  if (self == NULL) return npu_fail(error, TBK_OUT_OF_MEMORY, "no host memory");
  self->backend = table;
  self->backend.instance = self;
  self->host = (tbk_host_t){.context = host->context, .log = host->log};
  pthread_mutex_init(&self->lock, NULL);
  for (int i = 0; i < NPU_MAX_DEVICES; i++) {
    pthread_mutex_init(&self->devices[i].internal.lock, NULL);
    pthread_mutex_init(&self->devices[i].reporter.lock, NULL);
    npu_pool_begin(&self->devices[i].pool);
  }
  *out_backend = &self->backend;
  return TBK_OK;
}
