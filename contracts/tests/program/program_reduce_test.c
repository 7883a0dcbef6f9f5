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
#include "reduction_row.h"
#include "room.h"

static job_t job;

/* ----------------------------------------------------------------------------------------- rows -- */

enum {
  SUM_INTEGERS,
  SUM_REALS,
  MOST,
  ARGUMENT,
  ANY,
  ORDERED,
  LAST,
  MOMENTS,
  FOUR_STATES,
  LIMITS,
  PLACED,
  FINISHED,
  NUMBERED
};

static const reduction_row_t rows[] = {
    [SUM_INTEGERS] = {LOAD("INT64") "result 0 v0\n",
                      TWO("INT64") "v2 = ADD INT64 v0 v1\nresult 0 v2\n",
                      ONE("INT64") "result 0 v0\n",
                      {0},
                      TBK_REDUCTION_COMMUTATIVE,
                      JOB_ANY,
                      0,
                      {0}},
    [SUM_REALS] = {LOAD("FLOAT32") "result 0 v0\n",
                   TWO("FLOAT32") "v2 = ADD FLOAT32 v0 v1\nresult 0 v2\n",
                   ONE("FLOAT32") "result 0 v0\n",
                   {0},
                   TBK_REDUCTION_COMMUTATIVE,
                   JOB_SMALL,
                   0,
                   {TBK_FLOAT32}},
    /* NaN wins, infinities are kept; of zeros either. */
    [MOST] =
        {LOAD("FLOAT32") "result 0 v0\n",
         TWO("FLOAT32") "v2 = MAX FLOAT32 v0 v1\nresult 0 v2\n",
         ONE("FLOAT32") "v1 = CONSTANT FLOAT32 bits 0x0\nv2 = ADD FLOAT32 v0 v1\nresult 0 v2\n",
         {0xff800000},
         TBK_REDUCTION_COMMUTATIVE,
         JOB_ANY,
         0,
         {TBK_FLOAT32}},
    /* The first of those that are greatest. */
    [ARGUMENT] = {"program 1\ninput 0 INT64\nv0 = LOAD INT64 slot 0\nv1 = LINEAR_INDEX INT64\n"
                  "result 0 v0\nresult 1 v1\n",
                  FOUR("INT64", "INT64") "v4 = GT BOOL v2 v0\nv5 = EQ BOOL v2 v0\nv6 = LT BOOL v3 "
                                         "v1\nv7 = AND BOOL v5 v6\n"
                                         "v8 = OR BOOL v4 v7\nv9 = SELECT INT64 v8 v2 v0\nv10 = "
                                         "SELECT INT64 v8 v3 v1\n"
                                         "result 0 v9\nresult 1 v10\n",
                  "program 1\nparameter 0 INT64\nparameter 1 INT64\nv0 = PARAMETER INT64 slot 0\n"
                  "v1 = PARAMETER INT64 slot 1\nresult 0 v1\nresult 1 v0\n",
                  {UINT64_C(1) << 63, INT64_MAX},
                  TBK_REDUCTION_COMMUTATIVE,
                  JOB_SMALL,
                  0,
                  {0}},
    [ANY] = {LOAD("BOOL") "result 0 v0\n",
             TWO("BOOL") "v2 = XOR BOOL v0 v1\nresult 0 v2\n",
             ONE("BOOL") "result 0 v0\n",
             {0},
             TBK_REDUCTION_COMMUTATIVE,
             JOB_ANY,
             0,
             {0}},
    /* Maps x -> a * x + b, one after the other: modulo 2^64 exact, and no two orders agree. */
    [ORDERED] = {"program 1\ninput 0 INT64\ninput 1 INT64\nv0 = LOAD INT64 slot 0\n"
                 "v1 = LOAD INT64 slot 1\nv2 = CONSTANT INT64 bits 0x1\nv3 = OR INT64 v0 v2\n"
                 "result 0 v3\nresult 1 v1\n",
                 FOUR("INT64",
                      "INT64") "v4 = MUL INT64 v0 v2\nv5 = MUL INT64 v1 v2\nv6 = ADD INT64 v5 v3\n"
                               "result 0 v4\nresult 1 v6\n",
                 "program 1\nparameter 0 INT64\nparameter 1 INT64\nv0 = PARAMETER INT64 slot 0\n"
                 "v1 = PARAMETER INT64 slot 1\nresult 0 v0\nresult 1 v1\n",
                 {1, 0},
                 0,
                 JOB_ANY,
                 0,
                 {0}},
    /* The last element that is there: the flag says whether there was any. */
    [LAST] =
        {"program 1\ninput 0 INT64\nv0 = LOAD INT64 slot 0\nv1 = CONSTANT BOOL bits 0x1\n"
         "result 0 v0\nresult 1 v1\n",
         FOUR("INT64",
              "BOOL") "v4 = SELECT INT64 v3 v2 v0\nv5 = OR BOOL v1 v3\nresult 0 v4\nresult 1 v5\n",
         "program 1\nparameter 0 INT64\nparameter 1 BOOL\nv0 = PARAMETER INT64 slot 0\n"
         "v1 = PARAMETER BOOL slot 1\nresult 0 v0\nresult 1 v1\n",
         {77, 0},
         0,
         JOB_ANY,
         0,
         {0}},
    /* Count, mean and sum of squared differences, as they are merged from parts. */
    [MOMENTS] = {"program 1\ninput 0 FLOAT32\nv0 = CONSTANT FLOAT32 bits 0x3f800000\n"
                 "v1 = LOAD FLOAT32 slot 0\nv2 = CONSTANT FLOAT32 bits 0x0\n"
                 "result 0 v0\nresult 1 v1\nresult 2 v2\n",
                 "program 1\nparameter 0 FLOAT32\nparameter 1 FLOAT32\nparameter 2 FLOAT32\n"
                 "parameter 3 FLOAT32\nparameter 4 FLOAT32\nparameter 5 FLOAT32\n"
                 "v0 = PARAMETER FLOAT32 slot 0\nv1 = PARAMETER FLOAT32 slot 1\n"
                 "v2 = PARAMETER FLOAT32 slot 2\nv3 = PARAMETER FLOAT32 slot 3\n"
                 "v4 = PARAMETER FLOAT32 slot 4\nv5 = PARAMETER FLOAT32 slot 5\n"
                 "v6 = ADD FLOAT32 v0 v3\nv7 = CONSTANT FLOAT32 bits 0x3f800000\n"
                 "v8 = MAX FLOAT32 v6 v7\nv9 = DIV FLOAT32 v3 v8\nv10 = SUB FLOAT32 v4 v1\n"
                 "v11 = MUL FLOAT32 v10 v9\nv12 = ADD FLOAT32 v1 v11\nv13 = MUL FLOAT32 v10 v10\n"
                 "v14 = MUL FLOAT32 v0 v9\nv15 = MUL FLOAT32 v13 v14\nv16 = ADD FLOAT32 v2 v5\n"
                 "v17 = ADD FLOAT32 v16 v15\nresult 0 v6\nresult 1 v12\nresult 2 v17\n",
                 "program 1\nparameter 0 FLOAT32\nparameter 1 FLOAT32\nparameter 2 FLOAT32\n"
                 "v0 = PARAMETER FLOAT32 slot 0\nv1 = PARAMETER FLOAT32 slot 2\nresult 0 v0\n"
                 "result 1 v1\n",
                 {0, 0, 0},
                 TBK_REDUCTION_COMMUTATIVE,
                 JOB_ORDINARY,
                 1e-3,
                 {TBK_FLOAT32}},
    [FOUR_STATES] = {"program 1\ninput 0 INT32\nv0 = LOAD INT32 slot 0\nv1 = CAST INT64 v0\n"
                     "v2 = CONSTANT INT32 bits 0x0\nv3 = LT BOOL v0 v2\n"
                     "result 0 v0\nresult 1 v0\nresult 2 v1\nresult 3 v3\n",
                     "program 1\nparameter 0 INT32\nparameter 1 INT32\nparameter 2 INT64\n"
                     "parameter 3 BOOL\nparameter 4 INT32\nparameter 5 INT32\nparameter 6 INT64\n"
                     "parameter 7 BOOL\nv0 = PARAMETER INT32 slot 0\nv1 = PARAMETER INT32 slot 1\n"
                     "v2 = PARAMETER INT64 slot 2\nv3 = PARAMETER BOOL slot 3\n"
                     "v4 = PARAMETER INT32 slot 4\nv5 = PARAMETER INT32 slot 5\n"
                     "v6 = PARAMETER INT64 slot 6\nv7 = PARAMETER BOOL slot 7\n"
                     "v8 = MIN INT32 v0 v4\nv9 = MAX INT32 v1 v5\nv10 = ADD INT64 v2 v6\n"
                     "v11 = OR BOOL v3 v7\nresult 0 v8\nresult 1 v9\nresult 2 v10\nresult 3 v11\n",
                     "program 1\nparameter 0 INT32\nparameter 1 INT32\nparameter 2 INT64\n"
                     "parameter 3 BOOL\nv0 = PARAMETER INT32 slot 0\nv1 = PARAMETER INT32 slot 1\n"
                     "v2 = PARAMETER INT64 slot 2\nv3 = PARAMETER BOOL slot 3\n"
                     "result 0 v0\nresult 1 v1\nresult 2 v2\nresult 3 v3\n",
                     {INT32_MAX, UINT64_C(0x80000000), 0, 0},
                     TBK_REDUCTION_COMMUTATIVE,
                     JOB_ANY,
                     0,
                     {TBK_INT32}},
    /* States whose identities are all something else than 0. */
    [LIMITS] = {"program 1\ninput 0 INT32\nv0 = LOAD INT32 slot 0\nv1 = CAST INT64 v0\n"
                "v2 = CONSTANT INT32 bits 0x0\nv3 = LT BOOL v0 v2\n"
                "result 0 v0\nresult 1 v1\nresult 2 v1\nresult 3 v3\n",
                "program 1\nparameter 0 INT32\nparameter 1 INT64\nparameter 2 INT64\n"
                "parameter 3 BOOL\nparameter 4 INT32\nparameter 5 INT64\nparameter 6 INT64\n"
                "parameter 7 BOOL\nv0 = PARAMETER INT32 slot 0\nv1 = PARAMETER INT64 slot 1\n"
                "v2 = PARAMETER INT64 slot 2\nv3 = PARAMETER BOOL slot 3\n"
                "v4 = PARAMETER INT32 slot 4\nv5 = PARAMETER INT64 slot 5\n"
                "v6 = PARAMETER INT64 slot 6\nv7 = PARAMETER BOOL slot 7\n"
                "v8 = MAX INT32 v0 v4\nv9 = MUL INT64 v1 v5\nv10 = MIN INT64 v2 v6\n"
                "v11 = AND BOOL v3 v7\nresult 0 v8\nresult 1 v9\nresult 2 v10\nresult 3 v11\n",
                "program 1\nparameter 0 INT32\nparameter 1 INT64\nparameter 2 INT64\n"
                "parameter 3 BOOL\nv0 = PARAMETER INT32 slot 0\nv1 = PARAMETER INT64 slot 1\n"
                "v2 = PARAMETER INT64 slot 2\nv3 = PARAMETER BOOL slot 3\n"
                "result 0 v0\nresult 1 v1\nresult 2 v2\nresult 3 v3\n",
                {UINT64_C(0x80000000), 1, INT64_MAX, 1},
                TBK_REDUCTION_COMMUTATIVE,
                JOB_ANY,
                0,
                {TBK_INT32}},
    /* Coordinates of the whole space, the index of the inner one. */
    [PLACED] =
        {"program 1\ninput 0 INT64\nv0 = LOAD INT64 slot 0\nv1 = LINEAR_INDEX INT64\n"
         "v2 = COORDINATE INT64 slot 0\nv3 = CONSTANT INT64 bits 0x3e9\nv4 = MUL INT64 v2 v3\n"
         "v5 = XOR INT64 v0 v1\nv6 = MUL INT64 v5 v4\nv7 = ADD INT64 v6 v1\nresult 0 v7\n",
         TWO("INT64") "v2 = ADD INT64 v0 v1\nresult 0 v2\n",
         ONE("INT64") "result 0 v0\n",
         {0},
         TBK_REDUCTION_COMMUTATIVE,
         JOB_ANY,
         0,
         {0}},
    /* An aligned input of the outer space, one by index, and the place. */
    [FINISHED] = {LOAD("INT64") "result 0 v0\n",
                  TWO("INT64") "v2 = ADD INT64 v0 v1\nresult 0 v2\n",
                  "program 1\ninput 0 INT64\ninput 1 INT64 indexed 1\nparameter 0 INT64\n"
                  "v0 = PARAMETER INT64 slot 0\nv1 = LOAD INT64 slot 0\nv2 = LINEAR_INDEX INT64\n"
                  "v3 = LOAD INT64 slot 1 zero v2\nv4 = XOR INT64 v0 v1\nv5 = ADD INT64 v4 v3\n"
                  "result 0 v5\nresult 1 v2\n",
                  {0},
                  TBK_REDUCTION_COMMUTATIVE,
                  JOB_ANY,
                  0,
                  {0}},
    [NUMBERED] = {"program 1\ninput 0 INT64\nnumber 0 INT64\nv0 = LOAD INT64 slot 0\n"
                  "v1 = NUMBER INT64 slot 0\nv2 = MUL INT64 v0 v1\nresult 0 v2\n",
                  "program 1\nnumber 0 INT64\nparameter 0 INT64\nparameter 1 INT64\n"
                  "v0 = PARAMETER INT64 slot 0\nv1 = PARAMETER INT64 slot 1\nv2 = ADD INT64 v0 v1\n"
                  "result 0 v2\n",
                  "program 1\nnumber 0 INT64\nparameter 0 INT64\nv0 = PARAMETER INT64 slot 0\n"
                  "v1 = NUMBER INT64 slot 0\nv2 = SUB INT64 v0 v1\nresult 0 v2\n",
                  {0},
                  TBK_REDUCTION_COMMUTATIVE,
                  JOB_ANY,
                  0,
                  {0}},
};

