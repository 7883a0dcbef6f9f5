/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk::matmul at its edges: what may not be refused, arguments that do not fit each other, NaN and infinities,
 * and rows that lie further apart than 32 bits count.
 */
#include <math.h>
#include <string.h>

#include "dimensions.h"
#include "matmul_job.h"
#include "room.h"

static matmul_job_t job;

/* ------------------------------------------------------------------------------- what is taken -- */

SWEEP_DIMENSION(dtype_axis, "dtype", {"FLOAT32", TBK_FLOAT32}, {"FLOAT64", TBK_FLOAT64},
                {"FLOAT16", TBK_FLOAT16}, {"BFLOAT16", TBK_BFLOAT16}, {"UINT8", TBK_UINT8},
                {"INT8", TBK_INT8}, {"INT16", TBK_INT16}, {"INT32", TBK_INT32},
                {"INT64", TBK_INT64});
SWEEP_DIMENSION(real_axis, "dtype", {"FLOAT32", TBK_FLOAT32}, {"FLOAT64", TBK_FLOAT64},
                {"FLOAT16", TBK_FLOAT16}, {"BFLOAT16", TBK_BFLOAT16});
SWEEP_DIMENSION(rank_axis, "rank", {"2", 2}, {"3", 3}, {"4", 4}, {"5", 5}, {"6", 6}, {"7", 7},
                {"8", 8});
SWEEP_DIMENSION(added_axis, "added", {"nothing", MATMUL_NOTHING}, {"tensor", MATMUL_TENSOR});

static bool is_declared(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const int32_t most = fx->properties.max_rank;
  const int64_t rank = sweep_get(one, &rank_axis);
  return (most == 0 || rank <= most) && fx_has_dtype(fx, (int32_t)sweep_get(one, &dtype_axis));
}

static void run_declared(tbk_fixture_t* fx, sweep_case_t* one) {
  const matmul_form_t form = {.dtype = (int32_t)sweep_get(one, &dtype_axis),
                              .batch_rank = (int32_t)sweep_get(one, &rank_axis) - 2,
                              .batch = {2, 1, 3, 1, 2, 2},
                              .m = 4,
                              .n = 3,
                              .k = 5,
                              .added = (matmul_added_t)sweep_get(one, &added_axis),
                              .alpha = -2,
                              .beta = 3,
                              .drawn = JOB_SMALL};
  MATMUL_RUN(fx, &job, &form);
}

static const sweep_space_t declared_space = {
    {&dtype_axis, &rank_axis, &added_axis}, is_declared, run_declared, 0};

static void every_dtype_and_rank_is_taken(tbk_fixture_t* fx) {
  sweep_run(fx, &declared_space);
}

/* ----------------------------------------------------------------------------------- long sums -- */

/* Each row of a cancels, and b is ones: a sum in FLOAT32 is exact in any order. */
static void run_cancelling(tbk_fixture_t* fx, int32_t dtype, int64_t m, int64_t k, int bits) {
  const matmul_form_t form = {
      .dtype = dtype, .m = m, .n = 3, .k = k, .alpha = 1, .beta = 1, .drawn = JOB_SMALL};
  const size_t mark = room_mark(fx);
  matmul_make(fx, &job, &form);
  const tensor_t* ones = &job.operands[MATMUL_B];
  job_draw_cancelling(fx, &job.operands[MATMUL_A], 1, bits);
  for (int64_t i = 0; i < ones->count; ++i)
    number_store(ones->type, tensor_at(ones, i), (number_t){1, 1, 0});
  matmul_finish(fx, &job, TBK_HERE("a sum that cancels"));
  room_release(fx, mark);
}

static const int32_t dtypes[] = {TBK_FLOAT16, TBK_BFLOAT16};

/* A part of a sum that is rounded by itself shows where the whole is small. Parts of small numbers stay within
 * FLOAT16, and those of large ones are rounded though they are short. */
static void parts_of_a_sum_of_narrow_numbers_are_not_rounded(tbk_fixture_t* fx) {
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; ++d) {
    if (!fx_has_dtype(fx, dtypes[d])) continue;
    run_cancelling(fx, dtypes[d], 7, 3001, 5);
    run_cancelling(fx, dtypes[d], 20, 257, number_type(dtypes[d])->digits);
  }
  CHECK(job.kernel != NULL);
}

