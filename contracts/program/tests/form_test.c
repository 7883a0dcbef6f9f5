/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * form_test.c: a program as text and as bytes, which must stay what they are, and what is equal.
 */
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "opcode.h"
#include "program_test.h"

static const char text[] =
    "program 1\n"
    "input 0 FLOAT32\n"
    "input 1 INT64 indexed 2\n"
    "number 0 FLOAT64\n"
    "v0 = LOAD FLOAT32 slot 0\n"
    "v1 = COORDINATE INT64 slot 1\n"
    "v2 = LOAD INT64 slot 1 clamp v1 v1\n"
    "v3 = CAST FLOAT32 v2\n"
    "v4 = CONSTANT FLOAT32 bits 0x3f800000\n"
    "v5 = FMA FLOAT32 v0 v3 v4\n"
    "v6 = PHILOX INT64 slot 3 v1 v1 v1\n"
    "result 0 v5\n"
    "result 1 v6\n";

static void prints_what_it_parsed(void) {
  char out[sizeof text];
  tbk_program_t* program = program_of(text);
  CU_ASSERT_EQUAL(tbk_program_print(program, out, sizeof out), sizeof text - 1);
  CU_ASSERT_STRING_EQUAL(out, text);
  free(program);
}

static void reads_comments_and_blanks(void) {
  tbk_program_t* one =
      program_of("# a comment\n\n program\t1 # here\r\nv0 = LINEAR_INDEX INT64\nresult 0 v0");
  tbk_program_t* other = program_of("program 1\nv0 = LINEAR_INDEX INT64\nresult 0 v0\n");
  CU_ASSERT_TRUE(tbk_program_equal(one, other));
  free(one);
  free(other);
}

static void prints_and_writes_into_little_room(void) {
  tbk_program_t* program = program_of(text);
  char out[16] = "################";
  unsigned char bytes[16];
  memset(bytes, 0xee, sizeof bytes);
  CU_ASSERT_EQUAL(tbk_program_print(program, out, 10), sizeof text - 1);
  CU_ASSERT_EQUAL(memcmp(out, "program 1\0######", 16), 0);
  size_t size = tbk_program_write(program, bytes, 4);
  CU_ASSERT_EQUAL(memcmp(bytes, "TBKP\xee", 5), 0);
  CU_ASSERT_EQUAL(size, tbk_program_write(program, NULL, 0));
  free(program);
}

/* Bytes that were written once must be read for ever: of version 1, little-endian. */
static const unsigned char bytes_of_one[] = {
    'T', 'B', 'K', 'P', 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0,
    1,   0,   0,   0,   1, 0, 0, 0,                                                 /* counts */
    6,   0,   0,   0,   0, 0, 0, 0,                                                 /* FLOAT32 */
    6,   0,   6,   0,   0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* LOAD */
    24,  0,   6,   0,   0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* NEG */
    0,   0,   0,   0,                                                               /* of value 0 */
    1,   0,   0,   0,                                                               /* result */
};

static void bytes_stay_what_they_are(void) {
  tbk_program_t* program = program_of(
      "program 1\ninput 0 FLOAT32\nv0 = LOAD FLOAT32 slot 0\nv1 = NEG FLOAT32 v0\nresult 0 v1\n");
  unsigned char out[sizeof bytes_of_one];
  tbk_program_t* read;
  CU_ASSERT_EQUAL(tbk_program_write(program, out, sizeof out), sizeof out);
  CU_ASSERT_EQUAL(memcmp(out, bytes_of_one, sizeof out), 0);
  CU_ASSERT_EQUAL(tbk_program_read(bytes_of_one, sizeof out, &read, NULL), TBK_OK);
  CU_ASSERT_TRUE(read != NULL && tbk_program_equal(program, read));
  CU_ASSERT_EQUAL(tbk_program_hash(program), UINT64_C(0xc378bdb647ae04be));
  free(read);
  free(program);
}

