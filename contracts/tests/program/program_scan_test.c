/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk::scan: running reductions, as rows of map, identity, combine and finish, over lengths around those of tiles
 * and groups, shapes, layouts and ways to launch, in both directions. Most are exact in any order, so that one
 * right answer is there.
 */
#include <string.h>

#include "dimensions.h"
#include "room.h"
#include "scan_rows.h"

static job_t job;

/* ---------------------------------------------------------------------------------------- sweep -- */

#define ROW(id, word) \
  { word, id }
SWEEP_DIMENSION(any_row_axis, "row", ROW(SCAN_SUM_INTEGERS, "sum"), ROW(SCAN_SUM_REALS, "sum_real"),
                ROW(SCAN_SUM_ORDINARY, "sum_ordinary"), ROW(SCAN_PRODUCT, "product"),
                ROW(SCAN_MOST, "max"), ROW(SCAN_HALF, "half"), ROW(SCAN_EVEN, "even"),
                ROW(SCAN_FOUR_STATES, "four"));
SWEEP_DIMENSION(order_axis, "row", ROW(SCAN_ORDERED, "maps"), ROW(SCAN_MOST, "max"),
                ROW(SCAN_ORDERED_ALONE, "map"));
SWEEP_DIMENSION(state_axis, "row", ROW(SCAN_FOUR_STATES, "four"), ROW(SCAN_MOST, "max"),
                ROW(SCAN_ORDERED, "maps"));
SWEEP_DIMENSION(direction_axis, "row", ROW(SCAN_ORDERED, "maps"), ROW(SCAN_SUM_INTEGERS, "sum"),
                ROW(SCAN_MOST, "max"));
SWEEP_DIMENSION(place_axis, "row", ROW(SCAN_PLACED, "placed"), ROW(SCAN_FINISHED, "finish"),
                ROW(SCAN_NUMBERED, "numbers"));
SWEEP_DIMENSION(alias_axis, "row", ROW(SCAN_SUM_INTEGERS, "sum"), ROW(SCAN_ORDERED, "maps"),
                ROW(SCAN_MOST, "max"), ROW(SCAN_FINISHED, "finish"));
SWEEP_DIMENSION(both_axis, "direction", {"forward", 0}, {"reverse", TBK_SCAN_REVERSE});
SWEEP_DIMENSION(back_axis, "direction", {"reverse", TBK_SCAN_REVERSE});
SWEEP_DIMENSION(apart_axis, "place", {"apart", 0});
/* Names outputs and, behind them, the inputs that they are, those of finish behind those of the map: either is read
 * where it may be written. */
SWEEP_DIMENSION(same_axis, "place", {"0:0", 1}, {"1:0", 2});
SWEEP_DIMENSION(cross_axis, "place", {"0:0", 1}, {"1:0", 2}, {"0:1", 3}, {"1:1", 4}, {"01:01", 5},
                {"01:10", 6});
static const uint8_t aliases[][TBK_PROGRAM_MOST_RESULTS] = {{0},    {1},    {0, 1}, {2},
                                                            {0, 2}, {1, 2}, {2, 1}};
SWEEP_DIMENSION(length_axis, "length", {"0", 0}, {"1", 1}, {"2", 2}, {"7", 7}, {"63", 63},
                {"64", 64}, {"65", 65}, {"129", 129}, {"1000", 1000}, {"5000", 5000});
SWEEP_DIMENSION(short_axis, "length", {"7", 7}, {"65", 65});
SWEEP_DIMENSION(outer_axis, "segments", {"1", 0}, {"3", 1}, {"2x5", 2}, {"130", 3}, {"0", 4},
                {"40x2", 5}, {"2x3x2", 6}, {"rank8", 7});
SWEEP_DIMENSION(input_axis, "input", {"plain", TENSOR_PLAIN}, {"offset", TENSOR_OFFSET},
                {"gaps", TENSOR_GAPS}, {"turned", TENSOR_TURNED}, {"rows", TENSOR_ROWS},
                {"broadcast", TENSOR_BROADCAST}, {"last", TENSOR_BROADCAST_LAST},
                {"reversed", TENSOR_REVERSED}, {"backwards", TENSOR_BACKWARDS});
SWEEP_DIMENSION(output_axis, "output", {"plain", TENSOR_PLAIN}, {"gaps", TENSOR_GAPS},
                {"turned", TENSOR_TURNED}, {"reversed", TENSOR_REVERSED},
                {"backwards", TENSOR_BACKWARDS});
