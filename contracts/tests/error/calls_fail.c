/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include <tbk/tbk_operators.h>

#include "calls.h"

/* Out parameters hold something that no call would give. */
static int nowhere;
#define NOWHERE ((void*)&nowhere)

#define CALL(name) \
  static tbk_status_t name(tbk_fixture_t* fx, call_context_t* context, tbk_error_t* error)

static void untouched(call_context_t* context, bool held) {
  if (!held) context->touched = true;
}

/* ------------------------------------------------------------------------------------ core -- */

CALL(count_without_out) {
  (void)context;
  return fx->core->device_count(fx->self, NULL, error);
}

static tbk_status_t properties_of(tbk_fixture_t* fx, call_context_t* context, int32_t device,
                                  size_t size, tbk_error_t* error) {
  tbk_device_properties_t properties;
  tbk_device_properties_t kept;
  memset(&properties, 0x5A, sizeof properties);
  properties.struct_size = size;
  kept = properties;
  tbk_status_t status = fx->core->device_properties(fx->self, device, &properties, error);
  untouched(context, memcmp(&kept, &properties, sizeof kept) == 0);
  return status;
}

CALL(properties_of_no_device) {
  return properties_of(fx, context, fx->device_count, sizeof(tbk_device_properties_t), error);
}

CALL(properties_of_device_below_0) {
  return properties_of(fx, context, -1, sizeof(tbk_device_properties_t), error);
}

CALL(properties_of_size_0) {
  return properties_of(fx, context, fx->device, 0, error);
}

CALL(open_what_is_open) {
  (void)context;
  return fx->core->device_open(fx->self, fx->device, error);
}

CALL(open_no_device) {
  (void)context;
  return fx->core->device_open(fx->self, fx->device_count, error);
}

CALL(alloc_without_out) {
  return fx->core->memory_alloc(fx->self, fx->device, context->bytes, NULL, error);
}

CALL(alloc_of_no_device) {
  tbk_memory_t memory = 0x5A5A;
  tbk_status_t status =
      fx->core->memory_alloc(fx->self, fx->device_count, context->bytes, &memory, error);
  untouched(context, memory == 0x5A5A);
  return status;
}

CALL(download_of_no_device) {
  tbk_status_t status = fx->core->download(fx->self, fx->device_count, context->host,
                                           context->memory, 0, context->bytes, NULL, error);
  for (uint64_t i = 0; i < context->bytes; ++i)
    untouched(context, context->host[i] == 0);
  return status;
}

CALL(alloc_too_much) {
  tbk_memory_t memory = 0x5A5A;
  tbk_status_t status =
      fx->core->memory_alloc(fx->self, fx->device, UINT64_C(1) << 62, &memory, error);
  untouched(context, memory == 0x5A5A);
  return status;
}

CALL(info_without_out) {
  uint64_t bytes = 0x5A;
  if (!TBK_HAS(fx->core, tbk_core_t, memory_info)) return CALL_ABSENT;
  tbk_status_t status = fx->core->memory_info(fx->self, fx->device, &bytes, NULL, error);
  untouched(context, bytes == 0x5A);
  return status;
}

/* -------------------------------------------------------------------- streams and callbacks -- */

CALL(stream_without_out) {
  (void)context;
  if (fx->stream == NULL) return CALL_ABSENT;
  return fx->stream->stream_create(fx->self, fx->device, 0, NULL, error);
}

CALL(stream_of_no_device) {
  tbk_stream_t* stream = NOWHERE;
  if (fx->stream == NULL) return CALL_ABSENT;
  tbk_status_t status = fx->stream->stream_create(fx->self, fx->device_count, 0, &stream, error);
  untouched(context, stream == NOWHERE);
  return status;
}

CALL(query_no_stream) {
  (void)context;
  return fx->stream == NULL ? CALL_ABSENT : fx->stream->stream_query(fx->self, NULL, error);
}

CALL(synchronize_no_stream) {
  (void)context;
  return fx->stream == NULL ? CALL_ABSENT : fx->stream->stream_synchronize(fx->self, NULL, error);
}

CALL(native_handle_of_no_stream) {
  void* native = NOWHERE;
  if (!TBK_HAS(fx->stream, tbk_stream_ops_t, stream_native_handle)) return CALL_ABSENT;
  tbk_status_t status = fx->stream->stream_native_handle(fx->self, NULL, &native, error);
  untouched(context, native == NOWHERE);
  return status;
}

