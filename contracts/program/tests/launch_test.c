/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * launch_test.c: which operands fit a program, and which do not. Each case changes one member of a
 * launch that fits.
 */
#include <stdlib.h>
#include <string.h>

#include "program_test.h"

/* A launch with all it points to. */
typedef struct launch {
  int64_t sizes[2], strides[2], long_sizes[9], inner[9];
  tbk_tensor_t output, aligned, indexed;
  const tbk_tensor_t* outputs[1];
  const tbk_tensor_t* inputs[2];
  uint64_t numbers[2];
  tbk_operand_set_t set;
  const tbk_operand_set_t* sets[1];
  tbk_program_t* program;
  tbk_args_pointwise_t pointwise;
  tbk_program_t *map, *combine, *finish;
  uint64_t identity[1];
  tbk_reduction_t reduction;
  tbk_args_reduce_t reduce;
  tbk_args_scan_t scan;
} launch_t;

#define POINTWISE                                                                            \
  "program 1\ninput 0 FLOAT32\ninput 1 INT64 indexed 1\nnumber 0 BOOL\nnumber 1 FLOAT32\n"   \
  "v0 = LOAD FLOAT32 slot 0\nv1 = COORDINATE INT64 slot 1\nv2 = LOAD INT64 slot 1 zero v1\n" \
  "v3 = CAST FLOAT32 v2\nv4 = ADD FLOAT32 v0 v3\nresult 0 v4\n"
#define NUMBERS "number 0 BOOL\nnumber 1 FLOAT32\n"
#define MAP "program 1\ninput 0 FLOAT32\n" NUMBERS "v0 = LOAD FLOAT32 slot 0\nresult 0 v0\n"
#define COMBINE                                                                                   \
  "program 1\nparameter 0 FLOAT32\nparameter 1 FLOAT32\n" NUMBERS                                 \
  "v0 = PARAMETER FLOAT32 slot 0\nv1 = PARAMETER FLOAT32 slot 1\nv2 = ADD FLOAT32 v0 v1\nresult " \
  "0 v2\n"
#define FINISH                                                        \
  "program 1\ninput 0 INT64 indexed 1\nparameter 0 FLOAT32\n" NUMBERS \
  "v0 = PARAMETER FLOAT32 slot 0\nresult 0 v0\n"

static tbk_tensor_t tensor_of(launch_t* l, int32_t dtype, int32_t rank) {
  return (tbk_tensor_t){sizeof(tbk_tensor_t), 0, 0, 0, dtype, rank, l->sizes, l->strides};
}

/* In place: the structs point to each other. */
static void open_launch(launch_t* l, const char* program) {
  memset(l, 0, sizeof *l);
  l->sizes[0] = l->strides[0] = 3, l->sizes[1] = 3, l->strides[1] = 1;
  for (int i = 0; i < 9; ++i)
    l->long_sizes[i] = 1, l->inner[i] = 1;
  l->output = tensor_of(l, TBK_FLOAT32, 2);
  l->aligned = tensor_of(l, TBK_FLOAT32, 2);
  l->indexed = tensor_of(l, TBK_INT64, 1);
  l->outputs[0] = &l->output, l->inputs[0] = &l->aligned, l->inputs[1] = &l->indexed;
  l->set = (tbk_operand_set_t){sizeof l->set, l->outputs, l->inputs, l->numbers, NULL, 0};
  l->sets[0] = &l->set;
  l->program = program_of(program);
  l->pointwise = (tbk_args_pointwise_t){sizeof l->pointwise, l->program, l->sets, 1, 64};
  l->map = program_of(MAP), l->combine = program_of(COMBINE), l->finish = program_of(FINISH);
  l->reduction =
      (tbk_reduction_t){sizeof l->reduction, l->map, l->combine, l->finish, l->identity, 0};
  l->reduce = (tbk_args_reduce_t){sizeof l->reduce, &l->reduction, l->sets, 1, 64};
  l->scan = (tbk_args_scan_t){sizeof l->scan, &l->reduction, l->sets, 1, TBK_SCAN_REVERSE, 64};
}

static void close_launch(launch_t* l) {
  free(l->program);
  free(l->map);
  free(l->combine);
  free(l->finish);
}

/* --------------------------------------------------------------------------------- pointwise --- */

static int64_t huge[2] = {INT64_MAX, 3};
static int64_t wide[2] = {INT64_C(1) << 30, 1};
static int64_t minus[2] = {3, -1};

