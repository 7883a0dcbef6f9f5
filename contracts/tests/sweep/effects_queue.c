/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What streams, callbacks and events are for.
 */
#include "effects_steps.h"

#include "look.h"

#include <string.h>

enum { CALLBACKS = 3 };

#define HAS(table, type, function) (TBK_HAS(fx->table, type, function) != 0)

static void ask_until_done(tbk_fixture_t* fx, effects_t* on, tbk_stream_t* stream) {
  tbk_status_t status = TBK_NOT_READY;
  FX_CHECK_STREAM_ENDS(fx, stream, &status);
  TBK_CHECKS("STR-017");
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

static const char* const finishes[] = {"STR-019", "STR-015", "STR-022"}; /* of finish_by */

static void use_stream(tbk_fixture_t* fx, effects_t* on, tbk_stream_t* stream) {
  uint8_t sent[4096], seen[4096];
  for (int way = 0; way < 3; way++) {
    tbk_memory_t memory = 0;
    step_draw(sent, on->bytes);
    memset(seen, 0, sizeof seen);
    if (!step_take(fx, on->bytes, &memory)) return;
    step_delay(fx, on, stream);
    step_put(fx, on, memory, sent, on->bytes, stream);
    step_get(fx, on, seen, memory, on->bytes, stream);
    finish_by(fx, on, stream, way);
    step_check(fx, on, sent, seen, memory, finishes[way]);
    step_drop(fx, memory);
  }
}

EFFECT(stream_create) {
  use_stream(fx, on, on->stream);
  step_with_new_streams(fx, on, use_stream);
}

static void check_same(const void* native, const void* again) {
  TBK_CHECKS("STR-025");
  CHECK(native == again);
}

EFFECT(stream_native_handle) {
  void *native = NULL, *again = NULL;
  tbk_stream_t* made = NULL;
  CHECK_OK(fx->stream->stream_native_handle(fx->self, on->stream, &native, &fx->error));
  CHECK_OK(fx->stream->stream_native_handle(fx->self, on->stream, &again, &fx->error));
  check_same(native, again);
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
  step_delay(fx, on, stream);
  for (int i = 0; i < CALLBACKS; i++)
    CHECK_OK(STEP(
        fx, on, fx->callback->callback_enqueue(fx->self, stream, count_run, &on->ran, &fx->error)));
  step_wait_for(fx, on, stream);
  const int ran = atomic_load(&on->ran), all = before + CALLBACKS;
  TBK_CHECKS(ran != all && look_count_later(&on->ran, all) ? "STR-019" : "CBK-002");
  CHECK_EQUAL(all, ran);
}

EFFECT(callback_enqueue) {
  call_back(fx, on, on->stream);
  step_with_new_streams(fx, on, call_back);
}

/* `from` writes, late, and `to` reads it after the event. */
static void pass_on(tbk_fixture_t* fx, effects_t* on, tbk_event_t* event, tbk_stream_t* from,
                    tbk_stream_t* to) {
  uint8_t sent[4096], seen[4096] = {0};
  tbk_memory_t memory = 0;
  step_draw(sent, on->bytes);
  if (!step_take(fx, on->bytes, &memory)) return;
  step_delay(fx, on, from);
  step_put(fx, on, memory, sent, on->bytes, from);
  CHECK_OK(STEP(fx, on, fx->event->event_record(fx->self, event, from, &fx->error)));
  CHECK_OK(STEP(fx, on, fx->event->event_wait(fx->self, to, event, &fx->error)));
  step_get(fx, on, seen, memory, on->bytes, to);
  step_wait_for(fx, on, to);
  step_wait_for(fx, on, from);
  step_check(fx, on, sent, seen, memory, "EVT-018");
  step_drop(fx, memory);
}

static void check_over(const effects_t* on, tbk_status_t status, const char* clause) {
  TBK_CHECKS(clause);
  CHECK(status == TBK_OK || (on->may_fail && status == TBK_FAILED));
}

/* The event stands for a download that is late; then the bytes are on the host. */
static void wait_by_event(tbk_fixture_t* fx, effects_t* on, tbk_event_t* event, bool ask) {
  uint8_t seen[4096] = {0};
  tbk_status_t status = TBK_OK;
  step_delay(fx, on, on->stream);
  step_get(fx, on, seen, on->memory, on->bytes, on->stream);
  CHECK_OK(STEP(fx, on, fx->event->event_record(fx->self, event, on->stream, &fx->error)));
  if (ask)
    FX_CHECK_EVENT_ENDS(fx, event, &status);
  else
    status = fx->event->event_synchronize(fx->self, event, &fx->error);
  check_over(on, status, ask ? "EVT-025" : "EVT-026");
  step_check(fx, on, on->held, seen, on->memory, ask ? "EVT-023" : "EVT-026");
  step_wait_for(fx, on, on->stream);
}

static void check_new(tbk_fixture_t* fx, tbk_event_t* event) {
  TBK_CHECKS("EVT-002");
  CHECK_OK(fx->event->event_query(fx->self, event, &fx->error));
}

EFFECT(event_record) {
  tbk_event_t* event = NULL;
  pass_on(fx, on, on->event, on->stream, on->beside);
  pass_on(fx, on, on->event, on->beside, on->stream);
  wait_by_event(fx, on, on->event, false);
  for (uint32_t flags = 0; flags <= TBK_EVENT_FLAGS_KNOWN; flags++) {
    if (!CHECK_OK(fx->event->event_create(fx->self, fx->device, flags, &event, &fx->error))) return;
    check_new(fx, event);
    pass_on(fx, on, event, on->stream, on->beside);
    wait_by_event(fx, on, event, true);
    fx->event->event_destroy(fx->self, event);
  }
}

EFFECT(event_elapsed) {
  double ms = -1;
  for (int i = 0; i < 2; i++) {
    tbk_stream_t* last = i == 0 ? on->stream : on->beside;
    CHECK_OK(STEP(fx, on, fx->event->event_record(fx->self, on->event, on->stream, &fx->error)));
    CHECK_OK(STEP(fx, on, fx->event->event_wait(fx->self, last, on->event, &fx->error)));
    step_delay(fx, on, last);
    CHECK_OK(STEP(fx, on, fx->event->event_record(fx->self, on->end, last, &fx->error)));
    step_wait_for(fx, on, on->stream);
    step_wait_for(fx, on, last);
    CHECK_OK(fx->event->event_elapsed(fx->self, on->event, on->end, &ms, &fx->error));
    TBK_CHECKS("EVT-029");
    CHECK_SAID(ms >= 0, "an end that is not before its start", "%g ms", ms);
  }
}
