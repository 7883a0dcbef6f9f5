/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stranger_copy.c: copies, fills and copies between devices, as engines of words, pages and pushed bytes err.
 */
#include <string.h>

#include "narrow.h"

DOWNLOAD(long_downloads_write_whole_words) {
  const tbk_status_t status = DOWNLOAD_INNER;
  if (status == TBK_OK && stream == NULL && size_bytes > 64 && size_bytes % 4 != 0)
    memset((char*)destination + size_bytes, 0, 4 - size_bytes % 4);
  return status;
}

/* The engine of pages has no offset into the first one. */
COPY(copies_of_pages_begin_at_a_page) {
  if (size_bytes >= 8192 && size_bytes % 4096 == 0) source_offset -= source_offset % 4096;
  return COPY_INNER;
}

/* The byte is spread to a word with its sign; here it shows in the last page. */
FILL(large_fill_of_high_bytes_has_a_sign) {
  const tbk_status_t status = FILL_INNER;
  if (status == TBK_OK && value >= 0x80 && size_bytes >= KIB(64))
    ignore(INNER(self, core)
               ->fill(self, device, memory, offset + size_bytes - 4096, (uint8_t)(value - 1), 4096,
                      stream, NULL));
  return status;
}

/* Short ones are pushed with the commands, of which one holds 256 bytes. */
UPLOAD(short_upload_on_busy_stream_is_cut) {
  if (size_bytes > 256 && size_bytes <= 1024 && stream_pending(self, stream)) size_bytes = 256;
  return UPLOAD_INNER;
}

/* ---------------------------------------------------------------------------- between devices ---- */

OPEN(open_is_counted) {
  const tbk_status_t status = OPEN_INNER;
  if (status == TBK_OK && device < WRAP_DEVICES) wrap_of(self)->opened[device]++;
  return status;
}
PEER_COPY(peer_mapping_is_of_first_open) {
  const int32_t to = destination_device;
  if (to >= 0 && to < WRAP_DEVICES && to != source_device && wrap_of(self)->opened[to] > 1)
    size_bytes = 0;
  return PEER_COPY_INNER;
}

/* One buffer between two devices, whichever way. */
PEER_COPY(peer_copy_shares_bounce) {
  wrap_t* wrap = wrap_of(self);
  if (stream == NULL || size_bytes == 0 || destination_device == source_device)
    return PEER_COPY_INNER;
  tbk_stream_t* before = (tbk_stream_t*)atomic_load(&wrap->kept);
  if (before != stream && atomic_load(&wrap->value) != (uint64_t)source_device &&
      stream_pending(self, before)) {
    size_bytes = 0;
    return PEER_COPY_INNER;
  }
  const tbk_status_t status = PEER_COPY_INNER;
  if (status == TBK_OK) {
    atomic_store(&wrap->value, (uint64_t)source_device);
    atomic_store(&wrap->kept, (uintptr_t)stream);
  }
  return status;
}

extern const mutant_t mutants_stranger_copy[];
const mutant_t mutants_stranger_copy[] = {
    ONE(long_downloads_write_whole_words, "CPY-009", EXTENT, core.download,
        "above 64 bytes without a stream, up to 3 too many"),
    ONE(copies_of_pages_begin_at_a_page, "CPY-015", VALUE, core.copy,
        "two whole pages or more, of a source that begins inside a page"),
    ONE(large_fill_of_high_bytes_has_a_sign, "CPY-018", VALUE, core.fill,
        "from 64 KiB on, a value of 128 or more"),
    ONE(short_upload_on_busy_stream_is_cut, "CPY-004", EXTENT, core.upload,
        "257 to 1024 bytes while earlier work is pending: the first 256"),
    SEVERAL("peer_mapping_is_of_the_first_open", "PER-006", LIFETIME,
            "nothing arrives at a device that was closed and opened again",
            PATCH(core.device_open, open_is_counted),
            PATCH(peer.peer_copy, peer_mapping_is_of_first_open)),
    SEVERAL("peer_copies_of_two_directions_share_their_buffer", "PER-006", STATE,
            "lost while one the other way is pending",
            PATCH(peer.peer_copy, peer_copy_shares_bounce),
            PATCH(stream.stream_destroy, notes_destroy_unkept)),
    {0}};
