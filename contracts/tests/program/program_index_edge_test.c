/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk::index at its edges: what may not be refused, arguments that do not fit each other, tables larger than
 * 32 bits count, values that are an index, a table without elements, and reports that are kept.
 */
#include <string.h>

#include "index_job.h"
#include "room.h"
#include "sweep.h"

static index_job_t job;

/* An index for each dimension of the largest table. */
static void indices_of_every_dimension_are_taken(tbk_fixture_t* fx) {
  int32_t most = fx->properties.max_rank;
  for (int64_t mode = TBK_INDEX_GATHER; mode <= TBK_INDEX_MAX; ++mode) {
    index_form_t form = {.mode = mode,
                         .bounds = TBK_BOUNDS_ZERO,
                         .dtype = TBK_INT64,
                         .index_dtype = TBK_INT64,
                         .rank = 1,
                         .sizes = {70},
                         .table_rank = most > 0 && most < TENSOR_RANK ? most : TENSOR_RANK,
                         .report = true};
    form.index_count = (size_t)form.table_rank;
    for (int32_t d = 0; d < form.table_rank; ++d) {
      form.table_sizes[d] = 1 + (d + 1) % 3;
      form.places[d] = TBK_INDEX_BY(form.table_rank - 1 - d);
    }
    size_t mark = room_mark(fx);
    CHECK(INDEX_RUN(fx, &job, &form));
    room_release(fx, mark);
  }
}

/* ---------------------------------------------------------------------------------- what is bad -- */

static tbk_tensor_t* tensor(const tbk_tensor_t* one) {
  return (tbk_tensor_t*)one;
}

static int64_t other_size[2] = {5, 4};
static int64_t no_stride[2] = {0, 1};

/* A table of 4 x 3 that is written, a space of 5 x 3 whose first dimension an index finds. */
#define CHANGES(X)                                                               \
  X(mode, a->mode = 6)                                                           \
  X(minus_mode, a->mode = -1)                                                    \
  X(flags, a->flags = 64)                                                        \
  X(clamp, a->bounds = TBK_BOUNDS_CLAMP)                                         \
  X(bits, a->index_bits = 16)                                                    \
  X(no_table, a->table = NULL)                                                   \
  X(no_values, a->values = NULL)                                                 \
  X(no_indices, a->indices = NULL)                                               \
  X(no_index, ((const tbk_tensor_t**)a->indices)[0] = NULL)                      \
  X(many_indices, a->index_count = 9)                                            \
  X(fewer_indices, a->index_count = 0)                                           \
  X(index_dtype, tensor(a->indices[0])->dtype = TBK_BOOL)                        \
  X(index_rank, tensor(a->indices[0])->rank = 1)                                 \
  X(index_size, tensor(a->indices[0])->sizes = other_size)                       \
  X(table_dtype, tensor(a->table)->dtype = TBK_INT32)                            \
  X(complex, tensor(a->table)->dtype = tensor(a->values)->dtype = TBK_COMPLEX64) \
  X(table_rank, tensor(a->table)->rank = 9)                                      \
  X(minus_size, ((int64_t*)a->table->sizes)[0] = -1)                             \
  X(table_stride, tensor(a->table)->strides = no_stride)                         \
  X(short_table, ((int64_t*)a->table->sizes)[1] = 2)                             \
  X(no_places, a->places = NULL)                                                 \
  X(other_index, ((int64_t*)a->places)[0] = TBK_INDEX_BY(1))                     \
  X(unused_index, ((int64_t*)a->places)[0] = TBK_INDEX_ALONG(1))                 \
  X(other_dimension, ((int64_t*)a->places)[1] = TBK_INDEX_ALONG(2))              \
  X(flat, (a->flags |= TBK_INDEX_FLAT, a->index_count = 0))                      \
  X(trusted, a->bounds = TBK_BOUNDS_TRUSTED)                                     \
  X(report_dtype, tensor(a->report)->dtype = TBK_INT64)                          \
  X(report_rank, tensor(a->report)->rank = 1)                                    \
  X(short_struct, a->struct_size = 8)

#define CHANGE(name, change)                       \
  static void change_##name(tbk_args_index_t* a) { \
    change;                                        \
  }
CHANGES(CHANGE)

static const struct {
  const char* name;
  void (*change)(tbk_args_index_t*);
} changes[] = {
#define ENTRY(name, change) {#name, change_##name},
    CHANGES(ENTRY)};

static const index_form_t plain = {.mode = TBK_INDEX_ADD,
                                   .bounds = TBK_BOUNDS_ZERO,
                                   .dtype = TBK_INT64,
                                   .index_dtype = TBK_INT64,
                                   .rank = 2,
                                   .sizes = {5, 3},
                                   .table_rank = 2,
                                   .table_sizes = {4, 3},
                                   .places = {TBK_INDEX_BY(0), TBK_INDEX_ALONG(1)},
                                   .index_count = 1,
                                   .expanded = {2},
                                   .report = true};

