/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What each opcode computes, on every dtype that it takes and the device declares: special values in all
 * combinations, and drawn ones. The rows of the table of opcodes are the list; the oracle knows them.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "job.h"
#include "opcode.h"
#include "room.h"
#include "sweep.h"

enum { SPECIALS = 18, PLACES = SPECIALS * SPECIALS + 300 };

/* ------------------------------------------------------------------------------- special values -- */

static long double special_real(const number_type_t* type, int64_t which) {
  bool half = type->size == 2, single = type->size == 4, brain = type->dtype == TBK_BFLOAT16;
  long double most = brain ? 0x1.fep127L : half ? 65504 : single ? FLT_MAX : DBL_MAX;
  long double least = brain ? 0x1p-126L : half ? 0x1p-14L : single ? FLT_MIN : DBL_MIN;
  const long double values[SPECIALS] = {0,    -0.0L, 1,     -1,    INFINITY, -INFINITY,
                                        NAN,  most,  -most, least, -least,   least / 4,
                                        0.5L, 2.5L,  -1.5L, 3,     1e-3L,    -7};
  return values[which];
}

static uint64_t special_integer(const number_type_t* type, int64_t which) {
  uint64_t most = type->is_signed ? (UINT64_C(1) << (8 * type->size - 1)) - 1 : UINT64_MAX;
  const uint64_t values[SPECIALS] = {
      0,  1,  (uint64_t)-1, 2,        (uint64_t)-2, 7,        (uint64_t)-7,         31, 32, 33, 63,
      64, 65, most,         most + 1, most + 2,     most - 1, UINT64_C(1) << 24 | 1};
  return values[which];
}

static void set_special(const number_type_t* type, int64_t which, void* element) {
  bool real = type->digits != 0;
  number_t number = {real ? 0 : special_integer(type, which), real ? special_real(type, which) : 0,
                     0};
  if (type->dtype == TBK_BOOL) number.integer = (uint64_t)which & 1;
  number_store(type, element, number);
}

/* All pairs of special values in the first places; a third operand goes on by itself. */
static void set_operands(job_t* job) {
  job_set_t* set = &job->sets[0];
  for (size_t k = 0; k < job->input_count; ++k)
    for (int64_t i = 0; i < SPECIALS * SPECIALS; ++i) {
      int64_t which = k == 0   ? i % SPECIALS
                      : k == 1 ? i / SPECIALS
                               : (i * 5 + i / SPECIALS) % SPECIALS;
      set_special(set->inputs[k].type, which, tensor_at(&set->inputs[k], i));
    }
}

/*
 * The ends of other dtypes, and what lies just beside a tie of narrower ones: rounded once, all its bits count. And
 * where the fractions of a dtype end: what is added there and taken away again has lost a bit.
 */
static const long double ends[] = {INT32_MAX,
                                   INT32_MIN,
                                   INT32_MAX + 0.5L,
                                   INT32_MIN - 0.5L,
                                   127.5L,
                                   -128.5L,
                                   255.5L,
                                   32767.5L,
                                   -32768.5L,
                                   0x1p63L - 1024,
                                   -0x1p63L,
                                   0x1p53L + 1,
                                   0x1.002p0L + 0x1p-50L,
                                   0x1.006p0L - 0x1p-50L,
                                   0x1.01p0L + 0x1p-50L,
                                   0x1.03p0L - 0x1p-50L,
                                   0x1p60L + 0x1p52L + 1,
                                   0x1p60L + 0x3p52L - 1,
#define BOTH_SIGNS(end) (end), -(end)
                                   BOTH_SIGNS(0x1p9L + 0.5L),
                                   BOTH_SIGNS(0x1p20L + 0.5L),
                                   BOTH_SIGNS(0x1p22L + 1),
                                   BOTH_SIGNS(0x1p22L + 1.5L),
                                   BOTH_SIGNS(0x1p23L - 0.5L),
                                   BOTH_SIGNS(0x1p31L - 128),
                                   BOTH_SIGNS(0x1p51L + 1),
                                   BOTH_SIGNS(0x1p51L + 1.5L),
                                   BOTH_SIGNS(0x1p52L - 0.5L)};
