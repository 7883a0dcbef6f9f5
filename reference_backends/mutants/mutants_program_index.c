/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_program_index.c: tbk::index with a fault: other operands, or another mode, than those that the
 * reference was given.
 */
#include <string.h>
#include <tbk/program.h>

#include "calls.h"

enum { RANK = TBK_PROGRAM_MOST_RANK };

/* The arguments once more, to be changed: views have sizes and strides of their own. */
typedef struct copy {
  tbk_args_index_t arguments;
  tbk_tensor_t table, values, indices[RANK];
  const tbk_tensor_t* list[RANK];
  int64_t sizes[RANK + 2][RANK], strides[RANK + 2][RANK], places[RANK];
} copy_t;

static void copy_view(copy_t* to, tbk_tensor_t* view, const tbk_tensor_t* old, size_t at) {
  *view = *old;
  memcpy(to->sizes[at], old->sizes, (size_t)old->rank * sizeof(int64_t));
  memcpy(to->strides[at], old->strides, (size_t)old->rank * sizeof(int64_t));
  view->sizes = to->sizes[at];
  view->strides = to->strides[at];
}

/* Returns a copy that is the thread's; NULL where they are malformed, which is left to the reference. */
static copy_t* copy_of(const void* arguments) {
  static _Thread_local copy_t copy;
  const tbk_args_index_t* a = arguments;
  if (a->struct_size < sizeof *a || tbk_index_check(a, NULL) != TBK_OK) return NULL;
  copy.arguments = *a;
  copy_view(&copy, &copy.table, a->table, 0);
  copy_view(&copy, &copy.values, a->values, 1);
  for (size_t k = 0; k < a->index_count; k++) {
    copy_view(&copy, &copy.indices[k], a->indices[k], 2 + k);
    copy.list[k] = &copy.indices[k];
  }
  if (a->places != NULL) memcpy(copy.places, a->places, (size_t)a->table->rank * sizeof(int64_t));
  copy.arguments.table = &copy.table;
  copy.arguments.values = &copy.values;
  if (a->index_count > 0) copy.arguments.indices = copy.list;
  if (a->places != NULL) copy.arguments.places = copy.places;
  return &copy;
}

/* Runs the reference on a copy `c`, once this is done to it. */
#define LAUNCH_CHANGED(change)          \
  do {                                  \
    copy_t* c = copy_of(arguments);     \
    if (c == NULL) return LAUNCH_INNER; \
    change;                             \
    arguments = &c->arguments;          \
    return LAUNCH_INNER;                \
  } while (0)

static int64_t places_of(const copy_t* c) {
  int64_t count = 1;
  for (int32_t d = 0; d < c->values.rank; d++)
    count *= c->values.sizes[d];
  return count;
}

static bool is_real(const copy_t* c) {
  const int32_t dtype = c->table.dtype;
  return dtype == TBK_FLOAT16 || dtype == TBK_BFLOAT16 || dtype == TBK_FLOAT32 ||
         dtype == TBK_FLOAT64;
}

/* ------------------------------------------------------------------------------- what is moved -- */

/* The last place in the last dimension is not there. */
static void forget_last(copy_t* c) {
  const int32_t last = c->values.rank - 1;
  if (last < 0 || c->values.sizes[last] == 0) return;
  for (size_t at = 1; at < 2 + c->arguments.index_count; at++)
    c->sizes[at][last]--;
}
LAUNCH(last_place_is_not_written) {
  LAUNCH_CHANGED(if (c->arguments.mode == TBK_INDEX_WRITE) forget_last(c));
}
LAUNCH(last_of_hundreds_is_not_counted) {
  LAUNCH_CHANGED(if (c->arguments.mode > TBK_INDEX_WRITE && places_of(c) >= 700) forget_last(c));
}
LAUNCH(place_behind_a_block_is_not_counted) {
  LAUNCH_CHANGED(if (c->arguments.mode > TBK_INDEX_WRITE && places_of(c) > 1 &&
                     places_of(c) % 16384 == 1) forget_last(c));
}
LAUNCH(last_real_number_is_not_added) {
  LAUNCH_CHANGED(if (c->arguments.mode == TBK_INDEX_ADD && is_real(c)) forget_last(c));
}