static void refuses_bytes(void) {
  for (size_t size = 0; size < sizeof bytes_of_one; ++size) {
    tbk_program_t* program;
    tbk_error_t error = {"nothing"};
    expect_refused(tbk_program_read(bytes_of_one, size, &program, &error), &error, "bytes");
    CU_ASSERT_PTR_NULL(program);
  }
}

static void operands_may_lie_anywhere(void) {
  static program_pool_t pool;
  program_pool_open(&pool);
  tbk_instruction_t place = {.opcode = TBK_OPCODE_LINEAR_INDEX, .dtype = TBK_INT64};
  tbk_instruction_t neg = {.opcode = TBK_OPCODE_NEG, .dtype = TBK_INT64};
  uint32_t operand = program_add(&pool, place, NULL, 0);
  program_add(&pool, neg, &operand, 1);
  program_add_result(&pool, program_add(&pool, neg, &operand, 1));
  tbk_program_t* copy = tbk_program_copy(&pool.program);
  pool.instructions[2].operand_first = 0; /* shared */
  pool.program.operand_count = 1;
  CU_ASSERT_EQUAL(tbk_program_check(&pool.program, NULL), TBK_OK);
  CU_ASSERT_TRUE(tbk_program_equal(copy, &pool.program));
  CU_ASSERT_EQUAL(tbk_program_hash(copy), tbk_program_hash(&pool.program));
  CU_ASSERT_EQUAL(tbk_program_write(copy, NULL, 0), tbk_program_write(&pool.program, NULL, 0));
  free(copy);
}

/* Each word of a program is of its content: one that is changed makes another program. */
static void each_member_counts(void) {
  static const char* const others[] = {
      "program 1\ninput 0 FLOAT64\nv0 = LINEAR_INDEX INT64\nv1 = ADD INT64 v0 v0\nresult 0 v1\n",
      "program 1\ninput 0 FLOAT32\nv0 = LINEAR_INDEX INT64\nv1 = ADD INT64 v0 v0\nresult 0 v1\n",
      "program 1\ninput 0 FLOAT32 indexed 0\nv0 = LINEAR_INDEX INT64\nv1 = ADD INT64 v0 v0\nresult "
      "0 v1\n",
      "program 1\ninput 0 FLOAT32 indexed 1\nv0 = LINEAR_INDEX INT64\nv1 = ADD INT64 v0 v0\nresult "
      "0 v1\n",
      "program 1\nnumber 0 FLOAT32\nv0 = LINEAR_INDEX INT64\nv1 = ADD INT64 v0 v0\nresult 0 v1\n",
      "program 1\nnumber 0 FLOAT64\nv0 = LINEAR_INDEX INT64\nv1 = ADD INT64 v0 v0\nresult 0 v1\n",
      "program 1\nparameter 0 FLOAT64\nv0 = LINEAR_INDEX INT64\nv1 = ADD INT64 v0 v0\nresult 0 "
      "v1\n",
      "program 1\nv0 = LINEAR_INDEX INT64\nv1 = ADD INT64 v0 v0\nresult 0 v1\n",
      "program 1\nv0 = LINEAR_INDEX INT64\nv1 = SUB INT64 v0 v0\nresult 0 v1\n",
      "program 1\nv0 = COORDINATE INT64 slot 0\nv1 = SUB INT64 v0 v0\nresult 0 v1\n",
      "program 1\nv0 = COORDINATE INT64 slot 1\nv1 = SUB INT64 v0 v0\nresult 0 v1\n",
      "program 1\nv0 = LINEAR_INDEX INT64\nv1 = ADD INT64 v0 v0\nresult 0 v0\n",
      "program 1\nv0 = LINEAR_INDEX INT64\nv1 = ADD INT64 v0 v0\nresult 0 v1\nresult 1 v1\n",
      "program 1\nv0 = CONSTANT INT64 bits 0x0\nv1 = ADD INT64 v0 v0\nresult 0 v1\n",
      "program 1\nv0 = CONSTANT INT64 bits 0x1\nv1 = ADD INT64 v0 v0\nresult 0 v1\n",
      "program 1\nv0 = LINEAR_INDEX INT64\nv1 = NEG INT64 v0\nv2 = ADD INT64 v0 v1\nresult 0 v2\n",
      "program 1\nv0 = LINEAR_INDEX INT64\nv1 = NEG INT64 v0\nv2 = ADD INT64 v1 v0\nresult 0 v2\n",
  };
  enum { COUNT = sizeof others / sizeof *others };
  tbk_program_t* made[COUNT];
  for (int i = 0; i < COUNT; ++i)
    made[i] = program_of(others[i]);
  for (int i = 0; i < COUNT; ++i)
    for (int k = 0; k < COUNT; ++k) {
      CU_ASSERT_EQUAL(tbk_program_equal(made[i], made[k]), i == k);
      CU_ASSERT_EQUAL(tbk_program_hash(made[i]) == tbk_program_hash(made[k]), i == k);
    }
  for (int i = 0; i < COUNT; ++i)
    free(made[i]);
}