#define CHANGED launch_t* l
#define CHANGES(X)                                                                       \
  X(no_sets, l->pointwise.sets = NULL, "1 sets at NULL")                                 \
  X(no_program, l->pointwise.program = NULL, "no program")                               \
  X(short_struct, l->pointwise.struct_size = 8, "no arguments")                          \
  X(odd_bits, l->pointwise.index_bits = 16, "index_bits is 16")                          \
  X(no_set, l->sets[0] = NULL, "set 0, operands 0: they are not there")                  \
  X(short_set, l->set.struct_size = 8, "they are not there")                             \
  X(no_outputs, l->set.outputs = NULL, "no outputs")                                     \
  X(no_inputs, l->set.inputs = NULL, "no inputs")                                        \
  X(no_numbers, l->set.numbers = NULL, "no numbers")                                     \
  X(inner, (l->set.inner_rank = 1, l->set.inner_sizes = l->inner), "inner space")        \
  X(no_output, l->outputs[0] = NULL, "set 0, output 0: it is not there")                 \
  X(no_input, l->inputs[1] = NULL, "set 0, input 1: it is not there")                    \
  X(short_tensor, l->aligned.struct_size = 8, "input 0: it is not there")                \
  X(output_dtype, l->output.dtype = TBK_INT32, "output 0: dtype 3; declared is FLOAT32") \
  X(input_dtype, l->indexed.dtype = TBK_INT32, "input 1: dtype 3; declared is INT64")    \
  X(no_such_dtype, l->aligned.dtype = -1, "input 0: dtype -1")                           \
  X(rank, l->output.rank = 9, "output 0: rank 9")                                        \
  X(minus_rank, l->output.rank = -1, "output 0: rank -1")                                \
  X(no_sizes, l->aligned.sizes = NULL, "sizes or strides")                               \
  X(no_strides, l->aligned.strides = NULL, "sizes or strides")                           \
  X(minus_size, l->aligned.sizes = minus, "input 0: size -1")                            \
  X(other_size, l->aligned.sizes = wide, "input 0: size 1073741824 in dimension 0")      \
  X(other_rank, l->aligned.rank = 1, "input 0: rank 1 in a space of 2")                  \
  X(indexed_rank, l->indexed.rank = 2, "input 1: rank 2; declared is 1")                 \
  X(coordinate, l->output.rank = l->aligned.rank = 1, "COORDINATE of dimension 1 of 1")  \
  X(too_many, l->output.sizes = huge, "output 0: more elements")                         \
  X(a_bool, l->numbers[0] = 2, "number 0: more bits than BOOL has")                      \
  X(a_float, l->numbers[1] = UINT64_C(1) << 32, "number 1: more bits than FLOAT32")

CHANGE_TABLE(changes, CHANGES);

static void open_pointwise(launch_t* l) {
  tbk_error_t error;
  open_launch(l, POINTWISE);
  CU_ASSERT_EQUAL(tbk_pointwise_check(&l->pointwise, &error), TBK_OK);
}

static void checks_pointwise(void) {
  CHECK_CHANGES(changes, launch_t, open_pointwise, tbk_pointwise_check(&it.pointwise, &error),
                close_launch);
}

static void refuses_parameters(void) {
  launch_t l;
  tbk_error_t error = {"nothing"};
  open_launch(&l, POINTWISE);
  l.pointwise.program = l.finish;
  expect_refused(tbk_pointwise_check(&l.pointwise, &error), &error, "has parameters");
  close_launch(&l);
}

/* 32 bits hold each offset up to 2^31 - 1, and no offset beyond. */
static void knows_how_far_an_operand_reaches(void) {
  static const struct {
    int64_t size, stride, offset;
    tbk_status_t status;
  } rows[] = {
      {3, INT64_C(1) << 30, -1, TBK_INVALID},
      {3, (INT64_C(1) << 30) - 1, 0, TBK_OK},
      {3, (INT64_C(1) << 30) - 1, 1, TBK_OK},
      {3, (INT64_C(1) << 30) - 1, 2, TBK_INVALID},
      {3, INT64_C(1) << 30, 0, TBK_INVALID},
      {3, INT64_MAX, 0, TBK_INVALID},
      {3, INT64_MIN, 0, TBK_INVALID},
      {3, 1, INT64_C(1) << 31, TBK_INVALID},
      {0, INT64_MAX, INT64_MAX, TBK_OK},
      {1, INT64_MAX, 5, TBK_OK},
      {3, -1, 2, TBK_OK},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    launch_t l;
    open_launch(&l, POINTWISE);
    l.pointwise.index_bits = 32;
    l.indexed.sizes = &rows[i].size;
    l.indexed.strides = &rows[i].stride;
    l.indexed.offset = rows[i].offset;
    CU_ASSERT_EQUAL(tbk_pointwise_check(&l.pointwise, NULL), rows[i].status);
    l.pointwise.index_bits = 64;
    CU_ASSERT_EQUAL(tbk_pointwise_check(&l.pointwise, NULL), TBK_OK);
    close_launch(&l);
  }
}

