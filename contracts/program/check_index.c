/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * check_index.c: whether the arguments of tbk::index fit each other.
 */
#include "opcode.h"
#include "tensors.h"

enum {
  KNOWN_FLAGS = TBK_INDEX_NEGATIVE | TBK_INDEX_ORDERED | TBK_INDEX_FLAT,
};

static bool has(const tbk_args_index_t* a, uint64_t flag) {
  return (a->flags & flag) != 0;
}

static tbk_status_t check_words(const tbk_args_index_t* a, tbk_error_t* error) {
  if (a->mode < TBK_INDEX_GATHER || a->mode > TBK_INDEX_MAX)
    return program_fail(error, "mode is %lld", (long long)a->mode);
  if ((a->flags & ~(uint64_t)KNOWN_FLAGS) != 0)
    return program_fail(error, "flags are 0x%llx", (unsigned long long)a->flags);
  if (a->bounds != TBK_BOUNDS_TRUSTED && a->bounds != TBK_BOUNDS_ZERO)
    return program_fail(error, "bounds is %lld", (long long)a->bounds);
  if (a->index_bits != 32 && a->index_bits != 64)
    return program_fail(error, "index_bits is %lld", (long long)a->index_bits);
  if (a->index_count > TBK_PROGRAM_MOST_RANK || (a->index_count > 0 && a->indices == NULL))
    return program_fail(error, "%zu indices%s", a->index_count,
                        a->indices == NULL ? " at NULL" : "");
  if (has(a, TBK_INDEX_FLAT) && a->index_count != 1)
    return program_fail(error, "%zu indices of a flat table", a->index_count);
  return TBK_OK;
}

static tbk_status_t check_tensor(const tbk_args_index_t* a, const tbk_tensor_t* tensor,
                                 uint32_t dtype, bool is_written, const place_t* at) {
  tbk_status_t status = program_check_shape(at, tensor, dtype);
  if (status == TBK_OK) status = program_check_extent(at, tensor, a->index_bits);
  return status == TBK_OK && is_written ? program_check_written(at, tensor) : status;
}

static tbk_status_t check_both(const tbk_args_index_t* a, space_t* out_space, tbk_error_t* error) {
  const place_t table = {PROGRAM_ONE, "table", PROGRAM_ONE, error};
  const place_t values = {PROGRAM_ONE, "values", PROGRAM_ONE, error};
  const bool gathers = a->mode == TBK_INDEX_GATHER;
  if (a->table == NULL || a->table->struct_size < sizeof *a->table)
    return WRONG(&table, "it is not there");
  if (!program_dtype_in((uint32_t)a->table->dtype, PROGRAM_ANY))
    return WRONG(&table, "dtype %d", a->table->dtype);
  const uint32_t dtype = (uint32_t)a->table->dtype;
  tbk_status_t status = check_tensor(a, a->table, dtype, !gathers, &table);
  if (status == TBK_OK) status = check_tensor(a, a->values, dtype, gathers, &values);
  if (status != TBK_OK) return status;
  out_space->rank = a->values->rank;
  for (int32_t d = 0; d < out_space->rank; ++d)
    out_space->sizes[d] = a->values->sizes[d];
  return TBK_OK;
}

static tbk_status_t check_indices(const tbk_args_index_t* a, const space_t* space,
                                  tbk_error_t* error) {
  for (size_t k = 0; k < a->index_count; ++k) {
    const place_t at = {PROGRAM_ONE, "index", k, error};
    const tbk_tensor_t* index = a->indices[k];
    uint32_t dtype =
        index != NULL && index->struct_size >= sizeof *index && index->dtype == TBK_INT32
            ? TBK_INT32
            : TBK_INT64;
    tbk_status_t status = check_tensor(a, index, dtype, false, &at);
    if (status == TBK_OK) status = program_check_sizes(&at, index, space);
    if (status != TBK_OK) return status;
  }
  return TBK_OK;
}

/* A dimension of the table that no index finds holds the whole dimension of the space. */
static tbk_status_t check_dimension(const tbk_args_index_t* a, const space_t* space, size_t d,
                                    uint32_t* named, tbk_error_t* error) {
  const place_t at = {PROGRAM_ONE, "place", d, error};
  const int64_t place = a->places[d];
  if (place < 0) {
    if (place < TBK_INDEX_BY((int64_t)a->index_count - 1))
      return WRONG(&at, "index %lld of %zu", (long long)(-1 - place), a->index_count);
    *named |= 1u << (-1 - place);
    return TBK_OK;
  }
  if (place >= space->rank)
    return WRONG(&at, "dimension %lld of a space of %d", (long long)place, space->rank);
  if (space->sizes[place] > a->table->sizes[d])
    return WRONG(&at, "size %lld of the space in a dimension of %lld",
                 (long long)space->sizes[place], (long long)a->table->sizes[d]);
  return TBK_OK;
}

static tbk_status_t check_places(const tbk_args_index_t* a, const space_t* space,
                                 tbk_error_t* error) {
  const size_t rank = (size_t)a->table->rank;
  uint32_t named = 0;
  if (has(a, TBK_INDEX_FLAT)) return TBK_OK;
  if (rank > 0 && a->places == NULL) return program_fail(error, "places at NULL");
  for (size_t d = 0; d < rank; ++d) {
    tbk_status_t status = check_dimension(a, space, d, &named, error);
    if (status != TBK_OK) return status;
  }
  for (size_t k = 0; k < a->index_count; ++k)
    if ((named >> k & 1) == 0)
      return program_fail(error, "index %zu finds no dimension of the table", k);
  return TBK_OK;
}

static tbk_status_t check_report(const tbk_args_index_t* a, tbk_error_t* error) {
  const place_t at = {PROGRAM_ONE, "report", PROGRAM_ONE, error};
  if (a->report == NULL) return TBK_OK;
  if (a->bounds == TBK_BOUNDS_TRUSTED) return WRONG(&at, "indices are trusted");
  tbk_status_t status = check_tensor(a, a->report, TBK_INT32, true, &at);
  if (status == TBK_OK && a->report->rank != 0) return WRONG(&at, "rank %d", a->report->rank);
  return status;
}

tbk_status_t tbk_index_check(const tbk_args_index_t* a, tbk_error_t* error) {
  space_t space = {{0}, 0};
  if (a == NULL || a->struct_size < sizeof *a) return program_fail(error, "no arguments");
  tbk_status_t status = check_words(a, error);
  if (status == TBK_OK) status = check_both(a, &space, error);
  if (status == TBK_OK) status = check_indices(a, &space, error);
  if (status == TBK_OK) status = check_places(a, &space, error);
  return status == TBK_OK ? check_report(a, error) : status;
}
