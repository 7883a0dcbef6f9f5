/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_program_matmul.c: tbk::matmul with a fault: other operands or scalars, elements of fewer digits, or a
 * sum in pieces that are each rounded, instead of what the reference was given.
 */
#include <stdlib.h>
#include <string.h>
#include <tbk/dtypes.h>
#include <tbk/program.h>

#include "elements.h"

enum { RANK = TBK_PROGRAM_MOST_RANK, A = 0, B, C, OUT, OPERANDS };

/* The arguments once more, to be changed: views have sizes and strides of their own. */
typedef struct copy {
  tbk_args_matmul_t arguments;
  tbk_tensor_t views[OPERANDS];
  int64_t sizes[OPERANDS][RANK], strides[OPERANDS][RANK];
  int32_t rank, dtype;
  bool is_real;
  int64_t m, n, k;
} copy_t;

static void copy_view(copy_t* to, int at, const tbk_tensor_t* old) {
  if (old == NULL) return;
  to->views[at] = *old;
  memcpy(to->sizes[at], old->sizes, (size_t)old->rank * sizeof(int64_t));
  memcpy(to->strides[at], old->strides, (size_t)old->rank * sizeof(int64_t));
  to->views[at].sizes = to->sizes[at];
  to->views[at].strides = to->strides[at];
}

/* Returns a copy that is the thread's; NULL where they are malformed, which is left to the reference. */
static copy_t* copy_of(const void* arguments) {
  static _Thread_local copy_t copy;
  const tbk_args_matmul_t* a = arguments;
  if (a->struct_size < sizeof *a || tbk_matmul_check(a, NULL) != TBK_OK) return NULL;
  const tbk_tensor_t* const views[] = {a->a, a->b, a->c, a->out};
  copy.arguments = *a;
  for (int i = 0; i < OPERANDS; i++)
    copy_view(&copy, i, views[i]);
  copy.arguments.a = &copy.views[A];
  copy.arguments.b = &copy.views[B];
  if (a->c != NULL) copy.arguments.c = &copy.views[C];
  copy.arguments.out = &copy.views[OUT];
  copy.rank = a->out->rank, copy.dtype = a->out->dtype;
  copy.is_real = tbk_dtype_kind(copy.dtype) == TBK_KIND_REAL;
  copy.m = a->out->sizes[copy.rank - 2], copy.n = a->out->sizes[copy.rank - 1];
  copy.k = a->a->sizes[copy.rank - 1];
  return &copy;
}

/* Runs the reference on a copy `c`, once this is done to it. */
#define LAUNCH_CHANGED(change)          \
  do {                                  \
    copy_t* c = copy_of(arguments);     \
    if (c == NULL) return LAUNCH_INNER; \
    change;                             \
    arguments = &c->arguments;          \
    return LAUNCH_INNER;                \
  } while (0)

static tbk_scalar_t scalar(const copy_t* c, int64_t value) {
  if (c->is_real) return (tbk_scalar_t){.kind = TBK_SCALAR_DOUBLE, .real = (double)value};
  return (tbk_scalar_t){.kind = TBK_SCALAR_INT, .integer = value};
}

static bool is_negative(const tbk_scalar_t* one) {
  return one->kind == TBK_SCALAR_INT ? one->integer < 0 : one->real < 0;
}

static bool adds(const copy_t* c) {
  return c->arguments.c != NULL;
}

static bool adds_to_output(const copy_t* c) {
  return adds(c) && c->views[C].memory == c->views[OUT].memory;
}

/* ------------------------------------------------------------------------------------ the sums -- */

