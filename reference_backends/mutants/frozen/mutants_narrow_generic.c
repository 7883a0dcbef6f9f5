/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_generic.c: tbk::index, sort, matmul and convolution, on one kind of operands.
 */
#include <math.h>

#include "generic_copy.h"
#include "narrow.h"

/* --------------------------------------------------------------------------------------- index -- */

/* The report is what this call says, whatever earlier ones said. */
LAUNCH(reports_of_good_calls_are_cleared) {
  const tbk_args_index_t* a = arguments;
  generic_copy_t* c = generic_copy_of(KERNEL_NAME, arguments);
  if (c != NULL && a->report != NULL)
    ignore(INNER(self, core)
               ->fill(self, device, a->report->memory, (uint64_t)a->report->offset * 4, 0, 4,
                      stream, NULL));
  return LAUNCH_INNER;
}
static void take_as_signed(generic_copy_t* c) {
  if (c->as.index.mode < TBK_INDEX_MIN || c->views[INDEX_TABLE].tensor.dtype != TBK_UINT8) return;
  c->views[INDEX_TABLE].tensor.dtype = c->views[INDEX_VALUES].tensor.dtype = TBK_INT8;
}
LAUNCH(greatest_of_bytes_is_signed) {
  GENERIC_CHANGED(take_as_signed(c));
}
/* The first dimension is counted backwards, where the table does not go along with it. */
static void turn_first(generic_copy_t* c) {
  generic_view_t* values = &c->views[INDEX_VALUES];
  if ((c->as.index.flags & TBK_INDEX_ORDERED) == 0 || values->tensor.rank < 2) return;
  for (int32_t t = 0; c->as.index.places != NULL && t < c->views[INDEX_TABLE].tensor.rank; t++)
    if (c->places[t] == TBK_INDEX_ALONG(0)) return;
  generic_turn(values, 0);
  for (size_t k = 0; k < c->as.index.index_count; k++)
    generic_turn(&c->views[INDEX_FIRST + k], 0);
}
LAUNCH(order_is_that_of_the_last_dimension) {
  GENERIC_CHANGED(turn_first(c));
}
LAUNCH(flat_index_of_a_single_element_is_left_out) {
  GENERIC_UNLESS(
      (c->as.index.flags & TBK_INDEX_FLAT) != 0 && c->views[INDEX_TABLE].tensor.rank == 0, TBK_OK);
}
LAUNCH(values_that_are_the_second_index_are_refused) {
  GENERIC_UNLESS(c->as.index.index_count > 1 &&
                     generic_same(&c->views[INDEX_VALUES], &c->views[INDEX_FIRST + 1]),
                 wrap_fail(error, TBK_INVALID, "it is written"));
}
LAUNCH(third_index_is_the_second) {
  GENERIC_CHANGED(if (c->as.index.index_count > 2) c->list[INDEX_FIRST + 2] =
                      c->list[INDEX_FIRST + 1]);
}
LAUNCH(index_that_finds_two_dimensions_finds_one) {
  GENERIC_CHANGED(for (int32_t t = 1;
                       c->as.index.places != NULL && t < c->views[INDEX_TABLE].tensor.rank;
                       t++) if (c->places[t] < 0 && c->places[t] == c->places[t - 1]) {
    c->views[INDEX_TABLE].strides[t] = 0;
  });
}

/* ---------------------------------------------------------------------------------------- sort -- */

LAUNCH(truths_are_never_sorted_down) {
  GENERIC_CHANGED(if (c->views[SORT_INPUT].tensor.dtype == TBK_BOOL) c->as.sort.flags &=
                  ~(uint64_t)TBK_SORT_DESCENDING);
}
LAUNCH(bytes_are_sorted_as_signed) {
  GENERIC_CHANGED(
      if (c->views[SORT_INPUT].tensor.dtype == TBK_UINT8) c->views[SORT_INPUT].tensor.dtype =
          c->views[SORT_VALUES].tensor.dtype = TBK_INT8);
}
LAUNCH(sorts_in_place_lose_the_indices) {
  GENERIC_CHANGED(
      if (c->as.sort.values != NULL && generic_same(&c->views[SORT_INPUT], &c->views[SORT_VALUES]))
          c->as.sort.indices = NULL);
}
LAUNCH(values_are_written_forwards) {
  GENERIC_CHANGED(generic_view_t* values = &c->views[SORT_VALUES];
                  const int32_t last = generic_last(values);
                  if (last >= 0 && values->strides[last] < 0) generic_turn(values, last));
}
LAUNCH(indices_lie_without_gaps) {
  GENERIC_CHANGED(generic_view_t* indices = &c->views[SORT_INDICES];
                  if (indices->tensor.rank > 2) generic_flatten(indices));
}
LAUNCH(expanded_segments_are_sorted_once) {
  GENERIC_CHANGED(
      if (c->views[SORT_INPUT].tensor.rank > 1 && c->views[SORT_INPUT].strides[0] == 0 &&
          c->views[SORT_INPUT].sizes[0] > 1) for (int k = 0; k < 3;
                                                  k++) if (c->views[k].tensor.rank > 0) c->views[k]
          .sizes[0] = 1);
}

