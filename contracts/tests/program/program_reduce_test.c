/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions: rows of map, identity, combine and finish, over sizes around those of tiles and groups,
 * shapes, layouts and ways to launch. Most are exact in any order, so that one right answer is there.
 */
#include <math.h>
#include <string.h>

#include "dimensions.h"
#include "job.h"
#include "reduce_rows.h"
#include "resources.h"
#include "room.h"

static job_t job;

/* ---------------------------------------------------------------------------------------- sweep -- */

#define ROW(id, word) \
  { word, id }
SWEEP_DIMENSION(any_row_axis, "row", ROW(REDUCE_SUM_INTEGERS, "sum"),
                ROW(REDUCE_SUM_REALS, "sum_real"), ROW(REDUCE_MOST, "max"),
                ROW(REDUCE_ARGUMENT, "argmax"), ROW(REDUCE_ANY, "xor"), ROW(REDUCE_ORDERED, "maps"),
                ROW(REDUCE_LAST, "last"), ROW(REDUCE_MOMENTS, "moments"),
                ROW(REDUCE_FOUR_STATES, "four"), ROW(REDUCE_LIMITS, "limits"));
SWEEP_DIMENSION(order_axis, "row", ROW(REDUCE_ORDERED, "maps"), ROW(REDUCE_LAST, "last"));
SWEEP_DIMENSION(state_axis, "row", ROW(REDUCE_FOUR_STATES, "four"), ROW(REDUCE_ARGUMENT, "argmax"),
                ROW(REDUCE_MOMENTS, "moments"));
SWEEP_DIMENSION(place_axis, "row", ROW(REDUCE_PLACED, "placed"), ROW(REDUCE_FINISHED, "finish"),
                ROW(REDUCE_NUMBERED, "numbers"));
SWEEP_DIMENSION(nan_axis, "row", ROW(REDUCE_MOST, "max"));
SWEEP_DIMENSION(inner_axis, "inner", {"0", 0}, {"1", 1}, {"2", 2}, {"7", 7}, {"63", 63}, {"64", 64},
                {"65", 65}, {"1000", 1000}, {"5000", 5000});
SWEEP_DIMENSION(empty_axis, "inner", {"0", 0});
SWEEP_DIMENSION(inner_rank_axis, "dims", {"1", 1}, {"2", 2}, {"3", 3}, {"4", 4}, {"6", 6},
                {"8", 8});
SWEEP_DIMENSION(outer_axis, "outer", {"scalar", 0}, {"1", 1}, {"3", 2}, {"2x5", 3}, {"130", 4},
                {"0", 5});
SWEEP_DIMENSION(input_axis, "input", {"plain", TENSOR_PLAIN}, {"offset", TENSOR_OFFSET},
                {"gaps", TENSOR_GAPS}, {"turned", TENSOR_TURNED}, {"rows", TENSOR_ROWS},
                {"broadcast", TENSOR_BROADCAST}, {"last", TENSOR_BROADCAST_LAST},
                {"reversed", TENSOR_REVERSED}, {"backwards", TENSOR_BACKWARDS});
/* Say how the dimensions that go lie in memory, among themselves and beside those that stay: whoever walks as they lie
 * takes another order. */
SWEEP_DIMENSION(lie_axis, "input", {"turned", TENSOR_TURNED}, {"swapped", TENSOR_SWAPPED},
                {"rotated", TENSOR_ROTATED}, {"backwards", TENSOR_BACKWARDS});
SWEEP_DIMENSION(every_lie_axis, "input", {"turned", TENSOR_TURNED}, {"swapped", TENSOR_SWAPPED},
                {"rotated", TENSOR_ROTATED}, {"backwards", TENSOR_BACKWARDS},
                {"reversed", TENSOR_REVERSED}, {"plain", TENSOR_PLAIN}, {"gaps", TENSOR_GAPS},
                {"rows", TENSOR_ROWS}, {"broadcast", TENSOR_BROADCAST},
                {"middle", TENSOR_BROADCAST_MIDDLE}, {"last", TENSOR_BROADCAST_LAST},
                {"one", TENSOR_BROADCAST_ALL});
SWEEP_DIMENSION(lie_row_axis, "row", ROW(REDUCE_ORDERED_ALONE, "map"));
SWEEP_DIMENSION(every_lie_row_axis, "row", ROW(REDUCE_ORDERED_ALONE, "map"),
                ROW(REDUCE_ORDERED, "maps"));
