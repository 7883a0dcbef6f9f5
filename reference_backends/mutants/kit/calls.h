/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * calls.h: the signature of each entry once, so that a mutant is only what it changes. NAME(f)
 * begins a function f with the parameters of the entry under the header's own names; NAME_INNER
 * calls the reference's entry with those names, as they are then.
 */
#ifndef TBK_MUTANTS_CALLS_H
#define TBK_MUTANTS_CALLS_H

#include "wrap.h"

#define DEVICE_COUNT(f) \
  static tbk_status_t f(tbk_instance_t* self, int32_t* out_count, tbk_error_t* error)
#define DEVICE_COUNT_INNER INNER(self, core)->device_count(self, out_count, error)

#define PROPERTIES(f)                                         \
  static tbk_status_t f(tbk_instance_t* self, int32_t device, \
                        tbk_device_properties_t* out_properties, tbk_error_t* error)
#define PROPERTIES_INNER INNER(self, core)->device_properties(self, device, out_properties, error)

#define OPEN(f) static tbk_status_t f(tbk_instance_t* self, int32_t device, tbk_error_t* error)
#define OPEN_INNER INNER(self, core)->device_open(self, device, error)
#define CLOSE(f) OPEN(f)
#define CLOSE_INNER INNER(self, core)->device_close(self, device, error)

#define ALLOC(f)                                                                   \
  static tbk_status_t f(tbk_instance_t* self, int32_t device, uint64_t size_bytes, \
                        tbk_memory_t* out_memory, tbk_error_t* error)
#define ALLOC_INNER INNER(self, core)->memory_alloc(self, device, size_bytes, out_memory, error)

#define FREE(f)                                                                    \
  static tbk_status_t f(tbk_instance_t* self, int32_t device, tbk_memory_t memory, \
                        tbk_error_t* error)
#define FREE_INNER INNER(self, core)->memory_free(self, device, memory, error)

#define UPLOAD(f)                                                                  \
  static tbk_status_t f(tbk_instance_t* self, int32_t device, tbk_memory_t memory, \
                        uint64_t offset, const void* source, uint64_t size_bytes,  \
                        tbk_stream_t* stream, tbk_error_t* error)
#define UPLOAD_INNER \
  INNER(self, core)->upload(self, device, memory, offset, source, size_bytes, stream, error)

#define DOWNLOAD(f)                                                                \
  static tbk_status_t f(tbk_instance_t* self, int32_t device, void* destination,   \
                        tbk_memory_t memory, uint64_t offset, uint64_t size_bytes, \
                        tbk_stream_t* stream, tbk_error_t* error)
#define DOWNLOAD_INNER \
  INNER(self, core)->download(self, device, destination, memory, offset, size_bytes, stream, error)

#define COPY(f)                                                                                   \
  static tbk_status_t f(tbk_instance_t* self, int32_t device, tbk_memory_t destination,           \
                        uint64_t destination_offset, tbk_memory_t source, uint64_t source_offset, \
                        uint64_t size_bytes, tbk_stream_t* stream, tbk_error_t* error)
#define COPY_INNER                                                                             \
  INNER(self, core)                                                                            \
      ->copy(self, device, destination, destination_offset, source, source_offset, size_bytes, \
             stream, error)

#define FILL(f)                                                                                    \
  static tbk_status_t f(tbk_instance_t* self, int32_t device, tbk_memory_t memory,                 \
                        uint64_t offset, uint8_t value, uint64_t size_bytes, tbk_stream_t* stream, \
                        tbk_error_t* error)
#define FILL_INNER \
  INNER(self, core)->fill(self, device, memory, offset, value, size_bytes, stream, error)

#define MEMORY_INFO(f)                                                                  \
  static tbk_status_t f(tbk_instance_t* self, int32_t device, uint64_t* out_free_bytes, \
                        uint64_t* out_total_bytes, tbk_error_t* error)
#define MEMORY_INFO_INNER \
  INNER(self, core)->memory_info(self, device, out_free_bytes, out_total_bytes, error)

#define STREAM_CREATE(f)                                                        \
  static tbk_status_t f(tbk_instance_t* self, int32_t device, int32_t priority, \
                        tbk_stream_t** out_stream, tbk_error_t* error)
#define STREAM_CREATE_INNER \
  INNER(self, stream)->stream_create(self, device, priority, out_stream, error)

