/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * table_test.c: programs that compute indices of coordinates, against plain loops: windows that reach
 * beyond both ends, even and uneven steps, short and long rows, along and across.
 */
#include <stdlib.h>

#include "session.h"

typedef struct window {
  int64_t outer[3], inner;
} window_t;
static const window_t windows[] = {
    {{3, 50, 1}, 3}, {{40, 6, 1}, 3},    {{5, 4, 33}, 2},  {{1, 1, 700}, 4}, {{2, 3, 1}, 500},
    {{1, 1, 1}, 1},  {{1, 1000, 1}, 1},  {{7, 1, 2}, 40},  {{64, 64, 2}, 1}, {{2, 600, 3}, 5},
    {{0, 5, 4}, 2},  {{30, 1, 1}, 1100}, {{600, 2, 1}, 2},
};
typedef enum bounds { ZERO, CLAMP, BOUNDS } bounds_t;
static const char* const words[BOUNDS] = {"zero", "clamp"};

/* Element [a, 3 b + u k * k - 4, c] of an input, u 1 where steps are uneven. */
static char* window_map(const char* dtype, const char* bounds) {
  char* text = malloc(1000);
  snprintf(text, 1000,
           "program 1\ninput 0 %s indexed 3\nnumber 0 INT64\nv0 = COORDINATE INT64 slot 0\n"
           "v1 = COORDINATE INT64 slot 1\nv2 = COORDINATE INT64 slot 2\n"
           "v3 = COORDINATE INT64 slot 3\nv4 = CONSTANT INT64 bits 0x3\nv5 = MUL INT64 v1 v4\n"
           "v6 = NUMBER INT64 slot 0\nv7 = MUL INT64 v3 v3\nv8 = MUL INT64 v7 v6\n"
           "v9 = ADD INT64 v5 v8\nv10 = CONSTANT INT64 bits 0x4\nv11 = SUB INT64 v9 v10\n"
           "v12 = LOAD %s slot 0 %s v0 v11 v2\nv13 = CAST INT64 v12\nv14 = MUL INT64 v11 v13\n"
           "result 0 v14\n",
           dtype, dtype, bounds);
  return text;
}

static int64_t at_window(const session_tensor_t* in, bounds_t bounds, int64_t a, int64_t index,
                         int64_t c) {
  const int64_t size = in->sizes[1], last = size - 1;
  if (bounds == ZERO && (index < 0 || index > last)) return 0;
  const int64_t near = index < 0 ? 0 : index > last ? last : index;
  const void* element = session_element(in, (a * size + near) * in->sizes[2] + c);
  if (in->tensor.dtype == TBK_BOOL) return *(const uint8_t*)element != 0;
  return in->tensor.dtype == TBK_INT16 ? *(const int16_t*)element : *(const int64_t*)element;
}

/* A sum over the window, and the square of the second coordinate; it wraps around. */
static uint64_t right_sum(const session_tensor_t* in, bounds_t bounds, const window_t* window,
                          int64_t uneven, int64_t number) {
  const int64_t c = number % window->outer[2], b = number / window->outer[2] % window->outer[1];
  const int64_t a = number / window->outer[2] / window->outer[1];
  uint64_t sum = (uint64_t)(b * b);
  for (int64_t k = 0; k < window->inner; k++) {
    const int64_t index = 3 * b + uneven * k * k - 4;
    sum += (uint64_t)index * (uint64_t)at_window(in, bounds, a, index, c);
  }
  return sum;
}

static void check_window(session_t* session, const tbk_reduction_t* sum, const window_t* window,
                         int32_t dtype, bounds_t bounds, uint64_t uneven) {
  const int64_t sizes[] = {window->outer[0], 2 * window->outer[1] + 3, window->outer[2]};
  const int64_t strides[] = {1, sizes[0] * sizes[2] + 1, -sizes[0]};
  session_tensor_t in = session_tensor(session, dtype, 3, sizes, strides, 17);
  session_tensor_t out = session_tensor(session, TBK_INT64, 3, window->outer, NULL, 2);
  CU_ASSERT_EQUAL(session_reduce(session, sum, (session_tensor_t*[]){&out, NULL},
                                 (session_tensor_t*[]){&in, NULL}, &uneven, 1, &window->inner),
                  TBK_OK);
  int64_t wrong = 0;
  for (int64_t i = 0; i < session_count(&out); i++)
    wrong +=
        *(uint64_t*)session_element(&out, i) != right_sum(&in, bounds, window, (int64_t)uneven, i);
  CU_ASSERT_EQUAL(wrong, 0);
  session_free(session, &in);
  session_free(session, &out);
}

static void windows_keep_to_their_bounds(void) {
  static const uint64_t zero = 0;
  static const struct {
    int32_t dtype;
    const char* name;
  } dtypes[] = {{TBK_INT64, "INT64"}, {TBK_INT16, "INT16"}, {TBK_BOOL, "BOOL"}};
  session_t session = session_open("");
  tbk_reduction_t sum = {.struct_size = sizeof sum, .identity = &zero};
  sum.flags = TBK_REDUCTION_COMMUTATIVE;
  sum.combine = session_program(
      "program 1\nnumber 0 INT64\nparameter 0 INT64\nparameter 1 INT64\n"
      "v0 = PARAMETER INT64 slot 0\nv1 = PARAMETER INT64 slot 1\nv2 = ADD INT64 v0 v1\n"
      "result 0 v2\n");
  sum.finish = session_program(
      "program 1\nnumber 0 INT64\nparameter 0 INT64\nv0 = PARAMETER INT64 slot 0\n"
      "v1 = COORDINATE INT64 slot 1\nv2 = MUL INT64 v1 v1\nv3 = ADD INT64 v0 v2\nresult 0 v3\n");
  for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
    for (int bounds = 0; bounds < BOUNDS; bounds++) {
      char* text = window_map(dtypes[t].name, words[bounds]);
      sum.map = session_program(text);
      for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
        for (uint64_t uneven = 0; uneven < 2; uneven++)
          check_window(&session, &sum, &windows[i], dtypes[t].dtype, (bounds_t)bounds, uneven);
      free((void*)(uintptr_t)sum.map);
      free(text);
    }
  free((void*)(uintptr_t)sum.combine);
  free((void*)(uintptr_t)sum.finish);
  session_close(&session);
}

