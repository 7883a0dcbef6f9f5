/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "trace_opcodes.h"

#include <tbk/program.h>

static const struct {
  const char* name;
  uint16_t number;
} rows[] = {
#define X(name, number, operands, takes, gives, bound, meaning) {"opcode:" #name, number},
    TBK_OPCODE_MAP(X)
#undef X
};
enum { ROWS = sizeof rows / sizeof *rows };

size_t tbk_opcode_rows(void) {
  return ROWS;
}

const char* tbk_opcode_row_name(size_t row) {
  return row < ROWS ? rows[row].name : NULL;
}

void tbk_opcodes_of(const void* arguments, void (*note)(size_t row)) {
  const tbk_args_pointwise_t* given = arguments;
  if (given == NULL || given->struct_size < sizeof *given || given->program == NULL) return;
  const tbk_program_t* program = given->program;
  if (tbk_program_check(program, NULL) != TBK_OK) return;
  for (size_t i = 0; i < program->instruction_count; i++) {
    for (size_t row = 0; row < ROWS; row++) {
      if (rows[row].number == program->instructions[i].opcode) note(row);
    }
  }
}
