/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What each opcode computes, on every dtype that it takes and the device declares: special values in all
 * combinations, and drawn ones; of operands that differ, that are constants, and that are one value. The rows of the
 * table of opcodes are the list; the oracle knows them.
 */
#include <stdio.h>
#include <string.h>

#include "opcode_run.h"
#include "sweep.h"

/* Say how an operand comes to be, where it is no constant: behind those, which are counted from 0. */
enum { LOADED = -1, LOADED_AGAIN = -2 };

/* Says how values are made, and which operand of an opcode is which of them. */
typedef struct operands {
  const char* said;
  int special[3];   /* of each value: which special one, or one of the above */
  uint32_t same[3]; /* of the operands */
  int least;        /* opcodes of fewer operands are left out */
} operands_t;

static const operands_t loaded = {"", {LOADED, LOADED, LOADED}, {0, 1, 2}, 1};

static uint32_t add_operand(program_pool_t* pool, uint16_t dtype, int special) {
  tbk_instruction_t i = {.opcode = TBK_OPCODE_LOAD, .dtype = dtype};
  if (special == LOADED) return opcode_load(pool, dtype);
  if (special == LOADED_AGAIN) return program_add(pool, i, NULL, 0); /* what the first one loads */
  i.opcode = TBK_OPCODE_CONSTANT;
  opcode_set_special(number_type(dtype), special, &i.immediate);
  return program_add(pool, i, NULL, 0);
}

static void add_operands(program_pool_t* pool, uint16_t dtype, const operands_t* how,
                         uint32_t* operands) {
  uint32_t values[3] = {0};
  for (uint32_t k = 0; k < 3; ++k)
    if (how->same[0] == k || how->same[1] == k || how->same[2] == k)
      values[k] = add_operand(pool, dtype, how->special[k]);
  for (int k = 0; k < 3; ++k)
    operands[k] = values[how->same[k]];
}

static bool is_one_of(const program_opcode_t* row, uint16_t dtype, const operands_t* how) {
  return row->name != NULL && row->operands >= how->least && program_dtype_in(dtype, row->takes);
}

/* Opcodes of one dtype, as many as a program has results: to compile each alone would take minutes. */
static uint16_t check_some(tbk_fixture_t* fx, uint16_t first, uint16_t last, uint16_t dtype,
                           const operands_t* how) {
  static program_pool_t pool;
  char said[160];
  uint32_t operands[3];
  program_pool_open(&pool);
  int length = snprintf(said, sizeof said, "%s%s:", program_dtype_name(dtype), how->said);
  add_operands(&pool, dtype, how, operands);
  for (; first <= last && pool.program.result_count < TBK_PROGRAM_MOST_RESULTS; ++first) {
    const program_opcode_t* row = program_opcode(first);
    if (!is_one_of(row, dtype, how)) continue;
    opcode_add(&pool, first, operands, opcode_gives(row, dtype));
    length += snprintf(said + length, sizeof said - (size_t)length, " %s", row->name);
  }
  if (pool.program.result_count > 0) opcode_run(fx, &pool.program, said);
  return first;
}

static void check_opcodes_of(tbk_fixture_t* fx, uint16_t first, uint16_t last, uint16_t dtype,
                             const operands_t* how) {
  for (uint16_t next = first; program_dtype_in(dtype, PROGRAM_V & job_dtypes(fx)) && next <= last;)
    next = check_some(fx, next, last, dtype, how);
}

static void check_opcodes(tbk_fixture_t* fx, uint16_t first, uint16_t last) {
  for (uint16_t dtype = 0; dtype < TBK_DTYPE_LIMIT; ++dtype)
    check_opcodes_of(fx, first, last, dtype, &loaded);
  CHECK(job_kernel(fx, false) != NULL);
}

static void arithmetic_is_as_the_table_says(tbk_fixture_t* fx) {
  check_opcodes(fx, TBK_OPCODE_ADD, TBK_OPCODE_COPYSIGN);
}

static void bits_and_shifts_are_as_the_table_says(tbk_fixture_t* fx) {
  check_opcodes(fx, TBK_OPCODE_AND, TBK_OPCODE_SHR);
}

static void comparisons_are_as_the_table_says(tbk_fixture_t* fx) {
  check_opcodes(fx, TBK_OPCODE_EQ, TBK_OPCODE_SIGNBIT);
}

static void functions_are_as_the_table_says(tbk_fixture_t* fx) {
  check_opcodes(fx, TBK_OPCODE_FLOOR, TBK_OPCODE_LGAMMA);
}

