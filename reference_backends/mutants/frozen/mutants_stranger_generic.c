/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stranger_generic.c: generic kernels, as compilers and libraries err that know a faster way for a special case.
 */
#include "generic_copy.h"
#include "narrow.h"
#include "rewrite.h"

/* ----------------------------------------------------------------------------------- pointwise ---- */

/* As with fast mathematics, in which there is no NaN. */
static uint32_t put_no_difference(rewrite_t* to, const tbk_instruction_t* i, const uint32_t* in,
                                  uint64_t context) {
  const int32_t dtype = i->opcode == TBK_OPCODE_NE ? to->instructions[in[0]].dtype : TBK_BOOL;
  if ((dtype != TBK_FLOAT32 && dtype != TBK_FLOAT64) || in[0] != in[1])
    return rewrite_keep(to, i, in);
  return rewrite_bits(to, TBK_BOOL, 0);
}
LAUNCH(nothing_differs_from_itself) {
  static _Thread_local rewrite_t to;
  GENERIC_CHANGED(c->as.pointwise.program =
                      rewrite_program(&to, c->as.pointwise.program, put_no_difference, 0));
}

static bool is_in_place(generic_copy_t* c) {
  for (size_t s = 0; s < c->set_count; ++s)
    for (size_t k = 0; k < c->outputs; ++k)
      for (size_t i = 0; i < c->inputs; ++i)
        if (generic_same(generic_operand(c, s, k), generic_operand(c, s, c->outputs + i)))
          return true;
  return false;
}
/* One kernel for each result, one behind the other. */
LAUNCH(results_are_computed_one_behind_the_other) {
  generic_copy_t* c = generic_copy_of(KERNEL_NAME, arguments);
  if (c == NULL || c->outputs < 2 || !is_in_place(c)) return LAUNCH_INNER;
  const tbk_program_t* whole = c->as.pointwise.program;
  tbk_program_t one = *whole;
  one.result_count = 1;
  c->as.pointwise.program = &one;
  arguments = &c->as;
  tbk_status_t status = TBK_OK;
  for (size_t r = 0; r < c->outputs && status == TBK_OK; ++r) {
    one.results = whole->results + r;
    for (size_t s = 0; s < c->set_count; ++s)
      c->sets[s].outputs = &c->list[s * (c->outputs + c->inputs) + r];
    status = LAUNCH_INNER;
  }
  return status;
}

/* -------------------------------------------------------------------------- reductions and scans -- */

static void swap_dimensions(int64_t* of, int32_t d) {
  const int64_t first = of[d];
  of[d] = of[d + 1];
  of[d + 1] = first;
}
/* Dimensions that go are walked as they lie, the nearest together last. */
static void walk_as_it_lies(generic_copy_t* c) {
  const tbk_program_t* map = c->reduction.map;
  if ((c->reduction.flags & TBK_REDUCTION_COMMUTATIVE) != 0 || c->set_count != 1 ||
      c->sets[0].inner_rank != 2 || map->input_count != 1 ||
      map->inputs[0].kind != TBK_INPUT_ALIGNED)
    return;
  generic_view_t* in = generic_operand(c, 0, c->outputs);
  const int32_t d = in->tensor.rank - 2;
  if (in->sizes[d] < 2 || in->sizes[d + 1] < 2 || in->strides[d] <= 0 ||
      in->strides[d] >= in->strides[d + 1])
    return;
  swap_dimensions(in->sizes, d);
  swap_dimensions(in->strides, d);
  swap_dimensions(c->inner_sizes[0], 0);
}
LAUNCH(ordered_reductions_go_as_memory_lies) {
  GENERIC_CHANGED(walk_as_it_lies(c));
}

enum { CHUNK = 1024 };
/* The chunk at the end is right, and what is before it goes on from nothing. */
static bool cut_last_chunk(generic_copy_t* c) {
  if ((c->as.scan.flags & TBK_SCAN_REVERSE) == 0 || c->reduction.map->result_count < 2 ||
      c->set_count != 1)
    return false;
  const generic_view_t* out = generic_operand(c, 0, 0);
  const int64_t left = out->sizes[generic_last(out)] - CHUNK;
  if (left <= 0) return false;
  for (size_t k = 0; k < c->outputs + c->inputs; ++k) {
    const tbk_program_t *map = c->reduction.map, *finish = c->reduction.finish;
    const size_t i = k - c->outputs;
    generic_view_t* view = generic_operand(c, 0, k);
    if (k < c->outputs ||
        (i < map->input_count ? map->inputs[i] : finish->inputs[i - map->input_count]).kind ==
            TBK_INPUT_ALIGNED)
      view->sizes[generic_last(view)] = left;
  }
  return true;
}
LAUNCH(reversed_scans_of_states_lose_their_carry) {
  const tbk_status_t status = LAUNCH_INNER;
  generic_copy_t* c = status == TBK_OK ? generic_copy_of(KERNEL_NAME, arguments) : NULL;
  if (c == NULL || !cut_last_chunk(c)) return status;
  arguments = &c->as;
  return LAUNCH_INNER;
}

