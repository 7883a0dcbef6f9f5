/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a program reads: elements by index, its place, random words, numbers. Over what it runs, in
 * combination, is in program_layout_test.c.
 */
#include <string.h>

#include "job.h"
#include "opcode.h"
#include "operation.h"
#include "room.h"

static job_t job;

static void run_text(tbk_fixture_t* fx, const char* text, int32_t rank, const int64_t* sizes) {
  size_t mark = room_mark(fx);
  job_form_t form = {.program = job_program(fx, text), .rank = rank, .sizes = sizes};
  JOB_RUN(fx, &job, &form);
  room_release(fx, mark);
}

/* ---------------------------------------------------------------------------------------- taken -- */

/* 64 instructions, 8 inputs, 4 results and 4 numbers. */
static void a_program_of_some_size_is_taken(tbk_fixture_t* fx) {
  static program_pool_t pool;
  static const int64_t sizes[1] = {33};
  uint32_t operands[2];
  program_pool_open(&pool);
  for (int k = 0; k < 8; ++k) {
    tbk_instruction_t i = {.opcode = TBK_OPCODE_LOAD, .dtype = TBK_INT64};
    i.slot = (uint16_t)program_add_input(&pool, (tbk_program_input_t){.dtype = TBK_INT64});
    operands[0] = program_add(&pool, i, NULL, 0);
  }
  for (int k = 0; k < 4; ++k) {
    tbk_instruction_t i = {.opcode = TBK_OPCODE_NUMBER, .dtype = TBK_INT64};
    i.slot = (uint16_t)program_add_number(&pool, TBK_INT64);
    operands[0] = program_add(&pool, i, NULL, 0);
  }
  for (uint32_t k = 12; k < 64; ++k) {
    tbk_instruction_t i = {.opcode = k % 2 == 0 ? TBK_OPCODE_ADD : TBK_OPCODE_XOR,
                           .dtype = TBK_INT64};
    operands[0] = k - 12, operands[1] = k - 1;
    program_add(&pool, i, operands, 2);
  }
  for (uint32_t r = 0; r < 4; ++r)
    program_add_result(&pool, 60 + r);
  job_form_t form = {.program = &pool.program, .rank = 1, .sizes = sizes};
  CHECK(JOB_RUN(fx, &job, &form));
}

/* ----------------------------------------------------------------------------------------- load -- */

/* Indices around both ends, and such as come inside again where only 32 bits of them are looked at. */
static void set_indices(job_t* it, size_t first, size_t count) {
  static const int64_t indices[] = {0,
                                    1,
                                    2,
                                    4,
                                    5,
                                    6,
                                    -1,
                                    -5,
                                    INT64_C(1) << 32,
                                    (INT64_C(1) << 32) + 1,
                                    -(INT64_C(1) << 32),
                                    INT64_MAX,
                                    INT64_MIN,
                                    INT32_MAX,
                                    3};
  enum { INDICES = sizeof indices / sizeof *indices };
  for (size_t k = first; k < first + count; ++k)
    for (int64_t i = 0; i < it->sets[0].inputs[k].count; ++i)
      memcpy(tensor_at(&it->sets[0].inputs[k], i),
             &indices[k == first ? i % INDICES : i / INDICES % INDICES], sizeof *indices);
}

static void load_with(tbk_fixture_t* fx, const char* text, const int64_t* indexed_sizes,
                      int64_t index_bits) {
  static const int64_t sizes[2] = {15, 15};
  size_t mark = room_mark(fx);
  job_form_t form = {.program = job_program(fx, text),
                     .rank = 2,
                     .sizes = sizes,
                     .indexed_sizes = indexed_sizes,
                     .input = TENSOR_TURNED,
                     .index_bits = index_bits};
  if (fx->properties.max_rank == 1) form.rank = 1;
  job_make(fx, &job, &form);
  set_indices(&job, 0, 2);
  job_finish(fx, &job, TBK_HERE("LOAD"));
  room_release(fx, mark);
}

#define LOAD_BY_TWO(bounds)                                                     \
  "program 1\ninput 0 INT64\ninput 1 INT64\ninput 2 INT64 indexed 2\n"          \
  "input 3 BOOL indexed 1\nv0 = LOAD INT64 slot 0\nv1 = LOAD INT64 slot 1\n"    \
  "v2 = LOAD INT64 slot 2 " bounds " v0 v1\nv3 = LOAD INT64 slot 2 " bounds     \
  " v1 v0\nv4 = LOAD BOOL slot 3 " bounds " v0\nv5 = LOAD INT64 slot 2 " bounds \
  " v1 v1\nresult 0 v2\nresult 1 v3\nresult 2 v4\nresult 3 v5\n"

