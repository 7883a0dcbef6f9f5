/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * event.h: points in streams, for waiting and timing; optional, needs streams.
 */
#ifndef TBK_EVENT_H
#define TBK_EVENT_H

#include <tbk/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TBK_EVENT_TIMING = 1 << 0, TBK_EVENT_FLAGS_KNOWN = (1 << 1) - 1 };

typedef struct tbk_event_ops {
  size_t struct_size;

  /**
   * Create an event on `device`. `flags` is 0 or TBK_EVENT_TIMING.
   * Requires:  the instance has got the device open; else INVALID_STATE (checked).    [DEV-021]
   * Requires:  out_event != NULL and no unknown bit in flags; else INVALID (checked). [EVT-001]
   * Ensures:   complete until recorded: query and synchronize succeed, wait adds nothing. [EVT-002]
   * Ensures:   at least 8 events of a device can exist at a time.                     [EVT-003]
   * Ordering:  host-synchronous.                                                      [EVT-004]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller owns *out_event; give it back with event_destroy, once.     [EVT-005]
   * Errors:    OUT_OF_MEMORY when no more events can be had.                          [EVT-006]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*event_create)(tbk_instance_t* self, int32_t device, uint32_t flags,
                               tbk_event_t** out_event, tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Destroy `event`; NULL does nothing.
   * Requires:  no later call names it (undefined).                                    [EVT-007]
   * Ensures:   legal while it is pending; waits already enqueued stay in force.       [EVT-008]
   * Ordering:  does not wait for the work it was recorded after.                      [EVT-009]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: takes the event.                                                       [EVT-010]
   * Errors:    none.
   * On error:  none.
   * Since:     0
   */
  void (*event_destroy)(tbk_instance_t* self, tbk_event_t* event);

  /**
   * Record in `event` all work enqueued on `stream` so far.
   * Requires:  event and stream != NULL and of one device; else INVALID (checked).    [EVT-011]
   * Ensures:   it completes when all that work has: copies, fills, kernels, callbacks. [EVT-012]
   * Ensures:   work enqueued later is not needed for it to complete.                  [EVT-013]
   * Ensures:   recorded again, it stands for the new point from this call on.         [EVT-014]
   * Ordering:  enqueued, in the order of that stream.                                 [EVT-015]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    INVALID as Requires says.                                              [ERR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*event_record)(tbk_instance_t* self, tbk_event_t* event, tbk_stream_t* stream,
                               tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Make later work of `stream` wait for `event`. May be done by waiting on the host.
   * Requires:  stream and event != NULL; else INVALID (checked).                      [EVT-016]
   * Requires:  one device, unless TBK_DEVICE_CROSS_DEVICE_WAIT; else INVALID (checked). [EVT-017]
   * Ensures:   later work runs after what was last recorded before this call.         [EVT-018]
   * Ensures:   a record made after this call changes nothing for it.                  [EVT-019]
   * Ensures:   any number of streams may wait, also the one it was recorded on.       [EVT-020]
   * Ensures:   an event of another device orders work in the same way.                [EVT-021]
   * Ordering:  enqueued, in the order of that stream.                                 [EVT-015]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    INVALID as Requires says.                                              [ERR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*event_wait)(tbk_instance_t* self, tbk_stream_t* stream, tbk_event_t* event,
                             tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Tell whether what `event` recorded has completed. Does not block.
   * Requires:  event != NULL; else INVALID (checked).                                 [EVT-022]
   * Ensures:   OK only if the recorded work is complete, visible to the host.         [EVT-023]
   * Ensures:   NOT_READY while the recorded work is not complete, without waiting for it. [EVT-024]
   * Ensures:   asked again and again, it becomes OK without any other call.           [EVT-025]
   * Ordering:  host only.                                                             [STR-018]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    FAILED or DEVICE_LOST of earlier work; it never stays NOT_READY for ever. [ERR-004]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*event_query)(tbk_instance_t* self, tbk_event_t* event,
                              tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Wait for what `event` recorded.
   * Requires:  event != NULL; else INVALID (checked).                                 [EVT-022]
   * Ensures:   the recorded work is complete, with effects visible to the host.       [EVT-026]
   * Ordering:  host-synchronous.                                                      [STR-021]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    FAILED or DEVICE_LOST of recorded work, here or at a later synchronize. [ERR-007]
   * On error:  the work is over all the same; the call has not returned early.        [ERR-006]
   * Since:     0
   */
  tbk_status_t (*event_synchronize)(tbk_instance_t* self, tbk_event_t* event,
                                    tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Give the time from `start` to `end` in milliseconds. Does not wait. May be NULL.
   * Requires:  both timing, recorded, of one device; else INVALID_STATE (checked).    [EVT-027]
   * Requires:  start, end and out_ms != NULL; else INVALID (checked).                 [EVT-028]
   * Ensures:   not negative where end is ordered after start.                         [EVT-029]
   * Ensures:   milliseconds, as the host's clock would measure them.                  [EVT-030]
   * Ensures:   from 20 ms on, wrong by less than a factor of 10.                      [EVT-032]
   * Ordering:  host only.                                                             [STR-018]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    NOT_READY while either is not complete.                                [EVT-031]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*event_elapsed)(tbk_instance_t* self, tbk_event_t* start, tbk_event_t* end,
                                double* out_ms, tbk_error_t* error) TBK_MUST_CHECK;
} tbk_event_ops_t;

#ifdef __cplusplus
}
#endif

#endif /* TBK_EVENT_H */
