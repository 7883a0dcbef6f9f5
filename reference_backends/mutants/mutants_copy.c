/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_copy.c: what copies and fills write, and the calls without a stream.
 */
#include <stdlib.h>
#include <string.h>

#include "calls.h"

enum { LARGE = 1 << 16, UNIT = 8 };

/* A byte of the device that the call has no business with. */
static void spoil(tbk_instance_t* self, int32_t device, tbk_memory_t memory, uint64_t offset,
                  tbk_stream_t* stream) {
  ignore(INNER(self, core)->fill(self, device, memory, offset, 0x3c, 1, stream, NULL));
}

#define REFUSES_UNALIGNED_AS(f, signature, bits, answer, inner) \
  signature(f) {                                                \
    if (((bits)&3) != 0) return answer;                         \
    return inner;                                               \
  }
REFUSES_UNALIGNED_AS(upload_accepts_unaligned, UPLOAD, offset | size_bytes, TBK_OK, UPLOAD_INNER)
REFUSES_UNALIGNED_AS(upload_accepts_unaligned_size, UPLOAD, size_bytes, TBK_OK, UPLOAD_INNER)
REFUSES_UNALIGNED_AS(download_accepts_unaligned_offset, DOWNLOAD, offset, TBK_OK, DOWNLOAD_INNER)
REFUSES_UNALIGNED_AS(fill_accepts_unaligned, FILL, offset | size_bytes, TBK_OK, FILL_INNER)
REFUSES_UNALIGNED_AS(upload_unaligned_is_unsupported, UPLOAD, offset | size_bytes, TBK_UNSUPPORTED,
                     UPLOAD_INNER)
REFUSES_UNALIGNED_AS(copy_accepts_unaligned, COPY, destination_offset | source_offset | size_bytes,
                     TBK_OK, COPY_INNER)
REFUSES_UNALIGNED_AS(copy_accepts_unaligned_source, COPY, source_offset, TBK_OK, COPY_INNER)

UPLOAD(upload_drops_last_byte) {
  size_bytes -= size_bytes > 0;
  return UPLOAD_INNER;
}
UPLOAD(upload_writes_one_byte_more) {
  tbk_status_t status = UPLOAD_INNER;
  if (status == TBK_OK && size_bytes > 0) spoil(self, device, memory, offset + size_bytes, stream);
  return status;
}
UPLOAD(upload_writes_byte_before) {
  if (offset > 0 && size_bytes > 0) spoil(self, device, memory, offset - 1, stream);
  return UPLOAD_INNER;
}
UPLOAD(upload_ignores_offset) {
  offset = 0;
  return UPLOAD_INNER;
}
UPLOAD(upload_large_stops_short) {
  if (size_bytes > LARGE) size_bytes = LARGE;
  return UPLOAD_INNER;
}
UPLOAD(upload_odd_drops_last_byte) {
  if (size_bytes > 8 && size_bytes % 2 == 1) size_bytes -= 1;
  return UPLOAD_INNER;
}
UPLOAD(upload_nothing_is_invalid) {
  if (size_bytes == 0) return wrap_fail(error, TBK_INVALID, "nothing to copy");
  return UPLOAD_INNER;
}
UPLOAD(upload_nothing_from_null_is_invalid) {
  if (size_bytes == 0 && source == NULL) return wrap_fail(error, TBK_INVALID, "no source");
  return UPLOAD_INNER;
}
/* A transfer is one unit at least. */
UPLOAD(upload_nothing_writes_a_unit) {
  if (size_bytes == 0 && source != NULL && memory != 0) size_bytes = UNIT;
  return UPLOAD_INNER;
}
#define NOTHING_ON_STREAM(f, signature, inner)                                \
  signature(f) {                                                              \
    if (size_bytes == 0 && stream != NULL)                                    \
      return wrap_fail(error, TBK_FAILED, "a queue takes no empty transfer"); \
    return inner;                                                             \
  }
NOTHING_ON_STREAM(download_nothing_on_stream_fails, DOWNLOAD, DOWNLOAD_INNER)
NOTHING_ON_STREAM(copy_nothing_on_stream_fails, COPY, COPY_INNER)
NOTHING_ON_STREAM(fill_nothing_on_stream_fails, FILL, FILL_INNER)

