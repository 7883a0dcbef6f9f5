/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * reduce_state_test.c: reductions whose states have quick ways of their own, against plain loops: where the greatest or
 * the least element lies, states that are the same in every lane, and sums of squares.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

/* Sizes around those of vectors and tiles. */
static const int64_t counts[] = {1, 2, 15, 16, 17, 33, 255, 1000, 1023, 1024, 1025, 5003, 40013};
enum { COUNTS = sizeof counts / sizeof *counts };

static tbk_reduction_t reduction(const char* map, tbk_program_t* combine, const char* finish,
                                 const uint64_t* identity) {
  return (tbk_reduction_t){.struct_size = sizeof(tbk_reduction_t),
                           .map = session_program(map),
                           .combine = combine,
                           .finish = session_program(finish),
                           .identity = identity,
                           .flags = TBK_REDUCTION_COMMUTATIVE};
}

static void drop(tbk_reduction_t* reduced) {
  free((void*)(uintptr_t)reduced->map);
  free((void*)(uintptr_t)reduced->combine);
  free((void*)(uintptr_t)reduced->finish);
}

/* ---------------------------------------------------------------------------- greatest and least -- */

/* What combine prefers. By the last of equals no quick way goes. */
typedef struct choice {
  int32_t dtype;
  const char* type;
  bool least, last;
} choice_t;

static bool is_real(const choice_t* choice) {
  return choice->dtype == TBK_FLOAT32 || choice->dtype == TBK_FLOAT64;
}

static tbk_program_t* combine_of(const choice_t* choice) {
  char text[1600];
  const char* t = choice->type;
  int at =
      snprintf(text, sizeof text,
               "program 1\nparameter 0 %s\nparameter 1 INT64\nparameter 2 %s\nparameter 3 INT64\n"
               "v0 = PARAMETER %s slot 0\nv1 = PARAMETER INT64 slot 1\n"
               "v2 = PARAMETER %s slot 2\nv3 = PARAMETER INT64 slot 3\n"
               "v4 = %s BOOL v2 v0\nv5 = EQ BOOL v0 v2\nv6 = %s BOOL v3 v1\n"
               "v7 = AND BOOL v5 v6\nv8 = OR BOOL v4 v7\n",
               t, t, t, t, choice->least ? "LT" : "GT", choice->last ? "GT" : "LT");
  if (is_real(choice))
    at += snprintf(text + at, sizeof text - (size_t)at,
                   "v9 = ISNAN BOOL v0\nv10 = ISNAN BOOL v2\nv11 = NOT BOOL v9\n"
                   "v12 = AND BOOL v10 v11\nv13 = OR BOOL v8 v12\nv14 = AND BOOL v9 v10\n"
                   "v15 = AND BOOL v14 v6\nv16 = OR BOOL v13 v15\n"
                   "v17 = SELECT %s v16 v2 v0\nv18 = SELECT INT64 v16 v3 v1\n"
                   "result 0 v17\nresult 1 v18\n",
                   t);
  else
    at += snprintf(text + at, sizeof text - (size_t)at,
                   "v9 = SELECT %s v8 v2 v0\nv10 = SELECT INT64 v8 v3 v1\n"
                   "result 0 v9\nresult 1 v10\n",
                   t);
  CU_ASSERT_FATAL((size_t)at < sizeof text);
  return session_program(text);
}

static const uint64_t nothing[2] = {0, UINT64_MAX};

static tbk_reduction_t reduction_of(const choice_t* choice) {
  char map[160], finish[160];
  const char* t = choice->type;
  snprintf(map, sizeof map,
           "program 1\ninput 0 %s\nv0 = LOAD %s slot 0\nv1 = LINEAR_INDEX INT64\nresult 0 "
           "v0\nresult 1 v1\n",
           t, t);
  snprintf(finish, sizeof finish,
           "program 1\nparameter 0 %s\nparameter 1 INT64\nv0 = PARAMETER %s slot 0\n"
           "v1 = PARAMETER INT64 slot 1\nresult 0 v0\nresult 1 v1\n",
           t, t);
  return reduction(map, combine_of(choice), finish, nothing);
}

static double number_at(const session_tensor_t* tensor, int64_t i) {
  const void* at = session_element(tensor, i);
  switch (tensor->tensor.dtype) {
    case TBK_FLOAT32:
      return (double)*(const float*)at;
    case TBK_FLOAT64:
      return *(const double*)at;
    case TBK_INT32:
      return *(const int32_t*)at;
    default:
      return (double)*(const int64_t*)at;
  }
}

