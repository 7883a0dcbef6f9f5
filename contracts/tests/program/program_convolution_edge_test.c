/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk::convolution at its edges: what may not be refused, arguments that do not fit each other, integers and
 * narrow numbers whose sums are long, and positions that 32 bits do not hold.
 */
#include <string.h>

#include "convolution_job.h"
#include "room.h"

static convolution_job_t job;

/* A plane of two groups, with all that a call may have. */
static const convolution_form_t plain = {.mode = TBK_CONVOLUTION_OUTPUT,
                                         .dtype = TBK_FLOAT32,
                                         .spatial = 2,
                                         .images = 2,
                                         .groups = 2,
                                         .channels = 2,
                                         .filters = 3,
                                         .input = {5, 6},
                                         .kernel = {3, 2},
                                         .stride = {2, 1},
                                         .padding = {1, 2},
                                         .dilation = {1, 2},
                                         .drawn = JOB_SMALL,
                                         .bias = true};

/* Returns whether the device takes tensors of so many spatial dimensions; what it does not is not shown. */
static bool takes(tbk_fixture_t* fx, int32_t spatial) {
  const int32_t most = fx->properties.max_rank;
  if (most == 0 || 2 + spatial <= most) return true;
  fx_evidence(fx, TBK_NOT_SHOWN, "the device takes no tensors of rank 3, or 4");
  return false;
}

static void run(tbk_fixture_t* fx, const convolution_form_t* form, const char* text) {
  const size_t mark = room_mark(fx);
  convolution_run(fx, &job, form, TBK_HERE(text));
  room_release(fx, mark);
}

/* ------------------------------------------------------------------------- what is not refused -- */

/* Numbers that no library has a kernel of its own for. */
static void odd_numbers_are_taken(tbk_fixture_t* fx) {
  if (!takes(fx, 1)) return;
  for (int64_t mode = TBK_CONVOLUTION_OUTPUT; mode <= TBK_CONVOLUTION_WEIGHT; ++mode)
    for (int32_t spatial = 1; spatial <= SPATIAL; ++spatial)
      for (int64_t groups = 1; groups <= 13; groups += 4) {
        convolution_form_t form = {.mode = mode,
                                   .dtype = TBK_FLOAT32,
                                   .spatial = spatial,
                                   .images = 1,
                                   .groups = groups,
                                   .channels = groups == 13 ? 1 : 3,
                                   .filters = 1,
                                   .input = {7, 5, 6},
                                   .kernel = {4, 3, 5},
                                   .stride = {5, 7, 3},
                                   .padding = {6, 5, 9},
                                   .dilation = {3, 4, 2},
                                   .drawn = JOB_SMALL};
        if (fx->properties.max_rank > 0 && 2 + spatial > fx->properties.max_rank) continue;
        run(fx, &form, "odd numbers");
      }
}

/* ---------------------------------------------------------------------------------- what is bad -- */

static tbk_tensor_t* tensor(const tbk_tensor_t* one) {
  return (tbk_tensor_t*)one;
}

static int64_t* sizes(const tbk_tensor_t* one) {
  return (int64_t*)one->sizes;
}

static const int64_t no_stride[4] = {1, 0, 1, 1};

#define CHANGES(X)                                                                            \
  X(mode, a->mode = 3)                                                                        \
  X(minus_mode, a->mode = -1)                                                                 \
  X(no_groups, a->groups = 0)                                                                 \
  X(other_groups, a->groups = 4)                                                              \
  X(bits, a->index_bits = 16)                                                                 \
  X(no_input, a->input = NULL)                                                                \
  X(no_weight, a->weight = NULL)                                                              \
  X(no_output, a->output = NULL)                                                              \
  X(no_strides, a->stride = NULL)                                                             \
  X(no_paddings, a->padding = NULL)                                                           \
  X(no_dilations, a->dilation = NULL)                                                         \
  X(no_step, ((int64_t*)a->stride)[1] = 0)                                                    \
  X(minus_padding, ((int64_t*)a->padding)[0] = -1)                                            \
  X(no_dilation, ((int64_t*)a->dilation)[1] = 0)                                              \
  X(far_dilation, ((int64_t*)a->dilation)[0] = INT64_MAX)                                     \
  X(far_stride, ((int64_t*)a->stride)[0] = INT64_MAX)                                         \
  X(far_padding, ((int64_t*)a->padding)[0] = INT64_MAX)                                       \
  X(dtype, tensor(a->input)->dtype = TBK_INT32)                                               \
  X(truth, tensor(a->input)->dtype = tensor(a->weight)->dtype = tensor(a->output)->dtype =    \
               tensor(a->bias)->dtype = TBK_BOOL)                                             \
  X(complex, tensor(a->input)->dtype = tensor(a->weight)->dtype = tensor(a->output)->dtype =  \
                 tensor(a->bias)->dtype = TBK_COMPLEX64)                                      \
  X(bias_dtype, tensor(a->bias)->dtype = TBK_INT32)                                           \
  X(rank, tensor(a->input)->rank = 3)                                                         \
  X(no_space, tensor(a->input)->rank = tensor(a->weight)->rank = tensor(a->output)->rank = 2) \
  X(bias_rank, tensor(a->bias)->rank = 0)                                                     \
  X(bias_size, sizes(a->bias)[0] = 4)                                                         \
  X(minus_size, sizes(a->input)[2] = -1)                                                      \
  X(images, sizes(a->output)[0] = 1)                                                          \
  X(channels, sizes(a->weight)[1] = 4)                                                        \
  X(filters, sizes(a->weight)[0] = 3)                                                         \
  X(overlap, tensor(a->output)->strides = no_stride)                                          \
  X(bias_of_weight, a->mode = TBK_CONVOLUTION_WEIGHT)                                         \
  X(short_struct, a->struct_size = 8)

