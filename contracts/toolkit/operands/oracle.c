/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------ inputs -- */

static int log2_above(int64_t count) {
  int bits = 0;
  while (bits < 62 && INT64_C(1) << bits < count)
    ++bits;
  return bits;
}

/* Returns how many elements of the input go into one of the output. */
static int64_t fan_in(const operation_t* operation) {
  const form_t* form = &operation->form;
  if (form->id == OPERATOR_MM) return form->sizes[1];
  int64_t outputs = operation->output.count;
  return form->id == OPERATOR_SUM && outputs > 0 ? operation->inputs[0].count / outputs : 1;
}

/* So many bits that every result, also of a part, can be represented in the output's type. */
static int exact_bits(const operation_t* operation, int index) {
  int digits = operation->output.type->digits;
  if (digits == 0) return 5;
  int room = digits - 1 - log2_above(fan_in(operation));
  int bits = digits - 3;
  if (operation->form.id == OPERATOR_SUM) bits = room;
  if (operation->form.id == OPERATOR_MUL) bits = digits / 2 - operation->output.type->is_complex;
  if (operation->form.id == OPERATOR_MM) {
    room -= operation->output.type->is_complex;
    int narrow = room / 4 > 1 ? room / 4 : 1;
    bits = (index == 0) == operation->narrow_first ? narrow : room - narrow;
  }
  return bits > 1 ? bits : 1;
}

/* Odd where terms are added up: the last bit counts, and no product is a zero that has a sign. */
static bool wants_odd(const operation_t* operation) {
  operator_id_t id = operation->form.id;
  return id == OPERATOR_MM || (id == OPERATOR_MUL && operation->output.type->is_complex);
}

static long double exact_real(tbk_fixture_t* fx, int bits, bool odd) {
  int64_t magnitude = (int64_t)((fx_random(fx) & ((UINT64_C(1) << bits) - 1)) | odd);
  return (long double)(fx_random(fx) % 2 == 0 ? magnitude : -magnitude) / 8;
}

static long double general_real(tbk_fixture_t* fx) {
  long double significand = (long double)(fx_random(fx) >> 1) / 0x1p63L + 1;
  long double value = ldexpl(significand, (int)(fx_random(fx) % 7) - 3);
  return fx_random(fx) % 2 == 0 ? value : -value;
}

static long double special_real(tbk_fixture_t* fx) {
  static const long double special[] = {0, -0.0L, INFINITY, -INFINITY, NAN, 1, -1, 2, -0.5L};
  return special[fx_random(fx) % (sizeof special / sizeof *special)];
}

/* Beyond it lies infinity only: the largest exponent, and a significand of ones. */
static long double largest_real(const number_type_t* type) {
  int exponent = type->digits == 11 ? 16 : type->digits == 53 ? 1024 : 128;
  return ldexpl(1, exponent) - ldexpl(1, exponent - type->digits);
}

static number_t fresh_number(tbk_fixture_t* fx, const operation_t* operation,
                             const number_type_t* type, int bits) {
  number_t value = {fx_random(fx), 0, 0};
  values_t values = operation->form.values;
  if (type->dtype == TBK_BOOL) value.integer &= 1;
  if (type->digits == 0) {
    if (values == VALUES_EXACT) value.integer &= 31;
    if (values == VALUES_LARGEST)
      value.integer =
          type->dtype == TBK_BOOL ? 1 : UINT64_MAX >> (64 - 8 * type->size + type->is_signed);
    return value;
  }
  for (int part = 0; part < 1 + type->is_complex; ++part) {
    long double real = values == VALUES_SPECIAL   ? special_real(fx)
                       : values == VALUES_GENERAL ? general_real(fx)
                       : values == VALUES_LARGEST ? largest_real(type)
                                                  : exact_real(fx, bits, wants_odd(operation));
    *(part == 0 ? &value.real : &value.imaginary) = real;
  }
  return value;
}

