/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_capability.c: tables and properties that do not say what is so.
 */
#include <string.h>

#include "arguments.h"
#include "calls.h"

static void events_without_streams(wrap_t* wrap) {
  wrap->backend.stream = NULL;
  wrap->backend.callback = NULL;
  wrap->backend.async_memory = NULL;
  wrap->backend.fault = NULL;
}
static void callbacks_without_streams(wrap_t* wrap) {
  wrap->backend.stream = NULL;
  wrap->backend.event = NULL;
  wrap->backend.async_memory = NULL;
  wrap->backend.fault = NULL;
}
static void faults_without_streams(wrap_t* wrap) {
  wrap->backend.stream = NULL;
  wrap->backend.event = NULL;
  wrap->backend.callback = NULL;
  wrap->backend.async_memory = NULL;
}
static void no_stream_query(wrap_t* wrap) {
  wrap->stream.stream_query = NULL;
}
static void no_event_wait(wrap_t* wrap) {
  wrap->event.event_wait = NULL;
}
static void no_kernel_find(wrap_t* wrap) {
  wrap->kernel.kernel_find = NULL;
}
static void no_pinned_free(wrap_t* wrap) {
  wrap->pinned.pinned_free = NULL;
}

static tbk_status_t changed_dtypes(tbk_instance_t* self, int32_t device,
                                   tbk_device_properties_t* out_properties, tbk_error_t* error,
                                   uint64_t more, uint64_t less) {
  tbk_status_t status = PROPERTIES_INNER;
  const size_t end = offsetof(tbk_device_properties_t, dtypes) + sizeof(uint64_t);
  if (status == TBK_OK && out_properties->struct_size >= end)
    out_properties->dtypes = (out_properties->dtypes | more) & ~less;
  return status;
}
PROPERTIES(declares_dtypes_15_to_20) {
  return changed_dtypes(self, device, out_properties, error, UINT64_C(0x3f) << 15, 0);
}
PROPERTIES(hides_int16) {
  return changed_dtypes(self, device, out_properties, error, 0, 1u << TBK_INT16);
}
static bool any_dtype(const char* name, const void* arguments, int32_t dtype) {
  arguments_copy_t copy;
  bool found = false;
  if (!arguments_copy(&copy, name, arguments)) return false;
  for (int i = 0; i < copy.count; ++i)
    found = found || copy.tensors[i].dtype == dtype;
  return found;
}
LAUNCH(copy_refuses_int16) {
  if (any_dtype(KERNEL_NAME, arguments, TBK_INT16))
    return wrap_fail(error, TBK_UNSUPPORTED, "no INT16");
  return LAUNCH_INNER;
}
LAUNCH(copy_refuses_bool) {
  if (any_dtype(KERNEL_NAME, arguments, TBK_BOOL))
    return wrap_fail(error, TBK_UNSUPPORTED, "no BOOL");
  return LAUNCH_INNER;
}
LAUNCH(copy_crashes_on_int16) {
  if (any_dtype(KERNEL_NAME, arguments, TBK_INT16)) __builtin_trap();
  return LAUNCH_INNER;
}
static tbk_status_t half_work(tbk_instance_t* self, int32_t device, const char* name,
                              const void* arguments, tbk_stream_t* stream) {
  arguments_copy_t copy;
  if (!arguments_copy(&copy, name, arguments)) return TBK_OK;
  const tbk_tensor_t* out = arguments_output(&copy);
  return INNER(self, core)->fill(self, device, out->memory, 0, 0x3c, 1, stream, NULL);
}
LAUNCH(copy_half_refuses_int16) {
  if (!any_dtype(KERNEL_NAME, arguments, TBK_INT16)) return LAUNCH_INNER;
  ignore(half_work(self, device, KERNEL_NAME, arguments, stream));
  return wrap_fail(error, TBK_UNSUPPORTED, "no INT16");
}
LAUNCH(copy_accepts_undeclared) {
  tbk_status_t status = LAUNCH_INNER;
  return status == TBK_UNSUPPORTED ? TBK_OK : status;
}
LAUNCH(copy_refuses_undeclared_as_invalid) {
  tbk_status_t status = LAUNCH_INNER;
  return status == TBK_UNSUPPORTED ? TBK_INVALID : status;
}

PROPERTIES(declares_rank_2) {
  tbk_status_t status = PROPERTIES_INNER;
  const size_t end = offsetof(tbk_device_properties_t, max_rank) + sizeof(int32_t);
  if (status == TBK_OK && out_properties->struct_size >= end) out_properties->max_rank = 2;
  return status;
}
static bool above_rank_2(const char* name, const void* arguments) {
  arguments_copy_t copy;
  return arguments_copy(&copy, name, arguments) && arguments_output(&copy)->rank > 2;
}
LAUNCH(rank_3_half_computed) {
  if (!above_rank_2(KERNEL_NAME, arguments)) return LAUNCH_INNER;
  return half_work(self, device, KERNEL_NAME, arguments, stream);
}
LAUNCH(rank_3_is_lost) {
  return above_rank_2(KERNEL_NAME, arguments) ? TBK_OK : LAUNCH_INNER;
}
LAUNCH(rank_above_is_accepted) {
  tbk_status_t status = LAUNCH_INNER;
  return status == TBK_UNSUPPORTED ? TBK_OK : status;
}
LAUNCH(rank_3_refused_after_effect) {
  if (!above_rank_2(KERNEL_NAME, arguments)) return LAUNCH_INNER;
  ignore(half_work(self, device, KERNEL_NAME, arguments, stream));
  return wrap_fail(error, TBK_UNSUPPORTED, "rank 2 at the most");
}

