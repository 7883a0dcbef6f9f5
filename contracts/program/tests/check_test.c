/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * check_test.c: what is no program, and in which words this is said.
 */
#include <stdlib.h>
#include <string.h>

#include "pool.h"
#include "program_test.h"

/* Each breaks one rule; most of the others hold. */
static const struct {
  const char* text;
  const char* words;
} malformed[] = {
    {"", "version 0"},
    {"program 2\nresult 0 v0\n", "version 2; known is 1"},
    {"program 1\n", "no results"},
    {"input 0 FLOAT32\n", "line 1: a program begins"},
    {"program 1\nprogram 1\n", "line 2: the version stands once"},
    {"program 1\ninput 1 FLOAT32\n", "line 2: inputs are counted"},
    {"program 1\ninput 0 FLOAT33\n", "line 2: a dtype"},
    {"program 1\ninput 0 FLOAT32 indexed\n", "line 2: a rank"},
    {"program 1\ninput 0 FLOAT32 and\n", "line 2: 'and' is too much"},
    {"program 1\nv0 = CONSTANT INT64 bits 12\n", "line 2: bits are written"},
    {"program 1\nv0 = CONSTANT INT64 bits 0x1G\n", "line 2: bits are written"},
    {"program 1\nv0 = COORDINATE INT64 slot x\n", "line 2: a slot is a number"},
    {"program 1\nv1 = LINEAR_INDEX INT64\n", "line 2: values are counted"},
    {"program 1\nv0 = LINEAR INT64\n", "line 2: an opcode"},
    {"program 1\nw0 = LINEAR_INDEX INT64\n", "line 2: 'w0' begins no line"},
    {"program 1\nv0 = LINEAR_INDEX INT64\nv1 = NEG INT64 0\n", "line 3: a value"},
    {"program 1\nv0 = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", "line 2: a word, or the line"},
    {"program 1\ninput 0 COMPLEX64\nv0 = LOAD COMPLEX64 slot 0\nresult 0 v0\n",
     "input 0: dtype 9 is none"},
    {"program 1\ninput 0 INT64 indexed 9\nv0 = LINEAR_INDEX INT64\nresult 0 v0\n",
     "input 0: rank 9; at most 8"},
    {"program 1\nnumber 0 INT32\nv0 = NUMBER INT32 slot 0\nresult 0 v0\n", "number 0: dtype 3"},
    {"program 1\nparameter 0 INT8\nv0 = PARAMETER INT8 slot 0\nresult 0 v0\n",
     "parameter 0: dtype 1"},
    {"program 1\nv0 = NUMBER INT64 slot 0\nresult 0 v0\n", "instruction 0 (NUMBER): slot 0"},
    {"program 1\nv0 = PARAMETER INT64 slot 0\nresult 0 v0\n", "slot 0 is not declared"},
    {"program 1\nv0 = COORDINATE INT64 slot 8\nresult 0 v0\n", "slot 8 is not declared"},
    {"program 1\nv0 = LOAD INT64 slot 0\nresult 0 v0\n", "slot 0 is not declared"},
    {"program 1\nv0 = LINEAR_INDEX INT64 slot 1\nresult 0 v0\n", "slot 1 is not declared"},
    {"program 1\nv0 = LINEAR_INDEX INT64\nv1 = PHILOX INT64 slot 4 v0 v0 v0\nresult 0 v1\n",
     "instruction 1 (PHILOX): slot 4"},
    {"program 1\ninput 0 INT64\nv0 = LOAD INT64 slot 0 clamp\nresult 0 v0\n", "bounds 1"},
    {"program 1\nv0 = LINEAR_INDEX INT64 clamp\nresult 0 v0\n", "bounds 1"},
    {"program 1\nv0 = LINEAR_INDEX INT64 bits 0x1\nresult 0 v0\n", "an immediate"},
    {"program 1\nv0 = LINEAR_INDEX INT64\nv1 = ADD INT64 v0\nresult 0 v1\n",
     "1 operands; it has 2"},
    {"program 1\ninput 0 INT64 indexed 2\nv0 = LINEAR_INDEX INT64\n"
     "v1 = LOAD INT64 slot 0 zero v0\nresult 0 v1\n",
     "1 operands; it has 2"},
    {"program 1\nv0 = LINEAR_INDEX INT64\nv1 = NEG INT64 v1\nresult 0 v1\n",
     "operand 0 is value 1, which is not earlier"},
    {"program 1\nv0 = CONSTANT BOOL bits 0x1\nv1 = NEG BOOL v0\nresult 0 v1\n",
     "operand 0 is BOOL, which it does not take"},
    {"program 1\nv0 = CONSTANT FLOAT16 bits 0x1\nv1 = ADD FLOAT16 v0 v0\nresult 0 v1\n",
     "operand 0 is FLOAT16"},
    {"program 1\nv0 = LINEAR_INDEX INT64\nv1 = CONSTANT INT32 bits 0x1\nv2 = ADD INT64 v0 v1\n"
     "result 0 v2\n",
     "operand 1 is INT32, another one INT64"},
    {"program 1\nv0 = LINEAR_INDEX INT64\nv1 = SELECT INT64 v0 v0 v0\nresult 0 v1\n",
     "operand 0 is INT64, not BOOL"},
    {"program 1\nv0 = LINEAR_INDEX INT64\nv1 = CONSTANT BOOL bits 0x1\nv2 = SELECT INT64 v1 v0 v1\n"
     "result 0 v2\n",
     "operand 2 is BOOL, another one INT64"},
    {"program 1\nv0 = LINEAR_INDEX INT64\nv1 = NEG INT32 v0\nresult 0 v1\n", "it gives INT64"},
    {"program 1\nv0 = LINEAR_INDEX INT64\nv1 = EQ INT64 v0 v0\nresult 0 v1\n", "it gives BOOL"},
    {"program 1\nv0 = LINEAR_INDEX INT32\nresult 0 v0\n", "it gives INT64"},
    {"program 1\nv0 = LINEAR_INDEX INT64\nv1 = CAST COMPLEX64 v0\nresult 0 v1\n",
     "dtype 9 is none of a program"},
    {"program 1\nv0 = CONSTANT BOOL bits 0x2\nresult 0 v0\n", "more bits than BOOL has"},
    {"program 1\nv0 = CONSTANT INT8 bits 0x100\nresult 0 v0\n", "more bits than INT8 has"},
    {"program 1\nnumber 0 FLOAT32\nv0 = NUMBER FLOAT64 slot 0\nresult 0 v0\n", "it gives FLOAT32"},
    {"program 1\nv0 = LINEAR_INDEX INT64\nv1 = BITCAST FLOAT32 v0\nresult 0 v1\n",
     "of INT64 to FLOAT32"},
    {"program 1\nv0 = LINEAR_INDEX INT64\nresult 0 v1\n", "result 0 is value 1"},
};

