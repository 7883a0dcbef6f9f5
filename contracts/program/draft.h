/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * draft.h: a program with its arrays in one block, while they are being filled.
 */
#ifndef TBK_PROGRAM_DRAFT_H
#define TBK_PROGRAM_DRAFT_H

#include <tbk/program.h>

typedef struct draft_counts {
  size_t inputs, numbers, parameters, instructions, operands, results;
} draft_counts_t;

typedef struct draft {
  tbk_program_t* program; /* at the beginning of the block */
  tbk_instruction_t* instructions;
  tbk_program_input_t* inputs;
  uint32_t* operands;
  uint32_t* results;
  uint16_t* numbers;
  uint16_t* parameters;
} draft_t;

/* Returns the bytes of a block for so many, a multiple of 8. */
size_t draft_size(const draft_counts_t* counts);
/* Lays a program out in a block that is aligned to 8 bytes; its items are not written. */
draft_t draft_at(char* block, const draft_counts_t* counts);

#endif /* TBK_PROGRAM_DRAFT_H */
