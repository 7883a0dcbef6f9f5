/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * opcode.h: the rows of TBK_OPCODE_MAP as a table, and sets of dtypes; for the library and its tests.
 */
#ifndef TBK_PROGRAM_OPCODE_H
#define TBK_PROGRAM_OPCODE_H

#include <tbk/dtypes.h>
#include <tbk/program.h>

#define PROGRAM_BIT(dtype) (UINT64_C(1) << TBK_##dtype)
#define PROGRAM_NONE UINT64_C(0)
#define PROGRAM_INT64 PROGRAM_BIT(INT64)
#define PROGRAM_I (PROGRAM_BIT(INT32) | PROGRAM_BIT(INT64))
#define PROGRAM_F (PROGRAM_BIT(FLOAT32) | PROGRAM_BIT(FLOAT64))
#define PROGRAM_N (PROGRAM_I | PROGRAM_F)
#define PROGRAM_L (PROGRAM_BIT(BOOL) | PROGRAM_I)
#define PROGRAM_V (PROGRAM_BIT(BOOL) | PROGRAM_N)
#define PROGRAM_ANY (TBK_DTYPES_ALL & ~(PROGRAM_BIT(COMPLEX64) | PROGRAM_BIT(COMPLEX128)))
#define PROGRAM_NUMBER (PROGRAM_BIT(BOOL) | PROGRAM_INT64 | PROGRAM_F)

typedef enum program_gives {
  PROGRAM_GIVES_SAME,
  PROGRAM_GIVES_OWN,
  PROGRAM_GIVES_INT64,
  PROGRAM_GIVES_BOOL
} program_gives_t;

typedef struct program_opcode {
  const char* name; /* as in texts; NULL: there is no such opcode */
  int operands;     /* -1: as many as the input has indices */
  uint64_t takes;   /* a set of dtypes */
  program_gives_t gives;
  double bound; /* units in the last place */
} program_opcode_t;

/* Returns the row of an opcode; its name is NULL where there is none. */
const program_opcode_t* program_opcode(uint16_t opcode);
/* Returns whether the opcode uses `slot`. */
bool program_uses_slot(uint16_t opcode);
/* Returns whether a dtype is of the set; numbers that are no dtype are of none. */
bool program_dtype_in(uint32_t dtype, uint64_t set);
/* Returns the name of a dtype in texts, such as "FLOAT32"; NULL where there is none. */
const char* program_dtype_name(uint32_t dtype);

#endif /* TBK_PROGRAM_OPCODE_H */
