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

typedef struct tbk_gate {
  struct tbk_gate_core* core; /* outlives the test, because the callback may run late */
} tbk_gate_t;

/*
 * Enqueues a closed gate on `stream`. For programs that enqueue anything but downloads and waits
 * behind it: where one of the other calls waits on the host, the gate stays open (TBK_TRIVIAL).
 */
void gate_close(tbk_fixture_t* fx, tbk_gate_t* gate, tbk_stream_t* stream);
/* The same for programs that make just the `calls` (TBK_ENQUEUE_*) on streams that it may hold. */
void gate_close_over(tbk_fixture_t* fx, tbk_gate_t* gate, tbk_stream_t* stream, unsigned calls);
/* Returns true while the gate holds its stream. */
bool gate_is_closed(const tbk_gate_t* gate);
/* Lets go, and waits until the callback has returned if it is running. Harmless if it is open. */
void gate_open(tbk_fixture_t* fx, tbk_gate_t* gate);

/*
 * Makes a call that must not return while the gate is closed; the gate opens once the caller is
 * seen to wait, or after a moment. False if the call returned too early. True, and nothing shown,
 * where the gate was not closed to begin with.
 */
bool gate_held(tbk_fixture_t* fx, tbk_gate_t* gate, void (*call)(void* argument), void* argument);

/*
 * Destroys a stream that the gate may hold, as a part of a call for gate_held. That may wait for its work; what is then
 * asked of later calls holds trivially (TBK_TRIVIAL).
 */
void gate_stream_goes(tbk_fixture_t* fx, const tbk_gate_t* gate, tbk_stream_t* stream);

/* Checks that a question is answered with NOT_READY, if the gate is still closed by then. */
#define GATE_CHECK_PENDING(fx, gate, status) \
  gate_check_pending((fx), (gate), (status), TBK_HERE(#status))
bool gate_check_pending(tbk_fixture_t* fx, const tbk_gate_t* gate, tbk_status_t status,
                        tbk_here_t here);
/*
 * Something went on behind a closed gate. Returns the clause of callbacks if other work does so too: then
 * it is the gate that does not hold; NULL if it holds, or cannot be tried. For TBK_CHECKS.
 */
const char* gate_breach(tbk_fixture_t* fx, const tbk_gate_t* gate);

/*
 * Runs after the test's own program: `fault_seen` is whether the program without the edge showed
 * the wrong outcome. Seen: TBK_PROVEN. Not seen on a device with one queue: TBK_TRIVIAL. Else
 * TBK_NOT_SHOWN. Call it only for a control that ran while the gate was closed.
 */
void gate_control(tbk_fixture_t* fx, bool fault_seen);
/* Notes that a closed gate showed an order, without a control: what it holds would have gone on, and
   been seen to. */
void gate_shows(tbk_fixture_t* fx);
/* Returns whether a control that needs other streams to go on is possible here (TBK_GATE_FULL). */
bool gate_can_control(const tbk_fixture_t* fx);

/* Finds the kind of gate that `fx->device` allows, and fx->blocking. Takes up to a few seconds. */
tbk_gate_kind_t gate_probe(tbk_fixture_t* fx);

#endif /* TBK_CONTRACTS_GATE_H */
