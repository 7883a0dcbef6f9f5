/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk::index: shapes as gather, scatter, take, embeddings and their like give them, in each mode, over dtypes,
 * layouts and ways to launch. Operands are such that integers, extremes and what is written have one answer.
 */
#include <string.h>

#include "dimensions.h"
#include "index_job.h"
#include "room.h"

static index_job_t job;

/* ---------------------------------------------------------------------------------------- calls -- */

/* A shape of a call, as an operator gives it. */
typedef struct shape {
  int32_t rank;
  int64_t sizes[TENSOR_RANK];
  int32_t table_rank;
  int64_t table_sizes[TENSOR_RANK], places[TENSOR_RANK];
  size_t index_count;
  uint32_t expanded[TENSOR_RANK];
  uint64_t flags;
} shape_t;

#define BY TBK_INDEX_BY
#define ALONG TBK_INDEX_ALONG

enum {
  SELECT,
  SELECT_LAST,
  GATHER,
  EMBEDDING,
  TWO,
  TAKE,
  TAKE_ONE,
  ONE_PLACE,
  NO_INDEX,
  MANY,
  GROUPS,
  EMPTY,
  TWICE,
  TURNED,
  PAIRS,
  WHOLE_RANK
};

static const shape_t shapes[] = {
    [SELECT] = {2, {7, 5}, 2, {4, 5}, {BY(0), ALONG(1)}, 1, {2}, 0},
    [SELECT_LAST] = {2, {3, 9}, 2, {3, 4}, {ALONG(0), BY(0)}, 1, {1}, 0},
    /* The table is longer than the space where it goes along. */
    [GATHER] = {3, {2, 6, 3}, 3, {3, 4, 5}, {ALONG(0), BY(0), ALONG(2)}, 1, {0}, 0},
    [EMBEDDING] = {3, {2, 3, 8}, 2, {11, 8}, {BY(0), ALONG(2)}, 1, {4}, 0},
    [TWO] = {3, {3, 4, 2}, 3, {5, 2, 6}, {BY(0), ALONG(2), BY(1)}, 2, {4, 6}, 0},
    [TAKE] = {2, {2, 9}, 3, {3, 2, 2}, {0}, 1, {0}, TBK_INDEX_FLAT},
    /* All places are that of a single element. */
    [TAKE_ONE] = {2, {2, 3}, 0, {0}, {0}, 1, {0}, TBK_INDEX_FLAT},
    [ONE_PLACE] = {0, {0}, 1, {6}, {BY(0)}, 1, {0}, 0},
    [NO_INDEX] = {0, {0}, 0, {0}, {0}, 0, {0}, 0},
    /* Hundreds of places are one. */
    [MANY] = {1, {700}, 1, {3}, {BY(0)}, 1, {0}, 0},
    [GROUPS] = {2, {13, 29}, 1, {400}, {BY(0)}, 1, {0}, 0},
    [EMPTY] = {2, {0, 4}, 2, {3, 4}, {BY(0), ALONG(1)}, 1, {2}, 0},
    [TWICE] = {1, {5}, 2, {6, 6}, {BY(0), BY(0)}, 1, {0}, 0},
    [TURNED] = {2, {3, 4}, 3, {4, 5, 3}, {ALONG(1), BY(0), ALONG(0)}, 1, {0}, 0},
    [PAIRS] = {2, {6, 7}, 2, {4, 5}, {BY(1), BY(0)}, 2, {0, 0}, 0},
    [WHOLE_RANK] = {8,
                    {2, 1, 2, 3, 1, 2, 1, 2},
                    8,
                    {2, 1, 3, 3, 2, 2, 1, 3},
                    {ALONG(0), ALONG(1), BY(0), ALONG(3), BY(1), ALONG(5), ALONG(6), BY(2)},
                    3,
                    {0, 5, 0},
                    0},
};

