/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "effects_steps.h"

#include <string.h>

enum { CALLBACKS = 3 };

#define HAS(table, type, function) (TBK_HAS(fx->table, type, function) != 0)

/* -------------------------------------------------------------------------------------- core --- */

static void move(tbk_fixture_t* fx, effects_t* on, tbk_stream_t* stream) {
  uint8_t sent[4096], seen[4096] = {0};
  tbk_memory_t first = 0, second = 0;
  step_draw(sent, on->bytes);
  if (!step_take(fx, on->bytes, &first) || !step_take(fx, 3 * on->bytes, &second)) return;
  CHECK((fx->properties.flags & TBK_DEVICE_FLAT_ADDRESS) == 0 ||
        (first | second) % fx->properties.memory_alignment == 0);
  step_delay(fx, stream);
  step_put(fx, first, sent, on->bytes, stream);
  CHECK_OK(fx->core->copy(fx->self, fx->device, second, on->bytes, first, 0, on->bytes, stream,
                          &fx->error));
  CHECK_OK(fx->core->download(fx->self, fx->device, seen, second, on->bytes, on->bytes, stream,
                              &fx->error));
  step_wait_for(fx, on, stream);
  CHECK_BYTES(sent, seen, on->bytes);
  step_drop(fx, first);
  step_drop(fx, second);
}

EFFECT(memory_alloc) {
  uint8_t seen[4096];
  tbk_memory_t none = 0;
  move(fx, on, NULL);
  move(fx, on, on->stream);
  move(fx, on, on->beside);
  if (step_take(fx, 0, &none)) step_drop(fx, none);
  if (step_get(fx, seen, on->memory, on->bytes, NULL)) CHECK_BYTES(on->held, seen, on->bytes);
}
#define effect_memory_free effect_memory_alloc
#define effect_upload effect_memory_alloc
#define effect_download effect_memory_alloc
#define effect_copy effect_memory_alloc

EFFECT(fill) {
  uint8_t expected[4096], seen[4096] = {0};
  tbk_memory_t memory = 0;
  memset(expected, 0x3C, sizeof expected);
  for (int i = 0; i < 2; i++) {
    tbk_stream_t* stream = i == 0 ? NULL : on->stream;
    if (!step_take(fx, on->bytes, &memory)) return;
    CHECK_OK(fx->core->fill(fx->self, fx->device, memory, 0, 0x3C, on->bytes, stream, &fx->error));
    step_get(fx, seen, memory, on->bytes, stream);
    step_wait_for(fx, on, stream);
    CHECK_BYTES(expected, seen, on->bytes);
    step_drop(fx, memory);
  }
}

EFFECT(memory_info) {
  uint64_t free_bytes = 0, total = 0;
  CHECK_OK(fx->core->memory_info(fx->self, fx->device, &free_bytes, &total, &fx->error));
  CHECK_EQUAL(on->total_bytes, total);
  CHECK(free_bytes <= total);
}

EFFECT(device_properties) {
  tbk_device_properties_t now;
  memset(&now, 0, sizeof now);
  now.struct_size = sizeof now;
  CHECK_OK(fx->core->device_properties(fx->self, fx->device, &now, &fx->error));
  CHECK(now.name != NULL && strcmp(on->properties.name, now.name) == 0);
  now.name = on->properties.name;
  CHECK_BYTES(&on->properties, &now, sizeof now);
}

EFFECT(device_count) {
  int32_t count = -1;
  (void)on;
  CHECK_OK(fx->core->device_count(fx->self, &count, &fx->error));
  CHECK_EQUAL(fx->device_count, count);
}

EFFECT(device_open) {
  (void)on;
  CHECK_STATUS(TBK_INVALID_STATE, fx->core->device_open(fx->self, fx->device, &fx->error));
}
/* Those who close have tests of their own: afterwards there is nothing to look at. */
#define effect_device_close effect_device_open
#define effect_destroy effect_device_open

/* ------------------------------------------------------------------------ streams, callbacks --- */

static void ask_until_done(tbk_fixture_t* fx, effects_t* on, tbk_stream_t* stream) {
  tbk_status_t status = TBK_NOT_READY;
  CHECK(fx_poll_stream(fx, stream, &status));
  CHECK(status == TBK_OK || (on->may_fail && status == TBK_FAILED));
}

static void finish_by(tbk_fixture_t* fx, effects_t* on, tbk_stream_t* stream, int way) {
  if (way == 0) step_wait_for(fx, on, stream);
  if (way == 1) ask_until_done(fx, on, stream);
  if (way != 2) return;
  tbk_status_t status = fx->stream->device_synchronize(fx->self, fx->device, &fx->error);
  if (status == TBK_FAILED && on->may_fail) return;
  tbk_check_status(TBK_OK, status, &fx->error, TBK_HERE("device_synchronize"));
}

