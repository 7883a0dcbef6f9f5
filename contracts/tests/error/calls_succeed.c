/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include <tbk/tbk_operators.h>

#include "calls.h"

#define CALL(name) \
  static tbk_status_t name(tbk_fixture_t* fx, call_context_t* context, tbk_error_t* error)

void call_context_make(tbk_fixture_t* fx, call_context_t* context) {
  *context = (call_context_t){.bytes = fx_round(fx, CALL_BYTES)};
  context->before = fx_bytes(fx, context->bytes);
  context->host = fx_zeros(fx, context->bytes);
  context->memory = fx_alloc_with(fx, context->before, context->bytes);
  if (fx->stream != NULL) context->stream = fx_stream(fx);
  if (fx->event == NULL) return;
  context->event = fx_event(fx, TBK_EVENT_TIMING);
  context->fresh = fx_event(fx, TBK_EVENT_TIMING);
  REQUIRE_OK(fx->event->event_record(fx->self, context->event, context->stream, &fx->error));
  fx_synchronize(fx, context->stream);
}

/* ------------------------------------------------------------------------------------ core -- */

CALL(count_devices) {
  int32_t count = 0;
  (void)context;
  return fx->core->device_count(fx->self, &count, error);
}

CALL(describe) {
  tbk_device_properties_t properties = {.struct_size = sizeof properties};
  (void)context;
  return fx->core->device_properties(fx->self, fx->device, &properties, error);
}

CALL(alloc_and_free) {
  tbk_memory_t memory = 0;
  tbk_status_t status =
      fx->core->memory_alloc(fx->self, fx->device, context->bytes, &memory, error);
  return status == TBK_OK ? fx->core->memory_free(fx->self, fx->device, memory, error) : status;
}

CALL(upload_at_once) {
  return fx->core->upload(fx->self, fx->device, context->memory, 0, context->before, context->bytes,
                          NULL, error);
}

CALL(upload_enqueued) {
  if (context->stream == NULL) return CALL_ABSENT;
  return fx->core->upload(fx->self, fx->device, context->memory, 0, context->before, context->bytes,
                          context->stream, error);
}

CALL(download_at_once) {
  return fx->core->download(fx->self, fx->device, context->host, context->memory, 0, context->bytes,
                            NULL, error);
}

CALL(copy_nothing) {
  return fx->core->copy(fx->self, fx->device, context->memory, 0, context->memory, 0, 0, NULL,
                        error);
}

CALL(fill_nothing) {
  if (!TBK_HAS(fx->core, tbk_core_t, fill)) return CALL_ABSENT;
  return fx->core->fill(fx->self, fx->device, context->memory, 0, 1, 0, NULL, error);
}

CALL(memory_information) {
  uint64_t free_bytes = 0, total_bytes = 0;
  (void)context;
  if (!TBK_HAS(fx->core, tbk_core_t, memory_info)) return CALL_ABSENT;
  return fx->core->memory_info(fx->self, fx->device, &free_bytes, &total_bytes, error);
}

/* -------------------------------------------------------------------- streams and callbacks -- */

CALL(create_stream) {
  tbk_stream_t* stream = NULL;
  (void)context;
  if (fx->stream == NULL) return CALL_ABSENT;
  tbk_status_t status = fx->stream->stream_create(fx->self, fx->device, 0, &stream, error);
  if (status == TBK_OK) fx->stream->stream_destroy(fx->self, stream);
  return status;
}

CALL(synchronize_and_query_stream) {
  if (fx->stream == NULL) return CALL_ABSENT;
  tbk_status_t status = fx->stream->stream_synchronize(fx->self, context->stream, error);
  return status == TBK_OK ? fx->stream->stream_query(fx->self, context->stream, error) : status;
}

CALL(synchronize_device) {
  (void)context;
  return fx->stream == NULL ? CALL_ABSENT
                            : fx->stream->device_synchronize(fx->self, fx->device, error);
}

CALL(native_handle) {
  void* native = NULL;
  if (!TBK_HAS(fx->stream, tbk_stream_ops_t, stream_native_handle)) return CALL_ABSENT;
  return fx->stream->stream_native_handle(fx->self, context->stream, &native, error);
}

static void do_nothing(void* argument) {
  (void)argument;
}

CALL(enqueue_callback) {
  if (fx->callback == NULL) return CALL_ABSENT;
  return fx->callback->callback_enqueue(fx->self, context->stream, do_nothing, NULL, error);
}

/* ---------------------------------------------------------------------------------- events -- */

