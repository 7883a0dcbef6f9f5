/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_copy.c: copies, fills, copies between devices, and the order between kinds of work.
 */
#include <stdlib.h>
#include <string.h>

#include "narrow.h"

/* ------------------------------------------------------------------------------------- extents -- */

UPLOAD(large_odd_upload_loses_tail) {
  if (size_bytes > KIB(64)) size_bytes -= size_bytes % 4;
  return UPLOAD_INNER;
}
UPLOAD(upload_rounds_source_down) {
  if (size_bytes >= 64 && (uintptr_t)source % 4 == 3) source = (const char*)source - 3;
  return UPLOAD_INNER;
}
UPLOAD(upload_offset_of_24_bits) {
  offset &= 0xffffff;
  return UPLOAD_INNER;
}
UPLOAD(upload_across_page_stops) {
  if (offset % 4096 != 0 && offset % 4096 + size_bytes > 8192) size_bytes = 8192 - offset % 4096;
  return UPLOAD_INNER;
}
DOWNLOAD(download_to_odd_place_stops_short) {
  if (size_bytes > 4096 && (uintptr_t)destination % 8 != 0) size_bytes -= 8;
  return DOWNLOAD_INNER;
}
DOWNLOAD(download_repeats_first_mib) {
  tbk_status_t status = DOWNLOAD_INNER;
  if (status != TBK_OK || stream != NULL || size_bytes <= MIB(1)) return status;
  const uint64_t rest = size_bytes - MIB(1);
  memcpy((char*)destination + MIB(1), destination, rest < MIB(1) ? rest : MIB(1));
  return status;
}
COPY(adjacent_copy_stops_short) {
  if (destination == source && destination_offset == source_offset + size_bytes && size_bytes > 0)
    --size_bytes;
  return COPY_INNER;
}
COPY(mixed_alignment_copy_rounds_down) {
  if (size_bytes >= 16 && source_offset % 4 != destination_offset % 4)
    source_offset -= source_offset % 4;
  return COPY_INNER;
}
FILL(fill_skips_odd_head) {
  const uint64_t head = (8 - offset % 8) % 8;
  if (size_bytes >= 64) {
    offset += head;
    size_bytes -= head;
  }
  return FILL_INNER;
}
FILL(large_fill_rounds_down) {
  if (size_bytes > MIB(1)) size_bytes -= size_bytes % 4096;
  return FILL_INNER;
}
ALLOC(fresh_is_kept) {
  tbk_status_t status = ALLOC_INNER;
  if (status != TBK_OK || *out_memory == 0) return status;
  ignore(INNER(self, core)->fill(self, device, *out_memory, 0, 0xcb, size_bytes, NULL, NULL));
  atomic_store(&wrap_of(self)->kept, *out_memory);
  return status;
}
FILL(first_fill_of_0_is_skipped) {
  uintptr_t expected = memory;
  if (value == 0 && memory != 0 && size_bytes > 0 &&
      atomic_compare_exchange_strong(&wrap_of(self)->kept, &expected, 0))
    size_bytes = 0;
  return FILL_INNER;
}
UPLOAD(upload_of_nothing_at_offset_is_invalid) {
  if (size_bytes == 0 && offset != 0) return wrap_fail(error, TBK_INVALID, "out of the memory");
  return UPLOAD_INNER;
}
FILL(fill_of_nothing_at_offset_is_invalid) {
  if (size_bytes == 0 && offset != 0) return wrap_fail(error, TBK_INVALID, "out of the memory");
  return FILL_INNER;
}
COPY(copy_of_nothing_onto_itself_is_invalid) {
  if (size_bytes == 0 && destination != 0 && destination == source)
    return wrap_fail(error, TBK_INVALID, "the ranges overlap");
  return COPY_INNER;
}

/* --------------------------------------------------------------------------- between devices -- */

