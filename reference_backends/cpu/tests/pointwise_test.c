/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * pointwise_test.c: spaces, layouts, indices and random words, against plain loops.
 */
#include <stdlib.h>
#include <string.h>

#include "session.h"

static const char axpy[] =
    "program 1\ninput 0 INT32\ninput 1 INT32\nnumber 0 INT64\nv0 = LOAD INT32 slot 0\n"
    "v1 = LOAD INT32 slot 1\nv2 = NUMBER INT64 slot 0\nv3 = CAST INT32 v2\nv4 = MUL INT32 v3 v1\n"
    "v5 = ADD INT32 v0 v4\nresult 0 v5\n";

/* Sizes, and the strides of the output and two inputs; 0 in `rank` ends the list. */
typedef struct layout {
  int32_t rank;
  int64_t sizes[4], strides[3][4];
} layout_t;
static const layout_t layouts[] = {
    {1, {1}, {{1}, {1}, {1}}},
    {1, {1023}, {{1}, {1}, {0}}},
    {1, {1025}, {{2}, {-1}, {3}}},
    {2, {64, 33}, {{33, 1}, {33, 1}, {33, 1}}},
    {2, {64, 33}, {{1, 64}, {33, 1}, {0, 1}}},
    {2, {3000, 3}, {{3, 1}, {3, 1}, {0, 1}}},
    {2, {3, 3000}, {{1, 3}, {3000, 1}, {1, 0}}},
    {3, {7, 1, 401}, {{401, 401, 1}, {401, 5, 1}, {-401, 1, -1}}},
    {4, {2, 3, 40, 50}, {{6000, 1, 150, 3}, {6000, 2000, 50, 1}, {0, 1, 0, 0}}},
    {4, {2, 3, 40, 50}, {{6000, 1, 150, 3}, {6000, 1, 150, 3}, {6000, 1, 150, 3}}},
    {2, {0, 5}, {{5, 1}, {5, 1}, {5, 1}}},
};

static void check_layout(session_t* session, const tbk_program_t* program, const layout_t* layout,
                         bool in_place) {
  session_tensor_t t[3];
  for (int i = 0; i < 3; i++)
    t[i] = session_tensor(session, TBK_INT32, layout->rank, layout->sizes, layout->strides[i],
                          (uint64_t)i + 1);
  const int64_t count = session_count(&t[0]);
  session_tensor_t* first = in_place ? &t[0] : &t[1];
  int32_t* right = calloc((size_t)count + 1, sizeof *right);
  const uint64_t number = 3;
  for (int64_t i = 0; i < count; i++)
    right[i] = (int32_t)(*(uint32_t*)session_element(first, i) +
                         3u * *(uint32_t*)session_element(&t[2], i));
  tbk_status_t (*launch)(session_t*, const tbk_program_t*, session_tensor_t* const*,
                         session_tensor_t* const*, const uint64_t*) =
      in_place ? session_pointwise_once : session_pointwise;
  CU_ASSERT_EQUAL(launch(session, program, (session_tensor_t*[]){&t[0], NULL},
                         (session_tensor_t*[]){first, &t[2], NULL}, &number),
                  TBK_OK);
  int64_t wrong = 0;
  for (int64_t i = 0; i < count; i++)
    wrong += *(int32_t*)session_element(&t[0], i) != right[i];
  CU_ASSERT_EQUAL(wrong, 0);
  free(right);
  for (int i = 0; i < 3; i++)
    session_free(session, &t[i]);
}

static void layouts_are_walked_alike(void) {
  static const char* const ways[] = {"", "flat=0", "scheduler=seeded,seed=3", "policy=inline"};
  tbk_program_t* program = session_program(axpy);
  for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
    session_t session = session_open(ways[w]);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
      check_layout(&session, program, &layouts[i], false);
      check_layout(&session, program, &layouts[i], true);
    }
    session_close(&session);
  }
  free(program);
}

