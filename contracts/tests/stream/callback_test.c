/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "look.h"
#include "order.h"

enum { CALLS = 48 };

static void do_nothing(void* argument) {
  (void)argument;
}

static void refuses_null(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  const tbk_callback_ops_t* ops = fx->callback;
  int word = 0;
  CHECK_STATUS(TBK_INVALID, ops->callback_enqueue(fx->self, NULL, do_nothing, &word, &fx->error));
  CHECK_STATUS(TBK_INVALID, ops->callback_enqueue(fx->self, stream, NULL, &word, &fx->error));
  CHECK_STATUS(TBK_INVALID, ops->callback_enqueue(fx->self, NULL, NULL, NULL, &fx->error));
  fx_synchronize(fx, stream);
}

/* ------------------------------------------------------------------------------ how often -- */

typedef struct line {
  atomic_int next;    /* how many have come */
  atomic_int inside;  /* how many are running */
  atomic_int overlap; /* whether two ever ran at a time */
  atomic_int while_closed;
  const tbk_gate_t* gate;
} line_t;

typedef struct call {
  line_t* line;
  atomic_int runs;
  atomic_int place; /* its turn when it ran, from 1 */
} call_t;

typedef struct calls {
  line_t line;
  actor_t actor;
  tbk_gate_t gate;
  tbk_stream_t* stream;
  call_t calls[CALLS];
} calls_t;

static void note_call(void* argument) {
  call_t* call = argument;
  line_t* line = call->line;
  if (atomic_fetch_add(&line->inside, 1) != 0) atomic_store(&line->overlap, 1);
  if (line->gate != NULL && gate_is_closed(line->gate)) atomic_store(&line->while_closed, 1);
  atomic_fetch_add(&call->runs, 1);
  atomic_store(&call->place, atomic_fetch_add(&line->next, 1) + 1);
  atomic_fetch_sub(&line->inside, 1);
}

static calls_t* calls_begin(tbk_fixture_t* fx) {
  calls_t* calls = (calls_t*)(void*)fx_zeros(fx, sizeof *calls);
  calls->stream = fx_stream(fx);
  calls->line.gate = &calls->gate;
  for (int i = 0; i < CALLS; ++i)
    calls->calls[i].line = &calls->line;
  return calls;
}

static void enqueue_calls(actor_t* actor) {
  calls_t* calls = actor->argument;
  tbk_fixture_t* fx = &actor->fx;
  for (int i = 0; i < CALLS; ++i) {
    CHECK_OK(fx->callback->callback_enqueue(fx->self, calls->stream, note_call, &calls->calls[i],
                                            &fx->error));
    actor_step(actor);
  }
}

/* Behind a gate, so that all are there when the first may run. */
static calls_t* calls_run(tbk_fixture_t* fx) {
  calls_t* calls = calls_begin(fx);
  gate_close_over(fx, &calls->gate, calls->stream, 0);
  actor_start(fx, &calls->actor, enqueue_calls, calls);
  actor_settle(&calls->actor);
  process_settle();
  gate_open(fx, &calls->gate);
  actor_join(fx, &calls->actor);
  fx_synchronize(fx, calls->stream);
  return calls;
}

static void runs_exactly_once(tbk_fixture_t* fx) {
  calls_t* calls = calls_run(fx);
  REQUIRE_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
  fx_synchronize(fx, calls->stream);
  process_settle();
  for (int i = 0; i < CALLS; ++i) {
    int runs = atomic_load(&calls->calls[i].runs);
    CHECK_SAID(runs == 1, "each callback runs once", "callback %d of %d ran %d times", i + 1, CALLS,
               runs);
  }
}

/* Once the stream is synchronised: what runs a moment later is a fault of that. */
static void check_ran(const atomic_int* runs) {
  const int ran = atomic_load(runs);
  TBK_CHECKS(ran != 1 && look_count_later(runs, 1) ? "STR-019" : NULL);
  CHECK_EQUAL(1, ran);
}

