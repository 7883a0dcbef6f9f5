/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Events: what a wait orders, and which record it stands for.
 */
#include "event_wait.h"

#include "order.h"

enum { WAIT_ROUNDS = 40 };

static void run_edge(tbk_fixture_t* fx, const char* kind, order_edge_fn edge) {
  order_t* order = order_begin(fx, false);
  order_streams(order, kind, edge);
  order_end(order);
}

/* ------------------------------------------------------------------------------ requirements -- */

void wait_refuses_null(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  tbk_event_t* event = fx_event(fx, 0);
  CHECK_STATUS(TBK_INVALID, fx->event->event_wait(fx->self, NULL, event, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->event->event_wait(fx->self, stream, NULL, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->event->event_wait(fx->self, NULL, NULL, &fx->error));
  order_stream_works(fx, stream);
}

void wait_refuses_an_event_of_another_device(tbk_fixture_t* fx) {
  int32_t first = fx->device;
  tbk_stream_t* stream = fx_stream(fx);
  fx_use_device(fx, fx_second_device(fx));
  tbk_event_t* foreign = fx_event(fx, 0);
  tbk_stream_t* its_stream = fx_stream(fx);
  fx_use_device(fx, first);
  CHECK_STATUS(TBK_INVALID, fx->event->event_wait(fx->self, stream, foreign, &fx->error));
  REQUIRE_OK(fx->event->event_record(fx->self, foreign, its_stream, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->event->event_wait(fx->self, stream, foreign, &fx->error));
  order_stream_works(fx, stream);
  fx_synchronize(fx, its_stream);
}

/* --------------------------------------------------------------------------- what it orders -- */

void wait_orders_every_two_kinds_of_work(tbk_fixture_t* fx) {
  run_edge(fx, NULL, edge_wait);
}

void wait_orders_work_on_second_device(tbk_fixture_t* fx) {
  order_on_second_device(fx, wait_orders_every_two_kinds_of_work);
}

void wait_orders_work_after_refused_calls(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  CHECK_STATUS(TBK_INVALID, fx->event->event_record(fx->self, NULL, stream, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->event->event_wait(fx->self, stream, NULL, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->stream->stream_query(fx->self, NULL, &fx->error));
  run_edge(fx, "copy", edge_wait);
}

/* Each time a gate and an event of its own: the n-th wait counts like the first. */
void wait_orders_work_many_times(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  for (int round = 0; round < WAIT_ROUNDS; ++round)
    order_once(order, "copy", edge_wait);
  order_control(order);
  order_end(order);
}

static void edge_second_wait(order_t* order, tbk_fixture_t* fx) {
  const tbk_event_ops_t* event = fx->event;
  CHECK_OK(event->event_record(fx->self, order->event, order->c, &fx->error));
  CHECK_OK(event->event_wait(fx->self, order->b, order->event, &fx->error));
  CHECK_OK(event->event_wait(fx->self, order->b, order->event, &fx->error));
  edge_wait(order, fx);
}

/* b has waited for the event before; what it stood for then is long complete. */
void wait_orders_work_after_an_earlier_wait(tbk_fixture_t* fx) {
  run_edge(fx, "copy", edge_second_wait);
}

static void edge_chain(order_t* order, tbk_fixture_t* fx) {
  const tbk_event_ops_t* event = fx->event;
  CHECK_OK(event->event_record(fx->self, order->event, order->a, &fx->error));
  CHECK_OK(event->event_wait(fx->self, order->c, order->event, &fx->error));
  CHECK_OK(event->event_record(fx->self, order->other, order->c, &fx->error));
  CHECK_OK(event->event_wait(fx->self, order->b, order->other, &fx->error));
}

/* An event of a stream that only waits stands for what that stream waits for. */
void wait_orders_work_along_a_chain_of_streams(tbk_fixture_t* fx) {
  run_edge(fx, "copy", edge_chain);
}

static void do_nothing(void* argument) {
  (void)argument;
}

static void circle_body(actor_t* actor) {
  order_t* order = actor->argument;
  tbk_fixture_t* fx = &actor->fx;
  const tbk_event_ops_t* event = fx->event;
  CHECK_OK(work_enqueue(fx, &order->pairs[0].first, order->b));
  CHECK_OK(event->event_record(fx->self, order->other, order->b, &fx->error));
  CHECK_OK(event->event_wait(fx->self, order->a, order->other, &fx->error));
  CHECK_OK(event->event_record(fx->self, order->event, order->a, &fx->error));
  CHECK_OK(event->event_wait(fx->self, order->b, order->event, &fx->error));
  CHECK_OK(work_enqueue(fx, &order->pairs[0].second, order->b));
}

/* b waits for a, which waits for what b did before: a wait that held all of b would never end. */
void wait_holds_what_comes_later_only(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  const work_kind_t* copy = bench_kind(&order->bench, "copy");
  order_pair_t* pair = order_pair(order, "circle");
  bench_reset(fx, &order->bench);
  uint64_t cell = bench_cell(&order->bench);
  work_write(fx, &order->bench, &pair->first, copy, cell);
  work_read(fx, &order->bench, &pair->second, copy, cell);
  pair->expected = pair->first.expected;
  pair->result = work_result(&pair->second);
  bench_upload(fx, &order->bench);
  gate_close_over(fx, &order->gate, order->b, 0);
  actor_start(fx, &order->actor, circle_body, order);
  actor_settle(&order->actor);
  gate_open(fx, &order->gate);
  actor_join(fx, &order->actor);
  tbk_status_t status = TBK_NOT_READY;
  CHECK_SAID(fx_poll_stream(fx, order->b, &status), "only later work waits", "earlier work does");
  CHECK_ANSWER(TBK_OK, status);
  fx_synchronize(fx, order->a);
  bench_download(fx, &order->bench);
  CHECK(order_pair_holds(order, pair));
  order_end(order);
}

/* b waits for a, and c for b: what c stands for then is not complete before what a holds back. */
static void places_body(actor_t* actor) {
  order_t* order = actor->argument;
  tbk_fixture_t* fx = &actor->fx;
  const tbk_event_ops_t* event = fx->event;
  CHECK_OK(work_enqueue(fx, &order->pairs[0].first, order->b));
  if (fx->callback != NULL)
    CHECK_OK(fx->callback->callback_enqueue(fx->self, order->c, do_nothing, order, &fx->error));
  CHECK_OK(event->event_record(fx->self, order->event, order->a, &fx->error));
  CHECK_OK(event->event_wait(fx->self, order->b, order->event, &fx->error));
  CHECK_OK(event->event_record(fx->self, order->other, order->b, &fx->error));
  CHECK_OK(event->event_wait(fx->self, order->c, order->other, &fx->error));
}

void waits_and_records_keep_their_place(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  work_t* work = &order_pair(order, "place")->first;
  bench_reset(fx, &order->bench);
  work_write(fx, &order->bench, work, bench_kind(&order->bench, "copy"), bench_cell(&order->bench));
  bench_upload(fx, &order->bench);
  gate_close_over(fx, &order->gate, order->a, 0);
  bool closed = gate_is_closed(&order->gate);
  actor_start(fx, &order->actor, places_body, order);
  bool through = actor_settle(&order->actor);
  process_settle();
  if (closed && through) {
    const tbk_stream_t* streams[] = {order->b, order->c};
    for (int i = 0; i < 2; ++i) {
      tbk_status_t status =
          fx->stream->stream_query(fx->self, (tbk_stream_t*)streams[i], &fx->error);
      TBK_CHECKS(status != TBK_NOT_READY ? gate_breach(fx, &order->gate) : NULL);
      CHECK_SAID(!gate_is_closed(&order->gate) || status == TBK_NOT_READY,
                 "NOT_READY behind the wait", "%s from stream %d", tbk_status_name(status), i + 1);
    }
    tbk_status_t status = fx->event->event_query(fx->self, order->other, &fx->error);
    TBK_CHECKS(status != TBK_NOT_READY ? gate_breach(fx, &order->gate) : NULL);
    CHECK_SAID(!gate_is_closed(&order->gate) || status == TBK_NOT_READY,
               "NOT_READY: the record is behind the wait", "%s", tbk_status_name(status));
  } else if (closed) {
    fx_evidence(fx, TBK_TRIVIAL, "a call that enqueues waits on the host");
  }
  gate_open(fx, &order->gate);
  actor_join(fx, &order->actor);
  fx_synchronize(fx, order->b);
  fx_synchronize(fx, order->c);
  CHECK_OK(fx->event->event_query(fx->self, order->other, &fx->error));
  order_end(order);
}

/* -------------------------------------------------------------------------- which record it is -- */

static void edge_recorded_again_elsewhere(order_t* order, tbk_fixture_t* fx) {
  edge_wait(order, fx);
  CHECK_OK(fx->event->event_record(fx->self, order->event, order->c, &fx->error));
}

/* c has nothing to do, so the later record is complete at once; b must not go by it. */
void wait_keeps_to_the_record_before_it(tbk_fixture_t* fx) {
  run_edge(fx, "copy", edge_recorded_again_elsewhere);
}

/* Only where a held stream leaves others alone: the event is recorded again behind a closed gate,
   and b, which waited before that, goes on. */
void wait_is_not_held_by_a_later_record_elsewhere(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  CHECK_OK(fx->event->event_record(fx->self, order->event, order->c, &fx->error));
  CHECK_OK(fx->event->event_wait(fx->self, order->b, order->event, &fx->error));
  if (gate_can_control(fx)) {
    gate_close_over(fx, &order->gate, order->a, TBK_ENQUEUE_RECORD);
    bool apart = order_comes_through(order, order->b);
    CHECK_OK(fx->event->event_record(fx->self, order->event, order->a, &fx->error));
    uint64_t begin = fx_awake_ns();
    bool through = false;
    while (apart && !through && fx_awake_ns() - begin < FX_PATIENCE_NS / 2)
      through = order_comes_through(order, order->b);
    CHECK_SAID(!apart || through, "the wait is for the record before it",
               "a later record on another stream holds it");
    gate_open(fx, &order->gate);
  } else {
    fx_evidence(fx, fx->gate == TBK_GATE_SYNCHRONOUS ? TBK_TRIVIAL : TBK_NOT_SHOWN,
                "no stream can be held while another goes on");
  }
  fx_synchronize(fx, order->a);
  order_stream_works(fx, order->b);
  order_end(order);
}

static void own_record_body(actor_t* actor) {
  order_t* order = actor->argument;
  tbk_fixture_t* fx = &actor->fx;
  const tbk_event_ops_t* event = fx->event;
  for (int round = 0; round < 8; ++round) {
    CHECK_OK(event->event_wait(fx->self, order->b, order->event, &fx->error));
    CHECK_OK(event->event_record(fx->self, order->event, order->b, &fx->error));
  }
  CHECK_OK(fx->stream->stream_synchronize(fx->self, order->b, &fx->error));
}

/* b waits for the old point and records the new one behind the wait: going by the new one, it would
   wait for itself. */
void wait_is_not_held_by_a_later_record(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  actor_start(fx, &order->actor, own_record_body, order);
  CHECK_SAID(actor_ends(&order->actor), "the wait is for the record before it",
             "a stream waits for a record that it has yet to reach");
  actor_join(fx, &order->actor);
  order_stream_works(fx, order->b);
  order_end(order);
}

/* The old point is complete; what is waited for is the new one. */
void wait_for_the_new_point_of_an_event(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  REQUIRE_OK(fx->event->event_record(fx->self, order->event, order->c, &fx->error));
  REQUIRE_OK(fx->event->event_synchronize(fx->self, order->event, &fx->error));
  order_streams(order, "copy", edge_wait);
  order_end(order);
}

static void edge_destroyed(order_t* order, tbk_fixture_t* fx) {
  tbk_event_t* event = NULL;
  CHECK_OK(fx->event->event_create(fx->self, fx->device, 0, &event, &fx->error));
  if (event == NULL) return;
  CHECK_OK(fx->event->event_record(fx->self, event, order->a, &fx->error));
  CHECK_OK(fx->event->event_wait(fx->self, order->b, event, &fx->error));
  fx->event->event_destroy(fx->self, event);
  CHECK_OK(fx->event->event_create(fx->self, fx->device, 0, &event, &fx->error));
  CHECK_OK(fx->event->event_record(fx->self, event, order->c, &fx->error));
  fx->event->event_destroy(fx->self, event);
}

/* The next event may well get the place of the one that is gone; it is complete at once. */
void waits_outlive_the_event(tbk_fixture_t* fx) {
  run_edge(fx, NULL, edge_destroyed);
}
