/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_program_long.c: generic kernels that are wrong of what is long or large alone: of numbers whose fractions
 * end, of sums in parts, of rows and segments beyond one block.
 */
#include "convolution_copy.h"
#include "generic_copy.h"
#include "rewrite.h"

/* ------------------------------------------------------------------------------- large numbers -- */

static _Thread_local rewrite_t rewritten;

static uint32_t put_real(rewrite_t* to, uint16_t dtype, double real) {
  union {
    double real;
    uint64_t bits;
  } wide = {real};
  union {
    float real;
    uint32_t bits;
  } narrow = {(float)real};
  return rewrite_bits(to, dtype, dtype == TBK_FLOAT64 ? wide.bits : narrow.bits);
}

/* Puts one value where the size of a number is below `bound`, else the other. */
static uint32_t put_below(rewrite_t* to, uint16_t dtype, uint32_t number, double bound,
                          uint32_t below, uint32_t other) {
  const uint32_t size = rewrite_op(to, TBK_OPCODE_ABS, dtype, 1, number, 0, 0);
  const uint32_t is_below =
      rewrite_op(to, TBK_OPCODE_LT, TBK_BOOL, 2, size, put_real(to, dtype, bound), 0);
  return rewrite_op(to, TBK_OPCODE_SELECT, dtype, 3, is_below, below, other);
}

/* Rounded by an addition: it has no bit for halves, but from a third of it on none for odd numbers either. */
static uint32_t put_added_round(rewrite_t* to, const tbk_instruction_t* i, const uint32_t* in,
                                uint64_t context) {
  const uint32_t right = rewrite_keep(to, i, in);
  if (i->opcode != TBK_OPCODE_ROUND) return right;
  const double end = i->dtype == TBK_FLOAT64 ? 0x1p52 : 0x1p23;
  const uint32_t large = put_real(to, i->dtype, 1.5 * end);
  const uint32_t sum = rewrite_op(to, TBK_OPCODE_ADD, i->dtype, 2, in[0], large, 0);
  const uint32_t wrong = rewrite_op(to, TBK_OPCODE_SUB, i->dtype, 2, sum, large, 0);
  return put_below(to, i->dtype, in[0], end, wrong, right);
}
LAUNCH(large_odd_numbers_are_rounded) {
  GENERIC_CHANGED(c->as.pointwise.program =
                      rewrite_program(&rewritten, c->as.pointwise.program, put_added_round, 0));
}

static uint32_t put_large_halves_away(rewrite_t* to, const tbk_instruction_t* i, const uint32_t* in,
                                      uint64_t context) {
  const uint32_t right = rewrite_keep(to, i, in);
  if (i->opcode != TBK_OPCODE_ROUND) return right;
  const uint32_t half =
      rewrite_op(to, TBK_OPCODE_COPYSIGN, i->dtype, 2, put_real(to, i->dtype, 0.5), in[0], 0);
  const uint32_t sum = rewrite_op(to, TBK_OPCODE_ADD, i->dtype, 2, in[0], half, 0);
  const uint32_t away = rewrite_op(to, TBK_OPCODE_TRUNC, i->dtype, 1, sum, 0, 0);
  const double end = i->dtype == TBK_FLOAT64 ? 0x1p52 : 0x1p23;
  return put_below(to, i->dtype, in[0], 0x1p20, right,
                   put_below(to, i->dtype, in[0], end, away, right));
}
LAUNCH(large_halves_are_rounded_away_from_zero) {
  GENERIC_CHANGED(c->as.pointwise.program = rewrite_program(&rewritten, c->as.pointwise.program,
                                                            put_large_halves_away, 0));
}

/* ------------------------------------------------------------------------------- sums in parts -- */