static void no_sets_are_no_mistake(void) {
  launch_t l;
  open_launch(&l, POINTWISE);
  l.pointwise.set_count = l.reduce.set_count = l.scan.set_count = 0;
  l.pointwise.sets = l.reduce.sets = l.scan.sets = NULL;
  CU_ASSERT_EQUAL(tbk_pointwise_check(&l.pointwise, NULL), TBK_OK);
  CU_ASSERT_EQUAL(tbk_reduce_check(&l.reduce, NULL), TBK_OK);
  CU_ASSERT_EQUAL(tbk_scan_check(&l.scan, NULL), TBK_OK);
  close_launch(&l);
}

/* ------------------------------------------------------------------------------------ reduce --- */

/* 3 rows of 3 go to 3 outputs. */
static void open_reduce(launch_t* l) {
  open_launch(l, POINTWISE);
  l->output.rank = 1;
  l->inner[0] = 3;
  l->set.inner_sizes = l->inner;
  l->set.inner_rank = 1;
}

#define REDUCE_CHANGES(X)                                                         \
  X(r_fits, (void)l, NULL)                                                        \
  X(r_no_reduction, l->reduce.reduction = NULL, "no reduction")                   \
  X(r_inner_rank, l->set.inner_rank = 8, "inner sizes 0: 8 beside 1")             \
  X(r_all_inner, l->set.inner_rank = UINT64_MAX, "beside 1")                      \
  X(r_no_inner, l->set.inner_sizes = NULL, "no inner sizes")                      \
  X(r_minus, l->inner[0] = -1, "inner sizes 0: -1")                               \
  X(r_other, l->inner[0] = 4, "input 0: size 3 in dimension 1 of a space of 4")   \
  X(r_outer, l->output.rank = 2, "input 0: rank 2 in a space of 3")               \
  X(r_dtype, l->output.dtype = TBK_INT8, "output 0: dtype 1")                     \
  X(r_finish, l->indexed.dtype = TBK_INT8, "input 1: dtype 1; declared is INT64") \
  X(r_number, l->numbers[0] = 2, "number 0")
CHANGE_TABLE(reduce_changes, REDUCE_CHANGES);

static void checks_reduce(void) {
  CHECK_CHANGES(reduce_changes, launch_t, open_reduce, tbk_reduce_check(&it.reduce, &error),
                close_launch);
}

/* -------------------------------------------------------------------------------------- scan --- */

#define SCAN_CHANGES(X)                                                             \
  X(s_fits, (void)l, NULL)                                                          \
  X(s_forward, l->scan.flags = 0, NULL)                                             \
  X(s_short, l->scan.struct_size = 8, "no arguments")                               \
  X(s_no_reduction, l->scan.reduction = NULL, "no reduction")                       \
  X(s_flags, l->scan.flags = 2, "flags are 0x2")                                    \
  X(s_bits, l->scan.index_bits = 8, "index_bits is 8")                              \
  X(s_sets, l->scan.sets = NULL, "1 sets at NULL")                                  \
  X(s_set, l->sets[0] = NULL, "set 0, operands 0: they are not there")              \
  X(s_inner, (l->set.inner_rank = 1, l->set.inner_sizes = l->inner), "inner space") \
  X(s_rank, l->output.rank = 0, "rank 0: there is no dimension")                    \
  X(s_outer, l->output.rank = 1, "input 0: rank 2 in a space of 1")                 \
  X(s_size, l->aligned.sizes = l->long_sizes, "input 0: size 1 in dimension 0")     \
  X(s_dtype, l->output.dtype = TBK_INT8, "output 0: dtype 1")                       \
  X(s_finish, l->indexed.rank = 2, "input 1: rank 2; declared is 1")                \
  X(s_number, l->numbers[0] = 2, "number 0")
CHANGE_TABLE(scan_changes, SCAN_CHANGES);

static void checks_scan(void) {
  CHECK_CHANGES(scan_changes, launch_t, open_pointwise, tbk_scan_check(&it.scan, &error),
                close_launch);
}

CU_TestInfo launch_tests[] = {
    {"checks_pointwise", checks_pointwise},
    {"refuses_parameters", refuses_parameters},
    {"knows_how_far_an_operand_reaches", knows_how_far_an_operand_reaches},
    {"no_sets_are_no_mistake", no_sets_are_no_mistake},
    {"checks_reduce", checks_reduce},
    {"checks_scan", checks_scan},
    CU_TEST_INFO_NULL,
};
