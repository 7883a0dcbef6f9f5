/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "order.h"

#include "look.h"
#include "room.h"

#include <sched.h>
#include <string.h>

/* How long a control may take to show the fault; too short costs evidence, and no verdict. */
static const uint64_t control_patience_ns = UINT64_C(1000000000);

const char order_waits[] = "a call that enqueues waits on the host";
const char order_by_pinned[] =
    "seen with pinned memory: copies of other host memory wait on the host";

order_t* order_begin_with(tbk_fixture_t* fx, uint64_t cell_bytes, uint32_t cells) {
  order_t* order = (order_t*)fx_zeros(fx, sizeof *order);
  order->fx = fx;
  if (fx->gate == TBK_GATE_UNKNOWN) (void)gate_probe(fx);
  bench_begin(fx, &order->bench, cell_bytes, cells);
  order->a = fx_stream(fx);
  order->b = fx_stream(fx);
  order->c = fx_stream(fx);
  if (fx->event != NULL) {
    order->event = fx_event(fx, 0);
    order->other = fx_event(fx, 0);
  }
  return order;
}

order_t* order_begin(tbk_fixture_t* fx, bool large) {
  uint64_t cell_bytes = room_cell(fx, ORDER_LARGE_BYTES, ORDER_LARGE_CELLS);
  return large ? order_begin_with(fx, cell_bytes, ORDER_LARGE_CELLS)
               : order_begin_with(fx, ORDER_CELL_BYTES, ORDER_CELLS);
}

void order_end(order_t* order) {
  bench_end(order->fx, &order->bench);
}

void order_hold_by_event(order_t* order) {
  order->held = fx_event(order->fx, 0);
}

void order_on_second_device(tbk_fixture_t* fx, void (*body)(tbk_fixture_t* fx)) {
  int32_t first = fx->device;
  fx_use_device(fx, fx_second_device(fx));
  body(fx);
  fx_use_device(fx, first);
}

void order_stream_works(tbk_fixture_t* fx, tbk_stream_t* stream) {
  const char* clause = "STR-001";
  TBK_CHECKS(clause);
  uint64_t size_bytes = fx_round(fx, 256);
  uint8_t* bytes = fx_bytes(fx, size_bytes);
  uint8_t* seen = fx_zeros(fx, size_bytes);
  tbk_memory_t memory = fx_alloc(fx, size_bytes);
  const tbk_core_t* core = fx->core;
  CHECK_OK(core->upload(fx->self, fx->device, memory, 0, bytes, size_bytes, stream, &fx->error));
  CHECK_OK(core->download(fx->self, fx->device, seen, memory, 0, size_bytes, stream, &fx->error));
  fx_synchronize(fx, stream);
  if (memcmp(bytes, seen, size_bytes) != 0) clause = look_again(fx, bytes, memory, size_bytes);
  TBK_CHECKS(clause); /* NULL: without the stream they are right */
  CHECK_BYTES(bytes, seen, size_bytes);
}

/* Twice: the first question may be what makes the device begin. */
tbk_status_t order_ask(order_t* order, tbk_stream_t* stream) {
  tbk_fixture_t* fx = order->fx;
  tbk_status_t status = fx->stream->stream_query(fx->self, stream, &fx->error);
  if (status != TBK_NOT_READY) return status;
  process_settle();
  return fx->stream->stream_query(fx->self, stream, &fx->error);
}

/* --------------------------------------------------------------------------- the pair program -- */

order_pair_t* order_pair(order_t* order, const char* hazard) {
  SUITE_REQUIRE(order->pair_count < ORDER_PAIRS);
  order_pair_t* pair = &order->pairs[order->pair_count++];
  pair->hazard = hazard;
  return pair;
}

static void pair_read_after_write(order_t* order, const work_kind_t* first,
                                  const work_kind_t* second) {
  order_pair_t* pair = order_pair(order, "read after write");
  uint64_t cell = bench_cell(&order->bench);
  work_write(order->fx, &order->bench, &pair->first, first, cell);
  work_read(order->fx, &order->bench, &pair->second, second, cell);
  pair->expected = pair->first.expected;
  pair->result = work_result(&pair->second);
}

static void pair_write_after_write(order_t* order, const work_kind_t* first,
                                   const work_kind_t* second) {
  order_pair_t* pair = order_pair(order, "write after write");
  uint64_t cell = bench_cell(&order->bench);
  work_write(order->fx, &order->bench, &pair->first, first, cell);
  work_write(order->fx, &order->bench, &pair->second, second, cell);
  pair->expected = pair->second.expected;
  pair->result = order->bench.after + cell;
}