typedef struct received {
  atomic_int runs;
  void* argument;
} received_t;

static received_t received_null;

static void receive(void* argument) {
  received_t* received = argument != NULL ? argument : &received_null;
  received->argument = argument;
  atomic_fetch_add(&received->runs, 1);
}

static void gets_its_argument(tbk_fixture_t* fx) {
  received_t* received = (received_t*)(void*)fx_zeros(fx, 8 * sizeof *received);
  tbk_stream_t* stream = fx_stream(fx);
  received_null.argument = received;
  atomic_store(&received_null.runs, 0);
  for (int i = 0; i < 8; ++i)
    REQUIRE_OK(fx->callback->callback_enqueue(fx->self, stream, receive, &received[i], &fx->error));
  REQUIRE_OK(fx->callback->callback_enqueue(fx->self, stream, receive, NULL, &fx->error));
  fx_synchronize(fx, stream);
  for (int i = 0; i < 8; ++i) {
    check_ran(&received[i].runs);
    CHECK(received[i].argument == &received[i]);
  }
  check_ran(&received_null.runs);
  CHECK(received_null.argument == NULL);
}

/* The stream is idle and asked nothing else: synchronising it alone must run the callback. */
static void runs_on_every_stream(tbk_fixture_t* fx) {
  calls_t* calls = calls_begin(fx);
  enum { MORE = 7 }; /* beside the one of calls_begin: a device has 8 at the least */
  for (int i = 0; i < MORE; ++i) {
    tbk_stream_t* stream = fx_stream(fx);
    REQUIRE_OK(
        fx->callback->callback_enqueue(fx->self, stream, note_call, &calls->calls[i], &fx->error));
    fx_synchronize(fx, stream);
    check_ran(&calls->calls[i].runs);
  }
}

/* ----------------------------------------------------------------------------- what is before -- */

typedef struct sight {
  order_t* order;
  work_t fetch; /* brings the result to the host */
  work_t look;  /* the callback */
  atomic_int while_closed;
} sight_t;

static void look_at_result(void* argument) {
  sight_t* sight = argument;
  if (gate_is_closed(&sight->order->gate)) atomic_store(&sight->while_closed, 1);
  memcpy(sight->look.host, sight->look.host_source, sight->order->bench.cell_bytes);
}

static void sight_body(actor_t* actor) {
  sight_t* sight = actor->argument;
  order_t* order = sight->order;
  tbk_fixture_t* fx = &actor->fx;
  order_hold(order, fx);
  CHECK_OK(work_enqueue(fx, &order->pairs[0].first, order->a));
  if (sight->fetch.kind != NULL) CHECK_OK(work_enqueue(fx, &sight->fetch, order->a));
  CHECK_OK(fx->callback->callback_enqueue(fx->self, order->a, look_at_result, sight, &fx->error));
}

static void sight_prepare(sight_t* sight, const work_kind_t* kind) {
  order_t* order = sight->order;
  bench_t* bench = &order->bench;
  tbk_fixture_t* fx = order->fx;
  bench_reset(fx, bench);
  order->pair_count = 0;
  work_t* work = &order_pair(order, kind->name)->first;
  uint64_t cell = bench_cell(bench);
  sight->fetch.kind = NULL;
  if (kind->flags & (WORK_WRITES | WORK_ON_HOST))
    work_write(fx, bench, work, kind, cell);
  else
    work_read(fx, bench, work, kind, cell);
  if (kind->flags & WORK_WRITES)
    work_read(fx, bench, &sight->fetch, bench_kind(bench, "download"), cell);
  work_chain(fx, bench, &sight->look, bench_kind(bench, "callback"),
             kind->flags & WORK_WRITES ? &sight->fetch : work);
  sight->look.expected = work->expected;
}

