/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweeps of order: how often, how much is pending, for how long. What repeats is not held by a gate
 * but delayed by a callback, so that each round begins with an idle stream that could go ahead.
 */
#include "dimensions.h"
#include "gate.h"
#include "order.h"
#include "range.h"
#include "wait.h"

#include <string.h>

enum { CELL = 64, DELAY_US = 120, DEPTH_MOST = 2000, CALLBACKS_MOST = 1003 };

/* What a delay cannot show on this device. */
static void state_evidence(tbk_fixture_t* fx) {
  if (fx->callback == NULL)
    fx_evidence(fx, TBK_NOT_SHOWN, "without callbacks nothing can be delayed");
}

/* ------------------------------------------------------------------- waits, again and again --- */

SWEEP_DIMENSION(rounds_axis, "repeat", {"1", 1}, {"17", 17}, {"101", 101}, {"307", 307});
SWEEP_DIMENSION(events_axis, "events", {"one", 1}, {"two", 2}, {"four", 4});
SWEEP_DIMENSION(waiters_axis, "waiters", {"1", 1}, {"3", 3});
SWEEP_DIMENSION(flags_axis, "flags", {"0", 0}, {"timing", TBK_EVENT_TIMING});
SWEEP_DIMENSION(early_axis, "recorded_before", {"no", 0}, {"yes", 1});

typedef struct rounds {
  scene_t scene;
  tbk_stream_t *a, *waiters[3];
  tbk_event_t* events[4];
  tbk_memory_t memory;
  uint64_t cell;
  uint8_t *bytes, *seen; /* a cell for each round; for each waiter too */
} rounds_t;

static rounds_t* rounds_begin(tbk_fixture_t* fx, const sweep_case_t* one) {
  rounds_t* it = (rounds_t*)(void*)fx_zeros(fx, sizeof *it);
  uint64_t rounds = (uint64_t)sweep_get(one, &rounds_axis);
  scene_begin(fx, one, &it->scene);
  it->cell = fx_round(fx, CELL);
  it->bytes = fx_bytes(fx, rounds * it->cell);
  it->seen = fx_zeros(fx, 3 * rounds * it->cell);
  it->memory = fx_alloc_with(fx, it->seen, it->cell);
  it->a = fx_stream(fx);
  for (int64_t i = 0; i < sweep_get(one, &waiters_axis); i++)
    it->waiters[i] = fx_stream(fx);
  for (int64_t i = 0; i < sweep_get(one, &events_axis); i++)
    it->events[i] = fx_event(fx, (uint32_t)sweep_get(one, &flags_axis));
  return it;
}

/* a writes the cell, late; each waiter reads it after the event, and is idle before and after. */
static void wait_round(tbk_fixture_t* fx, rounds_t* it, uint64_t at) {
  const sweep_case_t* one = it->scene.one;
  uint64_t rounds = (uint64_t)sweep_get(one, &rounds_axis);
  tbk_event_t* event = it->events[at % (uint64_t)sweep_get(one, &events_axis)];
  if (sweep_get(one, &early_axis) == 1)
    CHECK_OK(fx->event->event_record(fx->self, event, it->a, &fx->error));
  sweep_delay(fx, it->a, DELAY_US);
  CHECK_OK(fx->core->upload(fx->self, fx->device, it->memory, 0, it->bytes + at * it->cell,
                            it->cell, it->a, &fx->error));
  CHECK_OK(fx->event->event_record(fx->self, event, it->a, &fx->error));
  for (int64_t w = 0; w < sweep_get(one, &waiters_axis); w++) {
    CHECK_OK(fx->event->event_wait(fx->self, it->waiters[w], event, &fx->error));
    CHECK_OK(fx->core->download(fx->self, fx->device,
                                it->seen + ((uint64_t)w * rounds + at) * it->cell, it->memory, 0,
                                it->cell, it->waiters[w], &fx->error));
  }
  for (int64_t w = 0; w < sweep_get(one, &waiters_axis); w++)
    CHECK_OK(fx->stream->stream_synchronize(fx->self, it->waiters[w], &fx->error));
}

static void wait_rounds(tbk_fixture_t* fx, void* argument) {
  rounds_t* it = argument;
  for (uint64_t i = 0; i < (uint64_t)sweep_get(it->scene.one, &rounds_axis); i++)
    wait_round(fx, it, i);
}

static void run_waits(tbk_fixture_t* fx, sweep_case_t* one) {
  rounds_t* it = rounds_begin(fx, one);
  uint64_t bytes = (uint64_t)sweep_get(one, &rounds_axis) * it->cell;
  scene_call(&it->scene, wait_rounds, it);
  for (int64_t w = 0; w < sweep_get(one, &waiters_axis); w++)
    CHECK_BYTES(it->bytes, it->seen + (uint64_t)w * bytes, bytes);
}

