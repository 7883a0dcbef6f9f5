/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * reduce_test.c: reductions over each set of dimensions, against plain loops in the order of elements.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

static tbk_reduction_t reduction(const char* map, const char* combine, const char* finish,
                                 const uint64_t* identity, uint64_t flags) {
  return (tbk_reduction_t){.struct_size = sizeof(tbk_reduction_t),
                           .map = session_program(map),
                           .combine = session_program(combine),
                           .finish = session_program(finish),
                           .identity = identity,
                           .flags = flags};
}

static void drop(tbk_reduction_t* reduced) {
  free((void*)(uintptr_t)reduced->map);
  free((void*)(uintptr_t)reduced->combine);
  free((void*)(uintptr_t)reduced->finish);
}

static const uint64_t zero[4] = {0};

static tbk_reduction_t sum_of_floats(void) {
  return reduction("program 1\ninput 0 FLOAT32\nv0 = LOAD FLOAT32 slot 0\nresult 0 v0\n",
                   "program 1\nparameter 0 FLOAT32\nparameter 1 FLOAT32\n"
                   "v0 = PARAMETER FLOAT32 slot 0\nv1 = PARAMETER FLOAT32 slot 1\n"
                   "v2 = ADD FLOAT32 v0 v1\nresult 0 v2\n",
                   "program 1\nparameter 0 FLOAT32\nv0 = PARAMETER FLOAT32 slot 0\nresult 0 v0\n",
                   zero, TBK_REDUCTION_COMMUTATIVE);
}

/* Numbers x -> a * x + b, composed: not commutative, and exact on integers. */
static tbk_reduction_t composition(void) {
  static const uint64_t one[4] = {1, 0};
  return reduction(
      "program 1\ninput 0 INT64\nv0 = LOAD INT64 slot 0\nv1 = LINEAR_INDEX INT64\n"
      "v2 = XOR INT64 v0 v1\nresult 0 v0\nresult 1 v2\n",
      "program 1\nparameter 0 INT64\nparameter 1 INT64\nparameter 2 INT64\nparameter 3 INT64\n"
      "v0 = PARAMETER INT64 slot 0\nv1 = PARAMETER INT64 slot 1\nv2 = PARAMETER INT64 slot 2\n"
      "v3 = PARAMETER INT64 slot 3\nv4 = MUL INT64 v0 v2\nv5 = MUL INT64 v1 v2\n"
      "v6 = ADD INT64 v5 v3\nresult 0 v4\nresult 1 v6\n",
      "program 1\nparameter 0 INT64\nparameter 1 INT64\nv0 = PARAMETER INT64 slot 0\n"
      "v1 = PARAMETER INT64 slot 1\nv2 = LINEAR_INDEX INT64\nv3 = ADD INT64 v1 v2\nresult 0 v0\n"
      "result 1 v3\n",
      one, 0);
}

/* The first element, and the last: combine gives what it is given. */
static tbk_reduction_t ends(void) {
  return reduction(
      "program 1\ninput 0 INT64\nv0 = LOAD INT64 slot 0\nv1 = CONSTANT BOOL bits 0x1\n"
      "result 0 v1\nresult 1 v0\nresult 2 v0\n",
      "program 1\nparameter 0 BOOL\nparameter 1 INT64\nparameter 2 INT64\nparameter 3 BOOL\n"
      "parameter 4 INT64\nparameter 5 INT64\nv0 = PARAMETER BOOL slot 0\n"
      "v1 = PARAMETER INT64 slot 1\nv2 = PARAMETER INT64 slot 4\nv3 = PARAMETER BOOL slot 3\n"
      "v4 = PARAMETER INT64 slot 5\nv5 = SELECT INT64 v0 v1 v2\nv6 = OR BOOL v0 v3\n"
      "v7 = PARAMETER INT64 slot 2\nv8 = SELECT INT64 v3 v4 v7\nresult 0 v6\nresult 1 v5\n"
      "result 2 v8\n",
      "program 1\nparameter 0 BOOL\nparameter 1 INT64\nparameter 2 INT64\n"
      "v0 = PARAMETER INT64 slot 1\nv1 = PARAMETER INT64 slot 2\nresult 0 v0\nresult 1 v1\n",
      zero, 0);
}

