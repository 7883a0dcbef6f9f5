/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * torch_self.c: whether the model of PyTorch's calls says what its clauses say, and no more.
 */
#include <stdio.h>

#include "self.h"

#define BLOCKING_SEND(m, s) \
  { .op = LITMUS_UPLOAD, .slot = HOST_SLOT, .cell = (m), .stream = (s), .blocks = true }
#define BLOCKING_FETCH(m, s) \
  { .op = LITMUS_DOWNLOAD, .slot = HOST_SLOT, .cell = (m), .stream = (s), .blocks = true }
#define PINNED_FETCH(m, s) \
  { .op = LITMUS_DOWNLOAD, .slot = 0, .cell = (m), .stream = (s) }
#define PINNED_SEND(m, s) \
  { .op = LITMUS_UPLOAD, .slot = 0, .cell = (m), .stream = (s) }
#define SET_PINNED \
  { .op = LITMUS_HOST_WRITE, .slot = 0, .value = V }
#define GET_PINNED \
  { .op = LITMUS_HOST_READ, .slot = 0 }
#define ACROSS(s) \
  { .op = LITMUS_PEER_COPY, .cell = FAR, .other = 0, .stream = (s) }
#define SYNC_DEVICE \
  { .op = LITMUS_DEVICE_SYNCHRONIZE }
#define NOTE(m, s) \
  { .op = LITMUS_RECORD_STREAM, .cell = (m), .stream = (s) }

#define OTHER_STREAM(s) \
  { .op = LITMUS_STREAM_RENEW, .stream = (s) }
#define EMPTY_CACHE \
  { .op = LITMUS_EMPTY_CACHE }
#define BACKWARD(m, s) \
  { .op = LITMUS_BACKWARD, .cell = (m), .other = 2, .stream = (s) }
#define MEET(m, s) \
  { .op = LITMUS_MEET, .cell = (m), .other = 2, .stream = (s) }
#define DROPPED_SEND(m, s) \
  { .op = LITMUS_PINNED_UPLOAD, .slot = HOST_SLOT, .cell = (m), .stream = (s) }
#define LOADED_SEND(m, s) \
  { .op = LITMUS_LOADED_UPLOAD, .slot = HOST_SLOT, .cell = (m), .stream = (s) }
#define FILL_BY_1(m, v, s) \
  { .op = LITMUS_FILL, .cell = (m), .value = (v), .stream = (s), .thread = 1 }
#define SYNC_BY_1(s) \
  { .op = LITMUS_STREAM_SYNCHRONIZE, .stream = (s), .thread = 1 }

#define LOOK_IT \
  { .op = LITMUS_HOST_LOOK, .mark = 0 }

enum { PINNED = 0 };