#define SHAPES                                                                                    \
  {"select", SELECT}, {"last", SELECT_LAST}, {"gather", GATHER}, {"embedding", EMBEDDING},        \
      {"two", TWO}, {"take", TAKE}, {"take_one", TAKE_ONE}, {"one", ONE_PLACE},                   \
      {"none", NO_INDEX}, {"many", MANY}, {"groups", GROUPS}, {"empty", EMPTY}, {"twice", TWICE}, \
      {"turned", TURNED}, {"pairs", PAIRS}, {                                                     \
    "rank8", WHOLE_RANK                                                                           \
  }

static index_form_t form_of(int64_t which) {
  const shape_t* shape = &shapes[which];
  index_form_t form = {.rank = shape->rank,
                       .table_rank = shape->table_rank,
                       .index_count = shape->index_count,
                       .flags = shape->flags,
                       .bounds = TBK_BOUNDS_ZERO,
                       .dtype = TBK_INT64,
                       .index_dtype = TBK_INT64};
  memcpy(form.sizes, shape->sizes, sizeof form.sizes);
  memcpy(form.table_sizes, shape->table_sizes, sizeof form.table_sizes);
  memcpy(form.places, shape->places, sizeof form.places);
  memcpy(form.expanded, shape->expanded, sizeof form.expanded);
  return form;
}

/* ---------------------------------------------------------------------------------------- sweep -- */

SWEEP_DIMENSION(shape_axis, "shape", SHAPES);
SWEEP_DIMENSION(doubles_axis, "shape", {"select", SELECT}, {"embedding", EMBEDDING}, {"take", TAKE},
                {"many", MANY}, {"two", TWO});
SWEEP_DIMENSION(flat_axis, "shape", {"take", TAKE}, {"take_one", TAKE_ONE});
SWEEP_DIMENSION(indexed_axis, "shape", {"select", SELECT}, {"gather", GATHER}, {"two", TWO},
                {"take", TAKE}, {"one", ONE_PLACE}, {"many", MANY}, {"twice", TWICE});
SWEEP_DIMENSION(gather_axis, "mode", {"gather", TBK_INDEX_GATHER});
SWEEP_DIMENSION(write_axis, "mode", {"write", TBK_INDEX_WRITE});
SWEEP_DIMENSION(merge_axis, "mode", {"add", TBK_INDEX_ADD}, {"mul", TBK_INDEX_MUL},
                {"min", TBK_INDEX_MIN}, {"max", TBK_INDEX_MAX});
SWEEP_DIMENSION(add_axis, "mode", {"add", TBK_INDEX_ADD});
SWEEP_DIMENSION(ordered_axis, "mode", {"write", TBK_INDEX_WRITE}, {"add", TBK_INDEX_ADD});
SWEEP_DIMENSION(mode_axis, "mode", {"gather", TBK_INDEX_GATHER}, {"write", TBK_INDEX_WRITE},
                {"add", TBK_INDEX_ADD}, {"mul", TBK_INDEX_MUL}, {"min", TBK_INDEX_MIN},
                {"max", TBK_INDEX_MAX});
SWEEP_DIMENSION(dtype_axis, "dtype", {"INT64", TBK_INT64}, {"FLOAT32", TBK_FLOAT32},
                {"UINT8", TBK_UINT8}, {"INT8", TBK_INT8}, {"INT16", TBK_INT16},
                {"INT32", TBK_INT32}, {"FLOAT16", TBK_FLOAT16}, {"FLOAT64", TBK_FLOAT64},
                {"BOOL", TBK_BOOL}, {"BFLOAT16", TBK_BFLOAT16});
SWEEP_DIMENSION(real_axis, "dtype", {"FLOAT32", TBK_FLOAT32}, {"FLOAT64", TBK_FLOAT64},
                {"FLOAT16", TBK_FLOAT16}, {"BFLOAT16", TBK_BFLOAT16});