static void shorten_k(copy_t* c) {
  if (c->k == 0) return;
  c->sizes[A][c->rank - 1]--;
  c->sizes[B][c->rank - 2]--;
}
LAUNCH(last_product_is_left_out) {
  LAUNCH_CHANGED(if (c->k > 1) shorten_k(c));
}
LAUNCH(last_of_a_thousand_products_is_left_out) {
  LAUNCH_CHANGED(if (c->k > 1000) shorten_k(c));
}
LAUNCH(rows_beyond_a_tile_are_left_out) {
  LAUNCH_CHANGED(for (int i = A; i < OPERANDS; i++) if (i != B && c->m > 64)
                     c->sizes[i][c->rank - 2] = 64);
}
LAUNCH(columns_beyond_a_tile_are_left_out) {
  LAUNCH_CHANGED(for (int i = B; i < OPERANDS; i++) if (c->n > 64) c->sizes[i][c->rank - 1] = 64);
}

/* Sums in pieces of k, each rounded to the dtype of the output when the next is added. */
static tbk_status_t sum_in_pieces(copy_t* c, int64_t piece, tbk_instance_t* self, int32_t device,
                                  const tbk_kernel_t* kernel, tbk_stream_t* stream,
                                  tbk_error_t* error) {
  const int32_t column = c->rank - 1, row = c->rank - 2;
  const int64_t a = c->views[A].offset, b = c->views[B].offset;
  const void* arguments = &c->arguments;
  tbk_status_t status = TBK_OK;
  for (int64_t first = 0; status == TBK_OK && first < c->k; first += piece) {
    c->views[A].offset = a + first * c->strides[A][column];
    c->views[B].offset = b + first * c->strides[B][row];
    c->sizes[A][column] = c->sizes[B][row] = c->k - first < piece ? c->k - first : piece;
    status = LAUNCH_INNER;
    c->arguments.c = c->arguments.out;
    c->arguments.beta = scalar(c, 1);
  }
  return status;
}

static bool is_half(const copy_t* c) {
  return c->dtype == TBK_FLOAT16 || c->dtype == TBK_BFLOAT16;
}
LAUNCH(halves_are_summed_as_halves) {
  copy_t* c = copy_of(arguments);
  if (c == NULL || c->k < 2 || !is_half(c)) return LAUNCH_INNER;
  return sum_in_pieces(c, 1, self, device, kernel, stream, error);
}
LAUNCH(pieces_of_halves_are_rounded) {
  copy_t* c = copy_of(arguments);
  if (c == NULL || c->k <= 64 || !is_half(c)) return LAUNCH_INNER;
  return sum_in_pieces(c, 16, self, device, kernel, stream, error);
}

/* ------------------------------------------------------------------------------- the elements -- */

#define LAUNCH_WITH(operand, condition, function)                                                 \
  do {                                                                                            \
    const copy_t* c = copy_of(arguments);                                                         \
    if (c == NULL || !(condition)) return LAUNCH_INNER;                                           \
    return elements_launch(&c->views[operand], function, self, device, kernel, arguments, stream, \
                           error);                                                                \
  } while (0)

/* Returns a FLOAT32 with as many digits as TF32 has. */
static uint64_t keep_11_digits(int32_t dtype, uint64_t bits) {
  return bits & ~UINT64_C(0x1fff);
}
LAUNCH(floats_keep_11_digits) {
  LAUNCH_WITH(A, c->dtype == TBK_FLOAT32, keep_11_digits);
}
LAUNCH(doubles_keep_24_digits) {
  LAUNCH_WITH(B, c->dtype == TBK_FLOAT64, elements_keep_24_digits);
}

static uint64_t by_way_of_double(int32_t dtype, uint64_t bits) {
  return bits & ~UINT64_C(0x7ff);
}
LAUNCH(integers_keep_53_digits) {
  LAUNCH_WITH(A, c->dtype == TBK_INT64, by_way_of_double);
}
static void round_to_double(tbk_scalar_t* one) {
  const double real = (double)one->integer;
  if (one->kind == TBK_SCALAR_INT && real < 0x1p63) one->integer = (int64_t)real;
}
LAUNCH(beta_of_integers_keeps_53_digits) {
  LAUNCH_CHANGED(round_to_double(&c->arguments.beta));
}
LAUNCH(alpha_of_integers_keeps_32_bits) {
  LAUNCH_CHANGED(if (!c->is_real) c->arguments.alpha.integer = (int32_t)c->arguments.alpha.integer);
}
LAUNCH(negative_scalars_of_bytes_are_0) {
  LAUNCH_CHANGED(if (c->dtype == TBK_UINT8 && is_negative(&c->arguments.alpha)) c->arguments.alpha =
                     scalar(c, 0));
}

