/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "draw.h"

#include "opcode.h"

uint64_t program_random(uint64_t* state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static uint32_t below(uint64_t* state, size_t limit) {
  return (uint32_t)(program_random(state) % limit);
}

static uint16_t draw_dtype(uint64_t* state, uint64_t set) {
  uint16_t dtype;
  do
    dtype = (uint16_t)below(state, TBK_DTYPE_LIMIT);
  while (!program_dtype_in(dtype, set));
  return dtype;
}

/* ---------------------------------------------------------------------------------- constants -- */

/* Bits that mean something in each format: zeros, ones, infinities, NaN, extremes, subnormals. */
static uint64_t special_bits(uint64_t* state, int64_t size) {
  static const uint64_t doubles[] = {0,
                                     UINT64_C(1) << 63,
                                     UINT64_C(0x3ff0000000000000),
                                     UINT64_C(0xbff0000000000000),
                                     1,
                                     2,
                                     UINT64_C(0x7ff0000000000000),
                                     UINT64_C(0xfff0000000000000),
                                     ~UINT64_C(0),
                                     UINT64_C(0x7ff8000000000000),
                                     UINT64_C(0x7fefffffffffffff),
                                     UINT64_C(0x4004000000000000)};
  static const uint32_t floats[] = {0,   0x80000000, 0x3f800000, 0xbf800000,
                                    1,   2,          0x7f800000, 0xff800000,
                                    ~0u, 0x7fc00000, 0x7f7fffff, 0x40200000};
  uint32_t which = below(state, sizeof floats / sizeof *floats);
  return size == 8 ? doubles[which] : size == 4 ? floats[which] : floats[which] >> 16;
}

uint64_t program_draw_bits(uint64_t* state, uint32_t dtype) {
  int64_t size = tbk_dtype_bytes((int32_t)dtype);
  uint64_t bits;
  switch (below(state, 4)) {
    case 0:
      bits = program_random(state);
      break;
    case 1:
      bits = below(state, 256);
      break;
    default:
      bits = special_bits(state, size);
      break;
  }
  if (dtype == TBK_BOOL) return bits & 1;
  return size == 8 ? bits : bits & ((UINT64_C(1) << (8 * size)) - 1);
}

/* ------------------------------------------------------------------------------- instructions -- */

#define NUMBER_OF(name, number, operands, takes, gives, bound, meaning) (number),
static const uint16_t all_opcodes[] = {TBK_OPCODE_MAP(NUMBER_OF)};

typedef struct drawing {
  program_pool_t* pool;
  const program_wish_t* wish;
  uint64_t* state;
} drawing_t;

/* Finds an earlier value whose dtype is of the set; tries a few, the latest ones more often. */
static bool find_value(const drawing_t* d, uint64_t set, uint32_t* out_value) {
  size_t count = d->pool->program.instruction_count;
  if (count == 0) return false;
  for (int attempt = 0; attempt < 12; ++attempt) {
    size_t recent = attempt % 2 == 0 && count > 6 ? 6 : count;
    uint32_t value = (uint32_t)(count - 1 - below(d->state, recent));
    if (program_dtype_in(d->pool->instructions[value].dtype, set)) return *out_value = value, true;
  }
  return false;
}

static uint32_t add_constant(const drawing_t* d, uint64_t set) {
  tbk_instruction_t i = {.opcode = TBK_OPCODE_CONSTANT, .dtype = draw_dtype(d->state, set)};
  i.immediate = program_draw_bits(d->state, i.dtype);
  return program_add(d->pool, i, NULL, 0);
}

static uint32_t value_or_constant(const drawing_t* d, uint64_t set) {
  uint32_t value;
  return find_value(d, set, &value) ? value : add_constant(d, set);
}

static uint64_t dtype_set(uint16_t dtype) {
  return UINT64_C(1) << dtype;
}

static void add_load(const drawing_t* d, tbk_instruction_t i) {
  const tbk_program_t* p = &d->pool->program;
  uint32_t operands[TBK_PROGRAM_MOST_RANK];
  i.slot = (uint16_t)below(d->state, p->input_count);
  i.dtype = d->pool->inputs[i.slot].dtype;
  uint32_t rank = d->pool->inputs[i.slot].rank;
  if (rank > 0) i.bounds = (uint16_t)(1 + below(d->state, 2));
  for (uint32_t k = 0; k < rank; ++k)
    operands[k] = value_or_constant(d, PROGRAM_INT64);
  program_add(d->pool, i, operands, rank);
}

/* Adds an instruction that names a slot; adds none where nothing is declared that it could name. */
static void add_slotted(const drawing_t* d, tbk_instruction_t i) {
  const tbk_program_t* p = &d->pool->program;
  bool number = i.opcode == TBK_OPCODE_NUMBER, parameter = i.opcode == TBK_OPCODE_PARAMETER;
  size_t count = number ? p->number_count : parameter ? p->parameter_count : (size_t)d->wish->rank;
  if (!number && !parameter && !d->wish->placed) return;
  if (i.opcode == TBK_OPCODE_LOAD && p->input_count > 0) add_load(d, i);
  if (i.opcode == TBK_OPCODE_LOAD || count == 0) return;
  i.slot = (uint16_t)below(d->state, count);
  i.dtype = number ? d->pool->numbers[i.slot] : parameter ? d->pool->parameters[i.slot] : TBK_INT64;
  program_add(d->pool, i, NULL, 0);
}

static uint16_t own_dtype(const drawing_t* d, uint16_t opcode, uint16_t from) {
  if (opcode != TBK_OPCODE_BITCAST) return draw_dtype(d->state, d->wish->dtypes & PROGRAM_ANY);
  bool wide = from == TBK_INT64 || from == TBK_FLOAT64;
  uint64_t set =
      wide ? PROGRAM_BIT(INT64) | PROGRAM_BIT(FLOAT64) : PROGRAM_BIT(INT32) | PROGRAM_BIT(FLOAT32);
  return draw_dtype(d->state, (set & d->wish->dtypes) | dtype_set(from));
}

static void add_computed(const drawing_t* d, tbk_instruction_t i) {
  const program_opcode_t* row = program_opcode(i.opcode);
  uint64_t takes = row->takes & d->wish->dtypes;
  uint32_t operands[3] = {0}, first = i.opcode == TBK_OPCODE_SELECT ? 1 : 0;
  if (takes == 0) return;
  if (first == 1) operands[0] = value_or_constant(d, PROGRAM_BIT(BOOL));
  uint16_t dtype = TBK_INT64;
  for (uint32_t k = first; k < (uint32_t)row->operands; ++k) {
    operands[k] = value_or_constant(d, k == first ? takes : dtype_set(dtype));
    dtype = d->pool->instructions[operands[k]].dtype;
  }
  i.dtype = row->gives == PROGRAM_GIVES_BOOL    ? TBK_BOOL
            : row->gives == PROGRAM_GIVES_INT64 ? TBK_INT64
            : row->gives == PROGRAM_GIVES_OWN   ? own_dtype(d, i.opcode, dtype)
                                                : dtype;
  if (i.opcode == TBK_OPCODE_PHILOX) i.slot = (uint16_t)below(d->state, 4);
  program_add(d->pool, i, operands, (uint32_t)row->operands);
}

static void add_any(const drawing_t* d) {
  tbk_instruction_t i = {
      .opcode = all_opcodes[below(d->state, sizeof all_opcodes / sizeof *all_opcodes)]};
  if (i.opcode == TBK_OPCODE_CONSTANT) {
    add_constant(d, d->wish->dtypes & PROGRAM_ANY);
  } else if (i.opcode == TBK_OPCODE_LINEAR_INDEX) {
    i.dtype = TBK_INT64;
    if (d->wish->placed) program_add(d->pool, i, NULL, 0);
  } else if (program_uses_slot(i.opcode) && i.opcode != TBK_OPCODE_PHILOX) {
    add_slotted(d, i);
  } else {
    add_computed(d, i);
  }
}

/* ----------------------------------------------------------------------------------- the whole - */

static void add_inputs(const drawing_t* d) {
  for (uint32_t left = below(d->state, 5); left > 0; --left) {
    bool indexed = below(d->state, 3) == 0;
    tbk_program_input_t input = {.dtype = draw_dtype(d->state, d->wish->dtypes & PROGRAM_ANY),
                                 .kind = indexed ? TBK_INPUT_INDEXED : TBK_INPUT_ALIGNED,
                                 .rank = indexed ? (uint16_t)below(d->state, 4) : 0};
    program_add_input(d->pool, input);
  }
}

void program_draw(program_pool_t* pool, const program_wish_t* wish, uint64_t* state) {
  const drawing_t d = {pool, wish, state};
  size_t wanted = 1 + below(state, wish->instructions);
  if (wish->placed) add_inputs(&d);
  for (uint32_t left = below(state, 4); left > 0; --left)
    program_add_number(pool, draw_dtype(state, PROGRAM_NUMBER & wish->dtypes));
  while (pool->program.instruction_count < wanted)
    add_any(&d);
  for (size_t r = 0; r < wish->results; ++r)
    program_add_result(pool, value_or_constant(&d, wish->result_dtypes));
}
