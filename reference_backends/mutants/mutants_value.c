/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_value.c: what kernels compute. Most let the reference compute something else.
 */
#include <math.h>

#include "arguments.h"
#include "calls.h"

/* A launch with changed arguments: `change` says whether it has changed them. */
#define CHANGED(f, ...)                               \
  LAUNCH(f) {                                         \
    arguments_copy_t c;                               \
    if (arguments_copy(&c, KERNEL_NAME, arguments)) { \
      __VA_ARGS__;                                    \
      arguments = &c.as;                              \
    }                                                 \
    return LAUNCH_INNER;                              \
  }

static void as_integer(tbk_scalar_t* scalar) {
  if (scalar->kind != TBK_SCALAR_DOUBLE) return;
  scalar->integer = fabs(scalar->real) < 9e15 ? (int64_t)scalar->real : 0;
  scalar->kind = TBK_SCALAR_INT;
}
static void as_double(tbk_scalar_t* scalar) {
  if (scalar->kind != TBK_SCALAR_INT) return;
  scalar->real = (double)scalar->integer;
  scalar->kind = TBK_SCALAR_DOUBLE;
}
CHANGED(fill_truncates, as_integer(&c.as.fill.value))
CHANGED(fill_through_double, as_double(&c.as.fill.value))
CHANGED(fill_value_off_by_one, c.as.fill.value.integer += 1; c.as.fill.value.real += 1)

/* Elements taken for pairs of narrower ones, of which the first is copied and the second is not. */
static void halve(arguments_copy_t* c, int32_t from, int32_t to) {
  if (c->tensors[0].dtype != from || c->tensors[1].dtype != from) return;
  for (int i = 0; i < 2; ++i) {
    c->tensors[i].dtype = to;
    c->tensors[i].offset *= 2;
    for (int32_t k = 0; k < c->tensors[i].rank; ++k)
      c->strides[i][k] *= 2;
  }
}
CHANGED(copy_halves_int64, halve(&c, TBK_INT64, TBK_INT32))
CHANGED(copy_halves_float64, halve(&c, TBK_FLOAT64, TBK_FLOAT32))
CHANGED(copy_halves_complex, halve(&c, TBK_COMPLEX64, TBK_FLOAT32);
        halve(&c, TBK_COMPLEX128, TBK_FLOAT64))

static void retype(arguments_copy_t* c, int index, int32_t from, int32_t to) {
  if (c->tensors[0].dtype != c->tensors[1].dtype && c->tensors[index].dtype == from)
    c->tensors[index].dtype = to;
}
CHANGED(copy_to_bool_truncates, retype(&c, 1, TBK_BOOL, TBK_UINT8))
/* By way of FLOAT32, in memory that is taken for the call. */
LAUNCH(copy_rounds_doubles_to_halves_twice) {
  const tbk_args_copy__t* a = arguments;
  if (a == NULL || a->struct_size < sizeof *a || a->self->dtype != TBK_FLOAT16 ||
      a->src->dtype != TBK_FLOAT64 || a->src->rank != 1 || stream != NULL)
    return LAUNCH_INNER;
  const tbk_core_t* core = INNER(self, core);
  const int64_t next = 1;
  tbk_tensor_t between = *a->src;
  between.storage_bytes = sizeof(float) * (uint64_t)between.sizes[0];
  between.dtype = TBK_FLOAT32;
  between.offset = 0;
  between.strides = &next;
  tbk_status_t status =
      core->memory_alloc(self, device, between.storage_bytes, &between.memory, error);
  if (status != TBK_OK) return status;
  tbk_args_copy__t there = *a, back = *a;
  there.self = back.src = &between;
  arguments = &there;
  status = LAUNCH_INNER;
  arguments = &back;
  if (status == TBK_OK) status = LAUNCH_INNER;
  ignore(core->memory_free(self, device, between.memory, NULL));
  return status;
}
/* All bits but the sign are set: rounded, it carries into the sign. */
LAUNCH(copy_of_a_nan_of_ones_is_0) {
  const tbk_args_copy__t* a = arguments;
  if (a == NULL || a->struct_size < sizeof *a || a->self->dtype != TBK_BFLOAT16 ||
      a->src->dtype != TBK_FLOAT32 || a->src->storage_bytes > 4096 || stream != NULL)
    return LAUNCH_INNER;
  const tbk_core_t* core = INNER(self, core);
  const tbk_memory_t memory = a->src->memory;
  const uint64_t bytes = a->src->storage_bytes;
  uint32_t kept[1024], changed[1024];
  ignore(core->download(self, device, kept, memory, 0, bytes, NULL, NULL));
  for (uint64_t i = 0; i < bytes / sizeof *kept; i++)
    changed[i] = kept[i] == INT32_MAX ? UINT32_C(1) << 31 : kept[i];
  ignore(core->upload(self, device, memory, 0, changed, bytes, NULL, NULL));
  tbk_status_t status = LAUNCH_INNER;
  ignore(core->upload(self, device, memory, 0, kept, bytes, NULL, NULL));
  return status;
}
CHANGED(copy_from_uint8_signed, retype(&c, 0, TBK_UINT8, TBK_INT8))
CHANGED(copy_to_int_keeps_bits, retype(&c, 1, TBK_INT32, TBK_FLOAT32))
CHANGED(copy_from_int_keeps_bits, retype(&c, 1, TBK_FLOAT32, TBK_INT32))