SWEEP_DIMENSION(few_axis, "dtype", {"INT64", TBK_INT64}, {"FLOAT32", TBK_FLOAT32},
                {"INT16", TBK_INT16});
SWEEP_DIMENSION(index_axis, "index", {"INT64", TBK_INT64}, {"INT32", TBK_INT32});
SWEEP_DIMENSION(table_axis, "table", {"plain", TENSOR_PLAIN}, {"offset", TENSOR_OFFSET},
                {"gaps", TENSOR_GAPS}, {"turned", TENSOR_TURNED}, {"rows", TENSOR_ROWS},
                {"reversed", TENSOR_REVERSED}, {"backwards", TENSOR_BACKWARDS},
                {"broadcast", TENSOR_BROADCAST});
SWEEP_DIMENSION(values_axis, "values", {"plain", TENSOR_PLAIN}, {"gaps", TENSOR_GAPS},
                {"turned", TENSOR_TURNED}, {"reversed", TENSOR_REVERSED},
                {"backwards", TENSOR_BACKWARDS}, {"broadcast", TENSOR_BROADCAST},
                {"last", TENSOR_BROADCAST_LAST});
#define PLACES                                                               \
  {"plain", TENSOR_PLAIN}, {"gaps", TENSOR_GAPS}, {"turned", TENSOR_TURNED}, \
      {"reversed", TENSOR_REVERSED}, {                                       \
    "backwards", TENSOR_BACKWARDS                                            \
  }
#define SHARED_PLACES                                                 \
  {"last", TENSOR_BROADCAST_LAST}, {"broadcast", TENSOR_BROADCAST}, { \
    "one", TENSOR_BROADCAST_ALL                                       \
  }
SWEEP_DIMENSION(place_axis, "indices", PLACES, SHARED_PLACES);
SWEEP_DIMENSION(shared_axis, "indices", SHARED_PLACES, {"middle", TENSOR_BROADCAST_MIDDLE});
/* Says which of the indices lie so; the others are plain, so that places of one index are apart all the same. */
SWEEP_DIMENSION(alone_axis, "lie", {"all", 0}, {"first", 1}, {"second", 2});
SWEEP_DIMENSION(shared_shape_axis, "shape", {"groups", GROUPS}, {"pairs", PAIRS});
SWEEP_DIMENSION(every_shared_shape_axis, "shape", {"groups", GROUPS}, {"pairs", PAIRS},
                {"two", TWO}, {"take", TAKE}, {"take_one", TAKE_ONE}, {"many", MANY},
                {"select", SELECT}, {"last", SELECT_LAST}, {"gather", GATHER}, {"twice", TWICE});
SWEEP_DIMENSION(one_axis, "dtype", {"INT64", TBK_INT64});
SWEEP_DIMENSION(how_axis, "how", {"launch", JOB_NULL}, {"stream", JOB_STREAM}, {"plan", JOB_PLAN});
SWEEP_DIMENSION(bits_axis, "bits", {"64", 64}, {"32", 32});
SWEEP_DIMENSION(drawn_axis, "draw", {"inside", INDEX_INSIDE}, {"one", INDEX_ONE});
SWEEP_DIMENSION(bad_axis, "draw", {"bad", INDEX_BAD}, {"last_bad", INDEX_BAD_LAST});
SWEEP_DIMENSION(count_axis, "negative", {"no", 0}, {"yes", TBK_INDEX_NEGATIVE});
SWEEP_DIMENSION(negative_axis, "negative", {"yes", TBK_INDEX_NEGATIVE});
SWEEP_DIMENSION(report_axis, "report", {"none", 0}, {"there", 1});

static int64_t first_of(const sweep_case_t* one, size_t dimension) {
  return sweep_get(one, one->space->dimensions[dimension]);
}

static bool is_broadcast(int64_t layout) {
  return layout == TENSOR_BROADCAST || layout == TENSOR_BROADCAST_LAST;
}

