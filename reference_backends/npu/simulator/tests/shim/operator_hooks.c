/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * operator_hooks.c: faults with operators, and with what describes their operands.
 */
#include <string.h>

#include "acts.h"

enum { WRONG_FORMAT = 29, HF32 = 3 };

SETS(first_is_null, 0, 0)
SETS(third_is_unknown, 2, 0x80)
SETS(fourth_is_null, 3, 0)
SETS(fourth_is_hf32, 3, HF32)
SETS(fifth_is_zero, 4, 0)
SETS(sixth_is_tiled, 5, WRONG_FORMAT)
ADDS(first_is_half_aligned, 0, 32)
ADDS(ninth_is_an_element_further, 8, 4)
ADDS(one_byte_less_of_it, 1, -1)
EXCHANGES(first_and_second, 0, 1)
EXCHANGES(second_and_third, 1, 2)
SETS(third_is_null, 2, 0)
BEFORE(first_of_the_call_before, 0)
BEFORE(third_of_the_call_before, 2)

static shim_result_t freed_while_it_runs(shim_call_t* call) {
  uintptr_t words[SHIM_WORDS] = {call->words[0]};
  shim_result_t result = go_on(call);
  if (call->words[0] != 0) (void)shim_real(SHIM_free, words);
  return result;
}

static shim_result_t freed_before_it_runs(shim_call_t* call) {
  uintptr_t words[SHIM_WORDS] = {call->words[0]};
  if (call->words[0] != 0) (void)shim_real(SHIM_free, words);
  return go_on(call);
}

/* What describes the first operand is gone before the second phase. */
static shim_result_t destroyed_between(shim_call_t* call) {
  uintptr_t words[SHIM_WORDS] = {call->words[0]};
  shim_result_t result = go_on(call);
  if (result == ACL_OK) (void)shim_real(SHIM_destroy_tensor, words);
  return result;
}

static shim_result_t keeps_other_dimensions(shim_call_t* call) {
  call->words[2] ^= 1;
  return go_on(call);
}

static shim_result_t asks_for_nothing(shim_call_t* call) {
  const size_t bytes = call->index == SHIM_plan_sum ? 5 : 4;
  shim_result_t result = go_on(call);
  if (result == ACL_OK) *(uint64_t*)call->words[bytes] = 0;
  return result;
}

static shim_result_t one_element_short(shim_call_t* call) {
  int64_t elements = *(const int64_t*)call->words[6];
  if (call->words[7] != 1 || elements == 0) return shim_real(call->index, call->words);
  elements--;
  call->words[6] = (uintptr_t)&elements;
  return go_on(call);
}

/* What argument `word` of a first phase describes is gone before the second. */
static shim_result_t gone_between(shim_call_t* call, size_t word, shim_index_t destroy) {
  const uintptr_t words[SHIM_WORDS] = {call->words[word]};
  shim_result_t result = go_on(call);
  if (result == ACL_OK) (void)shim_real(destroy, words);
  return result;
}

static shim_result_t scalar_gone_between(shim_call_t* call) {
  return gone_between(call, 2, SHIM_destroy_scalar);
}

static shim_result_t dimensions_gone_between(shim_call_t* call) {
  return gone_between(call, 1, SHIM_destroy_ints);
}

static shim_result_t executor_gone_before(shim_call_t* call) {
  const uintptr_t words[SHIM_WORDS] = {call->words[2]};
  (void)shim_real(SHIM_destroy_executor, words);
  return go_on(call);
}

static shim_result_t whole_numbers(shim_call_t* call) {
  if (call->words[2] != ACL_FLOAT32) return shim_real(call->index, call->words);
  call->words[2] = ACL_INT32;
  return go_on(call);
}

static shim_result_t into_the_first_operand(shim_call_t* call) {
  call->words[3] = call->words[0];
  return go_on(call);
}

extern const shim_hook_t shim_operator_hooks[];
const shim_hook_t shim_operator_hooks[] = {
    /* operators */
    {"workspace-a-byte-short", SHIM_issue_sum, one_byte_less_of_it},
    {"workspace-left-out", SHIM_issue_sum, first_is_null},
    {"workspace-misaligned", SHIM_issue_sum, first_is_half_aligned},
    {"workspace-not-asked-for", SHIM_plan_sum, asks_for_nothing},
    {"workspace-freed-while-it-runs", SHIM_issue_sum, freed_while_it_runs},
    {"workspace-freed-before", SHIM_issue_mm, freed_before_it_runs},
    {"executor-issued-twice", SHIM_issue_add, twice},
    {"second-phase-left-out", SHIM_issue_add, nothing},
    {"executor-is-null", SHIM_issue_mul, third_is_unknown},
    {"tensor-destroyed-between", SHIM_plan_add, destroyed_between},
    {"tensor-leaks", SHIM_destroy_tensor, nothing},
    {"tensor-destroyed-twice", SHIM_destroy_tensor, twice},
    {"scalar-destroyed-twice", SHIM_destroy_scalar, twice},
    {"list-destroyed-twice", SHIM_destroy_ints, twice},
    {"executor-not-repeatable", SHIM_make_repeatable, nothing},
    {"executor-leaks", SHIM_destroy_executor, nothing},
    {"executor-destroyed-twice", SHIM_destroy_executor, twice},
    {"offset-in-the-base", SHIM_create_tensor, ninth_is_an_element_further},
    {"offset-left-out", SHIM_create_tensor, fifth_is_zero},
    {"strides-left-out", SHIM_create_tensor, fourth_is_null},
    {"storage-an-element-short", SHIM_create_tensor, one_element_short},
    {"format-tiled", SHIM_create_tensor, sixth_is_tiled},
    {"other-dimensions-kept", SHIM_plan_sum, keeps_other_dimensions},
    {"factors-exchanged", SHIM_plan_mm, first_and_second},
    {"product-in-a-narrower-format", SHIM_plan_mm, fourth_is_hf32},
    {"scalar-destroyed-between", SHIM_plan_add, scalar_gone_between},
    {"dimensions-destroyed-between", SHIM_plan_sum, dimensions_gone_between},
    {"executor-destroyed-before", SHIM_issue_add, executor_gone_before},
    {"executor-of-the-call-before", SHIM_issue_add, third_of_the_call_before},
    {"workspace-of-the-call-before", SHIM_issue_sum, first_of_the_call_before},
    {"sum-without-a-factor", SHIM_plan_add, third_is_null},
    {"sum-into-its-operand", SHIM_plan_add, into_the_first_operand},
    {"choices-exchanged", SHIM_plan_where, second_and_third},
    {"tensors-of-whole-numbers", SHIM_create_tensor, whole_numbers},
    {"kernel-left-out", SHIM_issue_mul, nothing},
    {NULL, 0, NULL}};
