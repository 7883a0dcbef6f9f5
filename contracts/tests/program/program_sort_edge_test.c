/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk::sort at its edges: what may not be refused, and arguments that do not fit each other.
 */
#include "room.h"
#include "sort_job.h"

static sort_job_t job;

/* Whatever is asked of the largest rank. */
static void no_form_is_refused(tbk_fixture_t* fx) {
  int32_t most = fx->properties.max_rank;
  sort_form_t form = {.rank = most > 0 && most < TENSOR_RANK ? most : TENSOR_RANK};
  for (int32_t d = 0; d + 1 < form.rank; ++d)
    form.sizes[d] = 1 + d % 2;
  for (uint32_t dtype = 0; dtype < 64; ++dtype) {
    if ((job_dtypes(fx) >> dtype & 1) == 0) continue;
    form.dtype = (int32_t)dtype;
    for (form.flags = 0; form.flags <= (TBK_SORT_DESCENDING | TBK_SORT_STABLE); ++form.flags)
      for (int asked = 0; asked < 3; ++asked) {
        form.no_values = asked == 1, form.no_indices = asked == 2;
        form.sizes[form.rank - 1] = 20 + asked;
        form.fewer = (int64_t)form.flags;
        const size_t mark = room_mark(fx);
        SORT_RUN(fx, &job, &form);
        room_release(fx, mark);
      }
  }
}

/* ---------------------------------------------------------------------------------- what is bad -- */

static tbk_tensor_t* tensor(const tbk_tensor_t* one) {
  return (tbk_tensor_t*)one;
}

static int64_t no_stride[2] = {0, 1};
static int64_t longer[2] = {4, 8};
static int64_t other_segments[2] = {3, 5};

/* The first 5 of 4 segments of 7. */
#define CHANGES(X)                                                        \
  X(short_struct, a->struct_size = 8)                                     \
  X(flags, a->flags = 4)                                                  \
  X(many_flags, a->flags |= UINT64_C(1) << 40)                            \
  X(bits, a->index_bits = 33)                                             \
  X(no_input, a->input = NULL)                                            \
  X(nothing_asked, a->values = a->indices = NULL)                         \
  X(complex, tensor(a->input)->dtype = TBK_COMPLEX64)                     \
  X(other_dtype, tensor(a->values)->dtype = TBK_INT8)                     \
  X(index_dtype, tensor(a->indices)->dtype = TBK_INT32)                   \
  X(no_dimension, tensor(a->input)->rank = 0)                             \
  X(rank, tensor(a->input)->rank = 9)                                     \
  X(other_rank, tensor(a->values)->rank = 1)                              \
  X(index_rank, tensor(a->indices)->rank = 1)                             \
  X(minus_size, ((int64_t*)a->input->sizes)[0] = -1)                      \
  X(more_values, tensor(a->values)->sizes = longer)                       \
  X(more_indices, (a->values = NULL, tensor(a->indices)->sizes = longer)) \
  X(segments, tensor(a->values)->sizes = other_segments)                  \
  X(lengths, ((int64_t*)a->indices->sizes)[1] = 4)                        \
  X(values_stride, tensor(a->values)->strides = no_stride)                \
  X(indices_stride, tensor(a->indices)->strides = no_stride)

#define CHANGE(name, change)                      \
  static void change_##name(tbk_args_sort_t* a) { \
    change;                                       \
  }
CHANGES(CHANGE)

static const struct {
  const char* name;
  void (*change)(tbk_args_sort_t*);
} changes[] = {
#define ENTRY(name, change) {#name, change_##name},
    CHANGES(ENTRY)};

/* The device must be usable as before: the same call unchanged comes last. */
static void what_does_not_fit_is_refused(tbk_fixture_t* fx) {
  const sort_form_t form = {.dtype = TBK_INT64, .rank = 2, .sizes = {4, 7}, .fewer = 2};
  sort_make(fx, &job, &form);
  sort_ready(fx, &job);
  for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
    tbk_checks_context(changes[i].name);
    tbk_args_sort_t* args = sort_describe(&job);
    changes[i].change(args);
    const bool lacks = GENERIC_LACKS(fx, args->input, args->values, args->indices);
    CHECK_NO_FIT(lacks, sort_launch(fx, &job, NULL));
    CHECK(fx->error.message[0] != '\0');
    sort_check_untouched(fx, &job, TBK_HERE(changes[i].name));
  }
  tbk_checks_context(NULL);
  TBK_CHECKS("PRG-058");
  sort_describe(&job);
  CHECK_OK(sort_launch(fx, &job, NULL));
  sort_check(fx, &job, TBK_HERE("tbk::sort"));
}

static const tbk_case_t cases[] = {
    TBK_CASE("PRG-057", "op:tbk::sort dtype:INT64", 0, no_form_is_refused),
    TBK_CASE("PRG-064", "op:tbk::sort dtype:INT64", 0, what_does_not_fit_is_refused),
};
TBK_SUITE(program_sort_edge);