static void parts_of_sums_of_any_depth_are_not_rounded(tbk_fixture_t* fx) {
  static const int64_t depths[] = {65, 257, 1031, 3001};
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; ++d)
    for (size_t i = 0; fx_has_dtype(fx, dtypes[d]) && i < sizeof depths / sizeof *depths; ++i) {
      run_cancelling(fx, dtypes[d], 20, depths[i], 5);
      run_cancelling(fx, dtypes[d], 20, depths[i], number_type(dtypes[d])->digits);
    }
  CHECK(job.kernel != NULL);
}

/* ---------------------------------------------------------------------------------- what is bad -- */

static tbk_tensor_t* tensor(const tbk_tensor_t* one) {
  return (tbk_tensor_t*)one;
}

static int64_t* sizes(const tbk_tensor_t* one) {
  return (int64_t*)one->sizes;
}

static void set_all(const tbk_args_matmul_t* a, int32_t dtype) {
  tensor(a->a)->dtype = tensor(a->b)->dtype = tensor(a->c)->dtype = tensor(a->out)->dtype = dtype;
}

static int64_t no_stride[3] = {0, 0, 1};

/* A batch of 2; 3 x 4 times 4 x 5. */
#define CHANGES(X)                                  \
  X(bits, a->index_bits = 16)                       \
  X(no_a, a->a = NULL)                              \
  X(no_b, a->b = NULL)                              \
  X(no_out, a->out = NULL)                          \
  X(short_c, tensor(a->c)->struct_size = 8)         \
  X(a_dtype, tensor(a->a)->dtype = TBK_INT32)       \
  X(b_dtype, tensor(a->b)->dtype = TBK_FLOAT64)     \
  X(c_dtype, tensor(a->c)->dtype = TBK_FLOAT16)     \
  X(out_dtype, tensor(a->out)->dtype = TBK_FLOAT64) \
  X(complex, set_all(a, TBK_COMPLEX64))             \
  X(truth, set_all(a, TBK_BOOL))                    \
  X(unknown, set_all(a, 99))                        \
  X(alpha, a->alpha.kind = TBK_SCALAR_INT)          \
  X(beta, a->beta.kind = TBK_SCALAR_COMPLEX)        \
  X(no_kind, a->alpha.kind = 9)                     \
  X(a_rank, tensor(a->a)->rank = 2)                 \
  X(out_rank, tensor(a->out)->rank = 9)             \
  X(one_dimension, tensor(a->out)->rank = 1)        \
  X(minus_size, sizes(a->a)[1] = -1)                \
  X(batch, sizes(a->b)[0] = 1)                      \
  X(rows, sizes(a->a)[1] = 2)                       \
  X(columns, sizes(a->b)[2] = 4)                    \
  X(inner, sizes(a->b)[1] = 3)                      \
  X(c_rows, sizes(a->c)[1] = 1)                     \
  X(no_sizes, tensor(a->c)->sizes = NULL)           \
  X(no_strides, tensor(a->b)->strides = NULL)       \
  X(overlap, tensor(a->out)->strides = no_stride)   \
  X(short_struct, a->struct_size = 8)

#define CHANGE(name, change)                        \
  static void change_##name(tbk_args_matmul_t* a) { \
    change;                                         \
  }
CHANGES(CHANGE)

static const struct {
  const char* name;
  void (*change)(tbk_args_matmul_t*);
} changes[] = {
#define ENTRY(name, change) {#name, change_##name},
    CHANGES(ENTRY)};

static const matmul_form_t plain = {.dtype = TBK_FLOAT32,
                                    .batch_rank = 1,
                                    .batch = {2},
                                    .m = 3,
                                    .n = 5,
                                    .k = 4,
                                    .added = MATMUL_TENSOR,
                                    .alpha = 1,
                                    .beta = 2,
                                    .drawn = JOB_SMALL};

/* The device must be usable as before: the same call unchanged comes last. */
static void what_does_not_fit_is_refused(tbk_fixture_t* fx) {
  matmul_make(fx, &job, &plain);
  matmul_ready(fx, &job);
  for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
    tbk_checks_context(changes[i].name);
    tbk_args_matmul_t* args = matmul_describe(&job);
    changes[i].change(args);
    const bool lacks = GENERIC_LACKS(fx, args->a, args->b, args->c, args->out);
    CHECK_NO_FIT(lacks, matmul_launch(fx, &job, NULL));
    CHECK(fx->error.message[0] != '\0');
    matmul_check_untouched(fx, &job, TBK_HERE(changes[i].name));
  }
  tbk_checks_context(NULL);
  TBK_CHECKS("PRG-034");
  matmul_describe(&job);
  CHECK_OK(matmul_launch(fx, &job, NULL));
  matmul_check(fx, &job, TBK_HERE("tbk::matmul"));
}

