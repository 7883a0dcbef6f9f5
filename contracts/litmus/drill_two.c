/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * drill_two.c: two threads of the host, each with work pending, wait at the same time: neither begins
 * before the first one's last record has returned, and both begin then. Each looks at what its own work
 * wrote, as soon as it may.
 */
#include "drill.h"

enum { PILED_BYTES = 256, DELAY_US = 640, FAR_IN = 4, SAME_STREAM_IN = 3, SAME_EVENT_IN = 4 };

typedef struct side {
  uint8_t thread;
  int8_t stream, event, cell, slot, source, device;
} side_t;

static litmus_call_t call_of(const side_t* side, litmus_op_t op) {
  return (litmus_call_t){.op = (uint8_t)op,
                         .thread = side->thread,
                         .stream = side->stream,
                         .event = side->event,
                         .cell = side->cell,
                         .slot = op == LITMUS_UPLOAD ? side->source : side->slot,
                         .device = side->device};
}

static void draw_sides(litmus_drill_t* drill, side_t sides[2]) {
  const unsigned stream = litmus_drill_below(drill, 3), slot = litmus_drill_below(drill, 6);
  for (unsigned i = 0; i < 2; i++)
    sides[i] = (side_t){.thread = (uint8_t)i,
                        .stream = (int8_t)((stream + i) % 3),
                        .event = (int8_t)i,
                        .cell = (int8_t)i,
                        .slot = (int8_t)(2 * slot + i),
                        .source = (int8_t)((2 * slot + 2 + i) % LITMUS_SLOTS)};
  if (litmus_drill_below(drill, SAME_STREAM_IN) == 0) {
    sides[1].stream = sides[0].stream;
    if (litmus_drill_below(drill, SAME_EVENT_IN) > 0) sides[1].event = sides[0].event;
  } else if (drill->offers->devices > 1 && litmus_drill_below(drill, FAR_IN) == 0) {
    sides[1].stream = LITMUS_STREAMS - 1;
    sides[1].event = LITMUS_EVENTS - 1;
    sides[1].cell = LITMUS_CELLS - 3;
    sides[1].device = 1;
  }
}

/* Much is pending: a callback that sleeps ends when the first of both waits. */
static void enqueue(litmus_drill_t* drill, const side_t* side) {
  litmus_call_t delay = call_of(side, LITMUS_DELAY);
  delay.microseconds = DELAY_US;
  (void)litmus_drill_add(drill, delay);
  litmus_call_t write =
      call_of(side, litmus_drill_below(drill, 2) == 0 ? LITMUS_FILL : LITMUS_UPLOAD);
  if (drill->program->size_bytes <= PILED_BYTES)
    write.more = (uint16_t)((2u << litmus_drill_below(drill, 9)) - 1);
  (void)litmus_drill_add(drill, write);
  (void)litmus_drill_add(drill, call_of(side, LITMUS_DOWNLOAD));
}

static void wait_for(litmus_drill_t* drill, const side_t* side, bool meanwhile) {
  static const uint8_t ways[] = {LITMUS_STREAM_SYNCHRONIZE, LITMUS_STREAM_SYNCHRONIZE,
                                 LITMUS_STREAM_SYNCHRONIZE, LITMUS_EVENT_SYNCHRONIZE,
                                 LITMUS_EVENT_SYNCHRONIZE,  LITMUS_EVENT_SYNCHRONIZE,
                                 LITMUS_DEVICE_SYNCHRONIZE, LITMUS_DEVICE_SYNCHRONIZE,
                                 LITMUS_STREAM_SPIN,        LITMUS_EVENT_SPIN};
  litmus_call_t call = call_of(side, ways[litmus_drill_below(drill, sizeof ways / sizeof *ways)]);
  call.meanwhile = meanwhile;
  (void)litmus_drill_add(drill, call);
}

/* At times the second one has something to enqueue before, while the first waits. */
static bool enqueue_late(litmus_drill_t* drill, const side_t* side) {
  static const uint8_t ops[] = {LITMUS_FILL, LITMUS_UPLOAD, LITMUS_CALLBACK_MARK, LITMUS_WAIT};
  if (litmus_drill_below(drill, 4) > 0) return false;
  return litmus_drill_add(drill,
                          call_of(side, ops[litmus_drill_below(drill, sizeof ops / sizeof *ops)]));
}

static void look(litmus_drill_t* drill, const side_t* side) {
  litmus_call_t call = call_of(side, LITMUS_HOST_READ);
  call.meanwhile = true;
  (void)litmus_drill_add(drill, call);
}

void litmus_drill_two(litmus_drill_t* drill) {
  side_t sides[2];
  draw_sides(drill, sides);
  enqueue(drill, &sides[0]);
  enqueue(drill, &sides[1]);
  if (sides[1].event != sides[0].event)
    (void)litmus_drill_add(drill, call_of(&sides[1], LITMUS_RECORD));
  (void)litmus_drill_add(drill, call_of(&sides[0], LITMUS_RECORD));
  wait_for(drill, &sides[1], enqueue_late(drill, &sides[1]));
  wait_for(drill, &sides[0], true);
  look(drill, &sides[1]);
  look(drill, &sides[0]);
}