static void every_wait_waits(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&rounds_axis, &events_axis, &waiters_axis, &flags_axis,
                                       &early_axis, &sweep_device, &sweep_thread, &sweep_state},
                                      scene_fits,
                                      run_waits,
                                      0};
  state_evidence(fx);
  sweep_run(fx, &space);
}

/* --------------------------------------------------- synchronising and asking, again and again -- */

typedef enum done { BY_EVENT, BY_STREAM, BY_DEVICE, BY_EVENT_QUERY, BY_STREAM_QUERY } done_t;

/* One more than done_t, each for a clause of its own. */
SWEEP_DIMENSION(event_by, "by", {"event_synchronize", 1 + BY_EVENT},
                {"event_query", 1 + BY_EVENT_QUERY});
SWEEP_DIMENSION(stream_by, "by", {"stream_synchronize", 1 + BY_STREAM},
                {"stream_query", 1 + BY_STREAM_QUERY});
SWEEP_DIMENSION(device_by, "by", {"device_synchronize", 1 + BY_DEVICE});

static done_t by_of(const sweep_case_t* one) {
  return (done_t)(sweep_get(one, &event_by) + sweep_get(one, &stream_by) +
                  sweep_get(one, &device_by) - 1);
}

/* On the second device not for the longest time. */
static bool held_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  return scene_fits(fx, one) &&
         !(sweep_get(one, &sweep_device) == 1 && sweep_get(one, &sweep_duration) > 1000);
}

static tbk_status_t ask(tbk_fixture_t* fx, done_t by, tbk_stream_t* stream, tbk_event_t* event) {
  switch (by) {
    case BY_EVENT:
      return fx->event->event_synchronize(fx->self, event, &fx->error);
    case BY_STREAM:
      return fx->stream->stream_synchronize(fx->self, stream, &fx->error);
    case BY_DEVICE:
      return fx->stream->device_synchronize(fx->self, fx->device, &fx->error);
    case BY_EVENT_QUERY:
      return fx->event->event_query(fx->self, event, &fx->error);
    default:
      return fx->stream->stream_query(fx->self, stream, &fx->error);
  }
}

static void finish(tbk_fixture_t* fx, done_t by, tbk_stream_t* stream, tbk_event_t* event) {
  uint64_t begin = fx_awake_ns();
  tbk_status_t status = ask(fx, by, stream, event);
  while (status == TBK_NOT_READY && by >= BY_EVENT_QUERY && fx_awake_ns() - begin < FX_PATIENCE_NS)
    status = ask(fx, by, stream, event);
  const char* never = by == BY_EVENT_QUERY ? "EVT-025" : by == BY_STREAM_QUERY ? "STR-017" : NULL;
  TBK_CHECKS(status == TBK_NOT_READY ? never : NULL);
  tbk_check_status(TBK_OK, status, &fx->error, TBK_HERE("the call that waits"));
}

static void finish_rounds(tbk_fixture_t* fx, void* argument) {
  rounds_t* it = argument;
  const sweep_case_t* one = it->scene.one;
  done_t by = by_of(one);
  for (uint64_t i = 0; i < (uint64_t)sweep_get(one, &rounds_axis); i++) {
    tbk_event_t* event = fx->event != NULL ? it->events[0] : NULL;
    uint8_t* seen = it->seen + i * it->cell;
    scene_load(&it->scene);
    sweep_delay(fx, it->a, DELAY_US);
    CHECK_OK(fx->core->upload(fx->self, fx->device, it->memory, 0, it->bytes + i * it->cell,
                              it->cell, it->a, &fx->error));
    CHECK_OK(
        fx->core->download(fx->self, fx->device, seen, it->memory, 0, it->cell, it->a, &fx->error));
    if (event != NULL) CHECK_OK(fx->event->event_record(fx->self, event, it->a, &fx->error));
    finish(fx, by, it->a, event);
    if (!CHECK_BYTES(it->bytes + i * it->cell, seen, it->cell)) return;
  }
}

static void run_finish(tbk_fixture_t* fx, sweep_case_t* one) {
  rounds_t* it = rounds_begin(fx, one);
  if (it->events[0] == NULL && fx->event != NULL) it->events[0] = fx_event(fx, 0);
  scene_call(&it->scene, finish_rounds, it);
  if (it->scene.stream != NULL) fx_synchronize(fx, it->scene.stream);
}

static void every_synchronisation_with_an_event_waits(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&rounds_axis, &event_by, &sweep_device, &sweep_thread, &sweep_state},
      scene_fits,
      run_finish,
      0};
  state_evidence(fx);
  sweep_run(fx, &space);
}

static void every_synchronisation_with_a_stream_waits(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&rounds_axis, &stream_by, &sweep_device, &sweep_thread, &sweep_state},
      scene_fits,
      run_finish,
      0};
  state_evidence(fx);
  sweep_run(fx, &space);
}

static void every_synchronisation_with_a_device_waits(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&rounds_axis, &device_by, &sweep_device, &sweep_thread, &sweep_state},
      scene_fits,
      run_finish,
      0};
  state_evidence(fx);
  sweep_run(fx, &space);
}