/* ---------------------------------------------------------------------------- NaN, infinities -- */

/* All bytes of the block that are no elements: NaN, as every real dtype reads them. */
static void surround(tbk_fixture_t* fx, tensor_t* operand) {
  const size_t bytes = operand->type->size;
  uint8_t* kept = fx_zeros(fx, (size_t)operand->count * bytes + 1);
  for (int64_t i = 0; i < operand->count; ++i)
    memcpy(kept + (size_t)i * bytes, tensor_at(operand, i), bytes);
  memset(operand->model, 0xff, operand->block_bytes);
  for (int64_t i = 0; i < operand->count; ++i)
    memcpy(tensor_at(operand, i), kept + (size_t)i * bytes, bytes);
}

static void put(tensor_t* operand, int64_t row, int64_t column, long double value) {
  const int64_t columns = operand->sizes[operand->rank - 1];
  number_store(operand->type, tensor_at(operand, row * columns + column), (number_t){0, value, 0});
}

/* In the first and the last row and column, where tiles are cut, and once in the midst of them. */
static void put_special(const matmul_form_t* form, int which) {
  const long double values[] = {NAN, INFINITY, -INFINITY};
  const long double value = values[which % 3];
  tensor_t *a = &job.operands[MATMUL_A], *b = &job.operands[MATMUL_B];
  switch (which / 3) {
    case 0:
      put(a, form->m - 1, form->k - 1, value);
      break;
    case 1:
      put(b, form->k - 1, form->n - 1, value);
      break;
    case 2:
      put(a, form->m / 2, 0, value);
      put(b, 0, form->n / 2, -value);
      break;
    default:
      put(&job.operands[MATMUL_C], form->m - 1, form->n / 2, value);
  }
}

enum { FEW, ALONE, SEVERAL_TILES, ONE_ROW, ONE_COLUMN };
static const int64_t forms[][3] = {[FEW] = {3, 5, 4},
                                   [ALONE] = {1, 1, 1},
                                   [SEVERAL_TILES] = {35, 18, 17},
                                   [ONE_ROW] = {1, 40, 9},
                                   [ONE_COLUMN] = {40, 1, 9}};
SWEEP_DIMENSION(form_axis, "shape", {"few", FEW}, {"alone", ALONE}, {"tiles", SEVERAL_TILES},
                {"row", ONE_ROW}, {"column", ONE_COLUMN});
SWEEP_DIMENSION(place_axis, "special", {"a-nan", 0}, {"a-inf", 1}, {"a-minus", 2}, {"b-nan", 3},
                {"b-inf", 4}, {"b-minus", 5}, {"ab-nan", 6}, {"ab-inf", 7}, {"ab-minus", 8},
                {"c-nan", 9}, {"c-inf", 10}, {"c-minus", 11});
SWEEP_DIMENSION(gap_axis, "gaps", {"rows", TENSOR_ROWS}, {"elements", TENSOR_GAPS});
SWEEP_DIMENSION(transposed_axis, "transposed", {"none", 0}, {"a", 1}, {"b", 2}, {"ab", 3});

static bool is_real_matrix(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const int32_t most = fx->properties.max_rank;
  return (most == 0 || most >= 2) && fx_has_dtype(fx, (int32_t)sweep_get(one, &real_axis));
}

/* Small whole numbers, some of them 0: what is multiplied by 0 counts too. */
static void run_special(tbk_fixture_t* fx, sweep_case_t* one) {
  const int64_t* sizes_of = forms[sweep_get(one, &form_axis)];
  const int64_t which = sweep_get(one, &place_axis), turned = sweep_get(one, &transposed_axis);
  const tensor_layout_t gaps = (tensor_layout_t)sweep_get(one, &gap_axis);
  const matmul_form_t form = {
      .dtype = (int32_t)sweep_get(one, &real_axis),
      .m = sizes_of[0],
      .n = sizes_of[1],
      .k = sizes_of[2],
      .added = which >= 9 ? MATMUL_TENSOR : (matmul_added_t)sweep_get(one, &added_axis),
      .layouts = {gaps, gaps},
      .transposed = {(turned & 1) != 0, (turned & 2) != 0},
      .alpha = 2,
      .beta = -1,
      .drawn = JOB_SMALL};
  matmul_make(fx, &job, &form);
  for (int i = MATMUL_A; i <= MATMUL_OUT; ++i)
    surround(fx, &job.operands[i]);
  put_special(&form, (int)which);
  matmul_finish(fx, &job, TBK_HERE("NaN and infinities"));
}

