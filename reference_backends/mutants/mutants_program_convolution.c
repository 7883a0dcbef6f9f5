/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_program_convolution.c: tbk::convolution with a fault: other operands than those that the reference
 * was given.
 */
#include <tbk/dtypes.h>

#include "convolution_copy.h"
#include "elements.h"

static bool is_integer(const convolution_copy_t* c) {
  return tbk_dtype_kind(c->dtype) == TBK_KIND_INTEGER;
}

static bool is_narrow(const convolution_copy_t* c) {
  return c->dtype == TBK_FLOAT16 || c->dtype == TBK_BFLOAT16;
}

static void shorten(convolution_view_t* view, int32_t d, int64_t by) {
  view->sizes[d] = view->sizes[d] > by ? view->sizes[d] - by : 0;
}

/* ---------------------------------------------------------------------------- what is summed -- */

/* Of one group: the channels that are summed over, or the images. */
static void forget_last(convolution_copy_t* c, int64_t by) {
  if (c->mode == BY) {
    shorten(&c->views[IN], 0, by);
    shorten(&c->views[OUT], 0, by);
  } else if (c->arguments.groups == 1) {
    shorten(&c->views[c->mode == OUT ? IN : OUT], 1, by);
    shorten(&c->views[BY], c->mode == OUT ? 1 : 0, by);
  }
}

LAUNCH(last_channel_is_left_out) {
  CONVOLUTION_CHANGED(if (c->mode == OUT) forget_last(c, 1));
}
LAUNCH(last_filter_is_left_out) {
  CONVOLUTION_CHANGED(if (c->mode == IN) forget_last(c, 1));
}
LAUNCH(last_image_is_left_out) {
  CONVOLUTION_CHANGED(if (c->mode == BY) forget_last(c, 1));
}
LAUNCH(last_place_is_left_out) {
  CONVOLUTION_CHANGED(if (c->mode == BY) shorten(&c->views[OUT], c->last, 1));
}
LAUNCH(last_integer_is_left_out) {
  CONVOLUTION_CHANGED(if (is_integer(c)) forget_last(c, 1));
}
LAUNCH(doubles_are_read_as_floats) {
  const convolution_copy_t* c = convolution_copy_of(arguments);
  if (c == NULL || c->dtype != TBK_FLOAT64) return LAUNCH_INNER;
  return elements_launch(&c->views[c->mode == IN ? BY : IN].tensor, elements_keep_24_digits, self,
                         device, kernel, arguments, stream, error);
}

/* As a sum in a narrow format does not grow any more. */
LAUNCH(narrow_sums_stop_at_1000) {
  CONVOLUTION_CHANGED(const int64_t summed =
                          c->mode == OUT ? c->views[BY].sizes[1] : c->views[BY].sizes[0];
                      if (is_narrow(c) && summed > 1000) forget_last(c, summed - 1000));
}

LAUNCH(taps_of_a_volume_are_too_few) {
  CONVOLUTION_CHANGED(if (c->last == 4 && c->mode == OUT) shorten(&c->views[BY], 4, 1));
}
LAUNCH(dilation_of_gradients_is_1) {
  CONVOLUTION_CHANGED(for (int d = 0; d < SPATIAL && c->mode == IN; d++) c->dilation[d] = 1);
}
LAUNCH(stride_of_gradients_is_1) {
  CONVOLUTION_CHANGED(for (int d = 0; d < SPATIAL && c->mode == BY; d++) c->stride[d] = 1);
}

static bool has_one_tap(const convolution_copy_t* c) {
  for (int32_t d = 2; d <= c->last; d++)
    if (c->views[BY].sizes[d] != 1) return false;
  return true;
}
/* Takes a product of matrices, whose rows lie beside each other, for it. */
LAUNCH(gradients_of_one_tap_have_no_stride) {
  CONVOLUTION_CHANGED(for (int d = 0; d < SPATIAL && c->mode == IN && has_one_tap(c); d++)
                          c->stride[d] = 1);
}
LAUNCH(weights_of_one_tap_have_no_padding) {
  CONVOLUTION_CHANGED(for (int d = 0; d < SPATIAL && c->mode == BY && has_one_tap(c); d++)
                          c->padding[d] = 0);
}

/* What mathematicians call a convolution. */
LAUNCH(taps_are_turned_round) {
  CONVOLUTION_CHANGED(convolution_view_t* by = &c->views[BY];
                      for (int32_t d = 2; d <= c->last && c->mode == OUT; d++) {
                        by->tensor.offset +=
                            (by->sizes[d] > 0 ? by->sizes[d] - 1 : 0) * by->strides[d];
                        by->strides[d] = -by->strides[d];
                      });
}

LAUNCH(all_groups_are_the_first) {
  CONVOLUTION_CHANGED(if (c->mode == OUT) {
    c->views[IN].sizes[1] /= c->arguments.groups;
    c->arguments.groups = 1;
  });
}

