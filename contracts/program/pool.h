/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * pool.h: a program with room for whatever one may hold, while it is being made. Nothing is checked but
 * that there is room: what comes of it, tbk_program_check says.
 */
#ifndef TBK_PROGRAM_POOL_H
#define TBK_PROGRAM_POOL_H

#include <tbk/program.h>

typedef struct program_pool {
  tbk_program_t program; /* names the arrays: a pool may not be moved */
  tbk_program_input_t inputs[TBK_PROGRAM_MOST_INPUTS];
  uint16_t numbers[TBK_PROGRAM_MOST_NUMBERS];
  uint16_t parameters[TBK_PROGRAM_MOST_PARAMETERS];
  tbk_instruction_t instructions[TBK_PROGRAM_MOST_INSTRUCTIONS];
  uint32_t operands[TBK_PROGRAM_MOST_OPERANDS];
  uint32_t results[TBK_PROGRAM_MOST_RESULTS];
} program_pool_t;

/* Empties a pool. */
void program_pool_open(program_pool_t* pool);
/* Each adds one item at the end and returns its number; where there is no room it returns UINT32_MAX. */
uint32_t program_add_input(program_pool_t* pool, tbk_program_input_t input);
uint32_t program_add_number(program_pool_t* pool, uint16_t dtype);
uint32_t program_add_parameter(program_pool_t* pool, uint16_t dtype);
uint32_t program_add_result(program_pool_t* pool, uint32_t value);
/* The members of operands are filled in. */
uint32_t program_add(program_pool_t* pool, tbk_instruction_t instruction, const uint32_t* operands,
                     uint32_t operand_count);

#endif /* TBK_PROGRAM_POOL_H */