static const sweep_space_t special_space = {
    {&real_axis, &place_axis, &form_axis, &gap_axis, &transposed_axis, &added_axis},
    is_real_matrix,
    run_special,
    2};

static void nan_reaches_its_row_or_column(tbk_fixture_t* fx) {
  sweep_run(fx, &special_space);
}

/* -------------------------------------------------------------------------------- 64-bit numbers -- */

/* Two rows of one element, the second 2^31 bytes behind the first; what lies between is touched by nobody. */
static void far_call(tbk_fixture_t* fx, tbk_memory_t memory, bool writes, uint8_t* values) {
  const uint8_t one = 1;
  const int64_t column[2] = {2, 1}, far[2] = {INT64_C(1) << 31, 1}, near[2] = {1, 1};
  const int64_t single[2] = {1, 1};
  const tbk_memory_t small = fx_alloc_with(fx, values, 2), factor = fx_alloc_with(fx, &one, 1);
  const tbk_tensor_t apart = {sizeof apart, memory, (UINT64_C(1) << 31) + 1, 0, TBK_UINT8, 2,
                              column,       far};
  const tbk_tensor_t beside = {sizeof beside, small, 2, 0, TBK_UINT8, 2, column, near};
  const tbk_tensor_t by = {sizeof by, factor, 1, 0, TBK_UINT8, 2, single, near};
  const tbk_args_matmul_t arguments = {.struct_size = sizeof arguments,
                                       .a = writes ? &beside : &apart,
                                       .b = &by,
                                       .out = writes ? &apart : &beside,
                                       .alpha = {.kind = TBK_SCALAR_INT, .integer = 1},
                                       .index_bits = 64};
  const tbk_kernel_t* kernel =
      fx->kernel->kernel_find(fx->self, fx->device, TBK_NAME_matmul, TBK_VERSION_matmul);
  CHECK_OK(kernel->launch(fx->self, fx->device, kernel, &arguments, NULL, &fx->error));
  fx_download(fx, values, small, 2);
}

static void rows_beyond_32_bits_are_reached(tbk_fixture_t* fx) {
  const uint64_t far = UINT64_C(1) << 31, whole = fx_round(fx, far + 1), unit = fx_round(fx, 1);
  uint8_t values[2] = {93, 201}, cleared[2] = {0, 0};
  if (room_allocation(&fx->properties) < whole + 4 * fx_round(fx, 1024)) {
    fx_evidence(fx, TBK_NOT_SHOWN, "the device has no room for 2^31 elements");
    return;
  }
  const tbk_memory_t memory = fx_alloc(fx, whole);
  uint8_t* zeros = fx_zeros(fx, unit);
  REQUIRE_OK(fx->core->upload(fx->self, fx->device, memory, 0, zeros, unit, NULL, &fx->error));
  REQUIRE_OK(fx->core->upload(fx->self, fx->device, memory, far, zeros, unit, NULL, &fx->error));
  far_call(fx, memory, true, values);
  REQUIRE_OK(fx->core->download(fx->self, fx->device, zeros, memory, far, unit, NULL, &fx->error));
  CHECK_EQUAL(201, zeros[0]);
  REQUIRE_OK(fx->core->download(fx->self, fx->device, zeros, memory, 0, unit, NULL, &fx->error));
  CHECK_EQUAL(93, zeros[0]);
  far_call(fx, memory, false, cleared);
  CHECK_EQUAL(93, cleared[0]);
  CHECK_EQUAL(201, cleared[1]);
}

static const tbk_case_t cases[] = {
    TBK_CASE("PRG-033", "op:tbk::matmul dtype:FLOAT32", 0, every_dtype_and_rank_is_taken),
    TBK_CASE("PRG-036", "op:tbk::matmul dtype:FLOAT16", 0,
             parts_of_a_sum_of_narrow_numbers_are_not_rounded),
    TBK_CASE("PRG-036", "op:tbk::matmul dtype:FLOAT16", TBK_CASE_THOROUGH,
             parts_of_sums_of_any_depth_are_not_rounded),
    TBK_CASE("PRG-038", "op:tbk::matmul dtype:UINT8", TBK_CASE_THOROUGH,
             rows_beyond_32_bits_are_reached),
    TBK_CASE("PRG-042", "op:tbk::matmul dtype:FLOAT32", 0, nan_reaches_its_row_or_column),
    TBK_CASE("PRG-044", "op:tbk::matmul dtype:FLOAT32", 0, what_does_not_fit_is_refused),
};
TBK_SUITE(program_matmul_edge);
