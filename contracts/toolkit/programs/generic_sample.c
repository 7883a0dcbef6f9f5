/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "generic_sample.h"

#include "convolution_job.h"
#include "index_job.h"
#include "matmul_job.h"
#include "reduction_row.h"
#include "sort_job.h"

#include <string.h>
#include <tbk/tbk_scan.h>

#define COUNT(items) ((int)(sizeof(items) / sizeof *(items)))

/* What a kind of jobs lends, by the names of its functions. */
#define LEND(kind, prefix)                                                       \
  static void kind##_lend_ready(tbk_fixture_t* fx, void* job) {                  \
    prefix##_ready(fx, job);                                                     \
  }                                                                              \
  static generic_call_t kind##_lend_call(void* job) {                            \
    return prefix##_call(job);                                                   \
  }                                                                              \
  static bool kind##_lend_check(tbk_fixture_t* fx, void* job, tbk_here_t here) { \
    return prefix##_check(fx, job, here);                                        \
  }
LEND(job, job)
LEND(index_job, index)
LEND(sort_job, sort)
LEND(matmul_job, matmul)
LEND(convolution_job, convolution)

/* ------------------------------------------------------------------------------------ programs -- */

static const int64_t square[2] = {4, 4}, row[1] = {4}, seven[1] = {7}, none[1] = {0};

#define PROGRAM(constant, opcode, bounds, first, second)                                           \
  "program 1\ninput 0 INT64\ninput 1 INT64 indexed 1\nnumber 0 INT64\n"                            \
  "v0 = LOAD INT64 slot 0\nv1 = LOAD INT64 slot 1 " bounds                                         \
  " v0\nv2 = CONSTANT INT64 bits " constant "\nv3 = NUMBER INT64 slot 0\nv4 = " opcode             \
  " INT64 v0 v2\nv5 = XOR INT64 v4 v3\nv6 = ADD INT64 v5 v1\nresult 0 " first "\nresult 1 " second \
  "\n"

static const struct {
  const char* text;
  tensor_layout_t input, output;
} programs[] = {
    {PROGRAM("0x5", "ADD", "zero", "v6", "v5"), TENSOR_PLAIN, TENSOR_PLAIN},
    {PROGRAM("0x7", "ADD", "zero", "v6", "v5"), TENSOR_PLAIN, TENSOR_PLAIN},
    {PROGRAM("0x5", "SUB", "zero", "v6", "v5"), TENSOR_PLAIN, TENSOR_PLAIN},
    {PROGRAM("0x5", "ADD", "clamp", "v6", "v5"), TENSOR_PLAIN, TENSOR_PLAIN},
    {PROGRAM("0x5", "ADD", "zero", "v5", "v6"), TENSOR_PLAIN, TENSOR_PLAIN},
    {PROGRAM("0x5", "ADD", "zero", "v6", "v5"), TENSOR_TURNED, TENSOR_PLAIN},
    {PROGRAM("0x5", "ADD", "zero", "v6", "v5"), TENSOR_PLAIN, TENSOR_TURNED},
    {PROGRAM("0x5", "ADD", "zero", "v6", "v5"), TENSOR_BROADCAST, TENSOR_PLAIN},
};

static void make_program(tbk_fixture_t* fx, void* job, int form) {
  const job_form_t of = {.program = job_program(fx, programs[form].text),
                         .rank = 2,
                         .sizes = square,
                         .input = programs[form].input,
                         .output = programs[form].output,
                         .values = JOB_SMALL};
  job_make(fx, job, &of);
}

/* ---------------------------------------------------------------------------------- reductions -- */