void oracle_inputs(tbk_fixture_t* fx, operation_t* operation, int index) {
  tensor_t* tensor = &operation->inputs[index];
  int bits = exact_bits(operation, index);
  bool any_bits = operation->form.values == VALUES_ANY && tensor->type->dtype != TBK_BOOL;
  for (int64_t i = 0; i < tensor->count; ++i) {
    uint64_t raw[2] = {fx_random(fx), fx_random(fx)};
    if (any_bits)
      memcpy(tensor_at(tensor, i), raw, tensor->type->size);
    else
      number_store(tensor->type, tensor_at(tensor, i),
                   fresh_number(fx, operation, tensor->type, bits));
  }
}

static void scalar_alpha(tbk_fixture_t* fx, operation_t* operation) {
  static const double factors[] = {1, 2, -1, 0.5};
  bool whole = operation->output.type->digits == 0;
  double alpha = factors[fx_random(fx) % (whole ? 3 : 4)];
  if (operation->form.values >= VALUES_SPECIAL) alpha = 1;
  if (operation->form.alpha != NULL) alpha = *operation->form.alpha;
  operation->scalar = (tbk_scalar_t){TBK_SCALAR_DOUBLE, 0, alpha, 0};
  if (whole) operation->scalar = (tbk_scalar_t){TBK_SCALAR_INT, (int64_t)alpha, 0, 0};
}

void oracle_scalar(tbk_fixture_t* fx, operation_t* operation) {
  const number_type_t* type = operation->output.type;
  if (operation->form.id == OPERATOR_ADD) {
    scalar_alpha(fx, operation);
    return;
  }
  number_t value = fresh_number(fx, operation, type, type->digits > 0 ? type->digits - 3 : 5);
  operation->scalar.kind = type->dtype == TBK_BOOL ? TBK_SCALAR_BOOL
                           : type->digits == 0     ? TBK_SCALAR_INT
                           : type->is_complex      ? TBK_SCALAR_COMPLEX
                                                   : TBK_SCALAR_DOUBLE;
  if (type->digits == 0) operation->scalar.integer = (int64_t)(value.integer & 31);
  operation->scalar.real = (double)value.real;
  operation->scalar.imaginary = (double)value.imaginary;
}

/* ----------------------------------------------------------------------------------- results -- */

number_t oracle_converted(const number_type_t* type, const tbk_scalar_t* scalar) {
  number_t value = {(uint64_t)scalar->integer, (long double)scalar->integer, 0};
  if (scalar->kind == TBK_SCALAR_INT || scalar->kind == TBK_SCALAR_BOOL) return value;
  value = (number_t){0, scalar->real, scalar->imaginary};
  if (type->dtype == TBK_BOOL)
    value.integer = scalar->real != 0;
  else if (type->digits == 0)
    value.integer = (uint64_t)(int64_t)scalar->real;
  return value;
}

static number_t add(number_t a, number_t b) {
  return (number_t){a.integer + b.integer, a.real + b.real, a.imaginary + b.imaginary};
}

static number_t multiply(const number_type_t* type, number_t a, number_t b) {
  if (!type->is_complex) return (number_t){a.integer * b.integer, a.real * b.real, 0};
  return (number_t){0, a.real * b.real - a.imaginary * b.imaginary,
                    a.real * b.imaginary + a.imaginary * b.real};
}

/* Returns what copy_ makes of an element of another dtype. */
static number_t convert(const number_type_t* from, const number_type_t* to, number_t value) {
  bool nonzero = from->digits == 0 ? value.integer != 0 : value.real != 0 || value.imaginary != 0;
  if (to->dtype == TBK_BOOL) return (number_t){nonzero, 0, 0};
  if (from->digits == 0) {
    value.real = from->is_signed ? (long double)(int64_t)value.integer : (long double)value.integer;
    return value;
  }
  if (to->digits == 0) value.integer = (uint64_t)(int64_t)value.real;
  return value;
}

static number_t element(const operation_t* operation, int index, int64_t i) {
  const tensor_t* tensor = &operation->inputs[index];
  return number_load(tensor->type, tensor_at(tensor, i));
}

