/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_program_scan.c: tbk::scan with a fault: another reduction, or other operands, than those that the
 * reference was given.
 */
#include <string.h>
#include <tbk/program.h>

#include "calls.h"
#include "generic_copy.h"
#include "rewrite.h"

enum { RANK = TBK_PROGRAM_MOST_RANK, VIEWS = 2 * TBK_PROGRAM_MOST_INPUTS };

/* The arguments once more, to be changed. Where there is one set its views have sizes and strides of their own. */
typedef struct copy {
  tbk_args_scan_t arguments;
  tbk_reduction_t reduction;
  tbk_operand_set_t set;
  const tbk_operand_set_t* sets[1];
  tbk_tensor_t views[VIEWS];
  const tbk_tensor_t *outputs[TBK_PROGRAM_MOST_RESULTS], *inputs[VIEWS];
  int64_t sizes[VIEWS][RANK], strides[VIEWS][RANK];
  bool aligned[VIEWS];
  size_t count; /* of views: 0 where there are no sets, or several */
  int32_t last;
  int64_t length;
} copy_t;

static const tbk_tensor_t* copy_view(copy_t* to, const tbk_tensor_t* old, bool aligned) {
  const size_t at = to->count++;
  to->views[at] = *old;
  memcpy(to->sizes[at], old->sizes, (size_t)old->rank * sizeof(int64_t));
  memcpy(to->strides[at], old->strides, (size_t)old->rank * sizeof(int64_t));
  to->views[at].sizes = to->sizes[at];
  to->views[at].strides = to->strides[at];
  to->aligned[at] = aligned;
  return &to->views[at];
}

static void copy_set(copy_t* c) {
  const tbk_reduction_t* r = &c->reduction;
  const tbk_operand_set_t* old = c->arguments.sets[0];
  const size_t maps = r->map->input_count;
  if (r->finish->result_count + maps + r->finish->input_count > VIEWS) return;
  c->set = *old;
  c->last = old->outputs[0]->rank - 1;
  c->length = old->outputs[0]->sizes[c->last];
  for (size_t k = 0; k < r->finish->result_count; k++)
    c->outputs[k] = copy_view(c, old->outputs[k], true);
  for (size_t k = 0; k < maps + r->finish->input_count; k++) {
    const tbk_program_input_t* input = k < maps ? &r->map->inputs[k] : &r->finish->inputs[k - maps];
    c->inputs[k] = copy_view(c, old->inputs[k], input->kind == TBK_INPUT_ALIGNED);
  }
  c->set.outputs = c->outputs;
  c->set.inputs = c->inputs;
  c->sets[0] = &c->set;
  c->arguments.sets = c->sets;
}