static void refuses_texts(void) {
  for (size_t i = 0; i < sizeof malformed / sizeof *malformed; ++i) {
    tbk_program_t* program = (tbk_program_t*)&program;
    tbk_error_t error = {"nothing"};
    expect_refused(tbk_program_parse(malformed[i].text, &program, &error), &error,
                   malformed[i].words);
    CU_ASSERT_PTR_NULL(program);
  }
}

static program_pool_t pool;

/* What no text can say. */
static tbk_program_t* sound(void) {
  program_pool_open(&pool);
  program_add_input(&pool, (tbk_program_input_t){.dtype = TBK_FLOAT32});
  tbk_instruction_t load = {.opcode = TBK_OPCODE_LOAD, .dtype = TBK_FLOAT32};
  uint32_t value = program_add(&pool, load, NULL, 0);
  tbk_instruction_t neg = {.opcode = TBK_OPCODE_NEG, .dtype = TBK_FLOAT32};
  program_add_result(&pool, program_add(&pool, neg, &value, 1));
  return &pool.program;
}

static void refuse(const char* words) {
  tbk_error_t error = {"nothing"};
  expect_refused(tbk_program_check(&pool.program, &error), &error, words);
  CU_ASSERT_EQUAL(tbk_program_check(&pool.program, NULL), TBK_INVALID);
}

static void refuses_structs(void) {
  CU_ASSERT_EQUAL(tbk_program_check(NULL, NULL), TBK_INVALID);
  CU_ASSERT_EQUAL(tbk_program_check(sound(), NULL), TBK_OK);
  sound()->struct_size = 8, refuse("struct_size");
  sound()->inputs = NULL, refuse("1 inputs at NULL");
  sound()->instruction_count = 1025, refuse("1025 instructions; at most 1024");
  sound()->operand_count = SIZE_MAX, refuse("operands; at most");
  sound()->operand_count = 0, refuse("operands from 0 on are not there");
  sound(), pool.inputs[0].zero = 1, refuse("`zero` is not 0");
  sound(), pool.inputs[0].kind = 2, refuse("kind 2");
  sound(), pool.inputs[0].rank = 1, refuse("rank 1; at most 0");
  sound(), pool.instructions[0].opcode = 300, refuse("opcode 300 is not known");
  sound(), pool.instructions[0].opcode = 0, refuse("opcode 0 is not known");
  sound(), pool.instructions[0].operand_first = 1, refuse("operand_first is 1");
  sound(), pool.instructions[1].operand_first = UINT32_MAX, refuse("are not there");
}

/* ------------------------------------------------------------------------------- reductions ---- */