static bool fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const shape_t* shape = &shapes[first_of(one, 0)];
  bool gathers = first_of(one, 1) == TBK_INDEX_GATHER;
  int32_t most = fx->properties.max_rank;
  if (sweep_get(one, &how_axis) == JOB_STREAM && fx->stream == NULL) return false;
  if (most > 0 && (shape->rank > most || shape->table_rank > most)) return false;
  if (is_broadcast(gathers ? sweep_get(one, &values_axis) : sweep_get(one, &table_axis)))
    return false;
  return fx_has_dtype(fx, (int32_t)first_of(one, 2)) &&
         (sweep_get(one, &alone_axis) == 0 || shape->index_count == 2) &&
         fx_has_dtype(fx, (int32_t)sweep_get(one, &index_axis));
}

/* Sums and products are of whole numbers, exact in each order; what is moved or compared is anything. */
static job_values_t drawn_for(const index_form_t* form) {
  bool computes = form->mode == TBK_INDEX_ADD || form->mode == TBK_INDEX_MUL;
  return computes && !number_type(form->dtype)->is_integer ? JOB_SMALL : JOB_ANY;
}

static index_form_t form_of_case(const sweep_case_t* one) {
  index_form_t form = form_of(first_of(one, 0));
  form.mode = first_of(one, 1);
  form.dtype = (int32_t)first_of(one, 2);
  form.index_dtype = (int32_t)sweep_get(one, &index_axis);
  form.table = (tensor_layout_t)sweep_get(one, &table_axis);
  form.values = (tensor_layout_t)sweep_get(one, &values_axis);
  form.index = (tensor_layout_t)(sweep_get(one, &place_axis) + sweep_get(one, &shared_axis));
  form.index_alone = (int)sweep_get(one, &alone_axis);
  form.how = (job_how_t)sweep_get(one, &how_axis);
  form.index_bits = sweep_get(one, &bits_axis);
  form.drawn = drawn_for(&form);
  return form;
}

static void run_inside(tbk_fixture_t* fx, sweep_case_t* one) {
  index_form_t form = form_of_case(one);
  form.draw = (index_draw_t)sweep_get(one, &drawn_axis);
  form.flags |= (uint64_t)first_of(one, 9);
  form.bounds = form.index == TENSOR_PLAIN ? TBK_BOUNDS_TRUSTED : TBK_BOUNDS_ZERO;
  INDEX_RUN(fx, &job, &form);
}

static void run_shared(tbk_fixture_t* fx, sweep_case_t* one) {
  index_form_t form = form_of_case(one);
  INDEX_RUN(fx, &job, &form);
}

/* Real numbers with a bound; and what is ordered, to the bit. */
static void run_ordinary(tbk_fixture_t* fx, sweep_case_t* one) {
  index_form_t form = form_of_case(one);
  form.drawn = JOB_ORDINARY;
  form.draw = (index_draw_t)sweep_get(one, &drawn_axis);
  INDEX_RUN(fx, &job, &form);
}

static void run_ordered(tbk_fixture_t* fx, sweep_case_t* one) {
  index_form_t form = form_of_case(one);
  form.drawn = JOB_ORDINARY;
  form.flags |= TBK_INDEX_ORDERED;
  form.draw = (index_draw_t)sweep_get(one, &drawn_axis);
  INDEX_RUN(fx, &job, &form);
}

static void run_bad(tbk_fixture_t* fx, sweep_case_t* one) {
  index_form_t form = form_of_case(one);
  form.draw = (index_draw_t)sweep_get(one, &bad_axis);
  form.flags |= (uint64_t)first_of(one, 9);
  form.report = sweep_get(one, &report_axis) != 0;
  INDEX_RUN(fx, &job, &form);
}

#define SPACE(name, shapes_of, modes, dtypes, draws, negatives, run)                           \
  static const sweep_space_t name = {                                                          \
      {&(shapes_of), &(modes), &(dtypes), &index_axis, &table_axis, &values_axis, &place_axis, \
       &how_axis, &bits_axis, &(negatives), &(draws), &report_axis},                           \
      fits,                                                                                    \
      run,                                                                                     \
      0}