/* Nothing but the output's elements is written, between its strides neither. */
static void check_written(session_t* session, const int64_t* sizes, const int64_t* strides) {
  tbk_program_t* program =
      session_program("program 1\nnumber 0 BOOL\nv0 = NUMBER BOOL slot 0\nresult 0 v0\n");
  const uint64_t number = 1;
  session_tensor_t out = session_tensor(session, TBK_BOOL, 2, sizes, strides, 5);
  uint8_t* before = malloc(out.bytes);
  memcpy(before, out.host, out.bytes);
  for (int64_t i = 0; i < session_count(&out); i++)
    before[(uint8_t*)session_element(&out, i) - (uint8_t*)out.host] = 1;
  CU_ASSERT_EQUAL(
      session_pointwise(session, program, (session_tensor_t*[]){&out, NULL}, NULL, &number),
      TBK_OK);
  CU_ASSERT_EQUAL(memcmp(before, out.host, out.bytes), 0);
  free(before);
  free(program);
  session_free(session, &out);
}

/* In short rows, and in long ones. */
static void nothing_else_is_written(void) {
  session_t session = session_open("");
  check_written(&session, (int64_t[]){40, 30}, (int64_t[]){100, 3});
  check_written(&session, (int64_t[]){4, 333}, (int64_t[]){1000, 3});
  check_written(&session, (int64_t[]){4, 333}, (int64_t[]){400, 1});
  session_close(&session);
}

/* Any byte but 0 is true, and each result has its own strides; rows of 700 are no whole number of anything. */
static void long_rows_have_several_results(void) {
  session_t session = session_open("");
  tbk_program_t* program = session_program(
      "program 1\ninput 0 BOOL\ninput 1 INT32\nv0 = LOAD BOOL slot 0\nv1 = LOAD INT32 slot 1\n"
      "v2 = NEG INT32 v1\nv3 = SELECT INT32 v0 v1 v2\nv4 = CAST INT64 v0\nresult 0 v3\n"
      "result 1 v4\nresult 2 v0\n");
  const int64_t sizes[] = {3, 700}, wide[] = {1500, 2}, turned[] = {700, -1}, same[] = {0, 1};
  session_tensor_t truth = session_tensor(&session, TBK_BOOL, 2, sizes, wide, 3);
  session_tensor_t number = session_tensor(&session, TBK_INT32, 2, sizes, same, 4);
  session_tensor_t chosen = session_tensor(&session, TBK_INT32, 2, sizes, NULL, 1);
  session_tensor_t counted = session_tensor(&session, TBK_INT64, 2, sizes, turned, 2);
  session_tensor_t copied = session_tensor(&session, TBK_BOOL, 2, sizes, wide, 5);
  for (int64_t i = 0; i < session_count(&truth); i += 2)
    *(uint8_t*)session_element(&truth, i) = 0;
  session_upload(&session, &truth);
  CU_ASSERT_EQUAL(
      session_pointwise(&session, program, (session_tensor_t*[]){&chosen, &counted, &copied, NULL},
                        (session_tensor_t*[]){&truth, &number, NULL}, NULL),
      TBK_OK);
  int64_t wrong = 0;
  for (int64_t i = 0; i < session_count(&chosen); i++) {
    const bool is_true = *(uint8_t*)session_element(&truth, i) != 0;
    const uint32_t from = *(uint32_t*)session_element(&number, i);
    wrong += *(uint32_t*)session_element(&chosen, i) != (is_true ? from : -from);
    wrong += *(int64_t*)session_element(&counted, i) != is_true;
    wrong += *(uint8_t*)session_element(&copied, i) != is_true;
  }
  CU_ASSERT_EQUAL(wrong, 0);
  free(program);
  session_tensor_t* all[] = {&truth, &number, &chosen, &counted, &copied};
  for (int i = 0; i < 5; i++)
    session_free(&session, all[i]);
  session_close(&session);
}