/* All bits of the exponent, and those of the fraction. */
static uint64_t exponent_of(int32_t dtype) {
  switch (dtype) {
    case TBK_FLOAT16:
      return 0x7c00;
    case TBK_BFLOAT16:
      return 0x7f80;
    case TBK_FLOAT32:
      return 0x7f800000;
    default:
      return UINT64_C(0x7ff) << 52;
  }
}
static bool is_special(int32_t dtype, uint64_t bits) {
  return (bits & exponent_of(dtype)) == exponent_of(dtype);
}
static uint64_t nan_to_0(int32_t dtype, uint64_t bits) {
  const uint64_t exponent = exponent_of(dtype), fraction = (exponent & (0 - exponent)) - 1;
  return is_special(dtype, bits) && (bits & fraction) != 0 ? 0 : bits;
}
static uint64_t infinity_to_1(int32_t dtype, uint64_t bits) {
  const uint64_t exponent = exponent_of(dtype), sign = exponent + (exponent & (0 - exponent));
  return is_special(dtype, bits) ? (bits & sign) | (exponent & ~(sign >> 1)) : bits;
}
LAUNCH(nan_of_a_is_0) {
  LAUNCH_WITH(A, c->is_real, nan_to_0);
}
LAUNCH(special_numbers_of_b_are_1) {
  LAUNCH_WITH(B, c->is_real, infinity_to_1);
}
LAUNCH(nan_of_c_is_0) {
  LAUNCH_WITH(C, c->is_real && adds(c) && !adds_to_output(c), nan_to_0);
}

/* -------------------------------------------------------------------------------- the strides -- */

static void lay_flat(copy_t* c, int operand) {
  int64_t stride = 1;
  for (int32_t d = c->rank - 1; d >= c->rank - 2; d--) {
    c->strides[operand][d] = stride;
    stride *= c->sizes[operand][d];
  }
}
LAUNCH(transposed_b_is_read_as_it_lies) {
  LAUNCH_CHANGED(if (c->strides[B][c->rank - 2] == 1) lay_flat(c, B));
}
LAUNCH(gaps_between_rows_are_read) {
  LAUNCH_CHANGED(if (c->strides[A][c->rank - 2] > c->sizes[A][c->rank - 1]) lay_flat(c, A));
}
LAUNCH(batches_take_the_first_b) {
  LAUNCH_CHANGED(for (int32_t d = 0; d < c->rank - 2; d++) c->strides[B][d] = 0);
}
LAUNCH(outer_batches_take_the_first_a) {
  LAUNCH_CHANGED(if (c->rank > 3) c->strides[A][0] = 0);
}
LAUNCH(row_strides_keep_31_bits) {
  LAUNCH_CHANGED(for (int i = A; i < OPERANDS; i++) if (c->strides[i][0] > INT32_MAX)
                     c->strides[i][0] &= INT32_MAX);
}

/* ------------------------------------------------------------------------------ what is added -- */

