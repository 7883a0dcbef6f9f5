/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * opcode_run.c: see opcode_run.h.
 */
#include "opcode_run.h"

#include <float.h>
#include <math.h>

#include "room.h"

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

void opcode_set_special(const number_type_t* type, int64_t which, void* element) {
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
      opcode_set_special(set->inputs[k].type, which, tensor_at(&set->inputs[k], i));
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

uint32_t opcode_load(program_pool_t* pool, uint16_t dtype) {
  tbk_instruction_t i = {.opcode = TBK_OPCODE_LOAD, .dtype = dtype};
  i.slot = (uint16_t)program_add_input(pool, (tbk_program_input_t){.dtype = dtype});
  return program_add(pool, i, NULL, 0);
}

uint16_t opcode_gives(const program_opcode_t* row, uint16_t takes) {
  if (row->gives == PROGRAM_GIVES_BOOL) return TBK_BOOL;
  return row->gives == PROGRAM_GIVES_INT64 ? TBK_INT64 : takes;
}

void opcode_add(program_pool_t* pool, uint16_t opcode, const uint32_t* operands, uint16_t gives) {
  tbk_instruction_t i = {.opcode = opcode, .dtype = gives};
  uint32_t count = (uint32_t)program_opcode(opcode)->operands;
  program_add_result(pool, program_add(pool, i, operands, count));
}

void opcode_run(tbk_fixture_t* fx, const tbk_program_t* program, const char* said) {
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