DOWNLOAD(download_drops_last_byte) {
  size_bytes -= size_bytes > 0;
  return DOWNLOAD_INNER;
}
DOWNLOAD(download_writes_one_byte_more) {
  tbk_status_t status = DOWNLOAD_INNER;
  if (status == TBK_OK && size_bytes > 0) ((unsigned char*)destination)[size_bytes] ^= 0xff;
  return status;
}
DOWNLOAD(download_from_next_byte) {
  if (offset > 0) offset += 1;
  return DOWNLOAD_INNER;
}
DOWNLOAD(download_of_second_device_is_0) {
  tbk_status_t status = DOWNLOAD_INNER;
  if (status == TBK_OK && device == 1 && stream == NULL && size_bytes > 0)
    memset(destination, 0, size_bytes);
  return status;
}
DOWNLOAD(download_nothing_is_invalid) {
  if (size_bytes == 0 && (destination == NULL || memory == 0))
    return wrap_fail(error, TBK_INVALID, "no place to copy");
  return DOWNLOAD_INNER;
}
DOWNLOAD(download_nothing_writes_a_unit) {
  if (size_bytes == 0 && destination != NULL && memory != 0) size_bytes = UNIT;
  return DOWNLOAD_INNER;
}

COPY(copy_drops_last_byte) {
  size_bytes -= size_bytes > 0;
  return COPY_INNER;
}
COPY(copy_writes_one_byte_more) {
  tbk_status_t status = COPY_INNER;
  if (status == TBK_OK && size_bytes > 0)
    spoil(self, device, destination, destination_offset + size_bytes, stream);
  return status;
}
COPY(copy_ignores_source_offset) {
  source_offset = 0;
  return COPY_INNER;
}
COPY(copy_large_stops_short) {
  if (size_bytes > LARGE) size_bytes = LARGE;
  return COPY_INNER;
}
COPY(copy_of_48_mib_is_the_largest) {
  const uint64_t most = UINT64_C(48) << 20;
  if (size_bytes > most) size_bytes = most;
  return COPY_INNER;
}
COPY(copy_within_allocation_refused) {
  if (destination == source && size_bytes > 0)
    return wrap_fail(error, TBK_INVALID, "both ranges lie in one allocation");
  return COPY_INNER;
}
COPY(copy_downwards_within_allocation_lost) {
  if (destination == source && destination_offset < source_offset) return TBK_OK;
  return COPY_INNER;
}
/* By way of a bounce buffer, which is filled once. */
COPY(copy_within_allocation_stops_short) {
  if (destination == source && size_bytes > LARGE) size_bytes = LARGE;
  return COPY_INNER;
}
COPY(copy_nothing_is_invalid) {
  if (size_bytes == 0 && (destination == 0 || source == 0))
    return wrap_fail(error, TBK_INVALID, "0 is no memory");
  return COPY_INNER;
}
/* The last unit of a copy is filled up with 0. */
COPY(copy_nothing_writes_padding) {
  if (size_bytes == 0 && destination != 0)
    ignore(INNER(self, core)
               ->fill(self, device, destination, destination_offset, 0, UNIT, stream, NULL));
  return COPY_INNER;
}

FILL(fill_drops_last_byte) {
  size_bytes -= size_bytes > 0;
  return FILL_INNER;
}
FILL(fill_writes_one_byte_more) {
  tbk_status_t status = FILL_INNER;
  if (status == TBK_OK && size_bytes > 0) spoil(self, device, memory, offset + size_bytes, stream);
  return status;
}
FILL(fill_loses_high_bit) {
  value &= 0x7f;
  return FILL_INNER;
}
FILL(fill_in_words) {
  size_bytes &= ~UINT64_C(3);
  return FILL_INNER;
}
FILL(fill_nothing_is_invalid) {
  if (size_bytes == 0 && memory == 0) return wrap_fail(error, TBK_INVALID, "0 is no memory");
  return FILL_INNER;
}
FILL(fill_nothing_writes_a_unit) {
  if (size_bytes == 0 && memory != 0) size_bytes = UNIT;
  return FILL_INNER;
}

static void delay(void* argument) {
  wrap_sleep_ms(150);
}

/* A hidden stream that starts its next work late: what a call without a stream must not use. */
static tbk_stream_t* late_stream(tbk_instance_t* self, int32_t device) {
  tbk_stream_t* side = side_stream(wrap_of(self), device);
  if (side != NULL) ignore(INNER(self, callback)->callback_enqueue(self, side, delay, NULL, NULL));
  return side;
}