static void do_nothing(void* argument) {
  (void)argument;
}

CALL(callback_without_stream) {
  if (fx->callback == NULL) return CALL_ABSENT;
  return fx->callback->callback_enqueue(fx->self, NULL, do_nothing, context, error);
}

CALL(callback_without_function) {
  if (fx->callback == NULL) return CALL_ABSENT;
  return fx->callback->callback_enqueue(fx->self, context->stream, NULL, context, error);
}

/* ---------------------------------------------------------------------------------- events -- */

CALL(event_with_unknown_flags) {
  tbk_event_t* event = NOWHERE;
  if (fx->event == NULL) return CALL_ABSENT;
  tbk_status_t status =
      fx->event->event_create(fx->self, fx->device, UINT32_C(1) << 31, &event, error);
  untouched(context, event == NOWHERE);
  return status;
}

CALL(event_of_no_device) {
  tbk_event_t* event = NOWHERE;
  if (fx->event == NULL) return CALL_ABSENT;
  tbk_status_t status = fx->event->event_create(fx->self, fx->device_count, 0, &event, error);
  untouched(context, event == NOWHERE);
  return status;
}

CALL(record_no_event) {
  if (fx->event == NULL) return CALL_ABSENT;
  return fx->event->event_record(fx->self, NULL, context->stream, error);
}

CALL(record_without_stream) {
  if (fx->event == NULL) return CALL_ABSENT;
  tbk_status_t status = fx->event->event_record(fx->self, context->fresh, NULL, error);
  untouched(context, fx->event->event_query(fx->self, context->fresh, NULL) == TBK_OK);
  return status;
}

CALL(wait_for_no_event) {
  if (fx->event == NULL) return CALL_ABSENT;
  return fx->event->event_wait(fx->self, context->stream, NULL, error);
}

CALL(query_no_event) {
  (void)context;
  return fx->event == NULL ? CALL_ABSENT : fx->event->event_query(fx->self, NULL, error);
}

CALL(synchronize_no_event) {
  (void)context;
  return fx->event == NULL ? CALL_ABSENT : fx->event->event_synchronize(fx->self, NULL, error);
}

static tbk_status_t elapsed(tbk_fixture_t* fx, call_context_t* context, tbk_event_t* end,
                            tbk_error_t* error) {
  double ms = -1.5;
  if (!TBK_HAS(fx->event, tbk_event_ops_t, event_elapsed)) return CALL_ABSENT;
  tbk_status_t status = fx->event->event_elapsed(fx->self, context->event, end, &ms, error);
  untouched(context, ms == -1.5);
  return status;
}

CALL(elapsed_to_unrecorded) {
  return elapsed(fx, context, context->fresh, error);
}

CALL(elapsed_to_no_event) {
  return elapsed(fx, context, NULL, error);
}

/* ------------------------------------------------------------------------------- the others -- */

CALL(pinned_without_out) {
  if (fx->pinned == NULL) return CALL_ABSENT;
  return fx->pinned->pinned_alloc(fx->self, fx->device, context->bytes, NULL, error);
}

CALL(pinned_of_no_device) {
  void* pointer = NOWHERE;
  if (fx->pinned == NULL) return CALL_ABSENT;
  tbk_status_t status =
      fx->pinned->pinned_alloc(fx->self, fx->device_count, context->bytes, &pointer, error);
  untouched(context, pointer == NOWHERE);
  return status;
}

CALL(peer_of_no_device) {
  int32_t can = 0x5A;
  if (fx->peer == NULL) return CALL_ABSENT;
  tbk_status_t status =
      fx->peer->peer_can_access(fx->self, fx->device, fx->device_count, &can, error);
  untouched(context, can == 0x5A);
  return status;
}

CALL(async_alloc_without_stream) {
  tbk_memory_t memory = 0x5A5A;
  if (fx->async_memory == NULL) return CALL_ABSENT;
  tbk_status_t status =
      fx->async_memory->async_alloc(fx->self, NULL, context->bytes, &memory, error);
  untouched(context, memory == 0x5A5A);
  return status;
}

CALL(async_free_without_stream) {
  (void)context;
  if (fx->async_memory == NULL) return CALL_ABSENT;
  return fx->async_memory->async_free(fx->self, NULL, 0, error);
}

CALL(random_without_generator) {
  if (fx->random == NULL) return CALL_ABSENT;
  return fx->random->random_bits(fx->self, fx->device, NULL, context->memory, 0, context->bytes / 4,
                                 NULL, error);
}

