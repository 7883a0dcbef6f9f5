/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * async_memory.h: memory that is allocated and freed in the order of a stream; optional, needs
 * streams.
 */
#ifndef TBK_ASYNC_MEMORY_H
#define TBK_ASYNC_MEMORY_H

#include <tbk/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tbk_async_memory_ops {
  size_t struct_size;

  /**
   * Allocate memory that work of `stream` may use from this point on.
   * Requires:  stream and out_memory != NULL; else INVALID (checked).                 [SOM-001]
   * Ensures:   what memory_alloc ensures, for later work of the stream.               [SOM-002]
   * Ordering:  other streams may use it once they are ordered after this point.       [SOM-003]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller owns *out_memory; give it back with async_free, once.       [SOM-004]
   * Errors:    OUT_OF_MEMORY when the device cannot give that much, for any size.     [MEM-009]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*async_alloc)(tbk_instance_t* self, tbk_stream_t* stream, uint64_t size_bytes,
                              tbk_memory_t* out_memory, tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Give memory of async_alloc back once earlier work of `stream` is complete. 0 does nothing.
   * Requires:  stream != NULL; else INVALID (checked).                                [STR-014]
   * Ensures:   no other allocation gets its bytes before that work is complete.       [SOM-005]
   * Ordering:  enqueued; returns at once.                                             [SOM-006]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: takes the memory.                                                      [SOM-007]
   * Errors:    none for memory of a lost device: it is accepted and forgotten.        [ERR-003]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*async_free)(tbk_instance_t* self, tbk_stream_t* stream, tbk_memory_t memory,
                             tbk_error_t* error) TBK_MUST_CHECK;
} tbk_async_memory_ops_t;

#ifdef __cplusplus
}
#endif

#endif /* TBK_ASYNC_MEMORY_H */
