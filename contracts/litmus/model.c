/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * model.c: a node for each call, and its edges. What is not defined is found before a node is made.
 */
#include "model.h"

#include <string.h>

#include "sets.h"

enum { NONE = -1, ROOM = 4 /* nodes that the last call and the end may need */ };

static bool has_extra(const litmus_model_t* model, litmus_extra_t extra) {
  return model->extra >> extra & 1;
}

/* ------------------------------------------------------------------------------------- nodes -- */

static void add_cover(litmus_model_t* model, int node, int call) {
  const litmus_call_t* c = call < 0 ? NULL : &model->program->calls[call];
  for (int part = 0; part < LITMUS_PARTS; part++)
    if (c == NULL || c->parts == 0 || (part >= c->first_part && part < c->first_part + c->parts))
      litmus_set_add(&model->covers[part], node);
}

int litmus_new_node(litmus_model_t* model, int call) {
  int index = (int)model->node_count++;
  litmus_node_t* node = &model->nodes[index];
  memset(node, 0, sizeof *node);
  node->call = (int16_t)call;
  node->reads = node->writes = node->stream = NONE;
  if (litmus_parts(model->program) > 1) add_cover(model, index, call);
  return index;
}

void litmus_add_edge(litmus_model_t* model, int from, int to, litmus_edge_t kind) {
  if (from < 0 || model->without >> kind & 1) return;
  litmus_node_t* node = &model->nodes[to];
  node->edges[node->edge_count].kind = (uint8_t)kind;
  node->edges[node->edge_count++].from = (uint8_t)from;
  litmus_set_join(&node->before, &model->nodes[from].before);
  litmus_set_add(&node->before, from);
}

void litmus_set_reads(litmus_model_t* model, int node, int place) {
  model->nodes[node].reads = (int16_t)place;
  litmus_set_add(&model->readers[place], node);
}

void litmus_set_writes(litmus_model_t* model, int node, int place) {
  model->nodes[node].writes = (int16_t)place;
  litmus_set_add(&model->writers[place], node);
}

void litmus_look(litmus_model_t* model, int node, int place, int call_id) {
  litmus_read_t* read = &model->reads[model->read_count++];
  *read =
      (litmus_read_t){.node = (uint8_t)node, .place = (int16_t)place, .call_id = (uint8_t)call_id};
}

static int thread_of(const litmus_model_t* model, int call) {
  return call < 0 ? 0 : model->program->calls[call].thread;
}

/* What the call's thread knows to be complete happens before the node. */
void litmus_add_host_edges(litmus_model_t* model, int node) {
  const int thread = thread_of(model, model->nodes[node].call);
  for (int of = 0; of < LITMUS_THREADS; of++)
    litmus_add_edge(model, model->host_tail[thread][of], node,
                    of == thread ? LITMUS_EDGE_HOST : LITMUS_EDGE_HAND_OVER);
}

static void set_host_tail(litmus_model_t* model, int node) {
  const int thread = thread_of(model, model->nodes[node].call);
  memset(model->host_tail[thread], 0xff, sizeof model->host_tail[thread]);
  model->host_tail[thread][thread] = (int16_t)node;
}

/* A node of the host itself: later calls of its thread come after it. */
int litmus_host_node(litmus_model_t* model, int call) {
  int node = litmus_new_node(model, call);
  litmus_add_host_edges(model, node);
  set_host_tail(model, node);
  return node;
}

static bool is_callback(const litmus_model_t* model, int node) {
  int call = model->nodes[node].call;
  if (call < 0) return false;
  unsigned op = model->program->calls[call].op;
  const litmus_op_t last = model->program->torch ? LITMUS_CALLBACK_MARK : LITMUS_DELAY;
  return op >= LITMUS_CALLBACK_READ && op <= last; /* PyTorch's are marks of a gate alone */
}

/* Returns whether it is of such a call of PyTorch's. */
static bool is_torch(const litmus_model_t* model, int node, litmus_op_t op) {
  int call = model->nodes[node].call;
  return model->program->torch && call >= 0 && model->program->calls[call].op == op;
}

