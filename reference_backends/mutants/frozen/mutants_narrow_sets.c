/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_sets.c: pointwise programs, reductions and scans, on one kind of operands or one place in a list.
 */
#include <string.h>

#include "generic_copy.h"
#include "narrow.h"

/* ------------------------------------------------------------------------------------ layouts -- */

static void turn_outputs_that_go_back(generic_copy_t* c) {
  for (size_t s = 0; s < c->set_count; s++)
    for (size_t k = 0; k < c->outputs; k++) {
      generic_view_t* out = generic_operand(c, s, k);
      if (out->tensor.rank > 1 && out->strides[0] < 0) generic_turn(out, 0);
    }
}
LAUNCH(outputs_that_go_back_are_turned_round) {
  GENERIC_CHANGED(turn_outputs_that_go_back(c));
}

static void swap_strides(generic_view_t* view, int32_t d) {
  const int64_t stride = view->strides[d];
  if (view->sizes[d] != view->sizes[d + 1]) return;
  view->strides[d] = view->strides[d + 1];
  view->strides[d + 1] = stride;
}
LAUNCH(outer_dimensions_of_rank_6_are_swapped) {
  GENERIC_CHANGED(for (size_t k = 0; c->set_count > 0 && k < c->outputs; k++) {
    generic_view_t* out = generic_operand(c, 0, k);
    if (out->tensor.rank >= 6) swap_strides(out, 1);
  });
}

static bool reads_later_output(generic_copy_t* c) {
  for (size_t k = 1; c->set_count > 0 && k < c->outputs; k++)
    for (size_t i = 0; i < c->inputs; i++)
      if (generic_same(generic_operand(c, 0, k), generic_operand(c, 0, c->outputs + i)))
        return true;
  return false;
}
LAUNCH(input_that_is_the_second_output_is_refused) {
  GENERIC_UNLESS(reads_later_output(c), wrap_fail(error, TBK_INVALID, "it is written"));
}

/* Whatever is broadcast in the first dimension is read on in it, as far as it lies. */
static void spread_first(generic_copy_t* c) {
  for (size_t i = 0; c->set_count > 0 && i < c->inputs; i++) {
    generic_view_t* in = generic_operand(c, 0, c->outputs + i);
    if (in->tensor.rank == 3 && in->strides[0] == 0 && in->strides[1] != 0 &&
        in->sizes[0] == in->sizes[1])
      swap_strides(in, 0);
  }
}
LAUNCH(first_of_three_dimensions_is_not_broadcast) {
  GENERIC_CHANGED(spread_first(c));
}

static void swap_operands(generic_view_t* one, generic_view_t* other) {
  const generic_view_t kept = *one;
  *one = *other;
  *other = kept;
  one->tensor.sizes = one->sizes, one->tensor.strides = one->strides;
  other->tensor.sizes = other->sizes, other->tensor.strides = other->strides;
}
static void swap_late_outputs(generic_copy_t* c) {
  for (size_t k = 4; c->set_count > 0 && k < c->outputs; k++) {
    generic_view_t *out = generic_operand(c, 0, k), *fourth = generic_operand(c, 0, 3);
    if (out->tensor.dtype == fourth->tensor.dtype) swap_operands(out, fourth);
  }
}
LAUNCH(results_behind_the_fourth_change_places) {
  GENERIC_CHANGED(swap_late_outputs(c));
}

/* --------------------------------------------------------------------------------------- lists -- */

