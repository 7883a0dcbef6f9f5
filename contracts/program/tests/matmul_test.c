/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * matmul_test.c: which calls of tbk::matmul are well formed. Each case changes one member of one that is; and
 * members drawn at random are refused in words, or are within what the struct says.
 */
#include <string.h>

#include "draw.h"
#include "program_test.h"

enum { A, B, C, OUT, TENSORS };

/* A batch of 2; 3 x 4 times 4 x 5. */
typedef struct call {
  int64_t sizes[TENSORS][3], strides[TENSORS][3];
  tbk_tensor_t tensors[TENSORS];
  tbk_args_matmul_t args;
} call_t;

static void open_call(call_t* c) {
  static const int64_t sizes[TENSORS][3] = {{2, 3, 4}, {2, 4, 5}, {2, 3, 5}, {2, 3, 5}};
  memset(c, 0, sizeof *c);
  memcpy(c->sizes, sizes, sizeof sizes);
  for (int i = 0; i < TENSORS; ++i) {
    c->strides[i][0] = sizes[i][1] * sizes[i][2], c->strides[i][1] = sizes[i][2];
    c->strides[i][2] = 1;
    c->tensors[i] =
        (tbk_tensor_t){sizeof *c->tensors, 0, 0, 0, TBK_FLOAT16, 3, c->sizes[i], c->strides[i]};
  }
  const tbk_scalar_t one = {.kind = TBK_SCALAR_DOUBLE, .real = 1};
  c->args = (tbk_args_matmul_t){.struct_size = sizeof c->args,
                                .a = &c->tensors[A],
                                .b = &c->tensors[B],
                                .c = &c->tensors[C],
                                .out = &c->tensors[OUT],
                                .alpha = one,
                                .beta = one,
                                .index_bits = 64};
}

static void set_dtype(call_t* c, int32_t dtype) {
  for (int i = 0; i < TENSORS; ++i)
    c->tensors[i].dtype = dtype;
}

static void set_rank(call_t* c, int32_t rank) {
  for (int i = 0; i < TENSORS; ++i) {
    c->tensors[i].rank = rank;
    c->tensors[i].sizes += 3 - rank;
  }
}

#define CHANGED call_t* c
#define CHANGES(X)                                                                               \
  X(fits, (void)c, NULL)                                                                         \
  X(one_matrix, set_rank(c, 2), NULL)                                                            \
  X(no_c, (c->args.c = NULL, c->args.beta.kind = 77), NULL)                                      \
  X(c_is_out, c->args.c = c->args.out, NULL)                                                     \
  X(no_k, c->sizes[A][2] = c->sizes[B][1] = 0, NULL)                                             \
  X(one_b, c->strides[B][0] = 0, NULL)                                                           \
  X(integers, (set_dtype(c, TBK_INT8), c->args.alpha.kind = c->args.beta.kind = TBK_SCALAR_INT), \
    NULL)                                                                                        \
  X(short_struct, c->args.struct_size = 8, "no arguments")                                       \
  X(bits, c->args.index_bits = 0, "index_bits is 0")                                             \
  X(no_out, c->args.out = NULL, "out: it is not there")                                          \
  X(no_a, c->args.a = NULL, "a: it is not there")                                                \
  X(no_b, c->args.b = NULL, "b: it is not there")                                                \
  X(short_c, c->tensors[C].struct_size = 8, "c: it is not there")                                \
  X(unknown, set_dtype(c, -1), "out: dtype -1")                                                  \
  X(truth, set_dtype(c, TBK_BOOL), "out: dtype")                                                 \
  X(complex, set_dtype(c, TBK_COMPLEX64), "out: dtype")                                          \
  X(other_a, c->tensors[A].dtype = TBK_FLOAT32, "a: dtype")                                      \
  X(other_b, c->tensors[B].dtype = TBK_BFLOAT16, "b: dtype")                                     \
  X(other_c, c->tensors[C].dtype = TBK_FLOAT64, "c: dtype")                                      \
  X(alpha, c->args.alpha.kind = TBK_SCALAR_INT, "alpha: kind 0")                                 \
  X(beta, c->args.beta.kind = TBK_SCALAR_COMPLEX, "beta: kind")                                  \
  X(integer_alpha, set_dtype(c, TBK_INT64), "alpha: kind")                                       \
  X(vectors, set_rank(c, 1), "out: rank 1")                                                      \
  X(rank, c->tensors[OUT].rank = 9, "out: rank 9")                                               \
  X(rank_of_a, c->tensors[A].rank = 2, "a: rank 2 in a space of 3")                              \
  X(rank_of_c, c->tensors[C].rank = 1, "c: rank 1 in a space of 3")                              \
  X(negative, c->sizes[A][2] = -1, "a: size -1")                                                 \
  X(no_sizes, c->tensors[B].sizes = NULL, "b: sizes or strides at NULL")                         \
  X(batch, c->sizes[B][0] = 1, "b: size 1 in dimension 0 of a space of 2")                       \
  X(rows, c->sizes[A][1] = 4, "a: size 4 in dimension 1 of a space of 3")                        \
  X(inner, c->sizes[B][1] = 3, "b: size 3 in dimension 1 of a space of 4")                       \
  X(columns, c->sizes[B][2] = 4, "b: size 4 in dimension 2 of a space of 5")                     \
  X(added, c->sizes[C][2] = 1, "c: size 1 in dimension 2 of a space of 5")                       \
  X(overlap, c->strides[OUT][1] = 0, "out: it is written, and has a stride of 0")                \
  X(reaches, (c->args.index_bits = 32, c->strides[B][0] = INT64_C(1) << 31), "b: index_bits is 32")