SWEEP_DIMENSION(few_dims_axis, "dims", {"2", 2}, {"3", 3});
SWEEP_DIMENSION(several_axis, "dims", {"2", 2}, {"3", 3}, {"4", 4});
SWEEP_DIMENSION(few_outer_axis, "outer", {"scalar", 0}, {"3", 2});
SWEEP_DIMENSION(factors_axis, "inner", {"36", 36}, {"16", 16}, {"1000", 1000});
SWEEP_DIMENSION(few_factors_axis, "inner", {"36", 36});
SWEEP_DIMENSION(output_axis, "output", {"plain", TENSOR_PLAIN}, {"gaps", TENSOR_GAPS},
                {"turned", TENSOR_TURNED}, {"reversed", TENSOR_REVERSED},
                {"backwards", TENSOR_BACKWARDS});
SWEEP_DIMENSION(how_axis, "how", {"launch", JOB_NULL}, {"stream", JOB_STREAM}, {"plan", JOB_PLAN},
                {"again", JOB_TWICE});
SWEEP_DIMENSION(sets_axis, "sets", {"1", 1}, {"3", 3});
SWEEP_DIMENSION(bits_axis, "bits", {"64", 64}, {"32", 32});

typedef struct outer {
  int32_t rank;
  int64_t sizes[2];
} outer_t;

static const outer_t outers[] = {{0, {0}}, {1, {1}}, {1, {3}}, {2, {2, 5}}, {1, {130}}, {1, {0}}};

enum { ROW_ID, INNER, DIMS, OUTER, INPUT }; /* the first dimensions of each space */
static int64_t at(const sweep_case_t* one, size_t dimension) {
  return sweep_get(one, one->space->dimensions[dimension]);
}

static int64_t elements(const sweep_case_t* one) {
  const outer_t* outer = &outers[at(one, OUTER)];
  int64_t count = at(one, INNER) * sweep_get(one, &sets_axis);
  for (int32_t d = 0; d < outer->rank; ++d)
    count *= outer->sizes[d];
  return count;
}

static bool fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const int64_t rank = at(one, DIMS) + outers[at(one, OUTER)].rank;
  if (sweep_get(one, &how_axis) == JOB_STREAM && fx->stream == NULL) return false;
  const int32_t most = fx->properties.max_rank;
  if (rank > (most > 0 && most < TENSOR_RANK ? most : TENSOR_RANK)) return false;
  return reduction_row_fits(fx, &reduce_rows[at(one, ROW_ID)]) && elements(one) <= 20000;
}

/* Returns the least number from 2 on that divides the count. */
static int64_t least_divisor(int64_t count) {
  for (int64_t k = 2; k * k <= count; ++k)
    if (count % k == 0) return k;
  return count;
}

/* As many elements as are asked for, the last dimension the longest. */
static void inner_sizes(int64_t count, int32_t rank, int64_t* out_sizes) {
  for (int32_t d = 0; d + 1 < rank; ++d) {
    const int64_t least = count > 0 ? least_divisor(count) : 1;
    out_sizes[d] = least < count ? least : 1;
    count /= out_sizes[d];
  }
  out_sizes[rank - 1] = count;
}

/* Runs a reduction, and before an ordered one a sum of its shape: where the sum is right, a wrong result is a wrong
 * order. */
static void run_form(tbk_fixture_t* fx, const reduction_row_t* row, job_form_t* form) {
  const tbk_reduction_t reduction = reduction_of_row(fx, row);
  const tbk_reduction_t sum = reduction_of_row(fx, &reduce_rows[REDUCE_SUM_INTEGERS]);
  const bool is_ordered = (reduction.flags & TBK_REDUCTION_COMMUTATIVE) == 0;
  if (is_ordered) {
    job_form_t plain = *form;
    plain.reduction = &sum;
    plain.values = reduce_rows[REDUCE_SUM_INTEGERS].values;
    JOB_RUN(fx, &job, &plain);
  }
  TBK_CHECKS(is_ordered && !tbk_checks_failed() ? "PRG-014" : NULL);
  form->reduction = &reduction;
  form->values = row->values;
  form->slack = row->slack;
  JOB_RUN(fx, &job, form);
}

static void run_reduction(tbk_fixture_t* fx, sweep_case_t* one) {
  const reduction_row_t* row = &reduce_rows[at(one, ROW_ID)];
  const outer_t* outer = &outers[at(one, OUTER)];
  int32_t rank = (int32_t)at(one, DIMS);
  int64_t inner[TENSOR_RANK];
  inner_sizes(at(one, INNER), rank, inner);
  job_form_t form = {.rank = outer->rank,
                     .sizes = outer->sizes,
                     .inner_rank = rank,
                     .inner_sizes = inner,
                     .input = (tensor_layout_t)at(one, INPUT),
                     .output = (tensor_layout_t)sweep_get(one, &output_axis),
                     .sets = (size_t)sweep_get(one, &sets_axis),
                     .index_bits = sweep_get(one, &bits_axis),
                     .how = (job_how_t)sweep_get(one, &how_axis)};
  run_form(fx, row, &form);
}

