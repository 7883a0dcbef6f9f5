/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "behind.h"

#include "actor.h"
#include "gate.h"

typedef struct behind_job {
  behind_fn program;
  void* argument;
} behind_job_t;

static void behind_run(actor_t* actor) {
  const behind_job_t* job = actor->argument;
  job->program(&actor->fx, job->argument);
}

bool behind_gate(tbk_fixture_t* fx, tbk_stream_t* stream, behind_fn program, void* argument) {
  return behind_gate_twice(fx, stream, program, NULL, argument);
}

/* Makes the calls, and waits for them, or until they are seen to wait for the gate. */
static bool behind_make(actor_t* actor, tbk_fixture_t* fx, behind_job_t* job) {
  actor_start(fx, actor, behind_run, job);
  bool returned = actor_settle(actor);
  if (returned) process_settle();
  return returned;
}

bool behind_gate_twice(tbk_fixture_t* fx, tbk_stream_t* stream, behind_fn first, behind_fn second,
                       void* argument) {
  actor_t* actors = (actor_t*)(void*)fx_zeros(fx, 2 * sizeof *actors);
  behind_job_t jobs[2] = {{first, argument}, {second, argument}};
  tbk_gate_t gate;
  gate_close_over(fx, &gate, stream, 0); /* the thread that opens it makes no call */
  bool returned = behind_make(&actors[0], fx, &jobs[0]);
  if (returned && second != NULL) returned = behind_make(&actors[1], fx, &jobs[1]);
  gate_open(fx, &gate);
  actor_join(fx, &actors[0]);
  if (second != NULL && actors[1].thread == NULL) actor_start(fx, &actors[1], behind_run, &jobs[1]);
  if (second != NULL) actor_join(fx, &actors[1]);
  fx_synchronize(fx, stream);
  if (!returned)
    fx_evidence(fx, TBK_TRIVIAL, "a call waits on the host for the work of its stream");
  return returned;
}

typedef struct behind_try {
  behind_control_fn early;
  void* argument;
  tbk_stream_t* other;
  bool seen;
} behind_try_t;

static void behind_try(actor_t* actor) {
  behind_try_t* it = actor->argument;
  it->seen = it->early(&actor->fx, it->argument, it->other);
}

/* On a thread too: the other stream may turn out to stand still after all. */
void behind_control(tbk_fixture_t* fx, tbk_stream_t* stream, behind_control_fn early,
                    void* argument) {
  if (!gate_can_control(fx)) {
    if (fx->gate == TBK_GATE_ONE_QUEUE)
      fx_evidence(fx, TBK_TRIVIAL, "one queue serves all streams, so nothing can go ahead");
    return;
  }
  actor_t* actor = (actor_t*)(void*)fx_zeros(fx, sizeof *actor);
  behind_try_t it = {early, argument, fx_stream(fx), false};
  tbk_gate_t gate;
  gate_close_over(fx, &gate, stream, 0);
  actor_start(fx, actor, behind_try, &it);
  bool finished = actor_settle(actor);
  gate_open(fx, &gate);
  actor_join(fx, actor);
  fx_synchronize(fx, stream);
  if (finished)
    gate_control(fx, it.seen);
  else
    fx_evidence(fx, TBK_TRIVIAL, "no other stream went on while this one was held");
}

void behind_settle(tbk_fixture_t* fx, tbk_stream_t* stream) {
  CHECK_OK(fx->stream->stream_synchronize(fx->self, stream, &fx->error));
}
