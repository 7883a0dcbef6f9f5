/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * hosts.c: what each thread of the host knows: which calls have returned, which nodes are complete,
 * and what is last on a stream. Threads may enqueue on one stream at the same time (THR-003); then no
 * order of that work is known. A stream, an event or a cell that another takes the place of is handed
 * over before and after, and so is an event that is recorded.
 */
#include "sets.h"

enum { NONE = -1 };

/* The call begins when those before it have returned: what their threads knew is known. */
void litmus_hear(litmus_model_t* model, int index) {
  const litmus_call_t* call = &model->program->calls[index];
  const bool in_one = model->extra >> LITMUS_EXTRA_THREADS_IN_ONE & 1;
  if (model->program->threads <= 1 || (call->meanwhile && !in_one)) return;
  for (int from = 0; from < LITMUS_THREADS; from++)
    for (int of = 0; of < LITMUS_THREADS; of++) {
      const int16_t tail = model->host_tail[from][of];
      if (tail > model->host_tail[call->thread][of]) model->host_tail[call->thread][of] = tail;
    }
  model->heard[call->thread] = (UINT64_C(1) << index) - 1;
}

litmus_set_t litmus_known(const litmus_model_t* model, int thread) {
  litmus_set_t set = {{0}};
  for (int of = 0; of < LITMUS_THREADS; of++) {
    const int tail = model->host_tail[thread][of];
    if (tail < 0) continue;
    litmus_set_join(&set, &model->nodes[tail].before);
    litmus_set_add(&set, tail);
  }
  return set;
}

/* Of work that one thread enqueued, the last one comes after the others. */
unsigned litmus_stream_tails(const litmus_model_t* model, int stream, int thread,
                             int16_t out[LITMUS_THREADS]) {
  unsigned count = 0, got = 0;
  if (model->program->threads <= 1 || model->program->torch) { /* PyTorch's threads take turns */
    out[0] = model->stream_tail[stream];
    return out[0] >= 0;
  }
  for (int n = (int)model->node_count - 1; n >= model->stream_begins[stream]; n--) {
    const litmus_node_t* node = &model->nodes[n];
    if (node->stream != stream || !(model->heard[thread] >> node->call & 1)) continue;
    const unsigned by = 1u << model->program->calls[node->call].thread;
    if (!(got & by)) out[count++] = (int16_t)n;
    got |= by;
  }
  return count;
}

/* ----------------------------------------------------------------------- what calls put in place -- */

static bool changes_stream(const litmus_call_t* call) {
  return call->op == LITMUS_STREAM_RENEW;
}

static bool changes_event(const litmus_call_t* call) {
  return call->op == LITMUS_RECORD || call->op == LITMUS_EVENT_RENEW;
}

static bool changes_cell(const litmus_call_t* call) {
  return call->op == LITMUS_CELL_RENEW || call->op == LITMUS_ASYNC_ALLOC ||
         call->op == LITMUS_ASYNC_FREE;
}

static bool may_touch(uint64_t uses, uint64_t changes, bool change, uint64_t heard) {
  return ((changes | (change ? uses : 0)) & ~heard) == 0;
}

bool litmus_is_handed_over(const litmus_model_t* model, const litmus_call_t* call) {
  const litmus_program_t* p = model->program;
  const uint64_t heard = model->heard[call->thread];
  if (p->threads <= 1) return call->thread == 0 && !call->meanwhile;
  if (call->thread >= p->threads || (call->meanwhile && !p->races)) return false;
#define MAY(letter, number, things, change) \
  (!litmus_call_names(p, call, letter) ||   \
   may_touch(model->things[number].uses, model->things[number].changes, change, heard))
  return (call->stream < 0 || MAY('s', call->stream, streams, changes_stream(call))) &&
         MAY('e', call->event, events, changes_event(call)) &&
         MAY('c', call->cell, cells, changes_cell(call)) && MAY('o', call->other, cells, false);
#undef MAY
}

void litmus_touch(litmus_model_t* model, int index) {
  const litmus_call_t* call = &model->program->calls[index];
  const uint64_t bit = UINT64_C(1) << index;
  model->heard[call->thread] |= bit;
  const litmus_program_t* p = model->program;
  if (p->threads <= 1) return;
#define TOUCH(letter, number, things, change)         \
  if (litmus_call_names(p, call, letter)) {           \
    model->things[number].uses |= bit;                \
    if (change) model->things[number].changes |= bit; \
  }
  if (call->stream >= 0) TOUCH('s', call->stream, streams, changes_stream(call))
  TOUCH('e', call->event, events, changes_event(call))
  TOUCH('c', call->cell, cells, changes_cell(call))
  TOUCH('o', call->other, cells, false)
#undef TOUCH
}