/* Every kind of work, and a download where the host cannot see it otherwise, then the callback. */
static void sees_earlier_work(tbk_fixture_t* fx, bool large, bool by_event) {
  order_t* order = order_begin(fx, large);
  sight_t* sight = (sight_t*)(void*)fx_zeros(fx, sizeof *sight);
  sight->order = order;
  if (by_event) order_hold_by_event(order);
  for (size_t i = 0; i < order->bench.kind_count; ++i) {
    const char* name = order->bench.kinds[i]->name;
    sight_prepare(sight, order->bench.kinds[i]);
    atomic_store(&sight->while_closed, 0);
    order_start_with(order, sight_body, sight);
    actor_settle(&order->actor);
    process_settle();
    order_finish(order);
    CHECK_SAID(memcmp(sight->look.expected, sight->look.host, order->bench.cell_bytes) == 0,
               "earlier work is complete and visible to a callback",
               "the effect of the %s is missing", name);
    TBK_CHECKS(by_event ? NULL : "CBK-004"); /* the gate is a callback before it */
    CHECK_SAID(!atomic_load(&sight->while_closed), "a callback runs after earlier work",
               "it ran while the %s before it was held", name);
  }
  order_end(order);
}

static void sees_every_kind_of_earlier_work(tbk_fixture_t* fx) {
  sees_earlier_work(fx, false, false);
}

static void sees_large_earlier_work(tbk_fixture_t* fx) {
  sees_earlier_work(fx, true, false);
}

static void waits_for_what_its_stream_waits_for(tbk_fixture_t* fx) {
  sees_earlier_work(fx, false, true);
}

static void sees_earlier_work_on_second_device(tbk_fixture_t* fx) {
  order_on_second_device(fx, sees_every_kind_of_earlier_work);
}

/* ---------------------------------------------------------------------------- what comes after -- */

static void later_body(actor_t* actor) {
  order_t* order = actor->argument;
  tbk_fixture_t* fx = &actor->fx;
  for (size_t i = 0; i < order->pair_count; ++i) {
    CHECK_OK(work_enqueue(fx, &order->pairs[i].first, order->a));
    actor_step(actor);
  }
}

/* Writes of every kind that are ready to go but for the callback, which is the gate itself. */
static void prepare_writes(order_t* order) {
  bench_t* bench = &order->bench;
  bench_reset(order->fx, bench);
  order->pair_count = 0;
  for (size_t i = 0; i < bench->kind_count; ++i) {
    if (!(bench->kinds[i]->flags & WORK_WRITES)) continue;
    order_pair_t* pair = order_pair(order, bench->kinds[i]->name);
    work_write(order->fx, bench, &pair->first, bench->kinds[i], bench_cell(bench));
    pair->expected = pair->first.expected;
    pair->result = work_result(&pair->first);
  }
}

/* Looks at the cells through stream b, which waits for nothing; false if b does not come through. */
static bool peek(order_t* order) {
  bench_t* bench = &order->bench;
  tbk_fixture_t* fx = order->fx;
  CHECK_OK(fx->core->download(fx->self, fx->device, bench->after, bench->memory, 0,
                              bench->cells_used * bench->cell_bytes, order->b, &fx->error));
  return order_comes_through(order, order->b);
}

static void check_not_begun(order_t* order) {
  for (size_t i = 0; i < order->pair_count; ++i) {
    const work_t* work = &order->pairs[i].first;
    const uint8_t* before = order->bench.before + work->target;
    CHECK_SAID(!gate_is_closed(&order->gate) ||
                   memcmp(before, order->pairs[i].result, order->bench.cell_bytes) == 0,
               "later work starts after the callback has returned", "the %s was run during it",
               work->kind->name);
  }
}