SWEEP_DIMENSION(how_axis, "how", {"launch", JOB_NULL}, {"stream", JOB_STREAM}, {"plan", JOB_PLAN},
                {"again", JOB_TWICE});
SWEEP_DIMENSION(sets_axis, "sets", {"1", 1}, {"3", 3});
SWEEP_DIMENSION(bits_axis, "bits", {"64", 64}, {"32", 32});

typedef struct outer {
  int32_t rank;
  int64_t sizes[TENSOR_RANK];
} outer_t;

static const outer_t outers[] = {
    {0, {0}}, {1, {3}},     {2, {2, 5}},    {1, {130}},
    {1, {0}}, {2, {40, 2}}, {3, {2, 3, 2}}, {7, {2, 1, 2, 1, 3, 1, 2}}};

static int64_t at(const sweep_case_t* one, size_t dimension) {
  return sweep_get(one, one->space->dimensions[dimension]);
}
enum { ROW_ID, DIRECTION, ALIAS }; /* the first dimensions of each space */

/* Adds up what is 0 in one of both dimensions, as a space has one alone. */
static int64_t length_of(const sweep_case_t* one) {
  return sweep_get(one, &length_axis) + sweep_get(one, &short_axis);
}

static int64_t elements(const sweep_case_t* one) {
  const outer_t* outer = &outers[sweep_get(one, &outer_axis)];
  int64_t count = length_of(one) * sweep_get(one, &sets_axis);
  for (int32_t d = 0; d < outer->rank; ++d)
    count *= outer->sizes[d];
  return count;
}

/* Leaves out what a row has no second input or output for. */
static bool alias_fits(int64_t row, int64_t alias) {
  return alias <= 1 || row == SCAN_ORDERED || row == SCAN_FINISHED;
}

static bool fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const outer_t* outer = &outers[sweep_get(one, &outer_axis)];
  if (sweep_get(one, &how_axis) == JOB_STREAM && fx->stream == NULL) return false;
  if (fx->properties.max_rank > 0 && outer->rank + 1 > fx->properties.max_rank) return false;
  if (!alias_fits(at(one, ROW_ID), at(one, ALIAS))) return false;
  return reduction_row_fits(fx, &scan_rows[at(one, ROW_ID)]) && elements(one) <= 20000;
}

static void run_scan(tbk_fixture_t* fx, sweep_case_t* one) {
  const reduction_row_t* row = &scan_rows[at(one, ROW_ID)];
  const outer_t* outer = &outers[sweep_get(one, &outer_axis)];
  const tbk_reduction_t reduction = reduction_of_row(fx, row);
  int64_t sizes[TENSOR_RANK];
  memcpy(sizes, outer->sizes, sizeof sizes);
  sizes[outer->rank] = length_of(one);
  job_form_t form = {.reduction = &reduction,
                     .scans = true,
                     .flags = (uint64_t)at(one, DIRECTION),
                     .aliases = aliases[at(one, ALIAS)],
                     .rank = outer->rank + 1,
                     .sizes = sizes,
                     .input = (tensor_layout_t)sweep_get(one, &input_axis),
                     .output = (tensor_layout_t)sweep_get(one, &output_axis),
                     .sets = (size_t)sweep_get(one, &sets_axis),
                     .index_bits = sweep_get(one, &bits_axis),
                     .how = (job_how_t)sweep_get(one, &how_axis),
                     .values = row->values,
                     .slack = row->slack};
  JOB_RUN(fx, &job, &form);
}

#define SPACE(name, row_axis, directions, places)                                     \
  static const sweep_space_t name = {                                                 \
      {&(row_axis), &(directions), &(places), &length_axis, &outer_axis, &input_axis, \
       &output_axis, &how_axis, &sets_axis, &bits_axis},                              \
      fits,                                                                           \
      run_scan,                                                                       \
      0}
SPACE(whole_space, any_row_axis, both_axis, apart_axis);
SPACE(order_space, order_axis, both_axis, apart_axis);
SPACE(state_space, state_axis, both_axis, apart_axis);
SPACE(back_space, direction_axis, back_axis, apart_axis);
SPACE(place_space, place_axis, both_axis, apart_axis);
SPACE(alias_space, alias_axis, both_axis, same_axis);
SPACE(every_alias_space, alias_axis, both_axis, cross_axis);
static const sweep_space_t cross_space = {
    {&alias_axis, &both_axis, &cross_axis, &short_axis}, fits, run_scan, 3};