#define MAP "program 1\ninput 0 FLOAT32\nv0 = LOAD FLOAT32 slot 0\nresult 0 v0\n"
#define TAKES_ONE "program 1\nparameter 0 FLOAT32\nv0 = PARAMETER FLOAT32 slot 0\n"
#define TAKES_TWO                                                                        \
  "program 1\nparameter 0 FLOAT32\nparameter 1 FLOAT32\nv0 = PARAMETER FLOAT32 slot 0\n" \
  "v1 = PARAMETER FLOAT32 slot 1\n"
#define COMBINE TAKES_TWO "v2 = ADD FLOAT32 v0 v1\nresult 0 v2\n"
#define FINISH TAKES_ONE "result 0 v0\n"

static const struct {
  const char *map, *combine, *finish;
  uint64_t identity, flags;
  const char* words;
} reductions[] = {
    {MAP, COMBINE, FINISH, 0, 1, NULL},
    {MAP, COMBINE, FINISH, 0, 2, "a flag"},
    {MAP, COMBINE, FINISH, UINT64_C(1) << 32, 0, "identity 0: more bits"},
    {FINISH, COMBINE, FINISH, 0, 0, "map: it has parameters"},
    {MAP, FINISH, FINISH, 0, 0, "combine: 1 parameters; 1 states make 2"},
    {MAP, COMBINE, MAP, 0, 0, "finish: 0 parameters"},
    {MAP, TAKES_TWO "v2 = LINEAR_INDEX INT64\nresult 0 v0\n", FINISH, 0, 0, "it has no place"},
    {MAP, TAKES_TWO "result 0 v0\nresult 1 v1\n", FINISH, 0, 0, "combine: 2 results; 1 states"},
    {MAP, TAKES_TWO "v2 = LT BOOL v0 v1\nresult 0 v2\n", FINISH, 0, 0, "combine: result 0 is BOOL"},
    {MAP,
     "program 1\ninput 0 INT64\nparameter 0 FLOAT32\nparameter 1 FLOAT32\n"
     "v0 = PARAMETER FLOAT32 slot 0\nresult 0 v0\n",
     FINISH, 0, 0, "combine: it has inputs"},
    {"program 1\ninput 0 FLOAT64\nv0 = LOAD FLOAT64 slot 0\nresult 0 v0\n", COMBINE, FINISH, 0, 0,
     "combine: parameter 0 is FLOAT32, the state FLOAT64"},
    {"program 1\ninput 0 INT8\nv0 = LOAD INT8 slot 0\nresult 0 v0\n", COMBINE, FINISH, 0, 0,
     "map: state 0 is INT8"},
    {"program 1\nnumber 0 INT64\ninput 0 FLOAT32\nv0 = LOAD FLOAT32 slot 0\nresult 0 v0\n", COMBINE,
     FINISH, 0, 0, "declare other numbers"},
    {MAP "result 1 v0\nresult 2 v0\nresult 3 v0\nresult 4 v0\n", COMBINE, FINISH, 0, 0,
     "map: 5 states; at most 4"},
};

static void checks_reductions(void) {
  for (size_t i = 0; i < sizeof reductions / sizeof *reductions; ++i) {
    uint64_t identity[8] = {reductions[i].identity};
    tbk_program_t* map = program_of(reductions[i].map);
    tbk_program_t* combine = program_of(reductions[i].combine);
    tbk_program_t* finish = program_of(reductions[i].finish);
    tbk_reduction_t r = {sizeof r, map, combine, finish, identity, reductions[i].flags};
    tbk_error_t error = {"nothing"};
    tbk_status_t status = tbk_reduction_check(&r, &error);
    if (reductions[i].words == NULL)
      CU_ASSERT_EQUAL(status, TBK_OK)
    else
      expect_refused(status, &error, reductions[i].words);
    free(map);
    free(combine);
    free(finish);
  }
}

static void refuses_parts_that_are_not_there(void) {
  tbk_program_t* map = program_of(MAP);
  tbk_reduction_t r = {sizeof r, map, NULL, NULL, NULL, 0};
  tbk_error_t error = {"nothing"};
  expect_refused(tbk_reduction_check(NULL, &error), &error, "no reduction");
  expect_refused(tbk_reduction_check(&r, &error), &error, "combine: no program");
  r.struct_size = 8;
  expect_refused(tbk_reduction_check(&r, &error), &error, "struct_size is 8");
  free(map);
}

CU_TestInfo check_tests[] = {
    {"refuses_texts", refuses_texts},
    {"refuses_structs", refuses_structs},
    {"checks_reductions", checks_reductions},
    {"refuses_parts_that_are_not_there", refuses_parts_that_are_not_there},
    CU_TEST_INFO_NULL,
};