/* The last element, and whether there was any; the first where the operands change places. */
#define LAST(chosen)                                                                  \
  "program 1\ninput 0 INT64\nv0 = LOAD INT64 slot 0\nv1 = CONSTANT BOOL bits 0x1\n"   \
  "result 0 v0\nresult 1 v1\n",                                                       \
      FOUR("INT64", "BOOL") "v4 = SELECT INT64 " chosen                               \
                            "\nv5 = OR BOOL v1 v3\nresult 0 v4\nresult 1 v5\n",       \
      "program 1\nparameter 0 INT64\nparameter 1 BOOL\nv0 = PARAMETER INT64 slot 0\n" \
      "v1 = PARAMETER BOOL slot 1\nresult 0 v0\nresult 1 v1\n"
#define LAST_ONE LAST("v3 v2 v0")
#define FIRST_ONE LAST("v1 v0 v2")

static const struct {
  reduction_row_t row;
  const int64_t* inner;
  tensor_layout_t input;
} reductions[] = {
    {{LAST_ONE, {77, 0}, 0, JOB_ANY, 0, {0}}, row, TENSOR_PLAIN},
    {{LAST_ONE, {77, 0}, 0, JOB_ANY, 0, {0}}, none, TENSOR_PLAIN},
    {{LAST_ONE, {78, 0}, 0, JOB_ANY, 0, {0}}, none, TENSOR_PLAIN},
    {{LAST_ONE, {78, 1}, 0, JOB_ANY, 0, {0}}, none, TENSOR_PLAIN},
    {{FIRST_ONE, {77, 0}, 0, JOB_ANY, 0, {0}}, row, TENSOR_PLAIN},
    {{LAST_ONE, {77, 0}, 0, JOB_ANY, 0, {0}}, row, TENSOR_TURNED},
    /* Of nothing the order does not count, so that this one may declare what is not so of seven. */
    {{LAST_ONE, {79, 0}, TBK_REDUCTION_COMMUTATIVE, JOB_ANY, 0, {0}}, none, TENSOR_PLAIN},
    {{LAST_ONE, {79, 0}, 0, JOB_ANY, 0, {0}}, seven, TENSOR_PLAIN},
};

static const tbk_reduction_t* reduction_in(tbk_fixture_t* fx, const reduction_row_t* of) {
  tbk_reduction_t* reduction = (tbk_reduction_t*)(void*)fx_zeros(fx, sizeof *reduction);
  *reduction = reduction_of_row(fx, of);
  return reduction;
}

static void make_reduction(tbk_fixture_t* fx, void* job, int form) {
  const job_form_t of = {.reduction = reduction_in(fx, &reductions[form].row),
                         .rank = 1,
                         .sizes = row,
                         .inner_rank = 1,
                         .inner_sizes = reductions[form].inner,
                         .input = reductions[form].input};
  job_make(fx, job, &of);
}

/* --------------------------------------------------------------------------------------- scans -- */

static const struct {
  reduction_row_t row;
  uint64_t flags;
  tensor_layout_t input;
} scans[] = {
    {{LAST_ONE, {77, 0}, 0, JOB_ANY, 0, {0}}, 0, TENSOR_PLAIN},
    {{LAST_ONE, {77, 0}, 0, JOB_ANY, 0, {0}}, TBK_SCAN_REVERSE, TENSOR_PLAIN},
    {{FIRST_ONE, {77, 0}, 0, JOB_ANY, 0, {0}}, 0, TENSOR_PLAIN},
    {{LAST_ONE, {77, 0}, 0, JOB_ANY, 0, {0}}, 0, TENSOR_TURNED},
};

static void make_scan(tbk_fixture_t* fx, void* job, int form) {
  const job_form_t of = {.reduction = reduction_in(fx, &scans[form].row),
                         .scans = true,
                         .flags = scans[form].flags,
                         .rank = 2,
                         .sizes = square,
                         .input = scans[form].input};
  job_make(fx, job, &of);
}

static tensor_t* job_input(void* job) {
  return &((job_t*)job)->sets[0].inputs[0];
}

/* --------------------------------------------------------------------------------------- index -- */

