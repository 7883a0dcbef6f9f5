/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Over what a program runs: shapes, layouts, lists of sets, operands that are one. Programs drawn at random go
 * through all of this in combination.
 */
#include "draw.h"
#include "job.h"
#include "sweep.h"

static job_t job;

SWEEP_DIMENSION(shape_axis, "shape", {"scalar", 0}, {"1", 1}, {"7", 2}, {"0", 3}, {"3x5", 4},
                {"4x1x3", 5}, {"3x0x2", 6}, {"2x3x2x3", 7}, {"rank5", 8}, {"rank8", 9},
                {"1000", 10}, {"65x17", 11}, {"3x3x3", 12}, {"rank6", 13});
/* Of equal sizes beside each other: strides that change places are seen. */
SWEEP_DIMENSION(square_axis, "square", {"3x3x3", 12}, {"rank6", 13});
/* Rows that are cut into pieces, perhaps. */
SWEEP_DIMENSION(long_axis, "long", {"3x777", 14}, {"2x5x300", 15}, {"700x3", 16});
SWEEP_DIMENSION(few_shapes_axis, "shape", {"3x5", 4}, {"2x3x2x3", 7});
SWEEP_DIMENSION(few_hows_axis, "how", {"launch", JOB_NULL}, {"plan", JOB_PLAN});
SWEEP_DIMENSION(others_axis, "others", {"alike", 0}, {"plain", 1});
SWEEP_DIMENSION(input_axis, "input", {"plain", TENSOR_PLAIN}, {"offset", TENSOR_OFFSET},
                {"gaps", TENSOR_GAPS}, {"turned", TENSOR_TURNED}, {"rows", TENSOR_ROWS},
                {"broadcast", TENSOR_BROADCAST}, {"middle", TENSOR_BROADCAST_MIDDLE},
                {"last", TENSOR_BROADCAST_LAST}, {"reversed", TENSOR_REVERSED},
                {"backwards", TENSOR_BACKWARDS});
SWEEP_DIMENSION(output_axis, "output", {"plain", TENSOR_PLAIN}, {"offset", TENSOR_OFFSET},
                {"gaps", TENSOR_GAPS}, {"turned", TENSOR_TURNED}, {"rows", TENSOR_ROWS},
                {"reversed", TENSOR_REVERSED}, {"backwards", TENSOR_BACKWARDS});
SWEEP_DIMENSION(how_axis, "how", {"launch", JOB_NULL}, {"stream", JOB_STREAM}, {"plan", JOB_PLAN},
                {"again", JOB_TWICE});
SWEEP_DIMENSION(sets_axis, "sets", {"1", 1}, {"3", 3});
SWEEP_DIMENSION(count_axis, "sets", {"1", 1}, {"2", 2}, {"3", 3}, {"7", 7});
SWEEP_DIMENSION(mix_axis, "mix", {"sizes", JOB_MIX_SIZES}, {"empty", JOB_MIX_EMPTY},
                {"ranks", JOB_MIX_RANKS});
SWEEP_DIMENSION(alias_axis, "alias", {"no", 0}, {"first", 1}, {"second", 2});
SWEEP_DIMENSION(bits_axis, "bits", {"64", 64}, {"32", 32});
SWEEP_DIMENSION(length_axis, "length", {"4", 4}, {"14", 14}, {"40", 40});

typedef struct shape {
  int32_t rank;
  int64_t sizes[TENSOR_RANK];
} shape_t;

static const shape_t shapes[] = {
    {0, {0}},
    {1, {1}},
    {1, {7}},
    {1, {0}},
    {2, {3, 5}},
    {3, {4, 1, 3}},
    {3, {3, 0, 2}},
    {4, {2, 3, 2, 3}},
    {5, {2, 1, 3, 2, 2}},
    {8, {2, 1, 2, 1, 2, 2, 1, 2}},
    {1, {1000}},
    {2, {65, 17}},
    {3, {3, 3, 3}},
    {6, {2, 3, 3, 2, 2, 1}},
    {2, {3, 777}},
    {3, {2, 5, 300}},
    {2, {700, 3}},
};

