/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * calls.h: the signatures of the entries, from the map, so that a mutant is only what it changes.
 * SIGNATURE(function, f) begins a function f with the parameters of the entry under the header's own
 * names; CALL_INNER(table, function) calls the reference's entry with those names, as they are then.
 * The rest is short names for these: NAME(f) and NAME_INNER.
 */
#ifndef TBK_MUTANTS_CALLS_H
#define TBK_MUTANTS_CALLS_H

#include "wrap.h"

#define SIGNATURE(function, f) static TBK_RETURNS_##function f TBK_PARAMETERS_##function
#define CALL_INNER(table, function) INNER(self, table)->function TBK_ARGUMENTS_##function

#define DEVICE_COUNT(f) SIGNATURE(device_count, f)
#define DEVICE_COUNT_INNER CALL_INNER(core, device_count)
#define PROPERTIES(f) SIGNATURE(device_properties, f)
#define PROPERTIES_INNER CALL_INNER(core, device_properties)
#define OPEN(f) SIGNATURE(device_open, f)
#define OPEN_INNER CALL_INNER(core, device_open)
#define CLOSE(f) SIGNATURE(device_close, f)
#define CLOSE_INNER CALL_INNER(core, device_close)
#define ALLOC(f) SIGNATURE(memory_alloc, f)
#define ALLOC_INNER CALL_INNER(core, memory_alloc)
#define FREE(f) SIGNATURE(memory_free, f)
#define FREE_INNER CALL_INNER(core, memory_free)
#define UPLOAD(f) SIGNATURE(upload, f)
#define UPLOAD_INNER CALL_INNER(core, upload)
#define DOWNLOAD(f) SIGNATURE(download, f)
#define DOWNLOAD_INNER CALL_INNER(core, download)
#define COPY(f) SIGNATURE(copy, f)
#define COPY_INNER CALL_INNER(core, copy)
#define FILL(f) SIGNATURE(fill, f)
#define FILL_INNER CALL_INNER(core, fill)
#define MEMORY_INFO(f) SIGNATURE(memory_info, f)
#define MEMORY_INFO_INNER CALL_INNER(core, memory_info)

#define STREAM_CREATE(f) SIGNATURE(stream_create, f)
#define STREAM_CREATE_INNER CALL_INNER(stream, stream_create)
#define STREAM_DESTROY(f) SIGNATURE(stream_destroy, f)
#define STREAM_DESTROY_INNER CALL_INNER(stream, stream_destroy)
#define STREAM_QUERY(f) SIGNATURE(stream_query, f)
#define STREAM_QUERY_INNER CALL_INNER(stream, stream_query)
#define STREAM_SYNCHRONIZE(f) SIGNATURE(stream_synchronize, f)
#define STREAM_SYNCHRONIZE_INNER CALL_INNER(stream, stream_synchronize)
#define DEVICE_SYNCHRONIZE(f) SIGNATURE(device_synchronize, f)
#define DEVICE_SYNCHRONIZE_INNER CALL_INNER(stream, device_synchronize)
#define NATIVE_HANDLE(f) SIGNATURE(stream_native_handle, f)
#define NATIVE_HANDLE_INNER CALL_INNER(stream, stream_native_handle)
#define FROM_NATIVE(f) SIGNATURE(stream_from_native, f)
#define FROM_NATIVE_INNER CALL_INNER(stream, stream_from_native)

#define EVENT_CREATE(f) SIGNATURE(event_create, f)
#define EVENT_CREATE_INNER CALL_INNER(event, event_create)
#define EVENT_DESTROY(f) SIGNATURE(event_destroy, f)
#define EVENT_DESTROY_INNER CALL_INNER(event, event_destroy)
#define EVENT_RECORD(f) SIGNATURE(event_record, f)
#define EVENT_RECORD_INNER CALL_INNER(event, event_record)
#define EVENT_WAIT(f) SIGNATURE(event_wait, f)
#define EVENT_WAIT_INNER CALL_INNER(event, event_wait)
#define EVENT_QUERY(f) SIGNATURE(event_query, f)
#define EVENT_QUERY_INNER CALL_INNER(event, event_query)
#define EVENT_SYNCHRONIZE(f) SIGNATURE(event_synchronize, f)
#define EVENT_SYNCHRONIZE_INNER CALL_INNER(event, event_synchronize)
#define EVENT_ELAPSED(f) SIGNATURE(event_elapsed, f)
#define EVENT_ELAPSED_INNER CALL_INNER(event, event_elapsed)

#define CALLBACK(f) SIGNATURE(callback_enqueue, f)
#define CALLBACK_INNER CALL_INNER(callback, callback_enqueue)

#define PINNED_ALLOC(f) SIGNATURE(pinned_alloc, f)
#define PINNED_ALLOC_INNER CALL_INNER(pinned, pinned_alloc)
#define PINNED_FREE(f) SIGNATURE(pinned_free, f)
#define PINNED_FREE_INNER CALL_INNER(pinned, pinned_free)

#define CAN_ACCESS(f) SIGNATURE(peer_can_access, f)
#define CAN_ACCESS_INNER CALL_INNER(peer, peer_can_access)
#define PEER_COPY(f) SIGNATURE(peer_copy, f)
#define PEER_COPY_INNER CALL_INNER(peer, peer_copy)

#define ASYNC_ALLOC(f) SIGNATURE(async_alloc, f)
#define ASYNC_ALLOC_INNER CALL_INNER(async_memory, async_alloc)
#define ASYNC_FREE(f) SIGNATURE(async_free, f)
#define ASYNC_FREE_INNER CALL_INNER(async_memory, async_free)

#define KERNEL_FIND(f) SIGNATURE(kernel_find, f)
#define KERNEL_FIND_INNER CALL_INNER(kernel, kernel_find)

#define RANDOM_BITS(f) SIGNATURE(random_bits, f)
#define RANDOM_BITS_INNER CALL_INNER(random, random_bits)

#define FAULT(f) SIGNATURE(fault_enqueue, f)
#define FAULT_INNER CALL_INNER(fault, fault_enqueue)

/* `kernel` is the wrapped one; the inner call takes the reference's own. */
#define KERNEL_INNER (((const kernel_copy_t*)kernel)->inner)
#define KERNEL_NAME (((const kernel_copy_t*)kernel)->name)
#define LAUNCH(f) SIGNATURE(launch, f)
#define LAUNCH_INNER KERNEL_INNER->launch(self, device, KERNEL_INNER, arguments, stream, error)
#define PREPARE(f) SIGNATURE(prepare, f)
#define PREPARE_INNER \
  KERNEL_INNER->prepare(self, device, KERNEL_INNER, arguments, out_plan, out_workspace_bytes, error)
#define LAUNCH_PLAN(f) SIGNATURE(launch_plan, f)
#define LAUNCH_PLAN_INNER wrap_of(self)->inner_launch_plan TBK_ARGUMENTS_launch_plan
#define PLAN_DESTROY(f) SIGNATURE(plan_destroy, f)
#define PLAN_DESTROY_INNER wrap_of(self)->inner_plan_destroy TBK_ARGUMENTS_plan_destroy

#endif /* TBK_MUTANTS_CALLS_H */