static void an_index_that_is_outside_gives_0(tbk_fixture_t* fx) {
  static const int64_t none[TENSOR_RANK] = {0, 3};
  for (int64_t bits = 32; bits <= 64; bits += 32) {
    load_with(fx, LOAD_BY_TWO("zero"), NULL, bits);
    load_with(fx, LOAD_BY_TWO("zero"), none, bits);
  }
}

static void an_index_that_is_outside_is_clamped(tbk_fixture_t* fx) {
  static const int64_t none[TENSOR_RANK] = {3, 0};
  for (int64_t bits = 32; bits <= 64; bits += 32) {
    load_with(fx, LOAD_BY_TWO("clamp"), NULL, bits);
    load_with(fx, LOAD_BY_TWO("clamp"), none, bits);
  }
}

/* Transposed, as gather and padding do it; each dtype. */
static void elements_are_loaded_by_index(tbk_fixture_t* fx) {
  static const int64_t sizes[2] = {3, 5};
  for (uint16_t dtype = 0; dtype < TBK_DTYPE_LIMIT; ++dtype) {
    static program_pool_t pool;
    if (!program_dtype_in(dtype, job_dtypes(fx)) || fx->properties.max_rank == 1) continue;
    program_pool_open(&pool);
    program_add_input(&pool, (tbk_program_input_t){dtype, TBK_INPUT_INDEXED, 2, 0});
    tbk_instruction_t place = {.opcode = TBK_OPCODE_COORDINATE, .dtype = TBK_INT64};
    tbk_instruction_t load = {.opcode = TBK_OPCODE_LOAD, .dtype = dtype};
    uint32_t operands[2];
    operands[1] = program_add(&pool, place, NULL, 0);
    place.slot = 1;
    operands[0] = program_add(&pool, place, NULL, 0);
    program_add_result(&pool, program_add(&pool, load, operands, 2));
    job_form_t form = {.program = &pool.program, .rank = 2, .sizes = sizes, .input = TENSOR_GAPS};
    JOB_RUN(fx, &job, &form);
  }
  CHECK(job_kernel(fx, false) != NULL);
}

/* Puts the coordinate of a dimension: as it is, or such as no compiler sees through, once `nothing` is 0. */
static uint32_t put_index(program_pool_t* pool, uint32_t dimension, const uint32_t* nothing) {
  const tbk_instruction_t place = {
      .opcode = TBK_OPCODE_COORDINATE, .dtype = TBK_INT64, .slot = (uint16_t)dimension};
  uint32_t both[2] = {program_add(pool, place, NULL, 0), 0};
  if (nothing == NULL) return both[0];
  both[1] = *nothing;
  return program_add(pool, (tbk_instruction_t){.opcode = TBK_OPCODE_XOR, .dtype = TBK_INT64}, both,
                     2);
}

/*
 * The dimensions of the space are those of the input in the other order; the last two are one longer than
 * what they index, whose elements beyond are 0.
 */
static void load_by(tbk_fixture_t* fx, uint32_t rank, bool computed) {
  static const int64_t own[TENSOR_RANK] = {2, 3, 2, 2, 2, 2, 2, 3};
  static program_pool_t pool;
  const tbk_instruction_t first = {.opcode = TBK_OPCODE_LOAD, .dtype = TBK_INT64};
  tbk_instruction_t load = {
      .opcode = TBK_OPCODE_LOAD, .dtype = TBK_INT64, .bounds = TBK_BOUNDS_ZERO};
  int64_t sizes[TENSOR_RANK] = {0};
  uint32_t operands[TENSOR_RANK], nothing;
  program_pool_open(&pool);
  program_add_input(&pool, (tbk_program_input_t){.dtype = TBK_INT64});
  load.slot = (uint16_t)program_add_input(
      &pool, (tbk_program_input_t){TBK_INT64, TBK_INPUT_INDEXED, (uint16_t)rank, 0});
  nothing = program_add(&pool, first, NULL, 0);
  for (uint32_t d = 0; d < rank; ++d) {
    const uint32_t of = rank - 1 - d;
    operands[of] = put_index(&pool, d, computed ? &nothing : NULL);
    sizes[d] = own[of] + (of + 2 >= rank);
  }
  program_add_result(&pool, program_add(&pool, load, operands, rank));
  const job_form_t form = {.program = &pool.program,
                           .rank = (int32_t)rank,
                           .sizes = sizes,
                           .indexed_sizes = own,
                           .input = TENSOR_GAPS};
  job_make(fx, &job, &form);
  memset(job.sets[0].inputs[0].model, 0, job.sets[0].inputs[0].block_bytes);
  job_finish(fx, &job, TBK_HERE("LOAD"));
}