/* What is one number all along a row is kept while what was computed before it takes buffers again and again. */
static void long_rows_keep_their_numbers(void) {
  enum { INPUTS = 5 };
  session_t session = session_open("");
  tbk_program_t* program = session_program(
      "program 1\ninput 0 INT32\ninput 1 INT32\ninput 2 INT32\ninput 3 INT32\ninput 4 INT32\n"
      "v0 = LOAD INT32 slot 0\nv1 = LOAD INT32 slot 1\nv2 = MUL INT32 v0 v1\n"
      "v3 = LOAD INT32 slot 2\nv4 = ADD INT32 v2 v3\nv5 = MUL INT32 v4 v4\n"
      "v6 = LOAD INT32 slot 3\nv7 = SUB INT32 v5 v6\nv8 = MUL INT32 v7 v7\n"
      "v9 = LOAD INT32 slot 4\nv10 = XOR INT32 v8 v9\nresult 0 v10\n");
  const int64_t sizes[] = {3, 1000}, row[] = {1, 0};
  session_tensor_t out = session_tensor(&session, TBK_INT32, 2, sizes, NULL, 1), in[INPUTS];
  session_tensor_t* ins[INPUTS + 1] = {NULL};
  for (int k = 0; k < INPUTS; k++) {
    in[k] = session_tensor(&session, TBK_INT32, 2, sizes, k ? row : NULL, 2 + (uint64_t)k);
    ins[k] = &in[k];
  }
  CU_ASSERT_EQUAL(
      session_pointwise(&session, program, (session_tensor_t*[]){&out, NULL}, ins, NULL), TBK_OK);
  int64_t wrong = 0;
  for (int64_t i = 0; i < session_count(&out); i++) {
    uint32_t n[INPUTS];
    for (int k = 0; k < INPUTS; k++)
      n[k] = *(uint32_t*)session_element(&in[k], i);
    const uint32_t sum = n[0] * n[1] + n[2], less = sum * sum - n[3];
    wrong += *(uint32_t*)session_element(&out, i) != ((less * less) ^ n[4]);
  }
  CU_ASSERT_EQUAL(wrong, 0);
  free(program);
  session_free(&session, &out);
  for (int k = 0; k < INPUTS; k++)
    session_free(&session, &in[k]);
  session_close(&session);
}

static void coordinates_and_positions_are_of_the_space(void) {
  session_t session = session_open("");
  tbk_program_t* program = session_program(
      "program 1\nv0 = COORDINATE INT64 slot 0\nv1 = COORDINATE INT64 slot 1\n"
      "v2 = COORDINATE INT64 slot 2\nv3 = LINEAR_INDEX INT64\nresult 0 v0\nresult 1 v1\n"
      "result 2 v2\nresult 3 v3\n");
  const int64_t sizes[] = {5, 61, 17}, strides[] = {1, 5 * 17, 5};
  session_tensor_t out[4];
  session_tensor_t* outs[5] = {NULL};
  for (int i = 0; i < 4; i++) {
    out[i] = session_tensor(&session, TBK_INT64, 3, sizes, strides, 1);
    outs[i] = &out[i];
  }
  CU_ASSERT_EQUAL(session_pointwise(&session, program, outs, NULL, NULL), TBK_OK);
  int64_t wrong = 0;
  for (int64_t i = 0; i < session_count(&out[0]); i++) {
    const int64_t right[] = {i / (61 * 17), i / 17 % 61, i % 17, i};
    for (int k = 0; k < 4; k++)
      wrong += *(int64_t*)session_element(&out[k], i) != right[k];
  }
  CU_ASSERT_EQUAL(wrong, 0);
  free(program);
  for (int i = 0; i < 4; i++)
    session_free(&session, &out[i]);
  session_close(&session);
}

static int16_t gathered(const session_tensor_t* from, int64_t i, int64_t j, bool clamp) {
  const int64_t *sizes = from->sizes, most_i = sizes[0] - 1, most_j = sizes[1] - 1;
  const bool within = i >= 0 && i <= most_i && j >= 0 && j <= most_j;
  if (most_i < 0 || most_j < 0 || (!clamp && !within)) return 0;
  i = i < 0 ? 0 : i > most_i ? most_i : i;
  j = j < 0 ? 0 : j > most_j ? most_j : j;
  return *(int16_t*)session_element(from, i * sizes[1] + j);
}