static void put_number(session_tensor_t* tensor, int64_t i, double number) {
  void* at = session_element(tensor, i);
  if (tensor->tensor.dtype == TBK_FLOAT32) *(float*)at = (float)number;
  if (tensor->tensor.dtype == TBK_FLOAT64) *(double*)at = number;
  if (tensor->tensor.dtype == TBK_INT32) *(int32_t*)at = (int32_t)number;
  if (tensor->tensor.dtype == TBK_INT64) *(int64_t*)at = (int64_t)number;
}

/* Whether `b`, which comes later, is preferred. */
static bool is_better(const choice_t* choice, double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(b) && (choice->last || !isnan(a));
  if (a == b) return choice->last;
  return choice->least ? b < a : b > a;
}

/* What the elements of a row are drawn from. */
typedef enum fill { FILL_MANY, FILL_FEW, FILL_ZEROS, FILL_NAN } fill_t;

static void draw(session_t* session, session_tensor_t* in, fill_t fill) {
  uint64_t state = 11;
  for (int64_t i = 0; i < session_count(in); i++) {
    const uint64_t bits = session_draw(&state);
    double number = (double)(int64_t)(bits % 2000001) - 1000000;
    if (fill == FILL_FEW) number = (double)(bits % 3) - 4;
    if (fill == FILL_ZEROS) number = bits % 2 ? 0.0 : -0.0;
    if (fill == FILL_NAN && bits % 700 == 1) number = NAN;
    put_number(in, i, number);
  }
  session_upload(session, in);
}

static void check(session_t* session, const choice_t* choice, int64_t rows, int64_t count,
                  int64_t stride, fill_t fill) {
  tbk_reduction_t reduced = reduction_of(choice);
  const int64_t sizes[2] = {rows, count}, strides[2] = {count * stride + 3, stride};
  session_tensor_t in = session_tensor(session, choice->dtype, 2, sizes, strides, 9);
  session_tensor_t value = session_tensor(session, choice->dtype, 1, sizes, NULL, 3);
  session_tensor_t index = session_tensor(session, TBK_INT64, 1, sizes, NULL, 3);
  draw(session, &in, fill);
  CU_ASSERT_EQUAL_FATAL(
      session_reduce(session, &reduced, (session_tensor_t*[]){&value, &index, NULL},
                     (session_tensor_t*[]){&in, NULL}, NULL, 1, &count),
      TBK_OK);
  int64_t wrong = 0;
  for (int64_t row = 0; row < rows; row++) {
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++)
      if (is_better(choice, number_at(&in, row * count + best), number_at(&in, row * count + i)))
        best = i;
    const void* right = session_element(&in, row * count + best);
    wrong += *(int64_t*)session_element(&index, row) != best;
    wrong +=
        memcmp(session_element(&value, row), right, (size_t)tbk_dtype_bytes(choice->dtype)) != 0;
  }
  CU_ASSERT_EQUAL(wrong, 0);
  session_free(session, &in);
  session_free(session, &value);
  session_free(session, &index);
  drop(&reduced);
}

static const choice_t choices[] = {
    {TBK_FLOAT32, "FLOAT32", false, false}, {TBK_FLOAT32, "FLOAT32", true, false},
    {TBK_FLOAT64, "FLOAT64", false, false}, {TBK_FLOAT64, "FLOAT64", true, false},
    {TBK_INT32, "INT32", false, false},     {TBK_INT32, "INT32", true, false},
    {TBK_INT64, "INT64", false, false},     {TBK_INT64, "INT64", true, false},
    {TBK_FLOAT32, "FLOAT32", false, true},  {TBK_INT64, "INT64", true, true},
};

static void the_first_of_equals_is_found(void) {
  session_t session = session_open("");
  for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
    for (size_t k = 0; k < COUNTS; k++)
      for (fill_t fill = FILL_MANY; fill <= (is_real(&choices[i]) ? FILL_NAN : FILL_FEW); fill++) {
        check(&session, &choices[i], 1, counts[k], 1, fill);
        check(&session, &choices[i], 3, counts[k], 1, fill);
        check(&session, &choices[i], 2, counts[k], 2, fill);
      }
  session_close(&session);
}

/* -------------------------------------------------------------------------- the same in every lane -- */

/* Sum, count, and the sum of x + y over all pairs of elements: combine multiplies one side's sum by the other's count,
 * and chooses by a count that is the same in every lane but in the last tile. It asks for the counts themselves, or for
 * what a step makes of them. The fourth state begins as the element, and becomes the count, too, or stays the sum. */