/* Adds up what is 0 but in one of four dimensions, as a space has one alone. */
static const shape_t* shape_of(const sweep_case_t* one) {
  return &shapes[sweep_get(one, &shape_axis) + sweep_get(one, &square_axis) +
                 sweep_get(one, &long_axis) + sweep_get(one, &few_shapes_axis)];
}

static job_form_t form_of(const sweep_case_t* one, const tbk_program_t* program) {
  const shape_t* shape = shape_of(one);
  return (job_form_t){
      .program = program,
      .rank = shape->rank,
      .sizes = shape->sizes,
      .input = (tensor_layout_t)sweep_get(one, &input_axis),
      .others_plain = sweep_get(one, &others_axis) == 1,
      .output = (tensor_layout_t)sweep_get(one, &output_axis),
      .sets = (size_t)sweep_get(one, &sets_axis),
      .alias = (int)sweep_get(one, &alias_axis),
      .index_bits = sweep_get(one, &bits_axis),
      .how = (job_how_t)(sweep_get(one, &how_axis) + sweep_get(one, &few_hows_axis))};
}

static int64_t elements(const sweep_case_t* one) {
  const shape_t* shape = shape_of(one);
  int64_t count = 1;
  for (int32_t d = 0; d < shape->rank; ++d)
    count *= shape->sizes[d];
  return count;
}

static bool shares_elements(int64_t layout) {
  return layout == TENSOR_BROADCAST || layout == TENSOR_BROADCAST_MIDDLE ||
         layout == TENSOR_BROADCAST_LAST;
}

/* A broadcast input can be no output. */
static bool fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  int64_t how = sweep_get(one, &how_axis), input = sweep_get(one, &input_axis);
  int32_t rank = shape_of(one)->rank;
  if (how == JOB_STREAM && fx->stream == NULL) return false;
  if (sweep_get(one, &alias_axis) > 0 && shares_elements(input)) return false;
  return fx->properties.max_rank == 0 || rank <= fx->properties.max_rank;
}

static void run_drawn(tbk_fixture_t* fx, sweep_case_t* one) {
  static program_pool_t pool;
  uint64_t state = fx_random(fx);
  program_pool_open(&pool);
  program_wish_t wish = {.dtypes = job_dtypes(fx),
                         .instructions = (size_t)sweep_get(one, &length_axis),
                         .rank = shapes[sweep_get(one, &shape_axis)].rank,
                         .placed = true,
                         .results = 1 + state % 3,
                         .result_dtypes = job_dtypes(fx)};
  program_draw(&pool, &wish, &state);
  job_form_t form = form_of(one, &pool.program);
  JOB_RUN(fx, &job, &form);
}

static const sweep_space_t drawn_space = {{&shape_axis, &input_axis, &output_axis, &how_axis,
                                           &sets_axis, &alias_axis, &bits_axis, &length_axis},
                                          fits,
                                          run_drawn,
                                          0};

static void a_drawn_program_gives_what_its_instructions_give(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &drawn_space, elements, NULL);
}

static void every_pair_gives_what_its_instructions_give(tbk_fixture_t* fx) {
  sweep_run(fx, &drawn_space);
}

/* What has no place in it may be run over merged dimensions: the layouts of a plain one. */
static void run_plain(tbk_fixture_t* fx, sweep_case_t* one) {
  job_form_t form = form_of(
      one,
      job_program(
          fx,
          "program 1\ninput 0 INT64\ninput 1 INT32\nv0 = LOAD INT64 slot 0\n"
          "v1 = LOAD INT32 slot 1\nv2 = CAST INT64 v1\nv3 = SUB INT64 v0 v2\nv4 = NOT INT32 v1\n"
          "result 0 v3\nresult 1 v4\n"));
  JOB_RUN(fx, &job, &form);
}

static const sweep_space_t plain_space = {
    {&shape_axis, &input_axis, &output_axis, &how_axis, &sets_axis, &bits_axis},
    fits,
    run_plain,
    0};

/* Each layout of each of them, however it is launched. */
static const sweep_space_t square_space = {
    {&square_axis, &input_axis, &how_axis, &output_axis, &bits_axis}, fits, run_plain, 3};

static void dimensions_of_one_size_stay_apart(tbk_fixture_t* fx) {
  sweep_run(fx, &square_space);
}

static void any_layout_and_shape_is_right(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &plain_space, elements, NULL);
}

