/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweep of the order in which memory is given back: of several pieces that fill the device some go, wherever they
 * are among those that stay, and as many can be had again. By memory_alloc, by async_alloc, and of pinned memory.
 */
#include "dimensions.h"
#include "hoard.h"
#include "room.h"

#include <stdio.h>

enum { MOST_PIECES = 128, PINNED_UNIT = 65536 };

typedef enum shape { FIRST, MIDDLE, LAST, TWO_FIRST, TWO_MIDDLE, BUT_FIRST, BUT_LAST, ODD } shape_t;

SWEEP_DIMENSION(shape_axis, "freed", {"first", FIRST}, {"middle", MIDDLE}, {"last", LAST},
                {"first_two", TWO_FIRST}, {"middle_two", TWO_MIDDLE}, {"all_but_first", BUT_FIRST},
                {"all_but_last", BUT_LAST}, {"every_second", ODD});
SWEEP_DIMENSION(pieces_axis, "pieces", {"11", 11});
SWEEP_DIMENSION(all_pieces_axis, "pieces", {"3", 3}, {"11", 11}, {"64", 64}, {"100", 100});
SWEEP_DIMENSION(blocks_axis, "blocks", {"3", 3}, {"13", 13});
SWEEP_DIMENSION(all_blocks_axis, "blocks", {"1", 1}, {"3", 3}, {"5", 5}, {"7", 7}, {"33", 33},
                {"63", 63}, {"64", 64});
SWEEP_DIMENSION(way_axis, "given_back", {"forwards", 0}, {"backwards", 1});
SWEEP_DIMENSION(rounds_axis, "rounds", {"1", 1}, {"3", 3});
SWEEP_DIMENSION(memory_axis, "by", {"memory_alloc", 0});
SWEEP_DIMENSION(stream_axis, "by", {"async_alloc", 1});
SWEEP_DIMENSION(pinned_axis, "by", {"pinned_alloc", 2});

/* Exactly one of these a space has. */
typedef enum by { BY_MEMORY, BY_STREAM, BY_PINNED } by_t;
static by_t by_of(const sweep_case_t* one) {
  return (by_t)(sweep_get(one, &memory_axis) + sweep_get(one, &stream_axis) +
                sweep_get(one, &pinned_axis));
}

typedef struct hole {
  by_t by;
  tbk_stream_t* stream;
  uint64_t size;
  int64_t count; /* of those that fill the device */
  union {
    tbk_memory_t memory;
    void* pinned;
  } pieces[MOST_PIECES];
  bool held[MOST_PIECES];
} hole_t;

static int64_t parts_of(const sweep_case_t* one) {
  const int64_t blocks = sweep_get(one, &blocks_axis) + sweep_get(one, &all_blocks_axis);
  return blocks + sweep_get(one, &pieces_axis) + sweep_get(one, &all_pieces_axis);
}

static int64_t rounds_of(const sweep_case_t* one) {
  const int64_t rounds = sweep_get(one, &rounds_axis);
  return rounds > 0 ? rounds : 1;
}

static bool goes(shape_t shape, int64_t at, int64_t count) {
  const int64_t middle = count / 2;
  switch (shape) {
    case FIRST:
      return at == 0;
    case MIDDLE:
      return at == middle;
    case LAST:
      return at == count - 1;
    case TWO_FIRST:
      return at < 2;
    case TWO_MIDDLE:
      return at == middle || at == middle - 1;
    case BUT_FIRST:
      return at > 0;
    case BUT_LAST:
      return at < count - 1;
    default:
      return at % 2 == 1;
  }
}

/* ------------------------------------------------------------------------- taking and giving back -- */

static tbk_status_t take(tbk_fixture_t* fx, hole_t* it, int64_t at) {
  tbk_status_t status = TBK_OUT_OF_MEMORY;
  if (it->by == BY_PINNED)
    status = fx->pinned->pinned_alloc(fx->self, fx->device, it->size, &it->pieces[at].pinned,
                                      &fx->error);
  else if (it->by == BY_STREAM)
    status = fx->async_memory->async_alloc(fx->self, it->stream, it->size, &it->pieces[at].memory,
                                           &fx->error);
  else
    status =
        fx->core->memory_alloc(fx->self, fx->device, it->size, &it->pieces[at].memory, &fx->error);
  it->held[at] = status == TBK_OK;
  return status;
}

static void give(tbk_fixture_t* fx, hole_t* it, int64_t at) {
  if (!it->held[at]) return;
  it->held[at] = false;
  if (it->by == BY_PINNED)
    fx->pinned->pinned_free(fx->self, it->pieces[at].pinned);
  else
    piece_give(fx, it->stream, it->pieces[at].memory);
}

static void settle(tbk_fixture_t* fx, const hole_t* it) {
  if (it->stream != NULL) fx_synchronize(fx, it->stream);
}

/* Until there is no more; of pinned memory, which has no end that a test could reach, what is promised. */
static bool take_all(tbk_fixture_t* fx, hole_t* it, int64_t blocks) {
  const int64_t most = it->by == BY_PINNED ? blocks : MOST_PIECES;
  tbk_status_t status = TBK_OK;
  for (it->count = 0; it->count < most; it->count++) {
    status = take(fx, it, it->count);
    if (status != TBK_OK) break;
  }
  if (it->by == BY_PINNED || status != TBK_OUT_OF_MEMORY)
    return CHECK_OK(status) && it->by == BY_PINNED;
  return it->count > 0;
}