/* Each 512 products are rounded to FLOAT16, which the next are added to. */
LAUNCH(deep_tiles_of_float16_are_rounded) {
  enum { TILE = 512 };
  generic_copy_t* c = generic_copy_of(KERNEL_NAME, arguments);
  if (c == NULL || c->views[MATMUL_OUT].tensor.dtype != TBK_FLOAT16) return LAUNCH_INNER;
  generic_view_t *a = &c->views[MATMUL_A], *b = &c->views[MATMUL_B];
  const int32_t column = generic_last(a), row = column - 1;
  const int64_t k = a->sizes[column];
  if (k <= TILE) return LAUNCH_INNER;
  const void* parts = &c->as;
  tbk_status_t status = TBK_OK;
  for (int64_t first = 0; status == TBK_OK && first < k; first += TILE) {
    a->sizes[column] = b->sizes[row] = k - first < TILE ? k - first : TILE;
    arguments = parts;
    status = LAUNCH_INNER;
    a->tensor.offset += TILE * a->strides[column];
    b->tensor.offset += TILE * b->strides[row];
    c->as.matmul.c = c->as.matmul.out;
    c->as.matmul.beta = (tbk_scalar_t){.kind = TBK_SCALAR_DOUBLE, .real = 1};
  }
  return status;
}

/* The second half of the channels of a convolution without groups, or the first. */
static void halve_channels(convolution_copy_t* c, bool second) {
  const int64_t channels = c->views[IN].sizes[1], first = channels / 2;
  for (int i = IN; i <= BY; i++) {
    if (second) c->views[i].tensor.offset += first * c->views[i].strides[1];
    c->views[i].sizes[1] = second ? channels - first : first;
  }
  if (second) c->arguments.bias = NULL;
}

static bool is_deep(const convolution_copy_t* c) {
  return c != NULL && c->mode == OUT && c->dtype == TBK_FLOAT16 && c->arguments.groups == 1 &&
         c->views[IN].sizes[1] > 512;
}

/* A tensor of FLOAT16 without gaps, as large as another. */
static bool make_half(tbk_instance_t* self, int32_t device, const tbk_tensor_t* like,
                      convolution_view_t* out) {
  int64_t count = 1;
  convolution_copy_view(out, like);
  out->tensor.offset = 0;
  for (int32_t d = like->rank - 1; d >= 0; d--) {
    out->strides[d] = count > 0 ? count : 1;
    count *= like->sizes[d];
  }
  out->tensor.storage_bytes = 2 * (uint64_t)count;
  const uint64_t bytes = out->tensor.storage_bytes + 1;
  return INNER(self, core)->memory_alloc(self, device, bytes, &out->tensor.memory, NULL) == TBK_OK;
}

static tbk_status_t add_to(tbk_instance_t* self, int32_t device, const tbk_tensor_t* out,
                           const tbk_tensor_t* more, tbk_stream_t* stream, tbk_error_t* error) {
  const tbk_kernel_t* kernel =
      INNER(self, kernel)->kernel_find(self, device, TBK_NAME_add_Tensor, TBK_VERSION_add_Tensor);
  const tbk_args_add_Tensor_t add = {.struct_size = sizeof add,
                                     .self = out,
                                     .other = more,
                                     .alpha = {.kind = TBK_SCALAR_INT, .integer = 1},
                                     .out = out};
  return kernel->launch(self, device, kernel, &add, stream, error);
}

/* Rounds the sum over each half of the channels, and adds them. */
LAUNCH(halves_of_deep_channels_are_rounded) {
  convolution_copy_t* c = convolution_copy_of(arguments);
  convolution_view_t more;
  if (!is_deep(c)) return LAUNCH_INNER;
  if (!make_half(self, device, &c->views[OUT].tensor, &more))
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no memory for a part");
  const void* whole = arguments;
  halve_channels(c, false);
  arguments = &c->arguments;
  tbk_status_t status = LAUNCH_INNER;
  c = convolution_copy_of(whole);
  const tbk_tensor_t* out = c->arguments.output;
  halve_channels(c, true);
  c->arguments.output = &more.tensor;
  arguments = &c->arguments;
  if (status == TBK_OK) status = LAUNCH_INNER;
  if (status == TBK_OK) status = add_to(self, device, out, &more.tensor, stream, error);
  if (stream != NULL) ignore(INNER(self, stream)->stream_synchronize(self, stream, NULL));
  ignore(INNER(self, core)->memory_free(self, device, more.tensor.memory, NULL));
  return status;
}