static const sample_t edges[] = {
    {LITMUS_EDGE_HOST, PINNED, {FILL_IT(0, V, 0), SYNC(0), PINNED_FETCH(0, 1)}},
    {LITMUS_EDGE_STREAM, PINNED, {FILL_IT(0, V, 0), PINNED_FETCH(0, 0)}},
    {LITMUS_EDGE_RECORD,
     PINNED,
     {FILL_IT(0, V, 0), RECORD_IT(0, 0), WAIT_FOR(1, 0), PINNED_FETCH(0, 1)}},
    {LITMUS_EDGE_RERECORD,
     PINNED,
     {RECORD_IT(0, 0), FILL_IT(0, V, 0), RECORD_IT(0, 0), WAIT_FOR(1, 0), PINNED_FETCH(0, 1)}},
    {LITMUS_EDGE_WAIT,
     PINNED,
     {FILL_IT(0, V, 0), RECORD_IT(0, 0), WAIT_FOR(1, 0), PINNED_FETCH(0, 1)}},
    {LITMUS_EDGE_WAIT_DEVICE,
     PINNED,
     {FILL_IT(0, V, 0), RECORD_IT(0, 0), WAIT_FOR(3, 0), RECORD_IT(3, 3), WAIT_FOR(1, 3),
      PINNED_FETCH(0, 1)}},
    {LITMUS_EDGE_EVENT_SYNCHRONIZE,
     PINNED,
     {FILL_IT(0, V, 0), RECORD_IT(0, 0), OF_EVENT(LITMUS_EVENT_SYNCHRONIZE, 0),
      PINNED_FETCH(0, 1)}},
    {LITMUS_EDGE_EVENT_QUERY,
     PINNED,
     {FILL_IT(0, V, 0), RECORD_IT(0, 0), OF_EVENT(LITMUS_EVENT_SPIN, 0), PINNED_FETCH(0, 1)}},
    {LITMUS_EDGE_STREAM_SYNCHRONIZE, PINNED, {FILL_IT(0, V, 0), SYNC(0), PINNED_FETCH(0, 1)}},
    {LITMUS_EDGE_STREAM_QUERY,
     PINNED,
     {FILL_IT(0, V, 0), OF_STREAM(LITMUS_STREAM_SPIN, 0), PINNED_FETCH(0, 1)}},
    {LITMUS_EDGE_DEVICE_SYNCHRONIZE, PINNED, {FILL_IT(0, V, 0), SYNC_DEVICE, PINNED_FETCH(0, 1)}},
    {LITMUS_EDGE_ASYNC_FREE,
     PINNED,
     {ALLOC(FRESH, 0), FILL_IT(FRESH, V, 0), PINNED_FETCH(FRESH, 0)}},
    {LITMUS_EDGE_BLOCKING_COPY,
     PINNED,
     {FILL_IT(0, V, 0), BLOCKING_FETCH(1, 0), PINNED_FETCH(0, 1)}},
    {LITMUS_EDGE_PAGEABLE_COPY, HOST_SLOT, {FILL_IT(0, V, 0), FETCH(0, 0), SYNC(0), GET_HOST}},
    {LITMUS_EDGE_HAND_OVER, PINNED, {FILL_BY_1(0, V, 0), SYNC_BY_1(0), PINNED_FETCH(0, 1)}},
    {LITMUS_EDGE_STREAM_SHARED, PINNED, {FILL_BY_1(0, V, 0), PINNED_FETCH(0, 0)}},
    {LITMUS_EDGE_BACKWARD,
     PINNED,
     {FILL_IT(2, V, 1), BACKWARD(0, 1), RECORD_IT(0, 1), WAIT_FOR(2, 0), PINNED_FETCH(0, 2)}},
    {LITMUS_EDGE_BACKWARD_CALLER, PINNED, {BACKWARD(0, 1), PINNED_FETCH(0, 0)}},
    {LITMUS_EDGE_MEET, PINNED, {FILL_IT(2, V, 1), MEET(0, 2), PINNED_FETCH(0, 2)}},
    {LITMUS_EDGE_CALLBACK_AFTER,
     PINNED,
     {FILL_IT(0, V, 0), MARK_IT(0), AWAIT_IT(0), PINNED_FETCH(0, 1)}},
    {LITMUS_EDGE_CALLBACK_BEFORE,
     LITMUS_PLACE_OF_MARKS,
     {MARK_IT(0), FILL_IT(0, V, 0), SYNC(0), LOOK_IT}},
    {LITMUS_EDGE_CALLBACK_HOST,
     PINNED,
     {FILL_IT(0, V, 0), MARK_IT(0), AWAIT_IT(0), PINNED_FETCH(0, 1)}},
    {LITMUS_EDGE_COPY_ACROSS, FAR_CELL, {FILL_IT(FAR, V, 3), ACROSS(0)}},
};

/* Edges whose loss makes a program undefined, or shows as bytes that nothing wrote. */
static const int not_sampled[] = {LITMUS_EDGE_BLOCKING_SOURCE, LITMUS_EDGE_PAGEABLE_SOURCE,
                                  LITMUS_EDGE_PINNED_SOURCE, LITMUS_EDGE_RECORD_STREAM};

static void each_edge_bears(void) {
  uint64_t has = 0;
  for (size_t i = 0; i < sizeof not_sampled / sizeof *not_sampled; i++)
    has |= UINT64_C(1) << not_sampled[i];
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
    const char* name = litmus_edge_name(edges[i].kind);
    has |= UINT64_C(1) << edges[i].kind;
    check(legal(&edges[i], true, 0, 0) == 1, "PyTorch: the read has not one legal value", name);
    check(legal(&edges[i], true, UINT64_C(1) << edges[i].kind, 0) != 1,
          "PyTorch: its loss is not noticed", name);
  }
  for (int kind = 0; kind < LITMUS_EDGES; kind++)
    check((has >> kind & 1) == (litmus_edge_clause(true, kind) != NULL),
          "PyTorch: no program needs it", litmus_edge_name(kind));
}