/* The last element of each dimension that an index finds is taken for one outside. */
static void shorten_table(copy_t* c) {
  for (int32_t d = 0; c->arguments.places != NULL && d < c->table.rank; d++)
    if (c->places[d] < 0 && c->sizes[0][d] > 0) c->sizes[0][d]--;
}
LAUNCH(last_element_is_outside) {
  LAUNCH_CHANGED(if (c->arguments.mode == TBK_INDEX_GATHER) shorten_table(c));
}
LAUNCH(last_element_is_not_written) {
  LAUNCH_CHANGED(if (c->arguments.mode == TBK_INDEX_WRITE) shorten_table(c));
}
LAUNCH(second_index_is_the_first) {
  LAUNCH_CHANGED(if (c->arguments.index_count > 1) c->list[1] = c->list[0]);
}
LAUNCH(accumulation_is_a_write) {
  LAUNCH_CHANGED(if (c->arguments.mode > TBK_INDEX_WRITE) c->arguments.mode = TBK_INDEX_WRITE);
}
/* Keeps the first of places that share every index, as if to load them once were to count them once. */
static void keep_first_row(copy_t* c) {
  if (c->arguments.mode != TBK_INDEX_MUL || c->values.rank < 2 || c->sizes[1][0] < 2 ||
      c->arguments.index_count == 0)
    return;
  for (size_t k = 0; k < c->arguments.index_count; k++)
    if (c->strides[2 + k][0] != 0) return;
  for (int32_t d = 0; c->arguments.places != NULL && d < c->table.rank; d++)
    if (c->places[d] == TBK_INDEX_ALONG(0)) return;
  for (size_t at = 1; at < 2 + c->arguments.index_count; at++)
    c->sizes[at][0] = 1;
}
LAUNCH(columns_of_one_index_are_multiplied_once) {
  LAUNCH_CHANGED(keep_first_row(c));
}
/* Expands the second index where the first one is, as if the layout of one were that of all. */
LAUNCH(expanded_first_index_expands_the_second) {
  LAUNCH_CHANGED(if (c->arguments.mode == TBK_INDEX_ADD && c->arguments.index_count == 2) {
    for (int32_t d = 0; d < c->values.rank; d++)
      if (c->strides[2][d] == 0) c->strides[3][d] = 0;
  });
}
LAUNCH(least_is_greatest_of_reals) {
  LAUNCH_CHANGED(if (c->arguments.mode == TBK_INDEX_MIN && is_real(c)) c->arguments.mode =
                     TBK_INDEX_MAX);
}

/* Dimensions that the table does not go along with are counted backwards, so that the first comes last. */
static void turn_round(copy_t* c) {
  for (int32_t d = 0; d < c->values.rank; d++) {
    bool free_of_table = true;
    for (int32_t t = 0; c->arguments.places != NULL && t < c->table.rank; t++)
      free_of_table = free_of_table && c->places[t] != d;
    for (size_t at = 1; free_of_table && at < 2 + c->arguments.index_count; at++) {
      tbk_tensor_t* view = at == 1 ? &c->values : &c->indices[at - 2];
      view->offset += (view->sizes[d] > 0 ? view->sizes[d] - 1 : 0) * c->strides[at][d];
      c->strides[at][d] = -c->strides[at][d];
    }
  }
}
LAUNCH(first_of_the_ordered_is_kept) {
  LAUNCH_CHANGED(if ((c->arguments.flags & TBK_INDEX_ORDERED) != 0) turn_round(c));
}
LAUNCH(ordered_sums_are_turned_round) {
  LAUNCH_CHANGED(if ((c->arguments.flags & TBK_INDEX_ORDERED) != 0 &&
                     c->arguments.mode == TBK_INDEX_ADD) turn_round(c));
}

/* ------------------------------------------------------------------------------- what is found -- */