/* Of every dtype, also those that nothing else computes with. */
static void selections_are_as_the_table_says(tbk_fixture_t* fx) {
  static program_pool_t pool;
  for (uint16_t dtype = 0; dtype < TBK_DTYPE_LIMIT; ++dtype) {
    if (!program_dtype_in(dtype, job_dtypes(fx))) continue;
    program_pool_open(&pool);
    const uint32_t truth = opcode_load(&pool, TBK_BOOL);
    const uint32_t values[2] = {opcode_load(&pool, dtype), opcode_load(&pool, dtype)};
    const uint32_t operands[][3] = {{truth, values[0], values[1]},
                                    {truth, values[0], values[0]},
                                    {values[0], values[0], values[1]},
                                    {values[0], values[1], values[0]},
                                    {values[0], values[0], values[0]}};
    for (size_t k = 0; k < (dtype == TBK_BOOL ? 5 : 2); ++k)
      opcode_add(&pool, TBK_OPCODE_SELECT, operands[k], dtype);
    opcode_run(fx, &pool.program, program_dtype_name(dtype));
  }
  CHECK(job_kernel(fx, false) != NULL);
}

/* Same sizes alone: both of these from each of them. */
static void check_bitcasts(tbk_fixture_t* fx, uint16_t one, uint16_t other) {
  static program_pool_t pool;
  if (!fx_has_dtype(fx, one) || !fx_has_dtype(fx, other)) return;
  program_pool_open(&pool);
  uint32_t operands[2] = {opcode_load(&pool, one), opcode_load(&pool, other)};
  for (int k = 0; k < 2; ++k) {
    opcode_add(&pool, TBK_OPCODE_BITCAST, &operands[k], one);
    opcode_add(&pool, TBK_OPCODE_BITCAST, &operands[k], other);
  }
  opcode_run(fx, &pool.program, program_dtype_name(one));
}

static void bits_are_taken_as_another_dtype(tbk_fixture_t* fx) {
  check_bitcasts(fx, TBK_INT32, TBK_FLOAT32);
  check_bitcasts(fx, TBK_INT64, TBK_FLOAT64);
  CHECK(job_kernel(fx, false) != NULL);
}

/* ---------------------------------------------------------------------------------------- casts -- */

/* To five dtypes at a time: a program has eight results at the most. */
static void check_casts(tbk_fixture_t* fx, uint16_t from, const uint16_t* to, size_t count) {
  static program_pool_t pool;
  char said[64];
  snprintf(said, sizeof said, "CAST of %s", program_dtype_name(from));
  program_pool_open(&pool);
  uint32_t value = opcode_load(&pool, from);
  for (size_t k = 0; k < count; ++k) {
    tbk_instruction_t i = {.opcode = TBK_OPCODE_CAST, .dtype = to[k]};
    program_add_result(&pool, program_add(&pool, i, &value, 1));
  }
  opcode_run(fx, &pool.program, said);
}

static void every_dtype_is_cast_to_every_other(tbk_fixture_t* fx) {
  enum { AT_A_TIME = 5 };
  uint16_t dtypes[TBK_DTYPE_LIMIT];
  size_t count = 0;
  for (uint16_t dtype = 0; dtype < TBK_DTYPE_LIMIT; ++dtype)
    if (program_dtype_in(dtype, job_dtypes(fx))) dtypes[count++] = dtype;
  for (size_t from = 0; from < count; ++from)
    for (size_t to = 0; to < count; to += AT_A_TIME)
      check_casts(fx, dtypes[from], dtypes + to, count - to < AT_A_TIME ? count - to : AT_A_TIME);
  CHECK(count > 0);
}

/* ------------------------------------------------------------------------- each by itself -------- */

/* Of a * a - round(a * a) a contraction leaves what the rounding took away; a device that contracts gives
 * that where 0 is due. */
static void nothing_is_contracted(tbk_fixture_t* fx) {
  opcode_run(
      fx,
      job_program(fx,
                  "program 1\ninput 0 FLOAT32\ninput 1 FLOAT32\n"
                  "v0 = LOAD FLOAT32 slot 0\nv1 = LOAD FLOAT32 slot 1\n"
                  "v2 = MUL FLOAT32 v0 v1\nv3 = NEG FLOAT32 v2\nv4 = ADD FLOAT32 v2 v3\n"
                  "v5 = MUL FLOAT32 v0 v1\nv6 = SUB FLOAT32 v5 v2\nv7 = ADD FLOAT32 v6 v0\n"
                  "v8 = SUB FLOAT32 v7 v6\n"
                  "v9 = MUL FLOAT32 v1 v1\nv10 = ADD FLOAT32 v9 v0\nv11 = FMA FLOAT32 v1 v1 v0\n"
                  "v12 = SUB FLOAT32 v10 v11\n"
                  "result 0 v4\nresult 1 v6\nresult 2 v8\nresult 3 v10\nresult 4 v12\n"),
      "contraction");
}

