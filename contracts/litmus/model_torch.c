/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * model_torch.c: the calls that PyTorch has in another way than tbk.h. Nothing is claimed that no
 * clause of PyTorch says: a copy from the host that blocks has read its source, and is no more than
 * enqueued otherwise; one to ordinary memory that does not block may write there at any time until
 * its stream, or its device, was synchronised.
 */
#include "sets.h"

enum { NONE = -1, FAR = LITMUS_STREAMS - 1 /* device 1's, where there are two */ };

/* The call reads its source before it returns; the rest of the copy is work. */
static void add_taken_upload(litmus_model_t* model, int index, const litmus_call_t* call,
                             litmus_edge_t kind) {
  const int taken = litmus_new_place(model, NONE), node = litmus_new_node(model, index);
  litmus_add_host_edges(model, node);
  litmus_set_reads(model, node, call->slot);
  litmus_set_writes(model, node, taken);
  model->nodes[node].copies = true;
  litmus_add_edge(model, node, litmus_host_node(model, index), kind);
  const int work = litmus_work_node(model, index, call->stream);
  litmus_set_reads(model, work, taken);
  litmus_set_writes(model, work, model->cell_place[call->cell]);
  model->nodes[work].copies = true;
}

static bool is_pinned(const litmus_model_t* model, const litmus_call_t* call) {
  return model->program->pinned && call->slot < LITMUS_SLOTS / 2;
}

static int download_node(litmus_model_t* model, int index, const litmus_call_t* call) {
  const int node = litmus_work_node(model, index, call->stream);
  litmus_set_reads(model, node, model->cell_place[call->cell]);
  model->nodes[node].copies = true;
  return node;
}

static void add_blocking_download(litmus_model_t* model, int index, const litmus_call_t* call) {
  const int node = download_node(model, index, call);
  litmus_set_writes(model, node, call->slot);
  litmus_add_edge(model, node, litmus_host_node(model, index), LITMUS_EDGE_BLOCKING_COPY);
}

/* The bytes are taken in the stream's order, and come to the host's memory some time later. */
static void add_late_download(litmus_model_t* model, int index, const litmus_call_t* call) {
  const int taken = litmus_new_place(model, NONE);
  const int node = download_node(model, index, call);
  litmus_set_writes(model, node, taken);
  const int late = litmus_new_node(model, index);
  litmus_add_edge(model, node, late, LITMUS_EDGE_PAGEABLE_COPY);
  litmus_add_edge(model, model->late_copy[call->stream], late, LITMUS_EDGE_PAGEABLE_COPY);
  litmus_set_reads(model, late, taken);
  litmus_set_writes(model, late, call->slot);
  model->nodes[late].copies = true;
  model->late_copy[call->stream] = (int16_t)late;
}

/* In the order of both streams. */
static void add_across(litmus_model_t* model, int index, const litmus_call_t* call) {
  const int node = litmus_work_node(model, index, call->stream);
  litmus_add_edge(model, model->stream_tail[FAR], node, LITMUS_EDGE_COPY_ACROSS);
  model->stream_tail[FAR] = (int16_t)node;
  litmus_set_reads(model, node, model->cell_place[call->other]);
  litmus_set_writes(model, node, model->cell_place[call->cell]);
  model->nodes[node].copies = true;
}

/* The copy is backward's, on the stream of forward; the caller, who is on its first stream, goes on
   behind it there. That it begins behind the caller's work no clause says. `met`: a node of the other
   stream whose gradient it takes; NONE: there is none. */
static void add_backward(litmus_model_t* model, int index, const litmus_call_t* call, int from,
                         int met) {
  const int node = litmus_work_node(model, index, call->stream);
  litmus_add_edge(model, met, node, LITMUS_EDGE_MEET);
  litmus_set_reads(model, node, from);
  litmus_set_writes(model, node, model->cell_place[call->cell]);
  model->nodes[node].copies = true;
  const int behind = litmus_new_node(model, index), caller = LITMUS_CALLERS_STREAM;
  litmus_add_host_edges(model, behind);
  litmus_add_edge(model, model->stream_tail[caller], behind, LITMUS_EDGE_STREAM);
  litmus_add_edge(model, node, behind, LITMUS_EDGE_BACKWARD_CALLER);
  model->nodes[behind].stream = LITMUS_CALLERS_STREAM;
  model->stream_tail[caller] = (int16_t)behind;
}

