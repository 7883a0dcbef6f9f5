/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk_program.h: programs, in which a host says what a generic kernel computes for each element, and
 * the arguments of these kernels. A backend that offers "tbk::pointwise" and "tbk::reduce" serves
 * whatever can be written as a program.
 *
 * A program is data: arrays of fixed-width numbers, without pointers into memory of a device and
 * without functions, so that it can be written to a file or sent to another process. It has no
 * loops and no branches. Instruction i defines value i and reads earlier values; the meaning of each
 * opcode stands in <tbk/tbk_opcodes.h>.
 *
 * The host inserts every promotion and every conversion: a backend promotes nothing. Values that are
 * computed with are BOOL, INT32, INT64, FLOAT32 and FLOAT64; the other dtypes are only loaded, cast,
 * selected and stored. The host uses those alone that the device declares. A complex number is two
 * inputs or results: its parts, each a tensor of real numbers with strides of its own.
 *
 * A launch takes everything that may change from call to call as an argument: memory, offsets,
 * sizes, strides and the values of numbers. A backend compiles a program once for its content and
 * whatever it makes of the launch (ranks, contiguous or not), and needs none of the values for it.
 */
#ifndef TBK_TBK_PROGRAM_H
#define TBK_TBK_PROGRAM_H

#include <tbk/tbk_arguments.h>
#include <tbk/tbk_opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TBK_PROGRAM_VERSION 1u

/* More than these no program has; a host cuts what is longer. */
enum {
  TBK_PROGRAM_MOST_INSTRUCTIONS = 1024,
  TBK_PROGRAM_MOST_OPERANDS = 4096,
  TBK_PROGRAM_MOST_INPUTS = 32,
  TBK_PROGRAM_MOST_NUMBERS = 32,
  TBK_PROGRAM_MOST_PARAMETERS = 8,
  TBK_PROGRAM_MOST_RESULTS = 8,
  TBK_PROGRAM_MOST_RANK = 8,
  TBK_REDUCTION_MOST_STATES = 4
};

/* What LOAD gives where an index is not within the input; negative ones never are. */
enum {
  TBK_BOUNDS_TRUSTED = 0, /* open: the host knows that it does not happen */
  TBK_BOUNDS_CLAMP = 1,   /* the nearest element that there is; 0 where there is none */
  TBK_BOUNDS_ZERO = 2     /* 0 */
};

/* 24 bytes, none of them padding. What an opcode does not use is 0. */
typedef struct tbk_instruction {
  uint16_t opcode;
  uint16_t dtype; /* of the value */
  uint16_t slot;
  uint16_t bounds;        /* LOAD with indices: one of TBK_BOUNDS_... */
  uint32_t operand_first; /* in operands; 0 where operand_count is */
  uint32_t operand_count;
  uint64_t immediate; /* CONSTANT: the value's bits, zero-extended; a BOOL is 0 or 1 */
} tbk_instruction_t;

enum {
  TBK_INPUT_ALIGNED = 0, /* as large as the space (strides of 0 where it is broadcast) */
  TBK_INPUT_INDEXED = 1  /* of any sizes: LOAD names an index for each of `rank` dimensions */
};

/* 8 bytes. */
typedef struct tbk_program_input {
  uint16_t dtype;
  uint16_t kind; /* one of TBK_INPUT_... */
  uint16_t rank; /* INDEXED: of the tensor; else 0 */
  uint16_t zero;
} tbk_program_input_t;

typedef struct tbk_program {
  size_t struct_size;
  uint64_t version; /* TBK_PROGRAM_VERSION */
  const tbk_program_input_t* inputs;
  size_t input_count;
  const uint16_t* numbers; /* the dtype of each: BOOL, INT64, FLOAT32 or FLOAT64 */
  size_t number_count;
  const uint16_t* parameters; /* the dtype of each; none but in combine and finish */
  size_t parameter_count;
  const tbk_instruction_t* instructions;
  size_t instruction_count;
  const uint32_t* operands; /* values, which instructions name by operand_first */
  size_t operand_count;
  const uint32_t* results; /* the value of each output, or of each state of a map or combine */
  size_t result_count;
} tbk_program_t;

/*
 * The tensors and numbers of one computation. A launch has a list of these for one program, of any
 * sizes each. They may be computed in any order: no set reads or writes what another one writes. A
 * launch of no sets does nothing.
 */
typedef struct tbk_operand_set {
  size_t struct_size;
  const tbk_tensor_t* const* outputs; /* as many as there are results, of their dtypes */
  const tbk_tensor_t* const* inputs;  /* as the program declares; none lies in an output in part */
  const uint64_t* numbers;            /* bits, zero-extended */
  const int64_t* inner_sizes;         /* tbk::reduce: of what goes; else NULL */
  uint64_t inner_rank;                /* tbk::reduce: how many; else 0 */
} tbk_operand_set_t;

/*
 * tbk::pointwise: computes the program at each place of a space, which has the sizes of output 0; all
 * outputs have the same. An aligned input may be an output exactly; an indexed one never is.
 */
#define TBK_NAME_pointwise "tbk::pointwise"
#define TBK_VERSION_pointwise 1u
typedef struct tbk_args_pointwise {
  size_t struct_size;
  const tbk_program_t* program;
  const tbk_operand_set_t* const* sets;
  size_t set_count;
  int64_t index_bits; /* 32 where every position and element offset fits into it, else 64 */
} tbk_args_pointwise_t;

enum { TBK_REDUCTION_COMMUTATIVE = 1 };

/*
 * How many states become one. A map gives the state of one element, combine makes one of two, finish
 * makes the outputs of the last. combine is associative but for rounding. Where it is not declared
 * commutative its first operand always stands for the earlier elements.
 */
typedef struct tbk_reduction {
  size_t struct_size;
  const tbk_program_t* map;     /* its results are the state, at most TBK_REDUCTION_MOST_STATES */
  const tbk_program_t* combine; /* parameters: a state, then the later one; results: a state */
  const tbk_program_t* finish;  /* parameters: a state; results: the outputs */
  const uint64_t*
      identity;   /* bits of each state: of no elements; combining with it changes nothing */
  uint64_t flags; /* TBK_REDUCTION_... */
} tbk_reduction_t;

/*
 * tbk::reduce: the outputs have the sizes of what stays, the outer space. The aligned inputs of the
 * map have these sizes and after them those of what goes, the inner space; both together have at
 * most TBK_PROGRAM_MOST_RANK dimensions. In the map COORDINATE counts through both and LINEAR_INDEX
 * is the position in the inner space; in finish both are of the outer space, whose sizes the aligned
 * inputs of finish have. All three programs declare the same numbers. `inputs` of a set holds those
 * of the map, then those of finish; combine has none. An inner space without elements gives what
 * finish makes of the identity. No input lies in an output.
 */
#define TBK_NAME_reduce "tbk::reduce"
#define TBK_VERSION_reduce 1u
typedef struct tbk_args_reduce {
  size_t struct_size;
  const tbk_reduction_t* reduction;
  const tbk_operand_set_t* const* sets;
  size_t set_count;
  int64_t index_bits; /* as above */
} tbk_args_reduce_t;

#ifdef __cplusplus
}
#endif

#endif /* TBK_TBK_PROGRAM_H */