static void pair_write_after_read(order_t* order, const work_kind_t* first,
                                  const work_kind_t* second) {
  order_pair_t* pair = order_pair(order, "write after read");
  uint64_t cell = bench_cell(&order->bench);
  work_read(order->fx, &order->bench, &pair->first, first, cell);
  work_write(order->fx, &order->bench, &pair->second, second, cell);
  pair->expected = order->bench.before + cell;
  pair->result = work_result(&pair->first);
}

static void pair_callback_after(order_t* order, const work_kind_t* first,
                                const work_kind_t* second) {
  order_pair_t* pair = order_pair(order, "host read after host write");
  if (first->flags & WORK_ON_HOST)
    work_write(order->fx, &order->bench, &pair->first, first, 0);
  else
    work_read(order->fx, &order->bench, &pair->first, first, bench_cell(&order->bench));
  work_chain(order->fx, &order->bench, &pair->second, second, &pair->first);
  pair->expected = pair->first.expected;
  pair->result = work_result(&pair->second);
}

/* Every way in which `first` can depend on what comes after it. The host may not read where a
   download is going to, so without an edge that pair would be no legal program. */
static void pairs_of(order_t* order, const work_kind_t* first, bool with_edge) {
  for (size_t i = 0; i < order->bench.kind_count; ++i) {
    const work_kind_t* second = order->bench.kinds[i];
    unsigned both = first->flags & second->flags;
    if (first->flags & WORK_WRITES && second->flags & WORK_READS)
      pair_read_after_write(order, first, second);
    if (both & WORK_WRITES) pair_write_after_write(order, first, second);
    if (first->flags & WORK_READS && second->flags & WORK_WRITES)
      pair_write_after_read(order, first, second);
    if (second->flags & WORK_ON_HOST && first->flags & WORK_TO_HOST &&
        (with_edge || first->flags & WORK_ON_HOST))
      pair_callback_after(order, first, second);
  }
}

void order_hold(order_t* order, tbk_fixture_t* fx) {
  if (order->held == NULL) return;
  CHECK_OK(fx->event->event_record(fx->self, order->held, order->c, &fx->error));
  CHECK_OK(fx->event->event_wait(fx->self, order->a, order->held, &fx->error));
  actor_step(&order->actor);
}

static void pair_body(actor_t* actor) {
  order_t* order = actor->argument;
  tbk_fixture_t* fx = &actor->fx;
  order_hold(order, fx);
  for (size_t i = 0; i < order->pair_count; ++i) {
    CHECK_OK(work_enqueue(fx, &order->pairs[i].first, order->a));
    actor_step(actor);
  }
  atomic_store(&order->at_edge, 1);
  if (order->edge != NULL) order->edge(order, fx);
  for (size_t i = 0; i < order->pair_count; ++i) {
    CHECK_OK(work_enqueue(fx, &order->pairs[i].second, order->b));
    actor_step(actor);
  }
}

void order_start_with(order_t* order, actor_fn body, void* argument) {
  atomic_store(&order->at_edge, 0);
  atomic_store(&order->past_edge, 0);
  bench_upload(order->fx, &order->bench);
  /* Over nothing: all other calls are made by the actor, and it may wait. */
  gate_close_over(order->fx, &order->gate, order->held != NULL ? order->c : order->a, 0);
  actor_start(order->fx, &order->actor, body, argument);
}

/* In its place, now that the program before has come to its end, comes a new one. */
static void renew(order_t* order, tbk_event_t** event) {
  tbk_fixture_t* fx = order->fx;
  if (*event == NULL) return;
  fx_disown_event(fx, *event);
  fx->event->event_destroy(fx->self, *event);
  *event = fx_event(fx, 0);
}

/* Each program has events of its own, so that what goes wrong when one is recorded again is seen by
   the tests of that alone. */
void order_start(order_t* order, order_edge_fn edge, actor_fn body) {
  if (order->programs++ > 0 && !order->keeps_events) {
    renew(order, &order->event);
    renew(order, &order->other);
    renew(order, &order->held);
  }
  order->edge = edge;
  order_start_with(order, body, order);
}

void order_finish(order_t* order) {
  tbk_fixture_t* fx = order->fx;
  gate_open(fx, &order->gate);
  actor_join(fx, &order->actor);
  fx_synchronize(fx, order->c);
  fx_synchronize(fx, order->a);
  fx_synchronize(fx, order->b);
  bench_download(fx, &order->bench);
}

bool order_pair_holds(const order_t* order, const order_pair_t* pair) {
  return memcmp(pair->expected, pair->result, order->bench.cell_bytes) == 0;
}

static bool pairs_check(order_t* order) {
  bool all = true;
  for (size_t i = 0; i < order->pair_count; ++i) {
    const order_pair_t* pair = &order->pairs[i];
    const bool holds = order_pair_holds(order, pair);
    CHECK_SAID(holds, "the outcome of the order of the program",
               "%s, then %s: another outcome (%s)", pair->first.kind->name, pair->second.kind->name,
               pair->hazard);
    all = all && holds;
  }
  return all;
}