#define CHANGE(name, change)                             \
  static void change_##name(tbk_args_convolution_t* a) { \
    change;                                              \
  }
CHANGES(CHANGE)

static const struct {
  const char* name;
  void (*change)(tbk_args_convolution_t*);
} changes[] = {
#define ENTRY(name, change) {#name, change_##name},
    CHANGES(ENTRY)};

/* The device must be usable as before: the same call unchanged comes last. */
static void what_does_not_fit_is_refused(tbk_fixture_t* fx) {
  if (!takes(fx, 2)) return;
  convolution_make(fx, &job, &plain);
  convolution_ready(fx, &job);
  for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
    tbk_checks_context(changes[i].name);
    tbk_args_convolution_t* args = convolution_describe(&job);
    changes[i].change(args);
    const bool lacks = GENERIC_LACKS(fx, args->input, args->weight, args->bias, args->output);
    CHECK_NO_FIT(lacks, convolution_launch(fx, &job, NULL));
    CHECK(fx->error.message[0] != '\0');
    convolution_check_untouched(fx, &job, TBK_HERE(changes[i].name));
  }
  tbk_checks_context(NULL);
  TBK_CHECKS("PRG-046");
  convolution_describe(&job);
  CHECK_OK(convolution_launch(fx, &job, NULL));
  convolution_check(fx, &job, TBK_HERE("tbk::convolution"));
}

/* ------------------------------------------------------------------------------------- long sums -- */

static void set_all(const tensor_t* tensor, number_t value) {
  for (int64_t i = 0; i < tensor->count; ++i)
    number_store(tensor->type, tensor_at(tensor, i), value);
}

/* A call whose every sum has some thousands of products. */
static void make_long(tbk_fixture_t* fx, int64_t mode, int32_t dtype, number_t value) {
  const bool weight = mode == TBK_CONVOLUTION_WEIGHT;
  convolution_form_t form = {.mode = mode,
                             .dtype = dtype,
                             .spatial = 1,
                             .images = weight ? 3 : 1,
                             .groups = 1,
                             .channels = mode == TBK_CONVOLUTION_OUTPUT ? 1025 : 2,
                             .filters = mode == TBK_CONVOLUTION_INPUT ? 1025 : 2,
                             .input = {weight ? 1030 : 4},
                             .kernel = {3},
                             .drawn = JOB_SMALL};
  if (mode == TBK_CONVOLUTION_INPUT) form.padding[0] = 1;
  convolution_make(fx, &job, &form);
  for (int i = 0; i < CONVOLUTION_BIAS; ++i)
    if (i != mode) set_all(&job.operands[i], value);
}

static void run_long(tbk_fixture_t* fx, int64_t mode, int32_t dtype, number_t value) {
  const size_t mark = room_mark(fx);
  make_long(fx, mode, dtype, value);
  convolution_finish(fx, &job, TBK_HERE("a long sum"));
  room_release(fx, mark);
}

/* Channels, filters or places cancel: every sum in FLOAT32 is exact in any order. */
static void run_cancelling(tbk_fixture_t* fx, int64_t mode, int32_t dtype, int bits) {
  const bool forwards = mode == TBK_CONVOLUTION_OUTPUT;
  const size_t mark = room_mark(fx);
  make_long(fx, mode, dtype, (number_t){1, 1, 0});
  job_draw_cancelling(fx, &job.operands[forwards ? CONVOLUTION_IN : CONVOLUTION_OUT],
                      mode == TBK_CONVOLUTION_WEIGHT ? 2 : 1, bits);
  convolution_finish(fx, &job, TBK_HERE("a sum that cancels"));
  room_release(fx, mark);
}

/* A part of a sum that is rounded by itself shows where the whole is small. Parts of small numbers stay within
 * FLOAT16, and those of large ones are rounded though they are short. */
