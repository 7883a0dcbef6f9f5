/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * scan_test.c: running sums, products and extremes of a single opcode, against a plain loop: exact numbers, in both
 * directions, of one segment and of some, with NaN from some element on.
 */
#include <math.h>
#include <stdlib.h>
#include <tbk/tbk_scan.h>

#include "session.h"

enum { ADD, MUL, MIN, MAX, OPCODES };
static const char* const names[OPCODES] = {"ADD", "MUL", "MIN", "MAX"};

typedef struct type {
  int32_t dtype;
  const char* name;
} type_t;
static const type_t types[] = {
    {TBK_INT32, "INT32"}, {TBK_INT64, "INT64"}, {TBK_FLOAT32, "FLOAT32"}, {TBK_FLOAT64, "FLOAT64"}};

static bool is_real(int32_t dtype) {
  return dtype == TBK_FLOAT32 || dtype == TBK_FLOAT64;
}

static tbk_reduction_t reduction_of(int opcode, const char* type) {
  static const uint64_t identity[1] = {0};
  char map[96], combine[224], finish[96];
  snprintf(map, sizeof map, "program 1\ninput 0 %s\nv0 = LOAD %s slot 0\nresult 0 v0\n", type,
           type);
  snprintf(combine, sizeof combine,
           "program 1\nparameter 0 %s\nparameter 1 %s\nv0 = PARAMETER %s slot 0\nv1 = PARAMETER %s "
           "slot 1\n"
           "v2 = %s %s v0 v1\nresult 0 v2\n",
           type, type, type, type, names[opcode], type);
  snprintf(finish, sizeof finish,
           "program 1\nparameter 0 %s\nv0 = PARAMETER %s slot 0\nresult 0 v0\n", type, type);
  return (tbk_reduction_t){.struct_size = sizeof(tbk_reduction_t),
                           .map = session_program(map),
                           .combine = session_program(combine),
                           .finish = session_program(finish),
                           .identity = identity,
                           .flags = TBK_REDUCTION_COMMUTATIVE};
}

static double combined(int opcode, double a, double b) {
  if (isnan(a) || isnan(b)) return NAN;
  switch (opcode) {
    case ADD:
      return a + b;
    case MUL:
      return a * b;
    case MIN:
      return b < a ? b : a;
    default:
      return b > a ? b : a;
  }
}

static double number_at(const session_tensor_t* tensor, int64_t i) {
  const void* at = session_element(tensor, i);
  if (tensor->tensor.dtype == TBK_FLOAT32) return (double)*(const float*)at;
  if (tensor->tensor.dtype == TBK_FLOAT64) return *(const double*)at;
  return tensor->tensor.dtype == TBK_INT32 ? *(const int32_t*)at : (double)*(const int64_t*)at;
}

/* Whole numbers whose sums are exact in a float, or ones and signs. */
static void draw(session_t* session, session_tensor_t* in, int opcode) {
  uint64_t state = 4;
  for (int64_t i = 0; i < session_count(in); i++) {
    const uint64_t bits = session_draw(&state);
    double number = opcode == MUL ? (bits % 2 ? 1 : -1) : (double)(int64_t)(bits % 2001) - 1000;
    if (is_real(in->tensor.dtype) && bits % 1501 == 0) number = NAN;
    void* at = session_element(in, i);
    if (in->tensor.dtype == TBK_FLOAT32) *(float*)at = (float)number;
    if (in->tensor.dtype == TBK_FLOAT64) *(double*)at = number;
    if (in->tensor.dtype == TBK_INT32) *(int32_t*)at = (int32_t)number;
    if (in->tensor.dtype == TBK_INT64) *(int64_t*)at = (int64_t)number;
  }
  session_upload(session, in);
}

static void launch(session_t* session, const tbk_reduction_t* reduced, session_tensor_t* in,
                   session_tensor_t* out, uint64_t flags) {
  const tbk_tensor_t *inputs[1] = {session_point(in)}, *outputs[1] = {session_point(out)};
  const tbk_operand_set_t set = {.struct_size = sizeof set, .outputs = outputs, .inputs = inputs};
  const tbk_operand_set_t* const sets[1] = {&set};
  const tbk_args_scan_t arguments = {.struct_size = sizeof arguments,
                                     .reduction = reduced,
                                     .sets = sets,
                                     .set_count = 1,
                                     .flags = flags,
                                     .index_bits = 64};
  CU_ASSERT_EQUAL_FATAL(session_named(session, TBK_NAME_scan, &arguments, out), TBK_OK);
}

static void check(session_t* session, const type_t* type, int opcode, int64_t count,
                  uint64_t flags) {
  enum { ROWS = 2 };
  const int64_t sizes[2] = {ROWS, count};
  tbk_reduction_t reduced = reduction_of(opcode, type->name);
  session_tensor_t in = session_tensor(session, type->dtype, 2, sizes, NULL, 9);
  session_tensor_t out = session_tensor(session, type->dtype, 2, sizes, NULL, 3);
  draw(session, &in, opcode);
  launch(session, &reduced, &in, &out, flags);
  int64_t wrong = 0;
  for (int64_t row = 0; row < ROWS; row++) {
    double right = 0;
    for (int64_t i = 0; i < count; i++) {
      const int64_t at = row * count + (flags & TBK_SCAN_REVERSE ? count - 1 - i : i);
      right = i ? combined(opcode, right, number_at(&in, at)) : number_at(&in, at);
      const double seen = number_at(&out, at);
      wrong += !(seen == right || (isnan(seen) && isnan(right)));
    }
  }
  CU_ASSERT_EQUAL(wrong, 0);
  session_free(session, &in);
  session_free(session, &out);
  free((void*)(uintptr_t)reduced.map);
  free((void*)(uintptr_t)reduced.combine);
  free((void*)(uintptr_t)reduced.finish);
}

static void one_opcode_runs_through_every_dtype(void) {
  static const int64_t counts[] = {1, 2, 7, 8, 9, 16, 17, 100, 1023, 1024, 1025, 1031, 5003};
  session_t session = session_open("");
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (int opcode = 0; opcode < OPCODES; opcode++)
      for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (uint64_t flags = 0; flags <= TBK_SCAN_REVERSE; flags++)
          check(&session, &types[t], opcode, counts[i], flags);
  session_close(&session);
}

const CU_TestInfo cpu_scan_tests[] = {
    {"one_opcode_runs_through_every_dtype", one_opcode_runs_through_every_dtype},
    CU_TEST_INFO_NULL,
};
