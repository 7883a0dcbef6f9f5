/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads that wait and ask at once: while one is inside a call that waits for work, others wait for the same
 * work, or ask for it, and none of them is told that it is complete while a gate holds it.
 */
#include "actor.h"
#include "dimensions.h"
#include "gate.h"

enum { MOST = 8 };

typedef enum call {
  STREAM_WAIT,
  DEVICE_WAIT,
  EVENT_WAIT, /* those before wait, those after answer at once */
  STREAM_ASK,
  EVENT_ASK,
  TIME_ASK,
  CALLS,
  EACH = CALLS /* one thread for each of the calls that there are */
} call_t;

SWEEP_DIMENSION(inside_axis, "inside", {"stream_synchronize", STREAM_WAIT},
                {"device_synchronize", DEVICE_WAIT}, {"event_synchronize", EVENT_WAIT});
SWEEP_DIMENSION(each_axis, "meanwhile", {"each", EACH});
SWEEP_DIMENSION(meanwhile_axis, "meanwhile", {"stream_synchronize", STREAM_WAIT},
                {"device_synchronize", DEVICE_WAIT}, {"event_synchronize", EVENT_WAIT},
                {"stream_query", STREAM_ASK}, {"event_query", EVENT_ASK},
                {"event_elapsed", TIME_ASK});
SWEEP_DIMENSION(many_axis, "threads", {"1", 1}, {"3", 3});
SWEEP_DIMENSION(marks_axis, "events", {"one", 0}, {"each_its_own", 1});

typedef struct waiter {
  actor_t actor;
  struct waiting* all;
  call_t call;
  tbk_event_t *start, *end;
  tbk_status_t status;
  bool early; /* the gate was closed when it came back */
} waiter_t;

typedef struct waiting {
  const sweep_case_t* one;
  tbk_gate_t gate;
  tbk_stream_t* stream;
  tbk_event_t *start, *end; /* NULL: there are none */
  waiter_t inside, others[MOST];
  size_t count;
} waiting_t;

static bool offered(const tbk_fixture_t* fx, int64_t call) {
  if (call == TIME_ASK && !TBK_HAS(fx->event, tbk_event_ops_t, event_elapsed)) return false;
  return (call != EVENT_WAIT && call != EVENT_ASK) || fx->event != NULL;
}

static bool waiting_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  if (sweep_get(one, &sweep_device) == 1 && fx->device_count < 2) return false;
  if (sweep_get(one, &marks_axis) == 1 && fx->event == NULL) return false;
  return offered(fx, sweep_get(one, &inside_axis)) && offered(fx, sweep_get(one, &meanwhile_axis));
}

static tbk_status_t make_call(tbk_fixture_t* fx, const waiter_t* it) {
  double ms = 0;
  switch (it->call) {
    case STREAM_WAIT:
      return fx->stream->stream_synchronize(fx->self, it->all->stream, &fx->error);
    case DEVICE_WAIT:
      return fx->stream->device_synchronize(fx->self, fx->device, &fx->error);
    case EVENT_WAIT:
      return fx->event->event_synchronize(fx->self, it->end, &fx->error);
    case STREAM_ASK:
      return fx->stream->stream_query(fx->self, it->all->stream, &fx->error);
    case EVENT_ASK:
      return fx->event->event_query(fx->self, it->end, &fx->error);
    default:
      return fx->event->event_elapsed(fx->self, it->start, it->end, &ms, &fx->error);
  }
}

static void wait_or_ask(actor_t* actor) {
  waiter_t* it = actor->argument;
  it->status = make_call(&actor->fx, it);
  it->early = gate_is_closed(&it->all->gate);
}

/* ------------------------------------------------------------------------------- what there is -- */

static tbk_event_t* mark(tbk_fixture_t* fx, tbk_stream_t* stream) {
  tbk_event_t* event = fx_event(fx, TBK_EVENT_TIMING);
  CHECK_OK(fx->event->event_record(fx->self, event, stream, &fx->error));
  return event;
}

