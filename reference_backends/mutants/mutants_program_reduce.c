/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_program_reduce.c: tbk::reduce with a fault: another reduction, or other operands, than those that
 * the reference was given.
 */
#include <stdlib.h>
#include <string.h>
#include <tbk/tbk_program.h>

#include "calls.h"
#include "generic_copy.h"
#include "program_parameter.h"
#include "rewrite.h"

static _Thread_local rewrite_t rewritten;

/* What is malformed is left to the reference. */
static const tbk_args_reduce_t* sound(const void* arguments) {
  const tbk_args_reduce_t* a = arguments;
  bool fits = a->struct_size >= sizeof *a && tbk_reduction_check(a->reduction, NULL) == TBK_OK &&
              tbk_reduce_check(a, NULL) == TBK_OK;
  return fits ? a : NULL;
}

/* Runs the reference with this member of the reduction written anew. */
#define LAUNCH_REWRITTEN(member, function, context)                                          \
  do {                                                                                       \
    const tbk_args_reduce_t* given = sound(arguments);                                       \
    if (given == NULL) return LAUNCH_INNER;                                                  \
    tbk_reduction_t reduction = *given->reduction;                                           \
    tbk_args_reduce_t changed = *given;                                                      \
    reduction.member = rewrite_program(&rewritten, reduction.member, (function), (context)); \
    changed.reduction = &reduction;                                                          \
    arguments = &changed;                                                                    \
    return LAUNCH_INNER;                                                                     \
  } while (0)

/* How many places the inner space of the first set has. */
static int64_t inner_places(const tbk_args_reduce_t* a) {
  int64_t count = 1;
  for (uint64_t d = 0; a->set_count > 0 && d < a->sets[0]->inner_rank; ++d)
    count *= a->sets[0]->inner_sizes[d];
  return a->set_count == 0 ? 0 : count;
}

/* ---------------------------------------------------------------------------------- combining -- */

/* Both operands of combine are the first. */
static uint32_t put_first_state(rewrite_t* to, const tbk_instruction_t* i, const uint32_t* operands,
                                uint64_t states) {
  tbk_instruction_t other = *i;
  if (i->opcode == TBK_OPCODE_PARAMETER && i->slot >= states) other.slot -= (uint16_t)states;
  return rewrite_keep(to, &other, operands);
}

static size_t states_of(const void* arguments) {
  const tbk_args_reduce_t* a = sound(arguments);
  return a != NULL ? a->reduction->map->result_count : 1;
}

TBK_RETURNS_launch launch_other_parameter TBK_PARAMETERS_launch {
  LAUNCH_REWRITTEN(combine, put_first_state, states_of(arguments));
}
LAUNCH(combine_takes_the_later_first) {
  LAUNCH_REWRITTEN(combine, rewrite_swapped, states_of(arguments));
}
LAUNCH(long_rows_are_combined_the_other_way_round) {
  const tbk_args_reduce_t* a = sound(arguments);
  if (a == NULL || inner_places(a) < 65) return LAUNCH_INNER;
  LAUNCH_REWRITTEN(combine, rewrite_swapped, states_of(arguments));
}

static tbk_status_t launch_without_last(tbk_instance_t* self, int32_t device,
                                        const tbk_kernel_t* kernel, const void* arguments,
                                        tbk_stream_t* stream, tbk_error_t* error, size_t least) {
  uint32_t results[TBK_PROGRAM_MOST_RESULTS];
  const tbk_args_reduce_t* a = sound(arguments);
  if (a == NULL) return LAUNCH_INNER;
  tbk_reduction_t reduction = *a->reduction;
  tbk_args_reduce_t changed = *a;
  reduction.combine = rewrite_without_last(reduction.combine, least, results);
  changed.reduction = &reduction;
  arguments = &changed;
  return LAUNCH_INNER;
}
LAUNCH(second_state_is_not_combined) {
  return launch_without_last(self, device, kernel, arguments, stream, error, 2);
}
LAUNCH(fourth_state_is_not_combined) {
  return launch_without_last(self, device, kernel, arguments, stream, error, 4);
}

/* max as a machine has it: whichever is greater, and b where neither is. */
static uint32_t put_plain_max(rewrite_t* to, const tbk_instruction_t* i, const uint32_t* operands,
                              uint64_t context) {
  tbk_instruction_t greater = {.opcode = TBK_OPCODE_GT, .dtype = TBK_BOOL};
  const tbk_instruction_t select = {.opcode = TBK_OPCODE_SELECT, .dtype = i->dtype};
  if (i->opcode != TBK_OPCODE_MAX) return rewrite_keep(to, i, operands);
  const uint32_t in[3] = {rewrite_put(to, greater, operands, 2), operands[0], operands[1]};
  return rewrite_put(to, select, in, 3);
}
LAUNCH(nan_is_lost_where_it_comes_first) {
  LAUNCH_REWRITTEN(combine, put_plain_max, 0);
}

