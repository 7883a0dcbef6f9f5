/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk::sort: segments of every dtype and of lengths around those of tiles and groups, in shapes, layouts and ways
 * to launch; all of a segment or the first of it, its values, its indices or both.
 */
#include <string.h>

#include "dimensions.h"
#include "room.h"
#include "sort_job.h"

enum { ALL_FLAGS = TBK_SORT_DESCENDING | TBK_SORT_STABLE };

static sort_job_t job;

/* ---------------------------------------------------------------------------------------- sweep -- */

SWEEP_DIMENSION(dtype_axis, "dtype", {"FLOAT32", TBK_FLOAT32}, {"INT64", TBK_INT64},
                {"UINT8", TBK_UINT8}, {"INT8", TBK_INT8}, {"INT16", TBK_INT16},
                {"INT32", TBK_INT32}, {"FLOAT16", TBK_FLOAT16}, {"FLOAT64", TBK_FLOAT64},
                {"BOOL", TBK_BOOL}, {"BFLOAT16", TBK_BFLOAT16});
SWEEP_DIMENSION(real_axis, "dtype", {"FLOAT32", TBK_FLOAT32}, {"FLOAT16", TBK_FLOAT16},
                {"FLOAT64", TBK_FLOAT64}, {"BFLOAT16", TBK_BFLOAT16});
SWEEP_DIMENSION(length_axis, "length", {"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}, {"8", 8}, {"63", 63},
                {"64", 64}, {"65", 65}, {"129", 129}, {"1000", 1000}, {"2049", 2049});
SWEEP_DIMENSION(outer_axis, "segments", {"1", 0}, {"3", 1}, {"2x5", 2}, {"70", 3}, {"0", 4},
                {"rank8", 5});
SWEEP_DIMENSION(draw_axis, "draw", {"any", SORT_ANY}, {"few", SORT_FEW}, {"sorted", SORT_SORTED},
                {"reversed", SORT_REVERSED}, {"equal", SORT_EQUAL});
SWEEP_DIMENSION(few_axis, "draw", {"few", SORT_FEW}, {"equal", SORT_EQUAL});
SWEEP_DIMENSION(flags_axis, "flags", {"none", 0}, {"descending", TBK_SORT_DESCENDING},
                {"stable", TBK_SORT_STABLE}, {"both", TBK_SORT_DESCENDING | TBK_SORT_STABLE});
SWEEP_DIMENSION(down_axis, "flags", {"descending", TBK_SORT_DESCENDING},
                {"both", TBK_SORT_DESCENDING | TBK_SORT_STABLE});
SWEEP_DIMENSION(stable_axis, "flags", {"stable", TBK_SORT_STABLE},
                {"both", TBK_SORT_DESCENDING | TBK_SORT_STABLE});
SWEEP_DIMENSION(loose_axis, "flags", {"none", 0}, {"descending", TBK_SORT_DESCENDING});
/* How many are kept: all, about a hundredth of them, half, all but one, none. */
SWEEP_DIMENSION(kept_axis, "kept", {"all", 0}, {"few", 1}, {"half", 2}, {"but_one", 3},
                {"none", 4});
SWEEP_DIMENSION(fewer_axis, "kept", {"few", 1}, {"half", 2}, {"but_one", 3}, {"none", 4});
SWEEP_DIMENSION(asked_axis, "asked", {"both", 0}, {"values", 1}, {"indices", 2}, {"in_place", 3});
SWEEP_DIMENSION(input_axis, "input", {"plain", TENSOR_PLAIN}, {"offset", TENSOR_OFFSET},
                {"gaps", TENSOR_GAPS}, {"turned", TENSOR_TURNED}, {"rows", TENSOR_ROWS},
                {"reversed", TENSOR_REVERSED}, {"broadcast", TENSOR_BROADCAST},
                {"last", TENSOR_BROADCAST_LAST}, {"backwards", TENSOR_BACKWARDS});
SWEEP_DIMENSION(values_axis, "values", {"plain", TENSOR_PLAIN}, {"gaps", TENSOR_GAPS},
                {"turned", TENSOR_TURNED}, {"rows", TENSOR_ROWS}, {"reversed", TENSOR_REVERSED},
                {"backwards", TENSOR_BACKWARDS});
SWEEP_DIMENSION(indices_axis, "indices", {"plain", TENSOR_PLAIN}, {"offset", TENSOR_OFFSET},
                {"gaps", TENSOR_GAPS}, {"turned", TENSOR_TURNED}, {"reversed", TENSOR_REVERSED},
                {"backwards", TENSOR_BACKWARDS});
SWEEP_DIMENSION(how_axis, "how", {"launch", JOB_NULL}, {"stream", JOB_STREAM}, {"plan", JOB_PLAN});
SWEEP_DIMENSION(bits_axis, "bits", {"64", 64}, {"32", 32});

typedef struct outer {
  int32_t rank;
  int64_t sizes[TENSOR_RANK];
} outer_t;

static const outer_t outers[] = {{0, {0}},  {1, {3}}, {2, {2, 5}},
                                 {1, {70}}, {1, {0}}, {7, {2, 1, 2, 1, 1, 3, 1}}};

static int64_t at(const sweep_case_t* one, size_t dimension) {
  return sweep_get(one, one->space->dimensions[dimension]);
}
enum { DTYPE, DRAW, FLAGS, KEPT }; /* the first dimensions of each space */

static bool shares_elements(int64_t layout) {
  return layout == TENSOR_BROADCAST || layout == TENSOR_BROADCAST_LAST;
}

static int64_t elements(const sweep_case_t* one) {
  const outer_t* outer = &outers[sweep_get(one, &outer_axis)];
  int64_t count = sweep_get(one, &length_axis);
  for (int32_t d = 0; d < outer->rank; ++d)
    count *= outer->sizes[d];
  return count;
}

static bool fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const outer_t* outer = &outers[sweep_get(one, &outer_axis)];
  const int64_t asked = sweep_get(one, &asked_axis);
  if (sweep_get(one, &how_axis) == JOB_STREAM && fx->stream == NULL) return false;
  if (fx->properties.max_rank > 0 && outer->rank + 1 > fx->properties.max_rank) return false;
  if (asked == 3 && (at(one, KEPT) != 0 || shares_elements(sweep_get(one, &input_axis))))
    return false;
  return fx_has_dtype(fx, (int32_t)at(one, DTYPE)) && elements(one) <= 10000;
}

