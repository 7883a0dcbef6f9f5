/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_operand.c: what a launch writes, and where: outputs, inputs, what lies between.
 */
#include <string.h>

#include "arguments.h"
#include "calls.h"

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
    LAUNCHING(launch_ignores_strides, "KRN-005", VALUE, BROAD, "the first input is contiguous"),
    LAUNCHING(launch_of_rank_0_is_lost, "KRN-005", VALUE, NARROW, "rank 0 has no effect"),
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
    {0}};