static void add(tbk_fixture_t* fx, waiting_t* it, waiter_t* waiter, call_t call) {
  waiter->all = it;
  waiter->call = call;
  waiter->start = it->start;
  waiter->end = it->end;
  if (sweep_get(it->one, &marks_axis) == 1) waiter->end = mark(fx, it->stream);
}

static void add_others(tbk_fixture_t* fx, waiting_t* it) {
  const int64_t many = sweep_get(it->one, &many_axis);
  const bool each = sweep_get(it->one, &each_axis) == EACH;
  for (int call = 0; each && call < CALLS; call++)
    if (offered(fx, call)) add(fx, it, &it->others[it->count++], (call_t)call);
  for (int64_t i = 0; !each && i < many; i++)
    add(fx, it, &it->others[it->count++], (call_t)sweep_get(it->one, &meanwhile_axis));
}

/* The events are recorded behind the gate, where that does not wait for it. */
static void waiting_begin(tbk_fixture_t* fx, waiting_t* it, const sweep_case_t* one) {
  it->one = one;
  it->stream = fx_stream(fx);
  gate_close_over(fx, &it->gate, it->stream, fx->event != NULL ? TBK_ENQUEUE_RECORD : 0);
  if (fx->event != NULL) it->start = mark(fx, it->stream), it->end = mark(fx, it->stream);
  add(fx, it, &it->inside, (call_t)sweep_get(one, &inside_axis));
  add_others(fx, it);
}

/* ---------------------------------------------------------------------------------- what came -- */

static const char* name_of(call_t call) {
  return call < EVENT_WAIT + 1 ? inside_axis_values[call].name : meanwhile_axis_values[call].name;
}

/* Checks that who asks is told NOT_READY at most, and who waits nothing before the work is complete. */
static void check_answer(const waiter_t* it, bool alone) {
  static const char* const clauses[CALLS] = {"STR-019", "STR-022", "EVT-026",
                                             "STR-015", "EVT-023", "EVT-031"};
  const bool asks = it->call > EVENT_WAIT;
  const bool right = it->status == TBK_OK ? !it->early : asks && it->status == TBK_NOT_READY;
  TBK_CHECKS(alone ? clauses[it->call] : NULL);
  CHECK_SAID(right, asks ? "NOT_READY while the work is held" : "OK once the work is complete",
             "%s from %s%s", tbk_status_name(it->status), name_of(it->call),
             it->early ? ", while it is held" : "");
}

static void run_waiting(tbk_fixture_t* fx, sweep_case_t* one) {
  waiting_t* it = (waiting_t*)(void*)fx_zeros(fx, sizeof *it);
  if (sweep_get(one, &sweep_device) == 1) fx_use_device(fx, fx_second_device(fx));
  waiting_begin(fx, it, one);
  actor_start(fx, &it->inside.actor, wait_or_ask, &it->inside);
  const bool held = gate_is_closed(&it->gate) && !actor_settle(&it->inside.actor);
  for (size_t i = 0; i < it->count; i++)
    actor_start(fx, &it->others[i].actor, wait_or_ask, &it->others[i]);
  if (held) process_settle();
  if (held && gate_is_closed(&it->gate)) gate_shows(fx);
  gate_open(fx, &it->gate);
  actor_join(fx, &it->inside.actor);
  for (size_t i = 0; i < it->count; i++)
    actor_join(fx, &it->others[i].actor);
  check_answer(&it->inside, true);
  for (size_t i = 0; i < it->count; i++)
    check_answer(&it->others[i], false);
}

static void threads_wait_and_ask_while_another_one_waits(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&inside_axis, &each_axis}, waiting_fits, run_waiting, 2};
  sweep_run(fx, &space);
}

static void threads_wait_and_ask_beside_every_call_that_waits(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&inside_axis, &meanwhile_axis, &many_axis, &marks_axis, &sweep_device},
      waiting_fits,
      run_waiting,
      3};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("THR-001", "stream", 0, threads_wait_and_ask_while_another_one_waits),
    TBK_CASE("THR-001", "stream", TBK_CASE_THOROUGH,
             threads_wait_and_ask_beside_every_call_that_waits),
};
TBK_SUITE(thread_wait);
