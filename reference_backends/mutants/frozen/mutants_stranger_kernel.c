/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stranger_kernel.c: kernels of one operator that take a fast path where they should not, and a plan.
 */
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "generic_copy.h"
#include "narrow.h"

/* Runs the reference on changed operands; on those that were given where it does not take them. */
static tbk_status_t launch_changed(const arguments_copy_t* copy, tbk_instance_t* self,
                                   int32_t device, const tbk_kernel_t* kernel,
                                   const void* arguments, tbk_stream_t* stream,
                                   tbk_error_t* error) {
  const tbk_status_t status =
      KERNEL_INNER->launch(self, device, KERNEL_INNER, &copy->as, stream, NULL);
  return status == TBK_OK ? status : LAUNCH_INNER;
}
/* A launch of what `change` makes of the arguments. */
#define CHANGED(function, change)                                                 \
  LAUNCH(function) {                                                              \
    arguments_copy_t copy;                                                        \
    if (!arguments_copy(&copy, KERNEL_NAME, arguments)) return LAUNCH_INNER;      \
    change(&copy);                                                                \
    return launch_changed(&copy, self, device, kernel, arguments, stream, error); \
  }                                                                               \
  _Static_assert(1, "")

static bool same_place(const tbk_tensor_t* one, const tbk_tensor_t* other) {
  return one->memory == other->memory && one->offset == other->offset;
}
static bool is_spread(const tbk_tensor_t* tensor) {
  for (int32_t k = 0; k < tensor->rank; ++k)
    if (tensor->sizes[k] > 1 && tensor->strides[k] == 0) return true;
  return false;
}
static bool is_one_element(const tbk_tensor_t* tensor) {
  for (int32_t k = 0; k < tensor->rank; ++k)
    if (tensor->sizes[k] > 1 && tensor->strides[k] != 0) return false;
  return is_spread(tensor);
}

/* ---------------------------------------------------------------------------------------- sums ---- */

/* Two dimensions with one between them that stays: the outer of the two is one shorter. */
static void shorten_outer_of_two(arguments_copy_t* copy) {
  const tbk_int_list_t* dim = copy->as.sum.dim;
  const int32_t rank = copy->tensors[0].rank;
  if (dim == NULL || dim->count != 2) return;
  const int64_t one = dim->items[0] + (dim->items[0] < 0 ? rank : 0);
  const int64_t other = dim->items[1] + (dim->items[1] < 0 ? rank : 0);
  const int64_t outer = one < other ? one : other, inner = one < other ? other : one;
  if (outer >= 0 && inner < rank && inner - outer > 1 && copy->sizes[0][outer] > 1)
    --copy->sizes[0][outer];
}
CHANGED(sum_over_two_apart_misses_a_slice, shorten_outer_of_two);

static void take_bytes_as_signed(arguments_copy_t* copy) {
  if (copy->tensors[0].dtype == TBK_UINT8 && arguments_output(copy)->dtype == TBK_INT64)
    copy->tensors[0].dtype = TBK_INT8;
}
CHANGED(sum_of_bytes_is_signed, take_bytes_as_signed);

/* ---------------------------------------------------------------------------- element by element -- */

static void square_second(arguments_copy_t* copy) {
  if (same_place(&copy->tensors[1], arguments_output(copy)) && is_spread(&copy->tensors[0]))
    copy->as.mul.self = copy->as.mul.other;
}
CHANGED(mul_of_expanded_into_second_squares_it, square_second);

static int8_t* read_bytes(tbk_instance_t* self, int32_t device, const tbk_tensor_t* tensor,
                          tbk_stream_t* stream) {
  const uint64_t bytes = tensor_elements(tensor);
  int8_t* elements = malloc(bytes);
  if (stream != NULL) wrap_wait_untold(self, stream);
  if (elements != NULL && INNER(self, core)
                                  ->download(self, device, elements, tensor->memory,
                                             (uint64_t)tensor->offset, bytes, NULL, NULL) == TBK_OK)
    return elements;
  free(elements);
  return NULL;
}
static void saturate(int8_t* out, const int8_t* one, const int8_t* other, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const int sum = one[i] + other[i];
    out[i] = (int8_t)(sum > INT8_MAX ? INT8_MAX : sum < INT8_MIN ? INT8_MIN : sum);
  }
}
static bool are_16_bytes(const arguments_copy_t* copy) {
  for (int i = 0; i < 3; ++i)
    if (copy->tensors[i].dtype != TBK_INT8 || !tensor_contiguous(&copy->tensors[i]) ||
        tensor_elements(&copy->tensors[i]) < 16)
      return false;
  return copy->as.add.alpha.kind == TBK_SCALAR_INT && copy->as.add.alpha.integer == 1;
}
LAUNCH(add_of_16_bytes_saturates) {
  arguments_copy_t copy;
  if (!arguments_copy(&copy, KERNEL_NAME, arguments) || !are_16_bytes(&copy)) return LAUNCH_INNER;
  int8_t* one = read_bytes(self, device, &copy.tensors[0], stream);
  int8_t* other = read_bytes(self, device, &copy.tensors[1], stream);
  const tbk_status_t status = LAUNCH_INNER;
  const tbk_tensor_t* out = arguments_output(&copy);
  int8_t* result = status == TBK_OK ? read_bytes(self, device, out, stream) : NULL;
  if (one != NULL && other != NULL && result != NULL) {
    saturate(result, one, other, tensor_elements(out));
    ignore(INNER(self, core)
               ->upload(self, device, out->memory, (uint64_t)out->offset, result,
                        tensor_elements(out), NULL, NULL));
  }
  free(one);
  free(other);
  free(result);
  return status;
}

