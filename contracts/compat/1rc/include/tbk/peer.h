/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * peer.h: copies between devices; optional.
 */
#ifndef TBK_PEER_H
#define TBK_PEER_H

#include <tbk/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tbk_peer_ops {
  size_t struct_size;

  /**
   * Tell whether `device` reaches memory of `peer` directly.
   * Requires:  0 <= device, peer < device count, out_can != NULL; else INVALID (checked). [PER-001]
   * Ensures:   *out_can is 0 or 1, and 0 where peer is device.                        [PER-002]
   * Ordering:  host only; opens no device.                                            [DEV-004]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    INVALID as Requires says.                                              [ERR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*peer_can_access)(tbk_instance_t* self, int32_t device, int32_t peer,
                                  int32_t* out_can, tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Copy from memory of one device to memory of another. `stream` is one of the source's device.
   * Requires:  the instance has got both devices open; else INVALID_STATE (checked).  [PER-003]
   * Requires:  offsets, size: multiples of both granularities; else INVALID (checked). [PER-004]
   * Ensures:   works whatever peer_can_access says, and where both are one device.    [PER-005]
   * Ensures:   the bytes arrive, and no byte outside the destination is written.      [PER-006]
   * Ordering:  stream NULL: complete on return, ordered after nothing else.           [CPY-006]
   * Ordering:  with a stream: enqueued, in the order of that stream.                  [STR-001]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    INVALID where the stream is not of the source's device (checked).      [PER-007]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*peer_copy)(tbk_instance_t* self, int32_t destination_device,
                            tbk_memory_t destination, uint64_t destination_offset,
                            int32_t source_device, tbk_memory_t source, uint64_t source_offset,
                            uint64_t size_bytes, tbk_stream_t* stream,
                            tbk_error_t* error) TBK_MUST_CHECK;
} tbk_peer_ops_t;

#ifdef __cplusplus
}
#endif

#endif /* TBK_PEER_H */
