/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "order.h"

#include <sched.h>

#include "wait.h"

/* No outcome depends on it: a longer time would only find calls that give up later. */
static const uint64_t hold_long_ns = 40000000;

/* -------------------------------------------------------------------------- the host programs -- */

/* Several works of one kind into one place: what is seen must be the last. A large copy still runs
   when a call that does not wait for copies has returned. */
static void works_of(order_t* order, const work_kind_t* kind) {
  bench_reset(order->fx, &order->bench);
  order->pair_count = 0;
  uint64_t cell = bench_cell(&order->bench);
  size_t count = order->bench.cells == ORDER_LARGE_CELLS ? ORDER_LARGE_WORKS : 1;
  for (size_t i = 0; i < count; ++i) {
    order_pair_t* pair = order_pair(order, kind->name);
    work_t* work = &pair->first;
    if (kind->flags & (WORK_WRITES | WORK_ON_HOST))
      work_write(order->fx, &order->bench, work, kind, cell);
    else
      work_read(order->fx, &order->bench, work, kind, bench_cell(&order->bench));
    pair->expected = work->expected;
    pair->result = work_result(work);
  }
}

static void enqueue_works(order_t* order, tbk_fixture_t* fx) {
  order_hold(order, fx);
  for (size_t i = 0; i < order->pair_count; ++i) {
    CHECK_OK(work_enqueue(fx, &order->pairs[i].first, order->a));
    actor_step(&order->actor);
  }
}

/* Looks at once, and by means that wait for nothing else: the host's memory and stream NULL. */
static void check_visible(order_t* order, tbk_fixture_t* fx) {
  bench_t* bench = &order->bench;
  const order_pair_t* last = &order->pairs[order->pair_count - 1];
  if (!(last->first.kind->flags & WORK_TO_HOST)) {
    CHECK_OK(fx->core->download(fx->self, fx->device, bench->after + last->first.target,
                                bench->memory, last->first.target, bench->cell_bytes, NULL,
                                &fx->error));
  }
  CHECK_SAID(order_pair_holds(order, last), "earlier work complete and visible to the host",
             "the effect of the %s is missing", last->first.kind->name);
}

static void host_body(actor_t* actor) {
  order_t* order = actor->argument;
  enqueue_works(order, &actor->fx);
  atomic_store(&order->at_edge, 1);
  order->edge(order, &actor->fx);
  atomic_store(&order->past_edge, 1);
  actor_step(actor);
  check_visible(order, &actor->fx);
}

static order_outcome_t check_still_waiting(order_t* order, const work_kind_t* kind) {
  bool early = atomic_load(&order->past_edge) && gate_is_closed(&order->gate);
  TBK_CHECKS(early ? gate_breach(order->fx, &order->gate) : NULL);
  CHECK_SAID(!early, "to wait for work that is held", "the call returned before the %s was run",
             kind->name);
  const bool enqueued = atomic_load(&order->at_edge);
  if (enqueued && gate_is_closed(&order->gate))
    gate_shows(order->fx); /* it is under way, and waits */
  return order_outcome(order, true, enqueued);
}

static order_outcome_t host_try(order_t* order, const work_kind_t* kind, order_edge_fn edge,
                                uint64_t hold_ns) {
  order_outcome_t outcome = ORDER_OPEN;
  works_of(order, kind);
  order_start(order, edge, host_body);
  bool closed = gate_is_closed(&order->gate);
  actor_settle(&order->actor);
  if (closed && hold_ns > 0) tbk_word_wait(&order->past_edge, hold_ns);
  if (closed) outcome = check_still_waiting(order, kind);
  order_finish(order);
  return outcome;
}

static void host_program(order_t* order, const work_kind_t* kind, order_edge_fn edge,
                         uint64_t hold_ns) {
  bench_unpin(&order->bench);
  order_outcome_t outcome = host_try(order, kind, edge, hold_ns);
  if (outcome == ORDER_WAITED && bench_pin(order->fx, &order->bench))
    outcome = host_try(order, kind, edge, hold_ns);
  if (outcome == ORDER_WAITED) fx_evidence(order->fx, TBK_TRIVIAL, order_waits);
}

/* The extra call makes both the odd and the even ones come to be looked at. */
void order_host(order_t* order, order_edge_fn edge) {
  for (size_t i = 0; i < order->bench.kind_count; ++i) {
    if (i % 2) fx_synchronize(order->fx, order->a);
    host_program(order, order->bench.kinds[i], edge, 0);
  }
}

void order_host_long(order_t* order, order_edge_fn edge) {
  host_program(order, bench_kind(&order->bench, "copy"), edge, hold_long_ns);
}

/* ---------------------------------------------------------------------------- the questions -- */