/* A compiler that knows the operands computes the value itself, or finds a path in a library's function that
 * no call may take, and drops the rest of the kernel with it. Programs are many: a sweep stops in time where each
 * takes long to compile. */
enum { ARITHMETIC, BITS, COMPARISONS, FUNCTIONS };
static const uint16_t groups[][2] = {[ARITHMETIC] = {TBK_OPCODE_ADD, TBK_OPCODE_COPYSIGN},
                                     [BITS] = {TBK_OPCODE_AND, TBK_OPCODE_SHR},
                                     [COMPARISONS] = {TBK_OPCODE_EQ, TBK_OPCODE_SIGNBIT},
                                     [FUNCTIONS] = {TBK_OPCODE_FLOOR, TBK_OPCODE_LGAMMA}};
#define CONSTANTS(...) \
  { " constants", {__VA_ARGS__}, {0, 1, 2}, 1 }
static const operands_t constants[] = {CONSTANTS(7, 7, 15), CONSTANTS(14, 2, 8),
                                       CONSTANTS(17, 13, 12), CONSTANTS(6, 4, 1)};

SWEEP_DIMENSION(group_axis, "opcodes", {"functions", FUNCTIONS}, {"arithmetic", ARITHMETIC},
                {"comparisons", COMPARISONS}, {"bits", BITS});
SWEEP_DIMENSION(constant_axis, "constants", {"large", 0}, {"bounds", 1}, {"ordinary", 2},
                {"special", 3});
SWEEP_DIMENSION(dtype_axis, "dtype", {"FLOAT32", TBK_FLOAT32}, {"FLOAT64", TBK_FLOAT64},
                {"INT64", TBK_INT64}, {"INT32", TBK_INT32}, {"BOOL", TBK_BOOL});

static bool group_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const int64_t group = sweep_get(one, &group_axis);
  const bool real = number_type((int32_t)sweep_get(one, &dtype_axis))->digits != 0;
  if (group == (real ? BITS : FUNCTIONS)) return false;
  return fx_has_dtype(fx, (int32_t)sweep_get(one, &dtype_axis));
}

static void run_constants(tbk_fixture_t* fx, sweep_case_t* one) {
  const uint16_t* group = groups[sweep_get(one, &group_axis)];
  check_opcodes_of(fx, group[0], group[1], (uint16_t)sweep_get(one, &dtype_axis),
                   &constants[sweep_get(one, &constant_axis)]);
}

static const sweep_space_t constant_space = {
    {&group_axis, &constant_axis, &dtype_axis}, group_fits, run_constants, 0};

static void constants_give_what_elements_give(tbk_fixture_t* fx) {
  sweep_run(fx, &constant_space);
}

/* Makes operands one and the same value, of which a compiler knows more than of two: that they are equal, but for NaN;
 * that nothing is left of their difference, but of infinities. */
SWEEP_DIMENSION(same_axis, "same", {"all", 0}, {"copies", 1}, {"first", 2}, {"ends", 3},
                {"last", 4}, {"first_copies", 5}, {"end_copies", 6}, {"last_copies", 7});
SWEEP_DIMENSION(few_same_axis, "same", {"all", 0}, {"first", 2}, {"ends", 3}, {"last", 4});
SWEEP_DIMENSION(source_axis, "from", {"load", LOADED}, {"nan", 6}, {"infinity", 4}, {"zero", 0},
                {"most", 7});
SWEEP_DIMENSION(few_source_axis, "from", {"load", LOADED}, {"nan", 6});

/* Names a value, another one, and the first once more, by another instruction; of two operands the first two count. */
static const uint32_t same[][3] = {{0, 0, 0}, {0, 2, 0}, {0, 0, 1}, {0, 1, 0},
                                   {1, 0, 0}, {0, 2, 1}, {0, 1, 2}, {1, 0, 2}};
enum { OF_THREE = 2 };