static litmus_edge_t stream_edge(const litmus_model_t* model, int from, int to) {
  if (is_torch(model, from, LITMUS_PEER_COPY) || is_torch(model, to, LITMUS_PEER_COPY))
    return LITMUS_EDGE_COPY_ACROSS;
  if (is_torch(model, to, LITMUS_BACKWARD) || is_torch(model, to, LITMUS_MEET))
    return LITMUS_EDGE_BACKWARD;
  if (is_callback(model, from)) return LITMUS_EDGE_CALLBACK_BEFORE;
  if (is_callback(model, to)) return LITMUS_EDGE_CALLBACK_AFTER;
  const bool shared =
      thread_of(model, model->nodes[from].call) != thread_of(model, model->nodes[to].call);
  return shared ? LITMUS_EDGE_STREAM_SHARED : LITMUS_EDGE_STREAM;
}

/* Adds edges from what is last on a stream, as the node's thread knows it. */
static void add_stream_edges(litmus_model_t* model, int stream, int node, litmus_edge_t kind) {
  int16_t tails[LITMUS_THREADS];
  const int thread = thread_of(model, model->nodes[node].call);
  unsigned count = litmus_stream_tails(model, stream, thread, tails);
  for (unsigned i = 0; i < count; i++)
    litmus_add_edge(model, tails[i], node,
                    kind == LITMUS_EDGE_STREAM ? stream_edge(model, tails[i], node) : kind);
}

/* A node of work on a stream; or, where that is NULL, one that is complete when the call returns. */
int litmus_work_node(litmus_model_t* model, int call, int stream) {
  int node = litmus_new_node(model, call);
  litmus_add_host_edges(model, node);
  if (stream >= 0) {
    add_stream_edges(model, stream, node, LITMUS_EDGE_STREAM);
    litmus_add_edge(model, model->late_record[stream], node, LITMUS_EDGE_WAIT);
    model->late_record[stream] = NONE;
    if (has_extra(model, LITMUS_EXTRA_STREAMS_IN_ONE_ORDER))
      litmus_add_edge(model, model->last_work, node, LITMUS_EDGE_STREAM);
    model->stream_tail[stream] = model->last_work = (int16_t)node;
    model->nodes[node].stream = (int8_t)stream;
    if (has_extra(model, LITMUS_EXTRA_ENQUEUED_IS_COMPLETE)) set_host_tail(model, node);
  } else {
    litmus_add_edge(model, node, litmus_host_node(model, call), LITMUS_EDGE_NULL_STREAM);
  }
  return node;
}

/* ------------------------------------------------------------------------------------- calls -- */

static void add_copy(litmus_model_t* model, int index, int from, int to) {
  int node = litmus_work_node(model, index, model->program->calls[index].stream);
  litmus_set_reads(model, node, from);
  litmus_set_writes(model, node, to);
  model->nodes[node].copies = true;
}

static void add_value(litmus_model_t* model, int node, int place, uint8_t value) {
  litmus_set_writes(model, node, place);
  model->nodes[node].value = value;
}

int litmus_new_place(litmus_model_t* model, int cell) {
  int place = (int)model->place_count++;
  model->writers[place] = model->readers[place] = (litmus_set_t){{0}};
  model->first[place] = 0;
  model->is_async[place] = false;
  model->cell_of[place] = (int8_t)cell;
  return place;
}

void litmus_add_fresh(litmus_model_t* model, int node, int cell, bool begins) {
  int place = litmus_new_place(model, cell);
  model->cell_place[cell] = (int16_t)place;
  model->cell_begins[cell] = (int16_t)(begins ? node : NONE);
  litmus_set_writes(model, node, place);
  model->nodes[node].any = true;
  litmus_set_add(&model->fresh, node);
  model->is_async[place] = begins;
}

static void add_callback(litmus_model_t* model, int index, const litmus_call_t* call) {
  int node = litmus_work_node(model, index, call->stream);
  int mark = LITMUS_PLACE_OF_MARKS + call->mark;
  if (call->op == LITMUS_CALLBACK_MARK) add_value(model, node, mark, call->value);
  if (call->op == LITMUS_DELAY || call->op == LITMUS_CALLBACK_MARK) return;
  int place = call->op == LITMUS_CALLBACK_READ ? call->slot : mark;
  litmus_set_reads(model, node, place);
  litmus_look(model, node, place, call->id);
}

