/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * anti_program.c: generic kernels that obey every clause and are odd in what is open: order, zeros, NaN, subnormal
 * numbers, workspaces, queues, and how long a program may be.
 */
#include <string.h>
#include <tbk/dtypes.h>

#include "generic_copy.h"
#include "rewrite.h"

/* ------------------------------------------------------------------------------------ programs -- */

static _Thread_local rewrite_t rewritten;

#define REWRITTEN(function)                 \
  GENERIC_CHANGED(c->as.pointwise.program = \
                      rewrite_program(&rewritten, c->as.pointwise.program, function, 0))

/* What is computed, and not loaded or chosen. */
static bool computes_real(const tbk_instruction_t* i) {
  return i->opcode >= TBK_OPCODE_ADD && i->opcode != TBK_OPCODE_COPYSIGN &&
         i->opcode != TBK_OPCODE_NEG && i->opcode != TBK_OPCODE_ABS &&
         (i->dtype == TBK_FLOAT32 || i->dtype == TBK_FLOAT64);
}

static uint32_t put_other_nan(rewrite_t* to, const tbk_instruction_t* i, const uint32_t* in,
                              uint64_t context) {
  const uint32_t value = rewrite_keep(to, i, in);
  if (!computes_real(i)) return value;
  const uint64_t nan = i->dtype == TBK_FLOAT64 ? UINT64_C(0xfff800000000beef) : 0xffc0beef;
  return rewrite_op(to, TBK_OPCODE_SELECT, i->dtype, 3,
                    rewrite_op(to, TBK_OPCODE_ISNAN, TBK_BOOL, 1, value, 0, 0),
                    rewrite_bits(to, i->dtype, nan), value);
}
LAUNCH(launch_with_other_nans) {
  REWRITTEN(put_other_nan);
}

static uint32_t flushed(rewrite_t* to, uint16_t dtype, uint32_t value, uint32_t zero) {
  const uint64_t least = dtype == TBK_FLOAT64 ? UINT64_C(1) << 52 : 0x00800000;
  const uint32_t size = rewrite_op(to, TBK_OPCODE_ABS, dtype, 1, value, 0, 0);
  const uint32_t small =
      rewrite_op(to, TBK_OPCODE_LT, TBK_BOOL, 2, size, rewrite_bits(to, dtype, least), 0);
  return rewrite_op(to, TBK_OPCODE_SELECT, dtype, 3, small, zero, value);
}

static uint32_t put_flushed(rewrite_t* to, const tbk_instruction_t* i, const uint32_t* in,
                            uint64_t context) {
  const uint32_t value = rewrite_keep(to, i, in);
  if (!computes_real(i)) return value;
  const uint32_t zero = rewrite_bits(to, i->dtype, 0);
  return flushed(to, i->dtype, value,
                 rewrite_op(to, TBK_OPCODE_COPYSIGN, i->dtype, 2, zero, value, 0));
}
LAUNCH(launch_without_subnormals) {
  REWRITTEN(put_flushed);
}

/* Flushes to +0; what is a zero already keeps its sign. */
static uint32_t put_flushed_up(rewrite_t* to, const tbk_instruction_t* i, const uint32_t* in,
                               uint64_t context) {
  const uint32_t value = rewrite_keep(to, i, in);
  if (!computes_real(i)) return value;
  const uint32_t zero = rewrite_bits(to, i->dtype, 0);
  const uint32_t is_zero = rewrite_op(to, TBK_OPCODE_EQ, TBK_BOOL, 2, value, zero, 0);
  return flushed(to, i->dtype, value,
                 rewrite_op(to, TBK_OPCODE_SELECT, i->dtype, 3, is_zero, value, zero));
}
LAUNCH(launch_with_positive_zeros) {
  REWRITTEN(put_flushed_up);
}