static void sum_parts(tbk_fixture_t* fx, bool all) {
  static const int32_t dtypes[] = {TBK_FLOAT16, TBK_BFLOAT16};
  if (!takes(fx, 1)) return;
  for (int64_t mode = TBK_CONVOLUTION_OUTPUT; mode <= TBK_CONVOLUTION_WEIGHT; ++mode)
    for (int64_t d = 0; d < 2; ++d) {
      if (!fx_has_dtype(fx, dtypes[d])) continue;
      if (all || (mode + d) % 2 == 0) run_cancelling(fx, mode, dtypes[d], 5);
      if (all || (mode + d) % 2 != 0)
        run_cancelling(fx, mode, dtypes[d], number_type(dtypes[d])->digits);
    }
}

static void parts_of_a_sum_of_narrow_numbers_are_not_rounded(tbk_fixture_t* fx) {
  sum_parts(fx, false);
}

static void all_parts_of_sums_of_narrow_numbers_are_not_rounded(tbk_fixture_t* fx) {
  sum_parts(fx, true);
}

/* Ones: a sum in FLOAT16 stays at 2048, one in BFLOAT16 at 256. */
static void long_sums_of_narrow_numbers_go_on(tbk_fixture_t* fx) {
  if (!takes(fx, 1)) return;
  for (int64_t mode = TBK_CONVOLUTION_OUTPUT; mode <= TBK_CONVOLUTION_WEIGHT; ++mode) {
    run_long(fx, mode, TBK_FLOAT16, (number_t){1, 1, 0});
    if (fx_has_dtype(fx, TBK_BFLOAT16)) run_long(fx, mode, TBK_BFLOAT16, (number_t){1, 1, 0});
  }
}

/* Products that are wider than the dtype, and than FLOAT64 holds. */
static void wrap(tbk_fixture_t* fx, bool all) {
  static const int32_t dtypes[] = {TBK_UINT8, TBK_INT8, TBK_INT16, TBK_INT32, TBK_INT64};
  static const uint64_t odd[] = {101, 77, 30011, 1999999999, UINT64_C(0x123456789abcdef1)};
  if (!takes(fx, 1)) return;
  for (int64_t mode = TBK_CONVOLUTION_OUTPUT; mode <= TBK_CONVOLUTION_WEIGHT; ++mode)
    for (int64_t i = 0; i < (int64_t)(sizeof dtypes / sizeof *dtypes); ++i)
      if ((all || dtypes[i] == TBK_INT64 || i % 3 == mode % 3) && fx_has_dtype(fx, dtypes[i]))
        run_long(fx, mode, dtypes[i], (number_t){odd[i], 0, 0});
}

/* INT64 in each mode, the others each in one. */
static void integers_wrap(tbk_fixture_t* fx) {
  wrap(fx, false);
}

static void integers_wrap_in_every_mode(tbk_fixture_t* fx) {
  wrap(fx, true);
}

/* -------------------------------------------------------------------------------- 64-bit numbers -- */

/* Places that are outside, and inside where 32 bits of them are looked at. */
static void positions_keep_64_bits(tbk_fixture_t* fx) {
  static const int64_t far = INT64_C(1) << 32;
  if (!takes(fx, 1)) return;
  for (int64_t mode = TBK_CONVOLUTION_OUTPUT; mode <= TBK_CONVOLUTION_WEIGHT; ++mode) {
    convolution_form_t form = {.mode = mode,
                               .dtype = TBK_FLOAT32,
                               .spatial = 1,
                               .images = 2,
                               .groups = 1,
                               .channels = 2,
                               .filters = 3,
                               .input = {5},
                               .kernel = {3},
                               .drawn = JOB_SMALL,
                               .dilation = {far},
                               .more = 3};
    run(fx, &form, "a dilation of 2^32");
    form.dilation[0] = 1, form.stride[0] = far, form.more = 2;
    run(fx, &form, "a stride of 2^32");
    form.stride[0] = 1, form.padding[0] = far, form.more = 4 - 2 * far;
    run(fx, &form, "a padding of 2^32");
  }
}

static void results_are_the_same_with_32_bits(tbk_fixture_t* fx) {
  if (!takes(fx, 2)) return;
  for (int64_t mode = TBK_CONVOLUTION_OUTPUT; mode <= TBK_CONVOLUTION_WEIGHT; ++mode)
    for (int64_t bits = 32; bits <= 64; bits += 32) {
      convolution_form_t form = plain;
      form.mode = mode, form.index_bits = bits, form.bias = mode != TBK_CONVOLUTION_WEIGHT;
      run(fx, &form, "a width of indices");
    }
}