static void keep_sets(generic_copy_t* c, bool (*keeps)(generic_copy_t* c, size_t s)) {
  size_t kept = 0;
  for (size_t s = 0; s < c->set_count; s++)
    if (keeps(c, s)) c->set_list[kept++] = &c->sets[s];
  c->as.pointwise.set_count = kept;
}
static bool has_rank_of_first(generic_copy_t* c, size_t s) {
  return generic_operand(c, s, 0)->tensor.rank == generic_operand(c, 0, 0)->tensor.rank;
}
LAUNCH(sets_of_other_ranks_are_left_out) {
  GENERIC_CHANGED(keep_sets(c, has_rank_of_first));
}
static bool comes_before_the_empty(generic_copy_t* c, size_t s) {
  for (size_t before = 0; before < s; before++)
    if (generic_elements(generic_operand(c, before, 0)) == 0) return false;
  return true;
}
LAUNCH(empty_set_ends_the_list) {
  GENERIC_CHANGED(keep_sets(c, comes_before_the_empty));
}
LAUNCH(later_sets_have_the_first_numbers) {
  GENERIC_CHANGED(for (size_t s = 2; s < c->set_count; s++) c->sets[s].numbers =
                      c->sets[0].numbers);
}
LAUNCH(sets_of_a_reduction_have_the_first_numbers) {
  GENERIC_CHANGED(for (size_t s = 1; s < c->set_count; s++) c->sets[s].numbers =
                      c->sets[0].numbers);
}
LAUNCH(sets_of_a_scan_have_the_first_numbers) {
  GENERIC_CHANGED(for (size_t s = 1; s < c->set_count; s++) c->sets[s].numbers =
                      c->sets[0].numbers);
}

/* ---------------------------------------------------------------------------------- reductions -- */

LAUNCH(identity_of_the_third_state_is_0) {
  uint64_t identity[TBK_REDUCTION_MOST_STATES] = {0};
  GENERIC_CHANGED(
      memcpy(identity, c->reduction.identity, c->reduction.map->result_count * sizeof *identity);
      identity[2] = 0; c->reduction.identity = identity);
}

/* Inputs of finish, as if they lay without gaps. */
static void flatten_finish(generic_copy_t* c) {
  const size_t first = c->outputs + c->reduction.map->input_count;
  for (size_t s = 0; s < c->set_count; s++)
    for (size_t k = first; k < c->outputs + c->inputs; k++)
      if (generic_operand(c, s, k)->tensor.rank > 1) generic_flatten(generic_operand(c, s, k));
}
LAUNCH(inputs_of_finish_lie_without_gaps) {
  GENERIC_CHANGED(flatten_finish(c));
}

/* Whether an operand has the sizes of the outer space first. */
static bool has_space(const generic_copy_t* c, size_t k) {
  const tbk_program_t *map = c->reduction.map, *finish = c->reduction.finish;
  if (k < c->outputs) return true;
  k -= c->outputs;
  return (k < map->input_count ? map->inputs[k] : finish->inputs[k - map->input_count]).kind ==
         TBK_INPUT_ALIGNED;
}

/* Of what goes, the first of many dimensions is one shorter. */
static void shorten_inner(generic_copy_t* c) {
  tbk_operand_set_t* set = &c->sets[0];
  if (c->set_count != 1 || set->inner_rank < 4 || c->inner_sizes[0][0] < 2) return;
  const int32_t outer = generic_operand(c, 0, 0)->tensor.rank;
  c->inner_sizes[0][0]--;
  for (size_t i = 0; i < c->reduction.map->input_count; i++)
    if (c->reduction.map->inputs[i].kind == TBK_INPUT_ALIGNED)
      generic_operand(c, 0, c->outputs + i)->sizes[outer]--;
}
LAUNCH(first_of_four_inner_dimensions_is_short) {
  GENERIC_CHANGED(shorten_inner(c));
}

/* A grid has 65535 rows at the most. */
static void cut_rows(generic_copy_t* c, int64_t most) {
  if (c->set_count != 1 || generic_operand(c, 0, 0)->tensor.rank == 0) return;
  for (size_t k = 0; k < c->outputs + c->inputs; k++)
    if (has_space(c, k) && generic_operand(c, 0, k)->sizes[0] > most)
      generic_operand(c, 0, k)->sizes[0] = most;
}
LAUNCH(rows_of_reductions_beyond_65535_are_left_out) {
  GENERIC_CHANGED(cut_rows(c, 65535));
}

