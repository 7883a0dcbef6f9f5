/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * opcode_run.h: programs of single opcodes, run over operands that are special values in all combinations, the ends of
 * dtypes, every NaN and drawn ones.
 */
#ifndef TBK_CONTRACTS_OPCODE_RUN_H
#define TBK_CONTRACTS_OPCODE_RUN_H

#include "job.h"
#include "opcode.h"

/* Sets an element to one of the special values of a dtype, counted from 0. */
void opcode_set_special(const number_type_t* type, int64_t which, void* element);
/* Adds an input, and what loads it; returns the value. */
uint32_t opcode_load(program_pool_t* pool, uint16_t dtype);
/* Returns the dtype of the opcode's result where its operands are of dtype `takes`. */
uint16_t opcode_gives(const program_opcode_t* row, uint16_t takes);
/* Adds the opcode on operands that are there already, as a result. */
void opcode_add(program_pool_t* pool, uint16_t opcode, const uint32_t* operands, uint16_t gives);
/* Runs the program over all of these operands; `said` names it where it fails. */
void opcode_run(tbk_fixture_t* fx, const tbk_program_t* program, const char* said);

#endif /* TBK_CONTRACTS_OPCODE_RUN_H */
