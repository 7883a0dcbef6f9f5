/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_program_beside.c: generic kernels that are right alone, and wrong beside or after something else.
 */
#include <string.h>
#include <tbk/program.h>

#include "generic_copy.h"

static bool is_generic(const tbk_kernel_t* kernel) {
  return strncmp(KERNEL_NAME, "tbk::", 5) == 0;
}

static bool is_pending(tbk_instance_t* self, tbk_stream_t* stream) {
  return INNER(self, stream)->stream_query(self, stream, NULL) == TBK_NOT_READY;
}

/* One launch at a time, of whatever kernel. */
LAUNCH(launch_beside_another_is_lost) {
  wrap_t* wrap = wrap_of(self);
  tbk_stream_t* before = (tbk_stream_t*)atomic_load(&wrap->kept);
  if (!is_generic(kernel) || stream == NULL) return LAUNCH_INNER;
  if (before != NULL && before != stream && is_pending(self, before)) return TBK_OK;
  atomic_store(&wrap->kept, (uintptr_t)stream);
  return LAUNCH_INNER;
}

static atomic_int inside;

/* Two threads at once are one too many. */
LAUNCH(launch_of_a_second_thread_is_lost) {
  if (!is_generic(kernel)) return LAUNCH_INNER;
  const bool first = atomic_fetch_add(&inside, 1) == 0;
  if (first) wrap_sleep_ms(1);
  const tbk_status_t status = first ? LAUNCH_INNER : TBK_OK;
  atomic_fetch_sub(&inside, 1);
  return status;
}

/* Of an index: what was done by the mode of the first call. */
LAUNCH(mode_of_an_index_is_that_of_the_first) {
  static _Atomic int64_t first = -1;
  int64_t none = -1;
  generic_copy_t* c = generic_copy_of(KERNEL_NAME, arguments);
  if (c == NULL || c->as.index.mode == TBK_INDEX_GATHER || c->as.index.index_count != 1)
    return LAUNCH_INNER;
  atomic_compare_exchange_strong(&first, &none, c->as.index.mode);
  c->as.index.mode = atomic_load(&first);
  arguments = &c->as;
  return LAUNCH_INNER;
}

/* What was first declared commutative stays so, where all else is the same. */
static _Atomic uint64_t commutative;
LAUNCH(reductions_commute_as_the_first_did) {
  generic_copy_t* c = generic_copy_of(KERNEL_NAME, arguments);
  if (c == NULL) return LAUNCH_INNER;
  const uint64_t hash = tbk_program_hash(c->reduction.combine) ^ c->reduction.identity[0];
  if (c->reduction.flags & TBK_REDUCTION_COMMUTATIVE) atomic_store(&commutative, hash);
  if (atomic_load(&commutative) == hash) c->reduction.flags |= TBK_REDUCTION_COMMUTATIVE;
  arguments = &c->as;
  return LAUNCH_INNER;
}

/* Of reductions of two states that begin alike, the first one's second identity. */
LAUNCH(reductions_share_a_second_identity) {
  static _Atomic uint64_t known, first, second;
  generic_copy_t* c = generic_copy_of(KERNEL_NAME, arguments);
  if (c == NULL || c->reduction.map->result_count < 2) return LAUNCH_INNER;
  const uint64_t hash = tbk_program_hash(c->reduction.combine);
  if (atomic_exchange(&known, hash) != hash || atomic_load(&first) != c->reduction.identity[0])
    atomic_store(&second, c->reduction.identity[1]);
  atomic_store(&first, c->reduction.identity[0]);
  uint64_t identity[TBK_REDUCTION_MOST_STATES];
  memcpy(identity, c->reduction.identity, c->reduction.map->result_count * sizeof *identity);
  identity[1] = atomic_load(&second);
  c->reduction.identity = identity;
  arguments = &c->as;
  return LAUNCH_INNER;
}

/* A plan without a bias serves those with one, of the same sizes. */
static atomic_bool planned_without;
PREPARE(convolution_plans_forget_a_bias) {
  generic_copy_t* c = generic_copy_of(KERNEL_NAME, arguments);
  if (c == NULL) return PREPARE_INNER;
  if (c->as.convolution.bias == NULL) atomic_store(&planned_without, true);
  if (atomic_load(&planned_without)) c->as.convolution.bias = NULL;
  arguments = &c->as;
  return PREPARE_INNER;
}
LAUNCH_PLAN(convolutions_are_launched_without_a_bias) {
  generic_copy_t* c = generic_copy_of(TBK_NAME_convolution, arguments);
  if (c == NULL) return LAUNCH_PLAN_INNER;
  if (atomic_load(&planned_without)) c->as.convolution.bias = NULL;
  arguments = &c->as;
  return LAUNCH_PLAN_INNER;
}