static void each_place_has_all_before_it(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &whole_space, elements, NULL);
}

static void every_pair_has_all_before_it(tbk_fixture_t* fx) {
  sweep_run_light(fx, &whole_space, elements);
}

static void what_is_not_commutative_is_combined_in_order(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &order_space, elements, &whole_space);
}

static void every_pair_is_combined_in_order(tbk_fixture_t* fx) {
  sweep_run_light(fx, &order_space, elements);
}

static void each_state_is_kept(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &state_space, elements, &whole_space);
}

static void every_pair_keeps_each_state(tbk_fixture_t* fx) {
  sweep_run_light(fx, &state_space, elements);
}

static void a_reversed_scan_begins_at_the_end(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &back_space, elements, &whole_space);
}

static void every_pair_begins_at_the_end_where_reversed(tbk_fixture_t* fx) {
  sweep_run_light(fx, &back_space, elements);
}

static void map_and_finish_know_their_place(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &place_space, elements, &whole_space);
}

static void every_pair_knows_its_place(tbk_fixture_t* fx) {
  sweep_run_light(fx, &place_space, elements);
}

static void an_output_may_be_an_input(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &alias_space, elements, &whole_space);
}

static void outputs_may_be_each_others_inputs(tbk_fixture_t* fx) {
  sweep_run(fx, &cross_space);
}

static void every_pair_may_write_its_input(tbk_fixture_t* fx) {
  sweep_run_light(fx, &every_alias_space, elements);
}

/* -------------------------------------------------------------------------------------- by hand -- */

static void run_row(tbk_fixture_t* fx, int id, uint64_t flags, int64_t outer, int64_t length) {
  const tbk_reduction_t reduction = reduction_of_row(fx, &scan_rows[id]);
  const int64_t sizes[2] = {outer, room_length(fx, outer, length)};
  size_t mark = room_mark(fx);
  job_form_t form = {.reduction = &reduction,
                     .scans = true,
                     .flags = flags,
                     .rank = 2,
                     .sizes = sizes,
                     .values = scan_rows[id].values,
                     .slack = scan_rows[id].slack};
  JOB_RUN(fx, &job, &form);
  room_release(fx, mark);
}

/* Longer than any block; and more segments than a group has items. */
static void long_segments_are_whole(tbk_fixture_t* fx) {
  run_row(fx, SCAN_SUM_INTEGERS, TBK_SCAN_REVERSE, 1, 70001);
  run_row(fx, SCAN_ORDERED, 0, 3, 4099);
  run_row(fx, SCAN_ORDERED, TBK_SCAN_REVERSE, 2503, 3);
}

static void long_segments_are_whole_both_ways(tbk_fixture_t* fx) {
  for (uint64_t flags = 0; flags <= TBK_SCAN_REVERSE; ++flags) {
    run_row(fx, SCAN_SUM_INTEGERS, flags, 1, 70001);
    run_row(fx, SCAN_ORDERED, flags, 3, 16667);
    run_row(fx, SCAN_ORDERED, flags, 7001, 3);
  }
}

static void segments_that_end_beside_a_block_are_whole(tbk_fixture_t* fx) {
  for (size_t i = 0; i < SWEEP_FEW_LENGTHS; ++i)
    run_row(fx, SCAN_SUM_INTEGERS, i % 2, 1, sweep_lengths[i]);
}

static void all_segments_that_end_beside_a_block_are_whole(tbk_fixture_t* fx) {
  for (uint64_t flags = 0; flags <= TBK_SCAN_REVERSE; ++flags)
    for (size_t i = 0; i < SWEEP_ALL_LENGTHS; ++i)
      run_row(fx, SCAN_ORDERED, flags, 1, sweep_lengths[i]);
}

/* Sums that the dtype of the output cannot count by ones. */
static void halves_are_rounded_once(tbk_fixture_t* fx) {
  run_row(fx, SCAN_HALF, 0, 1, 3000);
  run_row(fx, SCAN_HALF, TBK_SCAN_REVERSE, 5, 1000);
}

static void halves_are_rounded_once_both_ways(tbk_fixture_t* fx) {
  for (uint64_t flags = 0; flags <= TBK_SCAN_REVERSE; ++flags) {
    run_row(fx, SCAN_HALF, flags, 1, 3000);
    run_row(fx, SCAN_HALF, flags, 70, 1000);
  }
}