static int record_node(litmus_model_t* model, int index, int stream, litmus_edge_t kind) {
  int node = litmus_new_node(model, index);
  litmus_add_host_edges(model, node);
  for (int s = 0; s < LITMUS_STREAMS; s++)
    if (s == stream || has_extra(model, LITMUS_EXTRA_EVENT_COVERS_DEVICE))
      add_stream_edges(model, s, node, kind);
  if (has_extra(model, LITMUS_EXTRA_RECORD_BLOCKS)) set_host_tail(model, node);
  return node;
}

static void add_record(litmus_model_t* model, int index, const litmus_call_t* call) {
  const int event = call->event;
  int node = record_node(model, index, call->stream,
                         model->event_again[event] ? LITMUS_EDGE_RERECORD : LITMUS_EDGE_RECORD);
  model->event_record[event] = (int16_t)node;
  model->event_again[event] = true;
  if (!has_extra(model, LITMUS_EXTRA_WAIT_TAKES_LATER_RECORD)) return;
  for (int s = 0; s < LITMUS_STREAMS; s++)
    if (model->waited[event] >> s & 1) model->late_record[s] = (int16_t)node;
}

static void add_wait(litmus_model_t* model, int index, const litmus_call_t* call) {
  const litmus_program_t* p = model->program;
  bool across = litmus_stream_device(p, call->stream) != litmus_event_device(p, call->event);
  int node = litmus_work_node(model, index, call->stream);
  litmus_add_edge(model, model->event_record[call->event], node,
                  across ? LITMUS_EDGE_WAIT_DEVICE : LITMUS_EDGE_WAIT);
  model->waited[call->event] |= (uint8_t)(1 << call->stream);
}

static void add_device(litmus_model_t* model, int index, const litmus_call_t* call) {
  int node = litmus_host_node(model, index);
  for (int s = 0; s < LITMUS_STREAMS; s++)
    if (litmus_stream_device(model->program, s) == call->device ||
        has_extra(model, LITMUS_EXTRA_DEVICES_IN_ONE))
      add_stream_edges(model, s, node, LITMUS_EDGE_DEVICE_SYNCHRONIZE);
}

/* The node's edges from the `known`th on hold only if what the host asks is answered OK. */
static void hold_back(litmus_node_t* node, unsigned known, litmus_set_t before) {
  node->held_back = (uint8_t)(node->edge_count - known);
  node->edge_count = (uint8_t)known;
  node->before = before;
}

/* The host waits, or asks; `answered` says whether it learned anything. */
static void add_question(litmus_model_t* model, int index, const litmus_call_t* call,
                         bool answered) {
  const bool event = call->op <= LITMUS_EVENT_SPIN;
  const bool waits = call->op == LITMUS_EVENT_SYNCHRONIZE || call->op == LITMUS_STREAM_SYNCHRONIZE;
  const bool polls = call->op == LITMUS_EVENT_POLL || call->op == LITMUS_STREAM_POLL;
  const bool in_vain = polls && !answered && !has_extra(model, LITMUS_EXTRA_POLL_IS_COMPLETE);
  if (in_vain && !litmus_takes_answers(model)) return (void)litmus_new_node(model, index);
  litmus_edge_t kind = event   ? (waits ? LITMUS_EDGE_EVENT_SYNCHRONIZE : LITMUS_EDGE_EVENT_QUERY)
                       : waits ? LITMUS_EDGE_STREAM_SYNCHRONIZE
                               : LITMUS_EDGE_STREAM_QUERY;
  int node = litmus_host_node(model, index);
  const unsigned known = model->nodes[node].edge_count;
  const litmus_set_t before = model->nodes[node].before;
  if (event)
    litmus_add_edge(model, model->event_record[call->event], node, kind);
  else
    add_stream_edges(model, call->stream, node, kind);
  if (in_vain) hold_back(&model->nodes[node], known, before);
}

/* A mark has one writer. */
static void await_mark(litmus_model_t* model, int index, const litmus_call_t* call) {
  int node = litmus_host_node(model, index);
  for (int from = 0; from < node; from++)
    if (litmus_set_has(&model->writers[LITMUS_PLACE_OF_MARKS + call->mark], from))
      litmus_add_edge(model, from, node, LITMUS_EDGE_CALLBACK_HOST);
}

static void renew_event(litmus_model_t* model, int event) {
  model->event_record[event] = NONE;
  model->event_again[event] = false;
  model->waited[event] = 0;
}