LAUNCH(negative_indices_are_bad) {
  LAUNCH_CHANGED(c->arguments.flags &= ~(uint64_t)TBK_INDEX_NEGATIVE);
}
LAUNCH(negative_indices_of_32_bits_are_bad) {
  LAUNCH_CHANGED(if (c->arguments.index_count > 0 && c->indices[0].dtype == TBK_INT32)
                     c->arguments.flags &= ~(uint64_t)TBK_INDEX_NEGATIVE);
}
LAUNCH(bad_indices_are_not_reported) {
  LAUNCH_CHANGED(c->arguments.report = NULL);
}
LAUNCH(negative_indices_are_never_bad) {
  LAUNCH_CHANGED(c->arguments.flags |= TBK_INDEX_NEGATIVE);
}
LAUNCH(index_behind_the_last_is_taken) {
  LAUNCH_CHANGED(if (c->arguments.places != NULL && c->table.rank == 1 && c->places[0] < 0)
                     c->sizes[0][0]++);
}

/* The low half of each index, as it lies in memory. */
static void halve_indices(copy_t* c) {
  for (size_t k = 0; k < c->arguments.index_count; k++) {
    tbk_tensor_t* view = &c->indices[k];
    if (view->dtype != TBK_INT64) continue;
    view->dtype = TBK_INT32;
    view->offset *= 2;
    for (int32_t d = 0; d < view->rank; d++)
      c->strides[2 + k][d] *= 2;
  }
}
LAUNCH(indices_keep_32_bits) {
  LAUNCH_CHANGED(halve_indices(c));
}
LAUNCH(offsets_keep_31_bits) {
  LAUNCH_CHANGED(for (int32_t d = 0; d < c->table.rank; d++) if (c->strides[0][d] > INT32_MAX)
                     c->strides[0][d] &= INT32_MAX);
}

/* As if the table lay in memory as it counts. */
static void flatten(copy_t* c) {
  static const int64_t places[1] = {TBK_INDEX_BY(0)};
  int64_t count = 1;
  if ((c->arguments.flags & TBK_INDEX_FLAT) == 0) return;
  for (int32_t d = 0; d < c->table.rank; d++)
    count *= c->sizes[0][d];
  c->arguments.flags &= ~(uint64_t)TBK_INDEX_FLAT;
  c->arguments.places = places;
  c->table.rank = 1;
  c->sizes[0][0] = count;
  c->strides[0][0] = 1;
}
LAUNCH(flat_tables_are_contiguous) {
  LAUNCH_CHANGED(flatten(c));
}

/* ------------------------------------------------------------------------------------- refusal -- */

LAUNCH(many_indices_are_refused) {
  const copy_t* c = copy_of(arguments);
  if (c != NULL && c->arguments.index_count > 4)
    return wrap_fail(error, TBK_UNSUPPORTED, "more than 4 indices");
  return LAUNCH_INNER;
}
LAUNCH(index_as_values_is_refused) {
  const copy_t* c = copy_of(arguments);
  if (c != NULL && c->arguments.index_count > 0 && c->values.memory == c->indices[0].memory)
    return wrap_fail(error, TBK_INVALID, "values are an index");
  return LAUNCH_INNER;
}
LAUNCH(malformed_calls_are_accepted) {
  return copy_of(arguments) == NULL ? TBK_OK : LAUNCH_INNER;
}
LAUNCH(malformed_calls_are_unsupported) {
  if (copy_of(arguments) == NULL) return wrap_fail(error, TBK_UNSUPPORTED, "malformed");
  return LAUNCH_INNER;
}

/* ------------------------------------------------------------------------------------- reports -- */