LAUNCH(beta_is_1) {
  LAUNCH_CHANGED(c->arguments.beta = scalar(c, 1));
}
LAUNCH(alpha_is_1_where_c_is) {
  LAUNCH_CHANGED(if (adds(c)) c->arguments.alpha = scalar(c, 1));
}
LAUNCH(alpha_multiplies_c_too) {
  LAUNCH_CHANGED(c->arguments.beta.real *= c->arguments.alpha.real);
}
LAUNCH(c_is_its_first_row) {
  LAUNCH_CHANGED(if (adds(c) && !adds_to_output(c)) c->strides[C][c->rank - 2] = 0);
}
LAUNCH(output_is_added_without_c) {
  LAUNCH_CHANGED(if (!adds(c)) {
    c->arguments.c = c->arguments.out;
    c->arguments.beta = scalar(c, 1);
  });
}
LAUNCH(output_is_added_where_it_lies_in_columns) {
  LAUNCH_CHANGED(if (!adds(c) && c->strides[OUT][c->rank - 1] != 1) {
    c->arguments.c = c->arguments.out;
    c->arguments.beta = scalar(c, 1);
  });
}
LAUNCH(without_k_nothing_is_written) {
  const copy_t* c = copy_of(arguments);
  return c != NULL && c->k == 0 ? TBK_OK : LAUNCH_INNER;
}
LAUNCH(without_k_nothing_is_added) {
  LAUNCH_CHANGED(if (c->k == 0) c->arguments.c = NULL);
}
LAUNCH(output_that_is_c_is_not_scaled) {
  LAUNCH_CHANGED(if (adds_to_output(c)) c->arguments.beta = scalar(c, 1));
}

/* ------------------------------------------------------------------------------------- refusal -- */

LAUNCH(output_that_is_c_is_refused) {
  const copy_t* c = copy_of(arguments);
  if (c != NULL && adds_to_output(c)) return wrap_fail(error, TBK_INVALID, "out is read");
  return LAUNCH_INNER;
}
LAUNCH(empty_batches_are_refused) {
  const copy_t* c = copy_of(arguments);
  if (c != NULL && c->rank > 2 && c->sizes[OUT][0] == 0)
    return wrap_fail(error, TBK_INVALID, "no matrices");
  return LAUNCH_INNER;
}
LAUNCH(products_of_integers_are_refused) {
  const copy_t* c = copy_of(arguments);
  if (c != NULL && !c->is_real) return wrap_fail(error, TBK_UNSUPPORTED, "integers");
  return LAUNCH_INNER;
}
LAUNCH(batches_of_batches_are_refused) {
  const copy_t* c = copy_of(arguments);
  if (c != NULL && c->rank > 4) return wrap_fail(error, TBK_UNSUPPORTED, "more than 4 dimensions");
  return LAUNCH_INNER;
}
/* One matrix for the whole batch: of b and c, and of no other. */
static bool shares_b_and_c(const copy_t* c) {
  bool shared = adds(c) && c->rank > 2;
  for (int32_t d = 0; d + 2 < c->rank; d++)
    shared = shared && (c->sizes[OUT][d] == 1 ||
                        (c->strides[B][d] == 0 && c->strides[C][d] == 0 && c->strides[A][d] != 0));
  return shared;
}
LAUNCH(c_that_is_shared_as_b_is_is_left_out) {
  LAUNCH_CHANGED(if (shares_b_and_c(c)) c->arguments.c = NULL);
}

LAUNCH(malformed_products_are_accepted) {
  return copy_of(arguments) == NULL ? TBK_OK : LAUNCH_INNER;
}
LAUNCH(malformed_products_are_unsupported) {
  if (copy_of(arguments) == NULL) return wrap_fail(error, TBK_UNSUPPORTED, "malformed");
  return LAUNCH_INNER;
}

#define MATMUL_ROW(function, clause, operation, narrow, note) \
  KERNEL_ROW(function, clause, operation, narrow, TBK_NAME_matmul, launch, note)

