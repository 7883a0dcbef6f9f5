/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "async_steps.h"

tbk_memory_t async_take(tbk_fixture_t* fx, tbk_stream_t* stream, uint64_t size_bytes) {
  tbk_memory_t memory = 0;
  REQUIRE_OK(fx->async_memory->async_alloc(fx->self, stream, size_bytes, &memory, &fx->error));
  TBK_CHECKS("SOM-002");
  REQUIRE(memory != 0 || size_bytes == 0);
  return memory;
}

void async_give(tbk_fixture_t* fx, tbk_stream_t* stream, tbk_memory_t memory) {
  CHECK_OK(fx->async_memory->async_free(fx->self, stream, memory, &fx->error));
}

void async_put(tbk_fixture_t* fx, tbk_stream_t* stream, tbk_memory_t memory, const void* bytes,
               uint64_t size_bytes) {
  CHECK_OK(
      fx->core->upload(fx->self, fx->device, memory, 0, bytes, size_bytes, stream, &fx->error));
}

void async_get(tbk_fixture_t* fx, tbk_stream_t* stream, void* bytes, tbk_memory_t memory,
               uint64_t size_bytes) {
  CHECK_OK(
      fx->core->download(fx->self, fx->device, bytes, memory, 0, size_bytes, stream, &fx->error));
}