/* Puts the last of three dimensions first, which lies farthest apart, so that memory is walked as it lies. */
static void rotate(int64_t* of) {
  const int64_t last = of[2];
  of[2] = of[1], of[1] = of[0], of[0] = last;
}
static bool lies_rotated(const generic_view_t* in) {
  const int64_t* strides = &in->strides[in->tensor.rank - 3];
  return strides[1] > 0 && strides[0] > strides[1] && strides[2] > strides[0];
}
static void walk_farthest_first(generic_copy_t* c) {
  const tbk_program_t* map = c->reduction.map;
  if ((c->reduction.flags & TBK_REDUCTION_COMMUTATIVE) != 0 || c->set_count != 1 ||
      c->sets[0].inner_rank != 3)
    return;
  for (size_t i = 0; i < map->input_count; ++i)
    if (map->inputs[i].kind != TBK_INPUT_ALIGNED ||
        !lies_rotated(generic_operand(c, 0, c->outputs + i)))
      return;
  for (size_t i = 0; i < map->input_count; ++i) {
    generic_view_t* in = generic_operand(c, 0, c->outputs + i);
    rotate(&in->sizes[in->tensor.rank - 3]);
    rotate(&in->strides[in->tensor.rank - 3]);
  }
  rotate(c->inner_sizes[0]);
}
LAUNCH(ordered_reductions_walk_the_farthest_first) {
  GENERIC_CHANGED(walk_farthest_first(c));
}

/* ----------------------------------------------------------------------------- map and finish --- */

LAUNCH(map_has_no_index) {
  LAUNCH_REWRITTEN(map, rewrite_without_place, TBK_OPCODE_LINEAR_INDEX);
}
LAUNCH(map_has_no_coordinates) {
  LAUNCH_REWRITTEN(map, rewrite_without_place, TBK_OPCODE_COORDINATE);
}
LAUNCH(finish_has_no_index) {
  LAUNCH_REWRITTEN(finish, rewrite_without_place, TBK_OPCODE_LINEAR_INDEX);
}
LAUNCH(numbers_of_a_reduction_are_1) {
  const tbk_args_reduce_t* a = sound(arguments);
  static const uint64_t ones[TBK_PROGRAM_MOST_NUMBERS] = {1, 1, 1, 1};
  if (a == NULL || a->set_count != 1) return LAUNCH_INNER;
  tbk_operand_set_t set = *a->sets[0];
  const tbk_operand_set_t* sets[1] = {&set};
  tbk_args_reduce_t changed = *a;
  set.numbers = ones;
  changed.sets = sets;
  arguments = &changed;
  return LAUNCH_INNER;
}

/* ------------------------------------------------------------------------------------ spaces ---- */

/* The identity as if it were 0, of whatever is empty. */
LAUNCH(empty_rows_give_finish_of_0) {
  static const uint64_t zeros[TBK_REDUCTION_MOST_STATES] = {0};
  const tbk_args_reduce_t* a = sound(arguments);
  if (a == NULL || inner_places(a) != 0) return LAUNCH_INNER;
  tbk_reduction_t reduction = *a->reduction;
  tbk_args_reduce_t changed = *a;
  reduction.identity = zeros;
  changed.reduction = &reduction;
  arguments = &changed;
  return LAUNCH_INNER;
}
LAUNCH(empty_rows_are_left_alone) {
  const tbk_args_reduce_t* a = sound(arguments);
  return a != NULL && a->set_count > 0 && inner_places(a) == 0 ? TBK_OK : LAUNCH_INNER;
}

/* The last element of rows of at least so many, in the last dimension. */
static tbk_status_t launch_short(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                                 const void* arguments, tbk_stream_t* stream, tbk_error_t* error,
                                 int64_t least) {
  const tbk_args_reduce_t* a = sound(arguments);
  if (a == NULL || a->set_count != 1 || a->sets[0]->inner_rank == 0 || inner_places(a) < least)
    return LAUNCH_INNER;
  size_t count = a->reduction->map->input_count, all = count + a->reduction->finish->input_count;
  tbk_operand_set_t set = *a->sets[0];
  const tbk_operand_set_t* sets[1] = {&set};
  tbk_tensor_t views[TBK_PROGRAM_MOST_INPUTS];
  const tbk_tensor_t* inputs[2 * TBK_PROGRAM_MOST_INPUTS];
  int64_t sizes[TBK_PROGRAM_MOST_INPUTS][TBK_PROGRAM_MOST_RANK], inner[TBK_PROGRAM_MOST_RANK];
  uint64_t last = set.inner_rank - 1;
  memcpy(inner, set.inner_sizes, set.inner_rank * sizeof *inner);
  --inner[last];
  if (inner[last] < 0) return LAUNCH_INNER;
  memcpy(inputs, set.inputs, all * sizeof *inputs);
  for (size_t i = 0; i < count; ++i) {
    views[i] = *set.inputs[i];
    if (a->reduction->map->inputs[i].kind != TBK_INPUT_ALIGNED) continue;
    memcpy(sizes[i], views[i].sizes, (size_t)views[i].rank * sizeof(int64_t));
    --sizes[i][views[i].rank - 1];
    views[i].sizes = sizes[i];
    inputs[i] = &views[i];
  }
  tbk_args_reduce_t changed = *a;
  set.inner_sizes = inner, set.inputs = inputs, changed.sets = sets;
  arguments = &changed;
  return LAUNCH_INNER;
}
LAUNCH(last_element_is_forgotten) {
  return launch_short(self, device, kernel, arguments, stream, error, 1);
}
/* The only one of the last block. */
LAUNCH(element_behind_a_block_is_forgotten) {
  const tbk_args_reduce_t* a = sound(arguments);
  if (a == NULL || inner_places(a) % 16384 != 1) return LAUNCH_INNER;
  return launch_short(self, device, kernel, arguments, stream, error, 2);
}
LAUNCH(last_of_a_long_row_is_forgotten) {
  return launch_short(self, device, kernel, arguments, stream, error, 100000);
}

