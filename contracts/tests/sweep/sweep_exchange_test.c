/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweep of who gets what another kind of allocation has given back: memory_alloc and async_alloc in turn,
 * on a device that has room for little more.
 */
#include "dimensions.h"
#include "hoard.h"

enum { MOST_PIECES = 600 };

SWEEP_DIMENSION(piece_axis, "size", {"16K", 16384}, {"64K", 65536}, {"64K+1", 65537},
                {"1M", 1 << 20}, {"4M+1", (4 << 20) + 1}, {"16M", 16 << 20}, {"32M", 32 << 20});
SWEEP_DIMENSION(rounds_axis, "rounds", {"1", 1}, {"4", 4});

typedef struct exchange {
  hoard_t hoard;
  tbk_memory_t pieces[MOST_PIECES];
  uint64_t size;
} exchange_t;

static size_t take_most(tbk_fixture_t* fx, exchange_t* it, tbk_stream_t* stream, size_t most) {
  size_t count = 0;
  while (count < most) {
    tbk_memory_t* place = &it->pieces[count];
    tbk_status_t status =
        stream != NULL
            ? fx->async_memory->async_alloc(fx->self, stream, it->size, place, &fx->error)
            : fx->core->memory_alloc(fx->self, fx->device, it->size, place, &fx->error);
    if (status != TBK_OK) break;
    count++;
  }
  return count;
}

static void give_pieces(tbk_fixture_t* fx, exchange_t* it, tbk_stream_t* stream, size_t count) {
  for (size_t i = 0; i < count; i++)
    CHECK_OK(stream != NULL
                 ? fx->async_memory->async_free(fx->self, stream, it->pieces[i], &fx->error)
                 : fx->core->memory_free(fx->self, fx->device, it->pieces[i], &fx->error));
  if (stream != NULL) fx_synchronize(fx, stream);
}

static void check_as_many(size_t before, size_t now, const char* by) {
  CHECK_SAID(4 * now >= 3 * before, "as many as before", "%zu of %zu by %s", now, before, by);
}

/* With little room, so that what one of them keeps to itself is missed by the other. */
static void run_exchange(tbk_fixture_t* fx, sweep_case_t* one) {
  exchange_t* it = (exchange_t*)(void*)fx_zeros(fx, sizeof *it);
  scene_t scene;
  scene_begin(fx, one, &scene);
  it->size = fx_round(fx, (uint64_t)sweep_get(one, &piece_axis));
  const uint64_t room = 16 * it->size;
  tbk_stream_t *stream = fx_stream(fx), *other = fx_stream(fx);
  hoard_take(fx, &it->hoard, NULL, it->size < 65536 ? it->size : 65536);
  hoard_leave_room(fx, &it->hoard, NULL, room > (8 << 20) ? room : 8 << 20);
  const size_t by_device = take_most(fx, it, NULL, MOST_PIECES);
  give_pieces(fx, it, NULL, by_device);
  const size_t by_stream = take_most(fx, it, stream, by_device);
  give_pieces(fx, it, stream, by_stream);
  one->left_out =
      by_stream < 4; /* such memory comes in larger units here, or there is too little */
  for (int64_t i = 0; !one->left_out && i < sweep_get(one, &rounds_axis); i++) {
    size_t count = take_most(fx, it, NULL, by_device);
    check_as_many(by_device, count, "memory_alloc");
    give_pieces(fx, it, NULL, count);
    count = take_most(fx, it, i % 2 == 0 ? other : stream, by_stream);
    check_as_many(by_stream, count, "async_alloc");
    give_pieces(fx, it, i % 2 == 0 ? other : stream, count);
  }
  hoard_give(fx, &it->hoard, NULL);
}

static bool exchange_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const uint64_t most = fx->properties.max_allocation_bytes;
  return scene_fits(fx, one) && (most == 0 || (uint64_t)sweep_get(one, &piece_axis) <= most);
}

static void memory_of_streams_and_other_memory_are_had_in_turn(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&piece_axis, &rounds_axis, &sweep_state, &sweep_device}, exchange_fits, run_exchange, 0};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("SOM-009", "async_memory", TBK_CASE_THOROUGH | TBK_CASE_ALONE,
             memory_of_streams_and_other_memory_are_had_in_turn),
};
TBK_SUITE(sweep_exchange);
