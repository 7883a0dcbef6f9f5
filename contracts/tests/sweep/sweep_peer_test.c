/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweep of copies between devices: which way, how large, from where to where, how often. And of
 * pinned memory: that blocks of every size are whole, apart, and aligned.
 */
#include "dimensions.h"
#include "range.h"

#include <string.h>

enum { MOST_BYTES = 8 << 20 };

SWEEP_DIMENSION(way_axis, "way", {"0to1", 0}, {"1to0", 1}, {"0to0", 2}, {"1to1", 3});

typedef struct side {
  int32_t device;
  tbk_memory_t memory;
  uint8_t* model;
} side_t;

typedef struct peer_program {
  scene_t scene;
  side_t from, to;
  uint64_t size, step, repeat, first, bytes;
} peer_program_t;

static bool peer_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  uint64_t size = (uint64_t)sweep_get(one, &sweep_size);
  uint64_t repeat = (uint64_t)sweep_get(one, &sweep_repeat);
  return size * repeat <= MOST_BYTES && 4 * (size + 8192) * repeat < sweep_room(fx) &&
         scene_fits(fx, one);
}

/* Of the properties, which suit both devices, none is changed. */
static void make_side(tbk_fixture_t* fx, side_t* side, int32_t device, uint64_t bytes) {
  int32_t kept = fx->device;
  side->device = device;
  side->model = fx_bytes(fx, bytes);
  fx->device = device;
  side->memory = fx_alloc_with(fx, side->model, bytes);
  fx->device = kept;
}

static void copy_all(tbk_fixture_t* fx, void* argument) {
  const peer_program_t* it = argument;
  for (uint64_t i = 0; i < it->repeat; i++) {
    uint64_t at = i * it->step;
    if (!CHECK_OK(fx->peer->peer_copy(fx->self, it->to.device, it->to.memory, it->first + at,
                                      it->from.device, it->from.memory, at, it->size,
                                      it->scene.stream,
                                      it->scene.error != NULL ? &fx->error : NULL)))
      return;
  }
}

static void check_side(tbk_fixture_t* fx, const side_t* side, uint64_t bytes) {
  int32_t kept = fx->device;
  fx->device = side->device;
  FX_CHECK_MEMORY(fx, side->model, side->memory, bytes);
  fx->device = kept;
}

/* The stream is one of the source's device. */
static void run_peer(tbk_fixture_t* fx, sweep_case_t* one) {
  peer_program_t* it = (peer_program_t*)(void*)fx_zeros(fx, sizeof *it);
  int64_t way = sweep_get(one, &way_axis);
  int32_t devices[2] = {fx->device, fx_second_device(fx)};
  const uint64_t granularity = fx_properties(fx, devices[1])->copy_granularity;
  fx->device = devices[way == 1 || way == 3];
  if (granularity > fx->properties.copy_granularity)
    fx->properties.copy_granularity = granularity; /* the larger one suits both */
  scene_begin(fx, one, &it->scene);
  uint64_t unit = fx_round(fx, 1);
  it->size = fx_round(fx, (uint64_t)sweep_get(one, &sweep_size));
  it->repeat = (uint64_t)sweep_get(one, &sweep_repeat);
  it->step = it->size + unit;
  it->first = 3 * unit;
  it->bytes = it->first + it->step * it->repeat + unit;
  make_side(fx, &it->from, fx->device, it->bytes);
  make_side(fx, &it->to, devices[way == 0 || way == 3], it->bytes);
  for (uint64_t i = 0; i < it->repeat; i++)
    memcpy(it->to.model + it->first + i * it->step, it->from.model + i * it->step, it->size);
  scene_load(&it->scene);
  scene_call(&it->scene, copy_all, it);
  scene_end(&it->scene);
  check_side(fx, &it->to, it->bytes);
  check_side(fx, &it->from, it->bytes);
}

static void copies_between_devices_arrive_in_every_size_and_state(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&way_axis, &sweep_size, &sweep_repeat, &sweep_stream,
                                       &sweep_pending, &sweep_thread, &sweep_state, &sweep_error},
                                      peer_fits,
                                      run_peer,
                                      0};
  fx_second_device(fx); /* what fits is asked of both */
  sweep_run(fx, &space);
}

/* ----------------------------------------------------------------------------- pinned memory -- */

SWEEP_DIMENSION(live_axis, "live", {"1", 1}, {"2", 2}, {"9", 9}, {"64", 64});
SWEEP_DIMENSION(turns_axis, "turns", {"1", 1}, {"7", 7}, {"60", 60});

static bool pinned_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  uint64_t size = (uint64_t)sweep_get(one, &sweep_size);
  uint64_t live = (uint64_t)sweep_get(one, &live_axis);
  if (!scene_fits(fx, one) || size * live > room_pinned(fx, size * live)) return false;
  return size * live * (uint64_t)sweep_get(one, &turns_axis) <= 4 * MOST_BYTES;
}

static void pinned_turns(tbk_fixture_t* fx, void* argument) {
  const scene_t* scene = argument;
  uint64_t size = (uint64_t)sweep_get(scene->one, &sweep_size);
  int64_t live = sweep_get(scene->one, &live_axis);
  uint8_t* blocks[ROOM_PINNED_BLOCKS] = {NULL};
  for (int64_t turn = 0; turn < sweep_get(scene->one, &turns_axis); turn++) {
    bool held = true;
    for (int64_t i = 0; held && i < live; i++) {
      void* pointer = NULL;
      held = CHECK_OK(fx->pinned->pinned_alloc(fx->self, fx->device, size, &pointer, scene->error));
      blocks[i] = pointer;
      held = held && CHECK((uintptr_t)pointer % 64 == 0);
      if (held) memset(blocks[i], (int)(i * 3 + turn), size);
    }
    for (int64_t i = 0; i < live; i++) {
      for (uint64_t k = 0; held && k < size; k++)
        held = blocks[i][k] == (uint8_t)(i * 3 + turn);
      if (blocks[i] != NULL) fx->pinned->pinned_free(fx->self, blocks[i]);
      blocks[i] = NULL;
    }
    if (!CHECK_SAID(held, "every byte as it was written", "another one")) return;
  }
}

static void run_pinned(tbk_fixture_t* fx, sweep_case_t* one) {
  scene_t* scene = (scene_t*)(void*)fx_zeros(fx, sizeof *scene);
  scene_begin(fx, one, scene);
  scene_call(scene, pinned_turns, scene);
}

static void pinned_blocks_are_whole_and_apart(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&sweep_size, &live_axis, &turns_axis, &sweep_device, &sweep_thread, &sweep_error},
      pinned_fits,
      run_pinned,
      0};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("PER-006", "peer two_devices", TBK_CASE_THOROUGH,
             copies_between_devices_arrive_in_every_size_and_state),
    TBK_CASE("PIN-002", "pinned", TBK_CASE_THOROUGH, pinned_blocks_are_whole_and_apart),
};
TBK_SUITE(sweep_peer);