/* What PyTorch does not promise, although much of it holds on most devices. */
static const sample_t open[] = {
    {0, PINNED, {FILL_IT(0, V, 0), PINNED_FETCH(0, 1)}},
    {0, PINNED, {BLOCKING_SEND(0, 0), PINNED_FETCH(0, 1)}},
    {0, PINNED, {SEND(0, 0), PINNED_FETCH(0, 1)}},
    {0, PINNED, {WAIT_FOR(1, 0), FILL_IT(0, V, 0), RECORD_IT(0, 0), PINNED_FETCH(0, 1)}},
    {0, PINNED, {FILL_IT(0, V, 0), ACROSS(1), PINNED_FETCH(0, 2)}},
    {0, PINNED, {FILL_IT(0, V, 0), BACKWARD(0, 1), PINNED_FETCH(0, 1)}},
    {0, PINNED, {BACKWARD(0, 1), PINNED_FETCH(0, 2)}},
    {0, PINNED, {FILL_IT(2, V, 0), MEET(0, 2), PINNED_FETCH(0, 2)}},
    {0, PINNED, {FILL_IT(2, V, 1), MEET(0, 2), PINNED_FETCH(0, 1)}},
    {0, PINNED, {DROPPED_SEND(0, 0), PINNED_FETCH(0, 1)}},
    {0, PINNED, {LOADED_SEND(0, 0), PINNED_FETCH(0, 1)}},
    {0, PINNED, {FILL_BY_1(0, V, 0), PINNED_FETCH(0, 1)}},
    {0, PINNED, {FILL_IT(0, V, 1), OTHER_STREAM(1), PINNED_FETCH(0, 1)}},
    {0, PINNED, {FILL_IT(0, V, 0), EMPTY_CACHE, PINNED_FETCH(0, 1)}},
};

static void nothing_else_orders(void) {
  for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
    char name[16];
    snprintf(name, sizeof name, "open %zu", i);
    check(legal(&open[i], true, 0, 0) > 1, "PyTorch: the model says more than the clauses", name);
  }
}