static uint32_t put_other_zero(rewrite_t* to, const tbk_instruction_t* i, const uint32_t* in,
                               uint64_t context) {
  const uint32_t turned[2] = {in[i->operand_count > 1 ? 1 : 0], in[0]};
  const bool chooses = i->opcode == TBK_OPCODE_MIN || i->opcode == TBK_OPCODE_MAX;
  return rewrite_keep(to, i, chooses ? turned : in);
}
LAUNCH(launch_with_other_zeros) {
  REWRITTEN(put_other_zero);
}

/* As long as a host may rely on, and no longer. */
static const char* too_much(const generic_copy_t* c) {
  const tbk_program_t* p = c->as.pointwise.program;
  if (p->instruction_count > 64) return "more than 64 instructions";
  return p->input_count > 16 || p->result_count > 16 || p->number_count > 16 ? "too many operands"
                                                                             : NULL;
}
LAUNCH(launch_of_short_programs) {
  GENERIC_UNLESS(too_much(c) != NULL, wrap_fail(error, TBK_UNSUPPORTED, too_much(c)));
}
PREPARE(prepare_of_short_programs) {
  const generic_copy_t* c = generic_copy_of(KERNEL_NAME, arguments);
  if (c != NULL && too_much(c) != NULL) return wrap_fail(error, TBK_UNSUPPORTED, too_much(c));
  return PREPARE_INNER;
}

/* --------------------------------------------------------------------------------------- order -- */

/* What the reduction declares commutative is combined the later state first. */
LAUNCH(launch_combined_backwards) {
  GENERIC_CHANGED(if ((c->reduction.flags & TBK_REDUCTION_COMMUTATIVE) != 0) c->reduction.combine =
                      rewrite_program(&rewritten, c->reduction.combine, rewrite_swapped,
                                      c->reduction.map->result_count));
}

/* Places of one element come in the opposite order, where none is asked for. */
static void turn_index(generic_copy_t* c) {
  generic_view_t* values = &c->views[INDEX_VALUES];
  if ((c->as.index.flags & TBK_INDEX_ORDERED) != 0 || values->tensor.rank < 1) return;
  for (int32_t t = 0; c->as.index.places != NULL && t < c->views[INDEX_TABLE].tensor.rank; t++)
    if (c->places[t] == TBK_INDEX_ALONG(0)) return;
  generic_turn(values, 0);
  for (size_t k = 0; k < c->as.index.index_count; k++)
    generic_turn(&c->views[INDEX_FIRST + k], 0);
}
LAUNCH(launch_indexed_backwards) {
  GENERIC_CHANGED(turn_index(c));
}

/* Equal elements in the opposite order, where it is not a stable sort: sorted down and written backwards. */
static void turn_sort(generic_copy_t* c) {
  const int32_t last = generic_last(&c->views[SORT_INPUT]);
  const bool all = c->as.sort.values == NULL ||
                   c->views[SORT_VALUES].sizes[last] == c->views[SORT_INPUT].sizes[last];
  const bool indices = c->as.sort.indices == NULL ||
                       c->views[SORT_INDICES].sizes[last] == c->views[SORT_INPUT].sizes[last];
  if ((c->as.sort.flags & TBK_SORT_STABLE) != 0 || !all || !indices) return;
  c->as.sort.flags ^= TBK_SORT_DESCENDING;
  if (c->as.sort.values != NULL) generic_turn(&c->views[SORT_VALUES], last);
  if (c->as.sort.indices != NULL) generic_turn(&c->views[SORT_INDICES], last);
}
static bool sorts_in_place(const generic_copy_t* c) {
  return c->as.sort.values != NULL && generic_same(&c->views[SORT_INPUT], &c->views[SORT_VALUES]);
}
LAUNCH(launch_sorted_backwards) {
  GENERIC_CHANGED(if (!sorts_in_place(c)) turn_sort(c));
}

/* --------------------------------------------------------------------------- sets, workspaces ---- */