typedef struct shape {
  int32_t outer_rank, inner_rank;
  int64_t sizes[4], strides[4]; /* of the input: what stays, then what goes */
} shape_t;
static const shape_t shapes[] = {
    {0, 1, {1}, {1}},
    {0, 1, {100000}, {1}},
    {0, 1, {4099}, {-3}},
    {1, 0, {77}, {1}},
    {1, 1, {50, 1000}, {1000, 1}},
    {1, 1, {1000, 50}, {1, 1000}},
    {1, 1, {1000, 3}, {3, 1}},
    {1, 1, {3, 20000}, {1, 3}},
    {2, 1, {9, 7, 333}, {7 * 333, 333, 1}},
    {1, 2, {7, 9, 333}, {333, 7 * 333, 1}},
    {2, 2, {6, 11, 5, 13}, {1, 6 * 5 * 13, 6 * 13, 6}},
    {1, 1, {1500, 1100}, {1, 1500}},
    {1, 1, {40, 30}, {0, 1}},
    {1, 1, {0, 30}, {30, 1}},
    {1, 1, {30, 0}, {1, 1}},
};

static int64_t product(const int64_t* sizes, int32_t count) {
  int64_t all = 1;
  for (int32_t d = 0; d < count; d++)
    all *= sizes[d];
  return all;
}

/* Makes an input and outputs for a shape, reduces, and leaves all of them to the caller. */
static void reduce_shape(session_t* session, const tbk_reduction_t* reduced, const shape_t* shape,
                         int32_t dtype, session_tensor_t* in, session_tensor_t* out, int outputs) {
  session_tensor_t* outs[4] = {NULL};
  for (int k = 0; k < outputs; k++) {
    out[k] = session_tensor(session, dtype, shape->outer_rank, shape->sizes, NULL, 3);
    outs[k] = &out[k];
  }
  CU_ASSERT_EQUAL_FATAL(session_reduce(session, reduced, outs, (session_tensor_t*[]){in, NULL},
                                       NULL, shape->inner_rank, shape->sizes + shape->outer_rank),
                        TBK_OK);
}

static session_tensor_t input_of(session_t* session, const shape_t* shape, int32_t dtype) {
  return session_tensor(session, dtype, shape->outer_rank + shape->inner_rank, shape->sizes,
                        shape->strides, 21);
}

static void check_sum(session_t* session, const tbk_reduction_t* reduced, const shape_t* shape) {
  session_tensor_t in = input_of(session, shape, TBK_FLOAT32), out;
  uint64_t state = 5;
  for (int64_t i = 0; i < session_count(&in); i++)
    *(float*)session_element(&in, i) = (float)(session_draw(&state) % 2000) * 0.001f - 0.3f;
  session_upload(session, &in);
  reduce_shape(session, reduced, shape, TBK_FLOAT32, &in, &out, 1);
  const int64_t outer = product(shape->sizes, shape->outer_rank);
  const int64_t inner = product(shape->sizes + shape->outer_rank, shape->inner_rank);
  /* What README.md states: FOLD_RADIX for each level, and ten halvings of the lanes. */
  const long double additions = 16 * (1 + log2((double)inner + 1) / 4) + 10;
  int64_t wrong = 0;
  for (int64_t o = 0; o < outer; o++) {
    long double sum = 0, sizes = 0;
    for (int64_t i = 0; i < inner; i++) {
      const float value = *(float*)session_element(&in, o * inner + i);
      sum += (long double)value;
      sizes += fabsl((long double)value);
    }
    const long double seen = *(float*)session_element(&out, o);
    wrong += !(fabsl(seen - sum) <= additions * (long double)(FLT_EPSILON / 2) * sizes);
  }
  CU_ASSERT_EQUAL(wrong, 0);
  session_free(session, &in);
  session_free(session, &out);
}

static void sums_are_within_the_bound(void) {
  session_t session = session_open("");
  tbk_reduction_t reduced = sum_of_floats();
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    check_sum(&session, &reduced, &shapes[i]);
  drop(&reduced);
  session_close(&session);
}

/* A sum in one float would stand still at 2 to the power 24. */
static void long_sums_keep_their_digits(void) {
  session_t session = session_open("memory=512M");
  tbk_reduction_t reduced = sum_of_floats();
  const int64_t count = (INT64_C(1) << 25) + 12345;
  const shape_t shape = {0, 1, {count}, {0}};
  session_tensor_t in = input_of(&session, &shape, TBK_FLOAT32), out;
  *(float*)session_element(&in, 0) = 1;
  session_upload(&session, &in);
  reduce_shape(&session, &reduced, &shape, TBK_FLOAT32, &in, &out, 1);
  CU_ASSERT(fabs((double)*(float*)out.host - (double)count) <= 4);
  drop(&reduced);
  session_free(&session, &in);
  session_free(&session, &out);
  session_close(&session);
}

