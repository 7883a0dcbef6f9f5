/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * drill.c: a drill as a series of motif.c's letters: what stands before, one edge or two, what stands
 * behind. A stream is 1: that on which things stand now; 2: the one that a wait takes them to; 3, 4: any,
 * the same one each time.
 */
#include "drill.h"

#include <string.h>

#include "motif.h"

enum { DRILLS_IN = 16, TWO_IN = 3, TRIES = 6, SERIES_TEXT = 64 };

/* Of a host that has waited the next call may be on any stream. */
enum { SAME, NEXT, ANY };
static const struct {
  const char* text;
  int then;
} links[] = {
    {"", SAME},       {"", SAME},       {"", SAME},       {"b1", SAME},   {"c1", SAME},
    {"m1", SAME},     {"m1l1", SAME},   {"r1w2", NEXT},   {"r1w2", NEXT}, {"r1w2t2u1", SAME},
    {"r1w2e-", NEXT}, {"r1Z1w2", NEXT}, {"r1r1w2", NEXT}, {"r1s-", ANY},  {"r1r1s-", ANY},
    {"r1q-", ANY},    {"S1", ANY},      {"Q1", ANY},      {"D-", ANY},    {"m1h1", ANY},
};
enum { LINKS = sizeof links / sizeof *links };

/* Of each pair the second one shows if it ran too early. Where memory is freed, there is time until somebody
   allocates, in which no work that is pending need go on. */
