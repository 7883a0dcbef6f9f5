/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies and fills that another thread asks for than the one that made the memory: which bytes
 * arrive. Drivers keep staging buffers and contexts for each thread.
 */
#include "actor.h"
#include "range.h"

#include <string.h>

static const uint64_t sizes[] = {1, 255, 4096, 65537, 1, 255, 4096, 65537};

enum { SIZES = sizeof sizes / sizeof *sizes, FILLING = 0xa5 };

typedef struct transfer {
  actor_t actor;
  tbk_stream_t* stream; /* of every second size, where the device has streams */
  range_t range;        /* what is written, or read by a download */
  range_t from;         /* of a copy */
  uint8_t* host;
  uint8_t* kept; /* what `host` held */
} transfer_t;

typedef void (*transfer_fn)(tbk_fixture_t* fx, transfer_t* it);

static void over_sizes(tbk_fixture_t* fx, transfer_fn function) {
  tbk_stream_t* stream = fx->stream != NULL ? fx_stream(fx) : NULL;
  for (size_t i = 0; i < SIZES; ++i) {
    transfer_t* it = (transfer_t*)(void*)fx_zeros(fx, sizeof *it);
    it->stream = i < SIZES / 2 ? NULL : stream;
    range_make(fx, &it->range, sizes[i]);
    it->host = fx_bytes(fx, it->range.size);
    it->kept = fx_zeros(fx, it->range.size);
    memcpy(it->kept, it->host, it->range.size);
    function(fx, it);
    BLOCK_CHECK(fx, &it->range.block);
    block_drop(fx, &it->range.block);
  }
}

static void ask(tbk_fixture_t* fx, transfer_t* it, actor_fn body) {
  actor_start(fx, &it->actor, body, it);
  actor_join(fx, &it->actor);
  range_settle(fx, it->stream);
}

static void upload_body(actor_t* actor) {
  transfer_t* it = actor->argument;
  tbk_fixture_t* fx = &actor->fx;
  CHECK_OK(fx->core->upload(fx->self, fx->device, it->range.block.memory, it->range.offset,
                            it->host, it->range.size, it->stream, &fx->error));
}

static void try_upload(tbk_fixture_t* fx, transfer_t* it) {
  ask(fx, it, upload_body);
  memcpy(it->range.block.model + it->range.offset, it->kept, it->range.size);
  CHECK_BYTES(it->kept, it->host, it->range.size);
}

static void download_body(actor_t* actor) {
  transfer_t* it = actor->argument;
  tbk_fixture_t* fx = &actor->fx;
  CHECK_OK(fx->core->download(fx->self, fx->device, it->host, it->range.block.memory,
                              it->range.offset, it->range.size, it->stream, &fx->error));
}

static void try_download(tbk_fixture_t* fx, transfer_t* it) {
  ask(fx, it, download_body);
  CHECK_BYTES(it->range.block.model + it->range.offset, it->host, it->range.size);
}

static void copy_body(actor_t* actor) {
  transfer_t* it = actor->argument;
  tbk_fixture_t* fx = &actor->fx;
  CHECK_OK(fx->core->copy(fx->self, fx->device, it->range.block.memory, it->range.offset,
                          it->from.block.memory, it->from.offset, it->range.size, it->stream,
                          &fx->error));
}

static void try_copy(tbk_fixture_t* fx, transfer_t* it) {
  range_make(fx, &it->from, it->range.size);
  ask(fx, it, copy_body);
  memcpy(it->range.block.model + it->range.offset, it->from.block.model + it->from.offset,
         it->range.size);
  BLOCK_CHECK(fx, &it->from.block);
  block_drop(fx, &it->from.block);
}

static void fill_body(actor_t* actor) {
  transfer_t* it = actor->argument;
  tbk_fixture_t* fx = &actor->fx;
  CHECK_OK(fx->core->fill(fx->self, fx->device, it->range.block.memory, it->range.offset, FILLING,
                          it->range.size, it->stream, &fx->error));
}

static void try_fill(tbk_fixture_t* fx, transfer_t* it) {
  ask(fx, it, fill_body);
  memset(it->range.block.model + it->range.offset, FILLING, it->range.size);
}

static void an_upload_of_another_thread_writes_its_range_only(tbk_fixture_t* fx) {
  over_sizes(fx, try_upload);
}

static void a_download_of_another_thread_gets_its_bytes(tbk_fixture_t* fx) {
  over_sizes(fx, try_download);
}

static void a_copy_of_another_thread_writes_its_destination_only(tbk_fixture_t* fx) {
  over_sizes(fx, try_copy);
}

static void a_fill_of_another_thread_writes_its_range_only(tbk_fixture_t* fx) {
  over_sizes(fx, try_fill);
}

static const tbk_case_t cases[] = {
    TBK_CASE("CPY-004", NULL, 0, an_upload_of_another_thread_writes_its_range_only),
    TBK_CASE("CPY-009", NULL, 0, a_download_of_another_thread_gets_its_bytes),
    TBK_CASE("CPY-015", NULL, 0, a_copy_of_another_thread_writes_its_destination_only),
    TBK_CASE("CPY-018", "fill", 0, a_fill_of_another_thread_writes_its_range_only),
};

TBK_SUITE(copy_thread);
