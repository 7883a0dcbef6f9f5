/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * actor.h: a thread that makes calls which may wait on the host, watched by the test. Any call that
 * takes a stream may wait for a closed gate, so the thread that opens the gate must not be the one
 * that makes the calls. The test lets go once the actor is through, or is seen to stand still.
 */
#ifndef TBK_CONTRACTS_ACTOR_H
#define TBK_CONTRACTS_ACTOR_H

#include "fixture.h"

#include <stdatomic.h>
#include <time.h>

typedef struct actor actor_t;
typedef void (*actor_fn)(actor_t* self);

struct actor {
  tbk_fixture_t fx; /* a copy with an error of its own: CHECK is allowed, REQUIRE is not */
  void* argument;
  actor_fn body;
  atomic_uint steps; /* how far it has come */
  atomic_int started;
  atomic_int finished;
  clockid_t clock; /* processor time of the thread */
  int thread_id;
  tbk_thread_t* thread;
};

/* The actor must live until the test is over: take it from fx_zeros. */
void actor_start(tbk_fixture_t* fx, actor_t* actor, actor_fn body, void* argument);
/* Called by the body between its calls, so that work is not taken for standing still. */
void actor_step(actor_t* actor);
/*
 * Waits until the actor is through (true), or stands still (false): asleep while every thread of
 * the process is and none has run meanwhile, or turning in one call, for a long while of processor
 * time and without being given memory. A wrong guess costs evidence and never a verdict.
 */
bool actor_settle(actor_t* actor);
/*
 * A while in which this process could have done something. It is measured by the time of processors
 * that the caller and the device's threads were given, so that on a busy machine it takes longer.
 */
typedef struct lapse {
  uint64_t began, spent;
} lapse_t;
void lapse_begin(lapse_t* lapse);
bool lapse_over(const lapse_t* lapse, uint64_t ns); /* or when a quarter of FX_PATIENCE_NS is */

/* Waits for its end for half of FX_PATIENCE_NS, so that a gate is opened before it expires. */
bool actor_ends(actor_t* actor);
/* REQUIREs that it ends in FX_PATIENCE_NS. */
void actor_join(tbk_fixture_t* fx, actor_t* actor);

/* Returns whether all threads of the process but the caller's are asleep. */
bool process_sleeps(void);

/*
 * Gives what should not happen every chance to happen: waits until all other threads of the process
 * sleep, or for a moment if they never do. A thread that could run and was given no processor does
 * not sleep, and the moment is one of processor time: load makes this longer, and nothing else.
 */
void process_settle(void);

#endif /* TBK_CONTRACTS_ACTOR_H */