/* The upper half of each element, of what is not contiguous. */
static void take_upper_halves(arguments_copy_t* copy) {
  tbk_tensor_t* from = &copy->tensors[0];
  if (from->dtype != TBK_FLOAT32 || arguments_output(copy)->dtype != TBK_BFLOAT16 ||
      tensor_contiguous(from))
    return;
  from->dtype = TBK_BFLOAT16;
  from->offset = 2 * from->offset + 1;
  for (int32_t k = 0; k < from->rank; ++k)
    copy->strides[0][k] *= 2;
}
CHANGED(strided_copy_to_bfloat16_truncates, take_upper_halves);

static void forget_offset_of_one(arguments_copy_t* copy) {
  if (is_one_element(&copy->tensors[2])) copy->tensors[2].offset = 0;
}
CHANGED(where_of_one_other_forgets_its_offset, forget_offset_of_one);

static void fill_pairs(arguments_copy_t* copy) {
  const tbk_tensor_t* out = arguments_output(copy);
  if (out->rank != 1 || dtype_bytes(out->dtype) != 1 || out->strides[0] != 2 || out->sizes[0] < 2)
    return;
  copy->strides[0][0] = 1;
  copy->sizes[0][0] = 2 * out->sizes[0] - 1;
}
CHANGED(fill_of_every_second_byte_fills_all, fill_pairs);

/* -------------------------------------------------------------------------------------- products -- */

/* As if it were a product of a matrix and its transpose. */
static void transpose_the_same(arguments_copy_t* copy) {
  if (!same_place(&copy->tensors[0], &copy->tensors[1]) || copy->tensors[0].rank != 2 ||
      copy->sizes[0][0] != copy->sizes[0][1] || copy->strides[0][0] != copy->strides[1][0] ||
      copy->strides[0][1] != copy->strides[1][1])
    return;
  copy->strides[1][0] = copy->strides[0][1];
  copy->strides[1][1] = copy->strides[0][0];
}
CHANGED(mm_with_itself_is_by_the_transpose, transpose_the_same);

/* ----------------------------------------------------------------------------------------- plans -- */

/* Made for tensors apart, the plan clears what it writes. */
LAUNCH_PLAN(plans_in_place_clear_their_input) {
  generic_copy_t* c = generic_copy_of(TBK_NAME_pointwise, arguments);
  const generic_view_t* out = NULL;
  for (size_t k = 0; c != NULL && c->set_count > 0 && k < c->inputs; ++k)
    if (c->as.pointwise.program->inputs[k].kind == TBK_INPUT_ALIGNED &&
        generic_same(generic_operand(c, 0, c->outputs + k), generic_operand(c, 0, 0)))
      out = generic_operand(c, 0, 0);
  if (out != NULL) tensor_clear(self, device, &out->tensor, stream);
  return LAUNCH_PLAN_INNER;
}

#define LAUNCHED(function, clause, operation, op, note) \
  KERNEL(function, clause, operation, op, launch, note)

extern const mutant_t mutants_stranger_kernel[];
const mutant_t mutants_stranger_kernel[] = {
    LAUNCHED(sum_over_two_apart_misses_a_slice, "KRN-107", EXTENT, "sum.dim_IntList",
             "two dimensions with others between them"),
    LAUNCHED(sum_of_bytes_is_signed, "KRN-107", VALUE, "sum.dim_IntList",
             "UINT8 from 128 on, into INT64"),
    LAUNCHED(mul_of_expanded_into_second_squares_it, "KRN-113", VALUE, "mul.Tensor",
             "the output is the second input, and the first is expanded"),
    LAUNCHED(add_of_16_bytes_saturates, "KRN-115", VALUE, "add.Tensor",
             "INT8, contiguous, from 16 elements on"),
    LAUNCHED(strided_copy_to_bfloat16_truncates, "KRN-103", VALUE, "copy_",
             "of FLOAT32 that is not contiguous"),
    LAUNCHED(where_of_one_other_forgets_its_offset, "KRN-112", VALUE, "where.self",
             "other is one element that is expanded"),
    LAUNCHED(fill_of_every_second_byte_fills_all, "KRN-116", EXTENT, "fill_.Scalar",
             "elements of 1 byte with a stride of 2"),
    LAUNCHED(mm_with_itself_is_by_the_transpose, "KRN-108", VALUE, "mm",
             "both inputs are one square matrix"),
    KERNEL(plans_in_place_clear_their_input, "KRN-013", STATE, TBK_NAME_pointwise, launch_plan,
           "the output is an input"),
    {0}};