#define INDEXED(of_mode, of_flags, first, second, ...)                                         \
  {                                                                                            \
    .mode = TBK_INDEX_##of_mode, .flags = (of_flags), .bounds = TBK_BOUNDS_ZERO,               \
    .dtype = TBK_INT64, .index_dtype = TBK_INT64, .rank = 2, .sizes = {4, 4}, .table_rank = 2, \
    .table_sizes = {4, 4}, .places = {first, second}, .index_count = 1, __VA_ARGS__            \
  }
static const index_form_t indexed[] = {
    INDEXED(GATHER, 0, TBK_INDEX_BY(0), TBK_INDEX_ALONG(1), .report = false),
    INDEXED(GATHER, 0, TBK_INDEX_ALONG(0), TBK_INDEX_BY(0), .report = false),
    INDEXED(GATHER, TBK_INDEX_NEGATIVE, TBK_INDEX_BY(0), TBK_INDEX_ALONG(1), .report = false),
    INDEXED(GATHER, 0, TBK_INDEX_BY(0), TBK_INDEX_ALONG(1), .draw = INDEX_BAD),
    INDEXED(GATHER, 0, TBK_INDEX_BY(0), TBK_INDEX_ALONG(1), .draw = INDEX_BAD, .report = true),
    INDEXED(GATHER, 0, TBK_INDEX_BY(0), TBK_INDEX_ALONG(1), .table = TENSOR_TURNED),
    INDEXED(ADD, 0, TBK_INDEX_BY(0), TBK_INDEX_ALONG(1), .report = false),
    INDEXED(MAX, 0, TBK_INDEX_BY(0), TBK_INDEX_ALONG(1), .report = false),
};

static void make_index(tbk_fixture_t* fx, void* job, int form) {
  index_make(fx, job, &indexed[form]);
}

static tensor_t* index_input(void* job) {
  index_job_t* it = job;
  return it->form.mode == TBK_INDEX_GATHER ? &it->table : &it->values;
}

/* ---------------------------------------------------------------------------------------- sort -- */

#define SORTED(of_flags, ...) \
  { .dtype = TBK_INT64, .rank = 2, .sizes = {4, 4}, .flags = (of_flags), __VA_ARGS__ }
static const sort_form_t sorted[] = {
    SORTED(0, .fewer = 0),
    SORTED(TBK_SORT_DESCENDING, .fewer = 0),
    SORTED(0, .fewer = 2),
    SORTED(TBK_SORT_DESCENDING, .fewer = 2),
    SORTED(TBK_SORT_STABLE, .draw = SORT_FEW),
    SORTED(0, .no_values = true),
    SORTED(0, .no_indices = true),
    SORTED(0, .input = TENSOR_TURNED),
    SORTED(0, .values = TENSOR_TURNED),
};

static void make_sort(tbk_fixture_t* fx, void* job, int form) {
  sort_make(fx, job, &sorted[form]);
}

static tensor_t* sort_input(void* job) {
  return &((sort_job_t*)job)->input;
}

/* -------------------------------------------------------------------------------------- matmul -- */

#define PRODUCT(...)                                                                       \
  {                                                                                        \
    .dtype = TBK_INT64, .m = 4, .n = 4, .k = 4, .drawn = JOB_SMALL, .alpha = 2, .beta = 3, \
    __VA_ARGS__                                                                            \
  }
static const matmul_form_t products[] = {
    PRODUCT(.added = MATMUL_NOTHING),
    PRODUCT(.added = MATMUL_TENSOR),
    PRODUCT(.added = MATMUL_TENSOR, .transposed = {true}),
    PRODUCT(.added = MATMUL_TENSOR, .transposed = {false, true}),
    PRODUCT(.added = MATMUL_TENSOR, .transposed = {false, false, false, true}),
    PRODUCT(.added = MATMUL_TENSOR, .layouts = {TENSOR_PLAIN, TENSOR_PLAIN, TENSOR_BROADCAST}),
};

