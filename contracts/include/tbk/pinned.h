/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * pinned.h: host memory that a device copies from and to without staging; optional.
 */
#ifndef TBK_PINNED_H
#define TBK_PINNED_H

#include <tbk/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tbk_pinned_ops {
  size_t struct_size;

  /**
   * Allocate host memory that `device` can copy from and to without staging.
   * Requires:  the instance has got the device open; else INVALID_STATE (checked).    [DEV-021]
   * Requires:  out_pointer != NULL; else INVALID (checked).                           [PIN-001]
   * Ensures:   the host can read and write every byte, and no live allocation shares one. [PIN-002]
   * Ensures:   a multiple of 64; size 0 gives NULL or what pinned_free accepts.       [PIN-003]
   * Ensures:   copies of every device of the instance may use it.                     [PIN-004]
   * Ensures:   at least 64 blocks, and 16 MiB in one or in several, can exist at a time. [PIN-011]
   * Ordering:  host-synchronous.                                                      [PIN-005]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller owns *out_pointer; give it back with pinned_free, once.     [PIN-006]
   * Errors:    OUT_OF_MEMORY when the host cannot give that much, for any size.       [PIN-007]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*pinned_alloc)(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                               void** out_pointer, tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Give pinned memory back; NULL does nothing.
   * Requires:  pointer came from pinned_alloc and no enqueued work uses it (undefined). [PIN-008]
   * Ensures:   its bytes can be allocated again.                                      [PIN-009]
   * Ordering:  host-synchronous.                                                      [PIN-005]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: takes the memory.                                                      [PIN-010]
   * Errors:    none.
   * On error:  none.
   * Since:     0
   */
  void (*pinned_free)(tbk_instance_t* self, void* pointer);
} tbk_pinned_ops_t;

#ifdef __cplusplus
}
#endif

#endif /* TBK_PINNED_H */