/* ------------------------------------------------------------------------- bias and padding ---- */

LAUNCH(bias_is_left_out) {
  CONVOLUTION_CHANGED(c->arguments.bias = NULL);
}
LAUNCH(bias_of_inputs_is_left_out) {
  CONVOLUTION_CHANGED(if (c->mode == IN) c->arguments.bias = NULL);
}
LAUNCH(first_bias_is_everyones) {
  CONVOLUTION_CHANGED(c->views[BIAS].strides[0] = 0);
}

/* The element before a row is taken for the last of its padding. */
LAUNCH(element_before_a_row_is_read) {
  CONVOLUTION_CHANGED(
      convolution_view_t* in = &c->views[IN]; const int64_t step = in->strides[c->last];
      if (c->mode == OUT && c->padding[c->last - 2] > 0 && step > 0 && in->tensor.offset >= step) {
        in->tensor.offset -= step;
        in->sizes[c->last]++;
        c->padding[c->last - 2]--;
      });
}

LAUNCH(places_beyond_are_not_written) {
  CONVOLUTION_CHANGED(const int64_t room = c->views[IN].sizes[2] + 2 * c->padding[0] -
                                           (c->views[BY].sizes[2] - 1) * c->dilation[0];
                      const int64_t most = room > 0 ? (room - 1) / c->stride[0] + 1 : 0;
                      if (c->mode == OUT && c->views[OUT].sizes[2] > most) c->views[OUT].sizes[2] =
                          most);
}

/* Where nothing is padded, every place is taken to be inside. */
LAUNCH(places_without_padding_are_those_that_fit) {
  CONVOLUTION_CHANGED(
      const int32_t d = c->last - 2;
      const int64_t reach = (c->views[BY].sizes[c->last] - 1) * c->dilation[d];
      const int64_t room = c->views[IN].sizes[c->last] - reach;
      const int64_t most = room > 0 ? (room - 1) / c->stride[d] + 1 : 0;
      if (c->mode == OUT && c->padding[d] == 0 && c->views[OUT].sizes[c->last] > most) c->views[OUT]
          .sizes[c->last] = most);
}

static bool is_empty(const convolution_view_t* view) {
  for (int32_t d = 0; d < view->tensor.rank; d++)
    if (view->sizes[d] == 0) return true;
  return false;
}

LAUNCH(what_has_no_product_stays) {
  convolution_copy_t* c = convolution_copy_of(arguments);
  if (c != NULL &&
      (is_empty(&c->views[(c->mode + 1) % 3]) || is_empty(&c->views[(c->mode + 2) % 3])))
    return TBK_OK;
  return LAUNCH_INNER;
}

/* A gradient is written as far as the last product reaches. */
LAUNCH(inputs_behind_the_last_tap_stay) {
  CONVOLUTION_CHANGED(
      const int32_t d = c->last - 2;
      const int64_t reach = (c->views[OUT].sizes[c->last] - 1) * c->stride[d] +
                            (c->views[BY].sizes[c->last] - 1) * c->dilation[d] + 1 - c->padding[d];
      if (c->mode == IN && reach > 0 && c->views[IN].sizes[c->last] > reach) c->views[IN]
          .sizes[c->last] = reach);
}

/* ------------------------------------------------------------------------------- 64 bits ------- */

LAUNCH(padding_keeps_32_bits) {
  CONVOLUTION_CHANGED(for (int d = 0; d < SPATIAL; d++) c->padding[d] &= UINT32_MAX);
}
LAUNCH(far_dilation_is_1) {
  CONVOLUTION_CHANGED(for (int d = 0; d < SPATIAL; d++) if (c->dilation[d] > INT32_MAX)
                          c->dilation[d] = 1);
}
LAUNCH(offsets_of_inputs_keep_31_bits) {
  CONVOLUTION_CHANGED(
      for (int32_t d = 0; d <= c->last; d++) if (c->views[IN].strides[d] > INT32_MAX) c->views[IN]
          .strides[d] &= INT32_MAX);
}

/* ------------------------------------------------------------------------------------- refusal -- */

LAUNCH(many_groups_are_refused) {
  const convolution_copy_t* c = convolution_copy_of(arguments);
  if (c != NULL && c->arguments.groups > 4)
    return wrap_fail(error, TBK_UNSUPPORTED, "more than 4 groups");
  return LAUNCH_INNER;
}
LAUNCH(volumes_are_refused) {
  const convolution_copy_t* c = convolution_copy_of(arguments);
  if (c != NULL && c->last == 4) return wrap_fail(error, TBK_UNSUPPORTED, "three dimensions");
  return LAUNCH_INNER;
}
LAUNCH(batches_without_images_are_refused) {
  const convolution_copy_t* c = convolution_copy_of(arguments);
  if (c != NULL && c->views[IN].sizes[0] == 0) return wrap_fail(error, TBK_INVALID, "no images");
  return LAUNCH_INNER;
}
LAUNCH(malformed_convolutions_are_accepted) {
  return convolution_copy_of(arguments) == NULL ? TBK_OK : LAUNCH_INNER;
}
LAUNCH(malformed_convolutions_are_unsupported) {
  if (convolution_copy_of(arguments) == NULL) return wrap_fail(error, TBK_UNSUPPORTED, "malformed");
  return LAUNCH_INNER;
}