#define SPACE(name, row_axis, inner)                                                               \
  static const sweep_space_t name = {                                                              \
      {&(row_axis), &(inner), &inner_rank_axis, &outer_axis, &input_axis, &output_axis, &how_axis, \
       &sets_axis, &bits_axis},                                                                    \
      fits,                                                                                        \
      run_reduction,                                                                               \
      0}
SPACE(whole_space, any_row_axis, inner_axis);
SPACE(order_space, order_axis, inner_axis);
SPACE(state_space, state_axis, inner_axis);
SPACE(place_space, place_axis, inner_axis);
SPACE(nan_space, nan_axis, inner_axis);
SPACE(empty_space, any_row_axis, empty_axis);
/* Meet every layout of dimensions that go with every number of them, and of those that stay. */
static const sweep_space_t lie_space = {
    {&lie_row_axis, &few_factors_axis, &few_dims_axis, &few_outer_axis, &lie_axis},
    fits,
    run_reduction,
    5};
static const sweep_space_t every_lie_space = {
    {&every_lie_row_axis, &factors_axis, &several_axis, &few_outer_axis, &every_lie_axis,
     &output_axis, &how_axis, &sets_axis, &bits_axis},
    fits,
    run_reduction,
    5};

static void an_empty_space_gives_what_finish_makes_of_the_identity(tbk_fixture_t* fx) {
  sweep_run_light(fx, &empty_space, elements);
}

static void what_is_not_commutative_is_combined_in_order(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &order_space, elements, &whole_space);
}

static void every_pair_is_combined_in_order(tbk_fixture_t* fx) {
  sweep_run_light(fx, &order_space, elements);
}

static void the_order_is_that_of_indices_and_not_of_memory(tbk_fixture_t* fx) {
  sweep_run(fx, &lie_space);
}

static void every_layout_has_the_order_of_indices(tbk_fixture_t* fx) {
  sweep_run(fx, &every_lie_space);
}

static void each_state_is_kept(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &state_space, elements, &whole_space);
}

static void every_pair_keeps_each_state(tbk_fixture_t* fx) {
  sweep_run_light(fx, &state_space, elements);
}

static void each_element_counts_once(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &whole_space, elements, NULL);
}

static void every_pair_counts_each_element(tbk_fixture_t* fx) {
  sweep_run_light(fx, &whole_space, elements);
}

static void a_nan_is_not_lost(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &nan_space, elements, &whole_space);
}

static void every_pair_keeps_a_nan(tbk_fixture_t* fx) {
  sweep_run_light(fx, &nan_space, elements);
}

static void map_and_finish_know_their_place(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &place_space, elements, &whole_space);
}

static void every_pair_knows_its_place(tbk_fixture_t* fx) {
  sweep_run_light(fx, &place_space, elements);
}

/* -------------------------------------------------------------------------------------- by hand -- */

static void run_row(tbk_fixture_t* fx, int id, int64_t outer, int64_t inner, size_t sets) {
  size_t mark = room_mark(fx);
  inner = room_length(fx, outer, inner);
  job_form_t form = {.rank = outer > 0 ? 1 : 0,
                     .sizes = &outer,
                     .inner_rank = 1,
                     .inner_sizes = &inner,
                     .sets = sets};
  run_form(fx, &reduce_rows[id], &form);
  room_release(fx, mark);
}

static void a_million_elements_are_combined(tbk_fixture_t* fx) {
  run_row(fx, REDUCE_SUM_INTEGERS, 0, 1000000, 1);
  run_row(fx, REDUCE_ORDERED, 0, 1000000, 1);
  run_row(fx, REDUCE_ARGUMENT, 3, 333331, 1);
}

static void rows_that_end_beside_a_block_are_whole(tbk_fixture_t* fx) {
  for (size_t i = 0; i < SWEEP_FEW_LENGTHS; ++i)
    run_row(fx, REDUCE_SUM_INTEGERS, 0, sweep_lengths[i], 1);
}

static void all_rows_that_end_beside_a_block_are_whole(tbk_fixture_t* fx) {
  for (size_t i = 0; i < SWEEP_ALL_LENGTHS; ++i) {
    run_row(fx, REDUCE_SUM_INTEGERS, 0, sweep_lengths[i], 1);
    run_row(fx, REDUCE_ORDERED, 0, sweep_lengths[i], 1);
  }
}

/* Many outputs of few elements, and the other way round. */
static void many_outputs_are_made(tbk_fixture_t* fx) {
  run_row(fx, REDUCE_SUM_INTEGERS, 65537, 2, 1);
  run_row(fx, REDUCE_ORDERED, 5000, 2, 1);
}

