/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies and fills: what is refused, and that a refused call changes nothing.
 */
#include "range.h"

#include <string.h>

/* Each of the four, with the same range of `memory`; `host` is source or destination. */
enum { UPLOAD, DOWNLOAD, COPY, FILL, CALLS };

typedef struct place {
  int32_t device;
  tbk_memory_t memory;
  tbk_memory_t other; /* of a copy: its source */
  uint64_t other_offset;
  uint8_t* host;
} place_t;

static tbk_status_t call(tbk_fixture_t* fx, int which, const place_t* place, uint64_t offset,
                         uint64_t size, tbk_stream_t* stream) {
  const tbk_core_t* core = fx->core;
  switch (which) {
    case UPLOAD:
      return core->upload(fx->self, place->device, place->memory, offset, place->host, size, stream,
                          &fx->error);
    case DOWNLOAD:
      return core->download(fx->self, place->device, place->host, place->memory, offset, size,
                            stream, &fx->error);
    case COPY:
      return core->copy(fx->self, place->device, place->memory, offset, place->other,
                        place->other_offset, size, stream, &fx->error);
    default:
      return core->fill(fx->self, place->device, place->memory, offset, 0xa5, size, stream,
                        &fx->error);
  }
}

typedef struct refusal {
  block_t block;
  block_t other;
  uint8_t* host;
  uint8_t* kept; /* what the host buffer has to hold afterwards */
  place_t place;
} refusal_t;

static void refusal_make(tbk_fixture_t* fx, refusal_t* refusal) {
  block_make(fx, &refusal->block, 16384);
  block_make(fx, &refusal->other, 16384);
  refusal->host = fx_bytes(fx, 16384);
  refusal->kept = fx_zeros(fx, 16384);
  memcpy(refusal->kept, refusal->host, 16384);
  refusal->place =
      (place_t){fx->device, refusal->block.memory, refusal->other.memory, 0, refusal->host};
}

static void refusal_check(tbk_fixture_t* fx, refusal_t* refusal) {
  BLOCK_CHECK(fx, &refusal->block);
  BLOCK_CHECK(fx, &refusal->other);
  CHECK_BYTES(refusal->kept, refusal->host, 16384);
}

/* ------------------------------------------------------------------------------ granularity -- */

static void check_granularity(tbk_fixture_t* fx, int which, tbk_stream_t* stream) {
  uint64_t step = fx->properties.copy_granularity;
  refusal_t refusal;
  refusal_make(fx, &refusal);
  for (uint64_t odd = 1; odd < step; odd = odd * 2 + 1) {
    CHECK_STATUS(TBK_INVALID, call(fx, which, &refusal.place, odd, step, stream));
    CHECK_STATUS(TBK_INVALID, call(fx, which, &refusal.place, 0, odd, stream));
    CHECK_STATUS(TBK_INVALID, call(fx, which, &refusal.place, step, step + odd, stream));
    CHECK_STATUS(TBK_INVALID, call(fx, which, &refusal.place, 4 * step + odd, 8 * step, stream));
    if (which != COPY) continue;
    refusal.place.other_offset = odd;
    CHECK_STATUS(TBK_INVALID, call(fx, which, &refusal.place, 0, step, stream));
    refusal.place.other_offset = 0;
  }
  range_settle(fx, stream);
  refusal_check(fx, &refusal);
}

static void an_upload_off_the_granularity_is_refused(tbk_fixture_t* fx) {
  check_granularity(fx, UPLOAD, NULL);
}

static void a_download_off_the_granularity_is_refused(tbk_fixture_t* fx) {
  check_granularity(fx, DOWNLOAD, NULL);
}

static void a_copy_off_the_granularity_is_refused(tbk_fixture_t* fx) {
  check_granularity(fx, COPY, NULL);
}

static void a_fill_off_the_granularity_is_refused(tbk_fixture_t* fx) {
  check_granularity(fx, FILL, NULL);
}

static void an_upload_off_the_granularity_is_refused_on_a_stream(tbk_fixture_t* fx) {
  check_granularity(fx, UPLOAD, fx_stream(fx));
}

static void a_download_off_the_granularity_is_refused_on_a_stream(tbk_fixture_t* fx) {
  check_granularity(fx, DOWNLOAD, fx_stream(fx));
}

static void a_copy_off_the_granularity_is_refused_on_a_stream(tbk_fixture_t* fx) {
  check_granularity(fx, COPY, fx_stream(fx));
}

static void transfers_off_the_granularity_of_the_second_device_are_refused(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_granularity(fx, UPLOAD, NULL);
  check_granularity(fx, DOWNLOAD, NULL);
}

static void a_copy_off_the_granularity_of_the_second_device_is_refused(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_granularity(fx, COPY, NULL);
}

/* --------------------------------------------------------------------------- foreign stream -- */

