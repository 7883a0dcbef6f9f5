/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * index_walk.c: tbk::index, row by row in the order of the space, so that a call is always an ordered one. The
 * last dimension is a row. Where no index changes in it, the element of the table is found once for all.
 */
#include "index.h"

/* Where the row is: the first element of each, and how far the next is. */
typedef struct row {
  const cpu_index_t* one;
  int64_t length;
  char* values;
  const char* indices[CPU_MAX_RANK];
  int64_t values_step, indices_step[CPU_MAX_RANK];
  int64_t along;      /* bytes in the table that the row's place makes, without indices */
  int64_t along_step; /* that its last dimension makes, for each place */
} row_t;

static void report(const cpu_index_t* one, size_t index) {
  if (one->report.data) cpu_store_word(one->report.data, index + 1, 4);
}

/* Returns the index at a place of the row, counted from the beginning; -1 where it is a bad one. */
static int64_t index_at(const row_t* row, size_t k, int64_t at, int64_t size) {
  const cpu_index_t* one = row->one;
  const char* from = row->indices[k] + at * row->indices_step[k];
  int64_t index = one->indices[k].element_bytes == 4 ? (int32_t)cpu_load_word(from, 4)
                                                     : (int64_t)cpu_load_word(from, 8);
  if (index < 0 && one->negative) index += size;
  if (index >= 0 && index < size) return index;
  report(one, k);
  return -1;
}

/* A position in the whole table, as an offset in bytes. */
static bool find_flat(const row_t* row, int64_t at, int64_t* out_bytes) {
  const cpu_view_t* table = &row->one->table;
  int64_t position = index_at(row, 0, at, table->count);
  if (position < 0) return false;
  *out_bytes = 0;
  for (int32_t d = table->rank - 1; d >= 0; d--) {
    *out_bytes += position % table->sizes[d] * table->strides[d];
    position /= table->sizes[d];
  }
  return true;
}

/* What the indices make of the offset in bytes; false where one of them is bad. */
static bool find(const row_t* row, int64_t at, int64_t* out_bytes) {
  const cpu_index_t* one = row->one;
  if (one->flat) return find_flat(row, at, out_bytes);
  *out_bytes = 0;
  for (int32_t d = 0; d < one->table.rank; d++) {
    if (one->places[d] >= 0) continue;
    int64_t index = index_at(row, (size_t)(-1 - one->places[d]), at, one->table.sizes[d]);
    if (index < 0) return false;
    *out_bytes += index * one->table.strides[d];
  }
  return true;
}

static void move(const cpu_index_t* one, char* table, char* values) {
  const int64_t size = one->values.element_bytes;
  switch (one->mode) {
    case TBK_INDEX_GATHER:
      cpu_store_word(values, table ? cpu_load_word(table, size) : 0, size);
      break;
    case TBK_INDEX_WRITE:
      cpu_store_word(table, cpu_load_word(values, size), size);
      break;
    default:
      cpu_index_merge(one->mode, one->table.dtype, table, values);
  }
}

/* Where the index is the same in a whole row, that of the table is moved at once. */
static void move_row(const row_t* row, int64_t bytes) {
  const cpu_index_t* one = row->one;
  const int64_t size = one->values.element_bytes;
  char* table = one->table.data + row->along + bytes;
  if (one->mode == TBK_INDEX_GATHER)
    cpu_row_copy(row->values, row->values_step, table, row->along_step, row->length, size);
  else
    cpu_row_copy(table, row->along_step, row->values, row->values_step, row->length, size);
}

static bool is_moved(const cpu_index_t* one) {
  return (one->mode == TBK_INDEX_GATHER || one->mode == TBK_INDEX_WRITE) &&
         cpu_is_word(one->values.element_bytes);
}

static void compute_row(const row_t* row) {
  const cpu_index_t* one = row->one;
  bool changes = false, found = false;
  int64_t bytes = 0;
  for (size_t k = 0; k < one->index_count; k++)
    changes = changes || row->indices_step[k] != 0;
  if (!changes && row->length > 0 && is_moved(one) && find(row, 0, &bytes)) {
    move_row(row, bytes);
    return;
  }
  for (int64_t at = 0; at < row->length; at++) {
    if (at == 0 || changes) found = find(row, at, &bytes);
    char* values = row->values + at * row->values_step;
    if (found)
      move(one, one->table.data + row->along + at * row->along_step + bytes, values);
    else if (one->mode == TBK_INDEX_GATHER)
      move(one, NULL, values);
  }
}

/* What the dimensions of the table that go along with the space make of a place. */
static void find_along(const cpu_index_t* one, const int64_t* place, row_t* row) {
  const int32_t last = one->values.rank - 1;
  row->along = row->along_step = 0;
  for (int32_t d = 0; !one->flat && d < one->table.rank; d++) {
    const int64_t dimension = one->places[d];
    if (dimension < 0) continue;
    row->along += place[dimension] * one->table.strides[d];
    if (dimension == last) row->along_step += one->table.strides[d];
  }
}

static int64_t offset_of(const cpu_view_t* view, const int64_t* place) {
  int64_t bytes = 0;
  for (int32_t d = 0; d < view->rank; d++)
    bytes += place[d] * view->strides[d];
  return bytes;
}

void cpu_index_compute(const cpu_index_t* one) {
  const cpu_view_t* space = &one->values;
  const int32_t last = space->rank - 1;
  int64_t place[CPU_MAX_RANK] = {0};
  row_t row = {.one = one, .length = last < 0 ? 1 : space->sizes[last]};
  if (space->count == 0) return;
  row.values_step = last < 0 ? 0 : space->strides[last];
  for (size_t k = 0; k < one->index_count; k++)
    row.indices_step[k] = last < 0 ? 0 : one->indices[k].strides[last];
  do {
    row.values = space->data + offset_of(space, place);
    for (size_t k = 0; k < one->index_count; k++)
      row.indices[k] = one->indices[k].data + offset_of(&one->indices[k], place);
    find_along(one, place, &row);
    compute_row(&row);
  } while (last > 0 && cpu_next_index(place, space->sizes, last));
}