static tbk_reduction_t pairs(bool asks_for_state) {
  static const uint64_t none[4] = {0};
  char combine[1280];
  const int a = asks_for_state ? 1 : 18, b = asks_for_state ? 4 : 19;
  snprintf(combine, sizeof combine,
           "program 1\nparameter 0 INT64\nparameter 1 INT64\nparameter 2 INT64\nparameter 3 INT64\n"
           "parameter 4 INT64\nparameter 5 INT64\nparameter 6 INT64\nparameter 7 INT64\n"
           "v0 = PARAMETER INT64 slot 0\nv1 = PARAMETER INT64 slot 1\nv2 = PARAMETER INT64 slot 2\n"
           "v3 = PARAMETER INT64 slot 4\nv4 = PARAMETER INT64 slot 5\nv5 = PARAMETER INT64 slot 6\n"
           "v6 = ADD INT64 v0 v3\nv7 = ADD INT64 v1 v4\nv8 = CONSTANT INT64 bits 0x0\n"
           "v9 = EQ BOOL v1 v8\nv10 = EQ BOOL v4 v8\nv11 = CONSTANT INT64 bits 0x2\n"
           "v12 = MUL INT64 v1 v11\nv13 = MUL INT64 v4 v11\nv14 = SUB INT64 v12 v1\n"
           "v15 = SUB INT64 v13 v4\nv16 = ADD INT64 v2 v5\nv17 = ADD INT64 v14 v8\n"
           "v18 = ADD INT64 v17 v8\nv19 = ADD INT64 v15 v8\nv20 = MUL INT64 v0 v%d\n"
           "v21 = MUL INT64 v3 v%d\nv22 = ADD INT64 v20 v21\nv23 = ADD INT64 v22 v16\n"
           "v24 = SELECT INT64 v9 v5 v23\nv25 = SELECT INT64 v10 v2 v24\n"
           "v26 = SELECT INT64 v10 v0 v6\nresult 0 v26\nresult 1 v7\nresult 2 v25\nresult 3 v%d\n",
           b, a, asks_for_state ? 26 : 7);
  return reduction(
      "program 1\ninput 0 INT64\nv0 = LOAD INT64 slot 0\nv1 = CONSTANT INT64 bits 0x1\n"
      "v2 = CONSTANT INT64 bits 0x0\nresult 0 v0\nresult 1 v1\nresult 2 v2\nresult 3 v0\n",
      session_program(combine),
      "program 1\nparameter 0 INT64\nparameter 1 INT64\nparameter 2 INT64\nparameter 3 INT64\n"
      "v0 = PARAMETER INT64 slot 0\nv1 = PARAMETER INT64 slot 1\nv2 = PARAMETER INT64 slot 2\n"
      "v3 = PARAMETER INT64 slot 3\nresult 0 v0\nresult 1 v1\nresult 2 v2\nresult 3 v3\n",
      none);
}

static void check_pairs(session_t* session, int64_t rows, int64_t count, const int64_t* strides,
                        bool asks_for_state) {
  enum { STATES = 4 };
  tbk_reduction_t reduced = pairs(asks_for_state);
  const int64_t sizes[2] = {rows, count};
  session_tensor_t in = session_tensor(session, TBK_INT64, 2, sizes, strides, 9), out[STATES];
  for (int i = 0; i < STATES; i++)
    out[i] = session_tensor(session, TBK_INT64, 1, sizes, NULL, 3);
  CU_ASSERT_EQUAL_FATAL(
      session_reduce(session, &reduced,
                     (session_tensor_t*[]){&out[0], &out[1], &out[2], &out[3], NULL},
                     (session_tensor_t*[]){&in, NULL}, NULL, 1, &count),
      TBK_OK);
  int64_t wrong = 0;
  for (int64_t row = 0; row < rows; row++) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; i++)
      sum += *(uint64_t*)session_element(&in, row * count + i);
    wrong += *(uint64_t*)session_element(&out[0], row) != sum;
    wrong += *(int64_t*)session_element(&out[1], row) != count;
    wrong += *(uint64_t*)session_element(&out[2], row) != sum * (uint64_t)(count - 1);
    const uint64_t fourth = asks_for_state || count == 1 ? sum : (uint64_t)count;
    wrong += *(uint64_t*)session_element(&out[3], row) != fourth;
  }
  CU_ASSERT_EQUAL(wrong, 0);
  session_free(session, &in);
  for (int i = 0; i < STATES; i++)
    session_free(session, &out[i]);
  drop(&reduced);
}

