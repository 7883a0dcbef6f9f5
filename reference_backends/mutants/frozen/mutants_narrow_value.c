/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_value.c: values of kernels and random words, wrong for few of them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "narrow.h"

/* ------------------------------------------------------------------------------------- numbers -- */

#define FILL_OF(args) const tbk_args_fill__Scalar_t* args = arguments
#define READABLE(args) ((args) != NULL && (args)->struct_size >= sizeof *(args) && (args)->self)

/* Fills with another number where `when` holds. */
#define FILLS(function, when, change)                    \
  LAUNCH(function) {                                     \
    FILL_OF(args);                                       \
    if (!READABLE(args) || !(when)) return LAUNCH_INNER; \
    tbk_args_fill__Scalar_t other = *args;               \
    change;                                              \
    arguments = &other;                                  \
    return LAUNCH_INNER;                                 \
  }                                                      \
  _Static_assert(1, "")

FILLS(fill_of_256_is_false, args->self->dtype == TBK_BOOL && args->value.kind == TBK_SCALAR_INT,
      other.value.integer &= 0xff);
FILLS(fill_saturates_below_0,
      args->self->dtype == TBK_UINT8 && args->value.kind == TBK_SCALAR_INT &&
          args->value.integer < 0,
      other.value.integer = 0);
FILLS(fill_of_least_int64_is_greatest,
      args->value.kind == TBK_SCALAR_INT && args->value.integer == INT64_MIN,
      other.value.integer = INT64_MAX);
FILLS(fill_of_half_overflows_to_largest,
      args->self->dtype == TBK_FLOAT16 && args->value.kind == TBK_SCALAR_DOUBLE &&
          isfinite(args->value.real) && args->value.real >= 65520,
      other.value.real = 65504);
FILLS(fill_of_complex_with_nan_clears_imaginary,
      args->value.kind == TBK_SCALAR_COMPLEX && isnan(args->value.real), other.value.imaginary = 0);

#define ADDS(function, when, change)                                          \
  LAUNCH(function) {                                                          \
    const tbk_args_add_Tensor_t* args = arguments;                            \
    if (!READABLE(args) || args->out == NULL || !(when)) return LAUNCH_INNER; \
    tbk_args_add_Tensor_t other = *args;                                      \
    change;                                                                   \
    arguments = &other;                                                       \
    return LAUNCH_INNER;                                                      \
  }                                                                           \
  _Static_assert(1, "")

ADDS(add_alpha_of_32_bits, args->out->dtype == TBK_INT64 && args->alpha.kind == TBK_SCALAR_INT,
     other.alpha.integer = (int32_t)(uint32_t)args->alpha.integer);
ADDS(add_alpha_of_float_for_float64,
     args->out->dtype == TBK_FLOAT64 && args->alpha.kind == TBK_SCALAR_DOUBLE,
     other.alpha.real = (float)args->alpha.real);

/* ------------------------------------------------------------------------------------- results -- */

/* Changes what is computed, where the output's dtype is `dtype`; -1: any. */
static tbk_status_t then(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                         const void* arguments, tbk_stream_t* stream, tbk_error_t* error,
                         int32_t input_dtype, int32_t dtype, void (*change)(void*, uint64_t)) {
  arguments_copy_t copy;
  tbk_status_t status = LAUNCH_INNER;
  if (status != TBK_OK || !arguments_copy(&copy, KERNEL_NAME, arguments)) return status;
  const tbk_tensor_t* out = arguments_output(&copy);
  if (out->dtype == dtype && (input_dtype < 0 || copy.tensors[0].dtype == input_dtype))
    tensor_change(self, device, out, stream, change);
  return status;
}
#define THEN(function, input_dtype, dtype, change)                                           \
  LAUNCH(function) {                                                                         \
    return then(self, device, kernel, arguments, stream, error, input_dtype, dtype, change); \
  }                                                                                          \
  _Static_assert(1, "")