static void check_composition(session_t* session, const tbk_reduction_t* reduced,
                              const shape_t* shape) {
  session_tensor_t in = input_of(session, shape, TBK_INT64), out[2];
  reduce_shape(session, reduced, shape, TBK_INT64, &in, out, 2);
  const int64_t outer = product(shape->sizes, shape->outer_rank);
  const int64_t inner = product(shape->sizes + shape->outer_rank, shape->inner_rank);
  int64_t wrong = 0;
  for (int64_t o = 0; o < outer; o++) {
    uint64_t a = 1, b = 0;
    for (int64_t i = 0; i < inner; i++) {
      const uint64_t value = *(uint64_t*)session_element(&in, o * inner + i);
      a *= value;
      b = b * value + (value ^ (uint64_t)i);
    }
    wrong += *(uint64_t*)session_element(&out[0], o) != a;
    wrong += *(uint64_t*)session_element(&out[1], o) != b + (uint64_t)o;
  }
  CU_ASSERT_EQUAL(wrong, 0);
  session_free(session, &in);
  session_free(session, &out[0]);
  session_free(session, &out[1]);
}

static void what_is_not_commutative_keeps_its_order(void) {
  session_t session = session_open("");
  tbk_reduction_t reduced = composition();
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    check_composition(&session, &reduced, &shapes[i]);
  drop(&reduced);
  session_close(&session);
}

static void first_and_last_are_found(void) {
  session_t session = session_open("");
  tbk_reduction_t reduced = ends();
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const shape_t* shape = &shapes[i];
    session_tensor_t in = input_of(&session, shape, TBK_INT64), out[2];
    reduce_shape(&session, &reduced, shape, TBK_INT64, &in, out, 2);
    const int64_t inner = product(shape->sizes + shape->outer_rank, shape->inner_rank);
    int64_t wrong = 0;
    for (int64_t o = 0; o < session_count(&out[0]); o++) {
      const int64_t first = inner ? *(int64_t*)session_element(&in, o * inner) : 0;
      const int64_t last = inner ? *(int64_t*)session_element(&in, (o + 1) * inner - 1) : 0;
      wrong += *(int64_t*)session_element(&out[0], o) != first;
      wrong += *(int64_t*)session_element(&out[1], o) != last;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    session_free(&session, &in);
    session_free(&session, &out[0]);
    session_free(&session, &out[1]);
  }
  drop(&reduced);
  session_close(&session);
}

/* ------------------------------------------------------------------------- combined by one opcode -- */

static const char* const fold_opcodes[] = {"ADD", "MUL", "MIN", "MAX", "AND", "OR", "XOR"};
static const struct {
  int32_t dtype;
  const char* name;
  int opcodes; /* the first so many of the list, but for BOOL: the last three */
} fold_types[] = {{TBK_INT32, "INT32", 7},
                  {TBK_INT64, "INT64", 7},
                  {TBK_FLOAT32, "FLOAT32", 4},
                  {TBK_FLOAT64, "FLOAT64", 4},
                  {TBK_BOOL, "BOOL", 7}};

static double combined_reals(int opcode, double a, double b) {
  if (opcode == 0) return a + b;
  if (opcode == 1) return a * b;
  if (isnan(a) || isnan(b)) return NAN;
  return opcode == 2 ? fmin(a, b) : fmax(a, b);
}

static int64_t combined_integers(int opcode, int64_t a, int64_t b) {
  switch (opcode) {
    case 0:
      return (int64_t)((uint64_t)a + (uint64_t)b);
    case 1:
      return (int64_t)((uint64_t)a * (uint64_t)b);
    case 2:
      return a < b ? a : b;
    case 3:
      return a > b ? a : b;
    case 4:
      return a & b;
    case 5:
      return a | b;
    default:
      return a ^ b;
  }
}

/* Whole numbers, whose sums are exact, or ones and twos, whose products are; now and then NaN. */
static void draw_numbers(session_t* session, session_tensor_t* in, int opcode, bool with_nan) {
  uint64_t state = (uint64_t)opcode + 3;
  for (int64_t i = 0; i < session_count(in); i++) {
    void* at = session_element(in, i);
    const uint64_t bits = session_draw(&state);
    double real = opcode == 1 ? (bits % 97 ? 1 : -2) : (double)(int64_t)(bits % 2001) - 1000;
    if (with_nan && i == session_count(in) * 2 / 3) real = NAN;
    if (in->tensor.dtype == TBK_FLOAT32) *(float*)at = (float)real;
    if (in->tensor.dtype == TBK_FLOAT64) *(double*)at = real;
    if (in->tensor.dtype == TBK_INT32) *(uint32_t*)at = (uint32_t)bits;
    if (in->tensor.dtype == TBK_INT64) *(uint64_t*)at = bits;
    if (in->tensor.dtype == TBK_BOOL)
      *(uint8_t*)at = bits % 300 < 299 ? (uint8_t)(bits >> 8 | 2) : 0;
  }
  session_upload(session, in);
}

