/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * nothing.c: tables whose calls return at once. Callbacks run within the call, since programs wait for
 * what they do.
 */
#include "nothing.h"

#include <string.h>

static char here; /* what all handles name */

static tbk_status_t alloc(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                          tbk_memory_t* out_memory, tbk_error_t* error) {
  (void)self, (void)device, (void)size_bytes, (void)error;
  return *out_memory = 1, TBK_OK;
}

static tbk_status_t release(tbk_instance_t* self, int32_t device, tbk_memory_t memory,
                            tbk_error_t* error) {
  (void)self, (void)device, (void)memory, (void)error;
  return TBK_OK;
}

static tbk_status_t upload(tbk_instance_t* self, int32_t device, tbk_memory_t memory,
                           uint64_t offset, const void* source, uint64_t size_bytes,
                           tbk_stream_t* stream, tbk_error_t* error) {
  (void)self, (void)device, (void)memory, (void)offset;
  (void)source, (void)size_bytes, (void)stream, (void)error;
  return TBK_OK;
}

static tbk_status_t download(tbk_instance_t* self, int32_t device, void* destination,
                             tbk_memory_t memory, uint64_t offset, uint64_t size_bytes,
                             tbk_stream_t* stream, tbk_error_t* error) {
  (void)destination;
  return upload(self, device, memory, offset, NULL, size_bytes, stream, error);
}

static tbk_status_t copy(tbk_instance_t* self, int32_t device, tbk_memory_t destination,
                         uint64_t destination_offset, tbk_memory_t source, uint64_t source_offset,
                         uint64_t size_bytes, tbk_stream_t* stream, tbk_error_t* error) {
  (void)source, (void)source_offset;
  return upload(self, device, destination, destination_offset, NULL, size_bytes, stream, error);
}

static tbk_status_t peer_copy(tbk_instance_t* self, int32_t destination_device,
                              tbk_memory_t destination, uint64_t destination_offset,
                              int32_t source_device, tbk_memory_t source, uint64_t source_offset,
                              uint64_t size_bytes, tbk_stream_t* stream, tbk_error_t* error) {
  (void)source_device;
  return copy(self, destination_device, destination, destination_offset, source, source_offset,
              size_bytes, stream, error);
}

static tbk_status_t fill(tbk_instance_t* self, int32_t device, tbk_memory_t memory, uint64_t offset,
                         uint8_t value, uint64_t size_bytes, tbk_stream_t* stream,
                         tbk_error_t* error) {
  (void)value;
  return upload(self, device, memory, offset, NULL, size_bytes, stream, error);
}

static tbk_status_t new_stream(tbk_instance_t* self, int32_t device, int32_t priority,
                               tbk_stream_t** out_stream, tbk_error_t* error) {
  (void)self, (void)device, (void)priority, (void)error;
  return *out_stream = (tbk_stream_t*)&here, TBK_OK;
}

static void end_stream(tbk_instance_t* self, tbk_stream_t* stream) {
  (void)self, (void)stream;
}

static tbk_status_t ask_stream(tbk_instance_t* self, tbk_stream_t* stream, tbk_error_t* error) {
  (void)self, (void)stream, (void)error;
  return TBK_OK;
}

static tbk_status_t ask_device(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  (void)self, (void)device, (void)error;
  return TBK_OK;
}

static tbk_status_t new_event(tbk_instance_t* self, int32_t device, uint32_t flags,
                              tbk_event_t** out_event, tbk_error_t* error) {
  (void)self, (void)device, (void)flags, (void)error;
  return *out_event = (tbk_event_t*)&here, TBK_OK;
}

static void end_event(tbk_instance_t* self, tbk_event_t* event) {
  (void)self, (void)event;
}

static tbk_status_t record(tbk_instance_t* self, tbk_event_t* event, tbk_stream_t* stream,
                           tbk_error_t* error) {
  (void)self, (void)event, (void)stream, (void)error;
  return TBK_OK;
}

static tbk_status_t wait(tbk_instance_t* self, tbk_stream_t* stream, tbk_event_t* event,
                         tbk_error_t* error) {
  return record(self, event, stream, error);
}