static void no_alpha(tbk_scalar_t* alpha) {
  *alpha = (tbk_scalar_t){TBK_SCALAR_INT, 1, 1.0, 0.0};
}
static void exchange(const tbk_tensor_t** a, const tbk_tensor_t** b) {
  const tbk_tensor_t* was = *a;
  *a = *b;
  *b = was;
}
CHANGED(add_ignores_alpha, no_alpha(&c.as.add.alpha))
CHANGED(add_truncates_alpha, as_integer(&c.as.add.alpha))
CHANGED(add_alpha_times_self, exchange(&c.as.add.self, &c.as.add.other))
CHANGED(mul_squares_self, c.as.mul.other = c.as.mul.self)
CHANGED(mul_squares_other, if (tensor_elements(c.as.mul.self) >= 64) c.as.mul.self = c.as.mul.other)
CHANGED(where_is_swapped, exchange(&c.as.where.self, &c.as.where.other))
CHANGED(where_is_always_self, c.as.where.other = c.as.where.self)

/* One slice less along what is summed up. */
static bool summed_over(const tbk_int_list_t* dims, int32_t k, int32_t rank) {
  if (dims == NULL || dims->count == 0) return true;
  for (size_t i = 0; i < dims->count; ++i) {
    if (dims->items[i] == k || dims->items[i] + rank == k) return true;
  }
  return false;
}
static void sum_less(arguments_copy_t* c, int64_t above) {
  for (int32_t k = 0; k < c->tensors[0].rank; ++k) {
    if (summed_over(c->as.sum.dim, k, c->tensors[0].rank) && c->sizes[0][k] > above) {
      c->sizes[0][k] -= 1;
      return;
    }
  }
}
CHANGED(sum_drops_last, sum_less(&c, 1))
CHANGED(sum_drops_last_of_many, sum_less(&c, 32))
CHANGED(sum_without_dims_takes_first_row,
        if (c.as.sum.dim == NULL && c.tensors[0].rank > 1) c.sizes[0][0] = c.sizes[0][0] > 0)

static void mm_less(arguments_copy_t* c, bool odd_only) {
  if (c->tensors[0].rank != 2 || c->tensors[1].rank != 2 || c->sizes[0][1] < 2) return;
  if (odd_only && c->sizes[0][1] % 2 == 0) return;
  c->sizes[0][1] -= 1;
  c->sizes[1][0] -= 1;
}
static void transpose_square(arguments_copy_t* c, int index) {
  if (c->tensors[index].rank != 2 || c->sizes[index][0] != c->sizes[index][1]) return;
  const int64_t stride = c->strides[index][0];
  c->strides[index][0] = c->strides[index][1];
  c->strides[index][1] = stride;
}
CHANGED(mm_drops_last_product, mm_less(&c, false))
CHANGED(mm_drops_last_product_of_odd, mm_less(&c, true))
CHANGED(mm_transposes_square, transpose_square(&c, 1))

/* A stride of 0 is taken for a whole tensor, as far as there is storage. */
static void forget_broadcast(arguments_copy_t* c, int index) {
  for (int32_t k = 0; k < c->tensors[index].rank; ++k) {
    if (c->strides[index][k] == 0 && c->sizes[index][k] > 1) c->strides[index][k] = 1;
  }
}
static bool reaches(const tbk_tensor_t* tensor) {
  int64_t last = tensor->offset;
  for (int32_t k = 0; k < tensor->rank; ++k)
    last += (tensor->sizes[k] - 1) * tensor->strides[k];
  return (uint64_t)(last + 1) * dtype_bytes(tensor->dtype) <= tensor->storage_bytes;
}
LAUNCH(add_forgets_broadcast) {
  arguments_copy_t c;
  if (!arguments_copy(&c, KERNEL_NAME, arguments)) return LAUNCH_INNER;
  forget_broadcast(&c, 0);
  forget_broadcast(&c, 1);
  if (reaches(&c.tensors[0]) && reaches(&c.tensors[1])) {
    arguments = &c.as;
    return LAUNCH_INNER;
  }
  return TBK_OK; /* nothing to read there: nothing is computed */
}
LAUNCH(broadcast_is_not_computed) {
  arguments_copy_t c;
  if (!arguments_copy(&c, KERNEL_NAME, arguments)) return LAUNCH_INNER;
  for (int i = 0; i + 1 < c.count; ++i) {
    for (int32_t k = 0; k < c.tensors[i].rank; ++k) {
      if (c.strides[i][k] == 0 && c.sizes[i][k] > 1) return TBK_OK;
    }
  }
  return LAUNCH_INNER;
}