static void use_stream(tbk_fixture_t* fx, effects_t* on, tbk_stream_t* stream) {
  uint8_t sent[4096], seen[4096];
  for (int way = 0; way < 3; way++) {
    tbk_memory_t memory = 0;
    step_draw(sent, on->bytes);
    memset(seen, 0, sizeof seen);
    if (!step_take(fx, on->bytes, &memory)) return;
    step_delay(fx, stream);
    step_put(fx, memory, sent, on->bytes, stream);
    step_get(fx, seen, memory, on->bytes, stream);
    finish_by(fx, on, stream, way);
    CHECK_BYTES(sent, seen, on->bytes);
    step_drop(fx, memory);
  }
}

static void with_new_streams(tbk_fixture_t* fx, effects_t* on,
                             void (*use)(tbk_fixture_t*, effects_t*, tbk_stream_t*)) {
  const int32_t priorities[] = {0, fx->properties.priority_greatest, fx->properties.priority_least};
  for (int i = 0; i < 3; i++) {
    tbk_stream_t* stream = NULL;
    if (!CHECK_OK(
            fx->stream->stream_create(fx->self, fx->device, priorities[i], &stream, &fx->error)))
      return;
    use(fx, on, stream);
    fx->stream->stream_destroy(fx->self, stream);
  }
}

EFFECT(stream_create) {
  use_stream(fx, on, on->stream);
  with_new_streams(fx, on, use_stream);
}
#define effect_stream_destroy effect_stream_create
#define effect_stream_query effect_stream_create
#define effect_stream_synchronize effect_stream_create
#define effect_device_synchronize effect_stream_create

EFFECT(stream_native_handle) {
  void *native = NULL, *again = NULL;
  tbk_stream_t* made = NULL;
  CHECK_OK(fx->stream->stream_native_handle(fx->self, on->stream, &native, &fx->error));
  CHECK_OK(fx->stream->stream_native_handle(fx->self, on->stream, &again, &fx->error));
  CHECK(native == again);
  if (!HAS(stream, tbk_stream_ops_t, stream_from_native)) return;
  if (!CHECK_OK(fx->stream->stream_from_native(fx->self, fx->device, native, &made, &fx->error)))
    return;
  use_stream(fx, on, made);
  fx->stream->stream_destroy(fx->self, made);
}

EFFECT(stream_from_native) {
  if (HAS(stream, tbk_stream_ops_t, stream_native_handle)) effect_stream_native_handle(fx, on);
}

static void count_run(void* argument) {
  atomic_fetch_add((atomic_int*)argument, 1);
}

static void call_back(tbk_fixture_t* fx, effects_t* on, tbk_stream_t* stream) {
  const int before = atomic_load(&on->ran);
  step_delay(fx, stream);
  for (int i = 0; i < CALLBACKS; i++)
    CHECK_OK(fx->callback->callback_enqueue(fx->self, stream, count_run, &on->ran, &fx->error));
  step_wait_for(fx, on, stream);
  CHECK_EQUAL(before + CALLBACKS, atomic_load(&on->ran));
}

EFFECT(callback_enqueue) {
  call_back(fx, on, on->stream);
  with_new_streams(fx, on, call_back);
}

/* ------------------------------------------------------------------------------------ events --- */

/* `from` writes, late, and `to` reads it after the event. */
static void pass_on(tbk_fixture_t* fx, effects_t* on, tbk_event_t* event, tbk_stream_t* from,
                    tbk_stream_t* to) {
  uint8_t sent[4096], seen[4096] = {0};
  tbk_memory_t memory = 0;
  step_draw(sent, on->bytes);
  if (!step_take(fx, on->bytes, &memory)) return;
  step_delay(fx, from);
  step_put(fx, memory, sent, on->bytes, from);
  CHECK_OK(fx->event->event_record(fx->self, event, from, &fx->error));
  CHECK_OK(fx->event->event_wait(fx->self, to, event, &fx->error));
  step_get(fx, seen, memory, on->bytes, to);
  step_wait_for(fx, on, to);
  CHECK_BYTES(sent, seen, on->bytes);
  step_wait_for(fx, on, from);
  step_drop(fx, memory);
}

/* The event stands for a download that is late; then the bytes are on the host. */
static void wait_by_event(tbk_fixture_t* fx, effects_t* on, tbk_event_t* event, bool ask) {
  uint8_t seen[4096] = {0};
  tbk_status_t status = TBK_OK;
  step_delay(fx, on->stream);
  step_get(fx, seen, on->memory, on->bytes, on->stream);
  CHECK_OK(fx->event->event_record(fx->self, event, on->stream, &fx->error));
  if (ask)
    CHECK(fx_poll_event(fx, event, &status));
  else
    status = fx->event->event_synchronize(fx->self, event, &fx->error);
  CHECK(status == TBK_OK || (on->may_fail && status == TBK_FAILED));
  CHECK_BYTES(on->held, seen, on->bytes);
  step_wait_for(fx, on, on->stream);
}