SPACE(gather_space, shape_axis, gather_axis, dtype_axis, drawn_axis, count_axis, run_inside);
SPACE(write_space, shape_axis, write_axis, dtype_axis, drawn_axis, count_axis, run_inside);
SPACE(merge_space, shape_axis, merge_axis, dtype_axis, drawn_axis, count_axis, run_inside);
SPACE(sum_space, doubles_axis, add_axis, real_axis, drawn_axis, count_axis, run_ordinary);
SPACE(order_space, doubles_axis, ordered_axis, dtype_axis, drawn_axis, count_axis, run_ordered);
SPACE(negative_space, indexed_axis, mode_axis, few_axis, drawn_axis, negative_axis, run_inside);
SPACE(bad_space, indexed_axis, mode_axis, few_axis, bad_axis, count_axis, run_bad);
SPACE(flat_space, flat_axis, mode_axis, few_axis, drawn_axis, count_axis, run_inside);

/* Meet each way in which places share an index with every shape and mode: they are many, and go to one element. */
static const sweep_space_t shared_space = {
    {&shared_shape_axis, &merge_axis, &one_axis, &shared_axis, &alone_axis, &index_axis},
    fits,
    run_shared,
    5};
static const sweep_space_t every_shared_space = {
    {&every_shared_shape_axis, &mode_axis, &few_axis, &shared_axis, &alone_axis, &index_axis,
     &table_axis, &values_axis, &how_axis, &bits_axis},
    fits,
    run_shared,
    5};

static void places_of_one_index_count_once_each(tbk_fixture_t* fx) {
  sweep_run(fx, &shared_space);
}

static void every_pair_may_share_an_index(tbk_fixture_t* fx) {
  sweep_run(fx, &every_shared_space);
}

static void each_place_gets_what_its_indices_name(tbk_fixture_t* fx) {
  sweep_run(fx, &gather_space);
}

/* All places of a long space go to the three of a table: none is left out without a trace. */
static void index_lengths(tbk_fixture_t* fx, int64_t mode, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const size_t mark = room_mark(fx);
    index_form_t form = form_of(MANY);
    form.mode = mode;
    form.sizes[0] = sweep_lengths[i];
    form.drawn = JOB_ANY;
    INDEX_RUN(fx, &job, &form);
    room_release(fx, mark);
  }
}

static void spaces_that_end_beside_a_block_count_once(tbk_fixture_t* fx) {
  index_lengths(fx, TBK_INDEX_ADD, SWEEP_FEW_LENGTHS);
}

static void all_spaces_that_end_beside_a_block_are_whole(tbk_fixture_t* fx) {
  index_lengths(fx, TBK_INDEX_GATHER, SWEEP_ALL_LENGTHS);
  index_lengths(fx, TBK_INDEX_ADD, SWEEP_ALL_LENGTHS);
}

/* Thousands of places that are few in the table, one after the other or row by row: whoever shares them among groups
 * has to keep their order. */
static void order_long_spaces(tbk_fixture_t* fx, bool all) {
  static const int64_t spaces[][2] = {{0, 5003}, {3, 4099}, {2503, 2}, {70, 71}};
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; ++i) {
    const int32_t dtypes[] = {i % 2 == 0 ? TBK_INT64 : TBK_INT32, TBK_FLOAT32};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; ++d)
      for (int64_t mode = TBK_INDEX_WRITE; mode <= TBK_INDEX_ADD; ++mode) {
        if (!all && (i / 2 + d + (size_t)mode) % 2 != 0) continue;
        if (!fx_has_dtype(fx, dtypes[d])) continue;
        const size_t mark = room_mark(fx);
        index_form_t form = form_of(MANY);
        form.mode = mode, form.dtype = dtypes[d], form.drawn = JOB_ORDINARY;
        form.flags |= TBK_INDEX_ORDERED;
        form.rank = spaces[i][0] > 0 ? 2 : 1;
        memcpy(form.sizes, &spaces[i][2 - form.rank], (size_t)form.rank * sizeof *form.sizes);
        INDEX_RUN(fx, &job, &form);
        room_release(fx, mark);
      }
  }
}

