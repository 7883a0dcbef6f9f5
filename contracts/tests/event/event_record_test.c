/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Events: which point a record stands for.
 */
#include "event_record.h"

#include <sched.h>

#include "order.h"

static void run_query(tbk_fixture_t* fx, bool large, bool by_event) {
  order_t* order = order_begin(fx, large);
  if (by_event) order_hold_by_event(order);
  order_query(order, edge_record, query_event);
  order_end(order);
}

void record_covers_every_kind_of_work(tbk_fixture_t* fx) {
  run_query(fx, false, true);
}

void record_covers_large_work(tbk_fixture_t* fx) {
  run_query(fx, true, false);
}

void record_covers_work_on_second_device(tbk_fixture_t* fx) {
  order_on_second_device(fx, record_covers_every_kind_of_work);
}

static void synchronize_event_body(actor_t* actor) {
  order_t* order = actor->argument;
  tbk_fixture_t* fx = &actor->fx;
  for (int i = 0; i < 4; ++i)
    CHECK_OK(fx->event->event_synchronize(fx->self, order->event, &fx->error));
}

/* The gate is enqueued after the record, so one queue for all streams gets past the record. */
void event_completes_without_later_work(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  CHECK_OK(fx->event->event_record(fx->self, order->event, order->a, &fx->error));
  CHECK_OK(fx->event->event_record(fx->self, order->other, order->a, &fx->error));
  gate_close_over(fx, &order->gate, order->a, 0);
  tbk_status_t status = TBK_NOT_READY;
  FX_CHECK_EVENT_ENDS(fx, order->other, &status);
  CHECK_ANSWER(TBK_OK, status);
  actor_start(fx, &order->actor, synchronize_event_body, order);
  CHECK_SAID(actor_ends(&order->actor), "event_synchronize waits for earlier work only",
             "it waited for work enqueued after the record");
  gate_open(fx, &order->gate);
  actor_join(fx, &order->actor);
  fx_synchronize(fx, order->a);
  order_end(order);
}

static void synchronize_recorded(void* argument) {
  order_t* order = argument;
  tbk_fixture_t* fx = &order->actor.fx;
  CHECK_OK(fx->event->event_synchronize(fx->self, order->event, &fx->error));
}

/* From the call of record on, the old completion may not be seen any more. */
void recorded_again_it_is_pending_again(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  order->actor.fx = *fx;
  for (int round = 0; round < 16; ++round) {
    tbk_stream_t* stream = round % 2 ? order->a : order->b;
    gate_close_over(fx, &order->gate, stream, TBK_ENQUEUE_RECORD);
    CHECK_OK(fx->event->event_record(fx->self, order->event, stream, &fx->error));
    for (int i = 0; i < ORDER_QUERIES && gate_is_closed(&order->gate); ++i) {
      tbk_status_t status = fx->event->event_query(fx->self, order->event, &fx->error);
      TBK_CHECKS(status != TBK_NOT_READY ? gate_breach(fx, &order->gate) : NULL);
      CHECK_SAID(!gate_is_closed(&order->gate) || status == TBK_NOT_READY,
                 "NOT_READY: the new point is held", "%s after record %d", tbk_status_name(status),
                 round + 1);
    }
    CHECK(gate_held(fx, &order->gate, synchronize_recorded, order));
    gate_open(fx, &order->gate);
    CHECK_OK(fx->event->event_query(fx->self, order->event, &fx->error));
  }
  order_end(order);
}

/* The old point is held; the new one, on another stream, is not: now the event goes by the new. */
void recorded_again_it_leaves_the_old_point(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  if (gate_can_control(fx)) {
    gate_close_over(fx, &order->gate, order->a, TBK_ENQUEUE_RECORD);
    CHECK_OK(fx->event->event_record(fx->self, order->other, order->b, &fx->error));
    bool apart = order_comes_through(order, order->b);
    CHECK_OK(fx->event->event_record(fx->self, order->event, order->a, &fx->error));
    CHECK_OK(fx->event->event_record(fx->self, order->event, order->b, &fx->error));
    tbk_status_t status = TBK_NOT_READY;
    uint64_t begin = fx_awake_ns();
    while (apart && status == TBK_NOT_READY && fx_awake_ns() - begin < FX_PATIENCE_NS / 2) {
      status = fx->event->event_query(fx->self, order->event, &fx->error);
      sched_yield();
    }
    CHECK(!apart || status == TBK_OK);
    gate_open(fx, &order->gate);
  } else {
    fx_evidence(fx, fx->gate == TBK_GATE_SYNCHRONOUS ? TBK_TRIVIAL : TBK_NOT_SHOWN,
                "no stream can be held while another goes on");
  }
  fx_synchronize(fx, order->a);
  CHECK_OK(fx->event->event_synchronize(fx->self, order->event, &fx->error));
  order_end(order);
}

/* One event for all programs: each stands for another point. */
static order_t* begin_with_one_event(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  order->keeps_events = true;
  return order;
}

void query_goes_by_the_latest_of_many_records(tbk_fixture_t* fx) {
  order_t* order = begin_with_one_event(fx);
  order_query(order, edge_record, query_event);
  order_end(order);
}

void synchronize_goes_by_the_latest_of_many_records(tbk_fixture_t* fx) {
  order_t* order = begin_with_one_event(fx);
  order_host(order, edge_event_synchronize);
  order_end(order);
}
