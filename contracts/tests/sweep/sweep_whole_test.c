/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweep of works that threads enqueue on one stream at the same time: each takes effect whole, before or
 * after each of the others. Writers set the same memory to what is their own, and what a reader sees
 * between them is all of one writer.
 */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "dimensions.h"
#include "range.h"

enum { WRITERS = 2, SLOTS = 24, WRITES = 40 };

typedef enum kind { UPLOAD, COPY, FILL, PEER_COPY, RANDOM } kind_t;

SWEEP_DIMENSION(kind_axis, "work", {"upload", UPLOAD}, {"copy", COPY}, {"fill", FILL},
                {"peer_copy", PEER_COPY}, {"random", RANDOM});
SWEEP_DIMENSION(bytes_axis, "size", {"256", 256}, {"4K", 4096}, {"68K", 69632}, {"260K", 266240},
                {"1M", 1 << 20});
SWEEP_DIMENSION(reader_axis, "read_by", {"download", 0}, {"copy", 1});

typedef struct whole whole_t;
typedef struct worker {
  tbk_fixture_t fx;
  whole_t* whole;
  int index; /* WRITERS: the reader */
} worker_t;

struct whole {
  const sweep_case_t* one;
  tbk_stream_t* stream;
  tbk_memory_t target, sources[WRITERS], copies;
  uint64_t size;
  uint8_t *written[WRITERS + 1], *seen; /* what a writer writes; and what was there before */
  atomic_int waiting;
  worker_t workers[WRITERS + 1];
};

static bool whole_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const int64_t kind = sweep_get(one, &kind_axis);
  if (kind == PEER_COPY && fx->peer == NULL) return false;
  if (kind == RANDOM && fx->random == NULL) return false;
  if (kind == FILL && !TBK_HAS(fx->core, tbk_core_t, fill)) return false;
  return scene_fits(fx, one) &&
         (SLOTS + 4) * (uint64_t)sweep_get(one, &bytes_axis) < sweep_room(fx);
}

static tbk_status_t enqueue(tbk_fixture_t* fx, const whole_t* it, int writer, tbk_memory_t target,
                            tbk_stream_t* stream) {
  const tbk_generator_t generator = {(uint64_t)writer + 5, 0};
  switch (sweep_get(it->one, &kind_axis)) {
    case COPY:
      return fx->core->copy(fx->self, fx->device, target, 0, it->sources[writer], 0, it->size,
                            stream, &fx->error);
    case FILL:
      return fx->core->fill(fx->self, fx->device, target, 0, it->written[writer][0], it->size,
                            stream, &fx->error);
    case PEER_COPY:
      return fx->peer->peer_copy(fx->self, fx->device, target, 0, fx->device, it->sources[writer],
                                 0, it->size, stream, &fx->error);
    case RANDOM:
      return fx->random->random_bits(fx->self, fx->device, &generator, target, 0, it->size / 4,
                                     stream, &fx->error);
    default:
      return fx->core->upload(fx->self, fx->device, target, 0, it->written[writer], it->size,
                              stream, &fx->error);
  }
}

static tbk_status_t look(tbk_fixture_t* fx, const whole_t* it, uint64_t slot) {
  if (sweep_get(it->one, &reader_axis) == 1)
    return fx->core->copy(fx->self, fx->device, it->copies, slot * it->size, it->target, 0,
                          it->size, it->stream, &fx->error);
  return fx->core->download(fx->self, fx->device, it->seen + slot * it->size, it->target, 0,
                            it->size, it->stream, &fx->error);
}

static void work(void* argument) {
  worker_t* self = argument;
  whole_t* it = self->whole;
  tbk_fixture_t* fx = &self->fx;
  atomic_fetch_sub(&it->waiting, 1);
  while (atomic_load(&it->waiting) > 0)
    sched_yield();
  for (int i = 0; self->index < WRITERS && i < WRITES; i++)
    if (!CHECK_OK(enqueue(fx, it, self->index, it->target, it->stream))) return;
  for (uint64_t slot = 0; self->index == WRITERS && slot < SLOTS; slot++) {
    if (!CHECK_OK(look(fx, it, slot))) return;
    sched_yield();
  }
}

/* What each writes, made by the device where only it knows: random words. */
static bool prepare(tbk_fixture_t* fx, sweep_case_t* one, whole_t* it) {
  it->one = one;
  it->size = fx_round(fx, (uint64_t)sweep_get(one, &bytes_axis));
  it->stream = fx_stream(fx);
  it->seen = fx_zeros(fx, SLOTS * it->size);
  it->written[WRITERS] = fx_bytes(fx, it->size);
  if (!sweep_alloc(fx, one, it->size, &it->target) ||
      !sweep_alloc(fx, one, SLOTS * it->size, &it->copies))
    return false;
  for (int i = 0; i < WRITERS; i++) {
    it->written[i] = fx_bytes(fx, it->size);
    if (sweep_get(one, &kind_axis) == FILL) memset(it->written[i], 0x31 + i, it->size);
    if (!sweep_alloc(fx, one, it->size, &it->sources[i])) return false;
    fx_upload(fx, it->sources[i], it->written[i], it->size);
    if (sweep_get(one, &kind_axis) != RANDOM) continue;
    REQUIRE_OK(enqueue(fx, it, i, it->target, NULL));
    fx_download(fx, it->written[i], it->target, it->size);
  }
  fx_upload(fx, it->target, it->written[WRITERS], it->size);
  return true;
}

static void check_slots(const whole_t* it) {
  for (uint64_t slot = 0; slot < SLOTS; slot++) {
    const uint8_t* seen = it->seen + slot * it->size;
    bool whole = false;
    for (int i = 0; i <= WRITERS; i++)
      whole = whole || memcmp(seen, it->written[i], it->size) == 0;
    if (!CHECK_SAID(whole, "all of what one thread has written", "a mixture, in look %llu of %d",
                    (unsigned long long)slot + 1, SLOTS))
      return;
  }
}

static void run(tbk_fixture_t* fx, sweep_case_t* one) {
  whole_t* it = (whole_t*)(void*)fx_zeros(fx, sizeof *it);
  tbk_thread_t* threads[WRITERS + 1];
  if (sweep_get(one, &sweep_device) == 1) fx_use_device(fx, fx_second_device(fx));
  if (!prepare(fx, one, it)) return;
  atomic_store(&it->waiting, WRITERS + 1);
  for (int i = 0; i <= WRITERS; i++) {
    it->workers[i] = (worker_t){*fx, it, i};
    threads[i] = fx_thread(fx, work, &it->workers[i]);
  }
  for (int i = 0; i <= WRITERS; i++)
    fx_join(fx, threads[i]);
  fx_synchronize(fx, it->stream);
  if (sweep_get(one, &reader_axis) == 1) fx_download(fx, it->seen, it->copies, SLOTS * it->size);
  check_slots(it);
}

static void works_of_threads_on_one_stream_are_whole(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&kind_axis, &bytes_axis, &reader_axis, &sweep_device}, whole_fits, run, 2};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("THR-003", "stream", TBK_CASE_THOROUGH, works_of_threads_on_one_stream_are_whole),
};
TBK_SUITE(sweep_whole);
