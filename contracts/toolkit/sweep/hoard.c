/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hoard.h"

void hoard_take(tbk_fixture_t* fx, hoard_t* hoard, tbk_stream_t* stream, uint64_t least) {
  uint64_t total = fx->properties.memory_bytes, size = total != 0 ? total / 8 : UINT64_C(1) << 24;
  while (size >= least && hoard->count < HOARD_MOST) {
    const uint64_t bytes = fx_round(fx, size);
    tbk_memory_t* place = &hoard->memory[hoard->count];
    tbk_status_t status =
        stream != NULL ? fx->async_memory->async_alloc(fx->self, stream, bytes, place, &fx->error)
                       : fx->core->memory_alloc(fx->self, fx->device, bytes, place, &fx->error);
    hoard->sizes[hoard->count] = bytes;
    if (status == TBK_OK)
      hoard->count++;
    else
      size /= 2;
  }
}

static void give_last(tbk_fixture_t* fx, hoard_t* hoard, tbk_stream_t* stream) {
  const tbk_memory_t memory = hoard->memory[--hoard->count];
  CHECK_OK(stream != NULL ? fx->async_memory->async_free(fx->self, stream, memory, &fx->error)
                          : fx->core->memory_free(fx->self, fx->device, memory, &fx->error));
}

void hoard_leave_room(tbk_fixture_t* fx, hoard_t* hoard, tbk_stream_t* stream, uint64_t bytes) {
  for (uint64_t left = 0; left < bytes && hoard->count > 0; left += hoard->sizes[hoard->count])
    give_last(fx, hoard, stream);
}

void hoard_give(tbk_fixture_t* fx, hoard_t* hoard, tbk_stream_t* stream) {
  while (hoard->count > 0)
    give_last(fx, hoard, stream);
}
