/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether what a backend declares is what it has. The tables are read as they are here: everywhere
 * else one that is not whole counts as absent.
 */
#include "child.h"
#include "room.h"
#include "tables.h"

#include <stdlib.h>
#include <string.h>

#include <tbk/dtypes.h>
#include <tbk/tbk_operators.h>

/* ------------------------------------------------------------------------------------ tables -- */

static void tables_that_need_streams_have_them(tbk_fixture_t* fx) {
  bool streams = TBK_HAS(fx->backend, tbk_backend_t, stream);
  for (size_t i = 0; i < tbk_table_shape_count; i++) {
    const tbk_table_shape_t* shape = &tbk_table_shapes[i];
    bool there = tbk_table_of(fx->backend, shape) != NULL;
    CHECK_SAID(!there || strcmp(shape->needs, "stream") != 0 || streams, "a stream table",
               "a table for %s and none for streams", shape->name);
  }
}

static void tables_have_their_mandatory_entries(tbk_fixture_t* fx) {
  CHECK_EQUAL(TBK_CORE_ENTRIES, tbk_table_first_null(fx->backend->core, TBK_CORE_ENTRIES));
  for (size_t i = 0; i < tbk_table_shape_count; i++) {
    const tbk_table_shape_t* shape = &tbk_table_shapes[i];
    const void* table = tbk_table_of(fx->backend, shape);
    if (table == NULL) continue;
    size_t size = tbk_table_size(table);
    size_t covered = size < sizeof size ? 0 : (size - sizeof size) / sizeof(void (*)(void));
    size_t entries = covered < shape->entry_count ? covered : shape->entry_count;
    size_t null = tbk_table_first_null(table, entries);
    CHECK_SAID(null == shape->entry_count, "every mandatory entry",
               "entry %zu of the table for %s is missing", null, shape->name);
  }
}

static void tables_say_their_size(tbk_fixture_t* fx) {
  CHECK(tbk_table_size_valid(fx->backend->core, TBK_CORE_ENTRIES));
  CHECK(fx->backend->struct_size >= offsetof(tbk_backend_t, stream));
  for (size_t i = 0; i < tbk_table_shape_count; i++) {
    const tbk_table_shape_t* shape = &tbk_table_shapes[i];
    const void* table = tbk_table_of(fx->backend, shape);
    if (table == NULL) continue;
    CHECK_SAID(tbk_table_size_valid(table, shape->entry_count),
               "a size that covers the mandatory entries, below 65536",
               "%zu bytes for the table for %s", tbk_table_size(table), shape->name);
  }
}

static void the_core_works_on_its_own(tbk_fixture_t* fx) {
  const uint64_t size = fx_round(fx, 4096);
  uint8_t* first = fx_bytes(fx, size);
  uint8_t* second = fx_bytes(fx, size);
  tbk_memory_t a = fx_alloc_with(fx, first, size);
  tbk_memory_t b = fx_alloc_with(fx, second, size);
  FX_CHECK_MEMORY(fx, first, a, size);
  FX_CHECK_MEMORY(fx, second, b, size);
  CHECK_OK(fx->core->copy(fx->self, fx->device, b, 0, a, 0, size, NULL, &fx->error));
  FX_CHECK_MEMORY(fx, first, b, size);
}

/* ----------------------------------------------------------------------------------- dtypes ---- */

enum { ELEMENTS = 16, ELEMENT_BYTES_MAX = 16 };

/* Of one that is not known: anything that fits. */
static uint64_t element_bytes(int32_t dtype) {
  const int64_t known = tbk_dtype_bytes(dtype);
  return known != 0 ? (uint64_t)known : 4;
}

static tbk_status_t copy_between(tbk_fixture_t* fx, const tbk_tensor_t* out,
                                 const tbk_tensor_t* in) {
  const tbk_kernel_t* kernel =
      fx->kernel->kernel_find(fx->self, fx->device, TBK_NAME_copy_, TBK_VERSION_copy_);
  REQUIRE(kernel != NULL);
  tbk_args_copy__t arguments = {.struct_size = sizeof arguments, .self = out, .src = in};
  return kernel->launch(fx->self, fx->device, kernel, &arguments, NULL, &fx->error);
}