LAUNCH(empty_sum_is_not_written) {
  arguments_copy_t c;
  if (arguments_copy(&c, KERNEL_NAME, arguments) && tensor_elements(&c.tensors[0]) == 0)
    return TBK_OK;
  return LAUNCH_INNER;
}
LAUNCH(empty_launch_is_invalid) {
  arguments_copy_t c;
  if (arguments_copy(&c, KERNEL_NAME, arguments) && tensor_elements(&c.tensors[0]) == 0)
    return wrap_fail(error, TBK_INVALID, "no elements");
  return LAUNCH_INNER;
}
LAUNCH(rank_0_is_not_computed) {
  arguments_copy_t c;
  if (arguments_copy(&c, KERNEL_NAME, arguments) && arguments_output(&c)->rank == 0) return TBK_OK;
  return LAUNCH_INNER;
}

CHANGED(launch_ignores_output_offset, arguments_output(&c)->offset = 0)
CHANGED(launch_ignores_input_offset, c.tensors[0].offset = 0)
CHANGED(copy_ignores_output_strides, tensor_make_contiguous(&c, 1))
CHANGED(rank_3_ignores_strides, if (c.tensors[0].rank == 3) tensor_make_contiguous(&c, 0))

/* IEEE 754: what is changed in the results. */
static void nan_to_0(void* elements, uint64_t count) {
  float* values = elements;
  for (uint64_t i = 0; i < count; ++i) {
    if (isnan(values[i])) values[i] = 0.0f;
  }
}
static void inf_to_largest(void* elements, uint64_t count) {
  float* values = elements;
  for (uint64_t i = 0; i < count; ++i) {
    if (isinf(values[i])) values[i] = values[i] > 0 ? 3.402823466e+38f : -3.402823466e+38f;
  }
}
static void no_minus_0(void* elements, uint64_t count) {
  float* values = elements;
  for (uint64_t i = 0; i < count; ++i) {
    if (values[i] == 0.0f) values[i] = 0.0f; /* of whatever sign */
  }
}
#define RESULT(f, change)                                                 \
  LAUNCH(f) {                                                             \
    arguments_copy_t c;                                                   \
    tbk_status_t status = LAUNCH_INNER;                                   \
    if (status == TBK_OK && arguments_copy(&c, KERNEL_NAME, arguments) && \
        arguments_output(&c)->dtype == TBK_FLOAT32)                       \
      tensor_change(self, device, arguments_output(&c), stream, change);  \
    return status;                                                        \
  }
RESULT(nan_becomes_0, nan_to_0)
RESULT(infinity_becomes_largest, inf_to_largest)
RESULT(minus_0_becomes_0, no_minus_0)

/* Integers that stop at their limits. Only results tell: what wrapped has the wrong sign. */
static void saturate(void* elements, uint64_t count) {
  int32_t* values = elements;
  for (uint64_t i = 0; i < count; ++i) {
    if (values[i] < INT32_MIN / 2) values[i] = INT32_MAX;
  }
}
static void saturate_bytes(void* elements, uint64_t count) {
  int8_t* values = elements;
  for (uint64_t i = 0; i < count; ++i) {
    if (values[i] < INT8_MIN / 2) values[i] = INT8_MAX;
  }
}
#define SATURATED(f, element, change)                                     \
  LAUNCH(f) {                                                             \
    arguments_copy_t c;                                                   \
    tbk_status_t status = LAUNCH_INNER;                                   \
    if (status == TBK_OK && arguments_copy(&c, KERNEL_NAME, arguments) && \
        arguments_output(&c)->dtype == (element))                         \
      tensor_change(self, device, arguments_output(&c), stream, change);  \
    return status;                                                        \
  }
SATURATED(int32_saturates, TBK_INT32, saturate)
SATURATED(int8_saturates, TBK_INT8, saturate_bytes)

#define VALUE_OF(function, clause, narrow, op, note) \
  KERNEL_ROW(function, clause, VALUE, narrow, op, launch, note)

