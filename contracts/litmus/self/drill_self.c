/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * drill_self.c: whether drills put each kind of call right behind each kind of edge, in small programs
 * and in large ones, and have two threads wait at the same time in each way.
 */
#include "drill.h"

#include <stdio.h>

#include "self.h"

enum { DRAWN = 1 << 20, LARGE_BYTES = 1 << 16, LEAST = 3, LEAST_TWO = 20 };

/* A record is no work of its stream: what it orders comes behind who waits for it. */
static const litmus_edge_t kinds[] = {
    LITMUS_EDGE_NULL_STREAM,    LITMUS_EDGE_STREAM,
    LITMUS_EDGE_WAIT,           LITMUS_EDGE_EVENT_SYNCHRONIZE,
    LITMUS_EDGE_EVENT_QUERY,    LITMUS_EDGE_STREAM_SYNCHRONIZE,
    LITMUS_EDGE_STREAM_QUERY,   LITMUS_EDGE_DEVICE_SYNCHRONIZE,
    LITMUS_EDGE_CALLBACK_AFTER, LITMUS_EDGE_CALLBACK_BEFORE,
    LITMUS_EDGE_CALLBACK_HOST,
};
static const litmus_op_t behind[] = {
    LITMUS_FILL,          LITMUS_UPLOAD, LITMUS_DOWNLOAD, LITMUS_COPY,       LITMUS_CALLBACK_READ,
    LITMUS_CALLBACK_MARK, LITMUS_WAIT,   LITMUS_RECORD,   LITMUS_ASYNC_FREE,
};
enum { KINDS = sizeof kinds / sizeof *kinds, BEHIND = sizeof behind / sizeof *behind };

static litmus_offers_t offers_of(bool races) {
  litmus_offers_t offers = offers_of_all();
  offers.most_bytes = 4 << 20;
  offers.threads_in = 64;
  offers.races = offers.delays = races;
  return offers;
}

static bool draw(litmus_program_t* program, const litmus_offers_t* offers, uint64_t index,
                 litmus_model_t* model) {
  *program = (litmus_program_t){.devices = offers->devices, .crosses = true};
  return litmus_drill(program, offers, index * UINT64_C(0xd1342543de82ef95), model);
}

static uint32_t kinds_into(const litmus_model_t* model, int node) {
  uint32_t bits = 0;
  for (unsigned e = 0; e < model->nodes[node].edge_count; e++)
    bits |= 1u << model->nodes[node].edges[e].kind;
  return bits;
}

/* Of each call of an operation: the edges into it, and into what it comes right behind. */
static void count(const litmus_model_t* model, unsigned counts[LITMUS_OPS][LITMUS_EDGES]) {
  for (int n = 0; n < (int)model->node_count; n++) {
    const litmus_node_t* node = &model->nodes[n];
    if (node->call < 0) continue;
    uint32_t found = kinds_into(model, n);
    for (unsigned e = 0; e < node->edge_count; e++)
      found |= kinds_into(model, node->edges[e].from);
    for (; found != 0; found &= found - 1)
      counts[model->program->calls[node->call].op][__builtin_ctz(found)]++;
  }
}

static void each_call_stands_behind_each_edge(void) {
  static unsigned counts[2][LITMUS_OPS][LITMUS_EDGES];
  static litmus_model_t model;
  const litmus_offers_t offers = offers_of(false);
  litmus_program_t program;
  for (uint64_t i = 0; i < DRAWN; i++)
    if (draw(&program, &offers, i, &model))
      count(&model, counts[program.size_bytes >= LARGE_BYTES]);
  for (unsigned large = 0; large < 2; large++)
    for (unsigned op = 0; op < BEHIND; op++)
      for (unsigned kind = 0; kind < KINDS; kind++) {
        const unsigned times = counts[large][behind[op]][kinds[kind]];
        if (times >= LEAST) continue;
        printf("FAULT: operation %d behind %s, %s: %u times\n", (int)behind[op],
               litmus_edge_name((int)kinds[kind]), large ? "large" : "small", times);
        faults++;
      }
}

/* Returns the first call by which the thread waits; -1: there is none. */
static int wait_of(const litmus_program_t* p, unsigned thread) {
  for (uint32_t i = 0; i < p->count; i++)
    if (p->calls[i].thread == thread && p->calls[i].op >= LITMUS_EVENT_SYNCHRONIZE &&
        p->calls[i].op <= LITMUS_DEVICE_SYNCHRONIZE)
      return (int)i;
  return -1;
}

static void two_threads_wait_at_once(void) {
  static unsigned counts[LITMUS_OPS][LITMUS_OPS];
  static const litmus_op_t ways[] = {LITMUS_EVENT_SYNCHRONIZE, LITMUS_STREAM_SYNCHRONIZE,
                                     LITMUS_DEVICE_SYNCHRONIZE, LITMUS_EVENT_SPIN,
                                     LITMUS_STREAM_SPIN};
  static litmus_model_t model;
  const litmus_offers_t offers = offers_of(true);
  litmus_program_t program;
  for (uint64_t i = 0; i < DRAWN; i++) {
    if (!draw(&program, &offers, i, &model) || program.threads < 2) continue;
    const int first = wait_of(&program, 0), second = wait_of(&program, 1);
    check(first >= 0 && second >= 0, "does not wait", "a thread of two");
    if (first >= 0 && second >= 0 && program.calls[first].meanwhile)
      counts[program.calls[first].op][program.calls[second].op]++;
  }
  for (unsigned a = 0; a < sizeof ways / sizeof *ways; a++)
    for (unsigned b = 0; b < sizeof ways / sizeof *ways; b++)
      check(counts[ways[a]][ways[b]] >= LEAST_TWO, "is hardly drawn", "two that wait at once");
}

static void all_are_defined_and_the_same_again(void) {
  static litmus_model_t model, again;
  const litmus_offers_t offers = offers_of(true);
  litmus_program_t program, same;
  for (uint64_t i = 0; i < DRAWN / 16; i++) {
    if (!draw(&program, &offers, i, &model)) continue;
    check(litmus_model_build(&again, &program, 0, 0, 0), "is not defined", "a drill");
    (void)draw(&same, &offers, i, &again);
    check(is_same_program(&program, &same), "differs", "the same drill again");
  }
}

void check_drills(void) {
  each_call_stands_behind_each_edge();
  two_threads_wait_at_once();
  all_are_defined_and_the_same_again();
}