static tbk_status_t ask_event(tbk_instance_t* self, tbk_event_t* event, tbk_error_t* error) {
  (void)self, (void)event, (void)error;
  return TBK_OK;
}

static tbk_status_t call(tbk_instance_t* self, tbk_stream_t* stream, tbk_callback_fn function,
                         void* argument, tbk_error_t* error) {
  (void)self, (void)stream, (void)error;
  return function(argument), TBK_OK;
}

static tbk_status_t alloc_in_order(tbk_instance_t* self, tbk_stream_t* stream, uint64_t size_bytes,
                                   tbk_memory_t* out_memory, tbk_error_t* error) {
  (void)stream;
  return alloc(self, 0, size_bytes, out_memory, error);
}

static tbk_status_t free_in_order(tbk_instance_t* self, tbk_stream_t* stream, tbk_memory_t memory,
                                  tbk_error_t* error) {
  (void)stream;
  return release(self, 0, memory, error);
}

static tbk_status_t launch(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                           const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  (void)self, (void)device, (void)kernel, (void)arguments, (void)stream, (void)error;
  return TBK_OK;
}

static const tbk_core_t core = {.struct_size = sizeof core,
                                .memory_alloc = alloc,
                                .memory_free = release,
                                .upload = upload,
                                .download = download,
                                .copy = copy,
                                .fill = fill};
static const tbk_stream_ops_t streams = {.struct_size = sizeof streams,
                                         .stream_create = new_stream,
                                         .stream_destroy = end_stream,
                                         .stream_query = ask_stream,
                                         .stream_synchronize = ask_stream,
                                         .device_synchronize = ask_device};
static const tbk_event_ops_t events = {.struct_size = sizeof events,
                                       .event_create = new_event,
                                       .event_destroy = end_event,
                                       .event_record = record,
                                       .event_wait = wait,
                                       .event_query = ask_event,
                                       .event_synchronize = ask_event};
static const tbk_callback_ops_t callbacks = {.struct_size = sizeof callbacks,
                                             .callback_enqueue = call};
static const tbk_peer_ops_t peers = {.struct_size = sizeof peers, .peer_copy = peer_copy};
static const tbk_async_memory_ops_t async_memories = {.struct_size = sizeof async_memories,
                                                      .async_alloc = alloc_in_order,
                                                      .async_free = free_in_order};
static const tbk_kernel_t kernel = {.struct_size = sizeof kernel, .launch = launch};

void bench_take_out(litmus_runner_t* r, bench_library_t* out) {
  *out = (bench_library_t){.core = r->core,
                           .stream = r->stream,
                           .event = r->event,
                           .callback = r->callback,
                           .peer = r->peer,
                           .async_memory = r->async_memory};
  memcpy(out->fill_kernels, r->fill_kernels, sizeof r->fill_kernels);
  memcpy(out->copy_kernels, r->copy_kernels, sizeof r->copy_kernels);
  memcpy(out->cells, r->cells, sizeof r->cells);
  memcpy(out->has_cell, r->has_cell, sizeof r->has_cell);
  memcpy(out->cell_device, r->cell_device, sizeof r->cell_device);
  r->core = &core;
  r->stream = &streams;
  r->event = &events;
  r->callback = &callbacks;
  r->peer = &peers;
  r->async_memory = &async_memories;
  for (int device = 0; device < LITMUS_DEVICES; device++)
    r->fill_kernels[device] = r->copy_kernels[device] = &kernel;
}

void bench_put_back(litmus_runner_t* r, const bench_library_t* library) {
  r->core = library->core;
  r->stream = library->stream;
  r->event = library->event;
  r->callback = library->callback;
  r->peer = library->peer;
  r->async_memory = library->async_memory;
  memcpy(r->fill_kernels, library->fill_kernels, sizeof r->fill_kernels);
  memcpy(r->copy_kernels, library->copy_kernels, sizeof r->copy_kernels);
  memcpy(r->cells, library->cells, sizeof r->cells);
  memcpy(r->has_cell, library->has_cell, sizeof r->has_cell);
  memcpy(r->cell_device, library->cell_device, sizeof r->cell_device);
}