static void to_tf32(void* elements, uint64_t count) {
  uint32_t* words = elements;
  for (uint64_t i = 0; i < count; ++i)
    words[i] &= ~UINT32_C(0x1fff);
}
static void to_int32(void* elements, uint64_t count) {
  int64_t* words = elements;
  for (uint64_t i = 0; i < count; ++i)
    words[i] = (int32_t)(uint32_t)(uint64_t)words[i];
}
static void to_uint8(void* elements, uint64_t count) {
  int64_t* words = elements;
  for (uint64_t i = 0; i < count; ++i)
    words[i] &= 0xff;
}
static void through_double(void* elements, uint64_t count) {
  int64_t* words = elements;
  for (uint64_t i = 0; i < count; ++i) {
    const double rounded = (double)words[i];
    words[i] = rounded >= 0x1p63 ? INT64_MAX : (int64_t)rounded;
  }
}
static void saturate_half(void* elements, uint64_t count) {
  uint16_t* words = elements;
  for (uint64_t i = 0; i < count; ++i)
    if ((words[i] & 0x7fff) == 0x7c00) words[i] -= 1;
}
static void double_to_float(void* elements, uint64_t count) {
  double* numbers = elements;
  for (uint64_t i = 0; i < count; ++i)
    numbers[i] = (float)numbers[i];
}
THEN(mm_in_tf32, TBK_FLOAT32, TBK_FLOAT32, to_tf32);
THEN(mm_of_float64_in_float, TBK_FLOAT64, TBK_FLOAT64, double_to_float);
THEN(mm_of_int64_through_double, TBK_INT64, TBK_INT64, through_double);
THEN(mul_of_int64_through_double, TBK_INT64, TBK_INT64, through_double);
THEN(sum_of_int32_in_32_bits, TBK_INT32, TBK_INT64, to_int32);
THEN(sum_of_bools_in_8_bits, TBK_BOOL, TBK_INT64, to_uint8);
THEN(sum_of_halves_saturates, TBK_FLOAT16, TBK_FLOAT16, saturate_half);

/* ----------------------------------------------------------------- what inputs decide -------- */

/* The elements of a contiguous tensor once the stream has come so far; NULL where it is not. */
static void* read_tensor(tbk_instance_t* self, int32_t device, const tbk_tensor_t* tensor,
                         tbk_stream_t* stream) {
  const uint64_t size = dtype_bytes(tensor->dtype), bytes = tensor_elements(tensor) * size;
  if (bytes == 0 || !tensor_contiguous(tensor)) return NULL;
  void* elements = malloc(bytes);
  if (stream != NULL) ignore(INNER(self, stream)->stream_synchronize(self, stream, NULL));
  if (elements != NULL &&
      INNER(self, core)
              ->download(self, device, elements, tensor->memory, (uint64_t)tensor->offset * size,
                         bytes, NULL, NULL) == TBK_OK)
    return elements;
  free(elements);
  return NULL;
}
static void write_tensor(tbk_instance_t* self, int32_t device, const tbk_tensor_t* tensor,
                         const void* elements) {
  const uint64_t size = dtype_bytes(tensor->dtype);
  ignore(INNER(self, core)
             ->upload(self, device, tensor->memory, (uint64_t)tensor->offset * size, elements,
                      tensor_elements(tensor) * size, NULL, NULL));
}

