/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * fault.h: faults on request; optional, needs streams.
 */
#ifndef TBK_FAULT_H
#define TBK_FAULT_H

#include <tbk/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TBK_FAULT_WORK_FAILS = 0, TBK_FAULT_DEVICE_LOST = 1 };

/* Offered so that what this interface says about errors can be shown; of no use to a program. */
typedef struct tbk_fault_ops {
  size_t struct_size;

  /**
   * Enqueue work that fails, or that loses the device.
   * Requires:  stream != NULL and a known kind; else INVALID (checked).               [FLT-001]
   * Ensures:   after WORK_FAILS an error is reported, and the device stays usable.    [FLT-002]
   * Ensures:   after DEVICE_LOST every fallible call on that device answers DEVICE_LOST,
   *            but for giving back, which works; and what counts, describes, opens or closes
   *            devices, or says which reaches which, may answer as before.            [FLT-003]
   * Ensures:   other devices of the instance keep working.                            [FLT-004]
   * Ordering:  enqueued, in the order of that stream.                                 [FLT-005]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    INVALID as Requires says.                                              [ERR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*fault_enqueue)(tbk_instance_t* self, tbk_stream_t* stream, int32_t kind,
                                tbk_error_t* error) TBK_MUST_CHECK;
} tbk_fault_ops_t;

#ifdef __cplusplus
}
#endif

#endif /* TBK_FAULT_H */