CAN_ACCESS(can_access_itself_beyond_count) {
  if (device != peer || out_can == NULL) return CAN_ACCESS_INNER;
  *out_can = 0;
  return TBK_OK;
}
CAN_ACCESS(second_can_access_itself) {
  tbk_status_t status = CAN_ACCESS_INNER;
  if (status == TBK_OK && device == peer && device == 1) *out_can = 1;
  return status;
}
PEER_COPY(peer_copy_of_nothing_between_closed) {
  return size_bytes == 0 ? TBK_OK : PEER_COPY_INNER;
}
PEER_COPY(peer_copy_within_device_on_stream_is_lost) {
  if (destination_device == source_device && stream != NULL) size_bytes = 0;
  return PEER_COPY_INNER;
}
PEER_COPY(peer_copy_rounds_source_down) {
  if (size_bytes >= 16) source_offset -= source_offset % 4;
  return PEER_COPY_INNER;
}
PEER_COPY(peer_copy_repeats_first_mib) {
  tbk_status_t status = PEER_COPY_INNER;
  if (status != TBK_OK || size_bytes <= MIB(1)) return status;
  destination_offset += MIB(1);
  size_bytes = size_bytes - MIB(1) < MIB(1) ? size_bytes - MIB(1) : MIB(1);
  return PEER_COPY_INNER;
}

/* --------------------------------------------------------------------------------------- order -- */

typedef struct late_upload {
  tbk_instance_t* self;
  int32_t device;
  tbk_memory_t memory;
  uint64_t offset, size_bytes;
  char bytes[];
} late_upload_t;

static void* upload_later(void* argument) {
  late_upload_t* work = argument;
  wrap_sleep_ms(30);
  ignore(INNER(work->self, core)
             ->upload(work->self, work->device, work->memory, work->offset, work->bytes,
                      work->size_bytes, NULL, NULL));
  free(work);
  return NULL;
}
UPLOAD(upload_is_late_while_busy) {
  wrap_t* wrap = wrap_of(self);
  tbk_stream_t* latest = (tbk_stream_t*)atomic_load(&wrap->kept);
  late_upload_t* work = NULL;
  if (stream == NULL && source != NULL && size_bytes > 0 && stream_pending(self, latest))
    work = malloc(sizeof *work + size_bytes);
  if (work == NULL) return UPLOAD_INNER;
  *work = (late_upload_t){self, device, memory, offset, size_bytes};
  memcpy(work->bytes, source, size_bytes);
  pthread_t thread;
  if (pthread_create(&thread, NULL, upload_later, work) == 0) return pthread_detach(thread), TBK_OK;
  free(work);
  return UPLOAD_INNER;
}

LAUNCH(launch_first) {
  go_first(self, stream);
  return LAUNCH_INNER;
}
RANDOM_BITS(random_first) {
  go_first(self, stream);
  return RANDOM_BITS_INNER;
}
PEER_COPY(peer_copy_first) {
  go_first(self, stream);
  return PEER_COPY_INNER;
}
DOWNLOAD(download_first) {
  go_first(self, stream);
  return DOWNLOAD_INNER;
}
COPY(copy_first) {
  go_first(self, stream);
  return COPY_INNER;
}
DOWNLOAD(download_ahead) {
  GO_AHEAD(DOWNLOAD_INNER);
}
UPLOAD(upload_ahead) {
  GO_AHEAD(UPLOAD_INNER);
}
FILL(fill_ahead) {
  GO_AHEAD(FILL_INNER);
}
LAUNCH(launch_ahead) {
  GO_AHEAD(LAUNCH_INNER);
}
RANDOM_BITS(random_ahead) {
  GO_AHEAD(RANDOM_BITS_INNER);
}
PEER_COPY(peer_copy_ahead) {
  GO_AHEAD(PEER_COPY_INNER);
}

#define OVERTAKES(name, note, slot, before, member, after) \
  NOTED(name, "STR-001", ORDER, note, PATCH(slot, before), PATCH(member, after))