static bool is_folded(const session_tensor_t* in, const session_tensor_t* out, int opcode,
                      int64_t outer) {
  const int64_t inner = session_count(in) / session_count(out);
  const void* made = session_element(out, outer);
  double real = 0;
  int64_t whole = 0;
  for (int64_t i = 0; i < inner; i++) {
    const void* at = session_element(in, outer * inner + i);
    double r = 0;
    int64_t w = 0;
    if (in->tensor.dtype == TBK_FLOAT32) r = (double)*(const float*)at;
    if (in->tensor.dtype == TBK_FLOAT64) r = *(const double*)at;
    if (in->tensor.dtype == TBK_INT32) w = *(const int32_t*)at;
    if (in->tensor.dtype == TBK_INT64) w = *(const int64_t*)at;
    if (in->tensor.dtype == TBK_BOOL) w = *(const uint8_t*)at != 0;
    real = i ? combined_reals(opcode, real, r) : r;
    whole = i ? combined_integers(opcode, whole, w) : w;
  }
  switch (out->tensor.dtype) {
    case TBK_FLOAT32:
      return isnan(real) ? isnan(*(const float*)made) : *(const float*)made == (float)real;
    case TBK_FLOAT64:
      return isnan(real) ? isnan(*(const double*)made) : *(const double*)made == real;
    case TBK_INT32:
      return *(const int32_t*)made == (int32_t)whole;
    case TBK_INT64:
      return *(const int64_t*)made == whole;
    default:
      return *(const uint8_t*)made == (uint8_t)whole;
  }
}

static void check_shape(session_t* session, const tbk_reduction_t* reduced, const shape_t* shape,
                        int32_t dtype, int opcode, bool with_nan) {
  session_tensor_t in = input_of(session, shape, dtype), out;
  draw_numbers(session, &in, opcode, with_nan);
  reduce_shape(session, reduced, shape, dtype, &in, &out, 1);
  int64_t wrong = 0;
  for (int64_t i = 0; i < session_count(&out); i++)
    wrong += !is_folded(&in, &out, opcode, i);
  CU_ASSERT_EQUAL(wrong, 0);
  session_free(session, &in);
  session_free(session, &out);
}

static void check_fold(session_t* session, const tbk_reduction_t* reduced, int32_t dtype,
                       int opcode, bool with_nan) {
  static const int64_t counts[] = {1, 2, 3, 31, 32, 63, 64, 65, 255, 257, 1000, 1024, 5003};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    for (int64_t stride = 1; stride <= 2; stride++) { /* in place, and through a buffer */
      const shape_t shape = {0, 1, {counts[i]}, {stride}};
      check_shape(session, reduced, &shape, dtype, opcode, with_nan);
    }
  /* Columns, as many as lanes go together and not. */
  for (int64_t columns = 64; columns <= 70; columns += 6) {
    const shape_t shape = {1, 1, {columns, 41}, {1, columns}};
    check_shape(session, reduced, &shape, dtype, opcode, with_nan);
  }
}

static void one_opcode_folds_every_dtype(void) {
  session_t session = session_open("");
  for (size_t t = 0; t < sizeof fold_types / sizeof *fold_types; t++)
    for (int op = fold_types[t].dtype == TBK_BOOL ? 4 : 0; op < fold_types[t].opcodes; op++) {
      const char* type = fold_types[t].name;
      char map[128], combine[256], finish[128];
      snprintf(map, sizeof map, "program 1\ninput 0 %s\nv0 = LOAD %s slot 0\nresult 0 v0\n", type,
               type);
      snprintf(combine, sizeof combine,
               "program 1\nparameter 0 %s\nparameter 1 %s\nv0 = PARAMETER %s slot 0\n"
               "v1 = PARAMETER %s slot 1\nv2 = %s %s v0 v1\nresult 0 v2\n",
               type, type, type, type, fold_opcodes[op], type);
      snprintf(finish, sizeof finish,
               "program 1\nparameter 0 %s\nv0 = PARAMETER %s slot 0\nresult 0 v0\n", type, type);
      tbk_reduction_t reduced = reduction(map, combine, finish, zero, TBK_REDUCTION_COMMUTATIVE);
      check_fold(&session, &reduced, fold_types[t].dtype, op, false);
      check_fold(&session, &reduced, fold_types[t].dtype, op, true);
      drop(&reduced);
    }
  session_close(&session);
}

const CU_TestInfo cpu_reduce_tests[] = {
    {"one_opcode_folds_every_dtype", one_opcode_folds_every_dtype},
    {"sums_are_within_the_bound", sums_are_within_the_bound},
    {"long_sums_keep_their_digits", long_sums_keep_their_digits},
    {"what_is_not_commutative_keeps_its_order", what_is_not_commutative_keeps_its_order},
    {"first_and_last_are_found", first_and_last_are_found},
    CU_TEST_INFO_NULL,
};
