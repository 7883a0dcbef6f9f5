/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "opcode.h"

#define ROW(name, number, operands, takes, gives, bound, meaning) \
  [number] = {#name, operands, PROGRAM_##takes, PROGRAM_GIVES_##gives, bound},
static const program_opcode_t opcodes[TBK_OPCODE_LIMIT] = {TBK_OPCODE_MAP(ROW)};

#define DTYPE(name, value, size_bytes) [value] = #name,
static const char* const dtypes[TBK_DTYPE_LIMIT] = {TBK_DTYPE_MAP(DTYPE)};

const program_opcode_t* program_opcode(uint16_t opcode) {
  return &opcodes[opcode < TBK_OPCODE_LIMIT ? opcode : 0];
}

bool program_uses_slot(uint16_t opcode) {
  switch (opcode) {
    case TBK_OPCODE_NUMBER:
    case TBK_OPCODE_PARAMETER:
    case TBK_OPCODE_COORDINATE:
    case TBK_OPCODE_LOAD:
    case TBK_OPCODE_PHILOX:
      return true;
    default:
      return false;
  }
}

bool program_dtype_in(uint32_t dtype, uint64_t set) {
  return dtype < TBK_DTYPE_LIMIT && (set >> dtype & 1) != 0;
}

const char* program_dtype_name(uint32_t dtype) {
  return dtype < TBK_DTYPE_LIMIT ? dtypes[dtype] : NULL;
}

const char* tbk_opcode_name(uint16_t opcode) {
  return program_opcode(opcode)->name;
}