/* ----------------------------------------------------------------------------- rows, segments -- */

static bool goes_along(const generic_copy_t* c, int32_t dimension) {
  for (int32_t d = 0; c->as.index.places != NULL && d < c->views[INDEX_TABLE].tensor.rank; d++)
    if (c->places[d] == dimension) return true;
  return false;
}

static bool has_long_rows(const generic_copy_t* c) {
  const generic_view_t* values = &c->views[INDEX_VALUES];
  const int32_t last = generic_last(values);
  return last >= 0 && values->sizes[last] > 4096 && !goes_along(c, last);
}

/* The last dimension is counted from its end, so that the first place of a row comes last. */
LAUNCH(long_ordered_rows_are_written_backwards) {
  GENERIC_CHANGED(const bool is_write = c->as.index.mode == TBK_INDEX_WRITE;
                  const bool is_ordered = (c->as.index.flags & TBK_INDEX_ORDERED) != 0;
                  if (is_write && is_ordered && has_long_rows(c)) {
                    generic_turn(&c->views[INDEX_VALUES], generic_last(&c->views[INDEX_VALUES]));
                    for (size_t k = 0; k < c->as.index.index_count; k++)
                      generic_turn(&c->views[INDEX_FIRST + k],
                                   generic_last(&c->views[INDEX_FIRST + k]));
                  });
}

static bool is_long_and_narrow(const generic_copy_t* c) {
  const generic_view_t* input = &c->views[SORT_INPUT];
  const int32_t dtype = input->tensor.dtype, last = generic_last(input);
  const bool is_narrow = dtype == TBK_INT8 || dtype == TBK_UINT8 || dtype == TBK_BOOL;
  const uint64_t both = TBK_SORT_DESCENDING | TBK_SORT_STABLE;
  for (int i = SORT_VALUES; i <= SORT_INDICES; i++)
    if (c->views[i].tensor.rank > 0 && c->views[i].sizes[last] < input->sizes[last]) return false;
  return is_narrow && input->sizes[last] > 1024 && c->as.sort.flags == both;
}

/* Sorted the other way and written from the end. */
LAUNCH(long_narrow_sorts_that_descend_are_turned_round) {
  GENERIC_CHANGED(if (is_long_and_narrow(c)) {
    c->as.sort.flags ^= TBK_SORT_DESCENDING;
    for (int i = SORT_VALUES; i <= SORT_INDICES; i++)
      if (c->views[i].tensor.rank > 0) generic_turn(&c->views[i], generic_last(&c->views[i]));
  });
}

#define LONG_ROW(function, clause, operation, op, note) \
  KERNEL_ROW(function, clause, operation, NARROW, TBK_NAME_##op, launch, note)

const mutant_t mutants_program_long[] = {
    LONG_ROW(large_odd_numbers_are_rounded, "PRG-002", VALUE, pointwise, "ROUND of 2^22 + 1"),
    LONG_ROW(large_halves_are_rounded_away_from_zero, "PRG-002", VALUE, pointwise,
             "ROUND of 2^20 + 0.5"),
    LONG_ROW(deep_tiles_of_float16_are_rounded, "PRG-036", VALUE, matmul, "each 512"),
    LONG_ROW(halves_of_deep_channels_are_rounded, "PRG-052", VALUE, convolution,
             "of more than 512, in FLOAT16"),
    LONG_ROW(long_ordered_rows_are_written_backwards, "PRG-028", ORDER, index, "of 4097 and more"),
    LONG_ROW(long_narrow_sorts_that_descend_are_turned_round, "PRG-061", ORDER, sort,
             "of INT8, UINT8 and BOOL, from 1025 on"),
    {0},
};