EFFECT(event_record) {
  tbk_event_t* event = NULL;
  pass_on(fx, on, on->event, on->stream, on->beside);
  pass_on(fx, on, on->event, on->beside, on->stream);
  wait_by_event(fx, on, on->event, false);
  for (uint32_t flags = 0; flags <= TBK_EVENT_FLAGS_KNOWN; flags++) {
    if (!CHECK_OK(fx->event->event_create(fx->self, fx->device, flags, &event, &fx->error))) return;
    CHECK_OK(fx->event->event_query(fx->self, event, &fx->error));
    pass_on(fx, on, event, on->stream, on->beside);
    wait_by_event(fx, on, event, true);
    fx->event->event_destroy(fx->self, event);
  }
}
#define effect_event_create effect_event_record
#define effect_event_destroy effect_event_record
#define effect_event_wait effect_event_record
#define effect_event_query effect_event_record
#define effect_event_synchronize effect_event_record

EFFECT(event_elapsed) {
  double ms = -1;
  for (int i = 0; i < 2; i++) {
    tbk_stream_t* last = i == 0 ? on->stream : on->beside;
    CHECK_OK(fx->event->event_record(fx->self, on->event, on->stream, &fx->error));
    CHECK_OK(fx->event->event_wait(fx->self, last, on->event, &fx->error));
    step_delay(fx, last);
    CHECK_OK(fx->event->event_record(fx->self, on->end, last, &fx->error));
    step_wait_for(fx, on, on->stream);
    step_wait_for(fx, on, last);
    CHECK_OK(fx->event->event_elapsed(fx->self, on->event, on->end, &ms, &fx->error));
    CHECK_SAID(ms >= 0, "an end that is not before its start", "%g ms", ms);
  }
}

/* ------------------------------------------------------------------------------- the others --- */

/* From within pinned memory, which may be written again when the call without a stream returns. */
static void move_pinned(tbk_fixture_t* fx, effects_t* on, uint8_t* pinned) {
  uint8_t sent[4096], seen[4096];
  tbk_memory_t memory = 0;
  if (!step_take(fx, on->bytes, &memory)) return;
  step_draw(sent, on->bytes);
  memcpy(pinned + 64, sent, on->bytes);
  step_put(fx, memory, pinned + 64, on->bytes, NULL);
  memset(pinned, 0, on->bytes + 64);
  step_get(fx, pinned + 128, memory, on->bytes, NULL);
  CHECK_BYTES(sent, pinned + 128, on->bytes);
  step_get(fx, seen, memory, on->bytes, NULL);
  CHECK_BYTES(sent, seen, on->bytes);
  step_drop(fx, memory);
}

EFFECT(pinned_alloc) {
  void* pinned = NULL;
  move_pinned(fx, on, on->pinned);
  if (!CHECK_OK(
          fx->pinned->pinned_alloc(fx->self, fx->device, 2 * on->bytes + 128, &pinned, &fx->error)))
    return;
  CHECK((uintptr_t)pinned % 64 == 0);
  move_pinned(fx, on, pinned);
  fx->pinned->pinned_free(fx->self, pinned);
}
#define effect_pinned_free effect_pinned_alloc

EFFECT(peer_can_access) {
  int32_t can = -1;
  (void)on;
  CHECK_OK(fx->peer->peer_can_access(fx->self, fx->device, fx->device, &can, &fx->error));
  CHECK(can == 0 || can == 1);
}

EFFECT(peer_copy) {
  uint8_t seen[4096] = {0};
  tbk_memory_t memory = 0;
  if (!step_take(fx, on->bytes, &memory)) return;
  CHECK_OK(fx->peer->peer_copy(fx->self, fx->device, memory, 0, fx->device, on->memory, 0,
                               on->bytes, on->stream, &fx->error));
  step_wait_for(fx, on, on->stream);
  if (step_get(fx, seen, memory, on->bytes, NULL)) CHECK_BYTES(on->held, seen, on->bytes);
  step_drop(fx, memory);
}

EFFECT(random_bits) {
  uint8_t seen[4096] = {0};
  step_draw_words(fx, on, NULL, seen);
  CHECK_BYTES(on->words, seen, EFFECT_WORDS * 4);
  memset(seen, 0, sizeof seen);
  step_draw_words(fx, on, on->stream, seen);
  CHECK_BYTES(on->words, seen, EFFECT_WORDS * 4);
}