/* The device must be usable as before: the same call unchanged comes last. */
static void what_does_not_fit_is_refused(tbk_fixture_t* fx) {
  index_make(fx, &job, &plain);
  index_ready(fx, &job);
  for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
    tbk_checks_context(changes[i].name);
    tbk_args_index_t* args = index_describe(&job);
    changes[i].change(args);
    const bool lacks = GENERIC_LACKS(fx, args->table, args->values);
    CHECK_NO_FIT(lacks, index_launch(fx, &job, NULL));
    CHECK(fx->error.message[0] != '\0');
    index_check_untouched(fx, &job, TBK_HERE(changes[i].name));
  }
  tbk_checks_context(NULL);
  TBK_CHECKS("PRG-024");
  index_describe(&job);
  CHECK_OK(index_launch(fx, &job, NULL));
  index_check(fx, &job, TBK_HERE("tbk::index"));
}

/* -------------------------------------------------------------------------------- 64-bit numbers -- */

/* An index that is inside where 32 bits of it are looked at. */
static void an_index_keeps_its_64_bits(tbk_fixture_t* fx) {
  static const int64_t indices[] = {
      INT64_C(1) << 32, (INT64_C(1) << 32) + 2, -(INT64_C(1) << 32), 3,
      INT64_MAX,        INT64_MIN + 1,          INT64_C(3) << 32};
  for (int64_t bits = 32; bits <= 64; bits += 32)
    for (int64_t mode = TBK_INDEX_GATHER; mode <= TBK_INDEX_MAX; ++mode) {
      index_form_t form = plain;
      size_t mark = room_mark(fx);
      form.mode = mode, form.index_bits = bits;
      index_make(fx, &job, &form);
      for (int64_t i = 0; i < job.indices[0].count; ++i)
        memcpy(tensor_at(&job.indices[0], i), &indices[i / 3 % 7], sizeof *indices);
      index_finish(fx, &job, TBK_HERE("indices of 64 bits"));
      room_release(fx, mark);
    }
}

/* The second of two rows lies 2^31 bytes behind the first; what lies between is touched by nobody. */
static void far_call(tbk_fixture_t* fx, tbk_memory_t memory, int64_t mode, uint8_t* values) {
  const int64_t index = 1, one[1] = {1}, sizes[1] = {2}, strides[1] = {INT64_C(1) << 31};
  const tbk_memory_t small = fx_alloc_with(fx, values, 1), place = fx_alloc_with(fx, &index, 8);
  const tbk_tensor_t table = {sizeof table, memory, (UINT64_C(1) << 31) + 1, 0, TBK_UINT8, 1,
                              sizes,        strides};
  const tbk_tensor_t value = {sizeof value, small, 1, 0, TBK_UINT8, 1, one, one};
  const tbk_tensor_t by = {sizeof by, place, 8, 0, TBK_INT64, 1, one, one};
  const tbk_tensor_t* const indices[1] = {&by};
  const int64_t places[1] = {TBK_INDEX_BY(0)};
  const tbk_args_index_t arguments = {.struct_size = sizeof arguments,
                                      .mode = mode,
                                      .bounds = TBK_BOUNDS_ZERO,
                                      .index_bits = 64,
                                      .table = &table,
                                      .values = &value,
                                      .indices = indices,
                                      .index_count = 1,
                                      .places = places};
  const tbk_kernel_t* kernel =
      fx->kernel->kernel_find(fx->self, fx->device, TBK_NAME_index, TBK_VERSION_index);
  CHECK_OK(kernel->launch(fx->self, fx->device, kernel, &arguments, NULL, &fx->error));
  fx_download(fx, values, small, 1);
}

static void a_table_beyond_32_bits_is_reached(tbk_fixture_t* fx) {
  const uint64_t far = UINT64_C(1) << 31, whole = fx_round(fx, far + 1);
  uint8_t value = 201, seen[2] = {0, 0};
  if (room_allocation(&fx->properties) < whole + 2 * fx_round(fx, 1024)) {
    fx_evidence(fx, TBK_NOT_SHOWN, "the device has no room for a table of 2^31 elements");
    return;
  }
  const tbk_memory_t memory = fx_alloc(fx, whole);
  const uint64_t unit = fx_round(fx, 1);
  uint8_t* zeros = fx_zeros(fx, unit);
  REQUIRE_OK(fx->core->upload(fx->self, fx->device, memory, 0, zeros, unit, NULL, &fx->error));
  REQUIRE_OK(fx->core->upload(fx->self, fx->device, memory, far, zeros, unit, NULL, &fx->error));
  far_call(fx, memory, TBK_INDEX_WRITE, &value);
  REQUIRE_OK(fx->core->download(fx->self, fx->device, zeros, memory, 0, unit, NULL, &fx->error));
  seen[0] = zeros[0];
  REQUIRE_OK(fx->core->download(fx->self, fx->device, zeros, memory, far, unit, NULL, &fx->error));
  seen[1] = zeros[0];
  CHECK_EQUAL(0, seen[0]);
  CHECK_EQUAL(201, seen[1]);
  value = 7;
  far_call(fx, memory, TBK_INDEX_GATHER, &value);
  CHECK_EQUAL(201, value);
}

/* ------------------------------------------------------------------------------ aliases, reports -- */