static const rule_t rules[] = {
    {"the host writes what a copy reads", false, {PINNED_SEND(0, 0), SET_PINNED}},
    {"the host writes it once the stream was synchronised",
     true,
     {PINNED_SEND(0, 0), SYNC(0), SET_PINNED}},
    {"the host writes what a copy that blocks has read", true, {BLOCKING_SEND(0, 0), SET_HOST}},
    {"the host writes ordinary memory that a copy has read", true, {SEND(0, 0), SET_HOST}},
    {"the host reads what a copy that blocks has written", true, {BLOCKING_FETCH(0, 0), GET_HOST}},
    {"the host reads pinned memory behind an event",
     true,
     {PINNED_FETCH(0, 0), RECORD_IT(0, 0), OF_EVENT(LITMUS_EVENT_SYNCHRONIZE, 0), GET_PINNED}},
    {"the host reads ordinary memory behind an event",
     false,
     {FETCH(0, 0), RECORD_IT(0, 0), OF_EVENT(LITMUS_EVENT_SYNCHRONIZE, 0), GET_HOST}},
    {"the host reads ordinary memory behind its stream", true, {FETCH(0, 0), SYNC(0), GET_HOST}},
    {"the host reads ordinary memory behind its device",
     true,
     {FETCH(0, 0), SYNC_DEVICE, GET_HOST}},
    {"the host reads ordinary memory behind another stream",
     false,
     {FETCH(0, 0), SYNC(1), GET_HOST}},
    {"memory is used beside its allocation", false, {ALLOC(FRESH, 0), FILL_IT(FRESH, V, 1)}},
    {"memory is freed while its own stream uses it",
     true,
     {ALLOC(FRESH, 0), FILL_IT(FRESH, V, 0), FREE(FRESH, 0)}},
    {"memory is freed while another stream uses it",
     false,
     {ALLOC(FRESH, 0), RECORD_IT(0, 0), WAIT_FOR(1, 0), FILL_IT(FRESH, V, 1), FREE(FRESH, 0)}},
    {"memory is freed while a stream uses it that was recorded",
     true,
     {ALLOC(FRESH, 0), RECORD_IT(0, 0), WAIT_FOR(1, 0), FILL_IT(FRESH, V, 1), NOTE(FRESH, 1),
      FREE(FRESH, 0)}},
    {"another stream was recorded",
     false,
     {ALLOC(FRESH, 0), RECORD_IT(0, 0), WAIT_FOR(1, 0), FILL_IT(FRESH, V, 1), NOTE(FRESH, 2),
      FREE(FRESH, 0)}},
    {"the host writes what was copied to pinned memory", true, {DROPPED_SEND(0, 0), SET_HOST}},
    {"the host writes what its loader has pinned", true, {LOADED_SEND(0, 0), SET_HOST}},
    {"what is pinned is a batch of a loader",
     false,
     {{.op = LITMUS_LOADED_UPLOAD, .slot = 0, .cell = 0, .stream = 0}}},
    {"what is pinned is pinned again",
     false,
     {{.op = LITMUS_PINNED_UPLOAD, .slot = 0, .cell = 0, .stream = 0}}},
    {"backward copies a cell to itself", false, {BACKWARD(2, 1)}},
    {"backward is between devices", false, {BACKWARD(FAR, 1)}},
    {"gradients meet in the cell that one is of", false, {MEET(2, 1)}},
    {"gradients meet on another device", false, {MEET(0, 3)}},
    {"gradients are of memory in the order of a stream", false, {ALLOC(FRESH, 0), MEET(FRESH, 0)}},
    {"two threads do not take turns",
     false,
     {FILL_IT(0, V, 0), {.op = LITMUS_EVENT_POLL, .thread = 1, .meanwhile = true}}},
    {"a copy names no stream", false, {FILL_IT(0, V, -1)}},
    {"a gate has marks", true, {MARK_IT(0)}},
    {"there are other callbacks", false, {LOOK_AT(0)}},
    {"memory is freed outside of the order of streams", false, {RENEW(0)}},
    {"another stream is taken while work is pending", true, {FILL_IT(0, V, 1), OTHER_STREAM(1)}},
    {"another default stream is taken", false, {OTHER_STREAM(0)}},
    {"another stream of the second device is taken", false, {OTHER_STREAM(3)}},
    {"another stream is taken where memory was used on the one before",
     false,
     {ALLOC(FRESH, 0), RECORD_IT(0, 0), WAIT_FOR(1, 0), FILL_IT(FRESH, V, 1), OTHER_STREAM(1)}},
    {"the host reads what the stream before has copied",
     false,
     {FETCH(0, 1), OTHER_STREAM(1), SYNC(1), GET_HOST}},
    {"the cache is emptied while work is pending", true, {FILL_IT(0, V, 1), EMPTY_CACHE}},
};

static void undefined_programs_are_refused(void) {
  static litmus_model_t model;
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    litmus_program_t program = program_of(rules[i].calls, true);
    check(litmus_model_build(&model, &program, 0, 0, 0) == rules[i].defined,
          rules[i].defined ? "PyTorch: is refused" : "PyTorch: is allowed", rules[i].what);
  }
}

static uint64_t kinds[LITMUS_EDGES];

static void count_kinds(const litmus_model_t* model) {
  for (uint32_t n = 0; n < model->node_count; n++)
    for (unsigned e = 0; e < model->nodes[n].edge_count; e++)
      kinds[model->nodes[n].edges[e].kind]++;
}

static void the_generator_reaches_all(void) {
  const litmus_offers_t offers = {.torch = true,
                                  .devices = 2,
                                  .granularity = 1,
                                  .most_bytes = 1 << 20,
                                  .fill = true,
                                  .pinned = true,
                                  .peer = true,
                                  .callback = true,
                                  .async_memory = true,
                                  .autograd = true,
                                  .gradients = true,
                                  .cache = true,
                                  .threads = LITMUS_THREADS,
                                  .threads_in = 4,
                                  .cross_device_wait = true,
                                  .delays = true};
  check_generator(&offers, count_kinds);
  for (int kind = 0; kind < LITMUS_EDGES; kind++) {
    const bool memory = kind == LITMUS_EDGE_ASYNC_FREE || kind == LITMUS_EDGE_RECORD_STREAM;
    const bool there = litmus_edge_clause(true, kind) != NULL && !memory; /* no edges of nodes */
    check(there ? kinds[kind] >= LEAST_PAIRS : kinds[kind] == 0, "PyTorch: is hardly drawn",
          litmus_edge_name(kind));
  }
}

void check_torch(void) {
  each_edge_bears();
  nothing_else_orders();
  undefined_programs_are_refused();
  the_generator_reaches_all();
}
