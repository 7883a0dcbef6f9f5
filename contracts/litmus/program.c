/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * program.c: which device things are of, and programs as text.
 */
#include "program.h"

#include <stdio.h>
#include <string.h>

int32_t litmus_stream_priority(int stream) {
  return stream == 0 ? 0 : stream % 2 ? -1 : 1;
}

bool litmus_event_is_timed(int event) {
  return event % 2;
}

int litmus_part_of(const litmus_program_t* program, uint64_t at) {
  int part = 0;
  while (part + 1 < litmus_parts(program) && at >= program->ends[part])
    part++;
  return part;
}

bool litmus_may_be_partial(litmus_op_t op) {
  return op <= LITMUS_CALLBACK_READ || op == LITMUS_HOST_WRITE || op == LITMUS_HOST_READ;
}

void litmus_call_range(const litmus_program_t* program, const litmus_call_t* call,
                       uint64_t* out_offset, uint64_t* out_bytes) {
  const int count = call->parts > 0 ? call->parts : litmus_parts(program);
  *out_offset = litmus_part_at(program, call->first_part);
  *out_bytes = litmus_part_at(program, call->first_part + count) - *out_offset;
}

bool litmus_has_value(litmus_op_t op) {
  return op == LITMUS_FILL || op == LITMUS_KERNEL_FILL || op == LITMUS_CALLBACK_MARK ||
         op == LITMUS_HOST_WRITE;
}

#define TEXT(name, text, torch) text,
#define TORCH(name, text, torch) torch,
static const char* const texts[] = {LITMUS_OP_MAP(TEXT)};
static const char* const torch_texts[] = {LITMUS_OP_MAP(TORCH)};

static const char* text_of(bool torch, unsigned op) {
  return torch ? torch_texts[op] : texts[op];
}

bool litmus_has_call(bool torch, litmus_op_t op) {
  return text_of(torch, op) != NULL;
}

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
    case 'b':
      return snprintf(out, room, "%s", call->blocks ? "" : ", non_blocking=True");
    case 'z':
      return call->value == 0 ? snprintf(out, room, "zero_()")
                              : snprintf(out, room, "fill_(0x%02x)", call->value);
    case 'x':
      return snprintf(out, room, "s%d", litmus_meet_stream(call->stream));
    case 't':
      return snprintf(out, room, "%s",
                      litmus_event_is_timed(call->event) ? ", enable_timing=True" : "");
    case 'p': /* as streams of PyTorch's programs are made in the beginning */
      return snprintf(out, room, "%s", call->stream % 2 ? ", priority=-1" : "");
    default:
      return snprintf(out, room, "%u", call->microseconds);
  }
}

#define LETTER(letter) (UINT32_C(1) << ((letter) - 'a'))

/* Returns a bit for each letter; found once. */
static inline uint32_t letters_of(bool torch, unsigned op) {
  static _Thread_local uint32_t letters[2][LITMUS_OPS];
  if (letters[torch][op] != 0) return letters[torch][op];
  for (const char* at = text_of(torch, op); (at = strchr(at, '%')) != NULL; at++)
    letters[torch][op] |= LETTER(at[1]);
  return letters[torch][op];
}

bool litmus_call_names(const litmus_program_t* program, const litmus_call_t* call, char letter) {
  return (letters_of(program->torch, call->op) & LETTER(letter)) != 0;
}

bool litmus_call_looks(const litmus_call_t* call) {
  return call->op == LITMUS_CALLBACK_READ || call->op == LITMUS_CALLBACK_LOOK ||
         call->op == LITMUS_HOST_READ || call->op == LITMUS_HOST_LOOK;
}

static bool is_callback(unsigned op) {
  return op >= LITMUS_CALLBACK_READ && op <= LITMUS_DELAY;
}

/* No branch, since nobody can tell what a call names that was drawn. */
static inline uint32_t bit_of(uint32_t named, char letter, int number) {
  return (named >> (letter - 'a') & 1) << number;
}

litmus_uses_t litmus_program_uses(const litmus_program_t* program) {
  litmus_uses_t uses = {0};
  for (uint32_t i = 0; i < program->count; i++) {
    const litmus_call_t* call = &program->calls[i];
    const uint32_t named = letters_of(program->torch, call->op);
    if (call->stream >= 0) uses.streams |= bit_of(named, 's', call->stream);
    uses.streams |= bit_of(named, 'x', litmus_meet_stream(call->stream));
    uses.events |= bit_of(named, 'e', call->event);
    uses.cells |= bit_of(named, 'c', call->cell) | bit_of(named, 'o', call->other);
    uses.slots |= bit_of(named, 'h', call->slot);
    uses.looks |= (uint64_t)litmus_call_looks(call) << i;
    uses.callbacks |= (uint64_t)is_callback(call->op) << i;
    uses.renewals |= (uint64_t)(call->op == LITMUS_STREAM_RENEW) << i;
    uses.piled += call->more;
  }
  return uses;
}

void litmus_call_text(const litmus_program_t* program, const litmus_call_t* call,
                      char out[LITMUS_TEXT]) {
  size_t used = 0;
  if (call->thread > 0 || call->meanwhile)
    used = (size_t)snprintf(out, LITMUS_TEXT, "thread %d%s: ", call->thread,
                            call->meanwhile ? ", meanwhile" : "");
  for (const char* at = text_of(program->torch, call->op); *at != '\0' && used < LITMUS_TEXT - 1;
       at++) {
    if (*at != '%') {
      out[used++] = *at;
      continue;
    }
    used += (size_t)put(out + used, LITMUS_TEXT - used, call, *++at);
  }
  used = used < LITMUS_TEXT ? used : LITMUS_TEXT - 1;
  out[used] = '\0';
  if (call->parts > 1)
    used += (size_t)snprintf(out + used, LITMUS_TEXT - used, " of parts %d to %d", call->first_part,
                             call->first_part + call->parts - 1);
  else if (call->parts == 1)
    used += (size_t)snprintf(out + used, LITMUS_TEXT - used, " of part %d", call->first_part);
  if (call->more > 0 && used < LITMUS_TEXT)
    snprintf(out + used, LITMUS_TEXT - used, " %d times", call->more + 1);
}
