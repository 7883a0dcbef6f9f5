/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_program_sort.c: tbk::sort with a fault: other operands, or other flags, than those that the
 * reference was given.
 */
#include <string.h>
#include <tbk/program.h>

#include "calls.h"

enum { RANK = TBK_PROGRAM_MOST_RANK, INPUT = 0, VALUES, INDICES, VIEWS };

/* The arguments once more, to be changed: views have sizes and strides of their own. */
typedef struct copy {
  tbk_args_sort_t arguments;
  tbk_tensor_t views[VIEWS];
  int64_t sizes[VIEWS][RANK], strides[VIEWS][RANK];
  int32_t last; /* the dimension that is sorted */
  int64_t length, kept;
} copy_t;

static const tbk_tensor_t* copy_view(copy_t* to, const tbk_tensor_t* old, int which) {
  if (old == NULL) return NULL;
  to->views[which] = *old;
  memcpy(to->sizes[which], old->sizes, (size_t)old->rank * sizeof(int64_t));
  memcpy(to->strides[which], old->strides, (size_t)old->rank * sizeof(int64_t));
  to->views[which].sizes = to->sizes[which];
  to->views[which].strides = to->strides[which];
  return &to->views[which];
}

/* Returns a copy that is the thread's; NULL where they are malformed, which is left to the reference. */
static copy_t* copy_of(const void* arguments) {
  static _Thread_local copy_t copy;
  const tbk_args_sort_t* a = arguments;
  if (a->struct_size < sizeof *a || tbk_sort_check(a, NULL) != TBK_OK) return NULL;
  copy.arguments = *a;
  copy.arguments.input = copy_view(&copy, a->input, INPUT);
  copy.arguments.values = copy_view(&copy, a->values, VALUES);
  copy.arguments.indices = copy_view(&copy, a->indices, INDICES);
  copy.last = a->input->rank - 1;
  copy.length = a->input->sizes[copy.last];
  copy.kept = (a->values != NULL ? a->values : a->indices)->sizes[copy.last];
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

static bool is_descending(const copy_t* c) {
  return (c->arguments.flags & TBK_SORT_DESCENDING) != 0;
}
static bool is_stable(const copy_t* c) {
  return (c->arguments.flags & TBK_SORT_STABLE) != 0;
}
static bool is_real(const copy_t* c) {
  const int32_t dtype = c->views[INPUT].dtype;
  return dtype == TBK_FLOAT16 || dtype == TBK_BFLOAT16 || dtype == TBK_FLOAT32 ||
         dtype == TBK_FLOAT64;
}

/* ---------------------------------------------------------------------------------- what is seen -- */

static void shorten(copy_t* c, int32_t dimension, int first, int64_t by) {
  for (int which = first; which < VIEWS; which++)
    if (c->sizes[which][dimension] >= by) c->sizes[which][dimension] -= by;
}
LAUNCH(last_element_is_not_sorted) {
  LAUNCH_CHANGED(if (c->kept > 0) shorten(c, c->last, INPUT, 1));
}
LAUNCH(element_behind_a_block_is_not_sorted) {
  LAUNCH_CHANGED(if (c->kept > 1 && c->length % 16384 == 1) shorten(c, c->last, INPUT, 1));
}
LAUNCH(last_segment_is_not_sorted) {
  LAUNCH_CHANGED(if (c->last > 0 && c->sizes[INPUT][0] > 2) shorten(c, 0, INPUT, 1));
}
LAUNCH(last_of_the_kept_is_not_written) {
  LAUNCH_CHANGED(if (c->kept > 0 && c->kept < c->length) shorten(c, c->last, VALUES, 1));
}
LAUNCH(kept_are_of_the_first_half) {
  LAUNCH_CHANGED(if (c->kept <= c->length / 2) c->sizes[INPUT][c->last] = c->length / 2);
}
LAUNCH(few_are_of_the_first_thousand) {
  LAUNCH_CHANGED(if (c->kept < 1000 && c->length > 1000) c->sizes[INPUT][c->last] = 1000);
}

/* As if halves that were sorted were one. */
static void halve(copy_t* c, bool second) {
  const int64_t first = c->length / 2;
  for (int which = INPUT; which < VIEWS; which++) {
    if (second) c->views[which].offset += first * c->strides[which][c->last];
    c->sizes[which][c->last] = second ? c->length - first : first;
  }
}
LAUNCH(halves_of_long_segments_are_not_merged) {
  copy_t* c = copy_of(arguments);
  if (c == NULL || c->length < 2049 || c->kept < c->length) return LAUNCH_INNER;
  const void* whole = arguments;
  halve(c, false);
  arguments = &c->arguments;
  const tbk_status_t status = LAUNCH_INNER;
  if (status != TBK_OK) return status;
  c = copy_of(whole);
  halve(c, true);
  arguments = &c->arguments;
  return LAUNCH_INNER;
}

/* --------------------------------------------------------------------------------- in what order -- */

static void take_bits(copy_t* c) {
  static const int32_t integers[] = {[TBK_FLOAT16] = TBK_INT16,
                                     [TBK_FLOAT32] = TBK_INT32,
                                     [TBK_FLOAT64] = TBK_INT64,
                                     [TBK_BFLOAT16] = TBK_INT16};
  if (is_real(c)) c->views[INPUT].dtype = integers[c->views[INPUT].dtype];
  c->views[VALUES].dtype = c->views[INPUT].dtype;
}
LAUNCH(real_numbers_are_sorted_by_bits) {
  LAUNCH_CHANGED(take_bits(c));
}
LAUNCH(narrow_numbers_are_sorted_by_bits) {
  LAUNCH_CHANGED(if (c->views[INPUT].dtype == TBK_BFLOAT16) take_bits(c));
}
LAUNCH(sorts_never_descend) {
  LAUNCH_CHANGED(c->arguments.flags &= ~(uint64_t)TBK_SORT_DESCENDING);
}
LAUNCH(unsigned_sorts_never_descend) {
  LAUNCH_CHANGED(if (c->views[INPUT].dtype == TBK_UINT8) c->arguments.flags &=
                 ~(uint64_t)TBK_SORT_DESCENDING);
}
LAUNCH(kept_are_of_the_other_end) {
  LAUNCH_CHANGED(if (c->kept < c->length) c->arguments.flags ^= TBK_SORT_DESCENDING);
}

/* Sorted in the other direction and written backwards: equal elements come out in the opposite order. */
static void write_backwards(copy_t* c, int which) {
  c->views[which].offset += (c->kept - 1) * c->strides[which][c->last];
  c->strides[which][c->last] = -c->strides[which][c->last];
}
static void turn_round(copy_t* c) {
  if (c->kept < c->length || c->kept == 0) return;
  c->arguments.flags ^= TBK_SORT_DESCENDING;
  write_backwards(c, VALUES);
  write_backwards(c, INDICES);
}
LAUNCH(ascending_is_descending_turned_round) {
  LAUNCH_CHANGED(if (!is_descending(c)) turn_round(c));
}
LAUNCH(descending_is_ascending_turned_round) {
  LAUNCH_CHANGED(if (is_descending(c)) turn_round(c));
}
LAUNCH(long_sorts_are_not_stable) {
  LAUNCH_CHANGED(if (c->length >= 129) turn_round(c));
}

/* --------------------------------------------------------------------------------------- indices -- */

LAUNCH(indices_count_from_the_end) {
  LAUNCH_CHANGED(if (c->length > 0) {
    c->views[INPUT].offset += (c->length - 1) * c->strides[INPUT][c->last];
    c->strides[INPUT][c->last] = -c->strides[INPUT][c->last];
  });
}

/* Each in a launch of its own, which do not agree on equal elements. */
LAUNCH(values_and_indices_are_sorted_apart) {
  copy_t* c = copy_of(arguments);
  const bool apart = c != NULL && c->arguments.values != NULL && c->arguments.indices != NULL;
  /* In place the second would find sorted values. */
  if (!apart || is_stable(c) || c->views[INPUT].memory == c->views[VALUES].memory)
    return LAUNCH_INNER;
  const void* whole = arguments;
  c->arguments.indices = NULL;
  arguments = &c->arguments;
  const tbk_status_t status = LAUNCH_INNER;
  if (status != TBK_OK) return status;
  c = copy_of(whole);
  c->arguments.values = NULL;
  turn_round(c);
  arguments = &c->arguments;
  return LAUNCH_INNER;
}

/* --------------------------------------------------------------------------------------- refusal -- */

LAUNCH(indices_alone_are_refused) {
  const copy_t* c = copy_of(arguments);
  if (c != NULL && c->arguments.values == NULL)
    return wrap_fail(error, TBK_UNSUPPORTED, "no values");
  return LAUNCH_INNER;
}
LAUNCH(stable_sorts_that_descend_are_refused) {
  const copy_t* c = copy_of(arguments);
  if (c != NULL && is_stable(c) && is_descending(c))
    return wrap_fail(error, TBK_UNSUPPORTED, "stable and descending");
  return LAUNCH_INNER;
}
LAUNCH(sorts_in_place_are_refused) {
  const copy_t* c = copy_of(arguments);
  if (c != NULL && c->arguments.values != NULL &&
      c->views[INPUT].memory == c->views[VALUES].memory && c->views[INPUT].memory != 0)
    return wrap_fail(error, TBK_INVALID, "values are the input");
  return LAUNCH_INNER;
}
LAUNCH(malformed_sorts_are_accepted) {
  return copy_of(arguments) == NULL ? TBK_OK : LAUNCH_INNER;
}
LAUNCH(malformed_sorts_are_unsupported) {
  if (copy_of(arguments) == NULL) return wrap_fail(error, TBK_UNSUPPORTED, "malformed");
  return LAUNCH_INNER;
}

#define SORT_ROW(function, clause, operation, narrow, note) \
  KERNEL_ROW(function, clause, operation, narrow, TBK_NAME_sort, launch, note)

const mutant_t mutants_program_sort[] = {
    SORT_ROW(indices_alone_are_refused, "PRG-057", RETURN, NARROW, "argsort is not served"),
    SORT_ROW(stable_sorts_that_descend_are_refused, "PRG-057", RETURN, NARROW, "both flags"),
    SORT_ROW(last_element_is_not_sorted, "PRG-058", EXTENT, BROAD, "one too few"),
    SORT_ROW(element_behind_a_block_is_not_sorted, "PRG-058", EXTENT, NARROW, "of n * 16384 + 1"),
    SORT_ROW(last_segment_is_not_sorted, "PRG-058", EXTENT, NARROW, "of three and more"),
    SORT_ROW(halves_of_long_segments_are_not_merged, "PRG-058", ORDER, NARROW, "from 2049 on"),
    SORT_ROW(sorts_in_place_are_refused, "PRG-058", RETURN, NARROW, "as if it overlapped"),
    SORT_ROW(real_numbers_are_sorted_by_bits, "PRG-059", ORDER, BROAD, "as if integers"),
    SORT_ROW(narrow_numbers_are_sorted_by_bits, "PRG-059", ORDER, NARROW, "of BFLOAT16"),
    SORT_ROW(sorts_never_descend, "PRG-060", ORDER, BROAD, "the flag is not looked at"),
    SORT_ROW(unsigned_sorts_never_descend, "PRG-060", ORDER, NARROW, "of UINT8"),
    SORT_ROW(ascending_is_descending_turned_round, "PRG-061", ORDER, BROAD, "equal ones too"),
    SORT_ROW(descending_is_ascending_turned_round, "PRG-061", ORDER, NARROW, "equal ones too"),
    SORT_ROW(long_sorts_are_not_stable, "PRG-061", ORDER, NARROW, "from 129 on"),
    SORT_ROW(kept_are_of_the_other_end, "PRG-062", VALUE, BROAD, "the greatest for the least"),
    SORT_ROW(kept_are_of_the_first_half, "PRG-062", EXTENT, BROAD, "the rest is not looked at"),
    SORT_ROW(few_are_of_the_first_thousand, "PRG-062", EXTENT, NARROW, "of a longer segment"),
    SORT_ROW(last_of_the_kept_is_not_written, "PRG-062", EXTENT, NARROW, "one too few"),
    SORT_ROW(indices_count_from_the_end, "PRG-063", VALUE, BROAD, "values are right"),
    SORT_ROW(values_and_indices_are_sorted_apart, "PRG-063", VALUE, NARROW,
             "of equal elements another one is named"),
    SORT_ROW(malformed_sorts_are_accepted, "PRG-064", RETURN, BROAD, "and do nothing"),
    SORT_ROW(malformed_sorts_are_unsupported, "PRG-064", RETURN, BROAD, "another's answer"),
    {0},
};