#define STREAM_DESTROY(f) static void f(tbk_instance_t* self, tbk_stream_t* stream)
#define STREAM_DESTROY_INNER INNER(self, stream)->stream_destroy(self, stream)

#define STREAM_QUERY(f) \
  static tbk_status_t f(tbk_instance_t* self, tbk_stream_t* stream, tbk_error_t* error)
#define STREAM_QUERY_INNER INNER(self, stream)->stream_query(self, stream, error)
#define STREAM_SYNCHRONIZE(f) STREAM_QUERY(f)
#define STREAM_SYNCHRONIZE_INNER INNER(self, stream)->stream_synchronize(self, stream, error)
#define DEVICE_SYNCHRONIZE(f) OPEN(f)
#define DEVICE_SYNCHRONIZE_INNER INNER(self, stream)->device_synchronize(self, device, error)

#define NATIVE_HANDLE(f)                                                               \
  static tbk_status_t f(tbk_instance_t* self, tbk_stream_t* stream, void** out_native, \
                        tbk_error_t* error)
#define NATIVE_HANDLE_INNER \
  INNER(self, stream)->stream_native_handle(self, stream, out_native, error)
#define FROM_NATIVE(f)                                                      \
  static tbk_status_t f(tbk_instance_t* self, int32_t device, void* native, \
                        tbk_stream_t** out_stream, tbk_error_t* error)
#define FROM_NATIVE_INNER \
  INNER(self, stream)->stream_from_native(self, device, native, out_stream, error)

#define EVENT_CREATE(f)                                                       \
  static tbk_status_t f(tbk_instance_t* self, int32_t device, uint32_t flags, \
                        tbk_event_t** out_event, tbk_error_t* error)
#define EVENT_CREATE_INNER INNER(self, event)->event_create(self, device, flags, out_event, error)
#define EVENT_DESTROY(f) static void f(tbk_instance_t* self, tbk_event_t* event)
#define EVENT_DESTROY_INNER INNER(self, event)->event_destroy(self, event)
#define EVENT_RECORD(f)                                                                 \
  static tbk_status_t f(tbk_instance_t* self, tbk_event_t* event, tbk_stream_t* stream, \
                        tbk_error_t* error)
#define EVENT_RECORD_INNER INNER(self, event)->event_record(self, event, stream, error)
#define EVENT_WAIT(f)                                                                   \
  static tbk_status_t f(tbk_instance_t* self, tbk_stream_t* stream, tbk_event_t* event, \
                        tbk_error_t* error)
#define EVENT_WAIT_INNER INNER(self, event)->event_wait(self, stream, event, error)
#define EVENT_QUERY(f) \
  static tbk_status_t f(tbk_instance_t* self, tbk_event_t* event, tbk_error_t* error)
#define EVENT_QUERY_INNER INNER(self, event)->event_query(self, event, error)
#define EVENT_SYNCHRONIZE(f) EVENT_QUERY(f)
#define EVENT_SYNCHRONIZE_INNER INNER(self, event)->event_synchronize(self, event, error)
#define EVENT_ELAPSED(f)                                                            \
  static tbk_status_t f(tbk_instance_t* self, tbk_event_t* start, tbk_event_t* end, \
                        double* out_ms, tbk_error_t* error)
#define EVENT_ELAPSED_INNER INNER(self, event)->event_elapsed(self, start, end, out_ms, error)

#define CALLBACK(f)                                                                           \
  static tbk_status_t f(tbk_instance_t* self, tbk_stream_t* stream, tbk_callback_fn function, \
                        void* argument, tbk_error_t* error)
#define CALLBACK_INNER \
  INNER(self, callback)->callback_enqueue(self, stream, function, argument, error)

#define PINNED_ALLOC(f)                                                            \
  static tbk_status_t f(tbk_instance_t* self, int32_t device, uint64_t size_bytes, \
                        void** out_pointer, tbk_error_t* error)
#define PINNED_ALLOC_INNER \
  INNER(self, pinned)->pinned_alloc(self, device, size_bytes, out_pointer, error)
#define PINNED_FREE(f) static void f(tbk_instance_t* self, void* pointer)
#define PINNED_FREE_INNER INNER(self, pinned)->pinned_free(self, pointer)