/* Each length around a power of two, and what is odd. */
static void every_short_length_is_whole(tbk_fixture_t* fx) {
  for (int64_t length = 0; length <= 140; length += length == 72 ? 48 : 1)
    run_row(fx, SCAN_ORDERED, (uint64_t)length % 2, 2, length);
}

/* Sets of lengths that differ, and of numbers. */
static void scan_sets(tbk_fixture_t* fx, const reduction_row_t* row, size_t sets) {
  static const int64_t sizes[1] = {67};
  const tbk_reduction_t reduction = reduction_of_row(fx, row);
  size_t mark = room_mark(fx);
  job_form_t form = {
      .reduction = &reduction, .scans = true, .rank = 1, .sizes = sizes, .sets = sets};
  JOB_RUN(fx, &job, &form);
  room_release(fx, mark);
}

static void each_set_is_scanned_by_itself(tbk_fixture_t* fx) {
  for (size_t sets = 2; sets <= 7; sets += 5) {
    scan_sets(fx, &scan_rows[SCAN_ORDERED], sets);
    scan_sets(fx, &scan_rows[SCAN_NUMBERED], sets);
  }
}

/* A job of one row of 5 sums, ready to be launched. */
static void open_plain(tbk_fixture_t* fx, const tbk_reduction_t* reduction) {
  static const int64_t sizes[2] = {2, 5};
  job_form_t form = {.reduction = reduction, .scans = true, .rank = 2, .sizes = sizes};
  job_make(fx, &job, &form);
  job_ready(fx, &job);
}

static tbk_args_scan_t* scan(void) {
  return job_arguments();
}

static void no_set_is_nothing_to_do(tbk_fixture_t* fx) {
  const tbk_reduction_t reduction = reduction_of_row(fx, &scan_rows[SCAN_SUM_INTEGERS]);
  open_plain(fx, &reduction);
  job_describe(&job);
  scan()->set_count = 0;
  CHECK_OK(job_launch(fx, &job, NULL));
  job_check_untouched(fx, &job, TBK_HERE("no sets"));
}

/* ---------------------------------------------------------------------------------- what is bad -- */

static tbk_reduction_t* reduction(void) {
  return (tbk_reduction_t*)scan()->reduction;
}

static tbk_operand_set_t* set(void) {
  return (tbk_operand_set_t*)scan()->sets[0];
}

static tbk_tensor_t* output(void) {
  return (tbk_tensor_t*)set()->outputs[0];
}

#define CHANGES(X)                                                        \
  X(none, scan()->reduction = NULL)                                       \
  X(no_map, reduction()->map = NULL)                                      \
  X(no_combine, reduction()->combine = NULL)                              \
  X(no_finish, reduction()->finish = NULL)                                \
  X(no_identity, reduction()->identity = NULL)                            \
  X(swapped, reduction()->combine = reduction()->finish)                  \
  X(reduction_flags, reduction()->flags = 64)                             \
  X(flags, scan()->flags = 2)                                             \
  X(bits, scan()->index_bits = 0)                                         \
  X(no_sets, scan()->sets = NULL)                                         \
  X(no_outputs, set()->outputs = NULL)                                    \
  X(no_inputs, set()->inputs = NULL)                                      \
  X(inner, (set()->inner_rank = 1, set()->inner_sizes = output()->sizes)) \
  X(no_dimension, output()->rank = 0)                                     \
  X(other_rank, output()->rank = 1)                                       \
  X(other_size, ((int64_t*)output()->sizes)[1] = 4)                       \
  X(output_dtype, output()->dtype = TBK_BOOL)                             \
  X(input_dtype, ((tbk_tensor_t*)set()->inputs[0])->dtype = TBK_BOOL)     \
  X(short_struct, scan()->struct_size = 8)

#define CHANGE(name, change)        \
  static void change_##name(void) { \
    change;                         \
  }
CHANGES(CHANGE)

static const struct {
  const char* name;
  void (*change)(void);
} changes[] = {
#define ENTRY(name, change) {#name, change_##name},
    CHANGES(ENTRY)};

