/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_program_call.c: tbk::pointwise with a fault in what it makes of a call: what it refuses, and of its
 * numbers, sets and operands.
 */
#include <string.h>
#include <tbk/dtypes.h>
#include <tbk/tbk_program.h>

#include "arguments.h"
#include "calls.h"
#include "generic_copy.h"

/* ----------------------------------------------------------------------------- what is refused --- */

LAUNCH(long_programs_are_refused) {
  const tbk_args_pointwise_t* a = pointwise_arguments(arguments);
  if (a != NULL && a->program->instruction_count > 60)
    return wrap_fail(error, TBK_UNSUPPORTED, "the program is long");
  return LAUNCH_INNER;
}
LAUNCH(malformed_programs_are_accepted) {
  return pointwise_arguments(arguments) == NULL ? TBK_OK : LAUNCH_INNER;
}
LAUNCH(malformed_programs_are_unsupported) {
  if (pointwise_arguments(arguments) == NULL)
    return wrap_fail(error, TBK_UNSUPPORTED, "a program is malformed");
  return LAUNCH_INNER;
}
LAUNCH(malformed_programs_have_no_reason) {
  tbk_status_t status = LAUNCH_INNER;
  if (status == TBK_INVALID && error != NULL) error->message[0] = '\0';
  return status;
}

/* ------------------------------------------------------------------------------------ numbers --- */

/* Of a program that was seen before, the numbers of the first time. */
enum { REMEMBERED = 64 };
typedef struct memory {
  uint64_t hash[REMEMBERED], numbers[REMEMBERED][TBK_PROGRAM_MOST_NUMBERS];
} memory_t;
static memory_t memory;

static const uint64_t* remembered(const tbk_args_pointwise_t* a) {
  uint64_t hash = tbk_program_hash(a->program);
  size_t at = hash % REMEMBERED, count = a->program->number_count;
  if (memory.hash[at] != hash) {
    memory.hash[at] = hash;
    memcpy(memory.numbers[at], a->sets[0]->numbers, count * sizeof(uint64_t));
  }
  return memory.numbers[at];
}

#define WITH_NUMBERS_REMEMBERED(inner)                                                 \
  do {                                                                                 \
    const tbk_args_pointwise_t* a = pointwise_arguments(arguments);                    \
    if (a == NULL || a->set_count == 0 || a->program->number_count == 0) return inner; \
    tbk_operand_set_t set = *a->sets[0];                                               \
    const tbk_operand_set_t* sets[64];                                                 \
    tbk_args_pointwise_t changed = *a;                                                 \
    set.numbers = remembered(a);                                                       \
    for (size_t s = 0; s < a->set_count && s < 64; ++s)                                \
      sets[s] = s == 0 ? &set : a->sets[s];                                            \
    changed.sets = sets;                                                               \
    arguments = &changed;                                                              \
    return inner;                                                                      \
  } while (0)
LAUNCH(numbers_are_compiled_in) {
  WITH_NUMBERS_REMEMBERED(LAUNCH_INNER);
}
PREPARE(plan_notes_numbers) {
  const tbk_args_pointwise_t* a = pointwise_arguments(arguments);
  if (a != NULL && a->set_count > 0 && a->program->number_count > 0) {
    memory.hash[tbk_program_hash(a->program) % REMEMBERED] = 0;
    remembered(a);
  }
  return PREPARE_INNER;
}
PREPARE(prepare_wants_numbers) {
  const tbk_args_pointwise_t* a = pointwise_arguments(arguments);
  for (size_t n = 0; a != NULL && a->set_count > 0 && n < a->program->number_count; ++n)
    if (a->sets[0]->numbers[n] == 0) return wrap_fail(error, TBK_INVALID, "a number is 0");
  return PREPARE_INNER;
}
LAUNCH_PLAN(plan_refuses_other_numbers) {
  const tbk_args_pointwise_t* a = pointwise_arguments(arguments);
  if (a != NULL && a->set_count > 0 && a->program->number_count > 0 &&
      remembered(a)[0] != a->sets[0]->numbers[0])
    return wrap_fail(error, TBK_INVALID, "not the numbers of the plan");
  return LAUNCH_PLAN_INNER;
}
LAUNCH_PLAN(plan_keeps_numbers) {
  WITH_NUMBERS_REMEMBERED(LAUNCH_PLAN_INNER);
}