static void later_work_starts_when_it_has_returned(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  prepare_writes(order);
  order_start_with(order, later_body, order);
  bool through = actor_settle(&order->actor);
  process_settle();
  bool closed = gate_is_closed(&order->gate);
  if (closed && through) {
    tbk_status_t status = fx->stream->stream_query(fx->self, order->a, &fx->error);
    GATE_CHECK_PENDING(fx, &order->gate, status);
    if (gate_can_control(fx) && !(fx->blocking & TBK_ENQUEUE_DOWNLOAD)) {
      if (peek(order))
        check_not_begun(order);
      else
        fx_evidence(fx, TBK_NOT_SHOWN, "the other stream did not come through");
    } else {
      fx_evidence(fx, TBK_NOT_SHOWN, "no stream can look while another is held");
    }
  }
  order_finish(order);
  for (size_t i = 0; i < order->pair_count; ++i)
    CHECK_SAID(order_pair_holds(order, &order->pairs[i]), "later work runs after all",
               "the %s is missing", order->pairs[i].first.kind->name);
  order_end(order);
}

/* ---------------------------------------------------------------------------------- the line -- */

static void wait_for_stream(void* argument) {
  calls_t* calls = argument;
  tbk_fixture_t* fx = &calls->actor.fx;
  CHECK_OK(fx->stream->stream_synchronize(fx->self, calls->stream, &fx->error));
}

static void wait_for_device(void* argument) {
  calls_t* calls = argument;
  tbk_fixture_t* fx = &calls->actor.fx;
  CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
}

static void callbacks_of_a_stream_run_in_order(tbk_fixture_t* fx) {
  calls_t* calls = calls_run(fx);
  for (int i = 0; i < CALLS; ++i) {
    int place = atomic_load(&calls->calls[i].place);
    CHECK_SAID(place == i + 1, "callbacks run in the order of their stream",
               "callback %d came as number %d", i + 1, place);
  }
  TBK_CHECKS("CBK-004");
  CHECK_SAID(!atomic_load(&calls->line.while_closed), "callbacks run one after the other",
             "one ran while the first was still running");
}

static void synchronizing_waits_for_callbacks(tbk_fixture_t* fx) {
  calls_t* calls = calls_begin(fx);
  for (int round = 0; round < 4; ++round) {
    call_t* call = &calls->calls[round];
    gate_close_over(fx, &calls->gate, calls->stream, TBK_ENQUEUE_CALLBACK);
    CHECK_OK(fx->callback->callback_enqueue(fx->self, calls->stream, note_call, call, &fx->error));
    calls->actor.fx = *fx;
    CHECK(gate_held(fx, &calls->gate, round % 2 ? wait_for_device : wait_for_stream, calls));
    CHECK_EQUAL(1, atomic_load(&call->runs));
    gate_open(fx, &calls->gate);
  }
}

static void callbacks_of_a_stream_do_not_overlap(tbk_fixture_t* fx) {
  for (int round = 0; round < 4; ++round) {
    calls_t* calls = calls_run(fx);
    CHECK(!atomic_load(&calls->line.overlap));
    CHECK(!atomic_load(&calls->line.while_closed));
  }
}

static const tbk_case_t cases[] = {
    TBK_CASE("CBK-001", "callback", 0, refuses_null),
    TBK_CASE("CBK-002", "callback", 0, runs_exactly_once),
    TBK_CASE("CBK-002", "callback", 0, gets_its_argument),
    TBK_CASE("CBK-002", "callback", 0, runs_on_every_stream),
    TBK_CASE("CBK-003", "callback", 0, sees_every_kind_of_earlier_work),
    TBK_CASE("CBK-003", "callback", 0, sees_large_earlier_work),
    TBK_CASE("CBK-003", "callback event", 0, waits_for_what_its_stream_waits_for),
    TBK_CASE("CBK-003", "callback two_devices", 0, sees_earlier_work_on_second_device),
    TBK_CASE("CBK-004", "callback", 0, later_work_starts_when_it_has_returned),
    TBK_CASE("CBK-004", "callback", 0, callbacks_of_a_stream_do_not_overlap),
    TBK_CASE("CBK-006", "callback", 0, synchronizing_waits_for_callbacks),
    TBK_CASE("CBK-006", "callback", 0, callbacks_of_a_stream_run_in_order),
};
TBK_SUITE(callback);
