/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cast_test.c: each dtype cast to each. What is right is found by searching: of the numbers of the
 * target, the nearest, of two the even one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "session.h"

enum { DRAWN = 70000 };

static const struct {
  int32_t dtype;
  const char* name;
} types[] = {{TBK_UINT8, "UINT8"},      {TBK_INT8, "INT8"},       {TBK_INT16, "INT16"},
             {TBK_INT32, "INT32"},      {TBK_INT64, "INT64"},     {TBK_FLOAT16, "FLOAT16"},
             {TBK_FLOAT32, "FLOAT32"},  {TBK_FLOAT64, "FLOAT64"}, {TBK_BOOL, "BOOL"},
             {TBK_BFLOAT16, "BFLOAT16"}};

static bool is_real(int32_t dtype) {
  return tbk_dtype_kind(dtype) == TBK_KIND_REAL;
}

/* Real numbers that do not fit an integer are open. */
static bool fits(long double value, int32_t to) {
  const int bits = 8 * (int)tbk_dtype_bytes(to);
  const long double whole = truncl(value);
  if (to == TBK_UINT8) return whole >= 0 && whole <= 255;
  return whole >= -ldexpl(1, bits - 1) && whole < ldexpl(1, bits - 1);
}

static bool is_right(const void* from, int32_t source, const void* to, int32_t target) {
  const long double value = number_value(from, source), seen = number_value(to, target);
  if (target == TBK_BOOL) return *(const uint8_t*)to == (value != 0);
  if (is_real(target)) {
    if (isnan(value)) return isnan(seen);
    uint16_t bits;
    memcpy(&bits, to, sizeof bits);
    if (target == TBK_FLOAT32) return seen == (float)value && !signbit(seen) == !signbit(value);
    if (target == TBK_FLOAT64) return seen == (double)value && !signbit(seen) == !signbit(value);
    if (isinf(value)) return seen == value;
    return bits == (number_narrow(value, target));
  }
  if (is_real(source)) return !fits(value, target) || seen == truncl(value);
  const int64_t whole = (int64_t)value;
  int64_t cut = whole;
  if (target == TBK_UINT8) cut = (uint8_t)whole;
  if (target == TBK_INT8) cut = (int8_t)whole;
  if (target == TBK_INT16) cut = (int16_t)whole;
  if (target == TBK_INT32) cut = (int32_t)whole;
  return (int64_t)seen == cut;
}

/* All patterns of two bytes, then others: any bits, and sizes of everyday. */
static void draw(session_t* session, session_tensor_t* tensor) {
  const int32_t dtype = tensor->tensor.dtype;
  uint64_t state = (uint64_t)dtype + 1;
  for (int64_t i = 0; i < DRAWN; i++) {
    uint64_t bits = i < 0x10000 ? (uint64_t)i : session_draw(&state);
    double everyday = (double)(int64_t)session_draw(&state) * 0x1p-56;
    if (tbk_dtype_bytes(dtype) > 2) bits = session_draw(&state) >> (i % 3 ? 0 : i % 50);
    if (dtype == TBK_BOOL) bits = i % 2;
    void* at = session_element(tensor, i);
    memcpy(at, &bits, (size_t)tbk_dtype_bytes(dtype));
    /* Halfway between two of the narrow formats, or beside that. */
    if (dtype == TBK_FLOAT64 && i % 3 == 0) {
      float half = (float)everyday;
      uint32_t word;
      memcpy(&word, &half, sizeof word);
      word = (word & (i % 2 ? 0xffff0000u : 0xffffe000u)) | (i % 2 ? 0x8000u : 0x1000u);
      memcpy(&half, &word, sizeof half);
      everyday = (double)half * (1 + (double)(i / 6 % 3 - 1) * 0x1p-40);
    }
    if (dtype == TBK_FLOAT64 && i % 5) *(double*)at = everyday;
    if (dtype == TBK_FLOAT32 && i % 5) *(float*)at = (float)everyday;
  }
  session_upload(session, tensor);
}

static void check_cast(session_t* session, size_t from, size_t to) {
  const int64_t sizes[] = {DRAWN};
  char text[256];
  snprintf(text, sizeof text,
           "program 1\ninput 0 %s\nv0 = LOAD %s slot 0\nv1 = CAST %s v0\nresult 0 v1\n",
           types[from].name, types[from].name, types[to].name);
  tbk_program_t* program = session_program(text);
  session_tensor_t a = session_tensor(session, types[from].dtype, 1, sizes, NULL, 0);
  session_tensor_t b = session_tensor(session, types[to].dtype, 1, sizes, NULL, 3);
  draw(session, &a);
  CU_ASSERT_EQUAL_FATAL(session_pointwise(session, program, (session_tensor_t*[]){&b, NULL},
                                          (session_tensor_t*[]){&a, NULL}, NULL),
                        TBK_OK);
  int64_t wrong = -1;
  for (int64_t i = 0; i < DRAWN && wrong < 0; i++)
    if (!is_right(session_element(&a, i), types[from].dtype, session_element(&b, i),
                  types[to].dtype))
      wrong = i;
  if (wrong >= 0)
    printf("\n%s to %s: %La gives %La\n", types[from].name, types[to].name,
           number_value(session_element(&a, wrong), types[from].dtype),
           number_value(session_element(&b, wrong), types[to].dtype));
  CU_ASSERT(wrong < 0);
  free(program);
  session_free(session, &a);
  session_free(session, &b);
}

static void casts_round_once(void) {
  session_t session = session_open("");
  for (size_t from = 0; from < sizeof types / sizeof *types; from++)
    for (size_t to = 0; to < sizeof types / sizeof *types; to++)
      check_cast(&session, from, to);
  session_close(&session);
}

const CU_TestInfo cpu_cast_tests[] = {
    {"casts_round_once", casts_round_once},
    CU_TEST_INFO_NULL,
};