/* --------------------------------------------------------------------------------------- scans -- */

static void forget_last_outer(generic_copy_t* c) {
  if (c->set_count != 1 || generic_operand(c, 0, 0)->tensor.rank < 4) return;
  for (size_t k = 0; k < c->outputs + c->inputs; k++)
    if (has_space(c, k) && generic_operand(c, 0, k)->sizes[0] > 1)
      generic_operand(c, 0, k)->sizes[0]--;
}
LAUNCH(last_of_many_outer_segments_is_not_scanned) {
  GENERIC_CHANGED(forget_last_outer(c));
}
LAUNCH(reversed_scans_of_one_element_are_left_out) {
  GENERIC_UNLESS((c->as.scan.flags & TBK_SCAN_REVERSE) != 0 && c->set_count == 1 &&
                     generic_operand(c, 0, 0)->tensor.rank > 0 &&
                     generic_operand(c, 0, 0)->sizes[generic_last(generic_operand(c, 0, 0))] == 1,
                 TBK_OK);
}
LAUNCH(inputs_of_scans_are_read_forwards) {
  GENERIC_CHANGED(
      for (size_t k = c->outputs; c->set_count == 1 && k < c->outputs + c->inputs; k++) {
        generic_view_t* in = generic_operand(c, 0, k);
        const int32_t last = generic_last(in);
        if (last >= 0 && in->strides[last] < 0) generic_turn(in, last);
      });
}

#define POINTWISE(function, clause, operation, note) \
  KERNEL(function, clause, operation, TBK_NAME_pointwise, launch, note)
#define REDUCE(function, clause, operation, note) \
  KERNEL(function, clause, operation, TBK_NAME_reduce, launch, note)
#define SCAN(function, clause, operation, note) \
  KERNEL(function, clause, operation, TBK_NAME_scan, launch, note)

extern const mutant_t mutants_narrow_sets[];
const mutant_t mutants_narrow_sets[] = {
    POINTWISE(outputs_that_go_back_are_turned_round, "PRG-009", VALUE,
              "a negative stride in the first of several dimensions"),
    POINTWISE(outer_dimensions_of_rank_6_are_swapped, "PRG-009", VALUE, "of an output"),
    POINTWISE(input_that_is_the_second_output_is_refused, "PRG-010", RETURN, "as if it overlapped"),
    POINTWISE(first_of_three_dimensions_is_not_broadcast, "PRG-009", VALUE,
              "a stride of 0 in the first"),
    POINTWISE(results_behind_the_fourth_change_places, "PRG-012", VALUE, "with it"),
    POINTWISE(sets_of_other_ranks_are_left_out, "PRG-008", EXTENT, "than that of the first set"),
    POINTWISE(empty_set_ends_the_list, "PRG-008", EXTENT, "later ones stay as they were"),
    POINTWISE(later_sets_have_the_first_numbers, "PRG-007", STATE, "from the third on"),
    REDUCE(sets_of_a_reduction_have_the_first_numbers, "PRG-020", STATE, "from the second on"),
    SCAN(sets_of_a_scan_have_the_first_numbers, "PRG-072", STATE, "from the second on"),
    REDUCE(identity_of_the_third_state_is_0, "PRG-013", VALUE, "and of no other"),
    REDUCE(inputs_of_finish_lie_without_gaps, "PRG-018", VALUE, "strides are not looked at"),
    REDUCE(first_of_four_inner_dimensions_is_short, "PRG-016", EXTENT, "by one"),
    REDUCE(rows_of_reductions_beyond_65535_are_left_out, "PRG-016", EXTENT,
           "as in a grid of 16 bits"),
    SCAN(last_of_many_outer_segments_is_not_scanned, "PRG-065", EXTENT, "from rank 4 on"),
    SCAN(reversed_scans_of_one_element_are_left_out, "PRG-068", EXTENT, "as if nothing were due"),
    SCAN(inputs_of_scans_are_read_forwards, "PRG-065", VALUE, "a negative stride"),
    {0}};
