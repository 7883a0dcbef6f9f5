/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "draft.h"

size_t draft_size(const draft_counts_t* c) {
  size_t size = sizeof(tbk_program_t) + c->instructions * sizeof(tbk_instruction_t) +
                c->inputs * sizeof(tbk_program_input_t) +
                (c->operands + c->results) * sizeof(uint32_t) +
                (c->numbers + c->parameters) * sizeof(uint16_t);
  return (size + 7) / 8 * 8;
}

/* The widest items lie first, so that each array is aligned. */
draft_t draft_at(char* block, const draft_counts_t* c) {
  draft_t d;
  d.program = (tbk_program_t*)block;
  d.instructions = (tbk_instruction_t*)(d.program + 1);
  d.inputs = (tbk_program_input_t*)(d.instructions + c->instructions);
  d.operands = (uint32_t*)(d.inputs + c->inputs);
  d.results = d.operands + c->operands;
  d.numbers = (uint16_t*)(d.results + c->results);
  d.parameters = d.numbers + c->numbers;
  *d.program = (tbk_program_t){
      .struct_size = sizeof *d.program,
      .version = TBK_PROGRAM_VERSION,
      .inputs = d.inputs,
      .input_count = c->inputs,
      .numbers = d.numbers,
      .number_count = c->numbers,
      .parameters = d.parameters,
      .parameter_count = c->parameters,
      .instructions = d.instructions,
      .instruction_count = c->instructions,
      .operands = d.operands,
      .operand_count = c->operands,
      .results = d.results,
      .result_count = c->results,
  };
  return d;
}
