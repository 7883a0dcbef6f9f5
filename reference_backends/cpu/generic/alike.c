/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * alike.c: which states are the same in every lane, and combine where they are.
 */
#include "alike.h"

#include <string.h>

/* Of the buffers of parameters. */
typedef struct sides {
  size_t states;
  bool alike[TBK_REDUCTION_MOST_STATES];
} sides_t;

/* Returns whether what lies in an operand or result of combine is the same in every lane. */
static bool is_alike(const code_t* combine, const sides_t* sides, int32_t buffer, int32_t step) {
  if (step == CODE_NOWHERE) return sides->alike[(size_t)buffer % sides->states];
  return (size_t)step < combine->uniform_count || combine->steps[step].lanes != LANES_EACH;
}

/* Finds the steps that have only such operands, as far as they are known. */
static void find_steps(code_t* combine, const sides_t* sides) {
  for (size_t i = combine->uniform_count; i < combine->step_count; i++) {
    code_step_t* step = &combine->steps[i];
    bool alike = step->in_count > 0;
    for (int32_t k = 0; k < step->in_count; k++)
      alike = alike && is_alike(combine, sides, step->in[k], step->from[k]);
    step->lanes = alike ? LANES_ONE : LANES_EACH;
  }
}

/* Drops the states that combine makes of others, too. Returns whether there were any. */
static bool drop_states(const code_t* combine, sides_t* sides) {
  bool dropped = false;
  for (size_t s = 0; s < sides->states; s++) {
    if (!sides->alike[s] || is_alike(combine, sides, combine->results[s], combine->result_steps[s]))
      continue;
    sides->alike[s] = false;
    dropped = true;
  }
  return dropped;
}

/* Drops the states that are asked for in each lane as they are. Returns whether there were any. */
static bool drop_read(const code_t* combine, sides_t* sides) {
  bool dropped = false;
  for (size_t i = combine->uniform_count; i < combine->step_count; i++) {
    const code_step_t* step = &combine->steps[i];
    for (int32_t k = 0; step->lanes == LANES_EACH && k < step->in_count; k++) {
      const size_t s = (size_t)step->in[k] % sides->states;
      const bool chooses = step->opcode == TBK_OPCODE_SELECT && k == 0;
      if (step->from[k] != CODE_NOWHERE || chooses || !sides->alike[s]) continue;
      sides->alike[s] = false;
      dropped = true;
    }
  }
  for (size_t s = 0; s < sides->states; s++) {
    const size_t given = (size_t)combine->results[s] % sides->states;
    if (sides->alike[s] || combine->result_steps[s] != CODE_NOWHERE || !sides->alike[given])
      continue;
    sides->alike[given] = false;
    dropped = true;
  }
  return dropped;
}

static void fill_for_reader(code_t* combine, int32_t step) {
  if (step != CODE_NOWHERE && combine->steps[step].lanes == LANES_ONE)
    combine->steps[step].lanes = LANES_FILLED;
}

/* Finds which of these steps are asked for all lanes, and what chooses the same in all. */
static void find_readers(code_t* combine, const sides_t* sides) {
  for (size_t i = combine->uniform_count; i < combine->step_count; i++) {
    code_step_t* step = &combine->steps[i];
    if (step->lanes != LANES_EACH) continue;
    const bool chosen =
        step->opcode == TBK_OPCODE_SELECT && is_alike(combine, sides, step->in[0], step->from[0]);
    for (int32_t k = chosen; k < step->in_count; k++)
      fill_for_reader(combine, step->from[k]);
    if (chosen) step->lanes = LANES_CHOSEN;
  }
  for (size_t s = 0; s < sides->states; s++)
    if (!sides->alike[s]) fill_for_reader(combine, combine->result_steps[s]);
}

void alike_find(kernel_code_t* code) {
  const code_t* map = code->parts[CODE_MAP];
  code_t* combine = code->parts[CODE_COMBINE];
  sides_t sides = {.states = map->result_count};
  for (size_t s = 0; s < sides.states; s++)
    sides.alike[s] = map->result_steps[s] >= 0 && (size_t)map->result_steps[s] < map->uniform_count;
  do
    find_steps(combine, &sides);
  while (drop_states(combine, &sides) || drop_read(combine, &sides));
  find_readers(combine, &sides);
  for (size_t s = 0; s < sides.states; s++) {
    code->alike[s] = sides.alike[s];
    code->has_alike |= sides.alike[s];
  }
}

/* Takes the operand that is chosen: its buffer, where nobody else reads it. */
static void choose(const frame_t* frame, const code_step_t* step, size_t lanes) {
  void** out = &frame->buffers[step->out];
  const int k = *(const uint8_t*)frame->buffers[step->in[0]] ? 1 : 2;
  void** chosen = &frame->buffers[step->in[k]];
  if (step->last_reads >> k & 1) {
    void* old = *out;
    *out = *chosen;
    *chosen = old;
  } else {
    memcpy(*out, *chosen, lanes * (size_t)tbk_dtype_bytes(step->dtype));
  }
}

/* Runs a step for as many lanes as it has to: what is the same in every lane is read from the first. */
static void run_step(const frame_t* frame, const code_step_t* step, const tile_t* all,
                     const tile_t* one) {
  const int64_t bytes = tbk_dtype_bytes(step->dtype);
  void* out = frame->buffers[step->out];
  uint64_t bits = 0;
  switch (step->lanes) {
    case LANES_EACH:
      frame_step(frame, step, all);
      break;
    case LANES_ONE:
      frame_step(frame, step, one);
      break;
    case LANES_FILLED:
      frame_step(frame, step, one);
      memcpy(&bits, out, (size_t)bytes);
      lanes_fill(out, bits, bytes, all->count);
      break;
    default:
      choose(frame, step, all->count);
  }
}

void alike_run(const frame_t* combine, const tile_t* tile) {
  static const tile_t one = {.count = 1};
  for (size_t i = combine->code->uniform_count; i < combine->code->step_count; i++)
    run_step(combine, &combine->code->steps[i], tile, &one);
}