#define CAN_ACCESS(f)                                                                         \
  static tbk_status_t f(tbk_instance_t* self, int32_t device, int32_t peer, int32_t* out_can, \
                        tbk_error_t* error)
#define CAN_ACCESS_INNER INNER(self, peer)->peer_can_access(self, device, peer, out_can, error)
#define PEER_COPY(f)                                                                        \
  static tbk_status_t f(tbk_instance_t* self, int32_t destination_device,                   \
                        tbk_memory_t destination, uint64_t destination_offset,              \
                        int32_t source_device, tbk_memory_t source, uint64_t source_offset, \
                        uint64_t size_bytes, tbk_stream_t* stream, tbk_error_t* error)
#define PEER_COPY_INNER                                                                     \
  INNER(self, peer)                                                                         \
      ->peer_copy(self, destination_device, destination, destination_offset, source_device, \
                  source, source_offset, size_bytes, stream, error)

#define ASYNC_ALLOC(f)                                                                   \
  static tbk_status_t f(tbk_instance_t* self, tbk_stream_t* stream, uint64_t size_bytes, \
                        tbk_memory_t* out_memory, tbk_error_t* error)
#define ASYNC_ALLOC_INNER \
  INNER(self, async_memory)->async_alloc(self, stream, size_bytes, out_memory, error)
#define ASYNC_FREE(f)                                                                    \
  static tbk_status_t f(tbk_instance_t* self, tbk_stream_t* stream, tbk_memory_t memory, \
                        tbk_error_t* error)
#define ASYNC_FREE_INNER INNER(self, async_memory)->async_free(self, stream, memory, error)

#define KERNEL_FIND(f)                                                                 \
  static const tbk_kernel_t* f(tbk_instance_t* self, int32_t device, const char* name, \
                               uint32_t version)
#define KERNEL_FIND_INNER INNER(self, kernel)->kernel_find(self, device, name, version)

/* `kernel` is the wrapped one; the inner call takes the reference's own. */
#define LAUNCH(f)                                                                         \
  static tbk_status_t f(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel, \
                        const void* arguments, tbk_stream_t* stream, tbk_error_t* error)
#define KERNEL_INNER (((const kernel_copy_t*)kernel)->inner)
#define KERNEL_NAME (((const kernel_copy_t*)kernel)->name)
#define LAUNCH_INNER KERNEL_INNER->launch(self, device, KERNEL_INNER, arguments, stream, error)
#define PREPARE(f)                                                                        \
  static tbk_status_t f(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel, \
                        const void* arguments, tbk_plan_t** out_plan,                     \
                        uint64_t* out_workspace_bytes, tbk_error_t* error)
#define PREPARE_INNER \
  KERNEL_INNER->prepare(self, device, KERNEL_INNER, arguments, out_plan, out_workspace_bytes, error)
#define LAUNCH_PLAN(f)                                                                            \
  static tbk_status_t f(tbk_instance_t* self, int32_t device, const tbk_plan_t* plan,             \
                        const void* arguments, tbk_memory_t workspace, uint64_t workspace_offset, \
                        tbk_stream_t* stream, tbk_error_t* error)
#define LAUNCH_PLAN_INNER                                                                      \
  wrap_of(self)->inner_launch_plan(self, device, plan, arguments, workspace, workspace_offset, \
                                   stream, error)
#define PLAN_DESTROY(f) static void f(tbk_instance_t* self, tbk_plan_t* plan)
#define PLAN_DESTROY_INNER wrap_of(self)->inner_plan_destroy(self, plan)

#define RANDOM_BITS(f)                                                                          \
  static tbk_status_t f(tbk_instance_t* self, int32_t device, const tbk_generator_t* generator, \
                        tbk_memory_t memory, uint64_t offset, uint64_t count,                   \
                        tbk_stream_t* stream, tbk_error_t* error)
#define RANDOM_BITS_INNER \
  INNER(self, random)->random_bits(self, device, generator, memory, offset, count, stream, error)

#define FAULT(f)                                                                  \
  static tbk_status_t f(tbk_instance_t* self, tbk_stream_t* stream, int32_t kind, \
                        tbk_error_t* error)
#define FAULT_INNER INNER(self, fault)->fault_enqueue(self, stream, kind, error)

#endif /* TBK_MUTANTS_CALLS_H */
