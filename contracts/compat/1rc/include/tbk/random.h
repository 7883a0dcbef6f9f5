/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * random.h: random numbers; optional.
 */
#ifndef TBK_RANDOM_H
#define TBK_RANDOM_H

#include <tbk/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tbk_random_ops {
  size_t struct_size;

  /**
   * Write `count` random 32-bit words. Word i is output (offset + i) % 4 of Philox4x32-10 with the
   * key (seed low, seed high) and the counter ((offset + i) / 4 as 64 bits low to high, 0, 0) where
   * the device declares TBK_DEVICE_PHILOX; elsewhere it is the vendor's own function of all three.
   * Requires:  the instance has got the device open; else INVALID_STATE (checked).    [DEV-021]
   * Requires:  generator != NULL, its offset a multiple of 4; else INVALID (checked). [RNG-001]
   * Requires:  `offset` of the destination is a multiple of 4 (undefined).            [RNG-002]
   * Ensures:   equal seed, offset and count give equal words, on every device and stream. [RNG-003]
   * Ensures:   another seed, or another offset, gives other words.                    [RNG-004]
   * Ensures:   each bit is 0 or 1 with equal chance.                                  [RNG-005]
   * Ensures:   the words are those of Philox4x32-10 where that is declared.           [RNG-006]
   * Ensures:   exactly `count` words are written; 0 does nothing.                     [RNG-007]
   * Ordering:  stream NULL: complete on return, ordered after nothing else.           [CPY-006]
   * Ordering:  with a stream: enqueued, in the order of that stream.                  [STR-001]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller keeps the generator's state and advances it.                [RNG-008]
   * Errors:    INVALID where the stream belongs to another device (checked).          [STR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*random_bits)(tbk_instance_t* self, int32_t device,
                              const tbk_generator_t* generator, tbk_memory_t memory,
                              uint64_t offset, uint64_t count, tbk_stream_t* stream,
                              tbk_error_t* error) TBK_MUST_CHECK;
} tbk_random_ops_t;

#ifdef __cplusplus
}
#endif

#endif /* TBK_RANDOM_H */