CALL(random_with_odd_offset) {
  tbk_generator_t generator = {.seed = 1, .offset = 1};
  if (fx->random == NULL) return CALL_ABSENT;
  return fx->random->random_bits(fx->self, fx->device, &generator, context->memory, 0,
                                 context->bytes / 4, NULL, error);
}

CALL(launch_with_size_0) {
  (void)context;
  if (fx->kernel == NULL) return CALL_ABSENT;
  const tbk_kernel_t* kernel = fx->kernel->kernel_find(fx->self, fx->device, TBK_NAME_copy_, 1);
  tbk_args_copy__t arguments = {.struct_size = 0};
  if (kernel == NULL) return CALL_ABSENT;
  return kernel->launch(fx->self, fx->device, kernel, &arguments, NULL, error);
}

CALL(fault_of_no_kind) {
  if (fx->fault == NULL) return CALL_ABSENT;
  return fx->fault->fault_enqueue(fx->self, context->stream, 99, error);
}

/* clang-format off */
const call_row_t calls_that_fail[] = {
    {"device_count without out_count",           TBK_INVALID,            count_without_out},
    {"device_properties of device `count`",      TBK_INVALID,            properties_of_no_device},
    {"device_properties of device -1",           TBK_INVALID,            properties_of_device_below_0},
    {"device_properties with struct_size 0",     TBK_INVALID,            properties_of_size_0},
    {"device_open of an open device",            TBK_INVALID_STATE,      open_what_is_open},
    {"device_open of device `count`",            TBK_INVALID,            open_no_device},
    {"memory_alloc without out_memory",          TBK_INVALID,            alloc_without_out},
    {"memory_alloc of device `count`",           CALL_INVALID_OR_STATE,  alloc_of_no_device},
    {"download from device `count`",             CALL_INVALID_OR_STATE,  download_of_no_device},
    {"memory_alloc of 2^62 bytes",               TBK_OUT_OF_MEMORY,      alloc_too_much},
    {"memory_info without out_total_bytes",      TBK_INVALID,            info_without_out},
    {"stream_create without out_stream",         TBK_INVALID,            stream_without_out},
    {"stream_create of device `count`",          CALL_INVALID_OR_STATE,  stream_of_no_device},
    {"stream_query of NULL",                     TBK_INVALID,            query_no_stream},
    {"stream_synchronize of NULL",               TBK_INVALID,            synchronize_no_stream},
    {"stream_native_handle of NULL",             TBK_INVALID,            native_handle_of_no_stream},
    {"callback_enqueue without a stream",        TBK_INVALID,            callback_without_stream},
    {"callback_enqueue without a function",      TBK_INVALID,            callback_without_function},
    {"event_create with unknown flags",          TBK_INVALID,            event_with_unknown_flags},
    {"event_create of device `count`",           CALL_INVALID_OR_STATE,  event_of_no_device},
    {"event_record of NULL",                     TBK_INVALID,            record_no_event},
    {"event_record without a stream",            TBK_INVALID,            record_without_stream},
    {"event_wait for NULL",                      TBK_INVALID,            wait_for_no_event},
    {"event_query of NULL",                      TBK_INVALID,            query_no_event},
    {"event_synchronize of NULL",                TBK_INVALID,            synchronize_no_event},
    {"event_elapsed to an unrecorded event",     TBK_INVALID_STATE,      elapsed_to_unrecorded},
    {"event_elapsed to NULL",                    TBK_INVALID,            elapsed_to_no_event},
    {"pinned_alloc without out_pointer",         TBK_INVALID,            pinned_without_out},
    {"pinned_alloc of device `count`",           CALL_INVALID_OR_STATE,  pinned_of_no_device},
    {"peer_can_access of device `count`",        TBK_INVALID,            peer_of_no_device},
    {"async_alloc without a stream",             TBK_INVALID,            async_alloc_without_stream},
    {"async_free without a stream",              TBK_INVALID,            async_free_without_stream},
    {"random_bits without a generator",          TBK_INVALID,            random_without_generator},
    {"random_bits with an offset of 1",          TBK_INVALID,            random_with_odd_offset},
    {"launch of copy_ with struct_size 0",       TBK_INVALID,            launch_with_size_0},
    {"fault_enqueue of an unknown kind",         TBK_INVALID,            fault_of_no_kind},
};
/* clang-format on */
const size_t calls_that_fail_count = sizeof calls_that_fail / sizeof *calls_that_fail;
