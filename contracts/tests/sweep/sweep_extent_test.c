/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweep of the extent: transfers of as much as the device has room for, 256 MiB at most. One call moves all of
 * it; before and after it, bytes go piece by piece, in calls that other tests have shown to be right.
 */
#include "dimensions.h"
#include "range.h"

#include <string.h>
#include <sys/mman.h>

enum { PIECE = 1 << 20, MOST = 256 << 20 };

typedef enum what { UPLOAD, DOWNLOAD, COPY, FILL } what_t;

SWEEP_DIMENSION(how_axis, "stream", {"NULL", 0}, {"one", 1});
SWEEP_DIMENSION(share_axis, "share", {"third", 3}, {"ninth", 9});

typedef struct extent {
  what_t what;
  uint64_t bytes;
  tbk_memory_t from, to;
  uint8_t* host; /* mapped: as large as the transfer */
  uint8_t salt;  /* memory that was used before holds other bytes */
} extent_t;

/* What the bytes from a place on are, so that no piece is like the one before. */
static void draw(const extent_t* it, uint64_t at, uint8_t* piece, uint64_t size) {
  const uint64_t first = at / PIECE * 31 + it->salt;
  for (uint64_t i = 0; i < size; ++i)
    piece[i] = it->what == FILL ? it->salt : (uint8_t)(first + i * 7 + i / 251);
}

static bool fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  if (sweep_get(one, &how_axis) == 1 && fx->stream == NULL) return false;
  return fx->properties.memory_bytes != 0;
}

static bool map(extent_t* it) {
  it->host = mmap(NULL, it->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return it->host != MAP_FAILED;
}

/* Room for what the call takes; false where the device, or the host, has not got it. */
static bool make(tbk_fixture_t* fx, sweep_case_t* one, extent_t* it) {
  const uint64_t most = room_allocation(&fx->properties), unit = fx_round(fx, 1);
  it->bytes = fx->properties.memory_bytes / (uint64_t)sweep_get(one, &share_axis);
  if (it->bytes > most) it->bytes = most;
  if (it->bytes > MOST) it->bytes = MOST;
  one->left_out = it->bytes <= 2 * unit;
  if (one->left_out) return false;
  it->bytes -= it->bytes % unit + unit; /* and no whole number of pieces */
  if (!sweep_alloc(fx, one, it->bytes, &it->to)) return false;
  if (it->what == COPY && !sweep_alloc(fx, one, it->bytes, &it->from)) return false;
  one->left_out = !map(it);
  return !one->left_out;
}

static uint64_t piece_at(const extent_t* it, uint64_t at) {
  return it->bytes - at < PIECE ? it->bytes - at : PIECE;
}

/* Puts what the call reads where it reads it. */
static void prepare(tbk_fixture_t* fx, const extent_t* it) {
  uint8_t* piece = fx_zeros(fx, PIECE);
  const tbk_memory_t source = it->what == COPY ? it->from : it->to;
  for (uint64_t at = 0; at < it->bytes; at += PIECE) {
    const uint64_t size = piece_at(it, at);
    draw(it, at, piece, size);
    if (it->what == UPLOAD) memcpy(it->host + at, piece, size);
    if (it->what == DOWNLOAD || it->what == COPY)
      REQUIRE_OK(fx->core->upload(fx->self, fx->device, source, at, piece, size, NULL, &fx->error));
  }
}

static tbk_status_t call(tbk_fixture_t* fx, const extent_t* it, tbk_stream_t* stream) {
  const tbk_core_t* core = fx->core;
  if (it->what == UPLOAD)
    return core->upload(fx->self, fx->device, it->to, 0, it->host, it->bytes, stream, &fx->error);
  if (it->what == DOWNLOAD)
    return core->download(fx->self, fx->device, it->host, it->to, 0, it->bytes, stream, &fx->error);
  if (it->what == COPY)
    return core->copy(fx->self, fx->device, it->to, 0, it->from, 0, it->bytes, stream, &fx->error);
  return core->fill(fx->self, fx->device, it->to, 0, it->salt, it->bytes, stream, &fx->error);
}

static void check(tbk_fixture_t* fx, const extent_t* it) {
  uint8_t *expected = fx_zeros(fx, PIECE), *seen = fx_zeros(fx, PIECE);
  for (uint64_t at = 0; at < it->bytes; at += PIECE) {
    const uint64_t size = piece_at(it, at);
    draw(it, at, expected, size);
    if (it->what == DOWNLOAD)
      memcpy(seen, it->host + at, size);
    else
      REQUIRE_OK(
          fx->core->download(fx->self, fx->device, seen, it->to, at, size, NULL, &fx->error));
    if (!CHECK_BYTES(expected, seen, size)) return;
  }
}

static void run(tbk_fixture_t* fx, sweep_case_t* one, what_t what) {
  extent_t it = {.what = what, .salt = (uint8_t)(fx_random(fx) | 1)};
  if (!make(fx, one, &it)) return;
  tbk_stream_t* stream = sweep_get(one, &how_axis) == 1 ? fx_stream(fx) : NULL;
  prepare(fx, &it);
  if (CHECK_OK(call(fx, &it, stream))) {
    range_settle(fx, stream);
    check(fx, &it);
  }
  (void)munmap(it.host, it.bytes);
}

static void arrives(tbk_fixture_t* fx, void (*run_one)(tbk_fixture_t* fx, sweep_case_t* one)) {
  const sweep_space_t space = {{&how_axis, &share_axis}, fits, run_one, 2};
  sweep_run(fx, &space);
}

static void run_upload(tbk_fixture_t* fx, sweep_case_t* one) {
  run(fx, one, UPLOAD);
}

static void an_upload_of_256_mib_or_all_there_is_arrives(tbk_fixture_t* fx) {
  arrives(fx, run_upload);
}

static void run_download(tbk_fixture_t* fx, sweep_case_t* one) {
  run(fx, one, DOWNLOAD);
}

static void a_download_of_256_mib_or_all_there_is_arrives(tbk_fixture_t* fx) {
  arrives(fx, run_download);
}

static void run_copy(tbk_fixture_t* fx, sweep_case_t* one) {
  run(fx, one, COPY);
}

static void a_copy_of_256_mib_or_all_there_is_arrives(tbk_fixture_t* fx) {
  arrives(fx, run_copy);
}

static void run_fill(tbk_fixture_t* fx, sweep_case_t* one) {
  run(fx, one, FILL);
}

static void a_fill_of_256_mib_or_all_there_is_arrives(tbk_fixture_t* fx) {
  arrives(fx, run_fill);
}

static const tbk_case_t cases[] = {
    TBK_CASE("CPY-004", NULL, TBK_CASE_THOROUGH | TBK_CASE_ALONE,
             an_upload_of_256_mib_or_all_there_is_arrives),
    TBK_CASE("CPY-009", NULL, TBK_CASE_THOROUGH | TBK_CASE_ALONE,
             a_download_of_256_mib_or_all_there_is_arrives),
    TBK_CASE("CPY-015", NULL, TBK_CASE_THOROUGH | TBK_CASE_ALONE,
             a_copy_of_256_mib_or_all_there_is_arrives),
    TBK_CASE("CPY-018", "fill", TBK_CASE_THOROUGH | TBK_CASE_ALONE,
             a_fill_of_256_mib_or_all_there_is_arrives),
};
TBK_SUITE(sweep_extent);
