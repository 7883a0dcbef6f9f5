/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel_hooks.c: faults with another call than the one that is meant, with kernels and products, and with
 * memory in the order of a stream.
 */
#include <string.h>

#include "acts.h"

SETS(second_is_null, 1, 0)
ADDS(second_is_one_further, 1, 1)
ADDS(left_step_one_less, 9, -1)
ADDS(left_form_changed, 1, 1)
EXCHANGES(factors, 7, 10)
SETS(second_is_one, 1, 1)
SETS(computed_in_tf32, 17, CUBLAS_COMPUTE_TF32)
SWAPS(another_second, 1)
SETS(third_is_8_mib, 2, 8 << 20)
SETS(ninth_is_null, 8, 0)
EXCHANGES(rows_and_columns, 3, 4)
SWAPS(another_third, 2)
SWAPS(another_ninth, 8)
BEFORE(first_of_the_call_before, 0)

/* Beta is alpha, which is one. */
static shim_result_t adds_to_what_is_there(shim_call_t* call) {
  call->words[13] = call->words[6];
  return go_on(call);
}

/* Given back by the host, and not in the order of the stream. */
static shim_result_t freed_out_of_order(shim_call_t* call) {
  shim_hit();
  return shim_real(SHIM_mem_free, call->words);
}

static shim_result_t instead(shim_call_t* call, shim_index_t index) {
  shim_hit();
  return shim_real(index, call->words);
}

static shim_result_t as_device_copy(shim_call_t* call) {
  return instead(call, SHIM_copy_d2d);
}

static shim_result_t as_upload(shim_call_t* call) {
  return instead(call, SHIM_copy_h2d);
}

static shim_result_t peer_as_copy(shim_call_t* call) {
  const uintptr_t* w = call->words;
  const uintptr_t words[SHIM_WORDS] = {w[0], w[2], w[4], w[5]};
  shim_hit();
  return shim_real(SHIM_copy_d2d, words);
}

/* The stream of one is the first argument, and of the other the second. */
TURNS_INTO(as_record, SHIM_event_record)
TURNS_INTO(as_wait, SHIM_stream_wait_event)

static shim_result_t timed_the_other_way(shim_call_t* call) {
  call->words[1] ^= CU_EVENT_DISABLE_TIMING;
  return go_on(call);
}

/* In the order of the stream, and before the work that it was taken for. */
static shim_result_t given_back_at_once(shim_call_t* call) {
  const uintptr_t stream = call->words[2];
  shim_result_t result = go_on(call);
  if (result != CU_OK) return result;
  uintptr_t words[SHIM_WORDS] = {0, stream};
  memcpy(words, (const void*)call->words[0], sizeof *words);
  return shim_real(SHIM_mem_free_async, words);
}

static shim_result_t unloaded_at_once(shim_call_t* call) {
  const uintptr_t words[SHIM_WORDS] = {call->words[1]};
  shim_result_t result = go_on(call);
  return result == CU_OK ? shim_real(SHIM_module_unload, words) : result;
}

static shim_result_t one_group_less(shim_call_t* call) {
  if (call->words[1] < 2) return shim_real(call->index, call->words);
  call->words[1]--;
  return go_on(call);
}

extern const shim_hook_t shim_kernel_hooks[];
const shim_hook_t shim_kernel_hooks[] = {
    /* products */
    {"products-in-tf32", SHIM_gemm, computed_in_tf32},
    {"factors-exchanged", SHIM_gemm, factors},
    {"form-of-a-factor-changed", SHIM_gemm, left_form_changed},
    {"leading-dimension-one-less", SHIM_gemm, left_step_one_less},
    {"scalars-on-the-device", SHIM_set_pointer_mode, second_is_one},
    {"product-on-another-stream", SHIM_set_stream, another_second},
    {"product-on-the-default-stream", SHIM_set_stream, second_is_null},
    {"workspace-freed-out-of-order", SHIM_mem_free_async, freed_out_of_order},
    /* another call */
    {"upload-as-a-device-copy", SHIM_copy_h2d, as_device_copy},
    {"download-as-an-upload", SHIM_copy_d2h, as_upload},
    {"peer-copy-as-a-copy", SHIM_copy_peer, peer_as_copy},
    {"record-instead-of-wait", SHIM_stream_wait_event, as_record},
    {"wait-instead-of-record", SHIM_event_record, as_wait},
    {"events-timed-the-other-way", SHIM_event_create, timed_the_other_way},
    {"the-next-attribute", SHIM_device_get_attribute, second_is_one_further},
    {"stays-in-the-context-after-an-error", SHIM_mem_alloc, look_whether_it_fails},
    {"stays-in-the-context-after-an-error", SHIM_context_pop, stay_after_an_error},
    /* kernels, and memory in the order of a stream */
    {"launch-left-out", SHIM_launch_kernel, nothing},
    {"launch-a-group-short", SHIM_launch_kernel, one_group_less},
    {"launch-on-another-stream", SHIM_launch_kernel, another_ninth},
    {"launch-on-the-default-stream", SHIM_launch_kernel, ninth_is_null},
    {"launch-of-the-kernel-before", SHIM_launch_kernel, first_of_the_call_before},
    {"module-unloaded-at-once", SHIM_module_get_function, unloaded_at_once},
    {"memory-taken-on-another-stream", SHIM_mem_alloc_async, another_third},
    {"memory-given-back-on-another-stream", SHIM_mem_free_async, another_second},
    {"memory-given-back-at-once", SHIM_mem_alloc_async, given_back_at_once},
    {"product-adds-to-what-is-there", SHIM_gemm, adds_to_what_is_there},
    {"product-turned-round", SHIM_gemm, rows_and_columns},
    {"workspace-said-to-be-larger", SHIM_set_workspace, third_is_8_mib},
    {NULL, 0, NULL}};