static void query_body(actor_t* actor) {
  order_t* order = actor->argument;
  enqueue_works(order, &actor->fx);
  if (order->edge != NULL) order->edge(order, &actor->fx);
}

/* Returns the clause that says what a question answers while work is held; NULL: the test's. */
static const char* pending_clause(order_query_fn query) {
  return query == query_event ? "EVT-024" : query == query_stream ? "STR-016" : NULL;
}

/* Returns the clause of an answer while work is held; NULL: of the test's. */
static const char* answer_breach(order_t* order, order_query_fn query, tbk_status_t status) {
  if (status == TBK_NOT_READY) return NULL;
  return status == TBK_OK ? gate_breach(order->fx, &order->gate) : pending_clause(query);
}

/* At once, and again when all that the gate does not hold has had its chance to be done. */
static void ask_while_held(order_t* order, const char* name, order_query_fn query) {
  tbk_fixture_t* fx = order->fx;
  for (int i = 0; i < ORDER_QUERIES; ++i) {
    if (i == ORDER_QUERIES / 2) process_settle();
    tbk_status_t status = query(order, fx);
    TBK_CHECKS(answer_breach(order, query, status));
    CHECK_SAID(!gate_is_closed(&order->gate) || status == TBK_NOT_READY,
               "NOT_READY while the work is held", "%s, when the %s was enqueued",
               tbk_status_name(status), name);
    const bool returned = gate_is_closed(&order->gate);
    TBK_CHECKS(returned ? NULL : pending_clause(query));
    CHECK_SAID(returned, "an answer while the work is held", "none before the gate was opened");
  }
  gate_shows(fx);
}

static order_outcome_t query_try(order_t* order, const work_kind_t* kind, order_edge_fn before,
                                 order_query_fn query) {
  tbk_fixture_t* fx = order->fx;
  works_of(order, kind);
  order_start(order, before, query_body);
  bool closed = gate_is_closed(&order->gate);
  bool through = actor_settle(&order->actor);
  if (closed && through) ask_while_held(order, kind->name, query);
  gate_open(fx, &order->gate);
  actor_join(fx, &order->actor);
  uint64_t begin = fx_awake_ns();
  tbk_status_t status = query(order, fx);
  while (status == TBK_NOT_READY && fx_awake_ns() - begin < FX_PATIENCE_NS) {
    sched_yield();
    status = query(order, fx);
  }
  const char* never = query == query_event ? "EVT-025" : query == query_stream ? "STR-017" : NULL;
  TBK_CHECKS(status == TBK_NOT_READY ? never : NULL);
  CHECK_SAID(status == TBK_OK, "OK once the work is complete", "%s after the %s",
             tbk_status_name(status), kind->name);
  check_visible(order, fx);
  order_finish(order);
  return order_outcome(order, closed, through);
}

static void query_program(order_t* order, const work_kind_t* kind, order_edge_fn before,
                          order_query_fn query) {
  bench_unpin(&order->bench);
  order_outcome_t outcome = query_try(order, kind, before, query);
  if (outcome == ORDER_WAITED && bench_pin(order->fx, &order->bench))
    outcome = query_try(order, kind, before, query);
  if (outcome == ORDER_WAITED) fx_evidence(order->fx, TBK_TRIVIAL, order_waits);
}

void order_query(order_t* order, order_edge_fn before, order_query_fn query) {
  for (size_t i = 0; i < order->bench.kind_count; ++i)
    query_program(order, order->bench.kinds[i], before, query);
}

/* -------------------------------------------------------------------------------- the edges -- */

void edge_record(order_t* order, tbk_fixture_t* fx) {
  CHECK_OK(fx->event->event_record(fx->self, order->event, order->a, &fx->error));
}

void edge_wait(order_t* order, tbk_fixture_t* fx) {
  edge_record(order, fx);
  CHECK_OK(fx->event->event_wait(fx->self, order->b, order->event, &fx->error));
}

void edge_event_synchronize(order_t* order, tbk_fixture_t* fx) {
  edge_record(order, fx);
  CHECK_OK(fx->event->event_synchronize(fx->self, order->event, &fx->error));
}

void edge_stream_synchronize(order_t* order, tbk_fixture_t* fx) {
  CHECK_OK(fx->stream->stream_synchronize(fx->self, order->a, &fx->error));
}

void edge_device_synchronize(order_t* order, tbk_fixture_t* fx) {
  (void)order;
  CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
}

tbk_status_t query_event(order_t* order, tbk_fixture_t* fx) {
  return fx->event->event_query(fx->self, order->event, &fx->error);
}

tbk_status_t query_stream(order_t* order, tbk_fixture_t* fx) {
  return fx->stream->stream_query(fx->self, order->a, &fx->error);
}