#define CONVOLUTION_ROW(function, clause, operation, narrow, note) \
  KERNEL_ROW(function, clause, operation, narrow, TBK_NAME_convolution, launch, note)

const mutant_t mutants_program_convolution[] = {
    CONVOLUTION_ROW(many_groups_are_refused, "PRG-045", RETURN, NARROW, "more than 4"),
    CONVOLUTION_ROW(volumes_are_refused, "PRG-045", RETURN, BROAD, "of three dimensions"),
    CONVOLUTION_ROW(last_channel_is_left_out, "PRG-046", VALUE, BROAD, "of one group"),
    CONVOLUTION_ROW(taps_are_turned_round, "PRG-046", ORDER, BROAD, "the last tap comes first"),
    CONVOLUTION_ROW(taps_of_a_volume_are_too_few, "PRG-046", EXTENT, NARROW, "off by one in 3-D"),
    CONVOLUTION_ROW(all_groups_are_the_first, "PRG-046", VALUE, NARROW, "every filter reads it"),
    CONVOLUTION_ROW(last_filter_is_left_out, "PRG-047", VALUE, BROAD, "of one group"),
    CONVOLUTION_ROW(dilation_of_gradients_is_1, "PRG-047", VALUE, NARROW, "by the input"),
    CONVOLUTION_ROW(inputs_behind_the_last_tap_stay, "PRG-047", EXTENT, NARROW,
                    "what no product names"),
    CONVOLUTION_ROW(last_image_is_left_out, "PRG-048", VALUE, BROAD, "one too few"),
    CONVOLUTION_ROW(last_place_is_left_out, "PRG-048", EXTENT, BROAD, "one too few"),
    CONVOLUTION_ROW(gradients_of_one_tap_have_no_stride, "PRG-047", VALUE, NARROW,
                    "as a product of matrices"),
    CONVOLUTION_ROW(weights_of_one_tap_have_no_padding, "PRG-048", VALUE, NARROW,
                    "as a product of matrices"),
    CONVOLUTION_ROW(stride_of_gradients_is_1, "PRG-048", VALUE, NARROW, "by the weight"),
    CONVOLUTION_ROW(bias_is_left_out, "PRG-049", VALUE, BROAD, "it is not looked at"),
    CONVOLUTION_ROW(bias_of_inputs_is_left_out, "PRG-049", VALUE, NARROW, "of a transposed one"),
    CONVOLUTION_ROW(first_bias_is_everyones, "PRG-049", VALUE, NARROW, "its stride is taken for 0"),
    CONVOLUTION_ROW(element_before_a_row_is_read, "PRG-050", EXTENT, NARROW,
                    "off by one in the padding"),
    CONVOLUTION_ROW(doubles_are_read_as_floats, "PRG-051", VALUE, NARROW, "of one operand"),
    CONVOLUTION_ROW(narrow_sums_stop_at_1000, "PRG-052", VALUE, NARROW, "as a narrow sum would"),
    CONVOLUTION_ROW(last_integer_is_left_out, "PRG-046", VALUE, NARROW, "a sum is one short"),
    CONVOLUTION_ROW(batches_without_images_are_refused, "PRG-054", RETURN, NARROW,
                    "as if malformed"),
    CONVOLUTION_ROW(what_has_no_product_stays, "PRG-054", VALUE, BROAD, "it is not written"),
    CONVOLUTION_ROW(places_beyond_are_not_written, "PRG-054", EXTENT, NARROW, "those that fit are"),
    CONVOLUTION_ROW(places_without_padding_are_those_that_fit, "PRG-054", EXTENT, NARROW,
                    "the others stay as they were"),
    CONVOLUTION_ROW(malformed_convolutions_are_accepted, "PRG-055", RETURN, BROAD,
                    "and do nothing"),
    CONVOLUTION_ROW(malformed_convolutions_are_unsupported, "PRG-055", RETURN, BROAD,
                    "another's answer"),
    CONVOLUTION_ROW(padding_keeps_32_bits, "PRG-056", VALUE, BROAD, "the low half is looked at"),
    CONVOLUTION_ROW(far_dilation_is_1, "PRG-056", VALUE, NARROW, "beyond 2^31"),
    FAR_KERNEL_ROW(offsets_of_inputs_keep_31_bits, "PRG-056", TBK_NAME_convolution,
                   "images beyond 2^31 elements"),
    {0},
};