static int64_t kept_of(int64_t which, int64_t length) {
  const int64_t kept[] = {length, (length + 99) / 100, length / 2, length - 1, 0};
  return kept[which] < 0 ? 0 : kept[which];
}

static void run_sort(tbk_fixture_t* fx, sweep_case_t* one) {
  const outer_t* outer = &outers[sweep_get(one, &outer_axis)];
  int64_t length = sweep_get(one, &length_axis), asked = sweep_get(one, &asked_axis);
  sort_form_t form = {.dtype = (int32_t)at(one, DTYPE),
                      .rank = outer->rank + 1,
                      .fewer = length - kept_of(at(one, KEPT), length),
                      .flags = (uint64_t)at(one, FLAGS),
                      .index_bits = sweep_get(one, &bits_axis),
                      .no_indices = asked == 1,
                      .no_values = asked == 2,
                      .alias = asked == 3,
                      .input = (tensor_layout_t)sweep_get(one, &input_axis),
                      .values = (tensor_layout_t)sweep_get(one, &values_axis),
                      .indices = (tensor_layout_t)sweep_get(one, &indices_axis),
                      .how = (job_how_t)sweep_get(one, &how_axis),
                      .draw = (sort_draw_t)at(one, DRAW)};
  memcpy(form.sizes, outer->sizes, sizeof form.sizes);
  form.sizes[outer->rank] = length;
  SORT_RUN(fx, &job, &form);
}

#define SPACE(name, dtypes, draws, flags, kept)                                        \
  static const sweep_space_t name = {                                                  \
      {&(dtypes), &(draws), &(flags), &(kept), &length_axis, &outer_axis, &asked_axis, \
       &input_axis, &values_axis, &indices_axis, &how_axis, &bits_axis},               \
      fits,                                                                            \
      run_sort,                                                                        \
      0}
SPACE(whole_space, dtype_axis, draw_axis, flags_axis, kept_axis);
SPACE(real_space, real_axis, few_axis, flags_axis, kept_axis);
SPACE(down_space, dtype_axis, draw_axis, down_axis, kept_axis);
SPACE(stable_space, dtype_axis, few_axis, stable_axis, kept_axis);
SPACE(named_space, dtype_axis, few_axis, loose_axis, kept_axis);
SPACE(fewer_space, dtype_axis, draw_axis, flags_axis, fewer_axis);

static void each_segment_is_put_in_order(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &whole_space, elements, NULL);
}

static void every_pair_puts_segments_in_order(tbk_fixture_t* fx) {
  sweep_run_light(fx, &whole_space, elements);
}

static void nan_comes_last_and_zeros_are_equal(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &real_space, elements, &whole_space);
}

static void every_pair_has_nan_last(tbk_fixture_t* fx) {
  sweep_run_light(fx, &real_space, elements);
}

static void the_greatest_come_first_where_it_descends(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &down_space, elements, &whole_space);
}

static void every_pair_descends(tbk_fixture_t* fx) {
  sweep_run_light(fx, &down_space, elements);
}

static void equal_elements_stay_in_order_where_it_is_stable(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &stable_space, elements, &whole_space);
}