static void check_gather(session_t* session, int64_t rows) {
  tbk_program_t* program = session_program(
      "program 1\ninput 0 INT16 indexed 2\ninput 1 INT64\ninput 2 INT64\nv0 = LOAD INT64 slot 1\n"
      "v1 = LOAD INT64 slot 2\nv2 = LOAD INT16 slot 0 clamp v0 v1\n"
      "v3 = LOAD INT16 slot 0 zero v0 v1\nresult 0 v2\nresult 1 v3\n");
  const int64_t sizes[] = {2000}, from_sizes[] = {rows, 9}, from_strides[] = {1, 11};
  session_tensor_t from = session_tensor(session, TBK_INT16, 2, from_sizes, from_strides, 6);
  session_tensor_t index[2], out[2];
  uint64_t state = 8;
  for (int k = 0; k < 2; k++) {
    index[k] = session_tensor(session, TBK_INT64, 1, sizes, NULL, 0);
    out[k] = session_tensor(session, TBK_INT16, 1, sizes, NULL, 4);
    for (int64_t i = 0; i < 2000; i++)
      *(int64_t*)session_element(&index[k], i) =
          i % 50 ? (int64_t)(session_draw(&state) % 16) - 3 : (int64_t)session_draw(&state);
    session_upload(session, &index[k]);
  }
  CU_ASSERT_EQUAL(session_pointwise(session, program, (session_tensor_t*[]){&out[0], &out[1], NULL},
                                    (session_tensor_t*[]){&from, &index[0], &index[1], NULL}, NULL),
                  TBK_OK);
  int64_t wrong = 0;
  for (int64_t i = 0; i < 2000; i++) {
    const int64_t a = *(int64_t*)session_element(&index[0], i);
    const int64_t b = *(int64_t*)session_element(&index[1], i);
    wrong += *(int16_t*)session_element(&out[0], i) != gathered(&from, a, b, true);
    wrong += *(int16_t*)session_element(&out[1], i) != gathered(&from, a, b, false);
  }
  CU_ASSERT_EQUAL(wrong, 0);
  free(program);
  session_free(session, &from);
  for (int k = 0; k < 2; k++) {
    session_free(session, &index[k]);
    session_free(session, &out[k]);
  }
}

static void indices_keep_to_their_bounds(void) {
  session_t session = session_open("");
  check_gather(&session, 10);
  check_gather(&session, 0);
  session_close(&session);
}

/* The known answers of Philox4x32-10, and the words that the random table of the device gives. */
static void random_words_are_philox(void) {
  session_t session = session_open("");
  tbk_program_t* program = session_program(
      "program 1\nnumber 0 INT64\nnumber 1 INT64\nv0 = NUMBER INT64 slot 0\n"
      "v1 = NUMBER INT64 slot 1\nv2 = LINEAR_INDEX INT64\nv3 = PHILOX INT64 slot 0 v0 v1 v2\n"
      "v4 = PHILOX INT64 slot 1 v0 v1 v2\nv5 = PHILOX INT64 slot 2 v0 v1 v2\n"
      "v6 = PHILOX INT64 slot 3 v0 v1 v2\nresult 0 v3\nresult 1 v4\nresult 2 v5\nresult 3 v6\n");
  const int64_t sizes[] = {500}, words[] = {2000};
  const uint64_t numbers[] = {UINT64_C(0x123456789abcdef0), UINT64_C(0xffffffffffffff00)};
  const tbk_generator_t generator = {numbers[0], 0};
  session_tensor_t out[4], table = session_tensor(&session, TBK_INT32, 1, words, NULL, 0);
  session_tensor_t* outs[5] = {NULL};
  for (int k = 0; k < 4; k++) {
    out[k] = session_tensor(&session, TBK_INT64, 1, sizes, NULL, 2);
    outs[k] = &out[k];
  }
  CU_ASSERT_EQUAL(session_pointwise(&session, program, outs, NULL, numbers), TBK_OK);
  /* The counter wraps around at element 256, which is block 0. */
  CU_ASSERT_EQUAL(session.backend->random->random_bits(session.self, 0, &generator,
                                                       table.tensor.memory, 0, 900, NULL, NULL),
                  TBK_OK);
  session_download(&session, &table);
  int64_t wrong = 0;
  for (int64_t i = 0; i < 200; i++)
    for (int k = 0; k < 4; k++)
      wrong += *(int64_t*)session_element(&out[k], 256 + i) !=
               (int64_t)((uint32_t*)table.host)[4 * i + k];
  CU_ASSERT_EQUAL(wrong, 0);
  free(program);
  session_free(&session, &table);
  for (int k = 0; k < 4; k++)
    session_free(&session, &out[k]);
  session_close(&session);
}

