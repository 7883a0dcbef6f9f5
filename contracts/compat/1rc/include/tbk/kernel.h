/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel.h: operators; optional.
 */
#ifndef TBK_KERNEL_H
#define TBK_KERNEL_H

#include <tbk/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A kernel computes one operator, named as PyTorch names its overloads: "add.Tensor", "copy_".
 * `arguments` is the struct that <tbk/tbk_operators.h> declares for it, struct_size first, made of
 * the types of <tbk/tbk_arguments.h>. Outputs are allocated beforehand. An output may be an input
 * exactly, and never overlaps one in part.
 */
struct tbk_kernel {
  size_t struct_size;

  /**
   * Run the kernel on `device`.
   * Requires:  arguments->struct_size covers its version; else INVALID (checked).     [KRN-001]
   * Requires:  tensors lie inside their storage, on the device (undefined).           [KRN-002]
   * Requires:  memory of tensors is aligned as memory_alloc's where flat (undefined). [KRN-027]
   * Ensures:   all elements of the outputs have their values; nothing else is written. [KRN-003]
   * Ensures:   inputs are unchanged, but where an output is that input.               [KRN-004]
   * Ensures:   any strides, rank 0, no elements: right, or refused.                   [KRN-005]
   * Ensures:   takes small contiguous FLOAT32 (conditions: BOOL) where it is declared. [KRN-023]
   * Ensures:   an output that is exactly an input gets the same values.               [KRN-006]
   * Ensures:   loading code for the first time may take seconds, and wait for work.   [KRN-029]
   * Ordering:  stream NULL: complete on return, ordered after nothing else.           [CPY-006]
   * Ordering:  with a stream: enqueued, in the order of that stream.                  [STR-001]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: arguments, and all they point to, may be reused when the call returns. [KRN-007]
   * Errors:    UNSUPPORTED with a reason, before any effect.                          [KRN-008]
   * Errors:    OUT_OF_MEMORY where it needs memory of its own and gets none.          [KRN-030]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*launch)(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                         const void* arguments, tbk_stream_t* stream,
                         tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Plan a launch for arguments of these shapes, strides, dtypes and kinds of numbers. May be NULL.
   * Requires:  arguments->struct_size covers its version; else INVALID (checked).     [KRN-001]
   * Ensures:   host only: reads no device memory; handles and values of numbers may be 0. [KRN-009]
   * Ensures:   *out_workspace_bytes is what launch_plan needs.                        [KRN-010]
   * Ensures:   loading code for the first time may take seconds, and wait for work.   [KRN-029]
   * Ordering:  host only.                                                             [STR-018]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller owns *out_plan; give it back with plan_destroy, once.       [KRN-011]
   * Errors:    UNSUPPORTED with a reason, before any effect.                          [KRN-008]
   * Errors:    OUT_OF_MEMORY where it needs memory of its own and gets none.          [KRN-030]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*prepare)(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                          const void* arguments, tbk_plan_t** out_plan,
                          uint64_t* out_workspace_bytes, tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Run `plan` on arguments like those it was made for: handles, offsets, numbers may be others.
   * Requires:  workspace has the bytes that prepare asked for (undefined).            [KRN-012]
   * Requires:  workspace_offset is a multiple of memory_alignment (undefined).        [KRN-028]
   * Requires:  memory of tensors is aligned as memory_alloc's where flat (undefined). [KRN-027]
   * Ensures:   the results of launch each time, whatever the values of numbers are.   [KRN-013]
   * Ensures:   UNSUPPORTED is not answered any more.                                  [KRN-014]
   * Ordering:  stream NULL: complete on return, ordered after nothing else.           [CPY-006]
   * Ordering:  with a stream: enqueued, in the order of that stream.                  [STR-001]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller keeps the workspace until the work is complete.             [KRN-015]
   * Errors:    INVALID as Requires says.                                              [ERR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*launch_plan)(tbk_instance_t* self, int32_t device, const tbk_plan_t* plan,
                              const void* arguments, tbk_memory_t workspace,
                              uint64_t workspace_offset, tbk_stream_t* stream,
                              tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Destroy `plan`, also while work enqueued with it is running; NULL does nothing.
   * Requires:  no later call names it (undefined).                                    [KRN-016]
   * Ensures:   work enqueued before still runs to its end.                            [KRN-017]
   * Ordering:  host only.                                                             [STR-018]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: takes the plan.                                                        [KRN-018]
   * Errors:    none.
   * On error:  none.
   * Since:     0
   */
  void (*plan_destroy)(tbk_instance_t* self, tbk_plan_t* plan);
};

typedef struct tbk_kernel_ops {
  size_t struct_size;

  /**
   * Find the kernel for operator `name`, with arguments of `version`.
   * Requires:  the instance has got the device open; else NULL (checked).             [KRN-019]
   * Ensures:   NULL for a name or a version that is not offered.                      [KRN-020]
   * Ensures:   the same kernel each time, valid until the device is closed.           [KRN-021]
   * Ordering:  host only.                                                             [STR-018]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: borrowed from the instance.                                            [KRN-022]
   * Errors:    none.
   * On error:  none.
   * Since:     0
   */
  const tbk_kernel_t* (*kernel_find)(tbk_instance_t* self, int32_t device, const char* name,
                                     uint32_t version);
} tbk_kernel_ops_t;

#ifdef __cplusplus
}
#endif

#endif /* TBK_KERNEL_H */