static void add_host(litmus_model_t* model, int index, const litmus_call_t* call) {
  int mark = LITMUS_PLACE_OF_MARKS + call->mark;
  int place = call->op == LITMUS_HOST_LOOK ? mark : call->slot;
  int node = litmus_host_node(model, index);
  if (call->op == LITMUS_HOST_WRITE) {
    add_value(model, node, place, call->value);
  } else {
    litmus_set_reads(model, node, place);
    litmus_look(model, node, place, call->id);
  }
}

static void add_call(litmus_model_t* model, int index, const litmus_call_t* call, bool answered) {
  const int16_t* cells = model->cell_place;
  if (model->program->torch && litmus_model_add_torch(model, index, call)) return;
  switch (call->op) {
    case LITMUS_FILL:
    case LITMUS_KERNEL_FILL:
      add_value(model, litmus_work_node(model, index, call->stream), cells[call->cell],
                call->value);
      break;
    case LITMUS_UPLOAD:
      add_copy(model, index, call->slot, cells[call->cell]);
      break;
    case LITMUS_DOWNLOAD:
      add_copy(model, index, cells[call->cell], call->slot);
      break;
    case LITMUS_COPY:
    case LITMUS_KERNEL_COPY:
    case LITMUS_PEER_COPY:
      add_copy(model, index, cells[call->other], cells[call->cell]);
      break;
    case LITMUS_CALLBACK_READ:
    case LITMUS_CALLBACK_MARK:
    case LITMUS_CALLBACK_LOOK:
    case LITMUS_DELAY:
      add_callback(model, index, call);
      break;
    case LITMUS_WAIT:
      add_wait(model, index, call);
      break;
    case LITMUS_ASYNC_ALLOC:
      litmus_add_fresh(model, litmus_work_node(model, index, call->stream), call->cell, true);
      break;
    case LITMUS_ASYNC_FREE:
      litmus_work_node(model, index, call->stream);
      model->cell_place[call->cell] = NONE;
      break;
    case LITMUS_RECORD:
      add_record(model, index, call);
      break;
    case LITMUS_DEVICE_SYNCHRONIZE:
      add_device(model, index, call);
      break;
    case LITMUS_EVENT_RENEW:
      renew_event(model, call->event);
      break;
    case LITMUS_STREAM_RENEW:
      model->stream_tail[call->stream] = NONE;
      model->stream_begins[call->stream] = (int16_t)model->node_count;
      break;
    case LITMUS_HOST_WRITE:
    case LITMUS_HOST_READ:
    case LITMUS_HOST_LOOK:
      add_host(model, index, call);
      break;
    case LITMUS_AWAIT_MARK:
      await_mark(model, index, call);
      break;
    case LITMUS_THREAD_RENEW:
    case LITMUS_EMPTY_CACHE:
    case LITMUS_MISTAKE:
      litmus_host_node(model, index);
      break;
    case LITMUS_CELL_RENEW:
      litmus_add_fresh(model, litmus_host_node(model, index), call->cell, false);
      break;
    default:
      add_question(model, index, call, answered);
      break;
  }
}

bool litmus_model_add(litmus_model_t* model, uint32_t index, bool answered) {
  const litmus_call_t* call = &model->program->calls[index];
  if (model->node_count + ROOM > LITMUS_NODES || model->place_count + 1 > LITMUS_PLACES ||
      model->read_count + LITMUS_END_READS > LITMUS_READS ||
      !litmus_has_call(model->program->torch, call->op))
    return false;
  const uint64_t heard = model->heard[call->thread];
  int16_t tails[LITMUS_THREADS];
  memcpy(tails, model->host_tail[call->thread], sizeof tails);
  litmus_hear(model, (int)index);
  if (litmus_is_defined(model, call)) {
    add_call(model, (int)index, call, answered);
    litmus_touch(model, (int)index);
    return true;
  }
  memcpy(model->host_tail[call->thread], tails, sizeof tails);
  model->heard[call->thread] = heard;
  return false;
}

void litmus_model_replay(litmus_model_t* model, const litmus_program_t* program,
                         uint64_t answered) {
  litmus_model_begin(model, program, 0, 0);
  for (uint32_t i = 0; i < program->count; i++) {
    litmus_hear(model, (int)i);
    add_call(model, (int)i, &program->calls[i], answered >> i & 1);
    litmus_touch(model, (int)i);
  }
  litmus_model_end(model);
}