/* Bytes that are plain numbers in every dtype: no NaN, no denormal, and a legal bool. */
static uint8_t* plain_bytes(tbk_fixture_t* fx, int32_t dtype, size_t size) {
  uint8_t* bytes = fx_bytes(fx, size);
  for (size_t i = 0; i < size; i++) {
    bytes[i] = dtype == TBK_BOOL ? bytes[i] & 1 : (uint8_t)(0x38 | (bytes[i] & 3));
  }
  return bytes;
}

static void every_declared_dtype_is_copied(tbk_fixture_t* fx) {
  static const int64_t sizes[] = {ELEMENTS}, strides[] = {1};
  for (int32_t dtype = 0; dtype < TBK_DTYPE_LIMIT; dtype++) {
    if (!fx_has_dtype(fx, dtype)) continue;
    uint64_t size = fx_round(fx, ELEMENTS * element_bytes(dtype));
    uint8_t* sent = plain_bytes(fx, dtype, size);
    tbk_tensor_t in = {sizeof in, fx_alloc_with(fx, sent, size), size, 0, dtype, 1, sizes, strides};
    tbk_tensor_t out = in;
    uint8_t* before = plain_bytes(fx, dtype, size);
    out.memory = fx_alloc_with(fx, before, size);
    tbk_status_t status = copy_between(fx, &out, &in);
    CHECK_SAID(status == TBK_OK, "OK of each declared dtype", "%s of dtype %d",
               tbk_status_name(status), (int)dtype);
    memcpy(before, sent, ELEMENTS * element_bytes(dtype));
    if (status == TBK_OK) FX_CHECK_MEMORY(fx, before, out.memory, size);
    room_release(fx, 0);
  }
  CHECK_SAID(fx->properties.dtypes != 0, "a dtype that copy_ can be used with", "none is declared");
}

static void expect_dtype_refused(tbk_fixture_t* fx, int32_t out_dtype, int32_t in_dtype) {
  static const int64_t sizes[] = {ELEMENTS}, strides[] = {1};
  const uint64_t size = fx_round(fx, ELEMENTS * ELEMENT_BYTES_MAX);
  uint8_t* before = fx_bytes(fx, size);
  tbk_memory_t source = fx_alloc_with(fx, fx_zeros(fx, size), size);
  tbk_memory_t target = fx_alloc_with(fx, before, size);
  tbk_tensor_t in = {sizeof in, source, size, 0, in_dtype, 1, sizes, strides};
  tbk_tensor_t out = {sizeof out, target, size, 0, out_dtype, 1, sizes, strides};
  tbk_status_t status = copy_between(fx, &out, &in);
  CHECK_SAID(status == TBK_UNSUPPORTED, "UNSUPPORTED for a dtype that is not declared",
             "%s from dtype %d to dtype %d", tbk_status_name(status), (int)in_dtype,
             (int)out_dtype);
  FX_CHECK_MEMORY(fx, before, target, size);
  room_release(fx, 0);
}

static void a_dtype_that_is_not_declared_is_refused(tbk_fixture_t* fx) {
  for (int32_t dtype = 0; dtype < TBK_DTYPE_LIMIT; dtype++) {
    if (!fx_has_dtype(fx, dtype)) expect_dtype_refused(fx, dtype, dtype);
  }
}

static void a_dtype_that_is_not_declared_is_refused_on_either_side(tbk_fixture_t* fx) {
  int32_t known = 0;
  while (known < TBK_DTYPE_LIMIT && !fx_has_dtype(fx, known))
    known++;
  for (int32_t dtype = 0; known < TBK_DTYPE_LIMIT && dtype < TBK_DTYPE_LIMIT; dtype++) {
    if (fx_has_dtype(fx, dtype)) continue;
    expect_dtype_refused(fx, known, dtype);
    expect_dtype_refused(fx, dtype, known);
  }
  CHECK(known < TBK_DTYPE_LIMIT);
}