static void every_index_of_an_element_counts(tbk_fixture_t* fx) {
  const int32_t most = fx->properties.max_rank;
  for (int32_t rank = 1; rank <= TENSOR_RANK && (most == 0 || rank <= most); ++rank)
    for (int computed = 0; computed < 2; ++computed) {
      const size_t mark = room_mark(fx);
      load_by(fx, (uint32_t)rank, computed != 0);
      room_release(fx, mark);
    }
}

/* ---------------------------------------------------------------------------------------- place -- */

static void a_place_is_counted_in_each_dimension(tbk_fixture_t* fx) {
  static const int64_t sizes[4] = {3, 4, 2, 5};
  static const tensor_layout_t layouts[] = {TENSOR_PLAIN, TENSOR_TURNED, TENSOR_ROWS};
  const tbk_program_t* program = job_program(
      fx,
      "program 1\nv0 = COORDINATE INT64 slot 0\nv1 = COORDINATE INT64 slot 1\n"
      "v2 = COORDINATE INT64 slot 2\nv3 = COORDINATE INT64 slot 3\nv4 = LINEAR_INDEX INT64\n"
      "result 0 v0\nresult 1 v1\nresult 2 v2\nresult 3 v3\nresult 4 v4\n");
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; ++i) {
    job_form_t form = {.program = program, .rank = 4, .sizes = sizes, .output = layouts[i]};
    JOB_RUN(fx, &job, &form);
  }
}

static void a_long_row_is_counted_to_its_end(tbk_fixture_t* fx) {
  static const int64_t sizes[1] = {70001};
  run_text(fx,
           "program 1\ninput 0 INT64\nv0 = LINEAR_INDEX INT64\nv1 = LOAD INT64 slot 0\n"
           "v2 = ADD INT64 v0 v1\nresult 0 v2\nresult 1 v0\n",
           1, sizes);
}

static void words_are_those_of_philox(tbk_fixture_t* fx) {
  static const int64_t sizes[1] = {500};
  run_text(fx,
           "program 1\ninput 0 INT64\ninput 1 INT64\ninput 2 INT64\nv0 = LOAD INT64 slot 0\n"
           "v1 = LOAD INT64 slot 1\nv2 = LOAD INT64 slot 2\nv3 = PHILOX INT64 slot 0 v0 v1 v2\n"
           "v4 = PHILOX INT64 slot 1 v0 v1 v2\nv5 = PHILOX INT64 slot 2 v0 v1 v2\n"
           "v6 = PHILOX INT64 slot 3 v0 v1 v2\nv7 = PHILOX INT64 slot 0 v0 v0 v0\n"
           "v8 = PHILOX INT64 slot 1 v0 v0 v1\nv9 = PHILOX INT64 slot 2 v1 v0 v0\n"
           "v10 = PHILOX INT64 slot 3 v0 v1 v0\n"
           "result 0 v3\nresult 1 v4\nresult 2 v5\nresult 3 v6\n"
           "result 4 v7\nresult 5 v8\nresult 6 v9\nresult 7 v10\n",
           1, sizes);
}

/* -------------------------------------------------------------------------------------- numbers -- */

static const char with_numbers[] =
    "program 1\ninput 0 INT64\nnumber 0 INT64\nnumber 1 BOOL\nv0 = LOAD INT64 slot 0\n"
    "v1 = NUMBER INT64 slot 0\nv2 = NUMBER BOOL slot 1\nv3 = XOR INT64 v0 v1\n"
    "v4 = SELECT INT64 v2 v3 v0\nresult 0 v4\nresult 1 v1\nresult 2 v2\n";
static const char with_real_number[] =
    "program 1\ninput 0 FLOAT32\nnumber 0 FLOAT32\nv0 = LOAD FLOAT32 slot 0\n"
    "v1 = NUMBER FLOAT32 slot 0\nv2 = ADD FLOAT32 v0 v1\nresult 0 v2\nresult 1 v1\n";

