/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_operand.c: what a launch writes, and where: outputs, inputs, what lies between.
 */
#include <string.h>

#include "arguments.h"
#include "calls.h"
#include "elements.h"

/* KRN-003: one row less than there is, or one element more. */
static bool pointwise(const char* name) {
  return strcmp(name, "mm") != 0 && strcmp(name, "sum.dim_IntList") != 0;
}
static bool drop_last(arguments_copy_t* copy, const char* name, const void* arguments) {
  if (!pointwise(name) || !arguments_copy(copy, name, arguments)) return false;
  for (int i = 0; i < copy->count; ++i) {
    if (copy->tensors[i].rank == 0 || copy->sizes[i][0] <= 1) return false;
    copy->sizes[i][0] -= 1;
  }
  return true;
}
LAUNCH(launch_drops_last_row) {
  arguments_copy_t copy;
  if (drop_last(&copy, KERNEL_NAME, arguments)) arguments = &copy.as;
  return LAUNCH_INNER;
}
LAUNCH(large_launch_drops_last_row) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments) &&
      tensor_elements(arguments_output(&copy)) >= 1000 && drop_last(&copy, KERNEL_NAME, arguments))
    arguments = &copy.as;
  return LAUNCH_INNER;
}
static void spoil_element(tbk_instance_t* self, int32_t device, const tbk_tensor_t* tensor,
                          int64_t element, tbk_stream_t* stream) {
  const uint64_t size = dtype_bytes(tensor->dtype);
  const uint64_t at = (uint64_t)(tensor->offset + element) * size;
  if (size > 0)
    ignore(INNER(self, core)->fill(self, device, tensor->memory, at, 0x3c, size, stream, NULL));
}
LAUNCH(launch_writes_one_element_more) {
  arguments_copy_t copy;
  tbk_status_t status = LAUNCH_INNER;
  if (status == TBK_OK && arguments_copy(&copy, KERNEL_NAME, arguments)) {
    const tbk_tensor_t* out = arguments_output(&copy);
    spoil_element(self, device, out, (int64_t)tensor_elements(out), stream);
  }
  return status;
}

LAUNCH(launch_spoils_first_input) {
  arguments_copy_t copy;
  tbk_status_t status = LAUNCH_INNER;
  if (status == TBK_OK && arguments_copy(&copy, KERNEL_NAME, arguments) && copy.count > 1 &&
      tensor_elements(&copy.tensors[0]) > 0 &&
      copy.tensors[0].memory != arguments_output(&copy)->memory)
    spoil_element(self, device, &copy.tensors[0], 0, stream);
  return status;
}
LAUNCH(mm_spoils_second_input) {
  arguments_copy_t copy;
  tbk_status_t status = LAUNCH_INNER;
  if (status == TBK_OK && arguments_copy(&copy, KERNEL_NAME, arguments) &&
      tensor_elements(&copy.tensors[1]) > 0)
    spoil_element(self, device, &copy.tensors[1], 0, stream);
  return status;
}

/* What is scratch now and then: the last input. */
LAUNCH(fifth_launch_spoils_last_input) {
  arguments_copy_t copy;
  tbk_status_t status = LAUNCH_INNER;
  if (status != TBK_OK || !arguments_copy(&copy, KERNEL_NAME, arguments) || copy.count < 2)
    return status;
  const tbk_tensor_t* last = &copy.tensors[copy.count - 2];
  if (tensor_elements(last) > 0 && last->memory != arguments_output(&copy)->memory &&
      wrap_every(wrap_of(self), 5))
    spoil_element(self, device, last, 0, stream);
  return status;
}

LAUNCH(launch_ignores_strides) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments) && copy.count > 1) {
    tensor_make_contiguous(&copy, 0);
    arguments = &copy.as;
  }
  return LAUNCH_INNER;
}
LAUNCH(launch_of_rank_0_is_lost) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments) && arguments_output(&copy)->rank == 0)
    return TBK_OK;
  return LAUNCH_INNER;
}
LAUNCH(launch_of_nothing_fails) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments) &&
      tensor_elements(arguments_output(&copy)) == 0)
    return wrap_fail(error, TBK_FAILED, "a grid of no blocks");
  return LAUNCH_INNER;
}