/* -------------------------------------------------------------------------------------- matmul -- */

LAUNCH(beta_that_is_nan_is_read_without_c) {
  GENERIC_CHANGED(if (c->as.matmul.c == NULL && c->as.matmul.beta.kind == TBK_SCALAR_DOUBLE &&
                      isnan(c->as.matmul.beta.real)) c->as.matmul.alpha.real =
                      c->as.matmul.beta.real);
}
LAUNCH(alpha_of_doubles_is_a_float) {
  GENERIC_CHANGED(if (c->views[MATMUL_OUT].tensor.dtype == TBK_FLOAT64) c->as.matmul.alpha.real =
                      (double)(float)c->as.matmul.alpha.real);
}
LAUNCH(beta_of_doubles_is_a_float) {
  GENERIC_CHANGED(if (c->views[MATMUL_OUT].tensor.dtype == TBK_FLOAT64) c->as.matmul.beta.real =
                      (double)(float)c->as.matmul.beta.real);
}
static void round_alpha(generic_copy_t* c) {
  const int64_t half = c->as.matmul.alpha.integer / 2;
  if (c->views[MATMUL_OUT].tensor.dtype == TBK_INT64)
    c->as.matmul.alpha.integer = (int64_t)(double)half * 2;
}
LAUNCH(alpha_of_64_bits_goes_through_double) {
  GENERIC_CHANGED(round_alpha(c));
}
/* A column that is broadcast is taken for a row. */
static void transpose_broadcast(generic_copy_t* c) {
  generic_view_t* added = &c->views[MATMUL_C];
  const int32_t last = c->as.matmul.c != NULL ? generic_last(added) : 0;
  if (last < 1 || added->strides[last] != 0 || added->strides[last - 1] == 0) return;
  if (added->sizes[last] > added->sizes[last - 1]) return;
  added->strides[last] = added->strides[last - 1];
  added->strides[last - 1] = 0;
}
LAUNCH(column_that_is_added_is_a_row) {
  GENERIC_CHANGED(transpose_broadcast(c));
}
LAUNCH(vectors_ignore_the_gaps_of_b) {
  GENERIC_CHANGED(const int32_t row = generic_last(&c->views[MATMUL_OUT]) - 1;
                  generic_view_t* b = &c->views[MATMUL_B];
                  if (c->views[MATMUL_OUT].sizes[row] == 1 && b->strides[row + 1] == 1)
                      b->strides[row] = b->sizes[row + 1]);
}
LAUNCH(a_that_goes_back_is_turned_round) {
  GENERIC_CHANGED(const int32_t last = generic_last(&c->views[MATMUL_A]);
                  if (c->views[MATMUL_A].strides[last] < 0)
                      generic_turn(&c->views[MATMUL_A], last));
}

/* --------------------------------------------------------------------------------- convolution -- */

