/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rewrite.h"

#include <string.h>

uint32_t rewrite_put(rewrite_t* to, tbk_instruction_t instruction, const uint32_t* operands,
                     uint32_t operand_count) {
  tbk_program_t* p = &to->program;
  if (p->instruction_count == TBK_PROGRAM_MOST_INSTRUCTIONS ||
      p->operand_count + operand_count > TBK_PROGRAM_MOST_OPERANDS)
    return UINT32_MAX;
  instruction.operand_first = operand_count > 0 ? (uint32_t)p->operand_count : 0;
  instruction.operand_count = operand_count;
  for (uint32_t k = 0; k < operand_count; ++k)
    to->operands[p->operand_count++] = operands[k];
  to->instructions[p->instruction_count] = instruction;
  return (uint32_t)p->instruction_count++;
}

uint32_t rewrite_op(rewrite_t* to, uint16_t opcode, int32_t dtype, uint32_t count, uint32_t a,
                    uint32_t b, uint32_t c) {
  const uint32_t operands[3] = {a, b, c};
  return rewrite_put(to, (tbk_instruction_t){.opcode = opcode, .dtype = (uint16_t)dtype}, operands,
                     count);
}

uint32_t rewrite_bits(rewrite_t* to, int32_t dtype, uint64_t bits) {
  const tbk_instruction_t constant = {
      .opcode = TBK_OPCODE_CONSTANT, .dtype = (uint16_t)dtype, .immediate = bits};
  return rewrite_put(to, constant, NULL, 0);
}

uint32_t rewrite_keep(rewrite_t* to, const tbk_instruction_t* instruction,
                      const uint32_t* operands) {
  return rewrite_put(to, *instruction, operands, instruction->operand_count);
}

const tbk_program_t* rewrite_program(rewrite_t* to, const tbk_program_t* old, rewrite_fn function,
                                     uint64_t context) {
  uint32_t operands[TBK_PROGRAM_MOST_RANK];
  to->old = old;
  to->program = *old;
  to->program.instructions = to->instructions;
  to->program.operands = to->operands;
  to->program.results = to->results;
  to->program.instruction_count = to->program.operand_count = 0;
  for (size_t n = 0; n < old->instruction_count; ++n) {
    const tbk_instruction_t* i = &old->instructions[n];
    for (uint32_t k = 0; k < i->operand_count; ++k)
      operands[k] = to->renamed[old->operands[i->operand_first + k]];
    to->renamed[n] = function(to, i, operands, context);
  }
  for (size_t r = 0; r < old->result_count; ++r)
    to->results[r] = to->renamed[old->results[r]];
  return tbk_program_check(&to->program, NULL) == TBK_OK ? &to->program : old;
}

uint32_t rewrite_swapped(rewrite_t* to, const tbk_instruction_t* instruction,
                         const uint32_t* operands, uint64_t states) {
  tbk_instruction_t other = *instruction;
  if (other.opcode == TBK_OPCODE_PARAMETER)
    other.slot = (uint16_t)((other.slot + states) % (2 * states));
  return rewrite_keep(to, &other, operands);
}

uint32_t rewrite_without_place(rewrite_t* to, const tbk_instruction_t* instruction,
                               const uint32_t* operands, uint64_t opcode) {
  const tbk_instruction_t zero = {.opcode = TBK_OPCODE_CONSTANT, .dtype = TBK_INT64};
  if (instruction->opcode != opcode) return rewrite_keep(to, instruction, operands);
  return rewrite_put(to, zero, NULL, 0);
}

const tbk_program_t* rewrite_without_last(const tbk_program_t* combine, size_t least,
                                          uint32_t* results) {
  static _Thread_local tbk_program_t changed;
  const size_t last = combine->result_count - 1;
  changed = *combine;
  memcpy(results, combine->results, combine->result_count * sizeof *results);
  for (uint32_t n = 0; combine->result_count >= least && n < combine->instruction_count; ++n)
    if (combine->instructions[n].opcode == TBK_OPCODE_PARAMETER &&
        combine->instructions[n].slot == last)
      results[last] = n;
  changed.results = results;
  return &changed;
}
