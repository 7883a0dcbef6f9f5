/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Races: several threads make the same kind of call for a while, and what must hold of all of them
 * together is looked at: no two live blocks overlap, no work is lost, none runs twice.
 */
#include "dimensions.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { RACERS = 4, RING = 7, LIVE_MOST = RACERS * RING, TURNS_MOST = 6000, CELL = 64 };

static const uint64_t race_ns = UINT64_C(350000000);

typedef struct racer racer_t;
typedef struct race race_t;
typedef void (*race_fn)(tbk_fixture_t* fx, racer_t* racer);

struct racer {
  tbk_fixture_t fx;
  race_t* race;
  uint32_t index;
  uint64_t random;
  uint32_t turns; /* how many it made */
};

struct race {
  scene_t scene;
  race_fn body;
  racer_t racers[RACERS];
  atomic_uint ready;
  uint64_t until_ns;
  pthread_mutex_t lock; /* of what follows, and of no call */
  struct {
    uint64_t begin, end;
  } live[LIVE_MOST];
  size_t live_count;
  tbk_stream_t* stream;
  tbk_memory_t memory;
  uint8_t* cells; /* CELL bytes for each turn of each racer */
  uint64_t unit;
  atomic_uint ran[RACERS];
};

static uint64_t draw(racer_t* self, uint64_t below) {
  self->random = self->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (self->random >> 33) % below;
}

static bool goes_on(const racer_t* self) {
  return self->turns < TURNS_MOST && fx_now_ns() < self->race->until_ns;
}

/* ------------------------------------------------------------------------------ allocation ---- */

/* False: another live block has some of it. */
static bool note_live(race_t* race, uint64_t begin, uint64_t end) {
  bool alone = true;
  pthread_mutex_lock(&race->lock);
  for (size_t i = 0; i < race->live_count; i++)
    alone = alone && (end <= race->live[i].begin || race->live[i].end <= begin);
  race->live[race->live_count].begin = begin;
  race->live[race->live_count++].end = end;
  pthread_mutex_unlock(&race->lock);
  return alone;
}

static void note_dead(race_t* race, uint64_t begin) {
  pthread_mutex_lock(&race->lock);
  for (size_t i = 0; i < race->live_count; i++)
    if (race->live[i].begin == begin) {
      race->live[i] = race->live[--race->live_count];
      break;
    }
  pthread_mutex_unlock(&race->lock);
}

typedef struct held_block {
  tbk_memory_t memory;
  uint8_t byte;
} held_block_t;

/* Opaque handles are told apart by themselves; flat ones by the bytes that they stand for. */
static bool take_block(tbk_fixture_t* fx, racer_t* self, held_block_t* block) {
  bool flat = (fx->properties.flags & TBK_DEVICE_FLAT_ADDRESS) != 0;
  uint64_t size = fx_round(fx, 64 + 64 * draw(self, 40)), unit = self->race->unit;
  uint8_t bytes[4096];
  block->byte = (uint8_t)draw(self, 256);
  if (!CHECK_OK(fx->core->memory_alloc(fx->self, fx->device, size, &block->memory, &fx->error)))
    return false;
  if (!CHECK_SAID(note_live(self->race, block->memory, block->memory + (flat ? size : 1)),
                  "no two live blocks share a byte", "another thread has some of this one"))
    return false;
  memset(bytes, block->byte, sizeof bytes);
  return CHECK_OK(
      fx->core->upload(fx->self, fx->device, block->memory, 0, bytes, unit, NULL, &fx->error));
}

static bool give_block(tbk_fixture_t* fx, racer_t* self, held_block_t* block) {
  uint8_t bytes[4096] = {0}, expected[16];
  memset(expected, block->byte, sizeof expected);
  bool held = CHECK_OK(fx->core->download(fx->self, fx->device, bytes, block->memory, 0,
                                          self->race->unit, NULL, &fx->error)) &&
              CHECK_BYTES(expected, bytes, sizeof expected);
  note_dead(self->race, block->memory);
  held = CHECK_OK(fx->core->memory_free(fx->self, fx->device, block->memory, &fx->error)) && held;
  block->memory = 0;
  return held;
}

static void race_alloc(tbk_fixture_t* fx, racer_t* self) {
  held_block_t ring[RING] = {{0, 0}};
  bool held = true;
  for (; held && goes_on(self); self->turns++) {
    held_block_t* block = &ring[draw(self, RING)];
    held = block->memory != 0 ? give_block(fx, self, block) : take_block(fx, self, block);
  }
  for (int i = 0; held && i < RING; i++)
    if (ring[i].memory != 0) held = give_block(fx, self, &ring[i]);
}

/* --------------------------------------------------------------------------------- streams ---- */

static uint64_t cell_of(const racer_t* self, uint32_t turn) {
  return ((uint64_t)self->index * TURNS_MOST + turn) * self->race->unit;
}

/* All write to one stream; every write must arrive. */
static void race_one_stream(tbk_fixture_t* fx, racer_t* self) {
  race_t* race = self->race;
  for (bool held = true; held && goes_on(self); self->turns++) {
    uint64_t at = cell_of(self, self->turns);
    held = CHECK_OK(fx->core->upload(fx->self, fx->device, race->memory, at, race->cells + at,
                                     race->unit, race->stream, &fx->error));
    if (self->turns % 256 == 255)
      held = CHECK_OK(fx->stream->stream_synchronize(fx->self, race->stream, &fx->error)) && held;
  }
}