/* Clears the output before it reads the inputs. */
static bool same_place(const tbk_tensor_t* a, const tbk_tensor_t* b) {
  return a->memory == b->memory && a->offset == b->offset;
}
LAUNCH(launch_clears_output_first) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments) && copy.count > 1)
    tensor_clear(self, device, arguments_output(&copy), stream);
  return LAUNCH_INNER;
}
LAUNCH(add_clears_output_that_is_other) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments) &&
      same_place(&copy.tensors[1], arguments_output(&copy)))
    tensor_clear(self, device, arguments_output(&copy), stream);
  return LAUNCH_INNER;
}

/* Puts `self` into the output, and then `other`, which is gone where it was the output. */
LAUNCH(where_overwrites_output_that_is_other) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments) &&
      same_place(&copy.tensors[2], arguments_output(&copy))) {
    copy.as.where.other = copy.as.where.self;
    arguments = &copy.as;
  }
  return LAUNCH_INNER;
}

static bool in_place(const arguments_copy_t* copy) {
  for (int i = 0; i + 1 < copy->count; ++i) {
    if (same_place(&copy->tensors[i], &copy->tensors[copy->count - 1])) return true;
  }
  return false;
}
LAUNCH(long_in_place_stops_halfway) {
  enum { LONG = 8192 };
  arguments_copy_t copy;
  if (!pointwise(KERNEL_NAME) || !arguments_copy(&copy, KERNEL_NAME, arguments) ||
      !in_place(&copy) || copy.sizes[0][0] < LONG)
    return LAUNCH_INNER;
  for (int i = 0; i < copy.count; ++i)
    copy.sizes[i][0] /= 2;
  arguments = &copy.as;
  return LAUNCH_INNER;
}
/* Writes it as one piece where it has read it by its strides. */
LAUNCH(in_place_loses_strides) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments) && in_place(&copy)) {
    tensor_make_contiguous(&copy, copy.count - 1);
    arguments = &copy.as;
  }
  return LAUNCH_INNER;
}

/* Where the output is an input, that input reads as 0. */
static void clear(void* elements, uint64_t count) {
  memset(elements, 0, count * 4);
}
LAUNCH(in_place_starts_from_0) {
  arguments_copy_t c;
  if (arguments_copy(&c, KERNEL_NAME, arguments) && c.count == 3) {
    const tbk_tensor_t* out = arguments_output(&c);
    if (in_place(&c) && dtype_bytes(out->dtype) == 4)
      tensor_change(self, device, out, stream, clear);
  }
  return LAUNCH_INNER;
}

/* The first element between those of the output, by whatever stride leaves room. */
static int64_t gap_of(const tbk_tensor_t* out) {
  const int32_t last = out->rank - 1;
  if (out->rank == 0 || tensor_elements(out) == 0) return -1;
  if (out->strides[last] > 1 && out->sizes[last] > 1) return out->offset + 1;
  if (out->rank > 1 && out->strides[last] == 1 && out->strides[last - 1] > out->sizes[last])
    return out->offset + out->sizes[last];
  return -1;
}
static tbk_status_t fill_gap(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                             const void* arguments, tbk_stream_t* stream, bool rows_only) {
  arguments_copy_t c;
  if (!arguments_copy(&c, KERNEL_NAME, arguments)) return TBK_OK;
  const tbk_tensor_t* out = arguments_output(&c);
  const int64_t gap = gap_of(out);
  if (gap < 0 || (rows_only && out->strides[out->rank - 1] > 1)) return TBK_OK;
  const uint64_t size = dtype_bytes(out->dtype);
  return INNER(self, core)
      ->fill(self, device, out->memory, (uint64_t)gap * size, 0x3c, size, stream, NULL);
}
LAUNCH(launch_writes_gaps) {
  tbk_status_t status = LAUNCH_INNER;
  return status == TBK_OK ? fill_gap(self, device, kernel, arguments, stream, false) : status;
}
LAUNCH(launch_writes_padding_of_rows) {
  tbk_status_t status = LAUNCH_INNER;
  return status == TBK_OK ? fill_gap(self, device, kernel, arguments, stream, true) : status;
}