static void every_pair_is_stable(tbk_fixture_t* fx) {
  sweep_run_light(fx, &stable_space, elements);
}

static void an_index_names_its_value(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &named_space, elements, NULL);
}

static void every_pair_names_its_value(tbk_fixture_t* fx) {
  sweep_run_light(fx, &named_space, elements);
}

static void the_first_of_a_segment_are_kept(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &fewer_space, elements, &whole_space);
}

static void every_pair_keeps_the_first(tbk_fixture_t* fx) {
  sweep_run_light(fx, &fewer_space, elements);
}

/* -------------------------------------------------------------------------------------- by hand -- */

static void run_form(tbk_fixture_t* fx, const sort_form_t* form) {
  size_t mark = room_mark(fx);
  SORT_RUN(fx, &job, form);
  room_release(fx, mark);
}

/* Longer than a block, and not a power of two. */
static void sort_long(tbk_fixture_t* fx, int64_t length, uint64_t flags) {
  run_form(fx, &(sort_form_t){.dtype = TBK_INT64, .rank = 1, .sizes = {length}, .flags = flags});
}

/* More segments than a launch has groups at once. */
static void sort_many(tbk_fixture_t* fx, uint64_t flags) {
  run_form(fx, &(sort_form_t){.dtype = TBK_INT64, .rank = 2, .sizes = {5000, 3}, .flags = flags});
}

static void long_segments_are_put_in_order(tbk_fixture_t* fx) {
  sort_long(fx, 33331, TBK_SORT_STABLE);
  sort_many(fx, TBK_SORT_DESCENDING);
}

static void long_segments_are_put_in_order_both_ways(tbk_fixture_t* fx) {
  for (uint64_t flags = 0; flags <= ALL_FLAGS; ++flags) {
    sort_long(fx, 70001, flags);
    sort_many(fx, flags);
  }
}

static void sort_lengths(tbk_fixture_t* fx, size_t count) {
  for (size_t i = 0; i < count; ++i)
    run_form(fx, &(sort_form_t){.dtype = TBK_INT64,
                                .rank = 1,
                                .sizes = {sweep_lengths[i]},
                                .flags = TBK_SORT_STABLE,
                                .draw = i % 2 == 0 ? SORT_ANY : SORT_FEW});
}

static void segments_that_end_beside_a_block_are_put_in_order(tbk_fixture_t* fx) {
  sort_lengths(fx, SWEEP_FEW_LENGTHS);
}

static void all_segments_that_end_beside_a_block_are_put_in_order(tbk_fixture_t* fx) {
  sort_lengths(fx, SWEEP_ALL_LENGTHS);
}

static void keep_first(tbk_fixture_t* fx, int64_t kept, uint64_t flags) {
  run_form(fx, &(sort_form_t){.dtype = TBK_INT64,
                              .rank = 2,
                              .sizes = {2, 20011},
                              .fewer = 20011 - kept,
                              .flags = flags});
}

static void the_first_of_long_segments_are_kept(tbk_fixture_t* fx) {
  keep_first(fx, 33, TBK_SORT_STABLE);
  keep_first(fx, 865, TBK_SORT_DESCENDING);
}

static void the_first_of_long_segments_are_kept_both_ways(tbk_fixture_t* fx) {
  for (uint64_t flags = 0; flags <= ALL_FLAGS; ++flags)
    for (int64_t kept = 1; kept < 20000; kept = kept * 26 + 7)
      keep_first(fx, kept, flags);
}

/* Zeros of both signs, and NaN of several. */
static void equal_elements_keep_their_bits(tbk_fixture_t* fx) {
  for (int32_t dtype = 0; dtype < 64; ++dtype)
    for (uint64_t flags = 0; flags <= TBK_SORT_DESCENDING; ++flags)
      for (int64_t fewer = 0; (job_dtypes(fx) >> dtype & 1) != 0 && fewer <= 30; fewer += 30)
        run_form(fx, &(sort_form_t){.dtype = dtype,
                                    .rank = 2,
                                    .sizes = {2, 100},
                                    .fewer = fewer,
                                    .flags = flags,
                                    .draw = SORT_FEW});
}

/* Each length around a power of two, and what is odd. */
static void every_short_length_is_put_in_order(tbk_fixture_t* fx) {
  for (int64_t length = 0; length <= 140; length += length == 72 ? 48 : 1)
    run_form(fx, &(sort_form_t){.dtype = TBK_INT64,
                                .rank = 2,
                                .sizes = {2, length},
                                .flags = TBK_SORT_STABLE,
                                .draw = length % 2 == 0 ? SORT_ANY : SORT_FEW});
}