/* Each makes streams, and events where there are some, uses them and destroys them. */
static void race_own_streams(tbk_fixture_t* fx, racer_t* self) {
  race_t* race = self->race;
  for (bool held = true; held && goes_on(self); self->turns++) {
    tbk_stream_t* stream = NULL;
    uint64_t at = cell_of(self, self->turns);
    if (!CHECK_OK(fx->stream->stream_create(fx->self, fx->device, 0, &stream, &fx->error))) return;
    held = CHECK_OK(fx->core->upload(fx->self, fx->device, race->memory, at, race->cells + at,
                                     race->unit, stream, &fx->error));
    if (fx->event != NULL) {
      tbk_event_t* event = NULL;
      held = CHECK_OK(fx->event->event_create(fx->self, fx->device, 0, &event, &fx->error)) && held;
      if (event == NULL) return;
      held = CHECK_OK(fx->event->event_record(fx->self, event, stream, &fx->error)) && held;
      held = CHECK_OK(fx->event->event_synchronize(fx->self, event, &fx->error)) && held;
      fx->event->event_destroy(fx->self, event);
    } else {
      held = CHECK_OK(fx->stream->stream_synchronize(fx->self, stream, &fx->error)) && held;
    }
    fx->stream->stream_destroy(fx->self, stream);
  }
}

static void count(void* argument) {
  atomic_fetch_add((atomic_uint*)argument, 1);
}

static void race_callbacks(tbk_fixture_t* fx, racer_t* self) {
  race_t* race = self->race;
  for (bool held = true; held && goes_on(self); self->turns++)
    held = CHECK_OK(fx->callback->callback_enqueue(fx->self, race->stream, count,
                                                   &race->ran[self->index], &fx->error));
}

/* ------------------------------------------------------------------------------------- race ---- */

typedef enum kind { ALLOC, ONE_STREAM, OWN_STREAMS, CALLBACKS } kind_t;

SWEEP_DIMENSION(kind_axis, "calls", {"alloc_free", ALLOC}, {"one_stream", ONE_STREAM},
                {"own_streams", OWN_STREAMS}, {"callbacks", CALLBACKS});

static const race_fn bodies[] = {race_alloc, race_one_stream, race_own_streams, race_callbacks};

static void run_racer(void* argument) {
  racer_t* self = argument;
  atomic_fetch_add(&self->race->ready, 1);
  while (atomic_load(&self->race->ready) < RACERS)
    sched_yield();
  self->race->body(&self->fx, self);
}

static void start(tbk_fixture_t* fx, race_t* race) {
  tbk_thread_t* threads[RACERS];
  race->until_ns = fx_now_ns() + race_ns;
  for (uint32_t i = 0; i < RACERS; i++) {
    race->racers[i] = (racer_t){.fx = *fx, .race = race, .index = i, .random = fx_random(fx)};
    threads[i] = fx_thread(fx, run_racer, &race->racers[i]);
  }
  for (uint32_t i = 0; i < RACERS; i++)
    fx_join(fx, threads[i]);
}

static void check_cells(tbk_fixture_t* fx, const race_t* race) {
  uint64_t bytes = RACERS * TURNS_MOST * race->unit;
  uint8_t* seen = fx_zeros(fx, bytes);
  fx_download(fx, seen, race->memory, bytes);
  for (uint32_t i = 0; i < RACERS; i++) {
    uint64_t first = cell_of(&race->racers[i], 0);
    CHECK_BYTES(race->cells + first, seen + first, race->racers[i].turns * race->unit);
  }
}

static bool race_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  int64_t kind = sweep_get(one, &kind_axis);
  uint64_t bytes = RACERS * TURNS_MOST * fx_round(fx, 16);
  if (kind == CALLBACKS && fx->callback == NULL) return false;
  if (kind != ALLOC && fx->stream == NULL) return false;
  return scene_fits(fx, one) && (kind == ALLOC || bytes < sweep_room(fx));
}

static void run(tbk_fixture_t* fx, sweep_case_t* one) {
  race_t* race = (race_t*)(void*)fx_zeros(fx, sizeof *race);
  int64_t kind = sweep_get(one, &kind_axis);
  scene_begin(fx, one, &race->scene);
  pthread_mutex_init(&race->lock, NULL);
  race->body = bodies[kind];
  race->unit = fx_round(fx, 16);
  if (kind == ONE_STREAM || kind == OWN_STREAMS) {
    uint64_t bytes = RACERS * TURNS_MOST * race->unit;
    race->cells = fx_bytes(fx, bytes);
    if (!sweep_alloc(fx, one, bytes, &race->memory)) return;
  }
  if (kind == ONE_STREAM || kind == CALLBACKS) race->stream = fx_stream(fx);
  start(fx, race);
  if (race->stream != NULL) fx_synchronize(fx, race->stream);
  if (race->cells != NULL) check_cells(fx, race);
  for (uint32_t i = 0; kind == CALLBACKS && i < RACERS; i++)
    CHECK_EQUAL(race->racers[i].turns, atomic_load(&race->ran[i]));
  pthread_mutex_destroy(&race->lock);
}

static void threads_do_not_disturb_each_other(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&kind_axis, &sweep_device}, race_fits, run, 0};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("THR-001", NULL, TBK_CASE_THOROUGH, threads_do_not_disturb_each_other),
};
TBK_SUITE(sweep_race);