/* Stores whole words: what lies behind a narrow element is written with it. */
LAUNCH(narrow_elements_write_gaps) {
  arguments_copy_t c;
  tbk_status_t status = LAUNCH_INNER;
  if (status != TBK_OK || !arguments_copy(&c, KERNEL_NAME, arguments)) return status;
  if (dtype_bytes(arguments_output(&c)->dtype) >= 4) return status;
  return fill_gap(self, device, kernel, arguments, stream, false);
}

LAUNCH(where_into_every_third_writes_gaps) {
  arguments_copy_t c;
  tbk_status_t status = LAUNCH_INNER;
  if (status != TBK_OK || !arguments_copy(&c, KERNEL_NAME, arguments)) return status;
  const tbk_tensor_t* out = arguments_output(&c);
  if (out->rank == 0 || dtype_bytes(out->dtype) != 8 || out->strides[out->rank - 1] != 3)
    return status;
  return fill_gap(self, device, kernel, arguments, stream, false);
}

/* ----------------------------------------------------------- what operands are to each other --- */

/* Two windows of one memory are loaded once. */
LAUNCH(mul_of_windows_squares_the_first) {
  arguments_copy_t c;
  if (!arguments_copy(&c, KERNEL_NAME, arguments)) return LAUNCH_INNER;
  const size_t bytes = sizeof(int64_t) * (size_t)c.tensors[0].rank;
  if (c.tensors[0].memory == c.tensors[1].memory && memcmp(c.strides[0], c.strides[1], bytes) == 0)
    c.tensors[1].offset = c.tensors[0].offset;
  arguments = &c.as;
  return LAUNCH_INNER;
}

/* It has room between its elements, so that it can be read as if it had none. */
static bool is_loose(const tbk_tensor_t* tensor) {
  for (int32_t k = 0; k < tensor->rank; ++k)
    if (tensor->strides[k] <= 0) return false;
  return !tensor_contiguous(tensor);
}
LAUNCH(add_asks_self_for_the_layout_of_other) {
  arguments_copy_t c;
  if (!arguments_copy(&c, KERNEL_NAME, arguments)) return LAUNCH_INNER;
  if (c.tensors[0].memory != c.tensors[1].memory && tensor_contiguous(&c.tensors[0]) &&
      is_loose(&c.tensors[1]))
    tensor_make_contiguous(&c, 1);
  arguments = &c.as;
  return LAUNCH_INNER;
}
LAUNCH(where_into_self_asks_it_for_the_layout_of_other) {
  arguments_copy_t c;
  if (!arguments_copy(&c, KERNEL_NAME, arguments)) return LAUNCH_INNER;
  if (same_place(&c.tensors[1], arguments_output(&c)) && tensor_contiguous(&c.tensors[1]) &&
      is_loose(&c.tensors[2]))
    tensor_make_contiguous(&c, 2);
  arguments = &c.as;
  return LAUNCH_INNER;
}
/* Cuts off what FLOAT32 has no bits for, where it stores element by element. */
LAUNCH(copy_of_doubles_into_gaps_truncates) {
  arguments_copy_t c;
  if (!arguments_copy(&c, KERNEL_NAME, arguments) || c.tensors[0].dtype != TBK_FLOAT64 ||
      arguments_output(&c)->dtype != TBK_FLOAT32 || tensor_contiguous(arguments_output(&c)))
    return LAUNCH_INNER;
  return elements_launch(&c.tensors[0], elements_keep_24_digits, self, device, kernel, arguments,
                         stream, error);
}

/* Made for operands apart, the plan of a product clears what it adds up in. */
LAUNCH_PLAN(plans_of_mm_clear_an_output_that_is_mat2) {
  arguments_copy_t c;
  if (arguments_copy(&c, "mm", arguments) && same_place(&c.tensors[1], arguments_output(&c)))
    tensor_clear(self, device, arguments_output(&c), stream);
  return LAUNCH_PLAN_INNER;
}

