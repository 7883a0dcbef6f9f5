/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * extreme.c: which reductions these are, and how they find their element: a tile is folded by one opcode, and where
 * that is better than what was seen, looked through for it.
 */
#include "extreme.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"

/* ------------------------------------------------------------------------------------- recognized -- */

/*
 * A program that only compares its parameters with each other and with 0, and chooses one of them, sees no more of them
 * than their order. So these cases are all: two indices, and values below, at, between and above them and 0, as far as
 * they are INT64, too; and NaN. Indices are of elements, never below 0, and never equal.
 */
enum { LEAST = -2, NOT_A_NUMBER = 9, VALUES = NOT_A_NUMBER - LEAST + 1, PAIRS = 6 };
enum { CASES = VALUES * VALUES * PAIRS, PARAMETERS = 4 };
static const int64_t pairs[PAIRS][2] = {{0, 3}, {3, 0}, {3, 6}, {6, 3}, {0, 6}, {6, 0}};

static bool only_orders(const code_t* combine) {
  for (size_t i = 0; i < combine->step_count; i++) {
    const code_step_t* step = &combine->steps[i];
    switch (step->opcode) {
      case TBK_OPCODE_EQ:
      case TBK_OPCODE_NE:
      case TBK_OPCODE_LT:
      case TBK_OPCODE_LE:
      case TBK_OPCODE_GT:
      case TBK_OPCODE_GE:
      case TBK_OPCODE_ISNAN:
      case TBK_OPCODE_SELECT:
        break;
      case TBK_OPCODE_AND:
      case TBK_OPCODE_OR:
      case TBK_OPCODE_XOR:
      case TBK_OPCODE_NOT:
        if (step->dtype != TBK_BOOL) return false;
        break;
      case TBK_OPCODE_CONSTANT:
        if (step->dtype != TBK_INT64 || step->immediate != 0) return false;
        break;
      default:
        return false;
    }
  }
  return true;
}

static bool is_real(uint16_t dtype) {
  return dtype == TBK_FLOAT32 || dtype == TBK_FLOAT64;
}

static void put_value(void* buffer, size_t i, uint16_t dtype, int value) {
  const double real = value == NOT_A_NUMBER ? (double)NAN : value;
  switch (dtype) {
    case TBK_FLOAT32:
      ((float*)buffer)[i] = (float)real;
      break;
    case TBK_FLOAT64:
      ((double*)buffer)[i] = real;
      break;
    case TBK_INT32:
      ((int32_t*)buffer)[i] = value;
      break;
    default:
      ((int64_t*)buffer)[i] = value;
  }
}

/* A case: its values and indices. */
typedef struct duel {
  int value[2];
  const int64_t* index;
} duel_t;

static duel_t duel_at(int i) {
  return (duel_t){{LEAST + i / PAIRS % VALUES, LEAST + i / PAIRS / VALUES}, pairs[i % PAIRS]};
}

static bool second_wins(const duel_t* duel, uint16_t opcode, uint16_t dtype) {
  const int a = duel->value[0], b = duel->value[1];
  if (a == b) return duel->index[1] < duel->index[0];
  if (is_real(dtype) && a == NOT_A_NUMBER) return false;
  if (is_real(dtype) && b == NOT_A_NUMBER) return true;
  return opcode == TBK_OPCODE_MAX ? b > a : b < a;
}

/* Returns whether combine, which has been run on all cases, gave what `opcode` would. */
static bool gave(const frame_t* frame, uint16_t opcode) {
  const uint16_t dtype = frame->code->parameter_dtypes[0];
  const size_t bytes = (size_t)tbk_dtype_bytes(dtype);
  const char* value = frame_result(frame, 0);
  const int64_t* index = frame_result(frame, 1);
  for (size_t i = 0; i < CASES; i++) {
    const duel_t duel = duel_at((int)i);
    const int winner = second_wins(&duel, opcode, dtype);
    const char* right = (const char*)frame->buffers[2 * winner] + i * bytes;
    if (index[i] != duel.index[winner] || memcmp(value + i * bytes, right, bytes) != 0)
      return false;
  }
  return true;
}

