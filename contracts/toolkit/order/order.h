/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * order.h: three programs that tests of order share, each run for every kind of work on offer, with
 * stream `a` held shut. A test gives them an edge: what makes work wait for other work.
 *
 *   order_streams   work on a, the edge, work on b: outcomes as if b's came after a's
 *   order_host      work on a, a call that waits for it: it does, and the effects are visible
 *   order_query     work on a, a question: NOT_READY while it is held, later OK and visible
 *
 * Edges and enqueuing calls run on an actor, because any of them may wait on the host. `held`
 * closes the gate on stream c, and lets a wait for an event of it: then no callback is in a.
 */
#ifndef TBK_CONTRACTS_ORDER_H
#define TBK_CONTRACTS_ORDER_H

#include "actor.h"
#include "fixture.h"
#include "gate.h"
#include "work.h"

enum {
  ORDER_PAIRS = 24,
  ORDER_CELLS = 80,
  ORDER_CELL_BYTES = 256,
  ORDER_LARGE_BYTES = 1 << 18,
  ORDER_LARGE_CELLS = 6,
  ORDER_LARGE_WORKS = 3,
  ORDER_QUERIES = 16
};

typedef struct order order_t;
/* Runs on the actor, with its fixture. */
typedef void (*order_edge_fn)(order_t* order, tbk_fixture_t* fx);
typedef tbk_status_t (*order_query_fn)(order_t* order, tbk_fixture_t* fx);

/* What became of a program behind a gate. */
typedef enum order_outcome {
  ORDER_HELD,   /* all its calls came through while its work was held */
  ORDER_WAITED, /* one waited on the host: it is tried again with pinned memory */
  ORDER_OPEN    /* the gate was open */
} order_outcome_t;

typedef struct order_pair {
  work_t first;
  work_t second;
  const uint8_t* expected;
  const uint8_t* result;
  const char* hazard;
} order_pair_t;

struct order {
  tbk_fixture_t* fx;
  bench_t bench;
  actor_t actor;
  tbk_gate_t gate;
  tbk_stream_t *a, *b, *c;
  tbk_event_t* event; /* for the edge; NULL where there are no events */
  tbk_event_t* other; /* likewise */
  tbk_event_t* held;  /* NULL: the gate is on a */
  order_edge_fn edge;
  atomic_int at_edge;
  atomic_int past_edge;
  unsigned programs; /* that were begun */
  bool told_of_pinned;
  bool keeps_events; /* from one program to the next: recorded again and again */
  size_t pair_count;
  order_pair_t pairs[ORDER_PAIRS];
};

/* Streams, events and a bench. `large` gives few large cells, for the host programs. */
order_t* order_begin(tbk_fixture_t* fx, bool large);
order_t* order_begin_with(tbk_fixture_t* fx, uint64_t cell_bytes, uint32_t cells);
void order_end(order_t* order);
/* Holds a by an event instead of a gate of its own; the row says "event". */
void order_hold_by_event(order_t* order);

/* `kind` NULL: every kind of work before the edge. After it always every kind. */
void order_streams(order_t* order, const char* kind, order_edge_fn edge);
/* The same without controls, for tests that run it many times. */
void order_once(order_t* order, const char* kind, order_edge_fn edge);
void order_host(order_t* order, order_edge_fn edge);
/* One copy, held for a good while: a call that gives up after some time has returned by then. */
void order_host_long(order_t* order, order_edge_fn edge);
void order_query(order_t* order, order_edge_fn before, order_query_fn query);

/* For programs of a test's own: one copy behind a gate on a and one on b without an edge. */
void order_control(order_t* order);
/* Runs `body` with fx->device and fx->properties those of device 1. */
void order_on_second_device(tbk_fixture_t* fx, void (*body)(tbk_fixture_t* fx));

/* Returns what stream_query answers when all that the gate does not hold has had its chance to be
 * done. */
tbk_status_t order_ask(order_t* order, tbk_stream_t* stream);

/* Moves fresh bytes there and back on `stream`. */
void order_stream_works(tbk_fixture_t* fx, tbk_stream_t* stream);

/* What the programs are made of (order.c), for order_host.c. */
order_pair_t* order_pair(order_t* order, const char* hazard);
bool order_pair_holds(const order_t* order, const order_pair_t* pair);
void order_hold(order_t* order, tbk_fixture_t* fx);
bool order_comes_through(order_t* order, tbk_stream_t* stream); /* soon enough for a control */
void order_start(order_t* order, order_edge_fn edge, actor_fn body);
void order_start_with(order_t* order, actor_fn body, void* argument);
void order_finish(order_t* order);
extern const char order_waits[], order_by_pinned[]; /* what programs say of themselves */
order_outcome_t order_outcome(order_t* order, bool was_closed, bool came_through);

/* Edges and questions that several tests use. */
void edge_wait(order_t* order, tbk_fixture_t* fx);   /* record on a, b waits */
void edge_record(order_t* order, tbk_fixture_t* fx); /* record on a */
void edge_event_synchronize(order_t* order, tbk_fixture_t* fx);
void edge_stream_synchronize(order_t* order, tbk_fixture_t* fx);
void edge_device_synchronize(order_t* order, tbk_fixture_t* fx);
tbk_status_t query_event(order_t* order, tbk_fixture_t* fx);
tbk_status_t query_stream(order_t* order, tbk_fixture_t* fx);

#endif /* TBK_CONTRACTS_ORDER_H */