static void sort_equal(tbk_fixture_t* fx, int32_t dtype, int64_t length, uint64_t flags) {
  run_form(fx, &(sort_form_t){.dtype = dtype,
                              .rank = 1,
                              .sizes = {length},
                              .flags = flags | TBK_SORT_STABLE,
                              .draw = SORT_FEW});
}

/* Narrow dtypes may be counted instead of compared, and long segments merged: each dtype, short both ways, and long. */
static void equal_elements_of_every_dtype_stay_in_order(tbk_fixture_t* fx) {
  static const int64_t lengths[] = {37, 300};
  for (int32_t dtype = 0; dtype < 64; ++dtype) {
    if ((job_dtypes(fx) >> dtype & 1) == 0) continue;
    for (uint64_t flags = 0; flags <= TBK_SORT_DESCENDING; ++flags)
      for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i)
        sort_equal(fx, dtype, lengths[i], flags);
    sort_equal(fx, dtype, 5003, dtype % 2 != 0 ? TBK_SORT_DESCENDING : 0);
  }
}

/* Values take the place of the input, in each of its layouts; indices lie elsewhere. */
static void values_may_be_the_input(tbk_fixture_t* fx) {
  for (int layout = TENSOR_PLAIN; layout <= TENSOR_ROWS; ++layout)
    for (int64_t length = 1; length <= 3000; length = length * 5 + 2)
      for (int indices = 0; indices <= 1; ++indices)
        run_form(fx, &(sort_form_t){.dtype = TBK_INT64,
                                    .rank = 2,
                                    .sizes = {3, length},
                                    .alias = true,
                                    .no_indices = indices == 0,
                                    .input = (tensor_layout_t)layout});
}

static const tbk_case_t cases[] = {
    TBK_CASE("PRG-058", "op:tbk::sort dtype:INT64", TBK_CASE_SLOW, each_segment_is_put_in_order),
    TBK_CASE("PRG-058", "op:tbk::sort dtype:INT64", TBK_CASE_THOROUGH,
             every_pair_puts_segments_in_order),
    TBK_CASE("PRG-058", "op:tbk::sort dtype:INT64", 0, every_short_length_is_put_in_order),
    TBK_CASE("PRG-058", "op:tbk::sort dtype:INT64", TBK_CASE_SLOW, long_segments_are_put_in_order),
    TBK_CASE("PRG-058", "op:tbk::sort dtype:INT64", TBK_CASE_THOROUGH,
             long_segments_are_put_in_order_both_ways),
    TBK_CASE("PRG-058", "op:tbk::sort dtype:INT64", 0,
             segments_that_end_beside_a_block_are_put_in_order),
    TBK_CASE("PRG-058", "op:tbk::sort dtype:INT64", TBK_CASE_THOROUGH,
             all_segments_that_end_beside_a_block_are_put_in_order),
    TBK_CASE("PRG-058", "op:tbk::sort dtype:INT64", 0, values_may_be_the_input),
    TBK_CASE("PRG-059", "op:tbk::sort dtype:INT64 dtype:FLOAT32", 0,
             nan_comes_last_and_zeros_are_equal),
    TBK_CASE("PRG-059", "op:tbk::sort dtype:INT64 dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_has_nan_last),
    TBK_CASE("PRG-060", "op:tbk::sort dtype:INT64", 0, the_greatest_come_first_where_it_descends),
    TBK_CASE("PRG-060", "op:tbk::sort dtype:INT64", TBK_CASE_THOROUGH, every_pair_descends),
    TBK_CASE("PRG-061", "op:tbk::sort dtype:INT64", 0,
             equal_elements_stay_in_order_where_it_is_stable),
    TBK_CASE("PRG-061", "op:tbk::sort dtype:INT64", TBK_CASE_THOROUGH, every_pair_is_stable),
    TBK_CASE("PRG-061", "op:tbk::sort dtype:INT64", 0, equal_elements_of_every_dtype_stay_in_order),
    TBK_CASE("PRG-062", "op:tbk::sort dtype:INT64", 0, the_first_of_a_segment_are_kept),
    TBK_CASE("PRG-062", "op:tbk::sort dtype:INT64", TBK_CASE_THOROUGH, every_pair_keeps_the_first),
    TBK_CASE("PRG-062", "op:tbk::sort dtype:INT64", 0, the_first_of_long_segments_are_kept),
    TBK_CASE("PRG-062", "op:tbk::sort dtype:INT64", TBK_CASE_THOROUGH,
             the_first_of_long_segments_are_kept_both_ways),
    TBK_CASE("PRG-063", "op:tbk::sort dtype:INT64", 0, an_index_names_its_value),
    TBK_CASE("PRG-063", "op:tbk::sort dtype:INT64", TBK_CASE_THOROUGH, every_pair_names_its_value),
    TBK_CASE("PRG-063", "op:tbk::sort", 0, equal_elements_keep_their_bits),
};
TBK_SUITE(program_sort);
