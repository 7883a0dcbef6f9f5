/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * code.h: a program, compiled: a flat list of steps, each a loop over buffers. It depends on the
 * content of the program alone, never changes, and is shared by all launches of it.
 */
#ifndef TBK_CPU_CODE_H
#define TBK_CPU_CODE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <tbk/program.h>

#include "loops/loops.h"

enum { CODE_NOWHERE = -1 };

/* For how many lanes a step of combine is computed where some states are the same in every lane, see alike.h. */
typedef enum code_lanes {
  LANES_EACH,
  LANES_ONE,
  LANES_FILLED, /* one, which is copied into the others */
  LANES_CHOSEN  /* SELECT with the same choice in every lane, which is copied */
} code_lanes_t;

typedef struct code_step {
  cpu_loop_t loop; /* NULL: `opcode` is one that the frame computes itself */
  bool stays;      /* a load that a loop reads once, where it lies: it need not be moved */
  bool owns;       /* its buffer, which no other step writes */
  uint16_t opcode;
  uint16_t dtype;
  uint16_t takes; /* dtype of the last operand */
  uint16_t slot;
  uint16_t bounds;
  uint64_t immediate;
  uint8_t coordinates; /* bit d: what it gives depends on COORDINATE d */
  bool is_placed;      /* on coordinates, numbers and constants alone */
  code_lanes_t lanes;
  uint8_t last_reads; /* bit k: nobody reads the buffer of operand k again before it is written */
  int32_t out;        /* a buffer */
  int32_t in_count;
  int32_t in[TBK_PROGRAM_MOST_RANK];
  int32_t from[TBK_PROGRAM_MOST_RANK]; /* the steps that gave those; CODE_NOWHERE: the caller did */
} code_step_t;

typedef struct code {
  size_t parameter_count; /* buffers 0 .. parameter_count - 1 are the caller's */
  uint16_t parameter_dtypes[2 * TBK_REDUCTION_MOST_STATES];
  size_t buffer_count;
  size_t uniform_count; /* the first steps give the same for each element of a launch */
  size_t step_count;
  code_step_t* steps;
  size_t result_count;
  int32_t results[TBK_PROGRAM_MOST_RESULTS]; /* buffers */
  int32_t result_steps[TBK_PROGRAM_MOST_RESULTS];
  uint16_t result_dtypes[TBK_PROGRAM_MOST_RESULTS];
  bool own_result[TBK_PROGRAM_MOST_RESULTS]; /* made by a step of its own: may be swapped away */
  bool
      direct_result; /* the only result is the last step's, whose loop may write it where it belongs */
  bool reads_coordinates, reads_linear_index;
  size_t input_count, number_count;
  const tbk_program_input_t* inputs; /* of the copy */
  const uint16_t* numbers;
} code_t;

/* Returns whether a load may stay, where one loop alone reads it: not a BOOL, of which any byte but 0 is true. */
static inline bool code_may_stay(const tbk_program_input_t* inputs, uint16_t opcode, uint16_t dtype,
                                 uint16_t slot) {
  return cpu_loops_are_direct() && opcode == TBK_OPCODE_LOAD && dtype != TBK_BOOL &&
         inputs[slot].kind == TBK_INPUT_ALIGNED;
}

/*
 * Compiles a checked program, which has to live as long.
 * Errors: NULL without host memory.
 */
code_t* code_new(const tbk_program_t* program);
/* fuse.c: makes one step of two where there is a loop for both, in a program that is no part of a reduction. */
void code_fuse(code_t* code);
void code_free(code_t* code);

/* ------------------------------------------------------------------------------------- cache -- */

/* What is computed: one program, or the three of a reduction. Counted: jobs and plans hold it too. */
typedef struct kernel_code {
  TAILQ_ENTRY(kernel_code) entry;
  atomic_int refs;
  bool kept; /* in the cache */
  uint64_t hash;
  tbk_program_t* program; /* a copy; NULL where it is a reduction */
  tbk_reduction_t* reduction;
  code_t* parts[3]; /* pointwise: one; reduce: map, combine, finish */
  code_t*
      values; /* see extreme.h: the map with its first result alone; NULL: it is no such reduction */
  bool has_alike;                        /* see alike.h */
  bool alike[TBK_REDUCTION_MOST_STATES]; /* which states are */
  uint16_t extreme;                      /* then TBK_OPCODE_MAX or TBK_OPCODE_MIN */
} kernel_code_t;

enum { CODE_MAP, CODE_COMBINE, CODE_FINISH };

/* The most recently used first. Its lock is taken with no other lock held, and holds nobody up. */
typedef struct code_cache {
  pthread_mutex_t lock;
  TAILQ_HEAD(code_list, kernel_code) kept;
  size_t count;
} code_cache_t;

enum { CODE_CACHE_MOST = 512 };

void code_cache_init(code_cache_t* cache);
/* Forgets everything; what is in use stays until its last reference is dropped. */
void code_cache_empty(code_cache_t* cache);

/*
 * Returns the code of a program, compiled if it is not there; the caller has a reference.
 * Errors: NULL, and the status: INVALID where it is not well formed; OUT_OF_MEMORY.
 */
kernel_code_t* code_of_program(code_cache_t* cache, const tbk_program_t* program,
                               tbk_status_t* out_status, tbk_error_t* error);
kernel_code_t* code_of_reduction(code_cache_t* cache, const tbk_reduction_t* reduction,
                                 tbk_status_t* out_status, tbk_error_t* error);
kernel_code_t* code_keep(kernel_code_t* code);
void code_drop(kernel_code_t* code); /* NULL is nothing */

#endif /* TBK_CPU_CODE_H */
