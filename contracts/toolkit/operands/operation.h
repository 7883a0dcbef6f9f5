/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * operation.h: one launch of an operator with fresh operands, and what has to come of it. Sums and
 * products get inputs of so few bits that every partial result is exact, so that any order of
 * evaluation is right and the tolerance is 0.
 */
#ifndef TBK_CONTRACTS_OPERATION_H
#define TBK_CONTRACTS_OPERATION_H

#include "tensor.h"

#include <tbk/tbk_operators.h>

/* X(ID, member of the wire, operator): the operators that oracle.c can compute. */
#define OPERATION_MAP(X)       \
  X(FILL, fill, fill__Scalar)  \
  X(COPY, copy, copy_)         \
  X(ADD, add, add_Tensor)      \
  X(MUL, mul, mul_Tensor)      \
  X(WHERE, where, where_self)  \
  X(SUM, sum, sum_dim_IntList) \
  X(MM, mm, mm)

typedef enum operator_id {
#define OPERATION_ID(id, member, op) OPERATOR_##id,
  OPERATION_MAP(OPERATION_ID)
#undef OPERATION_ID
      OPERATORS
} operator_id_t;

typedef enum values {
  VALUES_EXACT = 0, /* every result is exact */
  VALUES_ANY,       /* any bits: for copies, selections and integers that wrap */
  VALUES_GENERAL,   /* ordinary numbers with full significands: results are rounded */
  VALUES_SPECIAL,   /* NaN, infinities, zeros of both signs, extremes */
  VALUES_LARGEST    /* the largest finite number: sums and products are infinite, or wrap */
} values_t;

enum { ALIAS_ALL = 4 }; /* the output is two inputs, which are one */

/* Says how two inputs of one dtype, the first two that can have the output's, are one memory. */
typedef enum sharing {
  SHARING_NONE = 0,
  SHARING_TURNED, /* the second is the first with its dimensions the other way round */
  SHARING_WHOLE,  /* they are one and the same */
  SHARING_PART    /* the second begins an element later */
} sharing_t;

/* What an operation is to be like. For mm the sizes are rows, inner and columns. */
typedef struct form {
  operator_id_t id;
  int32_t dtype;
  bool converts; /* copy_: from `from_dtype` */
  int32_t from_dtype;
  int32_t rank;
  const int64_t* sizes;
  tensor_layout_t input;
  tensor_layout_t output;
  values_t values;
  int alias; /* 0, or 1 + the input that the output is, or ALIAS_ALL */
  sharing_t sharing;
  int apart;              /* 0, or 1 + the input that alone is laid out as `input` says */
  tensor_layout_t others; /* how the other inputs are laid out then */
  uint32_t reduced;       /* sum: bit k means dimension k; 0 means all, by an absent list */
  bool empty_dim_list;    /* sum: all, by a list without items */
  bool keepdim;
  const double* alpha; /* add: NULL takes one at random */
} form_t;

/* What goes to the backend: nothing in it points out of it, so that all can be overwritten. */
typedef struct wire {
  union {
    size_t struct_size;
#define OPERATION_ARGUMENTS(id, member, op) tbk_args_##op##_t member;
    OPERATION_MAP(OPERATION_ARGUMENTS)
#undef OPERATION_ARGUMENTS
    uint8_t room[256]; /* for a struct of a later version */
  } arguments;
  tbk_tensor_t inputs[3];
  tbk_tensor_t output;
  int64_t sizes[4][TENSOR_RANK];
  int64_t strides[4][TENSOR_RANK];
  tbk_int_list_t dim;
  int64_t dims[TENSOR_RANK];
} wire_t;

typedef struct operation {
  form_t form;
  const tbk_kernel_t* kernel; /* NULL where it is not offered */
  tensor_t inputs[3];
  int input_count;
  tensor_t output;
  uint8_t* poison; /* the output's model before the launch */
  tbk_scalar_t scalar;
  bool narrow_first; /* mm: which operand has few bits, so that the other can have many */
  wire_t* wire;
} operation_t;

const char* operation_name(operator_id_t id);
uint32_t operation_version(operator_id_t id);
size_t operation_arguments_size(operator_id_t id);
const tbk_kernel_t* operation_find(tbk_fixture_t* fx, operator_id_t id);
/* Tells whether a kernel makes plans; one that can make some but not run or destroy them fails. */
bool operation_has_plans(const tbk_kernel_t* kernel);

/* Makes and uploads the operands, and computes the result into the model of the output. */
void operation_make(tbk_fixture_t* fx, operation_t* operation, const form_t* form);
/* Returns the dtype for operands of no special kind: FLOAT32, or one that the device declares instead. */
int32_t operation_dtype(const tbk_fixture_t* fx);
/* Small contiguous operands of rank 1 (a product's: 2), which whoever declares FLOAT32 accepts. */
void operation_make_plain(tbk_fixture_t* fx, operation_t* operation, operator_id_t id);
/* The same in two steps, for a test that sets elements or the scalar by hand in between. */
void operation_lay_out(tbk_fixture_t* fx, operation_t* operation, const form_t* form);
void operation_ready(tbk_fixture_t* fx, operation_t* operation);
/* Writes the arguments into the wire. */
void operation_describe(operation_t* operation);
/* Takes the values of numbers, and not their kinds, out of the wire: what a plan may not look at. */
void operation_forget_numbers(operation_t* operation);

/*
 * Launches once without a stream, so that nothing has to be compiled or loaded when it counts, and
 * puts the output's poison back. A compiler may hold its caller, or wait until the device is idle.
 */
void operation_warm_up(tbk_fixture_t* fx, operation_t* operation);
tbk_status_t operation_launch(tbk_fixture_t* fx, operation_t* operation, tbk_stream_t* stream);
#define OPERATION_CHECK(fx, operation) operation_check((fx), (operation), 0, TBK_HERE(#operation))
bool operation_check(tbk_fixture_t* fx, const operation_t* operation, int64_t ulps,
                     tbk_here_t here);
/* Checks that outputs and inputs are as before: behind a launch that was refused. */
bool operation_check_untouched(tbk_fixture_t* fx, operation_t* operation, tbk_here_t here);
/* Checks the same behind a call that computes nothing, for the clause that is in force. */
bool operation_check_left_alone(tbk_fixture_t* fx, operation_t* operation, tbk_here_t here);

/*
 * Launches without a stream. OK: the result must be right; true. UNSUPPORTED: nothing may have
 * happened, and a reason must be given; false. Anything else is a failure.
 */
#define OPERATION_RUN(fx, operation) operation_run((fx), (operation), 0, TBK_HERE("launch"))
bool operation_run(tbk_fixture_t* fx, operation_t* operation, int64_t ulps, tbk_here_t here);

/*
 * Calls `function` for each operator that is offered. Where none is, the test shows nothing but
 * that unknown names are refused, and says so.
 */
typedef void (*operation_fn)(tbk_fixture_t* fx, operator_id_t id);
void operation_for_each(tbk_fixture_t* fx, operation_fn function);
/* The same, for what is shown by a launch of operation_run alone: where each is refused, says so. */
void operation_shown(tbk_fixture_t* fx, operation_fn function);

#endif /* TBK_CONTRACTS_OPERATION_H */