/* Each set is a launch of its own. */
LAUNCH(launch_set_by_set) {
  generic_copy_t* c = generic_copy_of(KERNEL_NAME, arguments);
  if (c == NULL || c->set_count < 2) return LAUNCH_INNER;
  const size_t count = c->set_count;
  tbk_status_t status = TBK_OK;
  c->as.pointwise.set_count = 1;
  arguments = &c->as;
  for (size_t s = 0; status == TBK_OK && s < count; s++) {
    c->set_list[0] = &c->sets[s];
    status = LAUNCH_INNER;
  }
  return status;
}

/* More than the reference needs, and never nothing. */
PREPARE(prepare_with_workspace) {
  const tbk_status_t status = PREPARE_INNER;
  if (status == TBK_OK) *out_workspace_bytes += 4096;
  return status;
}

/* Products are at work on a queue of their own, between two points of the stream. */
LAUNCH(launch_on_own_queue) {
  if (stream == NULL) return LAUNCH_INNER;
  tbk_stream_t* const asked = stream;
  stream = side_after(wrap_of(self), asked);
  const tbk_status_t status = LAUNCH_INNER;
  const tbk_event_ops_t* event = INNER(self, event);
  tbk_event_t* point = NULL;
  if (event->event_create(self, device, 0, &point, NULL) != TBK_OK) return status;
  ignore(event->event_record(self, point, stream, NULL));
  ignore(event->event_wait(self, asked, point, NULL));
  event->event_destroy(self, point);
  return status;
}

#define OF_KERNEL(name, kernel, note, install, ...) \
  { name, NULL, ANTI, STATE, BROAD, note, {__VA_ARGS__}, kernel, 0, install, 0 }

extern const mutant_t mutants_anti_program[];
const mutant_t mutants_anti_program[] = {
    OF_KERNEL("programs_with_other_nans", TBK_NAME_pointwise,
              "NaN that is computed has a payload and a sign of its own", NULL,
              PATCH(launching.launch, launch_with_other_nans)),
    OF_KERNEL("programs_without_subnormals", TBK_NAME_pointwise,
              "results that are subnormal are zeros", NULL,
              PATCH(launching.launch, launch_without_subnormals)),
    OF_KERNEL("programs_with_positive_zeros", TBK_NAME_pointwise,
              "results that are subnormal are zeros, whose sign is lost", NULL,
              PATCH(launching.launch, launch_with_positive_zeros)),
    OF_KERNEL("programs_with_other_zeros", TBK_NAME_pointwise, "MIN and MAX take the other zero",
              NULL, PATCH(launching.launch, launch_with_other_zeros)),
    OF_KERNEL("programs_of_64", TBK_NAME_pointwise, "no more instructions than a host may rely on",
              NULL, PATCH(launching.launch, launch_of_short_programs),
              PATCH(launching.prepare, prepare_of_short_programs)),
    OF_KERNEL("reductions_combined_backwards", TBK_NAME_reduce,
              "the later state first, where combine is commutative", NULL,
              PATCH(launching.launch, launch_combined_backwards)),
    OF_KERNEL("indexed_backwards", TBK_NAME_index, "the last place first, where order is open",
              NULL, PATCH(launching.launch, launch_indexed_backwards)),
    OF_KERNEL("sorted_backwards", TBK_NAME_sort, "equal elements turn round", NULL,
              PATCH(launching.launch, launch_sorted_backwards)),
    OF_KERNEL("reduced_set_by_set", TBK_NAME_reduce, "each set is a launch of its own", NULL,
              PATCH(launching.launch, launch_set_by_set)),
    OF_KERNEL("plans_with_workspace", TBK_NAME_convolution, "a page more than is needed", NULL,
              PATCH(launching.prepare, prepare_with_workspace)),
    OF_KERNEL("products_on_a_queue_of_their_own", TBK_NAME_matmul,
              "between two points of the stream", notes_install,
              PATCH(launching.launch, launch_on_own_queue)),
    {0}};
