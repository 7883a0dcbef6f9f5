/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * late.c: a control of a value that nothing wrote, or that the beginning left. What memory holds at
 * the beginning is uploaded without a stream before the first call, and is there by then (CPY-006):
 * where it comes late, a wait mends it.
 */
#include <string.h>

#include "clock.h"
#include "shrinking.h"

enum { TIMES = 8, LEAST = 3 };

bool late_may_be(const shrinking_t* s) {
  static litmus_model_t model;
  static litmus_reason_t reason;
  const litmus_result_t* result = &s->best->result;
  if (result->outcome != LITMUS_WRONG) return false;
  if (!litmus_model_build(&model, &s->best->program, result->answered, 0, 0)) return false;
  litmus_explain(&model, &result->wrong, &reason);
  return reason.names_beginning;
}

static uint8_t free_id(const litmus_program_t* program) {
  uint64_t taken = 0;
  for (uint32_t i = 0; i < program->count; i++)
    taken |= UINT64_C(1) << program->calls[i].id;
  return (uint8_t)__builtin_ctzll(~taken);
}

static bool put_before(litmus_program_t* program, litmus_call_t call) {
  if (program->count == LITMUS_CALLS) return false;
  call.id = free_id(program);
  memmove(&program->calls[1], &program->calls[0], program->count * sizeof *program->calls);
  program->calls[0] = call;
  program->count++;
  return true;
}

/* Each time, and there was time for some. */
static bool is_right(shrinking_t* s, const litmus_program_t* program) {
  unsigned tries = 0;
  s->has_other = false;
  for (; tries < TIMES && tbk_now_ns() < s->until_ns; tries++)
    if (shrinking_try(s, program) != NOT_SHOWN || s->has_other) return false;
  return tries >= LEAST;
}

/* A call that waits for nothing mends nothing: else it is that there is another call, or that time
   goes by, and says nothing of what was waited for. */
static bool shows_behind_a_question(shrinking_t* s) {
  static litmus_model_t model;
  litmus_program_t program = s->best->program;
  if (!put_before(&program, (litmus_call_t){.op = LITMUS_STREAM_POLL})) return false;
  if (!litmus_model_build(&model, &program, 0, 0, 0)) return false;
  for (unsigned tries = 0; tries < TIMES && tbk_now_ns() < s->until_ns; tries++)
    if (shrinking_try(s, &program) == SHOWN) return true;
  return false;
}

bool late_is_mended(shrinking_t* s) {
  static litmus_model_t model;
  litmus_program_t program = s->best->program;
  if (s->best->shown < s->best->replays || s->best->replays < LEAST || !late_may_be(s))
    return false;
  for (uint32_t device = 0; device < program.devices; device++)
    if (!put_before(&program,
                    (litmus_call_t){.op = LITMUS_DEVICE_SYNCHRONIZE, .device = (int8_t)device}))
      return false;
  if (!litmus_model_build(&model, &program, 0, 0, 0)) return false;
  return shows_behind_a_question(s) && is_right(s, &program);
}