static void check_foreign_stream(tbk_fixture_t* fx, int which) {
  refusal_t refusal;
  refusal_make(fx, &refusal);
  int32_t first = fx->device;
  tbk_stream_t* own = fx_stream(fx);
  fx_use_device(fx, fx_second_device(fx));
  tbk_stream_t* foreign = fx_stream(fx);
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    uint64_t size = fx_round(fx, round % 2 == 0 ? 64 : 4096);
    CHECK_STATUS(TBK_INVALID, call(fx, which, &refusal.place, 0, size, foreign));
  }
  fx_synchronize(fx, foreign);
  fx_use_device(fx, first);
  fx_synchronize(fx, own);
  refusal_check(fx, &refusal);
}

static void an_upload_on_a_stream_of_another_device_is_refused(tbk_fixture_t* fx) {
  check_foreign_stream(fx, UPLOAD);
}

static void a_download_on_a_stream_of_another_device_is_refused(tbk_fixture_t* fx) {
  check_foreign_stream(fx, DOWNLOAD);
}

static void a_copy_on_a_stream_of_another_device_is_refused(tbk_fixture_t* fx) {
  check_foreign_stream(fx, COPY);
}

static void a_fill_on_a_stream_of_another_device_is_refused(tbk_fixture_t* fx) {
  check_foreign_stream(fx, FILL);
}

/* The other way round: memory of the second device, a stream of the first. */
static void the_second_device_refuses_streams_of_the_first(tbk_fixture_t* fx) {
  refusal_t refusal;
  tbk_stream_t* foreign = fx_stream(fx);
  fx_use_device(fx, fx_second_device(fx));
  refusal_make(fx, &refusal);
  for (int which = UPLOAD; which < FILL; ++which)
    CHECK_STATUS(TBK_INVALID, call(fx, which, &refusal.place, 0, 4096, foreign));
  fx_synchronize(fx, foreign);
  refusal_check(fx, &refusal);
}

/* ----------------------------------------------------------------------------- closed device -- */

static void check_closed(tbk_fixture_t* fx, int which) {
  uint8_t* host = fx_bytes(fx, 4096);
  uint8_t* kept = fx_zeros(fx, 4096);
  memcpy(kept, host, 4096);
  fx_open(fx);
  tbk_memory_t memory = fx_alloc(fx, 4096);
  fx_disown_memory(fx, memory); /* it ends with the device */
  fx_close(fx);
  const int32_t devices[] = {0, fx->device_count, -1, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; ++i) {
    place_t place = {devices[i], memory, memory, 2048, host};
    CHECK_STATUS(TBK_INVALID_STATE, call(fx, which, &place, 0, 2048, NULL));
  }
  CHECK_BYTES(kept, host, 4096);
}

static void an_upload_needs_an_open_device(tbk_fixture_t* fx) {
  check_closed(fx, UPLOAD);
}

static void a_download_needs_an_open_device(tbk_fixture_t* fx) {
  check_closed(fx, DOWNLOAD);
}

static void a_copy_needs_an_open_device(tbk_fixture_t* fx) {
  check_closed(fx, COPY);
}

static void a_fill_needs_an_open_device(tbk_fixture_t* fx) {
  check_closed(fx, FILL);
}

static const tbk_case_t cases[] = {
    TBK_CASE("CPY-001", "granularity", 0, an_upload_off_the_granularity_is_refused),
    TBK_CASE("CPY-001", "granularity", 0, a_download_off_the_granularity_is_refused),
    TBK_CASE("CPY-012", "granularity", 0, a_copy_off_the_granularity_is_refused),
    TBK_CASE("CPY-001", "granularity fill", 0, a_fill_off_the_granularity_is_refused),
    TBK_CASE("CPY-001", "granularity stream", 0,
             an_upload_off_the_granularity_is_refused_on_a_stream),
    TBK_CASE("CPY-001", "granularity stream", 0,
             a_download_off_the_granularity_is_refused_on_a_stream),
    TBK_CASE("CPY-012", "granularity stream", 0, a_copy_off_the_granularity_is_refused_on_a_stream),
    TBK_CASE("CPY-001", "granularity two_devices", 0,
             transfers_off_the_granularity_of_the_second_device_are_refused),
    TBK_CASE("CPY-012", "granularity two_devices", 0,
             a_copy_off_the_granularity_of_the_second_device_is_refused),
    TBK_CASE("STR-002", "stream two_devices", 0,
             an_upload_on_a_stream_of_another_device_is_refused),
    TBK_CASE("STR-002", "stream two_devices", 0,
             a_download_on_a_stream_of_another_device_is_refused),
    TBK_CASE("STR-002", "stream two_devices", 0, a_copy_on_a_stream_of_another_device_is_refused),
    TBK_CASE("STR-002", "fill stream two_devices", 0,
             a_fill_on_a_stream_of_another_device_is_refused),
    TBK_CASE("STR-002", "stream two_devices", 0, the_second_device_refuses_streams_of_the_first),
    TBK_CASE("DEV-021", NULL, TBK_CASE_CLOSED, an_upload_needs_an_open_device),
    TBK_CASE("DEV-021", NULL, TBK_CASE_CLOSED, a_download_needs_an_open_device),
    TBK_CASE("DEV-021", NULL, TBK_CASE_CLOSED, a_copy_needs_an_open_device),
    TBK_CASE("DEV-021", "fill", TBK_CASE_CLOSED, a_fill_needs_an_open_device),
};
TBK_SUITE(copy_refusal);