static void reductions_are_copied_and_compared(void) {
  static const char take[] =
      "program 1\nparameter 0 INT64\nv0 = PARAMETER INT64 slot 0\nresult 0 v0\n";
  tbk_program_t* map = program_of("program 1\nv0 = LINEAR_INDEX INT64\nresult 0 v0\n");
  tbk_program_t* combine = program_of(
      "program 1\nparameter 0 INT64\nparameter 1 INT64\nv0 = PARAMETER INT64 slot 1\nresult 0 "
      "v0\n");
  tbk_program_t* finish = program_of(take);
  uint64_t identity[] = {7};
  tbk_reduction_t r = {sizeof r, map, combine, finish, identity, 0};
  tbk_reduction_t* copy = tbk_reduction_copy(&r);
  CU_ASSERT_TRUE(copy != NULL && tbk_reduction_check(copy, NULL) == TBK_OK);
  CU_ASSERT_TRUE(tbk_reduction_equal(&r, copy));
  CU_ASSERT_EQUAL(tbk_reduction_hash(&r), tbk_reduction_hash(copy));
  identity[0] = 8;
  CU_ASSERT_FALSE(tbk_reduction_equal(&r, copy));
  CU_ASSERT_NOT_EQUAL(tbk_reduction_hash(&r), tbk_reduction_hash(copy));
  identity[0] = 7, r.flags = 1;
  CU_ASSERT_FALSE(tbk_reduction_equal(&r, copy));
  CU_ASSERT_NOT_EQUAL(tbk_reduction_hash(&r), tbk_reduction_hash(copy));
  free(copy);
  free(map);
  free(combine);
  free(finish);
}

/* No number is given to two opcodes, and each has a name that no other has. */
static void opcodes_are_told_apart(void) {
  size_t count = 0, known = 0;
#define ONE(name, number, operands, takes, gives, bound, meaning) \
  ++count;                                                        \
  CU_ASSERT_STRING_EQUAL(tbk_opcode_name(number), #name);
  TBK_OPCODE_MAP(ONE)
  for (uint16_t i = 0; i < TBK_OPCODE_LIMIT; ++i)
    known += tbk_opcode_name(i) != NULL;
  CU_ASSERT_EQUAL(known, count);
  CU_ASSERT_PTR_NULL(tbk_opcode_name(UINT16_MAX));
}

CU_TestInfo form_tests[] = {
    {"prints_what_it_parsed", prints_what_it_parsed},
    {"reads_comments_and_blanks", reads_comments_and_blanks},
    {"prints_and_writes_into_little_room", prints_and_writes_into_little_room},
    {"bytes_stay_what_they_are", bytes_stay_what_they_are},
    {"refuses_bytes", refuses_bytes},
    {"operands_may_lie_anywhere", operands_may_lie_anywhere},
    {"each_member_counts", each_member_counts},
    {"reductions_are_copied_and_compared", reductions_are_copied_and_compared},
    {"opcodes_are_told_apart", opcodes_are_told_apart},
    CU_TEST_INFO_NULL,
};