/* Lets `change` at a float32 output, given the inputs before. */
typedef void (*change_fn)(float* out, const float* one, const float* other, uint64_t count);
static tbk_status_t decide(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                           const void* arguments, tbk_stream_t* stream, tbk_error_t* error,
                           change_fn change) {
  arguments_copy_t copy;
  if (!arguments_copy(&copy, KERNEL_NAME, arguments) || copy.tensors[0].dtype != TBK_FLOAT32)
    return LAUNCH_INNER;
  float* one = read_tensor(self, device, &copy.tensors[0], stream);
  float* other = read_tensor(self, device, &copy.tensors[1], stream);
  tbk_status_t status = LAUNCH_INNER;
  const tbk_tensor_t* out = arguments_output(&copy);
  float* result = status == TBK_OK ? read_tensor(self, device, out, stream) : NULL;
  if (one != NULL && other != NULL && result != NULL) {
    change(result, one, other, tensor_elements(out));
    write_tensor(self, device, out, result);
  }
  free(one);
  free(other);
  free(result);
  return status;
}
static void zero_wins(float* out, const float* one, const float* other, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    if (one[i] == 0 || other[i] == 0) out[i] = 0;
}
LAUNCH(mul_by_0_is_0) {
  return decide(self, device, kernel, arguments, stream, error, zero_wins);
}
static void first_wins(float* out, const float* one, const float* other, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    out[i] = one[i];
}
LAUNCH(add_with_alpha_0_is_first) {
  const tbk_args_add_Tensor_t* args = arguments;
  if (!READABLE(args) || args->alpha.kind == TBK_SCALAR_COMPLEX ||
      (args->alpha.kind == TBK_SCALAR_DOUBLE ? args->alpha.real != 0 : args->alpha.integer != 0))
    return LAUNCH_INNER;
  return decide(self, device, kernel, arguments, stream, error, first_wins);
}
LAUNCH(copy_of_nan_to_bool_is_false) {
  arguments_copy_t copy;
  if (!arguments_copy(&copy, KERNEL_NAME, arguments) || copy.tensors[0].dtype != TBK_FLOAT32 ||
      copy.tensors[1].dtype != TBK_BOOL)
    return LAUNCH_INNER;
  float* from = read_tensor(self, device, &copy.tensors[0], stream);
  tbk_status_t status = LAUNCH_INNER;
  char* to = status == TBK_OK ? read_tensor(self, device, &copy.tensors[1], stream) : NULL;
  for (uint64_t i = 0; from && to && i < tensor_elements(&copy.tensors[0]); ++i)
    to[i] = isnan(from[i]) ? 0 : to[i];
  if (from != NULL && to != NULL) write_tensor(self, device, &copy.tensors[1], to);
  free(from);
  free(to);
  return status;
}
LAUNCH(copy_of_imaginary_to_bool_is_false) {
  arguments_copy_t copy;
  if (!arguments_copy(&copy, KERNEL_NAME, arguments) || copy.tensors[0].dtype != TBK_COMPLEX64 ||
      copy.tensors[1].dtype != TBK_BOOL)
    return LAUNCH_INNER;
  float* from = read_tensor(self, device, &copy.tensors[0], stream);
  tbk_status_t status = LAUNCH_INNER;
  char* to = status == TBK_OK ? read_tensor(self, device, &copy.tensors[1], stream) : NULL;
  for (uint64_t i = 0; from && to && i < tensor_elements(&copy.tensors[0]); ++i)
    to[i] = from[2 * i] != 0 ? 1 : 0;
  if (from != NULL && to != NULL) write_tensor(self, device, &copy.tensors[1], to);
  free(from);
  free(to);
  return status;
}
LAUNCH(mm_of_no_products_is_not_written) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments) && copy.tensors[0].rank == 2 &&
      copy.sizes[0][1] == 0)
    return TBK_OK;
  return LAUNCH_INNER;
}
LAUNCH(long_mm_adds_to_output) {
  arguments_copy_t copy;
  if (!arguments_copy(&copy, KERNEL_NAME, arguments) || copy.tensors[0].dtype != TBK_FLOAT32 ||
      copy.tensors[0].rank != 2 || copy.sizes[0][1] <= 64)
    return LAUNCH_INNER;
  const tbk_tensor_t* out = arguments_output(&copy);
  float* before = read_tensor(self, device, out, stream);
  tbk_status_t status = LAUNCH_INNER;
  float* after = status == TBK_OK ? read_tensor(self, device, out, stream) : NULL;
  for (uint64_t i = 0; before && after && i < tensor_elements(out); ++i)
    after[i] += before[i];
  if (before != NULL && after != NULL) write_tensor(self, device, out, after);
  free(before);
  free(after);
  return status;
}

/* -------------------------------------------------------------------------------- random words -- */

RANDOM_BITS(random_loses_carry) {
  const uint64_t end = UINT64_C(4) << 32;
  if (generator == NULL || generator->offset >= end || count <= end - generator->offset)
    return RANDOM_BITS_INNER;
  const uint64_t whole = count;
  count = end - generator->offset;
  tbk_status_t status = RANDOM_BITS_INNER;
  if (status != TBK_OK) return status;
  const tbk_generator_t again = {generator->seed, 0};
  generator = &again;
  offset += 4 * count;
  count = whole - count;
  return RANDOM_BITS_INNER;
}
RANDOM_BITS(random_extends_sign_of_seed) {
  if (generator == NULL) return RANDOM_BITS_INNER;
  tbk_generator_t other = *generator;
  if (other.seed >> 31 == 1) other.seed |= UINT64_C(0xffffffff) << 32;
  generator = &other;
  return RANDOM_BITS_INNER;
}
RANDOM_BITS(random_of_seed_0_is_that_of_1) {
  if (generator == NULL || generator->seed != 0) return RANDOM_BITS_INNER;
  const tbk_generator_t other = {1, generator->offset};
  generator = &other;
  return RANDOM_BITS_INNER;
}
RANDOM_BITS(random_repeats_after_65536) {
  const uint64_t whole = count;
  if (count > 65536) count = 65536;
  tbk_status_t status = RANDOM_BITS_INNER;
  if (status != TBK_OK || whole <= 65536) return status;
  offset += 4 * count;
  count = whole - count < 65536 ? whole - count : 65536;
  status = RANDOM_BITS_INNER;
  if (status != TBK_OK || whole <= 131072) return status;
  const tbk_generator_t later = {generator->seed, generator->offset + 131072};
  generator = &later;
  offset += 4 * count;
  count = whole - 131072;
  return RANDOM_BITS_INNER;
}
RANDOM_BITS(random_depends_on_destination) {
  if (generator == NULL || offset % 16 == 0) return RANDOM_BITS_INNER;
  const tbk_generator_t other = {generator->seed, generator->offset + 4};
  generator = &other;
  return RANDOM_BITS_INNER;
}
RANDOM_BITS(random_of_nothing_accepts_null) {
  return count == 0 && generator == NULL ? TBK_OK : RANDOM_BITS_INNER;
}
RANDOM_BITS(many_random_write_whole_blocks) {
  const uint64_t exact = count;
  if (count > 4096 && count % 256 != 0) count += 256 - count % 256;
  tbk_status_t status = RANDOM_BITS_INNER;
  if (status == TBK_OK || count == exact) return status;
  count = exact;
  return RANDOM_BITS_INNER;
}

