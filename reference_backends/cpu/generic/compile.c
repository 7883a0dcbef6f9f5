/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * compile.c: makes steps of instructions. What nobody reads is left out; what is the same for each
 * element goes first; buffers are used again once their value was read for the last time.
 */
#include <stdlib.h>
#include <string.h>

#include "code.h"

typedef struct value {
  bool live, uniform;
  bool stays;       /* see code_step_t */
  size_t reads;     /* by live instructions and as a result */
  size_t last_read; /* the instruction; SIZE_MAX: a result */
  int32_t buffer, step;
} value_t;

typedef struct compiler {
  const tbk_program_t* program;
  value_t values[TBK_PROGRAM_MOST_INSTRUCTIONS];
  int32_t idle[TBK_PROGRAM_MOST_INSTRUCTIONS]; /* buffers to be used again */
  size_t idle_count;
  code_t* code;
} compiler_t;

static const uint32_t* operands_of(const compiler_t* compiler, size_t i) {
  return compiler->program->operands + compiler->program->instructions[i].operand_first;
}

static void find_live(compiler_t* compiler) {
  const tbk_program_t* program = compiler->program;
  for (size_t i = 0; i < program->result_count; i++) {
    compiler->values[program->results[i]].live = true;
    compiler->values[program->results[i]].last_read = SIZE_MAX;
    compiler->values[program->results[i]].reads++;
  }
  for (size_t i = program->instruction_count; i-- > 0;) {
    if (!compiler->values[i].live) continue;
    const uint32_t* operands = operands_of(compiler, i);
    for (size_t k = 0; k < program->instructions[i].operand_count; k++) {
      value_t* value = &compiler->values[operands[k]];
      if (!value->live) value->last_read = i;
      value->live = true;
      value->reads++;
    }
  }
}

static void find_uniform(compiler_t* compiler) {
  for (size_t i = 0; i < compiler->program->instruction_count; i++) {
    const tbk_instruction_t* instruction = &compiler->program->instructions[i];
    const uint32_t* operands = operands_of(compiler, i);
    bool uniform = instruction->operand_count > 0 || instruction->opcode == TBK_OPCODE_CONSTANT ||
                   instruction->opcode == TBK_OPCODE_NUMBER;
    if (instruction->opcode == TBK_OPCODE_LOAD) uniform = false;
    for (size_t k = 0; k < instruction->operand_count; k++)
      uniform = uniform && compiler->values[operands[k]].uniform;
    compiler->values[i].uniform = uniform;
  }
}

static cpu_loop_t loop_of(const compiler_t* compiler, size_t i) {
  const tbk_instruction_t* instruction = &compiler->program->instructions[i];
  if (instruction->operand_count == 0 || instruction->opcode == TBK_OPCODE_LOAD) return NULL;
  const uint32_t last = operands_of(compiler, i)[instruction->operand_count - 1];
  return cpu_loop_find(instruction->opcode, compiler->program->instructions[last].dtype,
                       instruction->dtype, instruction->slot);
}

/* Finds the loads that one loop reads, once. */
static void find_stays(compiler_t* compiler) {
  const tbk_program_t* program = compiler->program;
  for (size_t i = 0; i < program->instruction_count; i++) {
    if (!compiler->values[i].live || !loop_of(compiler, i)) continue;
    for (size_t k = 0; k < program->instructions[i].operand_count; k++) {
      const size_t from = operands_of(compiler, i)[k];
      const tbk_instruction_t* load = &program->instructions[from];
      compiler->values[from].stays =
          compiler->values[from].reads == 1 &&
          code_may_stay(program->inputs, load->opcode, load->dtype, load->slot);
    }
  }
}

static int32_t take_buffer(compiler_t* compiler, bool owns) {
  if (!owns && compiler->idle_count) return compiler->idle[--compiler->idle_count];
  return (int32_t)compiler->code->buffer_count++;
}

/* Buffers of parameters are the caller's, those of uniform values are filled once, and those of loads that stay once a
 * row, perhaps. */
static void give_buffers(compiler_t* compiler, size_t i) {
  const uint32_t* operands = operands_of(compiler, i);
  for (size_t k = 0; k < compiler->program->instructions[i].operand_count; k++) {
    value_t* value = &compiler->values[operands[k]];
    if (value->last_read != i || value->uniform) continue;
    value->last_read = SIZE_MAX; /* once, also where it is read twice here */
    if (value->stays || (size_t)value->buffer < compiler->code->parameter_count) continue;
    compiler->idle[compiler->idle_count++] = value->buffer;
    if (compiler->values[i].step != CODE_NOWHERE)
      compiler->code->steps[compiler->values[i].step].last_reads |= (uint8_t)(1u << k);
  }
}

