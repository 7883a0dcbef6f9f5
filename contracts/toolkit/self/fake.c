/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fake.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SLACK = 16 }; /* so that an overrun damages nothing else */

fake_settings_t fake;
int fake_live;

/* The one queue: callbacks that have not returned. */
static atomic_int pending;

static void destroy(tbk_instance_t* self) {
  (void)self;
}

static tbk_status_t device_count(tbk_instance_t* self, int32_t* out_count, tbk_error_t* error) {
  (void)self, (void)error;
  *out_count = 1;
  return TBK_OK;
}

static tbk_status_t device_properties(tbk_instance_t* self, int32_t device,
                                      tbk_device_properties_t* out_properties, tbk_error_t* error) {
  (void)self, (void)device, (void)error;
  *out_properties = (tbk_device_properties_t){.struct_size = sizeof *out_properties,
                                              .name = "fake",
                                              .memory_alignment = 16,
                                              .copy_granularity = 1};
  return TBK_OK;
}

static tbk_status_t device_open(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  (void)self, (void)device, (void)error;
  return fake.fails_to_open ? TBK_FAILED : TBK_OK;
}

static tbk_status_t device_close(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  (void)self, (void)device, (void)error;
  return TBK_OK;
}

static tbk_status_t memory_alloc(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                                 tbk_memory_t* out_memory, tbk_error_t* error) {
  (void)self, (void)device, (void)error;
  *out_memory = (tbk_memory_t)(uintptr_t)malloc(size_bytes + SLACK);
  fake_live++;
  return TBK_OK;
}

static tbk_status_t memory_free(tbk_instance_t* self, int32_t device, tbk_memory_t memory,
                                tbk_error_t* error) {
  (void)self, (void)device, (void)error;
  free((void*)(uintptr_t)memory);
  fake_live--;
  return fake.fails_to_free ? TBK_FAILED : TBK_OK;
}

static tbk_status_t upload(tbk_instance_t* self, int32_t device, tbk_memory_t memory,
                           uint64_t offset, const void* source, uint64_t size_bytes,
                           tbk_stream_t* stream, tbk_error_t* error) {
  (void)self, (void)device, (void)error;
  while (fake.waits_in_uploads && stream != NULL && atomic_load(&pending) > 0)
    sched_yield();
  memcpy((uint8_t*)(uintptr_t)memory + offset, source, size_bytes);
  return TBK_OK;
}

static tbk_status_t download(tbk_instance_t* self, int32_t device, void* destination,
                             tbk_memory_t memory, uint64_t offset, uint64_t size_bytes,
                             tbk_stream_t* stream, tbk_error_t* error) {
  (void)self, (void)device, (void)stream, (void)error;
  memcpy(destination, (uint8_t*)(uintptr_t)memory + offset, size_bytes);
  if (fake.overruns_host) ((uint8_t*)destination)[size_bytes] ^= 0xff;
  return TBK_OK;
}

static tbk_status_t copy(tbk_instance_t* self, int32_t device, tbk_memory_t destination,
                         uint64_t destination_offset, tbk_memory_t source, uint64_t source_offset,
                         uint64_t size_bytes, tbk_stream_t* stream, tbk_error_t* error) {
  (void)self, (void)device, (void)stream, (void)error;
  uint8_t* to = (uint8_t*)(uintptr_t)destination + destination_offset;
  memcpy(to, (uint8_t*)(uintptr_t)source + source_offset, size_bytes);
  if (fake.overruns) to[size_bytes] ^= 0xff;
  return TBK_OK;
}

static tbk_status_t stream_create(tbk_instance_t* self, int32_t device, int32_t priority,
                                  tbk_stream_t** out_stream, tbk_error_t* error) {
  (void)self, (void)device, (void)priority, (void)error;
  *out_stream = malloc(1);
  fake_live++;
  return TBK_OK;
}

static void stream_destroy(tbk_instance_t* self, tbk_stream_t* stream) {
  (void)self;
  free(stream);
  fake_live--;
}

static tbk_status_t stream_query(tbk_instance_t* self, tbk_stream_t* stream, tbk_error_t* error) {
  (void)self, (void)stream, (void)error;
  return atomic_load(&pending) > 0 ? TBK_NOT_READY : TBK_OK;
}

static tbk_status_t stream_synchronize(tbk_instance_t* self, tbk_stream_t* stream,
                                       tbk_error_t* error) {
  (void)self, (void)stream, (void)error;
  while (atomic_load(&pending) > 0)
    sched_yield();
  return TBK_OK;
}

static tbk_status_t device_synchronize(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  (void)self, (void)device, (void)error;
  while (atomic_load(&pending) > 0)
    sched_yield();
  return fake.fails_to_settle ? TBK_FAILED : TBK_OK;
}

struct call {
  tbk_callback_fn function;
  void* argument;
};

static void* run_call(void* argument) {
  struct call* call = argument;
  call->function(call->argument);
  free(call);
  atomic_fetch_sub(&pending, 1);
  return NULL;
}

static tbk_status_t callback_enqueue(tbk_instance_t* self, tbk_stream_t* stream,
                                     tbk_callback_fn function, void* argument, tbk_error_t* error) {
  (void)self, (void)stream, (void)error;
  if (fake.callbacks == FAKE_INLINE) {
    function(argument);
    return TBK_OK;
  }
  struct call* call = malloc(sizeof *call);
  pthread_t thread;
  *call = (struct call){function, argument};
  atomic_fetch_add(&pending, 1);
  if (pthread_create(&thread, NULL, run_call, call) != 0) abort();
  if (fake.callbacks == FAKE_WAITING) {
    pthread_join(thread, NULL);
  } else {
    pthread_detach(thread);
  }
  return TBK_OK;
}

static const tbk_core_t core = {sizeof core, destroy,      device_count, device_properties,
                                device_open, device_close, memory_alloc, memory_free,
                                upload,      download,     copy,         NULL,
                                NULL};
static const tbk_stream_ops_t stream = {.struct_size = sizeof stream,
                                        .stream_create = stream_create,
                                        .stream_destroy = stream_destroy,
                                        .stream_query = stream_query,
                                        .stream_synchronize = stream_synchronize,
                                        .device_synchronize = device_synchronize};
static const tbk_callback_ops_t callback = {sizeof callback, callback_enqueue};

tbk_status_t fake_create(const tbk_host_t* host, const tbk_backend_t** out_backend,
                         tbk_error_t* error) {
  static tbk_backend_t backend;
  (void)host, (void)error;
  backend = (tbk_backend_t){.struct_size = sizeof backend,
                            .abi_version = TBK_ABI_VERSION,
                            .name = "fake",
                            .version = "0",
                            .core = &core};
  if (fake.with_streams) backend.stream = &stream;
  if (fake.callbacks != FAKE_NO_CALLBACKS) backend.callback = &callback;
  *out_backend = &backend;
  return TBK_OK;
}

tbk_session_t fake_session(fake_settings_t settings) {
  fake = settings;
  fake_live = 0;
  tbk_session_t session = {.library = {.create = fake_create}};
  session.library.host.struct_size = sizeof session.library.host;
  return session;
}