#define VALUES(function, op, note) KERNEL(function, "KRN-003", VALUE, op, launch, note)
#define RANDOM(function, clause, note) ONE(function, clause, VALUE, random.random_bits, note)

extern const mutant_t mutants_narrow_value[];
const mutant_t mutants_narrow_value[] = {
    VALUES(fill_of_256_is_false, "fill_.Scalar", "the low byte of an integer makes a BOOL"),
    VALUES(fill_saturates_below_0, "fill_.Scalar", "-1 is 0 for UINT8"),
    VALUES(fill_of_least_int64_is_greatest, "fill_.Scalar", "INT64_MIN"),
    VALUES(fill_of_half_overflows_to_largest, "fill_.Scalar", "65520 is 65504, not infinity"),
    VALUES(fill_of_complex_with_nan_clears_imaginary, "fill_.Scalar", "a real part of NaN"),
    VALUES(add_alpha_of_32_bits, "add.Tensor", "INT64 with alpha beyond 2^31"),
    VALUES(add_alpha_of_float_for_float64, "add.Tensor", "alpha 0.1 for FLOAT64"),
    VALUES(mm_in_tf32, "mm", "FLOAT32 is cut to 10 bits"),
    VALUES(mm_of_float64_in_float, "mm", "FLOAT64 is rounded to FLOAT32"),
    VALUES(mm_of_int64_through_double, "mm", "INT64 beyond 2^53"),
    VALUES(mul_of_int64_through_double, "mul.Tensor", "INT64 beyond 2^53"),
    VALUES(sum_of_int32_in_32_bits, "sum.dim_IntList", "INT32 beyond 2^31"),
    VALUES(sum_of_bools_in_8_bits, "sum.dim_IntList", "more than 255 times true"),
    VALUES(sum_of_halves_saturates, "sum.dim_IntList", "65504 instead of infinity"),
    VALUES(mul_by_0_is_0, "mul.Tensor", "0 times infinity, FLOAT32"),
    VALUES(add_with_alpha_0_is_first, "add.Tensor", "alpha 0 and infinity, FLOAT32"),
    VALUES(copy_of_nan_to_bool_is_false, "copy_", "FLOAT32 to BOOL"),
    VALUES(copy_of_imaginary_to_bool_is_false, "copy_", "COMPLEX64 to BOOL"),
    VALUES(mm_of_no_products_is_not_written, "mm", "an inner size of 0"),
    VALUES(long_mm_adds_to_output, "mm", "inner sizes above 64, FLOAT32"),
    RANDOM(random_loses_carry, "RNG-006", "a call that goes across word 2^34"),
    RANDOM(random_extends_sign_of_seed, "RNG-006", "seeds with bit 31 as the highest"),
    RANDOM(random_of_seed_0_is_that_of_1, "RNG-004", "seed 0"),
    RANDOM(random_repeats_after_65536, "RNG-006", "the second 65536 words are the first"),
    RANDOM(random_depends_on_destination, "RNG-003", "a destination off 16 bytes"),
    RANDOM(random_of_nothing_accepts_null, "RNG-001", "no generator for no words"),
    RANDOM(many_random_write_whole_blocks, "RNG-007", "above 4096 words, up to 255 too many"),
    {0}};
