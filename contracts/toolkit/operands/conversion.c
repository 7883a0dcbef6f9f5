/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "conversion.h"

#include <math.h>

bool conversion_has_rule(int32_t from_dtype, int32_t to_dtype) {
  const number_type_t *from = number_type(from_dtype), *to = number_type(to_dtype);
  return from != to && (!from->is_complex || to->is_complex || to_dtype == TBK_BOOL);
}

/* Lists values, with the least size of dtypes from which, and to which, they are converted. */
static const struct {
  long double value;
  size_t from_bytes; /* integers and floats of this size or more */
  size_t to_bytes;
} candidates[] = {{0, 1, 1},
                  {1, 1, 1},
                  {2, 1, 1},
                  {100, 1, 1},
                  {127, 1, 1},
                  {-1, 1, 1},
                  {-100, 1, 1},
                  {256, 2, 2},
                  {257, 2, 2},
                  {259, 2, 2},
                  {2049, 2, 2},
                  {2051, 2, 2},
                  {-2049, 2, 2},
                  {16777217, 4, 4},
                  {16777219, 4, 4},
                  {-16777217, 4, 4},
                  {0x1p53L + 1, 8, 8},
                  {0x1p53L + 3, 8, 8},
                  {1.75L, 2, 1},
                  {-1.75L, 2, 1},
                  {0.25L, 2, 1},
                  {-0.75L, 2, 1},
                  {100.5L, 2, 1},
                  {1000000.5L, 4, 4},
                  {0x1.002p0L, 4, 2},
                  {0x1.006p0L, 4, 2},
                  {0x1.01p0L, 4, 2},
                  {0x1.03p0L, 4, 2},
                  {0x1.000001p0L, 8, 4},
                  {0x1.000003p0L, 8, 4},
                  {0x1.002p0L + 0x1p-50L, 8, 2}, /* just above a tie: to be rounded once */
                  {0x1.006p0L - 0x1p-50L, 8, 2},
                  {0x1.01p0L + 0x1p-50L, 8, 2},
                  {0x1.03p0L - 0x1p-50L, 8, 2},
                  {200, 1, 2},
                  {255, 1, 2},
                  {-0.0L, 2, 2}};

/* Finds the values of `from` that have one right conversion to `to`; those that do not fit are left out. */
static size_t convertible(const number_type_t* from, const number_type_t* to, long double* out) {
  size_t count = 0;
  for (size_t i = 0; i < sizeof candidates / sizeof *candidates; ++i) {
    long double value = candidates[i].value;
    size_t to_bytes = to->dtype == TBK_BOOL ? 8 : to->size;
    if (from->dtype == TBK_INT8 && value > 127) continue;
    if (from->dtype == TBK_BOOL && value != 0 && value != 1) continue;
    if (value < 0 && (!from->is_signed || (to->digits == 0 && !to->is_signed))) continue;
    if (from->size < candidates[i].from_bytes || to_bytes < candidates[i].to_bytes) continue;
    if (from->digits == 0 && value != truncl(value)) continue;
    if (from->size == 2 && from->digits > 0 && fabsl(value) > 3000) continue;
    out[count++] = value;
  }
  return count;
}

static void store(const number_type_t* from, void* element, long double value) {
  const number_t number = {(uint64_t)(int64_t)value, value, from->is_complex ? 2 - value : 0};
  number_store(from, element, number);
}

/* Goes on to the next value at the next place, not at the next element: some of these share theirs. */
void conversion_inputs(tbk_fixture_t* fx, operation_t* operation) {
  const tensor_t* input = &operation->inputs[0];
  const number_type_t *from = input->type, *to = operation->output.type;
  const bool has_nans = from->digits > 0 && to->digits > 0;
  long double values[CONVERSION_VALUES];
  const size_t count = convertible(from, to, values), all = count + (has_nans ? NUMBER_NANS : 0);
  uint8_t* filled = fx_zeros(fx, input->storage_bytes);
  size_t next = fx_random(fx) % all;
  for (tensor_walk_t w = tensor_first(input); w.index < input->count; tensor_step(&w)) {
    if (filled[w.place]++ != 0) continue;
    if (next < count)
      store(from, tensor_walk_at(&w), values[next]);
    else
      number_store_nan(from, tensor_walk_at(&w), (int)(next - count));
    next = (next + 1) % all;
  }
}