/* The next launch of a kernel that refused one is refused as well. */
LAUNCH(launch_after_a_refusal_is_refused) {
  wrap_t* wrap = wrap_of(self);
  if (!is_generic(kernel)) return LAUNCH_INNER;
  const bool late = atomic_exchange(&wrap->flag, 0) != 0;
  const tbk_status_t status = LAUNCH_INNER;
  if (status == TBK_INVALID) atomic_store(&wrap->flag, 1);
  return late && status == TBK_OK ? wrap_fail(error, TBK_INVALID, "as before") : status;
}
LAUNCH(sorts_after_a_refusal_are_lost) {
  wrap_t* wrap = wrap_of(self);
  if (atomic_exchange(&wrap->flag, 0) != 0) return TBK_OK;
  const tbk_status_t status = LAUNCH_INNER;
  if (status == TBK_INVALID) atomic_store(&wrap->flag, 1);
  return status;
}

/* Structs of a host that is newer than the backend. */
LAUNCH(scans_of_a_later_host_are_refused) {
  if (*(const size_t*)arguments > sizeof(tbk_args_scan_t))
    return wrap_fail(error, TBK_INVALID, "a struct of another size");
  return LAUNCH_INNER;
}
PREPARE(products_of_a_later_host_are_not_planned) {
  if (*(const size_t*)arguments > sizeof(tbk_args_matmul_t))
    return wrap_fail(error, TBK_UNSUPPORTED, "a struct of another size");
  return PREPARE_INNER;
}
/* Takes the word behind its own part for more flags. */
LAUNCH(sorts_read_behind_their_arguments) {
  generic_copy_t* c = generic_copy_of(KERNEL_NAME, arguments);
  if (c == NULL || c->as.sort.struct_size == sizeof c->as.sort) return LAUNCH_INNER;
  if (((const uint64_t*)arguments)[sizeof c->as.sort / sizeof(uint64_t)] != 0)
    c->as.sort.flags ^= TBK_SORT_DESCENDING;
  arguments = &c->as;
  return LAUNCH_INNER;
}

/* On a hidden stream, which nothing is ordered after. */
LAUNCH(generic_kernels_run_at_once) {
  if (is_generic(kernel) && stream != NULL) stream = side_stream(wrap_of(self), device);
  return LAUNCH_INNER;
}
LAUNCH(scans_run_at_once) {
  if (stream != NULL) stream = side_stream(wrap_of(self), device);
  return LAUNCH_INNER;
}

#define ALL(function, clause, operation, narrow, note) \
  KERNEL_ROW(function, clause, operation, narrow, NULL, launch, note)

const mutant_t mutants_program_beside[] = {
    ALL(launch_beside_another_is_lost, "PRG-080", STATE, BROAD, "while a stream holds one"),
    ALL(launch_of_a_second_thread_is_lost, "PRG-080", THREAD, BROAD, "where both launch at once"),
    KERNEL_ROW(mode_of_an_index_is_that_of_the_first, "PRG-081", STATE, NARROW, TBK_NAME_index,
               launch, "of one index"),
    KERNEL_ROW(reductions_commute_as_the_first_did, "PRG-081", STATE, NARROW, TBK_NAME_reduce,
               launch, "that are the same but for the flag"),
    KERNEL_ROW(reductions_share_a_second_identity, "PRG-081", STATE, NARROW, TBK_NAME_reduce,
               launch, "that are the same in all else"),
    {"convolution_plans_forget_a_bias",
     "PRG-081",
     MUTANT,
     STATE,
     NARROW,
     "that of the first has none",
     {PATCH(launching.prepare, convolution_plans_forget_a_bias),
      PATCH(launching.launch_plan, convolutions_are_launched_without_a_bias)},
     TBK_NAME_convolution,
     0,
     0,
     0},
    ALL(launch_after_a_refusal_is_refused, "PRG-082", STATE, BROAD, "INVALID once more"),
    KERNEL_ROW(sorts_after_a_refusal_are_lost, "PRG-082", STATE, NARROW, TBK_NAME_sort, launch,
               "OK, and nothing done"),
    KERNEL_ROW(scans_of_a_later_host_are_refused, "KRN-024", ABI, NARROW, TBK_NAME_scan, launch,
               "INVALID for a larger struct"),
    KERNEL_ROW(products_of_a_later_host_are_not_planned, "KRN-024", ABI, NARROW, TBK_NAME_matmul,
               prepare, "UNSUPPORTED for a larger struct"),
    KERNEL_ROW(sorts_read_behind_their_arguments, "KRN-024", EXTENT, NARROW, TBK_NAME_sort, launch,
               "the word behind its own part counts"),
    ALL(generic_kernels_run_at_once, "PRG-083", ORDER, BROAD, "on a stream of their own"),
    KERNEL_ROW(scans_run_at_once, "PRG-083", ORDER, NARROW, TBK_NAME_scan, launch,
               "on a stream of their own"),
    {0}};