extern const mutant_t mutants_narrow_copy[];
const mutant_t mutants_narrow_copy[] = {
    ONE(large_odd_upload_loses_tail, "CPY-004", EXTENT, core.upload,
        "above 64 KiB, what is over a multiple of 4"),
    ONE(upload_rounds_source_down, "CPY-004", VALUE, core.upload,
        "the source's address is 3 modulo 4"),
    ONE(upload_offset_of_24_bits, "CPY-004", EXTENT, core.upload, "offsets from 16 MiB on"),
    ONE(upload_across_page_stops, "CPY-004", EXTENT, core.upload,
        "at the second page's end, where it begins inside a page"),
    ONE(download_to_odd_place_stops_short, "CPY-009", EXTENT, core.download,
        "above 4 KiB, to an address off 8"),
    ONE(download_repeats_first_mib, "CPY-009", VALUE, core.download,
        "the second MiB without a stream is the first"),
    ONE(adjacent_copy_stops_short, "CPY-016", EXTENT, core.copy,
        "the destination begins where the source ends"),
    ONE(mixed_alignment_copy_rounds_down, "CPY-015", VALUE, core.copy,
        "the offsets differ modulo 4"),
    ONE(fill_skips_odd_head, "CPY-018", EXTENT, core.fill,
        "from 64 bytes on, up to a multiple of 8"),
    ONE(large_fill_rounds_down, "CPY-018", EXTENT, core.fill, "above 1 MiB, to whole pages"),
    SEVERAL("first_fill_of_0_is_skipped", "CPY-018", STATE,
            "fresh memory is taken for cleared, and is not",
            PATCH(core.memory_alloc, fresh_is_kept), PATCH(core.fill, first_fill_of_0_is_skipped)),
    ONE(upload_of_nothing_at_offset_is_invalid, "CPY-005", RETURN, core.upload, "0 bytes"),
    ONE(fill_of_nothing_at_offset_is_invalid, "CPY-019", RETURN, core.fill, "0 bytes"),
    ONE(copy_of_nothing_onto_itself_is_invalid, "CPY-017", RETURN, core.copy,
        "0 bytes within one allocation"),
    ONE(can_access_itself_beyond_count, "PER-001", RETURN, peer.peer_can_access,
        "OK where device and peer are one that does not exist"),
    ONE(second_can_access_itself, "PER-002", VALUE, peer.peer_can_access, "1 for device 1 and 1"),
    ONE(peer_copy_of_nothing_between_closed, "PER-003", RETURN, peer.peer_copy, "OK for 0 bytes"),
    ONE(peer_copy_within_device_on_stream_is_lost, "PER-005", EXTENT, peer.peer_copy,
        "both are one device, on a stream"),
    ONE(peer_copy_rounds_source_down, "PER-006", VALUE, peer.peer_copy,
        "the source's offset is off 4"),
    ONE(peer_copy_repeats_first_mib, "PER-006", VALUE, peer.peer_copy,
        "the second MiB is the first"),
    SEVERAL("upload_is_late_while_busy", "CPY-006", ORDER,
            "without a stream, while the latest stream has work",
            PATCH(stream.stream_create, notes_create_kept),
            PATCH(stream.stream_destroy, notes_destroy_unkept),
            PATCH(core.upload, upload_is_late_while_busy)),
    OVERTAKES("download_overtakes_kernel", "a download reads what was before a kernel",
              launching.launch, launch_first, core.download, download_ahead),
    OVERTAKES("upload_overtakes_kernel", "an upload comes before a kernel that reads",
              launching.launch, launch_first, core.upload, upload_ahead),
    OVERTAKES("kernel_overtakes_random", "a kernel reads what was before the random words",
              random.random_bits, random_first, launching.launch, launch_ahead),
    OVERTAKES("fill_overtakes_download", "a download reads what was filled after it", core.download,
              download_first, core.fill, fill_ahead),
    OVERTAKES("random_overtakes_copy", "a copy reads the random words that come after it",
              core.copy, copy_first, random.random_bits, random_ahead),
    OVERTAKES("peer_copy_overtakes_kernel", "another device gets what was before a kernel",
              launching.launch, launch_first, peer.peer_copy, peer_copy_ahead),
    OVERTAKES("download_overtakes_peer_copy", "a download reads what was before a peer copy",
              peer.peer_copy, peer_copy_first, core.download, download_ahead),
    {0}};
