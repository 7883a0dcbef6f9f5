/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hoard.h"

static tbk_status_t allocate(tbk_fixture_t* fx, tbk_stream_t* stream, uint64_t size,
                             tbk_memory_t* out) {
  return stream != NULL ? fx->async_memory->async_alloc(fx->self, stream, size, out, &fx->error)
                        : fx->core->memory_alloc(fx->self, fx->device, size, out, &fx->error);
}

bool piece_take(tbk_fixture_t* fx, tbk_stream_t* stream, uint64_t size, tbk_memory_t* out,
                bool* out_refused) {
  const tbk_status_t status = allocate(fx, stream, size, out);
  if (status == TBK_OK) return true;
  *out = 0;
  *out_refused = status == TBK_OUT_OF_MEMORY;
  if (!*out_refused) tbk_check_status(TBK_OK, status, &fx->error, TBK_HERE("an allocation"));
  return false;
}

void piece_give(tbk_fixture_t* fx, tbk_stream_t* stream, tbk_memory_t memory) {
  CHECK_OK(stream != NULL ? fx->async_memory->async_free(fx->self, stream, memory, &fx->error)
                          : fx->core->memory_free(fx->self, fx->device, memory, &fx->error));
}

void hoard_take(tbk_fixture_t* fx, hoard_t* hoard, tbk_stream_t* stream, uint64_t least) {
  uint64_t total = fx->properties.memory_bytes, size = total != 0 ? total / 8 : UINT64_C(1) << 24;
  while (size >= least && hoard->count < HOARD_MOST) {
    const uint64_t bytes = fx_round(fx, size);
    tbk_memory_t* place = &hoard->memory[hoard->count];
    const tbk_status_t status = allocate(fx, stream, bytes, place);
    hoard->sizes[hoard->count] = bytes;
    if (status == TBK_OK)
      hoard->count++;
    else
      size /= 2;
  }
}

static void give_last(tbk_fixture_t* fx, hoard_t* hoard, tbk_stream_t* stream) {
  piece_give(fx, stream, hoard->memory[--hoard->count]);
}

void hoard_leave_room(tbk_fixture_t* fx, hoard_t* hoard, tbk_stream_t* stream, uint64_t bytes) {
  for (uint64_t left = 0; left < bytes && hoard->count > 0; left += hoard->sizes[hoard->count])
    give_last(fx, hoard, stream);
}

void hoard_give(tbk_fixture_t* fx, hoard_t* hoard, tbk_stream_t* stream) {
  while (hoard->count > 0)
    give_last(fx, hoard, stream);
}