/* --------------------------------------------------------------------------------------- sets --- */

LAUNCH(only_the_first_set_is_computed) {
  tbk_args_pointwise_t changed = *(const tbk_args_pointwise_t*)arguments;
  if (pointwise_arguments(arguments) == NULL) return LAUNCH_INNER;
  if (changed.set_count > 1) changed.set_count = 1;
  arguments = &changed;
  return LAUNCH_INNER;
}
LAUNCH(the_last_of_many_sets_is_forgotten) {
  tbk_args_pointwise_t changed = *(const tbk_args_pointwise_t*)arguments;
  if (pointwise_arguments(arguments) == NULL) return LAUNCH_INNER;
  if (changed.set_count > 3) --changed.set_count;
  arguments = &changed;
  return LAUNCH_INNER;
}
LAUNCH(no_sets_are_invalid) {
  const tbk_args_pointwise_t* a = pointwise_arguments(arguments);
  if (a != NULL && a->set_count == 0) return wrap_fail(error, TBK_INVALID, "no sets");
  return LAUNCH_INNER;
}

/* ------------------------------------------------------------------------------------ layouts --- */

/* Gives operands that are one number all along a long row that of the first row in all of them. */
static void keep_numbers(generic_copy_t* c) {
  enum { LONG = 256 };
  for (size_t i = 0; c->set_count == 1 && i < c->inputs; ++i) {
    generic_view_t* view = generic_operand(c, 0, c->outputs + i);
    const int32_t last = generic_last(view);
    if (last > 0 && view->sizes[last] > LONG && view->strides[last] == 0)
      memset(view->strides, 0, sizeof view->strides);
  }
}
LAUNCH(numbers_of_long_rows_are_kept) {
  GENERIC_CHANGED(keep_numbers(c));
}

/* The first input of each set as if it were contiguous. */
static tbk_status_t launch_contiguous(tbk_instance_t* self, int32_t device,
                                      const tbk_kernel_t* kernel, const void* arguments,
                                      tbk_stream_t* stream, tbk_error_t* error, int32_t least) {
  const tbk_args_pointwise_t* a = pointwise_arguments(arguments);
  if (a == NULL || a->program->input_count == 0 || a->set_count == 0) return LAUNCH_INNER;
  tbk_tensor_t input = *a->sets[0]->inputs[0];
  const tbk_tensor_t* inputs[TBK_PROGRAM_MOST_INPUTS];
  tbk_operand_set_t set = *a->sets[0];
  const tbk_operand_set_t* sets[1] = {&set};
  tbk_args_pointwise_t changed = *a;
  int64_t strides[TBK_PROGRAM_MOST_RANK], stride = 1;
  if (input.rank < least || a->set_count > 1) return LAUNCH_INNER;
  for (int32_t d = input.rank - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= input.sizes[d];
  }
  input.strides = strides;
  memcpy(inputs, set.inputs, a->program->input_count * sizeof *inputs);
  inputs[0] = &input;
  set.inputs = inputs;
  changed.sets = sets;
  arguments = &changed;
  return LAUNCH_INNER;
}
LAUNCH(strides_of_the_first_input_are_ignored) {
  return launch_contiguous(self, device, kernel, arguments, stream, error, 1);
}
LAUNCH(strides_are_ignored_from_rank_4_on) {
  return launch_contiguous(self, device, kernel, arguments, stream, error, 4);
}
static bool is_empty(const tbk_args_pointwise_t* a) {
  for (size_t s = 0; s < a->set_count; ++s)
    for (int32_t d = 0; d < a->sets[s]->outputs[0]->rank; ++d)
      if (a->sets[s]->outputs[0]->sizes[d] == 0) return true;
  return false;
}
LAUNCH(empty_spaces_are_invalid) {
  const tbk_args_pointwise_t* a = pointwise_arguments(arguments);
  if (a != NULL && is_empty(a)) return wrap_fail(error, TBK_INVALID, "nothing to compute");
  return LAUNCH_INNER;
}
/* The output is cleared first, which is seen where it is an input. */
LAUNCH(outputs_are_cleared_first) {
  const tbk_args_pointwise_t* a = pointwise_arguments(arguments);
  if (a == NULL || a->set_count == 0) return LAUNCH_INNER;
  const tbk_tensor_t* out = a->sets[0]->outputs[0];
  for (size_t i = 0; i < a->program->input_count; ++i) {
    const tbk_tensor_t* in = a->sets[0]->inputs[i];
    uint64_t size = (uint64_t)tbk_dtype_bytes(out->dtype);
    if (in->memory == out->memory && !is_empty(a))
      ignore(
          INNER(self, core)
              ->fill(self, device, out->memory, (uint64_t)out->offset * size, 0, size, NULL, NULL));
  }
  return LAUNCH_INNER;
}