static void long_spaces_are_ordered(tbk_fixture_t* fx) {
  order_long_spaces(fx, false);
}

static void long_spaces_are_ordered_in_every_mode(tbk_fixture_t* fx) {
  order_long_spaces(fx, true);
}

static void each_place_is_written_where_its_indices_say(tbk_fixture_t* fx) {
  sweep_run(fx, &write_space);
}

static void each_place_counts_once(tbk_fixture_t* fx) {
  sweep_run(fx, &merge_space);
}

static void sums_of_real_numbers_keep_their_bound(tbk_fixture_t* fx) {
  sweep_run(fx, &sum_space);
}

static void what_is_ordered_has_one_answer(tbk_fixture_t* fx) {
  sweep_run(fx, &order_space);
}

static void a_negative_index_counts_from_the_end(tbk_fixture_t* fx) {
  sweep_run(fx, &negative_space);
}

static void a_bad_index_is_left_out_and_reported(tbk_fixture_t* fx) {
  sweep_run(fx, &bad_space);
}

static void a_flat_index_is_a_position(tbk_fixture_t* fx) {
  sweep_run(fx, &flat_space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("PRG-022", "op:tbk::index dtype:INT64 dtype:INT32", TBK_CASE_SLOW,
             each_place_gets_what_its_indices_name),
    TBK_CASE("PRG-023", "op:tbk::index dtype:INT64 dtype:INT32", TBK_CASE_SLOW,
             each_place_is_written_where_its_indices_say),
    TBK_CASE("PRG-024", "op:tbk::index dtype:INT64 dtype:INT32", TBK_CASE_SLOW,
             each_place_counts_once),
    TBK_CASE("PRG-024", "op:tbk::index dtype:INT64 dtype:INT32", 0,
             places_of_one_index_count_once_each),
    TBK_CASE("PRG-024", "op:tbk::index dtype:INT64 dtype:INT32", TBK_CASE_THOROUGH,
             every_pair_may_share_an_index),
    TBK_CASE("PRG-024", "op:tbk::index dtype:INT64 dtype:INT32", 0,
             spaces_that_end_beside_a_block_count_once),
    TBK_CASE("PRG-024", "op:tbk::index dtype:INT64 dtype:INT32", TBK_CASE_THOROUGH,
             all_spaces_that_end_beside_a_block_are_whole),
    TBK_CASE("PRG-025", "op:tbk::index dtype:INT64 dtype:INT32 dtype:FLOAT32", 0,
             sums_of_real_numbers_keep_their_bound),
    TBK_CASE("PRG-026", "op:tbk::index dtype:INT64 dtype:INT32", 0,
             a_negative_index_counts_from_the_end),
    TBK_CASE("PRG-027", "op:tbk::index dtype:INT64 dtype:INT32", 0,
             a_bad_index_is_left_out_and_reported),
    TBK_CASE("PRG-028", "op:tbk::index dtype:INT64 dtype:INT32", 0, what_is_ordered_has_one_answer),
    TBK_CASE("PRG-028", "op:tbk::index dtype:INT64 dtype:INT32", 0, long_spaces_are_ordered),
    TBK_CASE("PRG-028", "op:tbk::index dtype:INT64 dtype:INT32", TBK_CASE_THOROUGH,
             long_spaces_are_ordered_in_every_mode),
    TBK_CASE("PRG-029", "op:tbk::index dtype:INT64 dtype:INT32", 0, a_flat_index_is_a_position),
};
TBK_SUITE(program_index);