/* Values of each set of coordinates, loads at a constant, and at two indices that move together. */
static void values_of_coordinates_reach_their_lanes(void) {
  session_t session = session_open("");
  tbk_program_t* program = session_program(
      "program 1\ninput 0 INT64 indexed 2\ninput 1 INT64\nv0 = COORDINATE INT64 slot 0\n"
      "v1 = COORDINATE INT64 slot 1\nv2 = COORDINATE INT64 slot 2\nv3 = LOAD INT64 slot 1\n"
      "v4 = CONSTANT INT64 bits 0x7\nv5 = REM_TRUNC INT64 v2 v4\nv6 = REM_TRUNC INT64 v1 v4\n"
      "v7 = LOAD INT64 slot 0 trusted v5 v5\nv8 = CONSTANT INT64 bits 0x2\n"
      "v9 = LOAD INT64 slot 0 zero v8 v6\nv10 = MUL INT64 v0 v1\nv11 = MUL INT64 v1 v2\n"
      "v12 = ADD INT64 v3 v7\nv13 = ADD INT64 v12 v9\nv14 = XOR INT64 v10 v13\n"
      "v15 = XOR INT64 v11 v14\nv16 = XOR INT64 v0 v15\nresult 0 v16\nresult 1 v10\n");
  static const int64_t shapes[][3] = {{9, 40, 33}, {50, 1, 60}, {70, 30, 1}, {1, 1, 90}, {2, 9, 5}};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    const int64_t *size = shapes[s], square[] = {7, 7};
    session_tensor_t from = session_tensor(&session, TBK_INT64, 2, square, NULL, 5);
    session_tensor_t in = session_tensor(&session, TBK_INT64, 3, size, NULL, 6);
    session_tensor_t out = session_tensor(&session, TBK_INT64, 3, size, NULL, 7);
    session_tensor_t other = session_tensor(&session, TBK_INT64, 3, size, NULL, 7);
    CU_ASSERT_EQUAL(session_pointwise(&session, program, (session_tensor_t*[]){&out, &other, NULL},
                                      (session_tensor_t*[]){&from, &in, NULL}, NULL),
                    TBK_OK);
    int64_t wrong = 0;
    for (int64_t i = 0; i < session_count(&out); i++) {
      const int64_t c = i % size[2], b = i / size[2] % size[1], a = i / size[2] / size[1];
      const uint64_t sum = *(uint64_t*)session_element(&in, i) +
                           *(uint64_t*)session_element(&from, c % 7 * 8) +
                           *(uint64_t*)session_element(&from, 14 + b % 7);
      const uint64_t right = sum ^ (uint64_t)(a * b) ^ (uint64_t)(b * c) ^ (uint64_t)a;
      wrong += *(uint64_t*)session_element(&out, i) != right;
      wrong += *(int64_t*)session_element(&other, i) != a * b;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    for (session_tensor_t* const* t = (session_tensor_t*[]){&from, &in, &out, &other, NULL}; *t;
         t++)
      session_free(&session, *t);
  }
  free(program);
  session_close(&session);
}

/* A result that is in a table has no operands in buffers: it cannot be made where the output lies. */
static void results_come_from_tables(void) {
  session_t session = session_open("");
  tbk_program_t* program = session_program(
      "program 1\nv0 = COORDINATE INT64 slot 0\nv1 = COORDINATE INT64 slot 1\n"
      "v2 = CONSTANT INT64 bits 0x7\nv3 = REM_TRUNC INT64 v1 v2\nv4 = MUL INT64 v1 v2\n"
      "v5 = ADD INT64 v4 v3\nresult 0 v5\n");
  static const int64_t shapes[][2] = {{1, 4096}, {64, 64}, {4096, 1}, {33, 130}, {3, 5}};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    session_tensor_t out = session_tensor(&session, TBK_INT64, 2, shapes[s], NULL, 3);
    CU_ASSERT_EQUAL(
        session_pointwise(&session, program, (session_tensor_t*[]){&out, NULL}, NULL, NULL),
        TBK_OK);
    int64_t wrong = 0;
    for (int64_t i = 0; i < session_count(&out); i++)
      wrong += *(int64_t*)session_element(&out, i) != i % shapes[s][1] * 7 + i % shapes[s][1] % 7;
    CU_ASSERT_EQUAL(wrong, 0);
    session_free(&session, &out);
  }
  free(program);
  session_close(&session);
}

const CU_TestInfo cpu_table_tests[] = {
    {"windows_keep_to_their_bounds", windows_keep_to_their_bounds},
    {"values_of_coordinates_reach_their_lanes", values_of_coordinates_reach_their_lanes},
    {"results_come_from_tables", results_come_from_tables},
    CU_TEST_INFO_NULL,
};
