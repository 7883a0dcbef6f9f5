/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * program.c: which device things are of, and programs as text.
 */
#include "program.h"

#include <stdio.h>
#include <string.h>

uint64_t litmus_random(uint64_t* state) {
  uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

int litmus_stream_device(const litmus_program_t* program, int stream) {
  return program->devices > 1 && stream == LITMUS_STREAMS - 1;
}

/* Device 1 has a cell of each kind. */
int litmus_cell_device(const litmus_program_t* program, int cell) {
  return program->devices > 1 && cell == LITMUS_CELLS - 3;
}

int litmus_event_device(const litmus_program_t* program, int event) {
  return program->devices > 1 && event == LITMUS_EVENTS - 1;
}

bool litmus_cell_is_async(int cell) {
  return cell >= LITMUS_CELLS - 2;
}

int32_t litmus_stream_priority(int stream) {
  return stream == 0 ? 0 : stream % 2 ? -1 : 1;
}

bool litmus_event_is_timed(int event) {
  return event % 2;
}

bool litmus_is_work(litmus_op_t op) {
  return op <= LITMUS_ASYNC_FREE; /* they stand first in the table */
}

bool litmus_has_value(litmus_op_t op) {
  return op == LITMUS_FILL || op == LITMUS_CALLBACK_MARK || op == LITMUS_HOST_WRITE;
}

static const char* const texts[] = {
#define TEXT(name, text) text,
    LITMUS_OP_MAP(TEXT)
#undef TEXT
};

static int put(char* out, size_t room, const litmus_call_t* call, char what) {
  switch (what) {
    case 's':
      return call->stream < 0 ? snprintf(out, room, "NULL")
                              : snprintf(out, room, "s%d", call->stream);
    case 'e':
      return snprintf(out, room, "e%d", call->event);
    case 'c':
      return snprintf(out, room, "m%d", call->cell);
    case 'o':
      return snprintf(out, room, "m%d", call->other);
    case 'h':
      return snprintf(out, room, "%s%d", call->slot < LITMUS_SLOTS / 2 ? "pinned" : "host",
                      call->slot);
    case 'v':
      return snprintf(out, room, "0x%02x", call->value);
    case 'd':
      return snprintf(out, room, "%d", call->device);
    case 'm':
      return snprintf(out, room, "%d", call->mark);
    default:
      return snprintf(out, room, "%u", call->microseconds);
  }
}

/* Returns a bit for each letter; found once. */
static uint32_t letters_of(unsigned op) {
  static _Thread_local uint32_t letters[LITMUS_OPS];
  const uint32_t known = UINT32_C(1) << 31;
  if (letters[op] == 0)
    for (const char* at = texts[op]; (at = strchr(at, '%')) != NULL; at++)
      letters[op] |= UINT32_C(1) << (at[1] - 'a');
  return letters[op] |= known;
}

bool litmus_call_names(const litmus_call_t* call, char letter) {
  return letters_of(call->op) >> (letter - 'a') & 1;
}

bool litmus_call_looks(const litmus_call_t* call) {
  return call->op == LITMUS_CALLBACK_READ || call->op == LITMUS_CALLBACK_LOOK ||
         call->op == LITMUS_HOST_READ || call->op == LITMUS_HOST_LOOK;
}

litmus_uses_t litmus_program_uses(const litmus_program_t* program) {
  litmus_uses_t uses = {0};
  for (uint32_t i = 0; i < program->count; i++) {
    const litmus_call_t* call = &program->calls[i];
    const bool stream = call->stream >= 0 && litmus_call_names(call, 's');
    uses.streams |= (uint32_t)stream << (call->stream & 31);
    uses.events |= (uint32_t)litmus_call_names(call, 'e') << call->event;
    uses.cells |= (uint32_t)litmus_call_names(call, 'c') << call->cell;
    uses.cells |= (uint32_t)litmus_call_names(call, 'o') << call->other;
    uses.slots |= (uint32_t)litmus_call_names(call, 'h') << call->slot;
    uses.looks += litmus_call_looks(call);
  }
  return uses;
}

void litmus_call_text(const litmus_call_t* call, char out[LITMUS_TEXT]) {
  size_t used = 0;
  if (call->thread > 0 || call->meanwhile)
    used = (size_t)snprintf(out, LITMUS_TEXT, "thread %d%s: ", call->thread,
                            call->meanwhile ? ", meanwhile" : "");
  for (const char* at = texts[call->op]; *at != '\0' && used < LITMUS_TEXT - 1; at++) {
    if (*at != '%') {
      out[used++] = *at;
      continue;
    }
    used += (size_t)put(out + used, LITMUS_TEXT - used, call, *++at);
  }
  out[used < LITMUS_TEXT ? used : LITMUS_TEXT - 1] = '\0';
}
