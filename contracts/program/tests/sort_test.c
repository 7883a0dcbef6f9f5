/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sort_test.c: which calls of tbk::sort are well formed. Each case changes one member of one that is.
 */
#include <string.h>

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

#define NAMED(name, change, words)       \
  static void change_##name(call_t* c) { \
    change;                              \
  }
CHANGES(NAMED)

static const struct {
  void (*change)(call_t*);
  const char* words;
} changes[] = {
#define ENTRY(name, change, words) {change_##name, words},
    CHANGES(ENTRY)};

static void checks_calls(void) {
  for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
    call_t c;
    tbk_error_t error = {"nothing"};
    open_call(&c);
    changes[i].change(&c);
    tbk_status_t status = tbk_sort_check(&c.args, &error);
    if (changes[i].words == NULL)
      CU_ASSERT_EQUAL(status, TBK_OK)
    else
      expect_refused(status, &error, changes[i].words);
  }
}

CU_TestInfo sort_tests[] = {
    {"checks_calls", checks_calls},
    CU_TEST_INFO_NULL,
};