#define POINTWISE_ROW(function, clause, operation, narrow, note) \
  KERNEL_ROW(function, clause, operation, narrow, TBK_NAME_pointwise, launch, note)
/* What prepare was given is noted. */
#define PLAN_ROW(function, clause, operation, note)                                              \
  {                                                                                              \
#function, clause, MUTANT, operation, NARROW, note,                                          \
        {PATCH(launching.prepare, plan_notes_numbers), PATCH(launching.launch_plan, function) }, \
         TBK_NAME_pointwise, 0, 0, 0                                                             \
  }
extern const mutant_t mutants_program_call[];
const mutant_t mutants_program_call[] = {
    POINTWISE_ROW(long_programs_are_refused, "PRG-001", RETURN, NARROW, "from 61 instructions on"),
    POINTWISE_ROW(malformed_programs_are_accepted, "PRG-011", RETURN, BROAD, "and do nothing"),
    POINTWISE_ROW(malformed_programs_are_unsupported, "PRG-011", RETURN, BROAD,
                  "a legal answer of others"),
    POINTWISE_ROW(malformed_programs_have_no_reason, "PRG-011", ERROR, NARROW,
                  "the message is empty"),
    POINTWISE_ROW(numbers_are_compiled_in, "PRG-007", STATE, NARROW,
                  "of the first set, by content"),
    PLAN_ROW(plan_keeps_numbers, "KRN-013", STATE,
             "a plan computes with the numbers it was made for"),
    PLAN_ROW(plan_refuses_other_numbers, "PRG-007", RETURN, "INVALID, as if they were shapes"),
    KERNEL_ROW(prepare_wants_numbers, "KRN-009", RETURN, NARROW, TBK_NAME_pointwise, prepare,
               "INVALID for 0"),
    POINTWISE_ROW(only_the_first_set_is_computed, "PRG-008", EXTENT, BROAD,
                  "the others stay as they were"),
    POINTWISE_ROW(the_last_of_many_sets_is_forgotten, "PRG-008", EXTENT, NARROW, "from four on"),
    POINTWISE_ROW(no_sets_are_invalid, "PRG-008", RETURN, NARROW, "an empty list is refused"),
    POINTWISE_ROW(numbers_of_long_rows_are_kept, "PRG-009", VALUE, NARROW,
                  "rows of more than 256 elements share those of the first row"),
    POINTWISE_ROW(strides_of_the_first_input_are_ignored, "PRG-009", VALUE, BROAD,
                  "read as contiguous"),
    POINTWISE_ROW(strides_are_ignored_from_rank_4_on, "PRG-009", VALUE, NARROW,
                  "read as contiguous"),
    POINTWISE_ROW(empty_spaces_are_invalid, "PRG-009", RETURN, NARROW, "nothing is a mistake"),
    POINTWISE_ROW(outputs_are_cleared_first, "PRG-010", VALUE, BROAD,
                  "one element, where it is an input"),
    {0},
};