/* ------------------------------------------------------------------------------------- rank ---- */

enum { RANK_LIMIT = 4096 };

static int32_t some_dtype(const tbk_fixture_t* fx) {
  int32_t dtype = 0;
  while (dtype < TBK_DTYPE_LIMIT && !fx_has_dtype(fx, dtype))
    dtype++;
  return dtype;
}

/* Rank `rank`, sizes 2, 1, 1 ... 1, 3: six elements in a row. */
static void expect_rank(tbk_fixture_t* fx, int32_t rank, bool must_work) {
  static int64_t sizes[RANK_LIMIT], strides[RANK_LIMIT];
  int32_t dtype = some_dtype(fx);
  REQUIRE(dtype < TBK_DTYPE_LIMIT);
  for (int32_t i = 0; i < rank; i++)
    sizes[i] = strides[i] = 1;
  sizes[0] = 2;
  sizes[rank - 1] = rank > 1 ? 3 : 6;
  for (int32_t i = rank - 1; i-- > 0;)
    strides[i] = strides[i + 1] * sizes[i + 1];
  uint64_t used = 6 * element_bytes(dtype), size = fx_round(fx, used);
  uint8_t* sent = plain_bytes(fx, dtype, size);
  uint8_t* before = plain_bytes(fx, dtype, size);
  tbk_tensor_t in = {sizeof in, fx_alloc_with(fx, sent, size), size, 0, dtype, rank, sizes,
                     strides};
  tbk_tensor_t out = in;
  out.memory = fx_alloc_with(fx, before, size);
  tbk_status_t status = copy_between(fx, &out, &in);
  CHECK_SAID(status == TBK_OK || (!must_work && status == TBK_UNSUPPORTED),
             must_work ? "OK up to max_rank" : "UNSUPPORTED, or OK", "%s for rank %d",
             tbk_status_name(status), (int)rank);
  if (status == TBK_OK) memcpy(before, sent, used);
  FX_CHECK_MEMORY(fx, before, out.memory, size);
  room_release(fx, 0);
}

static void a_rank_above_the_declared_one_is_refused_or_right(tbk_fixture_t* fx) {
  int32_t most = fx->properties.max_rank;
  CHECK(most >= 1);
  for (int32_t rank = most + 1; most < RANK_LIMIT - 4 && rank <= most + 4; rank++) {
    expect_rank(fx, rank, false);
  }
  if (most >= RANK_LIMIT - 4) fx_note(fx, "max_rank is beyond any rank that can be tried");
}

static void every_rank_up_to_the_declared_one_is_right(tbk_fixture_t* fx) {
  int32_t most = fx->properties.max_rank;
  CHECK(most >= 1);
  for (int32_t rank = 1; rank <= most && rank <= 64; rank++)
    expect_rank(fx, rank, true);
}

static const tbk_case_t cases[] = {
    TBK_CASE("CAP-001", NULL, TBK_CASE_CLOSED, tables_that_need_streams_have_them),
    TBK_CASE("CAP-002", NULL, TBK_CASE_CLOSED, tables_have_their_mandatory_entries),
    TBK_CASE("CAP-004", "op:copy_", 0, every_declared_dtype_is_copied),
    TBK_CASE("CAP-005", "op:copy_", 0, a_dtype_that_is_not_declared_is_refused),
    TBK_CASE("CAP-005", "op:copy_", 0, a_dtype_that_is_not_declared_is_refused_on_either_side),
    TBK_CASE("CAP-006", "op:copy_", 0, a_rank_above_the_declared_one_is_refused_or_right),
    TBK_CASE("CAP-006", "op:copy_", 0, every_rank_up_to_the_declared_one_is_right),
    TBK_CASE("CAP-007", "!stream", 0, the_core_works_on_its_own),
    TBK_CASE("CAP-008", NULL, TBK_CASE_CLOSED, tables_say_their_size),
};
TBK_SUITE(capability);