#define LAUNCHING(function, clause, operation, narrow, note) \
  ROW(function, clause, operation, narrow, launching.launch, note)
#define VALUE_OF(function, clause, narrow, op, note) \
  KERNEL_ROW(function, clause, VALUE, narrow, op, launch, note)

extern const mutant_t mutants_operand[];
const mutant_t mutants_operand[] = {
    LAUNCHING(launch_drops_last_row, "KRN-003", EXTENT, BROAD, "the last row is not computed"),
    LAUNCHING(large_launch_drops_last_row, "KRN-003", EXTENT, NARROW, "from 1000 elements on"),
    LAUNCHING(launch_writes_one_element_more, "KRN-003", EXTENT, BROAD, "the element behind"),
    LAUNCHING(launch_spoils_first_input, "KRN-004", VALUE, BROAD, "writes into its first input"),
    KERNEL_ROW(mm_spoils_second_input, "KRN-004", VALUE, NARROW, "mm", launch,
               "mm writes into mat2"),
    LAUNCHING(fifth_launch_spoils_last_input, "KRN-004", COUNT, NARROW,
              "every fifth writes into its last input"),
    LAUNCHING(launch_ignores_strides, "KRN-112", VALUE, BROAD, "the first input is contiguous"),
    LAUNCHING(launch_of_rank_0_is_lost, "KRN-111", VALUE, NARROW, "rank 0 has no effect"),
    LAUNCHING(launch_of_nothing_fails, "KRN-005", RETURN, NARROW, "FAILED without elements"),
    LAUNCHING(launch_clears_output_first, "KRN-006", VALUE, BROAD, "clears the output first"),
    KERNEL_ROW(add_clears_output_that_is_other, "KRN-006", VALUE, NARROW, "add.Tensor", launch,
               "add clears an output that is `other`"),
    KERNEL_ROW(where_overwrites_output_that_is_other, "KRN-006", VALUE, NARROW, "where.self",
               launch, "where takes `self` for an output that is `other`"),
    VALUE_OF(in_place_starts_from_0, "KRN-113", BROAD, NULL, "an input that is the output is 0"),
    LAUNCHING(long_in_place_stops_halfway, "KRN-113", EXTENT, NARROW,
              "half of it from 8192 rows on"),
    VALUE_OF(in_place_loses_strides, "KRN-113", BROAD, NULL, "a contiguous output"),
    VALUE_OF(launch_writes_gaps, "KRN-116", BROAD, NULL, "an element between those of the output"),
    VALUE_OF(launch_writes_padding_of_rows, "KRN-116", NARROW, NULL, "an element between two rows"),
    LAUNCHING(narrow_elements_write_gaps, "KRN-116", EXTENT, NARROW,
              "an element between those narrower than a word"),
    KERNEL_ROW(where_into_every_third_writes_gaps, "KRN-116", EXTENT, NARROW, "where.self", launch,
               "elements of 8 bytes with a stride of 3"),
    KERNEL_ROW(mul_of_windows_squares_the_first, "KRN-105", STATE, NARROW, "mul.Tensor", launch,
               "the inputs lie in one memory, an offset apart"),
    KERNEL_ROW(add_asks_self_for_the_layout_of_other, "KRN-112", VALUE, NARROW, "add.Tensor",
               launch, "self is contiguous, and other is not"),
    KERNEL_ROW(where_into_self_asks_it_for_the_layout_of_other, "KRN-113", VALUE, NARROW,
               "where.self", launch, "self is contiguous and the output, and other is not"),
    KERNEL_ROW(copy_of_doubles_into_gaps_truncates, "KRN-103", VALUE, NARROW, "copy_", launch,
               "FLOAT64 to FLOAT32 that is not contiguous"),
    KERNEL_ROW(plans_of_mm_clear_an_output_that_is_mat2, "KRN-013", STATE, NARROW, "mm",
               launch_plan, "the output is mat2, and contiguous"),
    {0}};