/* Of one or two indices, which the values are. */
SWEEP_DIMENSION(alias_axis, "values", {"first", 1}, {"second", 2});
SWEEP_DIMENSION(indices_axis, "indices", {"1", 1}, {"2", 2}, {"3", 3});
SWEEP_DIMENSION(layout_axis, "layout", {"plain", TENSOR_PLAIN}, {"offset", TENSOR_OFFSET},
                {"gaps", TENSOR_GAPS}, {"turned", TENSOR_TURNED}, {"reversed", TENSOR_REVERSED},
                {"backwards", TENSOR_BACKWARDS});
SWEEP_DIMENSION(dtype_axis, "dtype", {"INT64", TBK_INT64}, {"INT32", TBK_INT32});
SWEEP_DIMENSION(how_axis, "how", {"launch", JOB_NULL}, {"stream", JOB_STREAM}, {"plan", JOB_PLAN});

static bool alias_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const int64_t count = sweep_get(one, &indices_axis);
  if (sweep_get(one, &how_axis) == JOB_STREAM && fx->stream == NULL) return false;
  return sweep_get(one, &alias_axis) <= count &&
         (fx->properties.max_rank == 0 || fx->properties.max_rank >= 3);
}

static void run_alias(tbk_fixture_t* fx, sweep_case_t* one) {
  const tensor_layout_t layout = (tensor_layout_t)sweep_get(one, &layout_axis);
  const int64_t count = sweep_get(one, &indices_axis);
  index_form_t form = {.mode = TBK_INDEX_GATHER,
                       .bounds = TBK_BOUNDS_ZERO,
                       .dtype = (int32_t)sweep_get(one, &dtype_axis),
                       .rank = 2,
                       .sizes = {5, 3},
                       .table_rank = 3,
                       .table_sizes = {4, 3, 5},
                       .index_count = (size_t)count,
                       .table = TENSOR_GAPS,
                       .values = layout,
                       .index = layout,
                       .alias = (int)sweep_get(one, &alias_axis),
                       .how = (job_how_t)sweep_get(one, &how_axis)};
  form.index_dtype = form.dtype;
  for (int64_t d = 0; d < form.table_rank; ++d)
    form.places[d] = TBK_INDEX_BY(d % count);
  INDEX_RUN(fx, &job, &form);
}

static const sweep_space_t alias_space = {
    {&alias_axis, &indices_axis, &layout_axis, &dtype_axis, &how_axis}, alias_fits, run_alias, 0};

static void values_may_be_the_index(tbk_fixture_t* fx) {
  sweep_run(fx, &alias_space);
}

/* What an earlier call reported stays, until the host takes it back. */
static void a_report_stays_where_no_index_is_bad(tbk_fixture_t* fx) {
  for (int64_t mode = TBK_INDEX_GATHER; mode <= TBK_INDEX_MAX; ++mode) {
    index_form_t form = plain;
    size_t mark = room_mark(fx);
    const int32_t earlier = 77;
    int32_t seen = 0;
    form.mode = mode;
    index_make(fx, &job, &form);
    memcpy(tensor_at(&job.report, 0), &earlier, sizeof earlier);
    index_ready(fx, &job);
    index_describe(&job);
    CHECK_OK(index_launch(fx, &job, NULL));
    uint8_t* block = fx_zeros(fx, job.report.block_bytes);
    fx_download(fx, block, job.report.memory, job.report.block_bytes);
    memcpy(&seen, block + ((uint8_t*)tensor_at(&job.report, 0) - job.report.model), sizeof seen);
    CHECK_EQUAL(earlier, seen);
    room_release(fx, mark);
  }
}

/* Every index of a table without elements is a bad one. */
static void a_table_without_elements_has_no_place(tbk_fixture_t* fx) {
  for (int64_t mode = TBK_INDEX_GATHER; mode <= TBK_INDEX_MAX; ++mode) {
    index_form_t form = plain;
    size_t mark = room_mark(fx);
    form.mode = mode, form.table_sizes[0] = 0;
    INDEX_RUN(fx, &job, &form);
    room_release(fx, mark);
  }
}

static const tbk_case_t cases[] = {
    TBK_CASE("PRG-021", "op:tbk::index dtype:INT64", 0, indices_of_every_dimension_are_taken),
    TBK_CASE("PRG-027", "op:tbk::index dtype:INT64", 0, a_report_stays_where_no_index_is_bad),
    TBK_CASE("PRG-027", "op:tbk::index dtype:INT64", 0, a_table_without_elements_has_no_place),
    TBK_CASE("PRG-030", "op:tbk::index dtype:INT64 dtype:INT32", 0, what_does_not_fit_is_refused),
    TBK_CASE("PRG-031", "op:tbk::index dtype:INT64", 0, an_index_keeps_its_64_bits),
    TBK_CASE("PRG-031", "op:tbk::index dtype:INT64 dtype:UINT8", TBK_CASE_THOROUGH,
             a_table_beyond_32_bits_is_reached),
    TBK_CASE("PRG-032", "op:tbk::index dtype:INT64 dtype:INT32", 0, values_may_be_the_index),
};
TBK_SUITE(program_index_edge);