/* Waits, and names the first index where any is named. */
static void name_the_first(tbk_instance_t* self, int32_t device, const tbk_tensor_t* report,
                           tbk_stream_t* stream) {
  const tbk_core_t* core = INNER(self, core);
  const uint64_t offset = (uint64_t)report->offset * sizeof(int32_t);
  const int32_t first = 1;
  int32_t named = 0;
  if (stream != NULL) ignore(INNER(self, stream)->stream_synchronize(self, stream, NULL));
  ignore(core->download(self, device, &named, report->memory, offset, sizeof named, NULL, NULL));
  if (named > first)
    ignore(core->upload(self, device, report->memory, offset, &first, sizeof first, NULL, NULL));
}
LAUNCH(reports_name_the_first_index) {
  const tbk_args_index_t* a = arguments;
  const tbk_status_t status = LAUNCH_INNER;
  if (status == TBK_OK && a->report != NULL) name_the_first(self, device, a->report, stream);
  return status;
}

#define INDEX_ROW(function, clause, operation, narrow, note) \
  KERNEL_ROW(function, clause, operation, narrow, TBK_NAME_index, launch, note)

const mutant_t mutants_program_index[] = {
    INDEX_ROW(many_indices_are_refused, "PRG-021", RETURN, NARROW, "more than 4"),
    INDEX_ROW(last_element_is_outside, "PRG-022", VALUE, BROAD, "off by one at the bound: gives 0"),
    INDEX_ROW(second_index_is_the_first, "PRG-022", VALUE, NARROW, "of several"),
    INDEX_ROW(last_place_is_not_written, "PRG-023", EXTENT, BROAD, "one too few"),
    INDEX_ROW(last_element_is_not_written, "PRG-023", EXTENT, NARROW, "off by one at the bound"),
    INDEX_ROW(accumulation_is_a_write, "PRG-024", VALUE, BROAD, "the others are lost"),
    INDEX_ROW(last_of_hundreds_is_not_counted, "PRG-024", EXTENT, NARROW, "from 700 on"),
    INDEX_ROW(place_behind_a_block_is_not_counted, "PRG-024", EXTENT, NARROW, "of n * 16384 + 1"),
    INDEX_ROW(columns_of_one_index_are_multiplied_once, "PRG-024", EXTENT, NARROW,
              "with indices that are expanded in the first dimension"),
    INDEX_ROW(expanded_first_index_expands_the_second, "PRG-024", VALUE, NARROW, "of sums"),
    INDEX_ROW(least_is_greatest_of_reals, "PRG-024", VALUE, NARROW, "of real numbers"),
    INDEX_ROW(last_real_number_is_not_added, "PRG-025", VALUE, NARROW, "a sum is one short"),
    INDEX_ROW(negative_indices_are_bad, "PRG-026", VALUE, BROAD, "the flag is not looked at"),
    INDEX_ROW(negative_indices_of_32_bits_are_bad, "PRG-026", VALUE, NARROW, "in INT32"),
    INDEX_ROW(bad_indices_are_not_reported, "PRG-027", VALUE, BROAD, "the report stays"),
    INDEX_ROW(reports_name_the_first_index, "PRG-027", VALUE, NARROW, "of several"),
    INDEX_ROW(negative_indices_are_never_bad, "PRG-027", VALUE, NARROW, "without the flag too"),
    INDEX_ROW(index_behind_the_last_is_taken, "PRG-027", EXTENT, NARROW,
              "what lies behind the table is read and written"),
    INDEX_ROW(first_of_the_ordered_is_kept, "PRG-028", ORDER, BROAD, "the space is turned round"),
    INDEX_ROW(ordered_sums_are_turned_round, "PRG-028", ORDER, NARROW, "only sums are"),
    INDEX_ROW(flat_tables_are_contiguous, "PRG-029", VALUE, NARROW, "strides are not looked at"),
    INDEX_ROW(malformed_calls_are_accepted, "PRG-030", RETURN, BROAD, "and do nothing"),
    INDEX_ROW(malformed_calls_are_unsupported, "PRG-030", RETURN, BROAD, "another's answer"),
    INDEX_ROW(indices_keep_32_bits, "PRG-031", VALUE, BROAD, "the low half is looked at"),
    FAR_KERNEL_ROW(offsets_keep_31_bits, "PRG-031", TBK_NAME_index, "tables beyond 2^31 elements"),
    INDEX_ROW(index_as_values_is_refused, "PRG-032", RETURN, BROAD, "as if it overlapped"),
    {0},
};