static number_t pointwise(const operation_t* operation, int64_t i) {
  const number_type_t* type = operation->output.type;
  number_t alpha = oracle_converted(type, &operation->scalar);
  switch (operation->form.id) {
    case OPERATOR_FILL:
      return alpha;
    case OPERATOR_ADD: /* a real factor scales both parts, and makes no NaN of an infinity */
      if (operation->scalar.kind == TBK_SCALAR_COMPLEX)
        return add(element(operation, 0, i), multiply(type, alpha, element(operation, 1, i)));
      alpha = (number_t){alpha.integer * element(operation, 1, i).integer,
                         alpha.real * element(operation, 1, i).real,
                         alpha.real * element(operation, 1, i).imaginary};
      return add(element(operation, 0, i), alpha);
    case OPERATOR_MUL:
      return multiply(type, element(operation, 0, i), element(operation, 1, i));
    default:
      return convert(operation->inputs[0].type, type, element(operation, 0, i));
  }
}

/* Copies and selections of one dtype keep the bits, also those of a NaN that a load would change.
 * */
static const void* selected(const operation_t* operation, int64_t i) {
  const form_t* form = &operation->form;
  if (form->id == OPERATOR_COPY && !form->converts) return tensor_at(&operation->inputs[0], i);
  if (form->id != OPERATOR_WHERE) return NULL;
  bool condition = *(const uint8_t*)tensor_at(&operation->inputs[0], i) != 0;
  return tensor_at(&operation->inputs[condition ? 1 : 2], i);
}

static void compute_pointwise(operation_t* operation) {
  tensor_t* output = &operation->output;
  for (int64_t i = 0; i < output->count; ++i) {
    const void* bits = selected(operation, i);
    if (bits != NULL)
      memmove(tensor_at(output, i), bits, output->type->size);
    else
      number_store(output->type, tensor_at(output, i), pointwise(operation, i));
  }
}

/* Row-major index in the output of what element `index` of the input is added to. */
static int64_t sum_target(const operation_t* operation, int64_t index) {
  const tensor_t* input = &operation->inputs[0];
  uint32_t reduced = operation->form.reduced != 0 ? operation->form.reduced : ~0u;
  int64_t target = 0;
  int64_t stride = 1;
  for (int32_t k = input->rank - 1; k >= 0; --k) {
    int64_t along = index % input->sizes[k];
    index /= input->sizes[k];
    if (reduced >> k & 1) continue;
    target += along * stride;
    stride *= input->sizes[k];
  }
  return target;
}

static void compute_sum(operation_t* operation) {
  tensor_t* output = &operation->output;
  const tensor_t* input = &operation->inputs[0];
  number_t* sums = calloc((size_t)output->count + 1, sizeof *sums);
  if (sums == NULL) abort();
  for (int64_t i = 0; i < input->count; ++i) {
    number_t* sum = &sums[sum_target(operation, i)];
    *sum = add(*sum, element(operation, 0, i));
  }
  for (int64_t i = 0; i < output->count; ++i)
    number_store(output->type, tensor_at(output, i), sums[i]);
  free(sums);
}

static void compute_mm(operation_t* operation) {
  tensor_t* output = &operation->output;
  int64_t inner = operation->form.sizes[1];
  int64_t columns = operation->form.sizes[2];
  for (int64_t i = 0; i < output->count; ++i) {
    number_t sum = {0, 0, 0};
    for (int64_t k = 0; k < inner; ++k)
      sum = add(sum, multiply(output->type, element(operation, 0, i / columns * inner + k),
                              element(operation, 1, k * columns + i % columns)));
    number_store(output->type, tensor_at(output, i), sum);
  }
}

void oracle_compute(operation_t* operation) {
  if (operation->form.id == OPERATOR_SUM)
    compute_sum(operation);
  else if (operation->form.id == OPERATOR_MM)
    compute_mm(operation);
  else
    compute_pointwise(operation);
}