CALL(create_event) {
  tbk_event_t* event = NULL;
  (void)context;
  if (fx->event == NULL) return CALL_ABSENT;
  tbk_status_t status = fx->event->event_create(fx->self, fx->device, 0, &event, error);
  if (status == TBK_OK) fx->event->event_destroy(fx->self, event);
  return status;
}

CALL(record_and_wait) {
  if (fx->event == NULL) return CALL_ABSENT;
  tbk_status_t status = fx->event->event_record(fx->self, context->event, context->stream, error);
  return status == TBK_OK ? fx->event->event_wait(fx->self, context->stream, context->event, error)
                          : status;
}

CALL(synchronize_and_query_event) {
  if (fx->event == NULL) return CALL_ABSENT;
  tbk_status_t status = fx->event->event_synchronize(fx->self, context->event, error);
  return status == TBK_OK ? fx->event->event_query(fx->self, context->event, error) : status;
}

CALL(elapsed) {
  double ms = 0;
  if (!TBK_HAS(fx->event, tbk_event_ops_t, event_elapsed)) return CALL_ABSENT;
  return fx->event->event_elapsed(fx->self, context->event, context->event, &ms, error);
}

/* ------------------------------------------------------------------------------- the others -- */

CALL(pin) {
  void* pointer = NULL;
  if (fx->pinned == NULL) return CALL_ABSENT;
  tbk_status_t status =
      fx->pinned->pinned_alloc(fx->self, fx->device, context->bytes, &pointer, error);
  if (status == TBK_OK) fx->pinned->pinned_free(fx->self, pointer);
  return status;
}

CALL(ask_peer) {
  int32_t can = 0;
  (void)context;
  if (fx->peer == NULL) return CALL_ABSENT;
  return fx->peer->peer_can_access(fx->self, fx->device, fx->device, &can, error);
}

CALL(copy_nothing_to_peer) {
  if (fx->peer == NULL) return CALL_ABSENT;
  return fx->peer->peer_copy(fx->self, fx->device, context->memory, 0, fx->device, context->memory,
                             0, 0, NULL, error);
}

CALL(alloc_and_free_in_stream) {
  tbk_memory_t memory = 0;
  if (fx->async_memory == NULL) return CALL_ABSENT;
  tbk_status_t status =
      fx->async_memory->async_alloc(fx->self, context->stream, context->bytes, &memory, error);
  return status == TBK_OK ? fx->async_memory->async_free(fx->self, context->stream, memory, error)
                          : status;
}

CALL(no_random_words) {
  tbk_generator_t generator = {.seed = 1};
  if (fx->random == NULL) return CALL_ABSENT;
  return fx->random->random_bits(fx->self, fx->device, &generator, context->memory, 0, 0, NULL,
                                 error);
}

/* clang-format off */
const call_row_t calls_that_succeed[] = {
    {"device_count",                           TBK_OK, count_devices},
    {"device_properties",                      TBK_OK, describe},
    {"memory_alloc, memory_free",              TBK_OK, alloc_and_free},
    {"upload",                                 TBK_OK, upload_at_once},
    {"download",                               TBK_OK, download_at_once},
    {"copy of nothing",                        TBK_OK, copy_nothing},
    {"fill of nothing",                        TBK_OK, fill_nothing},
    {"memory_info",                            TBK_OK, memory_information},
    {"stream_create",                          TBK_OK, create_stream},
    {"stream_native_handle",                   TBK_OK, native_handle},
    {"callback_enqueue",                       TBK_OK, enqueue_callback},
    {"event_create",                           TBK_OK, create_event},
    {"event_record, event_wait",               TBK_OK, record_and_wait},
    {"event_synchronize, event_query",         TBK_OK, synchronize_and_query_event},
    {"event_elapsed",                          TBK_OK, elapsed},
    {"pinned_alloc",                           TBK_OK, pin},
    {"peer_can_access",                        TBK_OK, ask_peer},
    {"peer_copy of nothing",                   TBK_OK, copy_nothing_to_peer},
    {"async_alloc, async_free",                TBK_OK, alloc_and_free_in_stream},
    {"random_bits of no words",                TBK_OK, no_random_words},
    {"upload on a stream",                     TBK_OK, upload_enqueued},
    {"stream_synchronize, stream_query",       TBK_OK, synchronize_and_query_stream},
    {"device_synchronize",                     TBK_OK, synchronize_device},
};
/* clang-format on */
const size_t calls_that_succeed_count = sizeof calls_that_succeed / sizeof *calls_that_succeed;
