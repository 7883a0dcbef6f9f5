/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sort_test.c: which calls of tbk::sort are well formed. Each case changes one member of one that is; and
 * members drawn at random are refused in words, or are within what the struct says.
 */
#include <string.h>

#include "draw.h"
#include "program_test.h"

/* The first 3 of segments of 5. */
typedef struct call {
  int64_t sizes[2], kept[2], short_kept[2], strides[2];
  tbk_tensor_t input, values, indices;
  tbk_args_sort_t args;
} call_t;

static void open_call(call_t* c) {
  memset(c, 0, sizeof *c);
  c->sizes[0] = c->kept[0] = c->short_kept[0] = 2;
  c->sizes[1] = 5, c->kept[1] = 3, c->short_kept[1] = 2;
  c->strides[0] = 8, c->strides[1] = 1;
  c->input = (tbk_tensor_t){sizeof c->input, 0, 0, 0, TBK_FLOAT16, 2, c->sizes, c->strides};
  c->values = (tbk_tensor_t){sizeof c->values, 0, 0, 0, TBK_FLOAT16, 2, c->kept, c->strides};
  c->indices = (tbk_tensor_t){sizeof c->indices, 0, 0, 0, TBK_INT64, 2, c->kept, c->strides};
  c->args = (tbk_args_sort_t){sizeof c->args,
                              &c->input,
                              &c->values,
                              &c->indices,
                              TBK_SORT_DESCENDING | TBK_SORT_STABLE,
                              32};
}

static int64_t no_step[2] = {0, 1};
static int64_t same_place[2] = {1, 0};
static int64_t far_apart[2] = {INT64_C(1) << 31, 1};

#define CHANGED call_t* c
#define CHANGES(X)                                                                                \
  X(fits, (void)c, NULL)                                                                          \
  X(whole, c->values.sizes = c->indices.sizes = c->sizes, NULL)                                   \
  X(no_values, c->args.values = NULL, NULL)                                                       \
  X(no_indices, c->args.indices = NULL, NULL)                                                     \
  X(broadcast, c->input.strides = no_step, NULL)                                                  \
  X(none_kept, c->kept[1] = 0, NULL)                                                              \
  X(far, (c->args.index_bits = 64, c->input.strides = far_apart), NULL)                           \
  X(short_struct, c->args.struct_size = 8, "no arguments")                                        \
  X(flags, c->args.flags = 4, "flags are 0x4")                                                    \
  X(bits, c->args.index_bits = 16, "index_bits is 16")                                            \
  X(nothing, c->args.values = c->args.indices = NULL, "neither values nor indices")               \
  X(no_input, c->args.input = NULL, "input: it is not there")                                     \
  X(short_input, c->input.struct_size = 8, "input: it is not there")                              \
  X(complex, c->input.dtype = TBK_COMPLEX64, "input: dtype")                                      \
  X(rank_0, c->input.rank = 0, "input: rank 0")                                                   \
  X(rank_9, c->input.rank = 9, "input: rank 9")                                                   \
  X(negative, c->sizes[0] = -1, "input: size -1")                                                 \
  X(reaches, c->input.strides = far_apart, "input: index_bits is 32")                             \
  X(other_dtype, c->values.dtype = TBK_BFLOAT16, "values: dtype")                                 \
  X(index_dtype, c->indices.dtype = TBK_INT32, "indices: dtype")                                  \
  X(longer, c->kept[1] = 6, "values: 6 elements of a segment of 5")                               \
  X(other_rank, c->values.rank = 1, "values: rank 1 in a space of 2")                             \
  X(other_segments, c->kept[0] = 3, "values: size 3 in dimension 0")                              \
  X(other_length, c->indices.sizes = c->short_kept, "indices: size 2 in dimension 1")             \
  X(index_longer, (c->args.values = NULL, c->kept[1] = 6), "indices: 6 elements")                 \
  X(overlap, c->values.strides = same_place, "values: it is written, and has a stride of 0")      \
  X(index_overlap, c->indices.strides = no_step, "indices: it is written, and has a stride of 0") \
  X(index_reaches, c->indices.strides = far_apart, "indices: index_bits is 32")

CHANGE_TABLE(changes, CHANGES);

static void close_call(call_t* c) {
  (void)c; /* nothing of it is allocated */
}

static void checks_calls(void) {
  CHECK_CHANGES(changes, call_t, open_call, tbk_sort_check(&it.args, &error), close_call);
}

/* A number that is near to what may stand there, or anything. */
static int64_t odd_number(uint64_t* state) {
  uint64_t drawn = program_random(state);
  return drawn % 4 == 0 ? (int64_t)program_random(state) : (int64_t)(drawn >> 8) % 9 - 1;
}

static void change_at_random(call_t* c, uint64_t* state) {
  int64_t* const numbers[] = {&c->sizes[0],     &c->sizes[1],       &c->kept[0],
                              &c->kept[1],      &c->strides[0],     &c->strides[1],
                              &c->input.offset, &c->args.index_bits};
  tbk_tensor_t* const tensors[] = {&c->input, &c->values, &c->indices};
  tbk_tensor_t* tensor = tensors[program_random(state) % 3];
  switch (program_random(state) % 6) {
    case 0:
      c->args.flags = (uint64_t)odd_number(state);
      break;
    case 1:
      tensor->dtype = (int32_t)odd_number(state);
      break;
    case 2:
      tensor->rank = (int32_t)(program_random(state) % 3);
      break;
    case 3:
      *(program_random(state) % 2 == 0 ? &c->args.values : &c->args.indices) = NULL;
      break;
    default:
      *numbers[program_random(state) % 8] = odd_number(state);
  }
}

/* What is accepted keeps what the struct promises; a sanitizer sees who reads beyond an array. */
static void refuses_what_is_drawn_in_words(void) {
  uint64_t state = 1;
  size_t accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    call_t c;
    tbk_error_t error = {""};
    open_call(&c);
    for (uint64_t left = 1 + program_random(&state) % 3; left > 0; --left)
      change_at_random(&c, &state);
    tbk_status_t status = tbk_sort_check(&c.args, &error);
    if (status != TBK_OK) CU_ASSERT_TRUE_FATAL(status == TBK_INVALID && error.message[0] != '\0');
    if (status != TBK_OK) continue;
    ++accepted;
    const int32_t last = c.input.rank - 1;
    CU_ASSERT_TRUE_FATAL(c.args.flags < 4 && last >= 0);
    CU_ASSERT_TRUE_FATAL(c.args.values != NULL || c.args.indices != NULL);
    CU_ASSERT_TRUE_FATAL(c.kept[last] >= 0 && c.kept[last] <= c.sizes[last]);
    if (c.args.values != NULL)
      CU_ASSERT_TRUE_FATAL(c.values.dtype == c.input.dtype && c.values.rank == c.input.rank);
    if (c.args.indices != NULL)
      CU_ASSERT_TRUE_FATAL(c.indices.dtype == TBK_INT64 && c.indices.rank == c.input.rank);
  }
  CU_ASSERT_TRUE(accepted > 1000);
}

CU_TestInfo sort_tests[] = {
    {"checks_calls", checks_calls},
    {"refuses_what_is_drawn_in_words", refuses_what_is_drawn_in_words},
    CU_TEST_INFO_NULL,
};
