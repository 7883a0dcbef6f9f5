/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * index_test.c: which calls of tbk::index are well formed. Each case changes one member of one that is; and
 * members drawn at random are refused in words, or are within what the struct says.
 */
#include <string.h>

#include "draw.h"
#include "program_test.h"

/* A table of 4 x 3 that is written; a space of 5 x 3, whose first dimension an index finds. */
typedef struct call {
  int64_t table_sizes[2], sizes[2], strides[2], places[2];
  tbk_tensor_t table, values, index, report;
  const tbk_tensor_t* indices[1];
  tbk_args_index_t args;
} call_t;

static void open_call(call_t* c) {
  memset(c, 0, sizeof *c);
  c->table_sizes[0] = 4, c->table_sizes[1] = c->sizes[1] = 3, c->sizes[0] = 5;
  c->strides[0] = 3, c->strides[1] = 1;
  c->places[0] = TBK_INDEX_BY(0), c->places[1] = TBK_INDEX_ALONG(1);
  c->table = (tbk_tensor_t){sizeof c->table, 0, 0, 0, TBK_INT16, 2, c->table_sizes, c->strides};
  c->values = (tbk_tensor_t){sizeof c->values, 0, 0, 0, TBK_INT16, 2, c->sizes, c->strides};
  c->index = (tbk_tensor_t){sizeof c->index, 0, 0, 0, TBK_INT32, 2, c->sizes, c->strides};
  c->report = (tbk_tensor_t){sizeof c->report, 0, 0, 0, TBK_INT32, 0, NULL, NULL};
  c->indices[0] = &c->index;
  c->args =
      (tbk_args_index_t){sizeof c->args, TBK_INDEX_WRITE, 0, TBK_BOUNDS_ZERO, 64,        &c->table,
                         &c->values,     c->indices,      1, c->places,       &c->report};
}

static int64_t no_step[2] = {0, 1};
static int64_t far_apart[2] = {INT64_C(1) << 31, 1};

#define CHANGED call_t* c
#define CHANGES(X)                                                                                 \
  X(fits, (void)c, NULL)                                                                           \
  X(flat, (c->args.flags = TBK_INDEX_FLAT, c->args.places = NULL), NULL)                           \
  X(gather_all, (c->args.mode = TBK_INDEX_GATHER, c->table.strides = no_step), NULL)               \
  X(short_struct, c->args.struct_size = 8, "no arguments")                                         \
  X(mode, c->args.mode = 6, "mode is 6")                                                           \
  X(flags, c->args.flags = 8, "flags are 0x8")                                                     \
  X(bounds, c->args.bounds = TBK_BOUNDS_CLAMP, "bounds is 1")                                      \
  X(bits, c->args.index_bits = 0, "index_bits is 0")                                               \
  X(no_indices, c->args.indices = NULL, "1 indices at NULL")                                       \
  X(many, c->args.index_count = 9, "9 indices")                                                    \
  X(flat_none, (c->args.flags = TBK_INDEX_FLAT, c->args.index_count = 0), "flat")                  \
  X(no_table, c->args.table = NULL, "table: it is not there")                                      \
  X(no_values, c->args.values = NULL, "values: it is not there")                                   \
  X(no_index, c->indices[0] = NULL, "index 0: it is not there")                                    \
  X(dtype, c->table.dtype = -1, "table: dtype -1")                                                 \
  X(other_dtype, c->values.dtype = TBK_INT8, "values: dtype 1; declared is INT16")                 \
  X(index_dtype, c->index.dtype = TBK_BOOL, "index 0: dtype")                                      \
  X(index_rank, c->index.rank = 1, "index 0: rank 1 in a space of 2")                              \
  X(index_size, c->index.sizes = c->table_sizes, "index 0: size 4 in dimension 0")                 \
  X(overlap, c->table.strides = no_step, "table: it is written, and has a stride")                 \
  X(gathered, (c->args.mode = TBK_INDEX_GATHER, c->values.strides = no_step),                      \
    "values: it is written")                                                                       \
  X(reaches, (c->args.index_bits = 32, c->table.strides = far_apart), "table: index_bits is 32")   \
  X(no_places, c->args.places = NULL, "places at NULL")                                            \
  X(no_such_index, c->places[0] = TBK_INDEX_BY(1), "place 0: index 1 of 1")                        \
  X(least_place, c->places[0] = INT64_MIN, "place 0: index")                                       \
  X(no_such_dimension, c->places[1] = TBK_INDEX_ALONG(2), "place 1: dimension 2")                  \
  X(unused, c->places[0] = TBK_INDEX_ALONG(1), "index 0 finds no dimension")                       \
  X(longer, c->table_sizes[1] = 2, "place 1: size 3 of the space in a dimension of 2")             \
  X(trusted, c->args.bounds = TBK_BOUNDS_TRUSTED, "report: indices are trusted")                   \
  X(report_dtype, c->report.dtype = TBK_INT64, "report: dtype")                                    \
  X(report_rank, (c->report.rank = 1, c->report.sizes = c->sizes, c->report.strides = c->strides), \
    "report: rank 1")