/* The device must be usable as before: the same launch unchanged comes last. */
static void what_does_not_fit_is_refused(tbk_fixture_t* fx) {
  const tbk_reduction_t sum = reduction_of_row(fx, &scan_rows[SCAN_SUM_INTEGERS]);
  open_plain(fx, &sum);
  for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
    tbk_checks_context(changes[i].name);
    job_describe(&job);
    changes[i].change();
    CHECK_STATUS(TBK_INVALID, job_launch(fx, &job, NULL));
    CHECK(fx->error.message[0] != '\0');
    job_check_untouched(fx, &job, TBK_HERE(changes[i].name));
  }
  tbk_checks_context(NULL);
  TBK_CHECKS("PRG-065");
  job_describe(&job);
  CHECK_OK(job_launch(fx, &job, NULL));
  job_check(fx, &job, TBK_HERE("tbk::scan"));
}

static const tbk_case_t cases[] = {
    TBK_CASE("PRG-065", "op:tbk::scan dtype:INT64 dtype:BOOL", TBK_CASE_SLOW,
             each_place_has_all_before_it),
    TBK_CASE("PRG-065", "op:tbk::scan dtype:INT64 dtype:BOOL", TBK_CASE_THOROUGH,
             every_pair_has_all_before_it),
    TBK_CASE("PRG-065", "op:tbk::scan dtype:INT64", TBK_CASE_SLOW, long_segments_are_whole),
    TBK_CASE("PRG-065", "op:tbk::scan dtype:INT64", TBK_CASE_THOROUGH,
             long_segments_are_whole_both_ways),
    TBK_CASE("PRG-065", "op:tbk::scan dtype:INT64", 0, segments_that_end_beside_a_block_are_whole),
    TBK_CASE("PRG-065", "op:tbk::scan dtype:INT64", TBK_CASE_THOROUGH,
             all_segments_that_end_beside_a_block_are_whole),
    TBK_CASE("PRG-065", "op:tbk::scan dtype:FLOAT16 dtype:FLOAT32", 0, halves_are_rounded_once),
    TBK_CASE("PRG-065", "op:tbk::scan dtype:FLOAT16 dtype:FLOAT32", TBK_CASE_THOROUGH,
             halves_are_rounded_once_both_ways),
    TBK_CASE("PRG-065", "op:tbk::scan dtype:INT64", 0, every_short_length_is_whole),
    TBK_CASE("PRG-066", "op:tbk::scan dtype:INT64 dtype:BOOL", 0,
             what_is_not_commutative_is_combined_in_order),
    TBK_CASE("PRG-066", "op:tbk::scan dtype:INT64 dtype:BOOL", TBK_CASE_THOROUGH,
             every_pair_is_combined_in_order),
    TBK_CASE("PRG-067", "op:tbk::scan dtype:INT64 dtype:BOOL", 0, each_state_is_kept),
    TBK_CASE("PRG-067", "op:tbk::scan dtype:INT64 dtype:BOOL", TBK_CASE_THOROUGH,
             every_pair_keeps_each_state),
    TBK_CASE("PRG-068", "op:tbk::scan dtype:INT64 dtype:BOOL", 0,
             a_reversed_scan_begins_at_the_end),
    TBK_CASE("PRG-068", "op:tbk::scan dtype:INT64 dtype:BOOL", TBK_CASE_THOROUGH,
             every_pair_begins_at_the_end_where_reversed),
    TBK_CASE("PRG-069", "op:tbk::scan dtype:INT64", 0, map_and_finish_know_their_place),
    TBK_CASE("PRG-069", "op:tbk::scan dtype:INT64", TBK_CASE_THOROUGH, every_pair_knows_its_place),
    TBK_CASE("PRG-070", "op:tbk::scan dtype:INT64 dtype:BOOL", 0, an_output_may_be_an_input),
    TBK_CASE("PRG-070", "op:tbk::scan dtype:INT64 dtype:BOOL", 0,
             outputs_may_be_each_others_inputs),
    TBK_CASE("PRG-070", "op:tbk::scan dtype:INT64 dtype:BOOL", TBK_CASE_THOROUGH,
             every_pair_may_write_its_input),
    TBK_CASE("PRG-071", "op:tbk::scan dtype:INT64", 0, what_does_not_fit_is_refused),
    TBK_CASE("PRG-072", "op:tbk::scan dtype:INT64", 0, each_set_is_scanned_by_itself),
    TBK_CASE("PRG-072", "op:tbk::scan dtype:INT64", 0, no_set_is_nothing_to_do),
};
TBK_SUITE(program_scan);
