/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * launch.c: launches of generic kernels: spaces folded, and laid out as words.
 */
#include <string.h>

#include "generic.h"
#include "inside.h"

enum { GROUP_FROM = 256 /* elements of an inner space, from which on a group shares them */ };

int64_t emit_groups(int64_t items) {
  return (items + EMIT_GROUP - 1) / EMIT_GROUP;
}

/* A space and the strides of the pointers that go through it. */
typedef struct dimensions {
  int64_t rank, count, sizes[EMIT_MAX_RANK];
  int64_t strides[EMIT_POINTERS][EMIT_MAX_RANK];
} dimensions_t;

typedef struct walk {
  dimensions_t outer, inner;
  int32_t walking;                  /* pointers that are not indexed */
  int32_t pointers[EMIT_POINTERS];  /* which those are */
  emit_view_t views[EMIT_POINTERS]; /* of all */
} walk_t;

static tbk_status_t set_dimensions(const int64_t* sizes, int32_t rank, dimensions_t* out,
                                   tbk_error_t* error) {
  if (rank < 0 || rank > EMIT_MAX_RANK)
    return emit_fail(error, TBK_UNSUPPORTED, "rank %d is above %d", rank, EMIT_MAX_RANK);
  out->rank = rank;
  out->count = 1;
  for (int32_t d = 0; d < rank; d++) {
    out->sizes[d] = sizes[d];
    if (__builtin_mul_overflow(out->count, sizes[d], &out->count))
      return emit_fail(error, TBK_INVALID, "a shape is too large");
  }
  return TBK_OK;
}

static tbk_status_t add_view(const emit_pointers_t* pointers, const emit_space_t* space, int32_t k,
                             bool is_output, walk_t* walk, tbk_error_t* error) {
  emit_view_t* view = &walk->views[k];
  tbk_status_t status = emit_describe(space->tensors[k], space->is_bound, view, error);
  if (status == TBK_OK && is_output) status = emit_want_apart(view, error);
  if (status != TBK_OK || pointers->of[k].access == EMIT_INDEXED) return status;
  const int32_t to = walk->walking++;
  walk->pointers[to] = k;
  for (int32_t d = 0; d < space->rank; d++)
    walk->outer.strides[to][d] = view->strides[d];
  for (int32_t d = 0; d < space->inner_rank;
       d++) /* of what has the outer space alone these are 0 */
    walk->inner.strides[to][d] = view->strides[space->rank + d];
  return TBK_OK;
}

/* What is there besides is of one element, and does not step. */
static void pad(dimensions_t* space, int32_t rank, int32_t count) {
  for (; space->rank < rank; space->rank++) {
    space->sizes[space->rank] = 1;
    for (int32_t k = 0; k < count; k++)
      space->strides[k][space->rank] = 0;
  }
}

/* Kernels are written for ranks of 1, 2, 4 and 8, but where the program knows its dimensions. */
static int32_t classify(dimensions_t* space, int32_t count, bool is_exact) {
  if (!is_exact) emit_fold(&space->rank, space->sizes, space->strides, count);
  int32_t rank = 1;
  while (rank < space->rank)
    rank = is_exact ? rank + 1 : rank * 2;
  pad(space, rank, count);
  return rank;
}

static void put(emit_launch_t* out, int32_t at, const int64_t* words, int64_t count) {
  memcpy(out->words + at, words, (size_t)count * sizeof *words);
}

static void write_words(const emit_pointers_t* pointers, const emit_space_t* space,
                        const walk_t* walk, const emit_layout_t* layout, emit_launch_t* out) {
  const emit_class_t* class = &out->class;
  out->words[EMIT_WORD_COUNT] = walk->outer.count;
  out->words[EMIT_WORD_INNER] = walk->inner.count;
  out->words[EMIT_WORD_ZERO] = 0;
  put(out, layout->sizes, walk->outer.sizes, class->outer);
  put(out, layout->inner_sizes, walk->inner.sizes, class->inner);
  for (int32_t i = 0; i < walk->walking; i++) {
    const int32_t k = walk->pointers[i], at = layout->strides[k];
    put(out, at, walk->outer.strides[i], class->outer);
    if (pointers->of[k].access == EMIT_BOTH)
      put(out, at + class->outer, walk->inner.strides[i], class->inner);
  }
  for (int32_t k = 0; k < pointers->count; k++) {
    const emit_view_t* view = &walk->views[k];
    out->words[layout->offsets + k] = view->offset;
    out->memory[k] = view->count > 0 ? view->memory : 0;
    if (pointers->of[k].access != EMIT_INDEXED) continue;
    put(out, layout->strides[k], view->sizes, view->rank);
    put(out, layout->strides[k] + view->rank, view->strides, view->rank);
  }
  if (space->number_count > 0)
    memcpy(out->words + layout->numbers, space->numbers,
           space->number_count * sizeof *space->numbers);
}

_Static_assert(EMIT_MAX_RANK < 10, "a rank is one digit of a name");

/* Of each set of each launch: printf takes longer than the launch of a small kernel. */
static void set_name(const emit_space_t* space, emit_launch_t* out) {
  static const char digits[] = "0123456789abcdef";
  const emit_class_t* class = &out->class;
  char* to = out->name;
  for (int shift = 60; shift >= 0; shift -= 4)
    *to++ = digits[space->hash >> shift & 15];
  *to++ = '-';
  *to++ = digits[class->is_exact ? class->rank : class->outer];
  *to++ = '.';
  *to++ = digits[class->inner];
  if (class->is_exact) *to++ = 'x';
  if (class->is_grouped) *to++ = 'g';
  memcpy(to, class->index_bits == 64 ? ".64" : ".32", 4);
}

static tbk_status_t finish(const emit_pointers_t* pointers, const emit_space_t* space, walk_t* walk,
                           emit_launch_t* out, tbk_error_t* error) {
  emit_layout_t layout;
  emit_class_t* class = &out->class;
  class->is_exact = space->has_coordinates;
  class->rank = class->is_exact ? space->rank : 0;
  class->index_bits = (int32_t)space->index_bits;
  class->is_grouped = space->is_reduction && walk->inner.count >= GROUP_FROM;
  class->outer = classify(&walk->outer, walk->walking, class->is_exact);
  if (space->is_reduction) class->inner = classify(&walk->inner, walk->walking, class->is_exact);
  emit_lay_out(pointers, class, space->number_count, &layout);
  if (layout.count > space->most_words)
    return emit_fail(error, TBK_UNSUPPORTED, "%d parameters, and %d are possible", layout.count,
                     space->most_words);
  out->word_count = layout.count;
  out->pointer_count = pointers->count;
  out->hash = space->hash;
  write_words(pointers, space, walk, &layout, out);
  set_name(space, out);
  out->groups = class->is_grouped ? walk->outer.count : emit_groups(walk->outer.count);
  return TBK_OK;
}

tbk_status_t emit_make_launch(const emit_pointers_t* pointers, const emit_space_t* space,
                              emit_launch_t* out, tbk_error_t* error) {
  walk_t walk;
  memset(&out->class, 0, sizeof out->class);
  walk.walking = 0;
  tbk_status_t status = set_dimensions(space->sizes, space->rank, &walk.outer, error);
  if (status == TBK_OK)
    status = set_dimensions(space->inner_sizes, space->inner_rank, &walk.inner, error);
  for (int32_t k = 0; k < pointers->count && status == TBK_OK; k++)
    status = add_view(pointers, space, k, k < space->output_count, &walk, error);
  return status == TBK_OK ? finish(pointers, space, &walk, out, error) : status;
}