static const struct {
  const char *before, *behind;
} pairs[] = {
    {"W1", "R1"},
    {"W1", "G1"},
    {"W1", "W1"},
    {"R1", "W1"},
    {"G1", "W1"},
    {"W1G1", "H-"},
    {"W1G1", "c1"},
    {"G1", "c1"},
    {"W1G1", "U1R1"},
    {"U1", "O-"},
    {"W1", "m1h1Rn"},
    {"R1", "m1h1Wn"},
    {"G1", "m1h1H-"},
    {"W1", "N-W3R3"},
    {"x1W1", "f1y3V3T3"},
    {"x1W1", "f1v3j3y3V3T3"},
    {"x1W1", "f1Wny3V3T3"},
    {"x1R1", "f1y1V1T1"},
    {"x1R1", "f1v3j3y1V1T1"},
    {"x2r2w1W1", "f1v3j3y3V3T3"},
    {"x1r1w2b2W2", "t2u1f1v3j3y3V3T3"},
    {"x1r1w2b2W2", "t2u1f1Wny3V3T3"},
    {"Wn", "R1"},
    {"Gn", "c1"},
    {"x1S1Wn", "f1v3j3y3V3T3"},
    {"W1", "Rn"},
    {"KdXdY1", "P1"},
    {"KdXdY1", "m1h1Ln"},
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

unsigned litmus_drill_below(litmus_drill_t* drill, unsigned limit) {
  return (unsigned)((litmus_random(&drill->random) >> 32) * limit >> 32);
}

/* ------------------------------------------------------------------------------------- calls -- */

#define PLAIN_BYTES (UINT64_C(1) << 16)

/* Of what takes long, and much memory, there is little in a program. */
static void narrow(litmus_call_t* call) {
  if (!litmus_cell_is_async(call->cell)) call->cell %= 2;
  if (!litmus_cell_is_async(call->other)) call->other %= 2;
  call->slot = call->slot % 2 == 0 ? 0 : LITMUS_SLOTS - 1;
}

bool litmus_drill_add(litmus_drill_t* drill, litmus_call_t call) {
  litmus_program_t* p = drill->program;
  call.id = (uint8_t)p->count;
  if (p->size_bytes > PLAIN_BYTES) narrow(&call);
  if (litmus_has_value(call.op)) call.value = (uint8_t)(LITMUS_FIRST_OF_CALLS + call.id);
  p->calls[p->count] = call;
  if (!litmus_is_offered(drill->offers, call.op)) return false;
  bool added = litmus_model_add(drill->model, p->count, false);
  if (!added && call.meanwhile) {
    p->calls[p->count].meanwhile = false;
    added = litmus_model_add(drill->model, p->count, false);
  }
  p->count += added;
  return added;
}

/* What fills or copies may be a kernel. */
static void draw_kernel(litmus_drill_t* drill, litmus_call_t* call) {
  const bool fits = call->op == LITMUS_FILL || call->op == LITMUS_COPY;
  if (!fits || !drill->offers->kernel || litmus_drill_below(drill, 4) > 0) return;
  call->op = call->op == LITMUS_FILL ? LITMUS_KERNEL_FILL : LITMUS_KERNEL_COPY;
}

/* What is not defined at this point is left out. */
static void add_series(litmus_drill_t* drill, const char* text) {
  litmus_motif_t motif = litmus_motif_of(drill->program, text, &drill->random);
  for (; *motif.rest != '\0'; litmus_motif_step(&motif)) {
    bool added = false;
    for (unsigned tries = 0; tries < TRIES && !added; tries++) {
      litmus_call_t call = litmus_motif_call(&motif, &drill->random);
      draw_kernel(drill, &call);
      added = litmus_drill_add(drill, call);
    }
  }
}

/* ------------------------------------------------------------------------------------ series -- */

typedef struct series {
  char text[SERIES_TEXT];
  size_t length;
  char now, next, any;
} series_t;

static char letter_of(const series_t* series, char stream) {
  return stream == '1'   ? series->now
         : stream == '2' ? series->next
         : stream == '3' ? series->any
                         : stream;
}

static void append(series_t* series, const char* text) {
  for (; *text != '\0'; text += 2) {
    series->text[series->length++] = text[0];
    series->text[series->length++] = letter_of(series, text[1]);
  }
}

static void append_link(litmus_drill_t* drill, series_t* series) {
  const unsigned link = litmus_drill_below(drill, LINKS);
  append(series, links[link].text);
  if (links[link].then == SAME) return;
  const char was = series->now;
  series->now = links[link].then == NEXT ? series->next : "abc"[litmus_drill_below(drill, 3)];
  if (series->now == series->next) series->next = was;
}

static void add_pair(litmus_drill_t* drill) {
  series_t series = {.now = 'a', .next = 'b', .any = "abc"[litmus_drill_below(drill, 3)]};
  const unsigned pair = litmus_drill_below(drill, PAIRS);
  if (litmus_drill_below(drill, 2) == 0) append(&series, "b1");
  append(&series, pairs[pair].before);
  append_link(drill, &series);
  if (litmus_drill_below(drill, 2) == 0) append_link(drill, &series);
  append(&series, pairs[pair].behind);
  add_series(drill, series.text);
}

/* --------------------------------------------------------------------------------- the drill -- */

/* The larger the rarer, so that no size takes much time. Where a device has threads of its own, small
   programs take longer too. */
static uint64_t draw_size(litmus_drill_t* drill) {
  static const struct {
    unsigned one_in;
    uint64_t bytes;
  } large[] = {{1 << 13, UINT64_C(4) << 20},
               {1 << 8, 1 << 20},
               {1 << 6, 1 << 16},
               {1 << 4, 1 << 12},
               {1 << 2, 1 << 8}};
  const litmus_offers_t* offers = drill->offers;
  const unsigned shift = offers->races ? 5 : 0;
  uint64_t size = UINT64_C(1) << litmus_drill_below(drill, 7);
  for (unsigned i = 0; i < sizeof large / sizeof *large; i++) {
    const unsigned one_in = large[i].one_in >> shift;
    if (litmus_drill_below(drill, one_in > 4 ? one_in : 4) != 0) continue;
    size = large[i].bytes + litmus_drill_below(drill, 2);
    break;
  }
  const uint64_t unit = offers->granularity;
  size = (size + unit - 1) / unit * unit;
  return size <= offers->most_bytes ? size : unit;
}

bool litmus_drill(litmus_program_t* program, const litmus_offers_t* offers, uint64_t random,
                  litmus_model_t* out_model) {
  litmus_drill_t drill = {program, offers, out_model, ~random};
  if (offers->torch || litmus_drill_below(&drill, DRILLS_IN) > 0) return false;
  const bool is_of_two = offers->races && litmus_drill_below(&drill, TWO_IN) == 0;
  program->parts = 1;
  program->size_bytes = draw_size(&drill);
  program->threads = is_of_two ? 2 : 1;
  program->races = is_of_two;
  litmus_model_begin(out_model, program, 0, 0);
  if (is_of_two)
    litmus_drill_two(&drill);
  else
    add_pair(&drill);
  return true;
}
