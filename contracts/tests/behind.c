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
  actor_t* actor = (actor_t*)(void*)fx_zeros(fx, sizeof *actor);
  behind_job_t job = {program, argument};
  tbk_gate_t gate;
  gate_close_over(fx, &gate, stream, 0); /* the thread that opens it makes no call */
  actor_start(fx, actor, behind_run, &job);
  bool returned = actor_settle(actor);
  gate_open(fx, &gate);
  actor_join(fx, actor);
  fx_synchronize(fx, stream);
  if (!returned)
    fx_evidence(fx, TBK_TRIVIAL, "a call waits on the host for the work of its stream");
  return returned;
}

void behind_control(tbk_fixture_t* fx, tbk_stream_t* stream, behind_control_fn early,
                    void* argument) {
  if (!gate_can_control(fx)) {
    if (fx->gate == TBK_GATE_ONE_QUEUE)
      fx_evidence(fx, TBK_TRIVIAL, "one queue serves all streams, so nothing can go ahead");
    return;
  }
  tbk_gate_t gate;
  tbk_stream_t* other = fx_stream(fx);
  gate_close_over(fx, &gate, stream, 0); /* no call of this thread waits */
  bool seen = early(fx, argument, other);
  gate_open(fx, &gate);
  fx_synchronize(fx, stream);
  gate_control(fx, seen);
}
