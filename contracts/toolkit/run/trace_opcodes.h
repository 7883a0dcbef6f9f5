/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * trace_opcodes.h: which opcodes the program of a launch of tbk::pointwise has, so that a run tells which of them
 * the failing tests asked. Kernels that reduce and scan are not looked at: they compute programs by themselves.
 */
#ifndef TBK_CONTRACTS_TRACE_OPCODES_H
#define TBK_CONTRACTS_TRACE_OPCODES_H

#include <stddef.h>

/* Returns how many opcodes there are. */
size_t tbk_opcode_rows(void);
/* Returns "opcode:NAME" of row `row` of the map of opcodes; NULL beyond the last. */
const char* tbk_opcode_row_name(size_t row);
/* Calls `note` with the row of each instruction of the program in arguments of tbk::pointwise; where they are
 * malformed it calls nothing. */
void tbk_opcodes_of(const void* arguments, void (*note)(size_t row));

#endif /* TBK_CONTRACTS_TRACE_OPCODES_H */