enum { ENDS = sizeof ends / sizeof *ends, ROUNDS = 3, NANS = SPECIALS * SPECIALS + ROUNDS * ENDS };

/* Of several operands the second and third are the same end, then another, then a small number, in this order. */
static long double end_of(int64_t place, size_t operand) {
  static const long double small[] = {3, -7, 2, 10};
  const int64_t round = place / ENDS, which = place % ENDS;
  if (operand == 0 || round == 0) return ends[which];
  return round == 1 ? ends[(which + 5 * (int64_t)operand) % ENDS] : small[which % 4];
}

static void set_ends(job_t* job) {
  for (size_t k = 0; k < job->input_count; ++k)
    for (int64_t i = 0; i < ROUNDS * ENDS; ++i) {
      const tensor_t* input = &job->sets[0].inputs[k];
      const long double end = end_of(i, k);
      if (input->type->dtype == TBK_BOOL) continue;
      number_store(input->type, tensor_at(input, SPECIALS * SPECIALS + i),
                   (number_t){(uint64_t)(int64_t)end, end, 0});
    }
}

/* Whatever its bits are: behind the ends. */
static void set_nans(job_t* job) {
  for (size_t k = 0; k < job->input_count; ++k) {
    const tensor_t* input = &job->sets[0].inputs[k];
    for (int i = 0; i < NUMBER_NANS && input->type->digits > 0; ++i)
      number_store_nan(input->type, tensor_at(input, NANS + i), i);
  }
}

/* ------------------------------------------------------------------------------------ programs --- */

static uint32_t load(program_pool_t* pool, uint16_t dtype) {
  tbk_instruction_t i = {.opcode = TBK_OPCODE_LOAD, .dtype = dtype};
  i.slot = (uint16_t)program_add_input(pool, (tbk_program_input_t){.dtype = dtype});
  return program_add(pool, i, NULL, 0);
}

static uint16_t result_dtype(const program_opcode_t* row, uint16_t takes) {
  if (row->gives == PROGRAM_GIVES_BOOL) return TBK_BOOL;
  return row->gives == PROGRAM_GIVES_INT64 ? TBK_INT64 : takes;
}

/* Adds the opcode on the operands that are loaded already. */
static void add_opcode(program_pool_t* pool, uint16_t opcode, const uint32_t* operands,
                       uint16_t gives) {
  tbk_instruction_t i = {.opcode = opcode, .dtype = gives};
  uint32_t count = (uint32_t)program_opcode(opcode)->operands;
  program_add_result(pool, program_add(pool, i, operands, count));
}

static void run(tbk_fixture_t* fx, const tbk_program_t* program, const char* said) {
  const int64_t sizes[1] = {program->input_count > 0 ? PLACES : 3};
  static job_t job;
  size_t mark = room_mark(fx);
  tbk_checks_context(said);
  job_form_t form = {.program = program, .rank = 1, .sizes = sizes};
  job_make(fx, &job, &form);
  set_operands(&job);
  set_ends(&job);
  set_nans(&job);
  job_finish(fx, &job, TBK_HERE(said));
  CHECK(job.elements == 0 || job.open < job.elements);
  tbk_checks_context(NULL);
  room_release(fx, mark);
}

/* Which special values the operands are, where they are constants; NULL where they are loaded. */
typedef const uint8_t constants_t[3];

static uint32_t add_operand(program_pool_t* pool, uint16_t dtype, const uint8_t* special) {
  if (special == NULL) return load(pool, dtype);
  tbk_instruction_t i = {.opcode = TBK_OPCODE_CONSTANT, .dtype = dtype};
  set_special(number_type(dtype), *special, &i.immediate);
  return program_add(pool, i, NULL, 0);
}