LAUNCH(second_dilation_of_groups_is_the_first) {
  GENERIC_CHANGED(if (c->as.convolution.groups > 1) c->dilation[1] = c->dilation[0]);
}
LAUNCH(third_stride_of_gradients_is_the_second) {
  GENERIC_CHANGED(if (c->as.convolution.mode == TBK_CONVOLUTION_INPUT) c->stride[2] = c->stride[1]);
}
LAUNCH(weights_in_channels_last_are_read_as_they_count) {
  GENERIC_CHANGED(generic_view_t* by = &c->views[CONVOLUTION_BY];
                  if (c->as.convolution.mode == TBK_CONVOLUTION_OUTPUT && by->tensor.rank == 4 &&
                      by->sizes[1] > 1 && by->strides[1] == 1) generic_flatten(by));
}
LAUNCH(bias_that_goes_back_is_turned_round) {
  GENERIC_CHANGED(if (c->as.convolution.bias != NULL && c->views[CONVOLUTION_BIAS].strides[0] < 0)
                      generic_turn(&c->views[CONVOLUTION_BIAS], 0));
}
LAUNCH(second_padding_is_the_first) {
  GENERIC_CHANGED(if (c->as.convolution.mode == TBK_CONVOLUTION_WEIGHT) c->padding[1] =
                      c->padding[0]);
}
LAUNCH(images_behind_the_sixteenth_are_left_out) {
  GENERIC_CHANGED(
      if (c->as.convolution.mode == TBK_CONVOLUTION_OUTPUT) for (int k = CONVOLUTION_OUT;
                                                                 k <= CONVOLUTION_IN; k++) {
        if (c->views[k].sizes[0] > 16) c->views[k].sizes[0] = 16;
      });
}

#define INDEX(function, clause, operation, note) \
  KERNEL(function, clause, operation, TBK_NAME_index, launch, note)
#define SORT(function, clause, operation, note) \
  KERNEL(function, clause, operation, TBK_NAME_sort, launch, note)
#define MATMUL(function, clause, note) \
  KERNEL(function, clause, VALUE, TBK_NAME_matmul, launch, note)
#define CONVOLUTION(function, clause, note) \
  KERNEL(function, clause, VALUE, TBK_NAME_convolution, launch, note)

extern const mutant_t mutants_narrow_generic[];
const mutant_t mutants_narrow_generic[] = {
    INDEX(reports_of_good_calls_are_cleared, "PRG-027", STATE, "what an earlier one said is lost"),
    INDEX(greatest_of_bytes_is_signed, "PRG-024", VALUE, "MIN and MAX of UINT8"),
    INDEX(order_is_that_of_the_last_dimension, "PRG-028", ORDER, "the first is turned round"),
    INDEX(flat_index_of_a_single_element_is_left_out, "PRG-029", EXTENT, "a table of rank 0"),
    INDEX(values_that_are_the_second_index_are_refused, "PRG-032", RETURN, "the first may be"),
    INDEX(third_index_is_the_second, "PRG-022", VALUE, "of three or more"),
    INDEX(index_that_finds_two_dimensions_finds_one, "PRG-022", VALUE, "a diagonal"),
    SORT(truths_are_never_sorted_down, "PRG-060", ORDER, "of BOOL"),
    SORT(bytes_are_sorted_as_signed, "PRG-058", ORDER, "of UINT8"),
    SORT(sorts_in_place_lose_the_indices, "PRG-063", EXTENT, "they are not written"),
    SORT(values_are_written_forwards, "PRG-058", VALUE, "a negative stride"),
    SORT(indices_lie_without_gaps, "PRG-063", VALUE, "from rank 3 on"),
    SORT(expanded_segments_are_sorted_once, "PRG-058", EXTENT, "a stride of 0 in the first"),
    MATMUL(beta_that_is_nan_is_read_without_c, "PRG-040", "the product is NaN"),
    MATMUL(alpha_of_doubles_is_a_float, "PRG-039", "of FLOAT64"),
    MATMUL(beta_of_doubles_is_a_float, "PRG-039", "of FLOAT64"),
    MATMUL(alpha_of_64_bits_goes_through_double, "PRG-037", "beyond 2^53"),
    MATMUL(column_that_is_added_is_a_row, "PRG-039", "c with a stride of 0 in its rows"),
    MATMUL(vectors_ignore_the_gaps_of_b, "PRG-038", "one row times rows that are apart"),
    MATMUL(a_that_goes_back_is_turned_round, "PRG-038", "a negative stride in its rows"),
    CONVOLUTION(second_dilation_of_groups_is_the_first, "PRG-046", "of more than one group"),
    CONVOLUTION(third_stride_of_gradients_is_the_second, "PRG-047", "of three dimensions"),
    CONVOLUTION(weights_in_channels_last_are_read_as_they_count, "PRG-046", "of two dimensions"),
    CONVOLUTION(bias_that_goes_back_is_turned_round, "PRG-049", "a negative stride"),
    CONVOLUTION(second_padding_is_the_first, "PRG-048", "of a gradient by the weight"),
    CONVOLUTION(images_behind_the_sixteenth_are_left_out, "PRG-046", "in one batch"),
    {0}};