/* Lengths that differ from set to set, as those of parameters do, and numbers. */
static void reduce_sets(tbk_fixture_t* fx, const reduction_row_t* row, size_t sets) {
  static const int64_t inner[1] = {67};
  const tbk_reduction_t reduction = reduction_of_row(fx, row);
  size_t mark = room_mark(fx);
  job_form_t form = {.reduction = &reduction, .inner_rank = 1, .inner_sizes = inner, .sets = sets};
  JOB_RUN(fx, &job, &form);
  room_release(fx, mark);
}

static void each_set_has_its_own_inner_space(tbk_fixture_t* fx) {
  for (size_t sets = 2; sets <= 7; sets += 5) {
    reduce_sets(fx, &reduce_rows[REDUCE_ORDERED], sets);
    reduce_sets(fx, &reduce_rows[REDUCE_NUMBERED], sets);
  }
}

static void no_set_is_nothing_to_do(tbk_fixture_t* fx) {
  static const int64_t inner[1] = {5};
  const tbk_reduction_t reduction = reduction_of_row(fx, &reduce_rows[REDUCE_SUM_INTEGERS]);
  job_form_t form = {.reduction = &reduction, .inner_rank = 1, .inner_sizes = inner};
  job_make(fx, &job, &form);
  job_ready(fx, &job);
  job_describe(&job);
  ((tbk_args_reduce_t*)job_arguments())->set_count = 0;
  CHECK_OK(job_launch(fx, &job, NULL));
  job_check_untouched(fx, &job, TBK_HERE("no sets"));
}

static const tbk_case_t cases[] = {
    TBK_CASE("PRG-013", "op:tbk::reduce dtype:INT64 dtype:BOOL", 0,
             an_empty_space_gives_what_finish_makes_of_the_identity),
    TBK_CASE("PRG-014", "op:tbk::reduce dtype:INT64 dtype:BOOL", 0,
             what_is_not_commutative_is_combined_in_order),
    TBK_CASE("PRG-014", "op:tbk::reduce dtype:INT64 dtype:BOOL", TBK_CASE_THOROUGH,
             every_pair_is_combined_in_order),
    TBK_CASE("PRG-014", "op:tbk::reduce dtype:INT64 dtype:BOOL", 0,
             the_order_is_that_of_indices_and_not_of_memory),
    TBK_CASE("PRG-014", "op:tbk::reduce dtype:INT64 dtype:BOOL", TBK_CASE_THOROUGH,
             every_layout_has_the_order_of_indices),
    TBK_CASE("PRG-015", "op:tbk::reduce dtype:INT64 dtype:BOOL", TBK_CASE_SLOW, each_state_is_kept),
    TBK_CASE("PRG-015", "op:tbk::reduce dtype:INT64 dtype:BOOL", TBK_CASE_THOROUGH,
             every_pair_keeps_each_state),
    TBK_CASE("PRG-016", "op:tbk::reduce dtype:INT64 dtype:BOOL", TBK_CASE_SLOW,
             each_element_counts_once),
    TBK_CASE("PRG-016", "op:tbk::reduce dtype:INT64 dtype:BOOL", TBK_CASE_THOROUGH,
             every_pair_counts_each_element),
    TBK_CASE("PRG-016", "op:tbk::reduce dtype:INT64 dtype:BOOL", TBK_CASE_THOROUGH,
             a_million_elements_are_combined),
    TBK_CASE("PRG-016", "op:tbk::reduce dtype:INT64 dtype:BOOL", 0,
             rows_that_end_beside_a_block_are_whole),
    TBK_CASE("PRG-016", "op:tbk::reduce dtype:INT64 dtype:BOOL", TBK_CASE_THOROUGH,
             all_rows_that_end_beside_a_block_are_whole),
    TBK_CASE("PRG-016", "op:tbk::reduce dtype:INT64 dtype:BOOL", 0, many_outputs_are_made),
    TBK_CASE("PRG-017", "op:tbk::reduce dtype:INT64 dtype:BOOL dtype:FLOAT32", 0,
             a_nan_is_not_lost),
    TBK_CASE("PRG-017", "op:tbk::reduce dtype:INT64 dtype:BOOL dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_keeps_a_nan),
    TBK_CASE("PRG-018", "op:tbk::reduce dtype:INT64 dtype:BOOL", 0,
             map_and_finish_know_their_place),
    TBK_CASE("PRG-018", "op:tbk::reduce dtype:INT64 dtype:BOOL", TBK_CASE_THOROUGH,
             every_pair_knows_its_place),
    TBK_CASE("PRG-020", "op:tbk::reduce dtype:INT64 dtype:BOOL", 0,
             each_set_has_its_own_inner_space),
    TBK_CASE("PRG-020", "op:tbk::reduce dtype:INT64 dtype:BOOL", 0, no_set_is_nothing_to_do),
};
TBK_SUITE(program_reduce);