/* Finds out what a step depends on. What is loaded may change, and is asked for at each element. */
static void find_place(const code_t* code, code_step_t* step) {
  step->is_placed = step->opcode != TBK_OPCODE_LOAD && step->opcode != TBK_OPCODE_LINEAR_INDEX;
  if (step->opcode == TBK_OPCODE_COORDINATE) step->coordinates = (uint8_t)(1u << step->slot);
  for (int32_t k = 0; k < step->in_count; k++) {
    const code_step_t* from = step->from[k] == CODE_NOWHERE ? NULL : &code->steps[step->from[k]];
    step->is_placed = step->is_placed && from && from->is_placed;
    if (from) step->coordinates |= from->coordinates;
  }
}

static void add_step(compiler_t* compiler, size_t i) {
  const tbk_instruction_t* instruction = &compiler->program->instructions[i];
  const uint32_t* operands = operands_of(compiler, i);
  code_step_t* step = &compiler->code->steps[compiler->code->step_count++];
  *step = (code_step_t){.opcode = instruction->opcode,
                        .dtype = instruction->dtype,
                        .slot = instruction->slot,
                        .bounds = instruction->bounds,
                        .immediate = instruction->immediate,
                        .in_count = (int32_t)instruction->operand_count};
  for (int32_t k = 0; k < step->in_count; k++) {
    step->in[k] = compiler->values[operands[k]].buffer;
    step->from[k] = compiler->values[operands[k]].step;
  }
  find_place(compiler->code, step);
  compiler->values[i].step = (int32_t)compiler->code->step_count - 1;
  step->owns = compiler->values[i].uniform || compiler->values[i].stays;
  step->out = take_buffer(compiler, step->owns);
  compiler->values[i].buffer = step->out;
  step->stays = compiler->values[i].stays;
  step->loop = loop_of(compiler, i);
  if (step->loop) step->takes = compiler->program->instructions[operands[step->in_count - 1]].dtype;
}

static void add_steps(compiler_t* compiler, bool uniform) {
  code_t* code = compiler->code;
  for (size_t i = 0; i < compiler->program->instruction_count; i++) {
    const tbk_instruction_t* instruction = &compiler->program->instructions[i];
    value_t* value = &compiler->values[i];
    code->reads_coordinates |= value->live && instruction->opcode == TBK_OPCODE_COORDINATE;
    code->reads_linear_index |= value->live && instruction->opcode == TBK_OPCODE_LINEAR_INDEX;
    if (!value->live || value->uniform != uniform) continue;
    if (instruction->opcode == TBK_OPCODE_PARAMETER) {
      value->buffer = instruction->slot;
      value->step = CODE_NOWHERE;
    } else {
      add_step(compiler, i);
    }
    if (!uniform) give_buffers(compiler, i);
  }
}

static void add_results(compiler_t* compiler) {
  const tbk_program_t* program = compiler->program;
  code_t* code = compiler->code;
  code->result_count = program->result_count;
  for (size_t i = 0; i < program->result_count; i++) {
    const value_t* value = &compiler->values[program->results[i]];
    code->results[i] = value->buffer;
    code->result_steps[i] = value->step;
    code->result_dtypes[i] = program->instructions[program->results[i]].dtype;
    code->own_result[i] = !value->uniform && (size_t)value->buffer >= code->parameter_count;
    for (size_t k = 0; k < i; k++)
      if (program->results[k] == program->results[i]) code->own_result[i] = false;
  }
  code->direct_result = cpu_loops_are_direct() && code->result_count == 1 && code->own_result[0] &&
                        code->step_count > 0 &&
                        code->result_steps[0] == (int32_t)code->step_count - 1 &&
                        code->steps[code->step_count - 1].loop;
}

static code_t* new_code(const tbk_program_t* program) {
  code_t* code = calloc(1, sizeof *code);
  code_step_t* steps = calloc(program->instruction_count + 1, sizeof *steps);
  if (!code || !steps) {
    free(code);
    free(steps);
    return NULL;
  }
  code->steps = steps;
  code->parameter_count = code->buffer_count = program->parameter_count;
  code->input_count = program->input_count;
  code->number_count = program->number_count;
  code->inputs = program->inputs;
  code->numbers = program->numbers;
  if (program->parameter_count)
    memcpy(code->parameter_dtypes, program->parameters,
           program->parameter_count * sizeof *program->parameters);
  return code;
}

code_t* code_new(const tbk_program_t* program) {
  compiler_t* compiler = calloc(1, sizeof *compiler);
  code_t* code = compiler ? new_code(program) : NULL;
  if (code) {
    compiler->program = program;
    compiler->code = code;
    find_live(compiler);
    find_uniform(compiler);
    find_stays(compiler);
    add_steps(compiler, true);
    code->uniform_count = code->step_count;
    add_steps(compiler, false);
    add_results(compiler);
  }
  free(compiler);
  return code;
}

void code_free(code_t* code) {
  if (!code) return;
  free(code->steps);
  free(code);
}