#define LATE(f, signature, inner)                                             \
  signature(f) {                                                              \
    if (stream == NULL && size_bytes > 0) stream = late_stream(self, device); \
    return inner;                                                             \
  }
LATE(fill_without_stream_is_late, FILL, FILL_INNER)
LATE(copy_without_stream_is_late, COPY, COPY_INNER)

/* The source may be gone when the copy runs: a private copy of it is never freed. */
UPLOAD(upload_without_stream_is_late) {
  if (stream == NULL && size_bytes > 0) {
    stream = late_stream(self, device);
    void* kept = malloc(size_bytes);
    if (kept != NULL) source = memcpy(kept, source, size_bytes);
  }
  return UPLOAD_INNER;
}
UPLOAD(large_upload_without_stream_is_late) {
  return size_bytes >= 4096 ? upload_without_stream_is_late(self, device, memory, offset, source,
                                                            size_bytes, stream, error)
                            : UPLOAD_INNER;
}

/* The bytes end up in memory of its own, and stay there. */
DOWNLOAD(download_without_stream_is_lost) {
  static _Atomic(void*) elsewhere;
  if (stream != NULL || size_bytes == 0) return DOWNLOAD_INNER;
  destination = malloc(size_bytes);
  if (destination == NULL) return TBK_OUT_OF_MEMORY;
  free(atomic_exchange(&elsewhere, destination));
  return DOWNLOAD_INNER;
}

LAUNCH(launch_without_stream_is_late) {
  if (stream == NULL) stream = late_stream(self, device);
  return LAUNCH_INNER;
}

RANDOM_BITS(random_without_stream_is_late) {
  if (stream == NULL && count > 0) stream = late_stream(self, device);
  return RANDOM_BITS_INNER;
}

PEER_COPY(peer_copy_without_stream_is_late) {
  if (stream == NULL && size_bytes > 0) stream = late_stream(self, source_device);
  return PEER_COPY_INNER;
}

#define GRANULAR(function, clause, operation, narrow, member, note) \
  {                                                                 \
#function, clause, MUTANT, operation, narrow, note,             \
        {PATCH(member, function) }, 0, "granularity=4", 0, 0        \
  }
#define LATE_ROW(function, narrow, member, note)           \
  {                                                        \
#function, "CPY-006", MUTANT, ORDER, narrow, note,     \
        {PATCH(member, function) }, 0, 0, notes_install, 0 \
  }

