/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Events: who may wait for one, also on another device.
 */
#include <string.h>

#include "event_crowd.h"
#include "order.h"

enum { WAIT_STREAMS = 6 };

typedef struct crowd {
  order_t* order;
  tbk_stream_t* streams[WAIT_STREAMS];
  work_t works[WAIT_STREAMS];
} crowd_t;

static void crowd_body(actor_t* actor) {
  crowd_t* crowd = actor->argument;
  order_t* order = crowd->order;
  tbk_fixture_t* fx = &actor->fx;
  CHECK_OK(work_enqueue(fx, &order->pairs[0].first, order->a));
  CHECK_OK(fx->event->event_record(fx->self, order->event, order->a, &fx->error));
  for (int i = 0; i < WAIT_STREAMS; ++i) {
    CHECK_OK(fx->event->event_wait(fx->self, crowd->streams[i], order->event, &fx->error));
    CHECK_OK(work_enqueue(fx, &crowd->works[i], crowd->streams[i]));
    actor_step(actor);
  }
}

static void crowd_check_held(crowd_t* crowd) {
  tbk_fixture_t* fx = crowd->order->fx;
  for (int i = 0; i < WAIT_STREAMS; ++i) {
    tbk_status_t status = fx->stream->stream_query(fx->self, crowd->streams[i], &fx->error);
    TBK_CHECKS(status != TBK_NOT_READY ? gate_breach(fx, &crowd->order->gate) : NULL);
    CHECK_SAID(!gate_is_closed(&crowd->order->gate) || status == TBK_NOT_READY,
               "NOT_READY from every stream that waits", "%s from waiting stream %d of %d",
               tbk_status_name(status), i + 1, WAIT_STREAMS);
  }
}

static void crowd_check_outcome(crowd_t* crowd) {
  order_t* order = crowd->order;
  for (int i = 0; i < WAIT_STREAMS; ++i) {
    CHECK_SAID(memcmp(order->pairs[0].first.expected, work_result(&crowd->works[i]),
                      order->bench.cell_bytes) == 0,
               "what the event stands for", "waiting stream %d of %d read before it", i + 1,
               WAIT_STREAMS);
  }
}

void many_streams_wait_for_one_event(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  const work_kind_t* copy = bench_kind(&order->bench, "copy");
  crowd_t* crowd = (crowd_t*)(void*)fx_zeros(fx, sizeof *crowd);
  crowd->order = order;
  bench_reset(fx, &order->bench);
  uint64_t cell = bench_cell(&order->bench);
  work_write(fx, &order->bench, &order_pair(order, "crowd")->first, copy, cell);
  for (int i = 0; i < WAIT_STREAMS; ++i) {
    crowd->streams[i] = i == 0 ? order->b : i == 1 ? order->c : i == 2 ? order->a : fx_stream(fx);
    work_read(fx, &order->bench, &crowd->works[i], copy, cell);
  }
  bench_upload(fx, &order->bench);
  gate_close_over(fx, &order->gate, order->a, 0);
  actor_start(fx, &order->actor, crowd_body, crowd);
  bool through = actor_settle(&order->actor);
  process_settle();
  if (through) crowd_check_held(crowd);
  gate_open(fx, &order->gate);
  actor_join(fx, &order->actor);
  for (int i = 0; i < WAIT_STREAMS; ++i)
    fx_synchronize(fx, crowd->streams[i]);
  bench_download(fx, &order->bench);
  crowd_check_outcome(crowd);
  order_control(order);
  order_end(order);
}

static void own_wait_body(actor_t* actor) {
  order_t* order = actor->argument;
  tbk_fixture_t* fx = &actor->fx;
  for (int round = 0; round < 4; ++round) {
    CHECK_OK(fx->event->event_record(fx->self, order->event, order->a, &fx->error));
    CHECK_OK(fx->event->event_wait(fx->self, order->a, order->event, &fx->error));
  }
}

/* Waiting for its own past adds nothing, and must not stop the stream. */
void stream_waits_for_its_own_event(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  gate_close_over(fx, &order->gate, order->a, 0);
  bool closed = gate_is_closed(&order->gate);
  actor_start(fx, &order->actor, own_wait_body, order);
  bool through = actor_settle(&order->actor);
  if (closed && through) {
    tbk_status_t status = order_ask(order, order->a);
    GATE_CHECK_PENDING(fx, &order->gate, status);
  }
  gate_open(fx, &order->gate);
  actor_join(fx, &order->actor);
  tbk_status_t status = TBK_NOT_READY;
  FX_CHECK_STREAM_ENDS(fx, order->a, &status);
  CHECK_ANSWER(TBK_OK, status);
  order_stream_works(fx, order->a);
  order_end(order);
}

/* --------------------------------------------------------------------------- across devices -- */

typedef struct crossing {
  order_t* order;
  tbk_stream_t* remote;
  tbk_stream_t* from;  /* on it the event is recorded */
  tbk_stream_t* after; /* NULL, or made when `from` was destroyed, maybe in its place */
  bool leaves;         /* `from` is destroyed before anybody waits */
  atomic_int ran_while_closed;
  atomic_int ran;
} crossing_t;

