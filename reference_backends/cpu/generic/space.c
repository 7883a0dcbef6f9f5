/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * space.c: from tensors to a space with as few dimensions as it can have.
 */
#include "space.h"

#include <stdlib.h>
#include <string.h>

static const code_t* last_part(const kernel_code_t* code) {
  return code->program ? code->parts[0] : code->parts[CODE_FINISH];
}

size_t space_outputs(const kernel_code_t* code) {
  return last_part(code)->result_count;
}

size_t space_inputs(const kernel_code_t* code) {
  size_t count = code->parts[0]->input_count;
  return code->program ? count : count + code->parts[CODE_FINISH]->input_count;
}

size_t space_numbers(const kernel_code_t* code) {
  return code->parts[0]->number_count;
}

static const tbk_program_input_t* input_at(const kernel_code_t* code, size_t i) {
  const code_t* first = code->parts[0];
  if (i < first->input_count) return &first->inputs[i];
  return &code->parts[CODE_FINISH]->inputs[i - first->input_count];
}

/* `access` is zero. */
static tbk_status_t make_access(vdev_arena_t* arena, const tbk_tensor_t* tensor, bool indexed,
                                access_t* access, tbk_error_t* error) {
  cpu_view_t view;
  tbk_status_t status = cpu_resolve(arena, tensor, &view, error);
  if (status != TBK_OK) return status;
  if (view.rank > SPACE_RANK)
    return cpu_fail(TBK_UNSUPPORTED, error, "rank %d is above %d", view.rank, SPACE_RANK);
  access->data = view.data;
  access->dtype = view.dtype;
  access->own_rank = indexed ? view.rank : -1;
  access->element_bytes = view.element_bytes;
  for (int32_t d = 0; d < view.rank; d++)
    access->strides[d] = view.strides[d];
  for (int32_t d = 0; d < access->own_rank; d++)
    access->own_sizes[d] = view.sizes[d];
  return TBK_OK;
}

static tbk_status_t make_output(vdev_arena_t* arena, const tbk_tensor_t* tensor, access_t* access,
                                tbk_error_t* error) {
  tbk_status_t status = make_access(arena, tensor, false, access, error);
  if (status != TBK_OK) return status;
  for (int32_t d = 0; d < tensor->rank; d++)
    if (tensor->sizes[d] > 1 && tensor->strides[d] == 0)
      return cpu_fail(TBK_UNSUPPORTED, error, "an output has a stride of 0");
  return TBK_OK;
}

static void count_elements(space_t* space) {
  space->outer_count = space->inner_count = 1;
  for (int32_t d = 0; d < space->outer_rank; d++)
    space->outer_count *= space->sizes[d];
  for (int32_t d = 0; d < space->inner_rank; d++)
    space->inner_count *= space->sizes[space->outer_rank + d];
}

tbk_status_t space_make(vdev_arena_t* arena, const kernel_code_t* code,
                        const tbk_operand_set_t* set, access_t* accesses, uint64_t* numbers,
                        space_t* space, tbk_error_t* error) {
  const tbk_tensor_t* shape = set->outputs[0];
  const int32_t inner_rank = code->program ? 0 : (int32_t)set->inner_rank;
  space->outer_rank = shape->rank;
  space->inner_rank = inner_rank;
  space->output_count = space_outputs(code);
  space->input_count = space_inputs(code);
  space->accesses = accesses;
  space->numbers = numbers;
  for (int32_t d = 0; d < shape->rank; d++)
    space->sizes[d] = shape->sizes[d];
  for (int32_t d = 0; d < inner_rank; d++)
    space->sizes[shape->rank + d] = set->inner_sizes[d];
  count_elements(space);
  tbk_status_t status = TBK_OK;
  for (size_t i = 0; i < space->output_count && status == TBK_OK; i++)
    status = make_output(arena, set->outputs[i], &accesses[i], error);
  for (size_t i = 0; i < space->input_count && status == TBK_OK; i++)
    status = make_access(arena, set->inputs[i], input_at(code, i)->kind == TBK_INPUT_INDEXED,
                         &accesses[space->output_count + i], error);
  if (space_numbers(code)) memcpy(numbers, set->numbers, space_numbers(code) * sizeof *numbers);
  return status;
}

/* ---------------------------------------------------------------------------------- simplify -- */

static void swap_dimensions(space_t* space, int32_t d, int32_t e) {
  int64_t size = space->sizes[d];
  space->sizes[d] = space->sizes[e];
  space->sizes[e] = size;
  for (size_t i = 0; i < space->output_count + space->input_count; i++) {
    access_t* access = &space->accesses[i];
    if (access->own_rank >= 0) continue;
    int64_t stride = access->strides[d];
    access->strides[d] = access->strides[e];
    access->strides[e] = stride;
  }
}

/* Takes dimension `d` out. */
static void remove_dimension(space_t* space, int32_t d) {
  const int32_t rank = space->outer_rank + space->inner_rank;
  for (int32_t e = d; e + 1 < rank; e++)
    swap_dimensions(space, e, e + 1);
  for (size_t i = 0; i < space->output_count + space->input_count; i++)
    if (space->accesses[i].own_rank < 0) space->accesses[i].strides[rank - 1] = 0;
  if (d < space->outer_rank)
    space->outer_rank--;
  else
    space->inner_rank--;
}

/* How far the first operand that moves there steps. */
static int64_t step_of(const space_t* space, int32_t d) {
  for (size_t i = 0; i < space->output_count + space->input_count; i++) {
    const access_t* access = &space->accesses[i];
    if (access->own_rank < 0 && access->strides[d]) return llabs(access->strides[d]);
  }
  return 0;
}

/* The longest steps first; dimensions of equal ones stay as they are. */
static void sort_dimensions(space_t* space, int32_t first, int32_t rank) {
  for (int32_t d = first + 1; d < first + rank; d++)
    for (int32_t e = d; e > first && step_of(space, e - 1) < step_of(space, e); e--)
      swap_dimensions(space, e - 1, e);
}

static bool are_one(const space_t* space, int32_t d) {
  for (size_t i = 0; i < space->output_count + space->input_count; i++) {
    const access_t* access = &space->accesses[i];
    if (access->own_rank < 0 && access->strides[d] != access->strides[d + 1] * space->sizes[d + 1])
      return false;
  }
  return true;
}

/* Joins dimensions of [first, first + rank); returns how many are left. */
static int32_t merge_dimensions(space_t* space, int32_t first, int32_t rank) {
  for (int32_t d = first + rank - 1; d >= first; d--)
    if (space->sizes[d] == 1) {
      remove_dimension(space, d);
      rank--;
    }
  for (int32_t d = first + rank - 2; d >= first; d--)
    if (are_one(space, d)) {
      space->sizes[d + 1] *= space->sizes[d];
      remove_dimension(space, d);
      rank--;
    }
  return rank;
}

void space_simplify(space_t* space, space_rules_t rules) {
  if (space->outer_count == 0 || space->inner_count == 0) return;
  if (rules.sort_outer) sort_dimensions(space, 0, space->outer_rank);
  if (rules.sort_inner) sort_dimensions(space, space->outer_rank, space->inner_rank);
  if (rules.merge_outer) merge_dimensions(space, 0, space->outer_rank);
  if (rules.merge_inner) merge_dimensions(space, space->outer_rank, space->inner_rank);
}