static void make_product(tbk_fixture_t* fx, void* job, int form) {
  matmul_make(fx, job, &products[form]);
}

static tensor_t* matmul_input(void* job) {
  return &((matmul_job_t*)job)->operands[MATMUL_A];
}

/* --------------------------------------------------------------------------------- convolution -- */

#define CONVOLVED(of_mode, of_groups, of_channels, ...)                                       \
  {                                                                                           \
    .mode = TBK_CONVOLUTION_##of_mode, .dtype = TBK_INT64, .spatial = 1, .images = 2,         \
    .groups = (of_groups), .channels = (of_channels), .filters = (of_channels), .input = {9}, \
    .kernel = {3}, .drawn = JOB_SMALL, __VA_ARGS__                                            \
  }
/* Of 7 places, all of them. */
static const convolution_form_t convolved[] = {
    CONVOLVED(OUTPUT, 1, 2, .bias = false),
    CONVOLVED(OUTPUT, 1, 2, .bias = true),
    CONVOLVED(OUTPUT, 1, 2, .padding = {1}, .more = -2),
    CONVOLVED(OUTPUT, 1, 2, .dilation = {2}, .more = 2),
    CONVOLVED(OUTPUT, 1, 2, .stride = {2}, .more = 3),
    CONVOLVED(OUTPUT, 2, 1, .bias = false),
    CONVOLVED(INPUT, 1, 2, .bias = false),
    CONVOLVED(WEIGHT, 1, 2, .bias = false),
    CONVOLVED(OUTPUT, 1, 2, .weight_layout = TENSOR_TURNED),
};

static void make_convolution(tbk_fixture_t* fx, void* job, int form) {
  convolution_make(fx, job, &convolved[form]);
}

static tensor_t* convolution_input(void* job) {
  convolution_job_t* it = job;
  return &it->operands[it->form.mode == TBK_CONVOLUTION_INPUT ? CONVOLUTION_BY : CONVOLUTION_IN];
}

/* ---------------------------------------------------------------------------------------- table -- */

#define SAMPLE(kernel, kind, forms, rank, make, input)                                   \
  {                                                                                      \
    TBK_NAME_##kernel, TBK_VERSION_##kernel, sizeof(kind##_t), COUNT(forms), rank, make, \
        kind##_lend_ready, kind##_lend_call, kind##_lend_check, input                    \
  }
const generic_sample_t generic_samples[] = {
    SAMPLE(pointwise, job, programs, 2, make_program, job_input),
    SAMPLE(reduce, job, reductions, 2, make_reduction, job_input),
    SAMPLE(scan, job, scans, 2, make_scan, job_input),
    SAMPLE(index, index_job, indexed, 2, make_index, index_input),
    SAMPLE(sort, sort_job, sorted, 2, make_sort, sort_input),
    SAMPLE(matmul, matmul_job, products, 2, make_product, matmul_input),
    SAMPLE(convolution, convolution_job, convolved, 3, make_convolution, convolution_input),
};
const size_t generic_sample_count = sizeof generic_samples / sizeof *generic_samples;

bool generic_sample_offered(const tbk_fixture_t* fx, const generic_sample_t* sample) {
  const int32_t most = fx->properties.max_rank;
  return generic_kernel(fx, sample->name, sample->version) != NULL &&
         (most == 0 || sample->rank <= most);
}

void* generic_sample_make(tbk_fixture_t* fx, const generic_sample_t* sample, int form) {
  void* job = fx_zeros(fx, sample->job_bytes);
  sample->make(fx, job, form);
  sample->ready(fx, job);
  return job;
}

tbk_status_t generic_sample_launch(tbk_fixture_t* fx, const generic_sample_t* sample, void* job,
                                   tbk_stream_t* stream) {
  const generic_call_t call = sample->call(job);
  call.describe(job);
  return generic_launch(fx, &call, stream);
}