const mutant_t mutants_program_matmul[] = {
    MATMUL_ROW(products_of_integers_are_refused, "PRG-033", RETURN, BROAD, "reals alone"),
    MATMUL_ROW(batches_of_batches_are_refused, "PRG-033", RETURN, NARROW, "more than 4"),
    MATMUL_ROW(last_product_is_left_out, "PRG-034", EXTENT, BROAD, "one too few"),
    MATMUL_ROW(rows_beyond_a_tile_are_left_out, "PRG-034", EXTENT, NARROW, "from row 64 on"),
    MATMUL_ROW(columns_beyond_a_tile_are_left_out, "PRG-034", EXTENT, NARROW, "from column 64 on"),
    MATMUL_ROW(last_of_a_thousand_products_is_left_out, "PRG-034", EXTENT, NARROW, "of long sums"),
    MATMUL_ROW(floats_keep_11_digits, "PRG-035", VALUE, BROAD, "as TF32 does"),
    MATMUL_ROW(doubles_keep_24_digits, "PRG-035", VALUE, NARROW, "of the right operand"),
    MATMUL_ROW(halves_are_summed_as_halves, "PRG-036", VALUE, BROAD, "rounded at each step"),
    MATMUL_ROW(pieces_of_halves_are_rounded, "PRG-036", VALUE, NARROW, "each 16, of long sums"),
    MATMUL_ROW(integers_keep_53_digits, "PRG-037", VALUE, BROAD, "of INT64, by way of double"),
    MATMUL_ROW(negative_scalars_of_bytes_are_0, "PRG-037", VALUE, NARROW, "as a cast would"),
    MATMUL_ROW(beta_of_integers_keeps_53_digits, "PRG-037", VALUE, NARROW, "by way of double"),
    MATMUL_ROW(alpha_of_integers_keeps_32_bits, "PRG-037", VALUE, NARROW, "the others are lost"),
    MATMUL_ROW(batches_take_the_first_b, "PRG-038", VALUE, BROAD, "as if it were shared"),
    MATMUL_ROW(outer_batches_take_the_first_a, "PRG-038", VALUE, NARROW, "of two dimensions"),
    MATMUL_ROW(transposed_b_is_read_as_it_lies, "PRG-038", VALUE, NARROW, "row by row"),
    MATMUL_ROW(gaps_between_rows_are_read, "PRG-038", VALUE, NARROW, "as if there were none"),
    MATMUL_ROW(c_that_is_shared_as_b_is_is_left_out, "PRG-038", VALUE, NARROW, "not at all"),
    FAR_KERNEL_ROW(row_strides_keep_31_bits, "PRG-038", TBK_NAME_matmul,
                   "rows 2^31 elements apart"),
    MATMUL_ROW(beta_is_1, "PRG-039", VALUE, BROAD, "it is not looked at"),
    MATMUL_ROW(alpha_is_1_where_c_is, "PRG-039", VALUE, NARROW, "with c"),
    MATMUL_ROW(alpha_multiplies_c_too, "PRG-039", VALUE, NARROW, "of real numbers"),
    MATMUL_ROW(c_is_its_first_row, "PRG-039", VALUE, NARROW, "as a bias is"),
    MATMUL_ROW(output_is_added_without_c, "PRG-040", VALUE, BROAD, "what stood there"),
    MATMUL_ROW(output_is_added_where_it_lies_in_columns, "PRG-040", VALUE, NARROW, "or with gaps"),
    MATMUL_ROW(without_k_nothing_is_written, "PRG-041", EXTENT, BROAD, "nothing to do"),
    MATMUL_ROW(without_k_nothing_is_added, "PRG-041", VALUE, NARROW, "c is forgotten"),
    MATMUL_ROW(empty_batches_are_refused, "PRG-041", RETURN, NARROW, "without matrices"),
    MATMUL_ROW(nan_of_a_is_0, "PRG-042", VALUE, BROAD, "it is lost"),
    MATMUL_ROW(special_numbers_of_b_are_1, "PRG-042", VALUE, NARROW, "NaN and infinities"),
    MATMUL_ROW(nan_of_c_is_0, "PRG-042", VALUE, NARROW, "of what is added"),
    MATMUL_ROW(output_that_is_c_is_refused, "PRG-043", RETURN, BROAD, "as if it overlapped"),
    MATMUL_ROW(output_that_is_c_is_not_scaled, "PRG-043", VALUE, NARROW, "added as it is"),
    MATMUL_ROW(malformed_products_are_accepted, "PRG-044", RETURN, BROAD, "and do nothing"),
    MATMUL_ROW(malformed_products_are_unsupported, "PRG-044", RETURN, BROAD, "another's answer"),
    {0},
};
