/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * broad_memory.c: memory, copies, pinned memory, peers and random numbers that fail in every use.
 */
#include <string.h>

#include "narrow.h"

#define BASIC(name, clause, operation, note, install, ...) \
  { name, clause, MUTANT, operation, BROAD, note, {__VA_ARGS__}, 0, 0, install, 0 }

FREE(frees_are_forgotten) {
  return TBK_OK;
}

/* Whatever the size: the ninth is refused while eight live. */
ALLOC(eight_allocations_at_most) {
  wrap_t* wrap = wrap_of(self);
  if (size_bytes != 0 && atomic_load(&wrap->value) >= 8)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no more allocations");
  const tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK && size_bytes != 0) atomic_fetch_add(&wrap->value, 1);
  return status;
}
FREE(one_of_eight_is_freed) {
  const tbk_status_t status = FREE_INNER;
  wrap_t* wrap = wrap_of(self);
  if (status == TBK_OK && memory != 0 && atomic_load(&wrap->value) > 0)
    atomic_fetch_sub(&wrap->value, 1);
  return status;
}

/* The list of free blocks is written into the block that was made last, and not into the freed one. */
ALLOC(the_latest_is_kept) {
  const tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK && size_bytes >= 64) atomic_store(&wrap_of(self)->kept, *out_memory);
  return status;
}
FREE(free_writes_into_another) {
  const uint8_t link[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  const tbk_memory_t latest = atomic_load(&wrap_of(self)->kept);
  if (latest == memory) atomic_store(&wrap_of(self)->kept, 0);
  if (latest != 0 && latest != memory && memory != 0)
    ignore(INNER(self, core)->upload(self, device, latest, 0, link, sizeof link, NULL, NULL));
  return FREE_INNER;
}

UPLOAD(uploads_stop_at_4_kib) {
  if (size_bytes > KIB(4)) size_bytes = KIB(4);
  return UPLOAD_INNER;
}

UPLOAD(queued_uploads_begin_at_0) {
  if (stream != NULL) offset = 0;
  return UPLOAD_INNER;
}

DOWNLOAD(downloads_lose_the_last_word) {
  if (size_bytes >= 8) size_bytes -= 4;
  return DOWNLOAD_INNER;
}

COPY(copies_go_the_other_way) {
  const tbk_memory_t memory = destination;
  const uint64_t offset = destination_offset;
  destination = source;
  destination_offset = source_offset;
  source = memory;
  source_offset = offset;
  return COPY_INNER;
}

FILL(fills_write_zeros) {
  value = 0;
  return FILL_INNER;
}

FILL(fills_write_whole_words) {
  if (size_bytes != 0) size_bytes = (size_bytes + 15) / 16 * 16;
  return FILL_INNER;
}

/* Without a stream the work goes to one that nobody waits for, and which is busy. */
COPY(copy_without_stream_is_late) {
  if (stream == NULL && device >= 0 && device < WRAP_DEVICES && size_bytes != 0)
    stream = side_held(wrap_of(self), device);
  return COPY_INNER;
}
FILL(fill_without_stream_is_late) {
  if (stream == NULL && device >= 0 && device < WRAP_DEVICES && size_bytes != 0)
    stream = side_held(wrap_of(self), device);
  return FILL_INNER;
}

PINNED_ALLOC(pinned_is_8_off) {
  if (size_bytes == 0 || size_bytes > UINT64_MAX - 16) return PINNED_ALLOC_INNER;
  size_bytes += 16;
  const tbk_status_t status = PINNED_ALLOC_INNER;
  if (status == TBK_OK) *out_pointer = (char*)*out_pointer + 8;
  return status;
}
PINNED_FREE(pinned_was_8_off) {
  if (((uintptr_t)pointer & 15) == 8) pointer = (char*)pointer - 8;
  PINNED_FREE_INNER;
}

/* There is one block, which everybody gets. */
PINNED_ALLOC(pinned_is_one_block) {
  wrap_t* wrap = wrap_of(self);
  void* block = (void*)atomic_load(&wrap->kept);
  if (block != NULL && size_bytes != 0 && size_bytes <= atomic_load(&wrap->value) &&
      out_pointer != NULL && wrap->opened[0] == 1) {
    *out_pointer = block;
    return TBK_OK;
  }
  const tbk_status_t status = PINNED_ALLOC_INNER;
  if (status == TBK_OK && size_bytes != 0) {
    atomic_store(&wrap->kept, (uintptr_t)*out_pointer);
    atomic_store(&wrap->value, size_bytes);
    wrap->opened[0] = 1;
  }
  return status;
}
PINNED_FREE(pinned_block_stays) {
  if ((uintptr_t)pointer != atomic_load(&wrap_of(self)->kept)) PINNED_FREE_INNER;
}

CAN_ACCESS(nobody_reaches_anybody) {
  const tbk_status_t status = CAN_ACCESS_INNER;
  if (status == TBK_OK) *out_can = 0;
  return status;
}
PEER_COPY(peer_copy_needs_access) {
  return wrap_fail(error, TBK_UNSUPPORTED, "the devices do not reach each other");
}

PEER_COPY(peer_copies_only_begin) {
  size_bytes = size_bytes / 32 * 16;
  return PEER_COPY_INNER;
}

ASYNC_ALLOC(async_memory_is_one_block) {
  wrap_t* wrap = wrap_of(self);
  const tbk_status_t status = ASYNC_ALLOC_INNER;
  if (status != TBK_OK || size_bytes == 0) return status;
  const uint64_t latest = atomic_load(&wrap->kept);
  if (latest != 0 && size_bytes <= atomic_load(&wrap->value)) {
    ignore(INNER(self, async_memory)->async_free(self, stream, *out_memory, NULL));
    *out_memory = latest;
  } else {
    atomic_store(&wrap->kept, *out_memory);
    atomic_store(&wrap->value, size_bytes);
  }
  return TBK_OK;
}
ASYNC_FREE(async_block_stays) {
  if (memory != 0 && memory == atomic_load(&wrap_of(self)->kept)) return TBK_OK;
  return ASYNC_FREE_INNER;
}

/* On a stream of the backend's own, which holds nothing. */
ASYNC_FREE(async_free_is_at_once) {
  if (stream == NULL) return ASYNC_FREE_INNER;
  stream = side_stream(wrap_of(self), note_of_stream(wrap_of(self), stream)->device);
  return ASYNC_FREE_INNER;
}

ASYNC_FREE(async_frees_are_forgotten) {
  if (stream == NULL) return ASYNC_FREE_INNER;
  return TBK_OK;
}

RANDOM_BITS(random_begins_at_0) {
  if (generator == NULL || generator->offset % 4 != 0) return RANDOM_BITS_INNER;
  const tbk_generator_t first = {generator->seed, 0};
  generator = &first;
  return RANDOM_BITS_INNER;
}

RANDOM_BITS(random_hangs_on_the_stream) {
  if (generator == NULL || stream == NULL) return RANDOM_BITS_INNER;
  const tbk_generator_t other = {generator->seed ^ (uintptr_t)stream, generator->offset};
  generator = &other;
  return RANDOM_BITS_INNER;
}

extern const mutant_t mutants_broad_memory[];
const mutant_t mutants_broad_memory[] = {
    BASIC("frees_are_forgotten", "MEM-012", LIFETIME, "memory_free does nothing", 0,
          PATCH(core.memory_free, frees_are_forgotten)),
    BASIC("eight_allocations_at_most", "MEM-023", COUNT, "the ninth is refused", 0,
          PATCH(core.memory_alloc, eight_allocations_at_most),
          PATCH(core.memory_free, one_of_eight_is_freed)),
    BASIC("free_writes_into_another", "MEM-013", STATE, "a link into the latest block", 0,
          PATCH(core.memory_alloc, the_latest_is_kept),
          PATCH(core.memory_free, free_writes_into_another)),
    BASIC("uploads_stop_at_4_kib", "CPY-004", EXTENT, "the rest is left out", 0,
          PATCH(core.upload, uploads_stop_at_4_kib)),
    BASIC("queued_uploads_begin_at_0", "CPY-004", VALUE, "their offset is not read", 0,
          PATCH(core.upload, queued_uploads_begin_at_0)),
    BASIC("downloads_lose_the_last_word", "CPY-009", EXTENT, "of 8 bytes and more", 0,
          PATCH(core.download, downloads_lose_the_last_word)),
    BASIC("copies_go_the_other_way", "CPY-015", VALUE, "source and destination change places", 0,
          PATCH(core.copy, copies_go_the_other_way)),
    BASIC("fills_write_zeros", "CPY-018", VALUE, "whatever the value is", 0,
          PATCH(core.fill, fills_write_zeros)),
    BASIC("fills_write_whole_words", "CPY-018", EXTENT, "up to the next 16 bytes", 0,
          PATCH(core.fill, fills_write_whole_words)),
    BASIC("copies_without_stream_are_late", "CPY-006", ORDER, "copy and fill, by 120 ms",
          notes_install, PATCH(core.copy, copy_without_stream_is_late),
          PATCH(core.fill, fill_without_stream_is_late)),
    BASIC("pinned_is_8_off", "PIN-003", VALUE, "pinned memory has an alignment of 8", 0,
          PATCH(pinned.pinned_alloc, pinned_is_8_off), PATCH(pinned.pinned_free, pinned_was_8_off)),
    BASIC("pinned_is_one_block", "PIN-002", STATE, "all allocations share it", 0,
          PATCH(pinned.pinned_alloc, pinned_is_one_block),
          PATCH(pinned.pinned_free, pinned_block_stays)),
    BASIC("peers_must_reach_each_other", "PER-005", RETURN, "and there is none", 0,
          PATCH(peer.peer_can_access, nobody_reaches_anybody),
          PATCH(peer.peer_copy, peer_copy_needs_access)),
    BASIC("peer_copies_only_begin", "PER-006", EXTENT, "half of the bytes", 0,
          PATCH(peer.peer_copy, peer_copies_only_begin)),
    BASIC("async_memory_is_one_block", "SOM-002", STATE, "all allocations share it", 0,
          PATCH(async_memory.async_alloc, async_memory_is_one_block),
          PATCH(async_memory.async_free, async_block_stays)),
    BASIC("async_free_is_at_once", "SOM-005", ORDER, "whatever the stream holds", notes_install,
          PATCH(async_memory.async_free, async_free_is_at_once)),
    BASIC("async_frees_are_forgotten", "SOM-009", LIFETIME, "async_free does nothing", 0,
          PATCH(async_memory.async_free, async_frees_are_forgotten)),
    BASIC("random_begins_at_0", "RNG-004", VALUE, "the generator's offset is not read", 0,
          PATCH(random.random_bits, random_begins_at_0)),
    BASIC("random_hangs_on_the_stream", "RNG-003", DETERMINISM, "each stream has its own words", 0,
          PATCH(random.random_bits, random_hangs_on_the_stream)),
    {0}};