static void use_async(tbk_fixture_t* fx, effects_t* on, tbk_stream_t* stream) {
  uint8_t sent[4096], seen[4096] = {0};
  tbk_memory_t memory = 0;
  step_draw(sent, on->bytes);
  step_delay(fx, stream);
  if (!CHECK_OK(fx->async_memory->async_alloc(fx->self, stream, on->bytes, &memory, &fx->error)))
    return;
  step_put(fx, memory, sent, on->bytes, stream);
  step_get(fx, seen, memory, on->bytes, stream);
  CHECK_OK(fx->async_memory->async_free(fx->self, stream, memory, &fx->error));
  step_wait_for(fx, on, stream);
  CHECK_BYTES(sent, seen, on->bytes);
}

EFFECT(async_alloc) {
  use_async(fx, on, on->stream);
  with_new_streams(fx, on, use_async);
}
#define effect_async_free effect_async_alloc

EFFECT(fault_enqueue) {
  CHECK_STATUS(TBK_INVALID, fx->fault->fault_enqueue(fx->self, on->stream, -1, &fx->error));
}

/* The poison is put back, so that the result of the launch before counts for nothing. */
static void compute(tbk_fixture_t* fx, effects_t* on, operation_t* operation, tbk_stream_t* stream,
                    tbk_plan_t* plan, tbk_memory_t workspace) {
  const tbk_kernel_t* kernel = operation->kernel;
  const void* arguments = &operation->wire->arguments;
  step_put(fx, operation->output.memory, operation->poison, operation->output.block_bytes, NULL);
  step_delay(fx, stream);
  tbk_status_t status =
      plan != NULL ? kernel->launch_plan(fx->self, fx->device, plan, arguments, workspace, 0,
                                         stream, &fx->error)
                   : kernel->launch(fx->self, fx->device, kernel, arguments, stream, &fx->error);
  step_wait_for(fx, on, stream);
  if (status == TBK_UNSUPPORTED && plan == NULL) return;
  if (tbk_check_status(TBK_OK, status, &fx->error, TBK_HERE("a launch")))
    operation_check(fx, operation, 0, TBK_HERE("a launch"));
}

/* What could be prepared before can be prepared again. */
static void plan_anew(tbk_fixture_t* fx, effects_t* on, operation_t* operation,
                      tbk_memory_t workspace) {
  const tbk_kernel_t* kernel = operation->kernel;
  tbk_plan_t* plan = NULL;
  uint64_t bytes = 0;
  if (!CHECK_OK(kernel->prepare(fx->self, fx->device, kernel, &operation->wire->arguments, &plan,
                                &bytes, &fx->error)))
    return;
  compute(fx, on, operation, on->stream, plan, workspace);
  kernel->plan_destroy(fx->self, plan);
}

EFFECT(kernel_find) {
  for (int id = 0; id < OPERATORS; id++) {
    operation_t* operation = &on->operations[id];
    if (operation->kernel == NULL) continue;
    const char* name = operation_name((operator_id_t)id);
    const tbk_kernel_t* kernel =
        fx->kernel->kernel_find(fx->self, fx->device, name, operation_version((operator_id_t)id));
    if (!CHECK_SAID(kernel != NULL, "a kernel", "NULL for %s", name)) continue;
    operation->kernel = kernel; /* another one where the device was closed in between */
    compute(fx, on, operation, NULL, NULL, 0);
    compute(fx, on, operation, on->stream, NULL, 0);
    if (on->plans[id] == NULL) continue;
    plan_anew(fx, on, operation, on->workspaces[id]);
    compute(fx, on, operation, on->stream, on->plans[id], on->workspaces[id]);
    compute(fx, on, operation, on->beside, on->plans[id], on->workspaces[id]);
  }
}

/* -------------------------------------------------------------------------------------- all --- */

#define ROW(table, type, function) {#table, #function, effect_##function},
#define ROWS_OF(table, type, needs) TBK_MANDATORY_##table(ROW) TBK_OPTIONAL_##table(ROW)
const effect_row_t effects[] = {ROWS_OF(core, tbk_core_t, "") TBK_TABLE_MAP(ROWS_OF)};
const size_t effect_count = sizeof effects / sizeof *effects;

#define OFFERED(table, type, function) TBK_HAS(fx->table, type, function) != 0,
#define OFFERED_OF(table, type, needs) TBK_MANDATORY_##table(OFFERED) TBK_OPTIONAL_##table(OFFERED)

void effects_check(tbk_fixture_t* fx, effects_t* on) {
  const bool offered[] = {OFFERED_OF(core, tbk_core_t, "") TBK_TABLE_MAP(OFFERED_OF)};
  for (size_t i = 0; i < effect_count; i++) {
    bool again = false; /* several functions may share a program */
    for (size_t k = 0; k < i; k++)
      again = again || (offered[k] && effects[k].run == effects[i].run);
    if (offered[i] && !again) effects[i].run(fx, on);
  }
}
