/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pool.h"

void program_pool_open(program_pool_t* pool) {
  pool->program = (tbk_program_t){
      .struct_size = sizeof pool->program,
      .version = TBK_PROGRAM_VERSION,
      .inputs = pool->inputs,
      .numbers = pool->numbers,
      .parameters = pool->parameters,
      .instructions = pool->instructions,
      .operands = pool->operands,
      .results = pool->results,
  };
}

uint32_t program_add_input(program_pool_t* pool, tbk_program_input_t input) {
  if (pool->program.input_count == TBK_PROGRAM_MOST_INPUTS) return UINT32_MAX;
  pool->inputs[pool->program.input_count] = input;
  return (uint32_t)pool->program.input_count++;
}

uint32_t program_add_number(program_pool_t* pool, uint16_t dtype) {
  if (pool->program.number_count == TBK_PROGRAM_MOST_NUMBERS) return UINT32_MAX;
  pool->numbers[pool->program.number_count] = dtype;
  return (uint32_t)pool->program.number_count++;
}

uint32_t program_add_parameter(program_pool_t* pool, uint16_t dtype) {
  if (pool->program.parameter_count == TBK_PROGRAM_MOST_PARAMETERS) return UINT32_MAX;
  pool->parameters[pool->program.parameter_count] = dtype;
  return (uint32_t)pool->program.parameter_count++;
}

uint32_t program_add_result(program_pool_t* pool, uint32_t value) {
  if (pool->program.result_count == TBK_PROGRAM_MOST_RESULTS) return UINT32_MAX;
  pool->results[pool->program.result_count] = value;
  return (uint32_t)pool->program.result_count++;
}

uint32_t program_add(program_pool_t* pool, tbk_instruction_t instruction, const uint32_t* operands,
                     uint32_t operand_count) {
  tbk_program_t* p = &pool->program;
  if (p->instruction_count == TBK_PROGRAM_MOST_INSTRUCTIONS ||
      p->operand_count + operand_count > TBK_PROGRAM_MOST_OPERANDS)
    return UINT32_MAX;
  instruction.operand_first = operand_count == 0 ? 0 : (uint32_t)p->operand_count;
  instruction.operand_count = operand_count;
  for (uint32_t k = 0; k < operand_count; ++k)
    pool->operands[p->operand_count++] = operands[k];
  pool->instructions[p->instruction_count] = instruction;
  return (uint32_t)p->instruction_count++;
}
