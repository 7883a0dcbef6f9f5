/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * control.c: for each kind of edge, how a program loses one.
 */
#include "control.h"

#include <string.h>

/* Returns a call that an edge of this kind leads to; -1: there is none. */
static int find(const litmus_model_t* model, litmus_edge_t kind, uint64_t* random) {
  int found[LITMUS_NODES], count = 0;
  for (uint32_t i = 0; i < model->node_count; i++)
    for (unsigned e = 0; e < model->nodes[i].edge_count; e++)
      if (model->nodes[i].edges[e].kind == kind && model->nodes[i].call >= 0)
        found[count++ % LITMUS_NODES] = model->nodes[i].call;
  if (count > LITMUS_NODES) count = LITMUS_NODES;
  return count == 0 ? -1 : found[litmus_random(random) % (uint64_t)count];
}

static void take_out(litmus_program_t* p, int index) {
  p->count--;
  memmove(&p->calls[index], &p->calls[index + 1], (p->count - (uint32_t)index) * sizeof *p->calls);
}

/* Moves call `index` before the call just before it on the same stream. */
static bool move_ahead(litmus_program_t* p, int index) {
  litmus_call_t call = p->calls[index];
  int to = index - 1;
  while (to >= 0 && !(litmus_is_work(p->calls[to].op) && p->calls[to].stream == call.stream))
    to--;
  if (to < 0) return false;
  memmove(&p->calls[to + 1], &p->calls[to], (size_t)(index - to) * sizeof call);
  p->calls[to] = call;
  return true;
}

/* The call, and those of its thread just before it, no longer wait for another thread's. */
static bool let_go(litmus_program_t* p, int index) {
  if (!p->races) return false;
  for (int i = index; i >= 0; i--) {
    if (p->calls[i].thread != p->calls[index].thread) continue;
    const bool waited = !p->calls[i].meanwhile;
    p->calls[i].meanwhile = true;
    if (waited) return true;
  }
  return false;
}

/* How the edge goes: its call is taken out, or moved, or given another stream, or does not block, or is
   a copy of its own, or waits for no other thread. What copies is never taken out: that would show by itself. */
enum { NEVER, OUT, AHEAD, ELSEWHERE, MEANWHILE, UNBLOCKED, ALONE };
#define LIFETIME "memory that work uses is not to be handed out"
#define SOURCE "memory that work reads is not to be written"
static const struct {
  int how;
  const char* why; /* there is no control */
} controls[LITMUS_EDGES] = {
    [LITMUS_EDGE_HOST] = {NEVER, "a host makes its calls in some order"},
    [LITMUS_EDGE_STREAM] = {ELSEWHERE, NULL},
    [LITMUS_EDGE_NULL_STREAM] = {ELSEWHERE, NULL},
    [LITMUS_EDGE_RECORD] = {AHEAD, NULL},
    [LITMUS_EDGE_RERECORD] = {OUT, NULL},
    [LITMUS_EDGE_WAIT] = {OUT, NULL},
    [LITMUS_EDGE_WAIT_DEVICE] = {OUT, NULL},
    [LITMUS_EDGE_EVENT_SYNCHRONIZE] = {OUT, NULL},
    [LITMUS_EDGE_EVENT_QUERY] = {OUT, NULL},
    [LITMUS_EDGE_STREAM_SYNCHRONIZE] = {OUT, NULL},
    [LITMUS_EDGE_STREAM_QUERY] = {OUT, NULL},
    [LITMUS_EDGE_DEVICE_SYNCHRONIZE] = {OUT, NULL},
    [LITMUS_EDGE_CALLBACK_AFTER] = {AHEAD, NULL},
    [LITMUS_EDGE_CALLBACK_BEFORE] = {ELSEWHERE, NULL},
    [LITMUS_EDGE_CALLBACK_HOST] = {OUT, NULL},
    [LITMUS_EDGE_ASYNC_FREE] = {NEVER, LIFETIME},
    [LITMUS_EDGE_BLOCKING_SOURCE] = {NEVER, SOURCE},
    [LITMUS_EDGE_PAGEABLE_SOURCE] = {NEVER, SOURCE},
    [LITMUS_EDGE_BLOCKING_COPY] = {UNBLOCKED, NULL},
    [LITMUS_EDGE_PAGEABLE_COPY] = {NEVER, "memory that work writes is not to be read"},
    [LITMUS_EDGE_COPY_ACROSS] = {ELSEWHERE, NULL},
    [LITMUS_EDGE_RECORD_STREAM] = {NEVER, LIFETIME},
    [LITMUS_EDGE_HAND_OVER] = {MEANWHILE, NULL},
    [LITMUS_EDGE_STREAM_SHARED] = {ELSEWHERE, NULL},
    [LITMUS_EDGE_PINNED_SOURCE] = {NEVER, SOURCE},
    [LITMUS_EDGE_BACKWARD] = {ELSEWHERE, NULL},
    [LITMUS_EDGE_BACKWARD_CALLER] = {ALONE, NULL},
    [LITMUS_EDGE_MEET] = {ALONE, NULL},
};

litmus_edge_t litmus_control_turn(bool torch, uint64_t turn) {
  litmus_edge_t known[LITMUS_EDGES];
  uint64_t count = 0;
  for (int kind = 0; kind < LITMUS_EDGES; kind++)
    if (litmus_edge_clause(torch, kind) != NULL) known[count++] = (litmus_edge_t)kind;
  return known[turn % count];
}

bool litmus_has_control(litmus_edge_t kind, const char** out_why) {
  if (out_why != NULL) *out_why = controls[kind].why;
  return controls[kind].how != NEVER;
}

bool litmus_control(litmus_program_t* out, const litmus_program_t* program, litmus_edge_t kind,
                    uint64_t* random) {
  static _Thread_local litmus_model_t model;
  if (controls[kind].how == NEVER || !litmus_model_grow(&model, program, 0, 0, 0)) return false;
  int index = find(&model, kind, random);
  if (index < 0) return false;
  *out = *program;
  litmus_call_t* call = &out->calls[index];
  if (controls[kind].how == OUT) take_out(out, index);
  if (controls[kind].how == AHEAD && !move_ahead(out, index)) return false;
  if (controls[kind].how == UNBLOCKED) call->blocks = false;
  if (controls[kind].how == ALONE) call->op = LITMUS_COPY;
  if (controls[kind].how == MEANWHILE && !let_go(out, index)) return false;
  if (controls[kind].how == ELSEWHERE)
    call->stream = (int8_t)((call->stream + 1 + (int)(litmus_random(random) % 3)) % LITMUS_STREAMS);
  return litmus_model_grow(&model, out, 0, 0, 0);
}