extern const mutant_t mutants_copy[];
const mutant_t mutants_copy[] = {
    GRANULAR(upload_accepts_unaligned, "CPY-001", RETURN, BROAD, core.upload, "OK, no effect"),
    GRANULAR(upload_accepts_unaligned_size, "CPY-001", RETURN, NARROW, core.upload, "of the size"),
    GRANULAR(download_accepts_unaligned_offset, "CPY-001", RETURN, NARROW, core.download,
             "of the offset"),
    GRANULAR(fill_accepts_unaligned, "CPY-001", RETURN, NARROW, core.fill, "OK, no effect"),
    GRANULAR(upload_unaligned_is_unsupported, "CPY-001", RETURN, BROAD, core.upload,
             "UNSUPPORTED instead of INVALID"),
    GRANULAR(copy_accepts_unaligned, "CPY-012", RETURN, BROAD, core.copy, "OK, no effect"),
    GRANULAR(copy_accepts_unaligned_source, "CPY-012", RETURN, NARROW, core.copy,
             "of the source's offset"),
    ROW(upload_drops_last_byte, "CPY-004", EXTENT, BROAD, core.upload, "one byte too few"),
    ROW(upload_writes_one_byte_more, "CPY-004", EXTENT, BROAD, core.upload, "the byte behind"),
    ROW(upload_writes_byte_before, "CPY-004", EXTENT, NARROW, core.upload,
        "the byte before, where there is an offset"),
    ROW(upload_ignores_offset, "CPY-004", VALUE, BROAD, core.upload, "always at offset 0"),
    ROW(upload_large_stops_short, "CPY-004", EXTENT, NARROW, core.upload, "at 64 KiB"),
    ROW(upload_odd_drops_last_byte, "CPY-004", EXTENT, NARROW, core.upload,
        "the last byte of odd sizes"),
    ROW(upload_nothing_is_invalid, "CPY-005", RETURN, BROAD, core.upload, "INVALID for size 0"),
    ROW(upload_nothing_from_null_is_invalid, "CPY-005", RETURN, NARROW, core.upload,
        "INVALID for size 0 with source NULL"),
    ROW(upload_nothing_writes_a_unit, "CPY-005", EXTENT, BROAD, core.upload, "8 bytes for size 0"),
    LATE_ROW(upload_without_stream_is_late, BROAD, core.upload, "returns before the bytes arrive"),
    LATE_ROW(large_upload_without_stream_is_late, NARROW, core.upload, "from 4 KiB on"),
    LATE_ROW(copy_without_stream_is_late, BROAD, core.copy, "returns before the copy runs"),
    LATE_ROW(fill_without_stream_is_late, BROAD, core.fill, "returns before the fill runs"),
    LATE_ROW(launch_without_stream_is_late, BROAD, launching.launch, "returns before it runs"),
    LATE_ROW(random_without_stream_is_late, NARROW, random.random_bits, "returns before it runs"),
    LATE_ROW(peer_copy_without_stream_is_late, NARROW, peer.peer_copy, "returns before it runs"),
    ROW(download_without_stream_is_lost, "CPY-009", EXTENT, BROAD, core.download,
        "the bytes never arrive"),
    ROW(download_drops_last_byte, "CPY-009", EXTENT, BROAD, core.download, "one byte too few"),
    ROW(download_writes_one_byte_more, "CPY-009", EXTENT, BROAD, core.download, "the byte behind"),
    ROW(download_from_next_byte, "CPY-009", VALUE, NARROW, core.download,
        "one byte off where there is an offset"),
    ROW(download_of_second_device_is_0, "CPY-009", VALUE, NARROW, core.download, "of device 1"),
    ROW(download_nothing_is_invalid, "CPY-010", RETURN, BROAD, core.download,
        "INVALID for size 0 with NULL or 0"),
    ROW(download_nothing_writes_a_unit, "CPY-010", EXTENT, BROAD, core.download,
        "8 bytes for size 0"),
    ROW(download_nothing_on_stream_fails, "CPY-010", RETURN, NARROW, core.download,
        "FAILED for size 0 on a stream"),
    ROW(copy_drops_last_byte, "CPY-015", EXTENT, BROAD, core.copy, "one byte too few"),
    ROW(copy_writes_one_byte_more, "CPY-015", EXTENT, BROAD, core.copy, "the byte behind"),
    ROW(copy_ignores_source_offset, "CPY-015", VALUE, BROAD, core.copy, "from offset 0"),
    ROW(copy_large_stops_short, "CPY-015", EXTENT, NARROW, core.copy, "at 64 KiB"),
    ROW(copy_of_48_mib_is_the_largest, "CPY-015", EXTENT, NARROW, core.copy,
        "what is more is left out"),
    ROW(copy_within_allocation_refused, "CPY-016", RETURN, BROAD, core.copy, "INVALID"),
    ROW(copy_downwards_within_allocation_lost, "CPY-016", VALUE, NARROW, core.copy,
        "no effect where the destination lies below"),
    ROW(copy_within_allocation_stops_short, "CPY-016", EXTENT, NARROW, core.copy, "at 64 KiB"),
    ROW(copy_nothing_is_invalid, "CPY-017", RETURN, BROAD, core.copy, "INVALID for handles 0"),
    ROW(copy_nothing_writes_padding, "CPY-017", EXTENT, BROAD, core.copy,
        "8 bytes of 0 for size 0"),
    ROW(copy_nothing_on_stream_fails, "CPY-017", RETURN, NARROW, core.copy,
        "FAILED for size 0 on a stream"),
    ROW(fill_drops_last_byte, "CPY-018", EXTENT, BROAD, core.fill, "one byte too few"),
    ROW(fill_writes_one_byte_more, "CPY-018", EXTENT, BROAD, core.fill, "the byte behind"),
    ROW(fill_loses_high_bit, "CPY-018", VALUE, NARROW, core.fill, "values above 127"),
    ROW(fill_in_words, "CPY-018", EXTENT, NARROW, core.fill, "whole words only"),
    ROW(fill_nothing_is_invalid, "CPY-019", RETURN, BROAD, core.fill, "INVALID for memory 0"),
    ROW(fill_nothing_writes_a_unit, "CPY-019", EXTENT, BROAD, core.fill, "8 bytes for size 0"),
    ROW(fill_nothing_on_stream_fails, "CPY-019", RETURN, NARROW, core.fill,
        "FAILED for size 0 on a stream"),
    {0}};
