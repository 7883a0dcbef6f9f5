/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * fuse_test.c: a comparison and the SELECT that asks for it, which the backend computes as one, against plain
 * loops; and programs in which they have to stay two.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

enum { COUNT = 1500 };

static const char* const comparisons[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};

static bool is_so(size_t comparison, double a, double b) {
  const bool all[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
  return all[comparison];
}

/* Few different numbers, so that many are equal; with NaN, infinities and both zeros. */
static void fill(session_t* session, session_tensor_t* tensor, uint64_t seed) {
  static const double numbers[] = {0.0, -0.0, 1, -1, 2, INFINITY, -INFINITY, NAN};
  for (int64_t i = 0; i < session_count(tensor); i++) {
    const double value = numbers[session_draw(&seed) % (sizeof numbers / sizeof *numbers)];
    const float narrow = (float)value;
    void* at = session_element(tensor, i);
    if (tensor->tensor.dtype == TBK_FLOAT32)
      memcpy(at, &narrow, sizeof narrow);
    else
      memcpy(at, &value, sizeof value);
  }
  session_upload(session, tensor);
}

static double number_at(const session_tensor_t* tensor, int64_t i) {
  const void* at = session_element(tensor, i);
  return tensor->tensor.dtype == TBK_FLOAT32 ? (double)*(const float*)at : *(const double*)at;
}

/* A program whose `$` are the dtype and whose `?` is the comparison: result 0 is where(a ? b, a, b), or the other of
 * the two, and result 1, where there is one, the truth. */
typedef struct choice {
  const char* text;
  bool other, in_place; /* result 0 is written over a */
} choice_t;

static void check(session_t* session, const choice_t* choice, size_t comparison, int32_t dtype) {
  const char* type = dtype == TBK_FLOAT32 ? "FLOAT32" : "FLOAT64";
  char program_text[1024];
  size_t length = 0;
  for (const char* c = choice->text; *c && length + 16 < sizeof program_text; c++) {
    const char* said = *c == '$' ? type : *c == '?' ? comparisons[comparison] : NULL;
    if (said)
      length += (size_t)snprintf(program_text + length, sizeof program_text - length, "%s", said);
    else
      program_text[length++] = *c;
  }
  program_text[length] = 0;
  tbk_program_t* program = session_program(program_text);
  const int64_t sizes[] = {COUNT};
  session_tensor_t a = session_tensor(session, dtype, 1, sizes, NULL, 0);
  session_tensor_t b = session_tensor(session, dtype, 1, sizes, NULL, 0);
  session_tensor_t c = session_tensor(session, dtype, 1, sizes, NULL, 9);
  session_tensor_t truth = session_tensor(session, TBK_BOOL, 1, sizes, NULL, 9);
  session_tensor_t* made = choice->in_place ? &a : &c;
  fill(session, &a, comparison + 1);
  fill(session, &b, comparison + 100);
  const size_t bytes = dtype == TBK_FLOAT32 ? 4 : 8;
  uint64_t right[COUNT] = {0};
  bool so[COUNT];
  for (int64_t i = 0; i < COUNT; i++) {
    so[i] = is_so(comparison, number_at(&a, i), number_at(&b, i));
    memcpy(&right[i], session_element(so[i] != choice->other ? &a : &b, i), bytes);
  }
  CU_ASSERT_EQUAL_FATAL(
      session_pointwise(
          session, program,
          (session_tensor_t*[]){made, program->result_count > 1 ? &truth : NULL, NULL},
          (session_tensor_t*[]){&a, &b, NULL}, NULL),
      TBK_OK);
  int64_t wrong = 0;
  for (int64_t i = 0; i < COUNT; i++) {
    wrong += memcmp(session_element(made, i), &right[i], bytes) != 0;
    if (program->result_count > 1)
      wrong += *(const uint8_t*)session_element(&truth, i) != (so[i] ? 1 : 0);
  }
  CU_ASSERT_EQUAL(wrong, 0);
  free(program);
  session_tensor_t* all[] = {&a, &b, &c, &truth};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    session_free(session, all[i]);
}

#define BEGIN \
  "program 1\ninput 0 $\ninput 1 $\nv0 = LOAD $ slot 0\nv1 = LOAD $ slot 1\nv2 = ? BOOL v0 v1\n"
/* One SELECT; the truth as a result, too; two SELECTs; operands that are not read again, whose buffers
 * others take before the SELECT. */
static const choice_t programs[] = {
    {BEGIN "v3 = SELECT $ v2 v0 v1\nresult 0 v3\n", false, false},
    {BEGIN "v3 = SELECT $ v2 v0 v1\nresult 0 v3\n", false, true},
    {BEGIN "v3 = SELECT $ v2 v1 v0\nresult 0 v3\n", true, false},
    {BEGIN "v3 = SELECT $ v2 v1 v0\nresult 0 v3\n", true, true},
    {BEGIN "v3 = SELECT $ v2 v0 v1\nresult 0 v3\nresult 1 v2\n", false, false},
    {BEGIN "v3 = SELECT $ v2 v1 v0\nv4 = SELECT $ v2 v0 v3\nv5 = SELECT $ v2 v4 v1\nresult 0 v5\n",
     false, false},
    {"program 1\ninput 0 $\ninput 1 $\nv0 = LOAD $ slot 0\nv1 = LOAD $ slot 1\nv2 = ABS $ v0\n"
     "v3 = COPYSIGN $ v2 v0\nv4 = ABS $ v1\nv5 = COPYSIGN $ v4 v1\nv6 = ? BOOL v3 v5\n"
     "v7 = LOAD $ slot 0\nv8 = LOAD $ slot 1\nv9 = SELECT $ v6 v7 v8\nresult 0 v9\n",
     false, false},
};

static void comparisons_choose(void) {
  session_t session = session_open("");
  for (size_t p = 0; p < sizeof programs / sizeof *programs; p++)
    for (size_t k = 0; k < sizeof comparisons / sizeof *comparisons; k++) {
      check(&session, &programs[p], k, TBK_FLOAT32);
      check(&session, &programs[p], k, TBK_FLOAT64);
    }
  session_close(&session);
}

/* Checks that a comparison of what is narrower than what is chosen stays a step of its own. */
static void widths_may_differ(void) {
  session_t session = session_open("");
  tbk_program_t* program = session_program(
      "program 1\ninput 0 FLOAT32\ninput 1 INT64\nv0 = LOAD FLOAT32 slot 0\nv1 = LOAD INT64 slot "
      "1\n"
      "v2 = CONSTANT FLOAT32 bits 0x0\nv3 = GT BOOL v0 v2\nv4 = CONSTANT INT64 bits 0x7\n"
      "v5 = SELECT INT64 v3 v1 v4\nresult 0 v5\n");
  const int64_t sizes[] = {COUNT};
  session_tensor_t a = session_tensor(&session, TBK_FLOAT32, 1, sizes, NULL, 0);
  session_tensor_t b = session_tensor(&session, TBK_INT64, 1, sizes, NULL, 2);
  session_tensor_t c = session_tensor(&session, TBK_INT64, 1, sizes, NULL, 9);
  fill(&session, &a, 5);
  CU_ASSERT_EQUAL(session_pointwise(&session, program, (session_tensor_t*[]){&c, NULL},
                                    (session_tensor_t*[]){&a, &b, NULL}, NULL),
                  TBK_OK);
  int64_t wrong = 0;
  for (int64_t i = 0; i < COUNT; i++) {
    const int64_t right = number_at(&a, i) > 0 ? *(const int64_t*)session_element(&b, i) : 7;
    wrong += *(const int64_t*)session_element(&c, i) != right;
  }
  CU_ASSERT_EQUAL(wrong, 0);
  free(program);
  session_free(&session, &a);
  session_free(&session, &b);
  session_free(&session, &c);
  session_close(&session);
}

const CU_TestInfo cpu_fuse_tests[] = {
    {"comparisons_choose", comparisons_choose},
    {"widths_may_differ", widths_may_differ},
    CU_TEST_INFO_NULL,
};