/* Two images lie 2^31 elements apart; what lies between is touched by nobody. */
static void far_call(tbk_fixture_t* fx, tbk_memory_t memory, int64_t mode, uint8_t* values) {
  static const int64_t images[3] = {2, 1, 1}, one[3] = {1, 1, 1};
  static const int64_t apart[3] = {INT64_C(1) << 31, 1, 1};
  static const uint8_t factor = 3;
  const tbk_memory_t small = fx_alloc_with(fx, values, 2), by = fx_alloc_with(fx, &factor, 1);
  const tbk_tensor_t input = {sizeof input, memory, (UINT64_C(1) << 31) + 1, 0, TBK_UINT8, 3,
                              images,       apart};
  const tbk_tensor_t output = {sizeof output, small, 2, 0, TBK_UINT8, 3, images, one};
  const tbk_tensor_t weight = {sizeof weight, by, 1, 0, TBK_UINT8, 3, one, one};
  const int64_t none[1] = {0};
  const tbk_args_convolution_t arguments = {.struct_size = sizeof arguments,
                                            .mode = mode,
                                            .input = &input,
                                            .weight = &weight,
                                            .output = &output,
                                            .stride = one,
                                            .padding = none,
                                            .dilation = one,
                                            .groups = 1,
                                            .index_bits = 64};
  const tbk_kernel_t* kernel =
      fx->kernel->kernel_find(fx->self, fx->device, TBK_NAME_convolution, TBK_VERSION_convolution);
  CHECK_OK(kernel->launch(fx->self, fx->device, kernel, &arguments, NULL, &fx->error));
  fx_download(fx, values, small, 2);
}

static void images_beyond_32_bits_are_reached(tbk_fixture_t* fx) {
  const uint64_t far = UINT64_C(1) << 31, whole = fx_round(fx, far + 1);
  uint8_t values[2] = {20, 30};
  if (!takes(fx, 1)) return;
  if (room_allocation(&fx->properties) < whole + 2 * fx_round(fx, 1024)) {
    fx_evidence(fx, TBK_NOT_SHOWN, "the device has no room for images of 2^31 elements");
    return;
  }
  const tbk_memory_t memory = fx_alloc(fx, whole);
  const uint64_t unit = fx_round(fx, 1);
  uint8_t* zeros = fx_zeros(fx, unit);
  REQUIRE_OK(fx->core->upload(fx->self, fx->device, memory, 0, zeros, unit, NULL, &fx->error));
  REQUIRE_OK(fx->core->upload(fx->self, fx->device, memory, far, zeros, unit, NULL, &fx->error));
  far_call(fx, memory, TBK_CONVOLUTION_INPUT, values);
  for (int i = 0; i < 2; ++i) {
    uint8_t* seen = fx_zeros(fx, unit);
    REQUIRE_OK(fx->core->download(fx->self, fx->device, seen, memory, i == 0 ? 0 : far, unit, NULL,
                                  &fx->error));
    CHECK_EQUAL(i == 0 ? 60 : 90, seen[0]);
  }
  far_call(fx, memory, TBK_CONVOLUTION_OUTPUT, values);
  CHECK_EQUAL(180, values[0]);
  CHECK_EQUAL(270 % 256, values[1]);
}

static const tbk_case_t cases[] = {
    TBK_CASE("PRG-045", "op:tbk::convolution dtype:FLOAT32", 0, odd_numbers_are_taken),
    TBK_CASE("PRG-055", "op:tbk::convolution dtype:FLOAT32 dtype:INT32", 0,
             what_does_not_fit_is_refused),
    TBK_CASE("PRG-052", "op:tbk::convolution dtype:FLOAT16", 0, long_sums_of_narrow_numbers_go_on),
    TBK_CASE("PRG-052", "op:tbk::convolution dtype:FLOAT16", 0,
             parts_of_a_sum_of_narrow_numbers_are_not_rounded),
    TBK_CASE("PRG-052", "op:tbk::convolution dtype:FLOAT16", TBK_CASE_THOROUGH,
             all_parts_of_sums_of_narrow_numbers_are_not_rounded),
    TBK_CASE("PRG-053", "op:tbk::convolution dtype:INT64", 0, integers_wrap),
    TBK_CASE("PRG-053", "op:tbk::convolution dtype:INT64", TBK_CASE_THOROUGH,
             integers_wrap_in_every_mode),
    TBK_CASE("PRG-056", "op:tbk::convolution dtype:FLOAT32", 0, positions_keep_64_bits),
    TBK_CASE("PRG-056", "op:tbk::convolution dtype:FLOAT32", 0, results_are_the_same_with_32_bits),
    TBK_CASE("PRG-056", "op:tbk::convolution dtype:UINT8", TBK_CASE_THOROUGH,
             images_beyond_32_bits_are_reached),
};
TBK_SUITE(program_convolution_edge);