/* More values than there are buffers for at a time, and values that nobody reads. */
static void long_programs_share_buffers(void) {
  enum { LENGTH = 400 };
  session_t session = session_open("");
  char* text = malloc(LENGTH * 64);
  size_t at = (size_t)sprintf(text, "program 1\ninput 0 INT64\nv0 = LOAD INT64 slot 0\n");
  for (int i = 1; i < LENGTH; i++)
    at += (size_t)sprintf(text + at, "v%d = %s INT64 v%d v%d\n", i,
                          i % 3 == 0   ? "SUB"
                          : i % 3 == 1 ? "ADD"
                                       : "XOR",
                          i - 1, i * 7 / 11);
  sprintf(text + at, "result 0 v%d\nresult 1 v%d\nresult 2 v0\nresult 3 v%d\n", LENGTH - 1,
          LENGTH / 2, LENGTH - 1);
  tbk_program_t* program = session_program(text);
  const int64_t sizes[] = {777};
  session_tensor_t in = session_tensor(&session, TBK_INT64, 1, sizes, NULL, 11), out[4];
  session_tensor_t* outs[5] = {NULL};
  for (int k = 0; k < 4; k++) {
    out[k] = session_tensor(&session, TBK_INT64, 1, sizes, NULL, 2);
    outs[k] = &out[k];
  }
  CU_ASSERT_EQUAL(
      session_pointwise(&session, program, outs, (session_tensor_t*[]){&in, NULL}, NULL), TBK_OK);
  int64_t wrong = 0;
  for (int64_t e = 0; e < 777; e++) {
    uint64_t v[LENGTH] = {*(uint64_t*)session_element(&in, e)};
    for (int i = 1; i < LENGTH; i++)
      v[i] = i % 3 == 0   ? v[i - 1] - v[i * 7 / 11]
             : i % 3 == 1 ? v[i - 1] + v[i * 7 / 11]
                          : v[i - 1] ^ v[i * 7 / 11];
    const uint64_t right[] = {v[LENGTH - 1], v[LENGTH / 2], v[0], v[LENGTH - 1]};
    for (int k = 0; k < 4; k++)
      wrong += *(uint64_t*)session_element(&out[k], e) != right[k];
  }
  CU_ASSERT_EQUAL(wrong, 0);
  free(text);
  free(program);
  session_free(&session, &in);
  for (int k = 0; k < 4; k++)
    session_free(&session, &out[k]);
  session_close(&session);
}

/* What lies at the end of a tile gets the bits that it gets anywhere else. */
static void values_do_not_depend_on_where_they_lie(void) {
  session_t session = session_open("");
  tbk_program_t* program = session_program(
      "program 1\ninput 0 FLOAT32\nv0 = LOAD FLOAT32 slot 0\nv1 = TANH FLOAT32 v0\n"
      "v2 = EXP FLOAT32 v1\nresult 0 v2\n");
  for (int64_t count = 1; count < 1100; count += 37) {
    const int64_t sizes[] = {count}, stride[] = {3};
    session_tensor_t in = session_tensor(&session, TBK_FLOAT32, 1, sizes, stride, 0);
    session_tensor_t out = session_tensor(&session, TBK_FLOAT32, 1, sizes, NULL, 1);
    for (int64_t i = 0; i < count; i++)
      *(float*)session_element(&in, i) = 0.73f;
    session_upload(&session, &in);
    CU_ASSERT_EQUAL(session_pointwise(&session, program, (session_tensor_t*[]){&out, NULL},
                                      (session_tensor_t*[]){&in, NULL}, NULL),
                    TBK_OK);
    int64_t other = 0;
    for (int64_t i = 0; i < count; i++)
      other += memcmp(session_element(&out, i), session_element(&out, 0), sizeof(float)) != 0;
    CU_ASSERT_EQUAL(other, 0);
    session_free(&session, &in);
    session_free(&session, &out);
  }
  free(program);
  session_close(&session);
}

const CU_TestInfo cpu_pointwise_tests[] = {
    {"layouts_are_walked_alike", layouts_are_walked_alike},
    {"nothing_else_is_written", nothing_else_is_written},
    {"long_rows_have_several_results", long_rows_have_several_results},
    {"long_rows_keep_their_numbers", long_rows_keep_their_numbers},
    {"coordinates_and_positions_are_of_the_space", coordinates_and_positions_are_of_the_space},
    {"indices_keep_to_their_bounds", indices_keep_to_their_bounds},
    {"random_words_are_philox", random_words_are_philox},
    {"long_programs_share_buffers", long_programs_share_buffers},
    {"values_do_not_depend_on_where_they_lie", values_do_not_depend_on_where_they_lie},
    CU_TEST_INFO_NULL,
};
