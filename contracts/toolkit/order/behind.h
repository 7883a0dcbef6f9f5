/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * behind.h: enqueue work behind a closed gate. A call with a stream may wait on the host for what
 * the stream holds (many drivers do so for memory that is not pinned), and would then wait for the
 * gate. So the calls are made on a thread of their own, and the gate is opened when they are made,
 * or when they turn out to wait; in that case the order holds trivially.
 */
#ifndef TBK_CONTRACTS_BEHIND_H
#define TBK_CONTRACTS_BEHIND_H

#include "fixture.h"

/* `fx` is a copy for the thread, with an error of its own: CHECK is allowed, REQUIRE is not. */
typedef void (*behind_fn)(tbk_fixture_t* fx, void* argument);

/*
 * Closes a gate on `stream`, runs `program` on another thread, opens the gate, waits for both and
 * synchronises `stream`. True where all calls had returned before the gate was opened.
 */
bool behind_gate(tbk_fixture_t* fx, tbk_stream_t* stream, behind_fn program, void* argument);
/* Returns the same with two programs, and time between them for what should not happen to happen. */
bool behind_gate_twice(tbk_fixture_t* fx, tbk_stream_t* stream, behind_fn first, behind_fn second,
                       void* argument);

/*
 * The control: while `stream` is held shut, `early` does on another stream what the test ordered
 * behind the gate, waits for it with behind_settle, and tells whether it saw the outcome that the
 * test forbids. It runs on a thread as well. Where the device cannot show that, the evidence says
 * so.
 */
typedef bool (*behind_control_fn)(tbk_fixture_t* fx, void* argument, tbk_stream_t* other);
void behind_control(tbk_fixture_t* fx, tbk_stream_t* stream, behind_control_fn early,
                    void* argument);
void behind_settle(tbk_fixture_t* fx, tbk_stream_t* stream);

#endif /* TBK_CONTRACTS_BEHIND_H */
