/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Events: what a wait orders, and which record it stands for.
 */
#include "event_wait.h"

#include <string.h>

#include "order.h"

enum { WAIT_ROUNDS = 40, WAIT_STREAMS = 6 };

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
  fx->device = fx_second_device(fx);
  tbk_event_t* foreign = fx_event(fx, 0);
  tbk_stream_t* its_stream = fx_stream(fx);
  fx->device = first;
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

/* A fresh event each time, and each time a gate of its own: the n-th wait counts like the first. */
void wait_orders_work_many_times(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  for (int round = 0; round < WAIT_ROUNDS; ++round) {
    fx_disown_event(fx, order->event);
    fx->event->event_destroy(fx->self, order->event);
    order->event = fx_event(fx, 0);
    order_once(order, "copy", edge_wait);
  }
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
  CHECK_EQUAL(TBK_OK, status);
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
      CHECK_SAID(!gate_is_closed(&order->gate) || status == TBK_NOT_READY,
                 "NOT_READY behind the wait", "%s from stream %d", tbk_status_name(status), i + 1);
    }
    tbk_status_t status = fx->event->event_query(fx->self, order->other, &fx->error);
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
    uint64_t begin = fx_now_ns();
    bool through = false;
    while (apart && !through && fx_now_ns() - begin < FX_PATIENCE_NS / 2)
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

/* ------------------------------------------------------------------------------ who may wait -- */

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
  if (actor_settle(&order->actor)) crowd_check_held(crowd);
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
    tbk_status_t status = fx->stream->stream_query(fx->self, order->a, &fx->error);
    CHECK(!gate_is_closed(&order->gate) || status == TBK_NOT_READY);
  }
  gate_open(fx, &order->gate);
  actor_join(fx, &order->actor);
  tbk_status_t status = TBK_NOT_READY;
  CHECK(fx_poll_stream(fx, order->a, &status));
  CHECK_EQUAL(TBK_OK, status);
  order_stream_works(fx, order->a);
  order_end(order);
}

/* --------------------------------------------------------------------------- across devices -- */

typedef struct crossing {
  order_t* order;
  tbk_stream_t* remote;
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
  edge_record(order, fx);
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

/* The wait may be one on the host, so only the order is looked at. */
static void wait_orders_work_of(tbk_fixture_t* fx, int32_t waiting) {
  crossing_t* crossing = (crossing_t*)(void*)fx_zeros(fx, sizeof *crossing);
  order_t* order = crossing->order = order_begin(fx, false);
  int32_t first = fx->device;
  fx->device = waiting;
  crossing->remote = fx_stream(fx);
  fx->device = first;
  gate_close_over(fx, &order->gate, order->a, 0);
  bool closed = gate_is_closed(&order->gate);
  actor_start(fx, &order->actor, crossing_body, crossing);
  bool through = actor_settle(&order->actor);
  process_settle();
  if (closed && through) {
    tbk_status_t status = fx->stream->stream_query(fx->self, crossing->remote, &fx->error);
    CHECK(!gate_is_closed(&order->gate) || status == TBK_NOT_READY);
  } else if (closed) {
    fx_evidence(fx, TBK_TRIVIAL, "a wait across devices is one of the host");
  }
  gate_open(fx, &order->gate);
  actor_join(fx, &order->actor);
  fx_synchronize(fx, crossing->remote);
  CHECK(!atomic_load(&crossing->ran_while_closed));
  CHECK(fx->callback == NULL || atomic_load(&crossing->ran));
  if (closed && through) crossing_control(crossing);
  order_end(order);
}

static void wait_orders_work_of_first(tbk_fixture_t* fx) {
  wait_orders_work_of(fx, 0);
}

void wait_orders_work_across_devices(tbk_fixture_t* fx) {
  wait_orders_work_of(fx, fx_second_device(fx));
  order_on_second_device(fx, wait_orders_work_of_first);
}