/* ------------------------------------------------------------------------------ sort and index ---- */

/* Returns whether it is all of the segment, and not the input. */
static bool can_be_turned(const generic_view_t* view, const generic_view_t* input) {
  if (view->tensor.rank < 0) return true;
  const int32_t last = generic_last(input);
  return view->sizes[last] == input->sizes[last] && view->tensor.memory != input->tensor.memory;
}
/* Longer segments are sorted upwards and written from the end. */
static void write_from_the_end(generic_copy_t* c) {
  const uint64_t both = TBK_SORT_DESCENDING | TBK_SORT_STABLE;
  const generic_view_t* input = &c->views[SORT_INPUT];
  if ((c->as.sort.flags & both) != both || input->sizes[generic_last(input)] <= 16 ||
      !can_be_turned(&c->views[SORT_VALUES], input) ||
      !can_be_turned(&c->views[SORT_INDICES], input))
    return;
  c->as.sort.flags &= ~(uint64_t)TBK_SORT_DESCENDING;
  for (int k = SORT_VALUES; k <= SORT_INDICES; ++k)
    if (c->views[k].tensor.rank > 0) generic_turn(&c->views[k], generic_last(&c->views[k]));
}
LAUNCH(stable_sorts_down_turn_what_is_equal) {
  GENERIC_CHANGED(write_from_the_end(c));
}

/* A row of places that are one in the table is loaded once. */
static void add_one_of_each_row(generic_copy_t* c) {
  generic_view_t* values = &c->views[INDEX_VALUES];
  const int32_t last = generic_last(values);
  if (c->as.index.mode != TBK_INDEX_ADD || c->as.index.index_count == 0 || last < 0 ||
      values->sizes[last] < 2)
    return;
  for (size_t k = 0; k < c->as.index.index_count; ++k)
    if (c->views[INDEX_FIRST + k].strides[last] != 0) return;
  for (int32_t d = 0; c->as.index.places != NULL && d < c->as.index.table->rank; ++d)
    if ((c->as.index.flags & TBK_INDEX_FLAT) == 0 && c->places[d] == TBK_INDEX_ALONG(last)) return;
  values->sizes[last] = 1;
  for (size_t k = 0; k < c->as.index.index_count; ++k)
    c->views[INDEX_FIRST + k].sizes[last] = 1;
}
LAUNCH(rows_of_one_index_are_added_once) {
  GENERIC_CHANGED(add_one_of_each_row(c));
}

/* --------------------------------------------------------------------- products, convolutions ---- */

/* Where b is shared the batch is more rows of a. */
static void fold_batch(generic_copy_t* c) {
  generic_view_t *a = &c->views[MATMUL_A], *b = &c->views[MATMUL_B];
  if (a->tensor.rank == 3 && b->strides[0] == 0 && a->sizes[0] > 1 && a->strides[1] > 0 &&
      a->strides[0] > a->sizes[1] * a->strides[1])
    a->strides[0] = a->sizes[1] * a->strides[1];
}
LAUNCH(batches_of_a_shared_b_are_folded) {
  GENERIC_CHANGED(fold_batch(c));
}

/* It is done as a product of matrices, in which there is no padding. */
static void drop_padding_of_one_tap(generic_copy_t* c) {
  const generic_view_t* by = &c->views[CONVOLUTION_BY];
  if (c->as.convolution.mode != TBK_CONVOLUTION_OUTPUT) return;
  for (int32_t d = 2; d < by->tensor.rank; ++d)
    if (by->sizes[d] != 1) return;
  for (int32_t d = 2; d < by->tensor.rank; ++d)
    c->padding[d - 2] = 0;
}
LAUNCH(convolutions_of_one_tap_have_no_padding) {
  GENERIC_CHANGED(drop_padding_of_one_tap(c));
}

#define OF(op, function, clause, operation, note) \
  KERNEL(function, clause, operation, TBK_NAME_##op, launch, note)

extern const mutant_t mutants_stranger_generic[];
const mutant_t mutants_stranger_generic[] = {
    OF(pointwise, nothing_differs_from_itself, "PRG-002", VALUE, "NE of a NaN and the same value"),
    OF(pointwise, results_are_computed_one_behind_the_other, "PRG-010", ORDER,
       "of several, where an output is an input"),
    OF(reduce, ordered_reductions_go_as_memory_lies, "PRG-014", ORDER,
       "two inner dimensions that are transposed"),
    OF(scan, reversed_scans_of_states_lose_their_carry, "PRG-068", VALUE,
       "of two states and more, across the last 1024 elements"),
    OF(sort, stable_sorts_down_turn_what_is_equal, "PRG-061", ORDER,
       "whole segments of more than 16 elements"),
    OF(index, rows_of_one_index_are_added_once, "PRG-024", EXTENT,
       "ADD with indices that are expanded in the last dimension"),
    OF(matmul, batches_of_a_shared_b_are_folded, "PRG-038", VALUE,
       "matrices of a that are apart, and one b"),
    OF(convolution, convolutions_of_one_tap_have_no_padding, "PRG-046", VALUE, "of an output"),
    {0}};