/* --------------------------------------------------------------------------- refusal and sets --- */

LAUNCH(malformed_reductions_are_accepted) {
  return sound(arguments) == NULL ? TBK_OK : LAUNCH_INNER;
}
LAUNCH(malformed_reductions_are_unsupported) {
  if (sound(arguments) == NULL) return wrap_fail(error, TBK_UNSUPPORTED, "malformed");
  return LAUNCH_INNER;
}
LAUNCH(only_the_first_set_is_reduced) {
  const tbk_args_reduce_t* a = sound(arguments);
  if (a == NULL) return LAUNCH_INNER;
  tbk_args_reduce_t changed = *a;
  if (changed.set_count > 1) changed.set_count = 1;
  arguments = &changed;
  return LAUNCH_INNER;
}
LAUNCH(no_sets_of_a_reduction_are_invalid) {
  const tbk_args_reduce_t* a = sound(arguments);
  if (a != NULL && a->set_count == 0) return wrap_fail(error, TBK_INVALID, "no sets");
  return LAUNCH_INNER;
}

#define REDUCE_ROW(function, clause, operation, narrow, note) \
  KERNEL_ROW(function, clause, operation, narrow, TBK_NAME_reduce, launch, note)

const mutant_t mutants_program_reduce[] = {
    REDUCE_ROW(empty_rows_give_finish_of_0, "PRG-013", VALUE, NARROW,
               "the identity is not looked at"),
    REDUCE_ROW(empty_rows_are_left_alone, "PRG-013", EXTENT, BROAD,
               "their outputs stay as they were"),
    REDUCE_ROW(combine_takes_the_later_first, "PRG-014", ORDER, BROAD, "as if it were commutative"),
    REDUCE_ROW(long_rows_are_combined_the_other_way_round, "PRG-014", ORDER, NARROW, "from 65 on"),
    REDUCE_ROW(ordered_reductions_walk_the_farthest_first, "PRG-014", ORDER, NARROW,
               "three inner dimensions, of which the last lies outermost"),
    REDUCE_ROW(second_state_is_not_combined, "PRG-015", VALUE, BROAD,
               "the last stays the first one's"),
    REDUCE_ROW(fourth_state_is_not_combined, "PRG-015", VALUE, NARROW, "three are enough for most"),
    REDUCE_ROW(last_element_is_forgotten, "PRG-016", EXTENT, BROAD, "one too few"),
    REDUCE_ROW(last_of_a_long_row_is_forgotten, "PRG-016", EXTENT, NARROW, "of 100000 and more"),
    REDUCE_ROW(element_behind_a_block_is_forgotten, "PRG-016", EXTENT, NARROW, "of n * 16384 + 1"),
    REDUCE_ROW(nan_is_lost_where_it_comes_first, "PRG-017", VALUE, BROAD, "a > b ? a : b"),
    REDUCE_ROW(map_has_no_index, "PRG-018", VALUE, NARROW, "it is 0"),
    REDUCE_ROW(map_has_no_coordinates, "PRG-018", VALUE, NARROW, "they are 0"),
    REDUCE_ROW(finish_has_no_index, "PRG-018", VALUE, NARROW, "it is 0"),
    REDUCE_ROW(numbers_of_a_reduction_are_1, "PRG-018", VALUE, NARROW, "of a launch of one set"),
    REDUCE_ROW(malformed_reductions_are_accepted, "PRG-019", RETURN, BROAD, "and do nothing"),
    REDUCE_ROW(malformed_reductions_are_unsupported, "PRG-019", RETURN, BROAD, "another's answer"),
    REDUCE_ROW(only_the_first_set_is_reduced, "PRG-020", EXTENT, BROAD,
               "the others stay as they were"),
    REDUCE_ROW(no_sets_of_a_reduction_are_invalid, "PRG-020", RETURN, NARROW,
               "an empty list is refused"),
    {0},
};
