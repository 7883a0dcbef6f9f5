/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stream.h: queues of work, in order; optional.
 */
#ifndef TBK_STREAM_H
#define TBK_STREAM_H

#include <tbk/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tbk_stream_ops {
  size_t struct_size;

  /**
   * Create a stream on `device`. Lower `priority` comes first where the device cares.
   * Requires:  the instance has got the device open; else INVALID_STATE (checked).    [DEV-021]
   * Requires:  out_stream != NULL; else INVALID (checked).                            [STR-003]
   * Ensures:   *out_stream is not NULL, and has nothing to wait for.                  [STR-004]
   * Ensures:   a priority out of range is clamped, not refused.                       [STR-005]
   * Ensures:   at least 8 streams of a device can exist at a time.                    [STR-006]
   * Ordering:  host-synchronous.                                                      [STR-007]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller owns *out_stream; give it back with stream_destroy, once.   [STR-008]
   * Errors:    OUT_OF_MEMORY when no more streams can be had.                         [STR-009]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*stream_create)(tbk_instance_t* self, int32_t device, int32_t priority,
                                tbk_stream_t** out_stream, tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Destroy `stream`; NULL does nothing.
   * Requires:  no later call names it (undefined).                                    [STR-010]
   * Ensures:   work enqueued before still runs to its end.                            [STR-011]
   * Ordering:  may return before that work is complete.                               [STR-012]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: takes the stream.                                                      [STR-013]
   * Errors:    none.
   * On error:  none.
   * Since:     0
   */
  void (*stream_destroy)(tbk_instance_t* self, tbk_stream_t* stream);

  /**
   * Tell whether all work enqueued on `stream` has completed. Does not block.
   * Requires:  stream != NULL; else INVALID (checked).                                [STR-014]
   * Ensures:   OK only if all earlier work is complete, with effects visible to the host. [STR-015]
   * Ensures:   NOT_READY while earlier work is not complete, without waiting for it.  [STR-016]
   * Ensures:   asked again and again, it becomes OK without any other call.           [STR-017]
   * Ordering:  host only.                                                             [STR-018]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    FAILED or DEVICE_LOST of earlier work; it never stays NOT_READY for ever. [ERR-004]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*stream_query)(tbk_instance_t* self, tbk_stream_t* stream,
                               tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Wait for all work enqueued on `stream` so far.
   * Requires:  stream != NULL; else INVALID (checked).                                [STR-014]
   * Ensures:   all earlier work is complete, with effects visible to the host.        [STR-019]
   * Ensures:   does not wait for work enqueued later on other streams.                [STR-020]
   * Ordering:  host-synchronous.                                                      [STR-021]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    FAILED or DEVICE_LOST of earlier work, at the latest here.             [ERR-005]
   * On error:  the work is over all the same; the call has not returned early.        [ERR-006]
   * Since:     0
   */
  tbk_status_t (*stream_synchronize)(tbk_instance_t* self, tbk_stream_t* stream,
                                     tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Wait for all work enqueued on all streams of `device` so far.
   * Requires:  the instance has got the device open; else INVALID_STATE (checked).    [DEV-021]
   * Ensures:   earlier work of every stream of the device is complete and visible.    [STR-022]
   * Ensures:   succeeds where nothing was enqueued, and where there is no stream.     [STR-023]
   * Ordering:  host-synchronous.                                                      [STR-021]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    FAILED or DEVICE_LOST of earlier work, at the latest here.             [ERR-005]
   * On error:  the work is over all the same; the call has not returned early.        [ERR-006]
   * Since:     0
   */
  tbk_status_t (*device_synchronize)(tbk_instance_t* self, int32_t device,
                                     tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Give the driver's own handle of `stream`. May be NULL.
   * Requires:  stream and out_native != NULL; else INVALID (checked).                 [STR-024]
   * Ensures:   the same each time; earlier work is ordered before native work.        [STR-025]
   * Ordering:  host only, though it may flush a queue of the backend's own.           [STR-026]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: borrowed: valid as long as the stream.                                 [STR-027]
   * Errors:    INVALID as Requires says.                                              [ERR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*stream_native_handle)(tbk_instance_t* self, tbk_stream_t* stream,
                                       void** out_native, tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Make a stream of a native handle of `device`. May be NULL.
   * Requires:  native is a live handle of the device (undefined).                     [STR-028]
   * Requires:  out_stream != NULL; else INVALID (checked).                            [STR-003]
   * Ensures:   work on *out_stream is in one order with work on the native queue.     [STR-029]
   * Ordering:  host-synchronous.                                                      [STR-007]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: stream_destroy takes *out_stream and leaves the native queue alone.    [STR-030]
   * Errors:    INVALID as Requires says.                                              [ERR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*stream_from_native)(tbk_instance_t* self, int32_t device, void* native,
                                     tbk_stream_t** out_stream, tbk_error_t* error) TBK_MUST_CHECK;
} tbk_stream_ops_t;

#ifdef __cplusplus
}
#endif

#endif /* TBK_STREAM_H */
