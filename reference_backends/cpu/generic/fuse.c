/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * fuse.c: a comparison and the only SELECT that asks for it become one step, which makes no bytes of truth.
 * Half of what activations compute is such a pair.
 */
#include <string.h>
#include <tbk/dtypes.h>

#include "code.h"

static size_t count_reads(const code_t* code, int32_t step) {
  size_t reads = 0;
  for (size_t i = 0; i < code->step_count; i++)
    for (int32_t k = 0; k < code->steps[i].in_count; k++)
      reads += code->steps[i].from[k] == step;
  for (size_t i = 0; i < code->result_count; i++)
    reads += code->result_steps[i] == step;
  return reads;
}

/* Returns whether a buffer is written between two steps, or by the second. */
static bool is_written(const code_t* code, int32_t buffer, size_t after, size_t last) {
  for (size_t i = after + 1; i <= last; i++)
    if (code->steps[i].out == buffer) return true;
  return false;
}

/* Returns the loop of a SELECT and the comparison that it asks for; NULL where they stay two. */
static cpu_loop_t find_choice(const code_t* code, size_t i) {
  const code_step_t* step = &code->steps[i];
  if (step->opcode != TBK_OPCODE_SELECT || step->from[0] == CODE_NOWHERE) return NULL;
  const size_t j = (size_t)step->from[0];
  const code_step_t* asked = &code->steps[j];
  if (j < code->uniform_count || step->is_placed || asked->is_placed || asked->in_count != 2 ||
      count_reads(code, step->from[0]) != 1)
    return NULL;
  if (is_written(code, asked->in[0], j, i) || is_written(code, asked->in[1], j, i)) return NULL;
  if (tbk_dtype_bytes(step->dtype) != tbk_dtype_bytes(asked->takes)) return NULL;
  return cpu_choose_find(asked->opcode, asked->takes);
}

/* Lets a load stay that this step alone compares and chooses: its loop reads it once. */
static void find_stays(code_t* code, const code_step_t* step) {
  const int32_t from = step->from[0];
  if (from == CODE_NOWHERE) return;
  code_step_t* load = &code->steps[from];
  const bool is_chosen = (step->from[2] == from) != (step->from[3] == from);
  if (is_chosen && count_reads(code, from) == 2 &&
      code_may_stay(code->inputs, load->opcode, load->dtype, load->slot))
    load->stays = true;
}

static void remove_step(code_t* code, int32_t gone) {
  code->step_count--;
  memmove(&code->steps[gone], &code->steps[gone + 1],
          (code->step_count - (size_t)gone) * sizeof *code->steps);
  for (size_t i = 0; i < code->step_count; i++)
    for (int32_t k = 0; k < code->steps[i].in_count; k++)
      code->steps[i].from[k] -= code->steps[i].from[k] > gone;
  for (size_t i = 0; i < code->result_count; i++)
    code->result_steps[i] -= code->result_steps[i] > gone;
}

void code_fuse(code_t* code) {
  for (size_t i = code->uniform_count; i < code->step_count; i++) {
    const cpu_loop_t loop = find_choice(code, i);
    if (!loop) continue;
    code_step_t* step = &code->steps[i];
    const int32_t gone = step->from[0];
    const code_step_t* asked = &code->steps[gone];
    for (int32_t k = 3; k >= 0; k--) {
      step->in[k] = k < 2 ? asked->in[k] : step->in[k - 1];
      step->from[k] = k < 2 ? asked->from[k] : step->from[k - 1];
    }
    step->in_count = 4;
    step->loop = loop;
    remove_step(code, gone);
    i--;
    find_stays(code, &code->steps[i]);
  }
}