static void note_gate(void* argument) {
  crossing_t* crossing = argument;
  if (gate_is_closed(&crossing->order->gate)) atomic_store(&crossing->ran_while_closed, 1);
  atomic_store(&crossing->ran, 1);
}

static void crossing_body(actor_t* actor) {
  crossing_t* crossing = actor->argument;
  order_t* order = crossing->order;
  tbk_fixture_t* fx = &actor->fx;
  CHECK_OK(fx->event->event_record(fx->self, order->event, crossing->from, &fx->error));
  if (crossing->leaves) {
    fx->stream->stream_destroy(fx->self, crossing->from);
    CHECK_OK(fx->stream->stream_create(fx->self, fx->device, 0, &crossing->after, &fx->error));
  }
  CHECK_OK(fx->event->event_wait(fx->self, crossing->remote, order->event, &fx->error));
  if (fx->callback != NULL)
    CHECK_OK(fx->callback->callback_enqueue(fx->self, crossing->remote, note_gate, crossing,
                                            &fx->error));
}

/* The same callback without the wait. Where callbacks run one at a time it does not come through. */
static void crossing_control(crossing_t* crossing) {
  order_t* order = crossing->order;
  tbk_fixture_t* fx = order->fx;
  if (!gate_can_control(fx)) return;
  gate_close_over(fx, &order->gate, order->a, 0);
  CHECK_OK(
      fx->callback->callback_enqueue(fx->self, crossing->remote, note_gate, crossing, &fx->error));
  order_comes_through(order, crossing->remote);
  gate_open(fx, &order->gate);
  fx_synchronize(fx, crossing->remote);
  gate_control(fx, atomic_load(&crossing->ran_while_closed));
}

static crossing_t* crossing_begin(tbk_fixture_t* fx, int32_t waiting, bool leaves) {
  crossing_t* crossing = (crossing_t*)(void*)fx_zeros(fx, sizeof *crossing);
  order_t* order = crossing->order = order_begin(fx, false);
  int32_t first = fx->device;
  fx_use_device(fx, waiting);
  crossing->remote = fx_stream(fx);
  fx_use_device(fx, first);
  crossing->leaves = leaves;
  crossing->from = leaves ? fx_stream(fx) : order->a;
  return crossing;
}

/* GATE_CHECK_PENDING tries the gate on its stream, which may be gone. */
static void crossing_check_held(crossing_t* crossing) {
  const tbk_gate_t* gate = &crossing->order->gate;
  tbk_fixture_t* fx = crossing->order->fx;
  tbk_status_t status = fx->stream->stream_query(fx->self, crossing->remote, &fx->error);
  if (!crossing->leaves) {
    GATE_CHECK_PENDING(fx, gate, status);
    return;
  }
  CHECK_SAID(!gate_is_closed(gate) || status == TBK_NOT_READY,
             "NOT_READY: the event is pending, though its stream is destroyed", "%s",
             tbk_status_name(status));
}

/* The wait may be one on the host, so only the order is looked at. */
static void wait_orders_work_of(tbk_fixture_t* fx, int32_t waiting, bool leaves) {
  crossing_t* crossing = crossing_begin(fx, waiting, leaves);
  order_t* order = crossing->order;
  gate_close_over(fx, &order->gate, crossing->from, 0);
  bool closed = gate_is_closed(&order->gate);
  if (leaves) fx_disown_stream(fx, crossing->from);
  actor_start(fx, &order->actor, crossing_body, crossing);
  bool through = actor_settle(&order->actor);
  process_settle();
  if (closed && through)
    crossing_check_held(crossing);
  else if (closed)
    fx_evidence(fx, TBK_TRIVIAL, leaves ? order_waits : "a wait across devices is one of the host");
  gate_open(fx, &order->gate);
  actor_join(fx, &order->actor);
  if (crossing->after != NULL) fx_adopt_stream(fx, crossing->after);
  fx_synchronize(fx, crossing->remote);
  CHECK(!atomic_load(&crossing->ran_while_closed));
  CHECK(fx->callback == NULL || atomic_load(&crossing->ran));
  if (closed && through) crossing_control(crossing);
  order_end(order);
}

static void wait_orders_work_of_first(tbk_fixture_t* fx) {
  wait_orders_work_of(fx, 0, false);
}

void wait_orders_work_across_devices(tbk_fixture_t* fx) {
  wait_orders_work_of(fx, fx_second_device(fx), false);
  order_on_second_device(fx, wait_orders_work_of_first);
}

/* A destroyed stream runs to its end, and whoever waits for its event waits for that. */
void wait_orders_work_of_a_stream_that_is_gone(tbk_fixture_t* fx) {
  wait_orders_work_of(fx, fx->device, true);
}

static void wait_of_first_for_a_stream_that_is_gone(tbk_fixture_t* fx) {
  wait_orders_work_of(fx, 0, true);
}

void wait_orders_work_of_a_far_stream_that_is_gone(tbk_fixture_t* fx) {
  wait_orders_work_of(fx, fx_second_device(fx), true);
  order_on_second_device(fx, wait_of_first_for_a_stream_that_is_gone);
}