/* Runs combine on all cases. Returns the opcode, or TBK_OPCODE_LIMIT where it is none. */
static uint16_t try_cases(const code_t* combine) {
  const size_t lanes = cpu_whole_lanes(CASES), bytes = frame_buffer_bytes(lanes);
  char* memory = calloc(1, PARAMETERS * bytes + frame_bytes(combine, lanes));
  if (!memory) return TBK_OPCODE_LIMIT; /* it is computed as others are */
  frame_t frame;
  frame_make(&frame, combine, lanes, memory + PARAMETERS * bytes);
  for (size_t i = 0; i < PARAMETERS; i++)
    frame.buffers[i] = memory + i * bytes;
  for (size_t i = 0; i < CASES; i++) {
    const duel_t duel = duel_at((int)i);
    for (size_t side = 0; side < 2; side++) {
      put_value(frame.buffers[2 * side], i, combine->parameter_dtypes[0], duel.value[side]);
      ((int64_t*)frame.buffers[2 * side + 1])[i] = duel.index[side];
    }
  }
  const space_t space = {0};
  const tile_t tile = {.space = &space, .count = lanes};
  frame_begin(&frame, &space, NULL, lanes);
  frame_run(&frame, &tile);
  uint16_t opcode = TBK_OPCODE_LIMIT;
  if (gave(&frame, TBK_OPCODE_MAX)) opcode = TBK_OPCODE_MAX;
  if (gave(&frame, TBK_OPCODE_MIN)) opcode = TBK_OPCODE_MIN;
  free(memory);
  return opcode;
}

void extreme_recognize(kernel_code_t* code) {
  const code_t *map = code->parts[CODE_MAP], *combine = code->parts[CODE_COMBINE];
  if (map->result_count != 2 || map->result_steps[1] == CODE_NOWHERE) return;
  if (map->steps[map->result_steps[1]].opcode != TBK_OPCODE_LINEAR_INDEX) return;
  if (!cpu_fold_find(TBK_OPCODE_MAX, map->result_dtypes[0], CPU_FOLD_ELEMENTS) ||
      !only_orders(combine))
    return;
  code->extreme = try_cases(combine);
  if (code->extreme == TBK_OPCODE_LIMIT) return;
  tbk_program_t values = *code->reduction->map;
  values.result_count = 1;
  code->values = code_new(&values);
}

/* ------------------------------------------------------------------------------------------ found -- */

extreme_t extreme_begin(const kernel_code_t* code) {
  if (!code->values) return (extreme_t){0};
  const uint16_t dtype = code->values->result_dtypes[0];
  return (extreme_t){cpu_fold_find(code->extreme, dtype, CPU_FOLD_ELEMENTS), code->extreme, dtype,
                     0, -1};
}

/* So many bytes of a buffer are compared at once. */
enum { VECTOR_BYTES = 16, VECTORS = 4 };
typedef int64_t hits_t __attribute__((vector_size(VECTOR_BYTES)));

/* Defines what looks for one that is surely there, and sees the elements of a tile. */
#define EXTREME(name, T)                                                                      \
  static size_t find_##name(const T* values, T value) {                                       \
    typedef T vector_t __attribute__((vector_size(VECTOR_BYTES), may_alias));                 \
    const vector_t* at = (const vector_t*)(const void*)values;                                \
    const bool odd = value != value;                                                          \
    for (hits_t hits = {0};; at += VECTORS) {                                                 \
      for (int i = 0; i < VECTORS; i++)                                                       \
        hits |= odd ? (hits_t)(at[i] != at[i]) : (hits_t)(at[i] == value);                    \
      if (hits[0] | hits[1]) break;                                                           \
    }                                                                                         \
    size_t i = (size_t)((const T*)(const void*)at - values);                                  \
    while (odd ? values[i] == values[i] : values[i] != value)                                 \
      i++;                                                                                    \
    return i;                                                                                 \
  }                                                                                           \
  static void add_##name(extreme_t* extreme, const T* values, size_t count, int64_t first) {  \
    T found, best;                                                                            \
    extreme->fold(&found, values, count);                                                     \
    memcpy(&best, &extreme->value, sizeof best);                                              \
    const bool better = extreme->opcode == TBK_OPCODE_MAX ? found > best : found < best;      \
    if (extreme->index >= 0 && !better && (found == found || best != best)) return;           \
    const size_t at = find_##name(values, found);                                             \
    memcpy(&extreme->value, values + at, sizeof found); /* of two zeros the one that it is */ \
    extreme->index = first + (int64_t)at;                                                     \
  }
EXTREME(float, float)
EXTREME(double, double)
EXTREME(int32, int32_t)
EXTREME(int64, int64_t)

void extreme_add(extreme_t* extreme, const void* values, size_t count, int64_t first) {
  switch (extreme->dtype) {
    case TBK_FLOAT32:
      add_float(extreme, values, count, first);
      break;
    case TBK_FLOAT64:
      add_double(extreme, values, count, first);
      break;
    case TBK_INT32:
      add_int32(extreme, values, count, first);
      break;
    default:
      add_int64(extreme, values, count, first);
  }
}