/* ---------------------------------------------------------------------------------------- sweep -- */

#define ROW(id, word) \
  { word, id }
SWEEP_DIMENSION(any_row_axis, "row", ROW(SUM_INTEGERS, "sum"), ROW(SUM_REALS, "sum_real"),
                ROW(MOST, "max"), ROW(ARGUMENT, "argmax"), ROW(ANY, "xor"), ROW(ORDERED, "maps"),
                ROW(LAST, "last"), ROW(MOMENTS, "moments"), ROW(FOUR_STATES, "four"),
                ROW(LIMITS, "limits"));
SWEEP_DIMENSION(order_axis, "row", ROW(ORDERED, "maps"), ROW(LAST, "last"));
SWEEP_DIMENSION(state_axis, "row", ROW(FOUR_STATES, "four"), ROW(ARGUMENT, "argmax"),
                ROW(MOMENTS, "moments"));
SWEEP_DIMENSION(place_axis, "row", ROW(PLACED, "placed"), ROW(FINISHED, "finish"),
                ROW(NUMBERED, "numbers"));
SWEEP_DIMENSION(nan_axis, "row", ROW(MOST, "max"));
SWEEP_DIMENSION(inner_axis, "inner", {"0", 0}, {"1", 1}, {"2", 2}, {"7", 7}, {"63", 63}, {"64", 64},
                {"65", 65}, {"1000", 1000}, {"5000", 5000});