static void run_with_numbers(tbk_fixture_t* fx, const char* text, job_how_t how) {
  static const int64_t sizes[1] = {57};
  job_form_t form = {
      .program = job_program(fx, text), .rank = 1, .sizes = sizes, .sets = 3, .how = how};
  for (int round = 0; round < 8; ++round) {
    size_t mark = room_mark(fx);
    job_make(fx, &job, &form);
    /* 0 comes last: a number that is lost is then wrong in the first set, and not in later ones alone. */
    job.sets[0].numbers[0] = (uint64_t)(round + 1) % 8;
    job.plan_refused = false;
    job_finish(fx, &job, TBK_HERE("NUMBER"));
    if (job.plan_refused)
      fx_evidence(fx, TBK_NOT_SHOWN, "prepare refuses the program of this test, as it may");
    room_release(fx, mark);
  }
}

static void numbers_are_arguments(tbk_fixture_t* fx) {
  run_with_numbers(fx, with_numbers, JOB_NULL);
  if (fx_has_dtype(fx, TBK_FLOAT32)) run_with_numbers(fx, with_real_number, JOB_NULL);
}

static void numbers_are_arguments_of_a_plan(tbk_fixture_t* fx) {
  run_with_numbers(fx, with_numbers, JOB_PLAN);
  run_with_numbers(fx, with_numbers, JOB_TWICE);
  if (fx_has_dtype(fx, TBK_FLOAT32)) run_with_numbers(fx, with_real_number, JOB_TWICE);
}

static void tell_whether_there_are_plans(tbk_fixture_t* fx) {
  if (!operation_has_plans(job_kernel(fx, false)))
    fx_evidence(fx, TBK_NOT_SHOWN, "tbk::pointwise makes no plans, and was launched");
}

/* Prepared without memory, and with numbers that are 0. */
static void a_plan_is_made_without_numbers(tbk_fixture_t* fx) {
  tell_whether_there_are_plans(fx);
  run_with_numbers(fx, with_numbers, JOB_PLAN);
}

static void a_plan_serves_any_numbers(tbk_fixture_t* fx) {
  tell_whether_there_are_plans(fx);
  run_with_numbers(fx, with_numbers, JOB_TWICE);
}

/* ----------------------------------------------------------------------------------------- sets -- */

static void no_set_is_nothing_to_do(tbk_fixture_t* fx) {
  static const int64_t sizes[1] = {5};
  job_form_t form = {.program = job_program(fx, with_numbers), .rank = 1, .sizes = sizes};
  job_make(fx, &job, &form);
  job_ready(fx, &job);
  job_describe(&job);
  ((tbk_args_pointwise_t*)job_arguments())->set_count = 0;
  CHECK_OK(job_launch(fx, &job, NULL));
  job_check_untouched(fx, &job, TBK_HERE("no sets"));
}

static const tbk_case_t cases[] = {
    TBK_CASE("PRG-001", "op:tbk::pointwise dtype:INT64", 0, a_program_of_some_size_is_taken),
    TBK_CASE("PRG-004", "op:tbk::pointwise dtype:INT64 dtype:BOOL", 0,
             an_index_that_is_outside_gives_0),
    TBK_CASE("PRG-004", "op:tbk::pointwise dtype:INT64 dtype:BOOL", 0,
             an_index_that_is_outside_is_clamped),
    TBK_CASE("PRG-004", "op:tbk::pointwise dtype:INT64", 0, elements_are_loaded_by_index),
    TBK_CASE("PRG-004", "op:tbk::pointwise dtype:INT64", 0, every_index_of_an_element_counts),
    TBK_CASE("PRG-005", "op:tbk::pointwise dtype:INT64", 0, a_place_is_counted_in_each_dimension),
    TBK_CASE("PRG-005", "op:tbk::pointwise dtype:INT64", 0, a_long_row_is_counted_to_its_end),
    TBK_CASE("PRG-006", "op:tbk::pointwise dtype:INT64", 0, words_are_those_of_philox),
    TBK_CASE("PRG-007", "op:tbk::pointwise dtype:INT64 dtype:BOOL", 0, numbers_are_arguments),
    TBK_CASE("PRG-007", "op:tbk::pointwise dtype:INT64 dtype:BOOL", 0,
             numbers_are_arguments_of_a_plan),
    TBK_CASE("KRN-009", "op:tbk::pointwise prepare dtype:INT64 dtype:BOOL", 0,
             a_plan_is_made_without_numbers),
    TBK_CASE("KRN-013", "op:tbk::pointwise prepare dtype:INT64 dtype:BOOL", 0,
             a_plan_serves_any_numbers),
    TBK_CASE("PRG-008", "op:tbk::pointwise dtype:INT64 dtype:BOOL", 0, no_set_is_nothing_to_do),
};
TBK_SUITE(program);