static void every_pair_of_layout_and_shape_is_right(tbk_fixture_t* fx) {
  sweep_run(fx, &plain_space);
}

/* Several operands, each read when something was computed of those before it. */
static void run_long(tbk_fixture_t* fx, sweep_case_t* one) {
  job_form_t form = form_of(
      one, job_program(fx,
                       "program 1\ninput 0 INT64\ninput 1 INT64\ninput 2 INT64\n"
                       "input 3 INT64\ninput 4 INT64\nv0 = LOAD INT64 slot 0\n"
                       "v1 = LOAD INT64 slot 1\nv2 = MUL INT64 v0 v1\nv3 = LOAD INT64 slot 2\n"
                       "v4 = ADD INT64 v2 v3\nv5 = MUL INT64 v4 v4\nv6 = LOAD INT64 slot 3\n"
                       "v7 = SUB INT64 v5 v6\nv8 = MUL INT64 v7 v7\nv9 = LOAD INT64 slot 4\n"
                       "v10 = XOR INT64 v8 v9\nresult 0 v10\n"));
  JOB_RUN(fx, &job, &form);
}

static const sweep_space_t long_space = {
    {&long_axis, &input_axis, &others_axis, &output_axis, &how_axis}, fits, run_long, 0};

static void long_rows_are_whole_in_any_layout(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &long_space, elements, NULL);
}

static void long_rows_are_whole_in_every_pair_of_layouts(tbk_fixture_t* fx) {
  sweep_run(fx, &long_space);
}

static const char numbered[] =
    "program 1\ninput 0 INT64\nnumber 0 INT64\nnumber 1 BOOL\nv0 = LOAD INT64 slot 0\n"
    "v1 = NUMBER INT64 slot 0\nv2 = NUMBER BOOL slot 1\nv3 = XOR INT64 v0 v1\n"
    "v4 = SELECT INT64 v2 v3 v0\nresult 0 v4\nresult 1 v1\nresult 2 v2\n";

/* Sets that differ in size, in rank, or of which some are empty; each has numbers of its own. */
static void run_sets(tbk_fixture_t* fx, sweep_case_t* one) {
  job_form_t form = form_of(one, job_program(fx, numbered));
  form.sets = (size_t)sweep_get(one, &count_axis);
  form.mix = (job_mix_t)sweep_get(one, &mix_axis);
  JOB_RUN(fx, &job, &form);
}

static const sweep_space_t sets_space = {
    {&count_axis, &mix_axis, &shape_axis, &input_axis, &output_axis, &how_axis, &bits_axis},
    fits,
    run_sets,
    0};

static void each_set_is_computed(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &sets_space, elements, NULL);
}

static void every_pair_computes_each_set(tbk_fixture_t* fx) {
  sweep_run(fx, &sets_space);
}

/* Reads each input for each result, so that none may be written before all are read. */
static const char crossed[] =
    "program 1\ninput 0 INT64\ninput 1 INT64\ninput 2 INT64\ninput 3 INT32\n"
    "v0 = LOAD INT64 slot 0\nv1 = LOAD INT64 slot 1\nv2 = LOAD INT64 slot 2\n"
    "v3 = LOAD INT32 slot 3\nv4 = CAST INT64 v3\nv5 = SUB INT64 v0 v1\nv6 = XOR INT64 v5 v2\n"
    "v7 = SUB INT64 v6 v4\nv8 = SUB INT64 v1 v2\nv9 = XOR INT64 v8 v4\nv10 = ADD INT64 v9 v0\n"
    "v11 = SUB INT64 v2 v4\nv12 = XOR INT64 v11 v0\nv13 = ADD INT64 v12 v1\n"
    "v14 = ADD INT64 v7 v10\nv15 = CAST INT32 v14\nv16 = XOR INT32 v15 v3\n"
    "result 0 v7\nresult 1 v10\nresult 2 v13\nresult 3 v16\n";

/* Says of each output 0, or 1 + the input that it is. */
static const uint8_t aliases[][TBK_PROGRAM_MOST_RESULTS] = {
    {0},    {1},       {0, 1},       {0, 0, 1}, {2},          {0, 2},      {0, 0, 2}, {3},
    {0, 3}, {0, 0, 3}, {0, 0, 0, 4}, {2, 1},    {3, 0, 1},    {0, 3, 2},   {2, 3, 1}, {3, 1, 2},
    {1, 2}, {2, 3},    {0, 2, 1},    {1, 2, 3}, {1, 2, 3, 4}, {3, 1, 2, 4}};