SWEEP_DIMENSION(empty_axis, "inner", {"0", 0});
SWEEP_DIMENSION(inner_rank_axis, "dims", {"1", 1}, {"2", 2}, {"3", 3}, {"4", 4}, {"6", 6});
SWEEP_DIMENSION(outer_axis, "outer", {"scalar", 0}, {"1", 1}, {"3", 2}, {"2x5", 3}, {"130", 4},
                {"0", 5});
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
  int64_t sizes[2];
} outer_t;

static const outer_t outers[] = {{0, {0}}, {1, {1}}, {1, {3}}, {2, {2, 5}}, {1, {130}}, {1, {0}}};

static int64_t row_of(const sweep_case_t* one) {
  return sweep_get(one, one->space->dimensions[0]);
}

static bool fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const outer_t* outer = &outers[sweep_get(one, &outer_axis)];
  int64_t inner = sweep_get(one, &inner_axis),
          rank = sweep_get(one, &inner_rank_axis) + outer->rank;
  int64_t places = outer->rank == 0 ? 1 : outer->sizes[0] * (outer->rank > 1 ? outer->sizes[1] : 1);
  if (sweep_get(one, &how_axis) == JOB_STREAM && fx->stream == NULL) return false;
  if (fx->properties.max_rank > 0 && rank > fx->properties.max_rank) return false;
  return reduction_row_fits(fx, &rows[row_of(one)]) && inner * places <= 20000;
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

