/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * callback.h: calls of the host, enqueued; optional, needs streams.
 */
#ifndef TBK_CALLBACK_H
#define TBK_CALLBACK_H

#include <tbk/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*tbk_callback_fn)(void* argument);

typedef struct tbk_callback_ops {
  size_t struct_size;

  /**
   * Enqueue a call of `function` on the host. It may block, and must not call this interface.
   * Requires:  stream and function != NULL; else INVALID (checked).                   [CBK-001]
   * Requires:  `function` waits for no work that is not ordered before it (undefined). [CBK-009]
   * Ensures:   runs exactly once, with `argument`, on any thread, also the caller's.  [CBK-002]
   * Ensures:   earlier work of the stream is complete and visible to it.              [CBK-003]
   * Ensures:   later work of the stream starts after it has returned.                 [CBK-004]
   * Ensures:   after DEVICE_LOST it may be left out.                                  [CBK-005]
   * Ensures:   need not run before somebody asks or waits for what is after it.       [CBK-008]
   * Ordering:  enqueued, in the order of that stream.                                 [CBK-006]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller keeps what `argument` points to until it has run.           [CBK-007]
   * Errors:    INVALID as Requires says.                                              [ERR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*callback_enqueue)(tbk_instance_t* self, tbk_stream_t* stream,
                                   tbk_callback_fn function, void* argument,
                                   tbk_error_t* error) TBK_MUST_CHECK;
} tbk_callback_ops_t;

#ifdef __cplusplus
}
#endif

#endif /* TBK_CALLBACK_H */
