/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweep of memory that a stream frees while its work is pending: whoever allocates meanwhile must
 * not get it. What the pending work reads and what the new owner writes are both looked at.
 */
#include "dimensions.h"
#include "hoard.h"

#include <string.h>

enum { MOST_PIECES = 130, DELAY_US = 3000, LONG_DELAY_US = 25000 };

typedef enum taker { BY_ALLOC, BY_SAME_STREAM, BY_OTHER_STREAM, BY_NOBODY } taker_t;

SWEEP_DIMENSION(pieces_axis, "freed", {"1", 1}, {"7", 7}, {"40", 40}, {"129", 129});
SWEEP_DIMENSION(taker_axis, "taken_by", {"memory_alloc", BY_ALLOC}, {"same", BY_SAME_STREAM},
                {"other", BY_OTHER_STREAM}, {"nobody", BY_NOBODY});
SWEEP_DIMENSION(larger_axis, "taken", {"equal", 0}, {"half", 1}, {"twice", 2});
/* Where all other memory is taken, only what was freed is left to be handed out. */
SWEEP_DIMENSION(full_axis, "memory_is", {"free", 0}, {"taken", 1});
SWEEP_DIMENSION(zero_axis, "zero_freed_between", {"no", 0}, {"yes", 1});

typedef struct freed {
  scene_t scene;
  tbk_stream_t *a, *b;
  uint64_t size, taken_size, pieces, taken_count;
  tbk_memory_t memory[MOST_PIECES], taken[MOST_PIECES];
  hoard_t hoard;
  uint8_t *written, *seen, *new_written, *new_seen; /* one piece of taken memory: all alike */
  bool refused;
} freed_t;

static bool freed_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  uint64_t size = (uint64_t)sweep_get(one, &sweep_size);
  uint64_t pieces = (uint64_t)sweep_get(one, &pieces_axis);
  return scene_fits(fx, one) && size * pieces <= (UINT64_C(8) << 20) &&
         8 * size * pieces < sweep_room(fx);
}

/* Written by a, which is late; after a while read and freed. */
static bool use(tbk_fixture_t* fx, freed_t* it, uint64_t at) {
  if (!piece_take(fx, it->a, it->size, &it->memory[at], &it->refused)) return false;
  CHECK_OK(fx->core->upload(fx->self, fx->device, it->memory[at], 0, it->written + at * it->size,
                            it->size, it->a, &fx->error));
  return true;
}

static void read_and_free(tbk_fixture_t* fx, freed_t* it, uint64_t at) {
  CHECK_OK(fx->core->download(fx->self, fx->device, it->seen + at * it->size, it->memory[at], 0,
                              it->size, it->a, &fx->error));
  piece_give(fx, it->a, it->memory[at]);
  if (sweep_get(it->scene.one, &zero_axis) == 1) piece_give(fx, it->a, 0);
}

static tbk_stream_t* taker_of(const freed_t* it) {
  int64_t taker = sweep_get(it->scene.one, &taker_axis);
  return taker == BY_SAME_STREAM ? it->a : taker == BY_OTHER_STREAM ? it->b : NULL;
}

/* Without a stream, or on one that waits for nothing: at once. */
static bool take(tbk_fixture_t* fx, freed_t* it, uint64_t size) {
  tbk_stream_t* stream = taker_of(it);
  tbk_memory_t memory;
  if (!piece_take(fx, stream, size, &memory, &it->refused)) return false;
  it->taken[it->taken_count++] = memory;
  CHECK_OK(
      fx->core->upload(fx->self, fx->device, memory, 0, it->new_written, size, stream, &fx->error));
  return true;
}

static void take_some(tbk_fixture_t* fx, freed_t* it) {
  if (sweep_get(it->scene.one, &taker_axis) == BY_NOBODY) return;
  while (it->taken_count < it->pieces && take(fx, it, it->taken_size))
    continue;
  it->refused = it->refused && it->hoard.count == 0;
}

/* When a is through: what the new owners wrote is still there. */
static void check_taken(tbk_fixture_t* fx, freed_t* it) {
  bool held = true;
  for (uint64_t i = 0; i < it->taken_count; i++) {
    memset(it->new_seen, 0, it->taken_size);
    CHECK_OK(fx->core->download(fx->self, fx->device, it->new_seen, it->taken[i], 0, it->taken_size,
                                NULL, &fx->error));
    held = held && CHECK_BYTES(it->new_written, it->new_seen, it->taken_size);
    piece_give(fx, taker_of(it), it->taken[i]);
  }
}

static void program(tbk_fixture_t* fx, void* argument) {
  freed_t* it = argument;
  bool full = sweep_get(it->scene.one, &full_axis) == 1;
  uint64_t used = 0;
  sweep_delay(fx, it->a, full ? LONG_DELAY_US : DELAY_US);
  while (used < it->pieces && use(fx, it, used))
    used++;
  if (full && !it->refused) hoard_take(fx, &it->hoard, NULL, it->size < 4096 ? it->size : 4096);
  sweep_delay(fx, it->a, DELAY_US);
  for (uint64_t i = 0; i < used; i++)
    read_and_free(fx, it, i);
  if (!it->refused) take_some(fx, it);
  CHECK_OK(fx->stream->stream_synchronize(fx->self, it->b, &fx->error));
  CHECK_OK(fx->stream->stream_synchronize(fx->self, it->a, &fx->error));
  check_taken(fx, it);
  hoard_give(fx, &it->hoard, NULL);
  CHECK_BYTES(it->written, it->seen, used * it->size);
}

static void run(tbk_fixture_t* fx, sweep_case_t* one) {
  freed_t* it = (freed_t*)(void*)fx_zeros(fx, sizeof *it);
  int64_t larger = sweep_get(one, &larger_axis);
  scene_begin(fx, one, &it->scene);
  it->size = fx_round(fx, (uint64_t)sweep_get(one, &sweep_size));
  it->taken_size = fx_round(fx, larger == 1   ? it->size / 2 + 1
                                : larger == 2 ? 2 * it->size
                                              : it->size);
  it->pieces = (uint64_t)sweep_get(one, &pieces_axis);
  it->written = fx_bytes(fx, it->pieces * it->size);
  it->seen = fx_zeros(fx, it->pieces * it->size);
  it->new_written = fx_bytes(fx, it->taken_size);
  it->new_seen = fx_zeros(fx, it->taken_size);
  it->a = fx_stream(fx);
  it->b = fx_stream(fx);
  scene_call(&it->scene, program, it);
  one->left_out = it->refused;
}

static void freed_memory_is_nobodys_while_work_is_pending(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&sweep_size, &pieces_axis, &taker_axis, &larger_axis, &full_axis, &zero_axis, &sweep_device,
       &sweep_thread, &sweep_state},
      freed_fits,
      run,
      0};
  if (fx->callback == NULL)
    fx_evidence(fx, TBK_NOT_SHOWN, "without callbacks nothing can be delayed");
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("SOM-005", "async_memory", TBK_CASE_THOROUGH | TBK_CASE_ALONE,
             freed_memory_is_nobodys_while_work_is_pending),
};
TBK_SUITE(sweep_freed);