static void what_is_the_same_in_every_lane_is_kept(void) {
  static const int64_t rows[] = {1, 3, 33, 70};
  session_t session = session_open("");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (size_t k = 0; k < COUNTS; k++)
      for (int asks = 0; asks < 2; asks++) {
        check_pairs(&session, rows[i], counts[k], (int64_t[]){counts[k], 1}, asks);
        check_pairs(&session, rows[i], counts[k], (int64_t[]){1, rows[i]}, asks); /* across */
      }
  session_close(&session);
}

/* -------------------------------------------------------------------------------------- squares -- */

/* Whole numbers, whose squares and their sums are exact; the sum is -1 where one is NaN. */
static double draw_squares(session_t* session, session_tensor_t* in, bool with_nan) {
  uint64_t state = 8;
  double sum = 0;
  for (int64_t i = 0; i < session_count(in); i++) {
    const double number = (double)(int64_t)(session_draw(&state) % 61) - 30;
    const bool is_nan = with_nan && i == session_count(in) * 2 / 3;
    void* at = session_element(in, i);
    if (in->tensor.dtype == TBK_FLOAT32) *(float*)at = is_nan ? NAN : (float)number;
    if (in->tensor.dtype == TBK_FLOAT64) *(double*)at = is_nan ? (double)NAN : number;
    if (in->tensor.dtype == TBK_INT64) *(int64_t*)at = (int64_t)number;
    sum += number * number;
  }
  session_upload(session, in);
  return with_nan ? -1 : sum;
}

static void check_squares(session_t* session, const tbk_reduction_t* reduced, int32_t dtype,
                          bool with_nan) {
  for (size_t i = 0; i < COUNTS; i++)
    for (int64_t stride = 1; stride <= 2; stride++) {
      session_tensor_t in = session_tensor(session, dtype, 1, &counts[i], &stride, 9);
      session_tensor_t out = session_tensor(session, dtype, 0, NULL, NULL, 3);
      const double sum = draw_squares(session, &in, with_nan);
      CU_ASSERT_EQUAL_FATAL(session_reduce(session, reduced, (session_tensor_t*[]){&out, NULL},
                                           (session_tensor_t*[]){&in, NULL}, NULL, 1, &counts[i]),
                            TBK_OK);
      double seen = (double)*(int64_t*)out.host;
      if (dtype == TBK_FLOAT32) seen = (double)*(float*)out.host;
      if (dtype == TBK_FLOAT64) seen = *(double*)out.host;
      CU_ASSERT(with_nan ? isnan(seen) : seen == sum);
      session_free(session, &in);
      session_free(session, &out);
    }
}

static void squares_are_summed(void) {
  static const uint64_t none[1] = {0};
  static const struct {
    int32_t dtype;
    const char* name;
  } types[] = {{TBK_FLOAT32, "FLOAT32"}, {TBK_FLOAT64, "FLOAT64"}, {TBK_INT64, "INT64"}};
  session_t session = session_open("");
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    const char* type = types[t].name;
    char map[160], combine[256], finish[128];
    snprintf(map, sizeof map,
             "program 1\ninput 0 %s\nv0 = LOAD %s slot 0\nv1 = MUL %s v0 v0\nresult 0 v1\n", type,
             type, type);
    snprintf(combine, sizeof combine,
             "program 1\nparameter 0 %s\nparameter 1 %s\nv0 = PARAMETER %s slot 0\n"
             "v1 = PARAMETER %s slot 1\nv2 = ADD %s v0 v1\nresult 0 v2\n",
             type, type, type, type, type);
    snprintf(finish, sizeof finish,
             "program 1\nparameter 0 %s\nv0 = PARAMETER %s slot 0\nresult 0 v0\n", type, type);
    tbk_reduction_t reduced = reduction(map, session_program(combine), finish, none);
    check_squares(&session, &reduced, types[t].dtype, false);
    if (types[t].dtype != TBK_INT64) check_squares(&session, &reduced, types[t].dtype, true);
    drop(&reduced);
  }
  session_close(&session);
}

const CU_TestInfo cpu_reduce_state_tests[] = {
    {"the_first_of_equals_is_found", the_first_of_equals_is_found},
    {"what_is_the_same_in_every_lane_is_kept", what_is_the_same_in_every_lane_is_kept},
    {"squares_are_summed", squares_are_summed},
    CU_TEST_INFO_NULL,
};
