/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * gate.h: hold a stream shut until the host lets go, so that order is proved and not hoped for.
 *
 * A gate is a host callback that blocks until another host thread opens it. At most one gate is
 * closed at a time, and nothing may need another stream to make progress meanwhile: one queue for
 * all streams is legal, callbacks may be serialised, or run inline. On a device where a closed gate
 * would block its caller (TBK_GATE_SYNCHRONOUS) gate_close returns with the gate already open, and
 * states TBK_TRIVIAL; with TBK_GATE_NONE likewise, and states TBK_NOT_SHOWN. So a test is written
 * once: it asks gate_is_closed before it claims that something has not happened yet.
 *
 * The shape of an ordering test:
 *
 *   gate_close(fx, &gate, a);                   hold stream a
 *   ... enqueue work on a, the edge, work on b ...
 *   if (gate_is_closed(&gate)) CHECK(not done yet)
 *   gate_open(fx, &gate);
 *   ... synchronise, compare on the host ...
 *   gate_control(fx, faulty);                   the same program without the edge: was it visible?
 *
 * A gate that nobody opens opens itself after FX_PATIENCE_NS and fails the test.
 */
#ifndef TBK_CONTRACTS_GATE_H
#define TBK_CONTRACTS_GATE_H

#include "fixture.h"

#include <stdatomic.h>

typedef struct tbk_gate {
  atomic_int opened;  /* 0 closed, 1 open */
  atomic_int entered; /* the callback is running */
  atomic_int left;    /* the callback has returned */
  atomic_int expired; /* it opened itself */
  int armed;          /* whether anything was enqueued */
} tbk_gate_t;

/* Enqueues a closed gate on `stream`. The gate must live until gate_open has returned. */
void gate_close(tbk_fixture_t* fx, tbk_gate_t* gate, tbk_stream_t* stream);
/* True while the gate holds its stream. */
bool gate_is_closed(const tbk_gate_t* gate);
/* Lets go, and waits until the callback has returned. Harmless if it is open. */
void gate_open(tbk_fixture_t* fx, tbk_gate_t* gate);

/*
 * Runs after the test's own program: `fault_seen` is whether the program without the edge showed
 * the wrong outcome. Seen: TBK_PROVEN. Not seen on a device with one queue: TBK_TRIVIAL. Else
 * TBK_NOT_SHOWN. Call it only for a control that ran while the gate was closed.
 */
void gate_control(tbk_fixture_t* fx, bool fault_seen);
/* Whether a control that needs other streams to go on is possible here (TBK_GATE_FULL). */
bool gate_can_control(const tbk_fixture_t* fx);

/* Finds the kind of gate that `fx->device` allows; for probe.c. Takes up to a few seconds. */
tbk_gate_kind_t gate_probe(tbk_fixture_t* fx);

#endif /* TBK_CONTRACTS_GATE_H */