/* -------------------------------------------------------------------------------- for long ---- */

typedef struct held {
  tbk_stream_t* stream;
  tbk_event_t* event;
  tbk_memory_t memory;
  uint64_t bytes;
  uint8_t *expected, *seen;
  done_t by;
  atomic_int enqueued, returned;
} held_t;

static void enqueue_held(tbk_fixture_t* fx, held_t* it) {
  CHECK_OK(fx->core->upload(fx->self, fx->device, it->memory, 0, it->expected, it->bytes,
                            it->stream, &fx->error));
  CHECK_OK(fx->core->download(fx->self, fx->device, it->seen, it->memory, 0, it->bytes, it->stream,
                              &fx->error));
  if (it->event != NULL)
    CHECK_OK(fx->event->event_record(fx->self, it->event, it->stream, &fx->error));
  tbk_word_set(&it->enqueued, 1);
}

static void held_body(actor_t* actor) {
  held_t* it = actor->argument;
  enqueue_held(&actor->fx, it);
  if (it->by < BY_EVENT_QUERY) finish(&actor->fx, it->by, it->stream, it->event);
  tbk_word_set(&it->returned, 1);
}

/* The call returns while the gate is closed: it gave up. Or a question is answered with OK. */
static void check_held(tbk_fixture_t* fx, held_t* it, const tbk_gate_t* gate, uint64_t hold_ns) {
  const uint64_t step = 1000000, until = fx_now_ns() + hold_ns;
  if (!tbk_word_wait(&it->enqueued, FX_PATIENCE_NS / 4)) return; /* a call waits: trivially */
  if (it->by < BY_EVENT_QUERY) {
    bool early = tbk_word_wait(&it->returned, hold_ns) && gate_is_closed(gate);
    CHECK_SAID(!early, "to wait for work that is held", "the call returned after less than %llu ms",
               (unsigned long long)(hold_ns / 1000000));
    return;
  }
  while (fx_now_ns() < until && gate_is_closed(gate)) {
    tbk_status_t status = ask(fx, it->by, it->stream, it->event);
    if (!CHECK_SAID(status == TBK_NOT_READY || !gate_is_closed(gate), "NOT_READY all the time",
                    "%s", tbk_status_name(status)))
      return;
    atomic_int never = 0;
    (void)tbk_word_wait(&never, step);
  }
}

static void run_held(tbk_fixture_t* fx, sweep_case_t* one) {
  scene_t scene;
  tbk_gate_t gate;
  held_t* it = (held_t*)(void*)fx_zeros(fx, sizeof *it);
  actor_t* actor = (actor_t*)(void*)fx_zeros(fx, sizeof *actor);
  scene_begin(fx, one, &scene);
  it->by = by_of(one);
  it->bytes = fx_round(fx, CELL);
  it->expected = fx_bytes(fx, it->bytes);
  it->seen = fx_zeros(fx, it->bytes);
  it->memory = fx_alloc(fx, it->bytes);
  it->stream = fx_stream(fx);
  if (fx->event != NULL) it->event = fx_event(fx, 0);
  gate_close_over(fx, &gate, it->stream, 0);
  actor_start(fx, actor, held_body, it);
  if (gate_is_closed(&gate))
    check_held(fx, it, &gate, (uint64_t)sweep_get(one, &sweep_duration) * 1000000);
  gate_open(fx, &gate);
  actor_join(fx, actor);
  fx_synchronize(fx, it->stream);
  CHECK_BYTES(it->expected, it->seen, it->bytes);
}

static void an_event_is_waited_for_however_long(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&event_by, &sweep_duration, &sweep_device}, held_fits, run_held, 0};
  sweep_run(fx, &space);
}

static void a_stream_is_waited_for_however_long(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&stream_by, &sweep_duration, &sweep_device}, held_fits, run_held, 0};
  sweep_run(fx, &space);
}

static void a_device_is_waited_for_however_long(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&device_by, &sweep_duration, &sweep_device}, held_fits, run_held, 0};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("EVT-018", "event", TBK_CASE_THOROUGH, every_wait_waits),
    TBK_CASE("EVT-026", "event", TBK_CASE_THOROUGH, every_synchronisation_with_an_event_waits),
    TBK_CASE("STR-019", "stream", TBK_CASE_THOROUGH, every_synchronisation_with_a_stream_waits),
    TBK_CASE("STR-022", "stream", TBK_CASE_THOROUGH, every_synchronisation_with_a_device_waits),
    TBK_CASE("EVT-026", "event callback", TBK_CASE_THOROUGH, an_event_is_waited_for_however_long),
    TBK_CASE("STR-019", "callback", TBK_CASE_THOROUGH, a_stream_is_waited_for_however_long),
    TBK_CASE("STR-022", "callback", TBK_CASE_THOROUGH, a_device_is_waited_for_however_long),
};
TBK_SUITE(sweep_order);