CHANGE_TABLE(changes, CHANGES);

static void close_call(call_t* c) {
  (void)c; /* nothing of it is allocated */
}

static void checks_calls(void) {
  CHECK_CHANGES(changes, call_t, open_call, tbk_matmul_check(&it.args, &error), close_call);
}

/* A number that is near to what may stand there, or anything. */
static int64_t odd_number(uint64_t* state) {
  uint64_t drawn = program_random(state);
  return drawn % 4 == 0 ? (int64_t)program_random(state) : (int64_t)(drawn >> 8) % 12 - 3;
}

static void change_at_random(call_t* c, uint64_t* state) {
  size_t which = program_random(state) % TENSORS, d = program_random(state) % 3;
  switch (program_random(state) % 6) {
    case 0:
      c->args.index_bits = odd_number(state);
      break;
    case 1:
      c->args.alpha.kind = odd_number(state);
      break;
    case 2:
      set_dtype(c, (int32_t)odd_number(state));
      break;
    case 3:
      c->tensors[which].rank = (int32_t)(program_random(state) % 4);
      break;
    case 4:
      c->strides[which][d] = odd_number(state);
      break;
    default:
      c->sizes[which][d] = odd_number(state);
  }
}

static bool within(const call_t* c) {
  const int32_t rank = c->tensors[OUT].rank;
  if (rank < 2 || c->tensors[A].rank != rank || c->tensors[B].rank != rank) return false;
  for (int32_t d = 0; d < rank; ++d)
    if (c->sizes[C][d] != c->sizes[OUT][d] || c->sizes[A][d] < 0) return false;
  return c->sizes[A][rank - 1] == c->sizes[B][rank - 2] &&
         c->tensors[A].dtype == c->tensors[OUT].dtype;
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
    tbk_status_t status = tbk_matmul_check(&c.args, &error);
    if (status != TBK_OK) CU_ASSERT_TRUE_FATAL(status == TBK_INVALID && error.message[0] != '\0');
    if (status != TBK_OK) continue;
    ++accepted;
    CU_ASSERT_TRUE_FATAL(within(&c));
  }
  CU_ASSERT_TRUE(accepted > 1000);
}

CU_TestInfo matmul_tests[] = {
    {"checks_calls", checks_calls},
    {"refuses_what_is_drawn_in_words", refuses_what_is_drawn_in_words},
    CU_TEST_INFO_NULL,
};