/* One gradient is what the cell held on the other stream's turn, the other one is zeros of the call's own
   stream. There the sum is made, and what takes it runs: behind both. */
static void add_meeting(litmus_model_t* model, int index, const litmus_call_t* call) {
  const int taken = litmus_new_place(model, NONE);
  const int node = litmus_work_node(model, index, litmus_meet_stream(call->stream));
  litmus_set_reads(model, node, model->cell_place[call->other]);
  litmus_set_writes(model, node, taken);
  model->nodes[node].copies = true;
  add_backward(model, index, call, taken, node);
}

/* Beside the work of one stream, or of all, the copies to ordinary memory are over. */
static void add_synchronize(litmus_model_t* model, int index, const litmus_call_t* call) {
  const bool device = call->op == LITMUS_DEVICE_SYNCHRONIZE;
  const int node = litmus_host_node(model, index);
  const litmus_edge_t kind =
      device ? LITMUS_EDGE_DEVICE_SYNCHRONIZE : LITMUS_EDGE_STREAM_SYNCHRONIZE;
  for (int s = 0; s < LITMUS_STREAMS; s++) {
    if (device ? litmus_stream_device(model->program, s) != call->device : s != call->stream)
      continue;
    litmus_add_edge(model, model->stream_tail[s], node, kind);
    litmus_add_edge(model, model->late_copy[s], node, kind);
  }
}

static void add_allocation(litmus_model_t* model, int index, const litmus_call_t* call) {
  litmus_add_fresh(model, litmus_work_node(model, index, call->stream), call->cell, true);
  model->cell_home[call->cell] = call->stream;
  model->cell_recorded[call->cell] = 0;
}

static bool add_copy(litmus_model_t* model, int index, const litmus_call_t* call) {
  if (is_pinned(model, call) && !call->blocks) return false;
  if (call->op == LITMUS_UPLOAD)
    add_taken_upload(model, index, call,
                     call->blocks ? LITMUS_EDGE_BLOCKING_SOURCE : LITMUS_EDGE_PAGEABLE_SOURCE);
  else if (call->blocks)
    add_blocking_download(model, index, call);
  else
    add_late_download(model, index, call);
  return true;
}

bool litmus_model_add_torch(litmus_model_t* model, int index, const litmus_call_t* call) {
  switch (call->op) {
    case LITMUS_UPLOAD:
    case LITMUS_DOWNLOAD:
      return add_copy(model, index, call);
    case LITMUS_PINNED_UPLOAD:
    case LITMUS_LOADED_UPLOAD: /* it waits until another thread has pinned, and so read, the source */
      add_taken_upload(model, index, call, LITMUS_EDGE_PINNED_SOURCE);
      return true;
    case LITMUS_BACKWARD:
      add_backward(model, index, call, model->cell_place[call->other], NONE);
      return true;
    case LITMUS_MEET:
      add_meeting(model, index, call);
      return true;
    case LITMUS_PEER_COPY:
      add_across(model, index, call);
      return true;
    case LITMUS_STREAM_SYNCHRONIZE:
    case LITMUS_DEVICE_SYNCHRONIZE:
      add_synchronize(model, index, call);
      return true;
    case LITMUS_ASYNC_ALLOC:
      add_allocation(model, index, call);
      return true;
    case LITMUS_ASYNC_FREE:
      model->cell_place[call->cell] = NONE;
      return true;
    case LITMUS_RECORD_STREAM:
      model->cell_recorded[call->cell] |= (uint8_t)(1 << call->stream);
      return true;
    case LITMUS_STREAM_RENEW: /* what the one before still copies is over in the end */
      model->late_copy[call->stream] = NONE;
      return false;
    default:
      return false;
  }
}