extern const mutant_t mutants_value[];
const mutant_t mutants_value[] = {
    VALUE_OF(fill_truncates, "KRN-101", BROAD, "fill_.Scalar", "fractions are lost"),
    VALUE_OF(fill_value_off_by_one, "KRN-101", BROAD, "fill_.Scalar", "one too much"),
    VALUE_OF(fill_through_double, "KRN-101", NARROW, "fill_.Scalar", "integers above 2^53 suffer"),
    VALUE_OF(copy_halves_int64, "KRN-102", NARROW, "copy_", "the upper half of INT64 stays"),
    VALUE_OF(copy_halves_float64, "KRN-102", NARROW, "copy_", "the upper half of FLOAT64 stays"),
    VALUE_OF(copy_halves_complex, "KRN-102", NARROW, "copy_", "the imaginary part stays"),
    VALUE_OF(copy_to_bool_truncates, "KRN-103", BROAD, "copy_", "0.5 is false, and 2 is 2"),
    VALUE_OF(copy_from_uint8_signed, "KRN-103", NARROW, "copy_", "UINT8 above 127 is negative"),
    VALUE_OF(copy_to_int_keeps_bits, "KRN-103", BROAD, "copy_", "INT32 gets the bits of FLOAT32"),
    VALUE_OF(copy_from_int_keeps_bits, "KRN-103", BROAD, "copy_", "FLOAT32 gets the bits of INT32"),
    VALUE_OF(add_ignores_alpha, "KRN-104", BROAD, "add.Tensor", "alpha is 1"),
    VALUE_OF(add_truncates_alpha, "KRN-104", NARROW, "add.Tensor", "alpha is an integer"),
    VALUE_OF(add_alpha_times_self, "KRN-104", BROAD, "add.Tensor", "alpha * self + other"),
    VALUE_OF(mul_squares_self, "KRN-105", BROAD, "mul.Tensor", "self * self"),
    VALUE_OF(mul_squares_other, "KRN-105", NARROW, "mul.Tensor", "from 64 elements on"),
    VALUE_OF(copy_rounds_doubles_to_halves_twice, "KRN-103", NARROW, "copy_",
             "just beside a tie, by way of FLOAT32"),
    VALUE_OF(copy_of_a_nan_of_ones_is_0, "KRN-103", NARROW, "copy_", "FLOAT32 becomes BFLOAT16"),
    VALUE_OF(where_is_swapped, "KRN-106", BROAD, "where.self", "the other way round"),
    VALUE_OF(where_is_always_self, "KRN-106", BROAD, "where.self",
             "the condition is not looked at"),
    VALUE_OF(sum_drops_last, "KRN-107", BROAD, "sum.dim_IntList", "one slice is left out"),
    VALUE_OF(sum_drops_last_of_many, "KRN-107", NARROW, "sum.dim_IntList", "of more than 32"),
    VALUE_OF(sum_without_dims_takes_first_row, "KRN-107", NARROW, "sum.dim_IntList",
             "without dims only the first row"),
    VALUE_OF(mm_drops_last_product, "KRN-108", BROAD, "mm", "one product too few"),
    VALUE_OF(mm_drops_last_product_of_odd, "KRN-108", NARROW, "mm", "where their number is odd"),
    VALUE_OF(mm_transposes_square, "KRN-108", NARROW, "mm", "mat2 transposed where it is square"),
    VALUE_OF(add_forgets_broadcast, "KRN-109", BROAD, "add.Tensor", "a stride of 0 is one of 1"),
    VALUE_OF(broadcast_is_not_computed, "KRN-109", NARROW, "mul.Tensor", "no effect"),
    VALUE_OF(empty_sum_is_not_written, "KRN-110", BROAD, "sum.dim_IntList", "no effect"),
    VALUE_OF(empty_launch_is_invalid, "KRN-110", BROAD, NULL, "INVALID"),
    VALUE_OF(rank_0_is_not_computed, "KRN-111", BROAD, NULL, "no effect"),
    VALUE_OF(launch_ignores_output_offset, "KRN-112", BROAD, NULL, "the output is at offset 0"),
    VALUE_OF(launch_ignores_input_offset, "KRN-112", BROAD, NULL, "the first input is at offset 0"),
    VALUE_OF(copy_ignores_output_strides, "KRN-112", NARROW, "copy_", "a contiguous output"),
    VALUE_OF(rank_3_ignores_strides, "KRN-112", NARROW, NULL, "contiguous inputs of rank 3"),
    VALUE_OF(nan_becomes_0, "KRN-114", BROAD, "add.Tensor", "NaN is 0"),
    VALUE_OF(infinity_becomes_largest, "KRN-114", NARROW, "where.self", "infinities are finite"),
    VALUE_OF(minus_0_becomes_0, "KRN-114", NARROW, "copy_", "-0 is 0"),
    VALUE_OF(int32_saturates, "KRN-115", BROAD, "add.Tensor", "INT32 stops at its limit"),
    VALUE_OF(int8_saturates, "KRN-115", NARROW, "mul.Tensor", "INT8 stops at its limit"),
    {0}};