static void give_some(tbk_fixture_t* fx, hole_t* it, const sweep_case_t* one) {
  const shape_t shape = (shape_t)sweep_get(one, &shape_axis);
  for (int64_t i = 0; i < it->count; i++) {
    const int64_t at = sweep_get(one, &way_axis) == 0 ? i : it->count - 1 - i;
    if (goes(shape, at, it->count)) give(fx, it, at);
  }
  settle(fx, it);
}

/* Pieces of the size that was freed, so that no allocator has to move or to join anything. */
static bool take_again(tbk_fixture_t* fx, hole_t* it) {
  int64_t taken = 0, missing = 0;
  for (int64_t i = 0; i < it->count; i++)
    missing += !it->held[i];
  for (int64_t i = 0; i < it->count; i++) {
    if (it->held[i]) continue;
    if (!CHECK_SAID(take(fx, it, i) == TBK_OK, "as many as were given back",
                    "%lld of %lld of %llu bytes, of %lld that there were", (long long)taken,
                    (long long)missing, (unsigned long long)it->size, (long long)it->count))
      return false;
    taken++;
  }
  settle(fx, it);
  return true;
}

static void run_hole(tbk_fixture_t* fx, sweep_case_t* one) {
  hole_t* it = (hole_t*)(void*)fx_zeros(fx, sizeof *it);
  const int64_t parts = parts_of(one);
  if (sweep_get(one, &sweep_device) == 1) fx_use_device(fx, fx_second_device(fx));
  it->by = by_of(one);
  it->stream = it->by == BY_STREAM ? fx_stream(fx) : NULL;
  it->size = it->by == BY_PINNED ? ROOM_PINNED_BYTES / (uint64_t)parts / PINNED_UNIT * PINNED_UNIT
                                 : room_share(fx, (uint64_t)parts);
  one->left_out = !take_all(fx, it, parts);
  bool held = !one->left_out;
  for (int64_t i = 0; held && i < rounds_of(one); i++) {
    give_some(fx, it, one);
    held = take_again(fx, it);
  }
  for (int64_t i = 0; i < it->count; i++)
    give(fx, it, i);
  settle(fx, it);
}

/* Not where so many pieces do not reach all there is. */
static bool hole_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const int64_t device = sweep_get(one, &sweep_device);
  if (device == 1 && fx->device_count < 2) return false;
  if (by_of(one) == BY_PINNED) return true;
  const uint64_t size = room_share(fx, (uint64_t)parts_of(one));
  return size > 0 && fx->properties.memory_bytes / size < MOST_PIECES;
}

static void memory_between_what_stays_can_be_had_again(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&shape_axis, &pieces_axis, &memory_axis}, hole_fits, run_hole, 2};
  sweep_run(fx, &space);
}

static void memory_of_a_stream_between_what_stays_can_be_had_again(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&shape_axis, &pieces_axis, &stream_axis}, hole_fits, run_hole, 2};
  sweep_run(fx, &space);
}

static void pinned_memory_between_what_stays_can_be_had_again(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&shape_axis, &blocks_axis, &pinned_axis}, hole_fits, run_hole, 2};
  sweep_run(fx, &space);
}

static void memory_in_every_place_can_be_had_again(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&shape_axis, &all_pieces_axis, &way_axis, &rounds_axis, &sweep_device, &memory_axis},
      hole_fits,
      run_hole,
      2};
  sweep_run(fx, &space);
}

static void memory_of_a_stream_in_every_place_can_be_had_again(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&shape_axis, &all_pieces_axis, &way_axis, &rounds_axis, &sweep_device, &stream_axis},
      hole_fits,
      run_hole,
      2};
  sweep_run(fx, &space);
}

static void pinned_memory_in_every_place_can_be_had_again(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&shape_axis, &all_blocks_axis, &way_axis, &rounds_axis, &sweep_device, &pinned_axis},
      hole_fits,
      run_hole,
      2};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("MEM-012", "memory_bytes", TBK_CASE_ALONE, memory_between_what_stays_can_be_had_again),
    TBK_CASE("SOM-009", "async_memory memory_bytes", TBK_CASE_ALONE,
             memory_of_a_stream_between_what_stays_can_be_had_again),
    TBK_CASE("PIN-011", "pinned", 0, pinned_memory_between_what_stays_can_be_had_again),
    TBK_CASE("MEM-012", "memory_bytes", TBK_CASE_THOROUGH | TBK_CASE_ALONE,
             memory_in_every_place_can_be_had_again),
    TBK_CASE("SOM-009", "async_memory memory_bytes", TBK_CASE_THOROUGH | TBK_CASE_ALONE,
             memory_of_a_stream_in_every_place_can_be_had_again),
    TBK_CASE("PIN-011", "pinned", TBK_CASE_THOROUGH, pinned_memory_in_every_place_can_be_had_again),
};
TBK_SUITE(sweep_hole);