order_outcome_t order_outcome(order_t* order, bool was_closed, bool came_through) {
  if (!was_closed) return ORDER_OPEN;
  if (!came_through) return ORDER_WAITED;
  if (order->bench.uses_pinned && !order->told_of_pinned) fx_note(order->fx, order_by_pinned);
  order->told_of_pinned = order->told_of_pinned || order->bench.uses_pinned;
  return ORDER_HELD;
}

static order_outcome_t pairs_try(order_t* order, const work_kind_t* kind, order_edge_fn edge) {
  tbk_fixture_t* fx = order->fx;
  bench_reset(fx, &order->bench);
  order->pair_count = 0;
  pairs_of(order, kind, true);
  order_start(order, edge, pair_body);
  bool closed = gate_is_closed(&order->gate);
  bool through = actor_settle(&order->actor);
  bool is_held = true;
  const char* breach = NULL;
  tbk_status_t status = TBK_NOT_READY;
  if (closed && through) {
    status = order_ask(order, order->b);
    is_held = !gate_is_closed(&order->gate) || status == TBK_NOT_READY;
    if (!is_held) breach = gate_breach(fx, &order->gate);
  }
  order_finish(order);
  TBK_CHECKS(breach);
  const bool is_kept = pairs_check(order);
  TBK_CHECKS(is_kept && !is_held && breach == NULL ? "STR-015" : NULL);
  CHECK_SAID(is_held, "NOT_READY from stream_query: earlier work is held",
             "%s, with %s before the edge", tbk_status_name(status), kind->name);
  return order_outcome(order, closed, through);
}

/* The program with its edge: while the gate is closed b may not have come through. */
static bool pairs_with_edge(order_t* order, const work_kind_t* kind, order_edge_fn edge) {
  bench_unpin(&order->bench);
  order_outcome_t outcome = pairs_try(order, kind, edge);
  if (outcome == ORDER_WAITED && bench_pin(order->fx, &order->bench))
    outcome = pairs_try(order, kind, edge);
  if (outcome == ORDER_WAITED)
    fx_evidence(order->fx, TBK_TRIVIAL, "a call waits on the host for the edge");
  return outcome == ORDER_HELD;
}

bool order_comes_through(order_t* order, tbk_stream_t* stream) {
  tbk_fixture_t* fx = order->fx;
  lapse_t lapse;
  lapse_begin(&lapse);
  while (fx->stream->stream_query(fx->self, stream, &fx->error) == TBK_NOT_READY) {
    if (lapse_over(&lapse, control_patience_ns)) return false;
    sched_yield();
  }
  return true;
}

/* The same program without its edge: b goes ahead of a, and every pair must come out wrong. */
static void pairs_without_edge(order_t* order, const work_kind_t* kind) {
  tbk_fixture_t* fx = order->fx;
  bench_reset(fx, &order->bench);
  order->pair_count = 0;
  pairs_of(order, kind, false);
  if (order->pair_count == 0) return;
  order_start(order, NULL, pair_body);
  bool ahead = actor_settle(&order->actor) && order_comes_through(order, order->b) &&
               gate_is_closed(&order->gate);
  order_finish(order);
  size_t seen = 0;
  for (size_t i = 0; i < order->pair_count; ++i)
    seen += !order_pair_holds(order, &order->pairs[i]);
  if (!ahead && kind->flags & WORK_ON_HOST)
    fx_evidence(fx, TBK_TRIVIAL, "host callbacks run one at a time, so none can go ahead");
  else
    gate_control(fx, ahead && seen == order->pair_count);
}

static void one_queue_is_trivial(tbk_fixture_t* fx) {
  if (fx->gate == TBK_GATE_ONE_QUEUE)
    fx_evidence(fx, TBK_TRIVIAL, "one queue serves all streams, so nothing can go ahead");
}

void order_streams(order_t* order, const char* kind, order_edge_fn edge) {
  tbk_fixture_t* fx = order->fx;
  for (size_t i = 0; i < order->bench.kind_count; ++i) {
    const work_kind_t* first = order->bench.kinds[i];
    if (kind != NULL && strcmp(kind, first->name) != 0) continue;
    bool shown = pairs_with_edge(order, first, edge);
    if (shown && gate_can_control(fx)) pairs_without_edge(order, first);
  }
  one_queue_is_trivial(fx);
}

void order_once(order_t* order, const char* kind, order_edge_fn edge) {
  (void)pairs_with_edge(order, bench_kind(&order->bench, kind), edge);
}

void order_control(order_t* order) {
  if (gate_can_control(order->fx)) pairs_without_edge(order, bench_kind(&order->bench, "copy"));
  one_queue_is_trivial(order->fx);
}