/* Returns a copy that is the thread's; NULL where they are malformed, which is left to the reference. */
static copy_t* copy_of(const void* arguments) {
  static _Thread_local copy_t copy;
  const tbk_args_scan_t* a = arguments;
  if (a->struct_size < sizeof *a || tbk_reduction_check(a->reduction, NULL) != TBK_OK ||
      tbk_scan_check(a, NULL) != TBK_OK)
    return NULL;
  copy.arguments = *a;
  copy.reduction = *a->reduction;
  copy.arguments.reduction = &copy.reduction;
  copy.count = 0;
  copy.length = 0;
  if (a->set_count == 1) copy_set(&copy);
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

static _Thread_local rewrite_t rewritten;

static void rewrite(const tbk_program_t** program, rewrite_fn function, uint64_t context) {
  *program = rewrite_program(&rewritten, *program, function, context);
}

static bool is_reversed(const copy_t* c) {
  return (c->arguments.flags & TBK_SCAN_REVERSE) != 0;
}

/* ------------------------------------------------------------------------------------- elements -- */

/* Leaves `count` elements of the last dimension, from `first` on. */
static void cut(copy_t* c, int64_t first, int64_t count) {
  for (size_t at = 0; at < c->count; at++) {
    if (!c->aligned[at]) continue;
    c->views[at].offset += first * c->strides[at][c->last];
    c->sizes[at][c->last] = count;
  }
}
LAUNCH(last_element_is_not_scanned) {
  LAUNCH_CHANGED(if (c->length > 0) cut(c, 0, c->length - 1));
}
LAUNCH(element_behind_a_block_is_not_scanned) {
  LAUNCH_CHANGED(if (c->length > 1 && c->length % 16384 == 1) cut(c, 0, c->length - 1));
}
LAUNCH(last_of_a_long_segment_is_not_scanned) {
  LAUNCH_CHANGED(if (c->length > 60000) cut(c, 0, c->length - 1));
}

/* As if what stood before a block were nothing. */
LAUNCH(blocks_are_not_joined) {
  const void* whole = arguments;
  copy_t* c = copy_of(arguments);
  if (c == NULL || c->count == 0 || c->length < 1000) return LAUNCH_INNER;
  const int64_t half = c->length / 2;
  cut(c, 0, half);
  arguments = &c->arguments;
  const tbk_status_t status = LAUNCH_INNER;
  if (status != TBK_OK) return status;
  c = copy_of(whole);
  cut(c, half, c->length - half);
  arguments = &c->arguments;
  return LAUNCH_INNER;
}

/* The state in the dtype of the output. */
static uint32_t put_rounded(rewrite_t* to, const tbk_instruction_t* i, const uint32_t* operands,
                            uint64_t context) {
  const tbk_instruction_t narrow = {.opcode = TBK_OPCODE_CAST, .dtype = TBK_FLOAT16};
  const tbk_instruction_t wide = {.opcode = TBK_OPCODE_CAST, .dtype = TBK_FLOAT32};
  uint32_t value = rewrite_keep(to, i, operands);
  if (i->opcode != TBK_OPCODE_ADD) return value;
  value = rewrite_put(to, narrow, &value, 1);
  return rewrite_put(to, wide, &value, 1);
}
static bool gives_halves(const tbk_reduction_t* r) {
  return r->finish->instructions[r->finish->results[0]].dtype == TBK_FLOAT16;
}
LAUNCH(sums_of_halves_are_rounded_at_once) {
  LAUNCH_CHANGED(if (gives_halves(&c->reduction)) rewrite(&c->reduction.combine, put_rounded, 0));
}

/* ---------------------------------------------------------------------------- order and states --- */

static void swap_operands(copy_t* c) {
  rewrite(&c->reduction.combine, rewrite_swapped, c->reduction.map->result_count);
}
LAUNCH(scans_combine_the_later_first) {
  LAUNCH_CHANGED(swap_operands(c));
}
LAUNCH(long_scans_combine_the_later_first) {
  LAUNCH_CHANGED(if (c->length >= 65) swap_operands(c));
}
LAUNCH(reversed_scans_combine_as_they_lie) {
  LAUNCH_CHANGED(if (is_reversed(c)) swap_operands(c));
}
LAUNCH(scans_are_never_reversed) {
  LAUNCH_CHANGED(c->arguments.flags &= ~(uint64_t)TBK_SCAN_REVERSE);
}
static _Thread_local uint32_t results[TBK_PROGRAM_MOST_RESULTS];
LAUNCH(last_state_is_not_scanned) {
  LAUNCH_CHANGED(c->reduction.combine = rewrite_without_last(c->reduction.combine, 2, results));
}
LAUNCH(fourth_state_is_not_scanned) {
  LAUNCH_CHANGED(c->reduction.combine = rewrite_without_last(c->reduction.combine, 4, results));
}

/* --------------------------------------------------------------------------------------- places -- */

LAUNCH(map_of_a_scan_has_no_index) {
  LAUNCH_CHANGED(rewrite(&c->reduction.map, rewrite_without_place, TBK_OPCODE_LINEAR_INDEX));
}
LAUNCH(map_of_a_scan_has_no_coordinates) {
  LAUNCH_CHANGED(rewrite(&c->reduction.map, rewrite_without_place, TBK_OPCODE_COORDINATE));
}
LAUNCH(finish_of_a_scan_has_no_index) {
  LAUNCH_CHANGED(rewrite(&c->reduction.finish, rewrite_without_place, TBK_OPCODE_LINEAR_INDEX));
}

/* Tensors turned round and scanned forward. */
static void turn_round(copy_t* c) {
  c->arguments.flags &= ~(uint64_t)TBK_SCAN_REVERSE;
  for (size_t at = 0; at < c->count; at++) {
    if (!c->aligned[at] || c->length == 0) continue;
    c->views[at].offset += (c->length - 1) * c->strides[at][c->last];
    c->strides[at][c->last] = -c->strides[at][c->last];
  }
}
LAUNCH(reversed_scans_count_from_the_end) {
  LAUNCH_CHANGED(if (is_reversed(c) && c->count > 0) turn_round(c));
}
LAUNCH(numbers_of_a_scan_are_1) {
  static const uint64_t ones[TBK_PROGRAM_MOST_NUMBERS] = {1, 1, 1, 1};
  LAUNCH_CHANGED(c->set.numbers = ones);
}

/* ---------------------------------------------------------------------- aliases, refusal, sets --- */

static bool is_in_place(const copy_t* c) {
  for (size_t at = 1; c != NULL && at < c->count; at++)
    if (c->views[at].memory == c->views[0].memory && c->views[at].memory != 0) return true;
  return false;
}
LAUNCH(scans_in_place_are_refused) {
  if (is_in_place(copy_of(arguments))) return wrap_fail(error, TBK_INVALID, "it overlaps");
  return LAUNCH_INNER;
}
LAUNCH(scans_in_place_are_left_out) {
  return is_in_place(copy_of(arguments)) ? TBK_OK : LAUNCH_INNER;
}
/* Tells whether finish reads what is written. */
static bool finishes_in_place(generic_copy_t* c) {
  for (size_t s = 0; s < c->set_count; s++)
    for (size_t k = 0; k < c->outputs; k++)
      for (size_t i = c->reduction.map->input_count; i < c->inputs; i++)
        if (generic_same(generic_operand(c, s, k), generic_operand(c, s, c->outputs + i)))
          return true;
  return false;
}
/* Launches a kernel for each output, the last first, as if none read what another writes. */
LAUNCH(outputs_of_a_scan_in_place_are_made_in_turn) {
  generic_copy_t* c = generic_copy_of(KERNEL_NAME, arguments);
  if (c == NULL || c->outputs < 2 || !finishes_in_place(c)) return LAUNCH_INNER;
  const tbk_program_t* finish = c->reduction.finish;
  tbk_program_t one = *finish;
  one.result_count = 1;
  c->reduction.finish = &one;
  arguments = &c->as;
  tbk_status_t status = TBK_OK;
  for (size_t r = c->outputs; r-- > 0 && status == TBK_OK;) {
    one.results = finish->results + r;
    for (size_t s = 0; s < c->set_count; s++)
      c->sets[s].outputs = &c->list[s * (c->outputs + c->inputs) + r];
    status = LAUNCH_INNER;
  }
  return status;
}
LAUNCH(malformed_scans_are_accepted) {
  return copy_of(arguments) == NULL ? TBK_OK : LAUNCH_INNER;
}
LAUNCH(malformed_scans_are_unsupported) {
  if (copy_of(arguments) == NULL) return wrap_fail(error, TBK_UNSUPPORTED, "malformed");
  return LAUNCH_INNER;
}
LAUNCH(only_the_first_set_is_scanned) {
  LAUNCH_CHANGED(if (c->arguments.set_count > 1) c->arguments.set_count = 1);
}
LAUNCH(no_sets_of_a_scan_are_invalid) {
  const copy_t* c = copy_of(arguments);
  if (c != NULL && c->arguments.set_count == 0) return wrap_fail(error, TBK_INVALID, "no sets");
  return LAUNCH_INNER;
}

#define SCAN_ROW(function, clause, operation, narrow, note) \
  KERNEL_ROW(function, clause, operation, narrow, TBK_NAME_scan, launch, note)

const mutant_t mutants_program_scan[] = {
    SCAN_ROW(last_element_is_not_scanned, "PRG-065", EXTENT, BROAD, "one too few"),
    SCAN_ROW(last_of_a_long_segment_is_not_scanned, "PRG-065", EXTENT, NARROW, "above 60000"),
    SCAN_ROW(element_behind_a_block_is_not_scanned, "PRG-065", EXTENT, NARROW, "of n * 16384 + 1"),
    SCAN_ROW(blocks_are_not_joined, "PRG-065", VALUE, NARROW, "of segments from 1000 on"),
    SCAN_ROW(sums_of_halves_are_rounded_at_once, "PRG-065", VALUE, NARROW,
             "in the dtype of the output"),
    SCAN_ROW(scans_combine_the_later_first, "PRG-066", ORDER, BROAD, "as if it were commutative"),
    SCAN_ROW(long_scans_combine_the_later_first, "PRG-066", ORDER, NARROW, "from 65 on"),
    SCAN_ROW(last_state_is_not_scanned, "PRG-067", VALUE, BROAD, "it stays the first one's"),
    SCAN_ROW(fourth_state_is_not_scanned, "PRG-067", VALUE, NARROW, "three are enough for most"),
    SCAN_ROW(scans_are_never_reversed, "PRG-068", ORDER, BROAD, "the flag is not looked at"),
    SCAN_ROW(reversed_scans_combine_as_they_lie, "PRG-068", ORDER, NARROW,
             "the first operand is the earlier element"),
    SCAN_ROW(map_of_a_scan_has_no_index, "PRG-069", VALUE, NARROW, "it is 0"),
    SCAN_ROW(map_of_a_scan_has_no_coordinates, "PRG-069", VALUE, NARROW, "they are 0"),
    SCAN_ROW(finish_of_a_scan_has_no_index, "PRG-069", VALUE, NARROW, "it is 0"),
    SCAN_ROW(reversed_scans_count_from_the_end, "PRG-069", VALUE, NARROW, "what was turned round"),
    SCAN_ROW(numbers_of_a_scan_are_1, "PRG-069", VALUE, NARROW, "of a launch of one set"),
    SCAN_ROW(scans_in_place_are_refused, "PRG-070", RETURN, BROAD, "as if it overlapped"),
    SCAN_ROW(scans_in_place_are_left_out, "PRG-070", EXTENT, BROAD, "as if it were done"),
    SCAN_ROW(outputs_of_a_scan_in_place_are_made_in_turn, "PRG-070", ORDER, NARROW,
             "where an output is an input of finish"),
    SCAN_ROW(malformed_scans_are_accepted, "PRG-071", RETURN, BROAD, "and do nothing"),
    SCAN_ROW(malformed_scans_are_unsupported, "PRG-071", RETURN, BROAD, "another's answer"),
    SCAN_ROW(only_the_first_set_is_scanned, "PRG-072", EXTENT, BROAD, "the others stay"),
    SCAN_ROW(no_sets_of_a_scan_are_invalid, "PRG-072", RETURN, NARROW, "an empty list is refused"),
    {0},
};