/* Ten functions, which are not enough: copies wait for a stream that there is not. */
static void core_alone(wrap_t* wrap) {
  tbk_backend_t* backend = &wrap->backend;
  backend->struct_size = offsetof(tbk_backend_t, instance) + sizeof backend->instance;
  backend->stream = NULL;
  backend->event = NULL;
  backend->callback = NULL;
  backend->pinned = NULL;
  backend->peer = NULL;
  backend->async_memory = NULL;
  backend->kernel = NULL;
  backend->random = NULL;
  backend->fault = NULL;
}
UPLOAD(upload_wants_stream) {
  if (stream == NULL && size_bytes > 0) return wrap_fail(error, TBK_UNSUPPORTED, "no stream");
  return UPLOAD_INNER;
}
COPY(copy_wants_stream) {
  return stream == NULL ? TBK_OK : COPY_INNER;
}

static void streams_cut_short(wrap_t* wrap) {
  wrap->stream.struct_size = offsetof(tbk_stream_ops_t, device_synchronize);
}
static void events_of_70000_bytes(wrap_t* wrap) {
  wrap->event.struct_size = 70000;
}
static void kernels_without_size(wrap_t* wrap) {
  wrap->kernel.struct_size = 0;
}

#define HONEST(name, clause, operation, narrow, note, op, install, ...) \
  { name, clause, MUTANT, operation, narrow, note, {__VA_ARGS__}, op, 0, install, 0 }

extern const mutant_t mutants_capability[];
const mutant_t mutants_capability[] = {
    INSTALL_ROW(events_without_streams, "CAP-001", ABI, BROAD, "an event table, no stream table"),
    INSTALL_ROW(callbacks_without_streams, "CAP-001", ABI, NARROW, "callbacks, no streams"),
    INSTALL_ROW(faults_without_streams, "CAP-001", ABI, NARROW, "faults, no streams"),
    INSTALL_ROW(no_stream_query, "CAP-002", ABI, BROAD, "stream_query is NULL"),
    INSTALL_ROW(no_event_wait, "CAP-002", ABI, BROAD, "event_wait is NULL"),
    INSTALL_ROW(no_kernel_find, "CAP-002", ABI, NARROW, "kernel_find is NULL"),
    INSTALL_ROW(no_pinned_free, "CAP-002", ABI, NARROW, "pinned_free is NULL"),
    HONEST("declares_dtypes_it_lacks", "CAP-004", ABI, BROAD, "dtypes 15 to 20", NULL, NULL,
           PATCH(core.device_properties, declares_dtypes_15_to_20)),
    HONEST("copy_refuses_int16", "CAP-004", RETURN, NARROW, "INT16 is declared and refused",
           "copy_", NULL, PATCH(launching.launch, copy_refuses_int16)),
    HONEST("copy_refuses_bool", "CAP-004", RETURN, NARROW, "BOOL is declared and refused", "copy_",
           NULL, PATCH(launching.launch, copy_refuses_bool)),
    HONEST("copy_accepts_undeclared", "CAP-005", RETURN, BROAD, "OK, no effect", "copy_", NULL,
           PATCH(launching.launch, copy_accepts_undeclared)),
    HONEST("copy_refuses_undeclared_as_invalid", "CAP-005", RETURN, BROAD, "INVALID", "copy_", NULL,
           PATCH(launching.launch, copy_refuses_undeclared_as_invalid)),
    HONEST("hidden_int16_crashes", "CAP-005", LIFETIME, NARROW, "INT16 is not declared and crashes",
           "copy_", NULL, PATCH(core.device_properties, hides_int16),
           PATCH(launching.launch, copy_crashes_on_int16)),
    HONEST("hidden_int16_half_works", "CAP-005", STATE, NARROW,
           "INT16 is not declared, refused, and has an effect", "copy_", NULL,
           PATCH(core.device_properties, hides_int16),
           PATCH(launching.launch, copy_half_refuses_int16)),
    HONEST("rank_3_half_computed", "CAP-006", VALUE, BROAD, "OK, and one byte", NULL, NULL,
           PATCH(core.device_properties, declares_rank_2),
           PATCH(launching.launch, rank_3_half_computed)),
    HONEST("rank_3_is_lost", "CAP-006", VALUE, BROAD, "OK, no effect", NULL, NULL,
           PATCH(core.device_properties, declares_rank_2), PATCH(launching.launch, rank_3_is_lost)),
    HONEST("rank_above_is_accepted", "CAP-006", RETURN, NARROW,
           "OK, no effect, above the real limit", NULL, NULL,
           PATCH(launching.launch, rank_above_is_accepted)),
    HONEST("rank_3_refused_after_effect", "CAP-006", STATE, NARROW, "refused, and one byte", NULL,
           NULL, PATCH(core.device_properties, declares_rank_2),
           PATCH(launching.launch, rank_3_refused_after_effect)),
    HONEST("core_alone_uploads_nothing", "CAP-007", STATE, BROAD, "uploads want a stream", NULL,
           core_alone, PATCH(core.upload, upload_wants_stream)),
    HONEST("core_alone_copies_nothing", "CAP-007", STATE, NARROW, "copies want a stream", NULL,
           core_alone, PATCH(core.copy, copy_wants_stream)),
    INSTALL_ROW(streams_cut_short, "CAP-008", ABI, BROAD, "without device_synchronize"),
    INSTALL_ROW(events_of_70000_bytes, "CAP-008", ABI, BROAD, "70000 bytes"),
    INSTALL_ROW(kernels_without_size, "CAP-008", ABI, NARROW, "0 bytes"),
    {0}};