static void run_reduction(tbk_fixture_t* fx, sweep_case_t* one) {
  const reduction_row_t* row = &rows[row_of(one)];
  const outer_t* outer = &outers[sweep_get(one, &outer_axis)];
  const tbk_reduction_t reduction = reduction_of_row(fx, row);
  int32_t rank = (int32_t)sweep_get(one, &inner_rank_axis);
  int64_t inner[TENSOR_RANK];
  inner_sizes(sweep_get(one, &inner_axis), rank, inner);
  job_form_t form = {.reduction = &reduction,
                     .rank = outer->rank,
                     .sizes = outer->sizes,
                     .inner_rank = rank,
                     .inner_sizes = inner,
                     .input = (tensor_layout_t)sweep_get(one, &input_axis),
                     .output = (tensor_layout_t)sweep_get(one, &output_axis),
                     .sets = (size_t)sweep_get(one, &sets_axis),
                     .index_bits = sweep_get(one, &bits_axis),
                     .how = (job_how_t)sweep_get(one, &how_axis),
                     .values = row->values,
                     .slack = row->slack};
  JOB_RUN(fx, &job, &form);
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

static void an_empty_space_gives_what_finish_makes_of_the_identity(tbk_fixture_t* fx) {
  sweep_run(fx, &empty_space);
}

static void what_is_not_commutative_is_combined_in_order(tbk_fixture_t* fx) {
  sweep_run(fx, &order_space);
}

static void each_state_is_kept(tbk_fixture_t* fx) {
  sweep_run(fx, &state_space);
}

static void each_element_counts_once(tbk_fixture_t* fx) {
  sweep_run(fx, &whole_space);
}

static void a_nan_is_not_lost(tbk_fixture_t* fx) {
  sweep_run(fx, &nan_space);
}

static void map_and_finish_know_their_place(tbk_fixture_t* fx) {
  sweep_run(fx, &place_space);
}

/* -------------------------------------------------------------------------------------- by hand -- */

static void run_row(tbk_fixture_t* fx, int id, int64_t outer, int64_t inner, size_t sets) {
  const tbk_reduction_t reduction = reduction_of_row(fx, &rows[id]);
  size_t mark = room_mark(fx);
  job_form_t form = {.reduction = &reduction,
                     .rank = outer > 0 ? 1 : 0,
                     .sizes = &outer,
                     .inner_rank = 1,
                     .inner_sizes = &inner,
                     .sets = sets,
                     .values = rows[id].values,
                     .slack = rows[id].slack};
  JOB_RUN(fx, &job, &form);
  room_release(fx, mark);
}

static void a_million_elements_are_combined(tbk_fixture_t* fx) {
  run_row(fx, SUM_INTEGERS, 0, 1000000, 1);
  run_row(fx, ORDERED, 0, 1000000, 1);
  run_row(fx, ARGUMENT, 3, 333331, 1);
}

/* Many outputs of few elements, and the other way round. */
static void many_outputs_are_made(tbk_fixture_t* fx) {
  run_row(fx, SUM_INTEGERS, 70001, 3, 1);
  run_row(fx, ORDERED, 5000, 2, 1);
}

/* Lengths that differ from set to set, as those of parameters do. */
static void each_set_has_its_own_inner_space(tbk_fixture_t* fx) {
  static const int64_t inner[1] = {67};
  for (size_t sets = 2; sets <= 7; sets += 5) {
    const tbk_reduction_t reduction = reduction_of_row(fx, &rows[ORDERED]);
    size_t mark = room_mark(fx);
    job_form_t form = {
        .reduction = &reduction, .inner_rank = 1, .inner_sizes = inner, .sets = sets};
    JOB_RUN(fx, &job, &form);
    room_release(fx, mark);
  }
}

static void no_set_is_nothing_to_do(tbk_fixture_t* fx) {
  static const int64_t inner[1] = {5};
  const tbk_reduction_t reduction = reduction_of_row(fx, &rows[SUM_INTEGERS]);
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
    TBK_CASE("PRG-015", "op:tbk::reduce dtype:INT64 dtype:BOOL", TBK_CASE_SLOW, each_state_is_kept),
    TBK_CASE("PRG-016", "op:tbk::reduce dtype:INT64 dtype:BOOL", TBK_CASE_SLOW,
             each_element_counts_once),
    TBK_CASE("PRG-016", "op:tbk::reduce dtype:INT64 dtype:BOOL", TBK_CASE_THOROUGH,
             a_million_elements_are_combined),
    TBK_CASE("PRG-016", "op:tbk::reduce dtype:INT64 dtype:BOOL", 0, many_outputs_are_made),
    TBK_CASE("PRG-017", "op:tbk::reduce dtype:INT64 dtype:BOOL dtype:FLOAT32", 0,
             a_nan_is_not_lost),
    TBK_CASE("PRG-018", "op:tbk::reduce dtype:INT64 dtype:BOOL", 0,
             map_and_finish_know_their_place),
    TBK_CASE("PRG-020", "op:tbk::reduce dtype:INT64 dtype:BOOL", 0,
             each_set_has_its_own_inner_space),
    TBK_CASE("PRG-020", "op:tbk::reduce dtype:INT64 dtype:BOOL", 0, no_set_is_nothing_to_do),
};
TBK_SUITE(program_reduce);