/* Opcodes of one dtype, as many as a program has results: to compile each alone would take minutes. */
static uint16_t check_some(tbk_fixture_t* fx, uint16_t first, uint16_t last, uint16_t dtype,
                           constants_t* constants) {
  static program_pool_t pool;
  char said[160];
  uint32_t operands[3];
  program_pool_open(&pool);
  int length = snprintf(said, sizeof said, "%s%s:", program_dtype_name(dtype),
                        constants == NULL ? "" : " constants");
  for (int k = 0; k < 3; ++k)
    operands[k] = add_operand(&pool, dtype, constants == NULL ? NULL : &(*constants)[k]);
  for (; first <= last && pool.program.result_count < TBK_PROGRAM_MOST_RESULTS; ++first) {
    const program_opcode_t* row = program_opcode(first);
    if (row->name == NULL || !program_dtype_in(dtype, row->takes)) continue;
    add_opcode(&pool, first, operands, result_dtype(row, dtype));
    length += snprintf(said + length, sizeof said - (size_t)length, " %s", row->name);
  }
  if (pool.program.result_count > 0) run(fx, &pool.program, said);
  return first;
}

static void check_opcodes_of(tbk_fixture_t* fx, uint16_t first, uint16_t last, uint16_t dtype,
                             constants_t* constants) {
  for (uint16_t next = first; program_dtype_in(dtype, PROGRAM_V & job_dtypes(fx)) && next <= last;)
    next = check_some(fx, next, last, dtype, constants);
}

static void check_opcodes(tbk_fixture_t* fx, uint16_t first, uint16_t last) {
  for (uint16_t dtype = 0; dtype < TBK_DTYPE_LIMIT; ++dtype)
    check_opcodes_of(fx, first, last, dtype, NULL);
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
    uint32_t operands[3] = {load(&pool, TBK_BOOL), load(&pool, dtype), load(&pool, dtype)};
    add_opcode(&pool, TBK_OPCODE_SELECT, operands, dtype);
    run(fx, &pool.program, program_dtype_name(dtype));
  }
  CHECK(job_kernel(fx, false) != NULL);
}

/* Same sizes alone: both of these from each of them. */
static void check_bitcasts(tbk_fixture_t* fx, uint16_t one, uint16_t other) {
  static program_pool_t pool;
  if (!fx_has_dtype(fx, one) || !fx_has_dtype(fx, other)) return;
  program_pool_open(&pool);
  uint32_t operands[2] = {load(&pool, one), load(&pool, other)};
  for (int k = 0; k < 2; ++k) {
    add_opcode(&pool, TBK_OPCODE_BITCAST, &operands[k], one);
    add_opcode(&pool, TBK_OPCODE_BITCAST, &operands[k], other);
  }
  run(fx, &pool.program, program_dtype_name(one));
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
  uint32_t value = load(&pool, from);
  for (size_t k = 0; k < count; ++k) {
    tbk_instruction_t i = {.opcode = TBK_OPCODE_CAST, .dtype = to[k]};
    program_add_result(&pool, program_add(&pool, i, &value, 1));
  }
  run(fx, &pool.program, said);
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
  run(fx,
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
static constants_t constants[] = {{7, 7, 15}, {14, 2, 8}, {17, 13, 12}, {6, 4, 1}};

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

/* Sums are added in the order that the program says. */
static void nothing_is_rearranged(tbk_fixture_t* fx) {
  run(fx,
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
    TBK_CASE("PRG-003", "op:tbk::pointwise", TBK_CASE_SLOW, every_dtype_is_cast_to_every_other),
    TBK_CASE("PRG-012", "op:tbk::pointwise dtype:FLOAT32 dtype:BOOL", 0, nothing_is_contracted),
    TBK_CASE("PRG-012", "op:tbk::pointwise", TBK_CASE_SLOW, constants_give_what_elements_give),
    TBK_CASE("PRG-012", "op:tbk::pointwise dtype:FLOAT32 dtype:BOOL", 0, nothing_is_rearranged),
};
TBK_SUITE(program_opcode);