/* Adds up what is 0 in one of both dimensions, as a space has one alone. */
static int64_t same_of(const sweep_case_t* one) {
  return sweep_get(one, &same_axis) + sweep_get(one, &few_same_axis);
}

/* Leaves out three operands where no opcode takes as many of one dtype: there are such of real numbers alone. */
static bool same_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const bool real = number_type((int32_t)sweep_get(one, &dtype_axis))->digits != 0;
  const bool is_three = same_of(one) >= OF_THREE;
  if (is_three && !(real && sweep_get(one, &group_axis) == ARITHMETIC)) return false;
  return group_fits(fx, one);
}

static void run_same(tbk_fixture_t* fx, sweep_case_t* one) {
  const uint16_t* group = groups[sweep_get(one, &group_axis)];
  const int64_t which = same_of(one);
  const int source = (int)(sweep_get(one, &source_axis) + sweep_get(one, &few_source_axis));
  operands_t how = {" of one value",
                    {source, LOADED, source == LOADED ? LOADED_AGAIN : source},
                    {same[which][0], same[which][1], same[which][2]},
                    which < OF_THREE ? 2 : 3};
  check_opcodes_of(fx, group[0], group[1], (uint16_t)sweep_get(one, &dtype_axis), &how);
}

static const sweep_space_t same_space = {
    {&group_axis, &dtype_axis, &few_same_axis, &few_source_axis}, same_fits, run_same, 3};
static const sweep_space_t every_same_space = {
    {&group_axis, &dtype_axis, &same_axis, &source_axis}, same_fits, run_same, 4};

static void operands_may_be_one_value(tbk_fixture_t* fx) {
  sweep_run(fx, &same_space);
}

static void every_pair_of_operands_may_be_one_value(tbk_fixture_t* fx) {
  sweep_run(fx, &every_same_space);
}

/* Sums are added in the order that the program says. */
static void nothing_is_rearranged(tbk_fixture_t* fx) {
  opcode_run(fx,
             job_program(fx,
                         "program 1\ninput 0 FLOAT32\ninput 1 FLOAT32\n"
                         "v0 = LOAD FLOAT32 slot 0\nv1 = LOAD FLOAT32 slot 1\n"
                         "v2 = ADD FLOAT32 v0 v1\nv3 = SUB FLOAT32 v2 v1\n"
                         "v4 = MUL FLOAT32 v0 v1\nv5 = DIV FLOAT32 v4 v1\n"
                         "v6 = SUB FLOAT32 v0 v0\nv7 = EQ BOOL v0 v0\nv8 = NEG FLOAT32 v6\n"
                         "result 0 v3\nresult 1 v5\nresult 2 v6\nresult 3 v7\nresult 4 v8\n"),
             "order of evaluation");
}

static const tbk_case_t cases[] = {
    TBK_CASE("PRG-002", "op:tbk::pointwise", TBK_CASE_SLOW, arithmetic_is_as_the_table_says),
    TBK_CASE("PRG-002", "op:tbk::pointwise", 0, bits_and_shifts_are_as_the_table_says),
    TBK_CASE("PRG-002", "op:tbk::pointwise dtype:BOOL", 0, comparisons_are_as_the_table_says),
    TBK_CASE("PRG-002", "op:tbk::pointwise", TBK_CASE_SLOW, functions_are_as_the_table_says),
    TBK_CASE("PRG-002", "op:tbk::pointwise dtype:BOOL", 0, selections_are_as_the_table_says),
    TBK_CASE("PRG-002", "op:tbk::pointwise", 0, bits_are_taken_as_another_dtype),
    TBK_CASE("PRG-002", "op:tbk::pointwise dtype:BOOL", TBK_CASE_SLOW, operands_may_be_one_value),
    TBK_CASE("PRG-002", "op:tbk::pointwise dtype:BOOL", TBK_CASE_THOROUGH,
             every_pair_of_operands_may_be_one_value),
    TBK_CASE("PRG-003", "op:tbk::pointwise", TBK_CASE_SLOW, every_dtype_is_cast_to_every_other),
    TBK_CASE("PRG-012", "op:tbk::pointwise dtype:FLOAT32 dtype:BOOL", 0, nothing_is_contracted),
    TBK_CASE("PRG-012", "op:tbk::pointwise", TBK_CASE_SLOW, constants_give_what_elements_give),
    TBK_CASE("PRG-012", "op:tbk::pointwise dtype:FLOAT32 dtype:BOOL", 0, nothing_is_rearranged),
};
TBK_SUITE(program_opcode);