/* Names outputs and, behind them, the inputs that they are: each one, crossed, in a ring, all. */
SWEEP_DIMENSION(aliases_axis, "aliases", {"none", 0}, {"0:0", 1}, {"1:0", 2}, {"2:0", 3},
                {"0:1", 4}, {"1:1", 5}, {"2:1", 6}, {"0:2", 7}, {"1:2", 8}, {"2:2", 9}, {"3:3", 10},
                {"01:10", 11}, {"02:20", 12}, {"12:21", 13}, {"012:120", 14}, {"012:201", 15},
                {"01:01", 16}, {"01:12", 17}, {"12:10", 18}, {"012:012", 19}, {"all", 20},
                {"all:crossed", 21});

static void run_alias(tbk_fixture_t* fx, sweep_case_t* one) {
  job_form_t form = form_of(one, job_program(fx, crossed));
  form.aliases = aliases[sweep_get(one, &aliases_axis)];
  JOB_RUN(fx, &job, &form);
}

static const sweep_space_t alias_space = {
    {&alias_axis, &shape_axis, &input_axis, &output_axis, &how_axis}, fits, run_plain, 0};
static const sweep_space_t aliases_space = {
    {&aliases_axis, &few_shapes_axis, &few_hows_axis}, fits, run_alias, 0};
static const sweep_space_t every_alias_space = {
    {&aliases_axis, &shape_axis, &output_axis, &how_axis, &input_axis, &sets_axis, &bits_axis},
    fits,
    run_alias,
    0};

static void an_output_may_be_an_input(tbk_fixture_t* fx) {
  sweep_run(fx, &alias_space);
}

static void outputs_may_be_each_others_inputs(tbk_fixture_t* fx) {
  sweep_run(fx, &aliases_space);
}

static void every_pair_of_outputs_may_be_inputs(tbk_fixture_t* fx) {
  sweep_run(fx, &every_alias_space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("PRG-008", "op:tbk::pointwise dtype:INT64 dtype:BOOL", 0, each_set_is_computed),
    TBK_CASE("PRG-008", "op:tbk::pointwise dtype:INT64 dtype:BOOL", TBK_CASE_THOROUGH,
             every_pair_computes_each_set),
    TBK_CASE("PRG-009", "op:tbk::pointwise dtype:INT64 dtype:INT32", TBK_CASE_SLOW,
             any_layout_and_shape_is_right),
    TBK_CASE("PRG-009", "op:tbk::pointwise dtype:INT64 dtype:INT32", TBK_CASE_THOROUGH,
             every_pair_of_layout_and_shape_is_right),
    TBK_CASE("PRG-009", "op:tbk::pointwise dtype:INT64 dtype:INT32", 0,
             dimensions_of_one_size_stay_apart),
    TBK_CASE("PRG-009", "op:tbk::pointwise dtype:INT64", TBK_CASE_SLOW,
             long_rows_are_whole_in_any_layout),
    TBK_CASE("PRG-009", "op:tbk::pointwise dtype:INT64", TBK_CASE_THOROUGH,
             long_rows_are_whole_in_every_pair_of_layouts),
    TBK_CASE("PRG-010", "op:tbk::pointwise dtype:INT64 dtype:INT32", 0, an_output_may_be_an_input),
    TBK_CASE("PRG-010", "op:tbk::pointwise dtype:INT64 dtype:INT32", 0,
             outputs_may_be_each_others_inputs),
    TBK_CASE("PRG-010", "op:tbk::pointwise dtype:INT64 dtype:INT32", TBK_CASE_THOROUGH,
             every_pair_of_outputs_may_be_inputs),
    TBK_CASE("PRG-012", "op:tbk::pointwise dtype:INT64 dtype:BOOL", TBK_CASE_SLOW,
             a_drawn_program_gives_what_its_instructions_give),
    TBK_CASE("PRG-012", "op:tbk::pointwise dtype:INT64 dtype:BOOL", TBK_CASE_THOROUGH,
             every_pair_gives_what_its_instructions_give),
};
TBK_SUITE(program_layout);