CHANGE_TABLE(changes, CHANGES);

static void close_call(call_t* c) {
  (void)c; /* nothing of it is allocated */
}

static void checks_calls(void) {
  CHECK_CHANGES(changes, call_t, open_call, tbk_index_check(&it.args, &error), close_call);
}

/* A number that is near to what may stand there, or anything. */
static int64_t odd_number(uint64_t* state) {
  uint64_t drawn = program_random(state);
  return drawn % 4 == 0 ? (int64_t)program_random(state) : (int64_t)(drawn >> 8) % 12 - 3;
}

static void change_at_random(call_t* c, uint64_t* state) {
  int64_t* const numbers[] = {&c->args.mode,      &c->args.bounds, &c->args.index_bits,
                              &c->places[0],      &c->places[1],   &c->table_sizes[0],
                              &c->table_sizes[1], &c->sizes[0],    &c->sizes[1],
                              &c->strides[0],     &c->strides[1],  &c->table.offset};
  tbk_tensor_t* const tensors[] = {&c->table, &c->values, &c->index, &c->report};
  tbk_tensor_t* tensor = tensors[program_random(state) % 4];
  switch (program_random(state) % 5) {
    case 0:
      c->args.flags = (uint64_t)odd_number(state);
      break;
    case 1:
      c->args.index_count = (size_t)odd_number(state) % 2;
      break;
    case 2:
      tensor->dtype = (int32_t)odd_number(state);
      break;
    case 3:
      tensor->rank = (int32_t)(program_random(state) % 3);
      break;
    default:
      *numbers[program_random(state) % 12] = odd_number(state);
  }
}

/* What is accepted lies within what the struct promises; a sanitizer sees who reads beyond an array. */
static void refuses_what_is_drawn_in_words(void) {
  uint64_t state = 1;
  size_t accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    call_t c;
    tbk_error_t error = {""};
    open_call(&c);
    for (uint64_t left = 1 + program_random(&state) % 3; left > 0; --left)
      change_at_random(&c, &state);
    tbk_status_t status = tbk_index_check(&c.args, &error);
    if (status != TBK_OK) CU_ASSERT_TRUE_FATAL(status == TBK_INVALID && error.message[0] != '\0');
    if (status != TBK_OK) continue;
    ++accepted;
    CU_ASSERT_TRUE_FATAL(c.args.mode >= 0 && c.args.mode <= TBK_INDEX_MAX && c.args.flags < 8);
    CU_ASSERT_TRUE_FATAL(c.table.dtype == c.values.dtype && c.args.index_count <= 1);
    for (int32_t d = 0; (c.args.flags & TBK_INDEX_FLAT) == 0 && d < c.table.rank; ++d)
      CU_ASSERT_TRUE_FATAL(c.places[d] < 0 || c.sizes[c.places[d]] <= c.table_sizes[d]);
  }
  CU_ASSERT_TRUE(accepted > 1000);
}

CU_TestInfo index_tests[] = {
    {"checks_calls", checks_calls},
    {"refuses_what_is_drawn_in_words", refuses_what_is_drawn_in_words},
    CU_TEST_INFO_NULL,
};
