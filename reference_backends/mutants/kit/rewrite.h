/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * rewrite.h: programs written anew, instruction by instruction, for mutants that change what a generic
 * kernel sees.
 */
#ifndef TBK_MUTANTS_REWRITE_H
#define TBK_MUTANTS_REWRITE_H

#include <tbk/program.h>

/* Points into itself: not to be moved. */
typedef struct rewrite {
  tbk_program_t program; /* what has come of it */
  const tbk_program_t* old;
  tbk_instruction_t instructions[TBK_PROGRAM_MOST_INSTRUCTIONS];
  uint32_t operands[TBK_PROGRAM_MOST_OPERANDS];
  uint32_t results[TBK_PROGRAM_MOST_RESULTS];
  uint32_t renamed[TBK_PROGRAM_MOST_INSTRUCTIONS]; /* by the old number of a value */
} rewrite_t;

/* Puts what is to stand for the instruction, and returns the value that stands for its own. Its operands are
 * already those of the new program. */
typedef uint32_t (*rewrite_fn)(rewrite_t* to, const tbk_instruction_t* instruction,
                               const uint32_t* operands, uint64_t context);

/* Adds an instruction; returns its value. */
uint32_t rewrite_put(rewrite_t* to, tbk_instruction_t instruction, const uint32_t* operands,
                     uint32_t operand_count);
/* Adds an instruction of so many operands, of at most three; the others are ignored. */
uint32_t rewrite_op(rewrite_t* to, uint16_t opcode, int32_t dtype, uint32_t count, uint32_t a,
                    uint32_t b, uint32_t c);
/* Adds a constant. */
uint32_t rewrite_bits(rewrite_t* to, int32_t dtype, uint64_t bits);
/* Adds the instruction as it is. */
uint32_t rewrite_keep(rewrite_t* to, const tbk_instruction_t* instruction,
                      const uint32_t* operands);
/* Returns the new program; the old one where what came of it is not well formed, or has no room. */
const tbk_program_t* rewrite_program(rewrite_t* to, const tbk_program_t* old, rewrite_fn function,
                                     uint64_t context);

/* For rewrite_program. Of a combine of so many states, the two operands have changed places. */
uint32_t rewrite_swapped(rewrite_t* to, const tbk_instruction_t* instruction,
                         const uint32_t* operands, uint64_t states);
/* COORDINATE or LINEAR_INDEX, whichever opcode it is, is 0. */
uint32_t rewrite_without_place(rewrite_t* to, const tbk_instruction_t* instruction,
                               const uint32_t* operands, uint64_t opcode);
/* Returns a combine, which is the thread's, whose last state stays what it was in the first operand, where it has
 * at least so many states. `results` is room for its results. */
const tbk_program_t* rewrite_without_last(const tbk_program_t* combine, size_t least,
                                          uint32_t* results);

#endif /* TBK_MUTANTS_REWRITE_H */
