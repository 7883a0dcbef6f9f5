/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "dimensions.h"

#include "child.h"
#include "range.h"
#include "room.h"

#include <string.h>
#include <time.h>

enum { SCRATCH_WORKS = 512, CHURN = 100 };

#define K UINT64_C(1024)
#define M (1024 * K)

const int64_t sweep_lengths[SWEEP_ALL_LENGTHS] = {8191,  8193,  16384,  8192,   16383,
                                                  16385, 32769, 65537,  32767,  32768,
                                                  65535, 65536, 131071, 131072, 131073};

SWEEP_SHARED_DIMENSION(sweep_size, "size", {"1", 1}, {"3", 3}, {"64", 64}, {"511", 511},
                       {"4K", 4 * K}, {"4K+1", 4 * K + 1}, {"64K-1", 64 * K - 1}, {"64K", 64 * K},
                       {"64K+1", 64 * K + 1}, {"256K+3", 256 * K + 3}, {"1M-1", M - 1},
                       {"1M+1", M + 1}, {"4M+5", 4 * M + 5}, {"16M-1", 16 * M - 1},
                       {"16M+1", 16 * M + 1}, {"32M+7", 32 * M + 7}, {"64M+1", 64 * M + 1});
SWEEP_SHARED_DIMENSION(sweep_offset, "offset", {"0", 0}, {"1", 1}, {"7", 7}, {"64", 64},
                       {"4095", 4095}, {"64K", 64 * K}, {"1M+1", M + 1}, {"17M+3", 17 * M + 3});
SWEEP_SHARED_DIMENSION(sweep_repeat, "repeat", {"1", 1}, {"2", 2}, {"17", 17}, {"101", 101},
                       {"1003", 1003});
SWEEP_SHARED_DIMENSION(sweep_pending, "pending", {"0", 0}, {"1", 1}, {"8", 8}, {"33", 33},
                       {"65", 65}, {"129", 129}, {"257", 257}, {"500", 500});
SWEEP_SHARED_DIMENSION(sweep_device, "device", {"0", 0}, {"1", 1});
SWEEP_SHARED_DIMENSION(sweep_stream, "stream", {"NULL", SWEEP_STREAM_NULL},
                       {"first", SWEEP_STREAM_FIRST}, {"sixth", SWEEP_STREAM_SIXTH},
                       {"again", SWEEP_STREAM_AGAIN}, {"priority", SWEEP_STREAM_PRIORITY},
                       {"used", SWEEP_STREAM_USED});
SWEEP_SHARED_DIMENSION(sweep_thread, "thread", {"main", 0}, {"other", 1});
SWEEP_SHARED_DIMENSION(sweep_state, "state", {"fresh", SWEEP_FRESH}, {"refused", SWEEP_REFUSED},
                       {"out_of_memory", SWEEP_OUT_OF_MEMORY}, {"busy", SWEEP_BUSY},
                       {"churned", SWEEP_CHURNED}, {"reopened", SWEEP_REOPENED});
SWEEP_SHARED_DIMENSION(sweep_error, "error", {"given", 0}, {"NULL", 1});
SWEEP_SHARED_DIMENSION(sweep_duration, "hold_ms", {"20", 20}, {"260", 260}, {"1200", 1200});

uint64_t sweep_room(const tbk_fixture_t* fx) {
  const uint64_t room = room_left(fx) / 4;
  return room < 80 * M ? room : 80 * M;
}

bool scene_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  int64_t stream = sweep_get(one, &sweep_stream), state = sweep_get(one, &sweep_state);
  if (sweep_get(one, &sweep_device) == 1 && fx->device_count < 2) return false;
  if (fx->stream == NULL && (stream != SWEEP_STREAM_NULL || state == SWEEP_BUSY)) return false;
  return stream != SWEEP_STREAM_NULL || sweep_get(one, &sweep_pending) == 0;
}

bool sweep_alloc(tbk_fixture_t* fx, sweep_case_t* one, uint64_t size_bytes, tbk_memory_t* out) {
  tbk_status_t status =
      fx->core->memory_alloc(fx->self, fx->device, fx_round(fx, size_bytes), out, &fx->error);
  if (status == TBK_OUT_OF_MEMORY) {
    one->left_out = true;
    return false;
  }
  REQUIRE_OK(status);
  fx_adopt_memory(fx, fx->device, *out);
  return true;
}

/* --------------------------------------------------------------------------------- delays ----- */

static void sleep_us(void* argument) {
  uint64_t us = (uint64_t)(uintptr_t)argument;
  const struct timespec pause = {(time_t)(us / 1000000), (long)(us % 1000000 * 1000)};
  (void)nanosleep(&pause, NULL);
}

void sweep_delay(tbk_fixture_t* fx, tbk_stream_t* stream, unsigned microseconds) {
  if (fx->callback == NULL || stream == NULL) return;
  CHECK_OK(fx->callback->callback_enqueue(fx->self, stream, sleep_us,
                                          (void*)(uintptr_t)microseconds, &fx->error));
}

/* ---------------------------------------------------------------------------------- scene ----- */

static void use_stream(scene_t* scene) {
  tbk_fixture_t* fx = scene->fx;
  int64_t kind = sweep_get(scene->one, &sweep_stream);
  if (kind == SWEEP_STREAM_NULL) return;
  for (int i = 0; kind == SWEEP_STREAM_SIXTH && i < 5; i++)
    (void)fx_stream(fx);
  if (kind == SWEEP_STREAM_AGAIN) {
    tbk_stream_t* before = fx_stream(fx);
    fx_synchronize(fx, before);
    fx_disown_stream(fx, before);
    fx->stream->stream_destroy(fx->self, before);
  }
  if (kind != SWEEP_STREAM_PRIORITY) {
    scene->stream = fx_stream(fx);
    return;
  }
  REQUIRE_OK(fx->stream->stream_create(fx->self, fx->device, fx->properties.priority_greatest,
                                       &scene->stream, &fx->error));
  fx_adopt_stream(fx, scene->stream);
}

static void put(scene_t* scene, tbk_stream_t* stream, uint64_t at, tbk_error_t* error) {
  tbk_fixture_t* fx = scene->fx;
  CHECK_OK(fx->core->upload(fx->self, fx->device, scene->scratch, at * scene->unit,
                            scene->scratch_model + at * scene->unit, scene->unit, stream, error));
}

static void churn(tbk_fixture_t* fx) {
  for (int i = 0; i < CHURN; i++) {
    tbk_memory_t memory = 0;
    REQUIRE_OK(fx->core->memory_alloc(fx->self, fx->device, 64 + 64 * (uint64_t)(i % 50), &memory,
                                      &fx->error));
    REQUIRE_OK(fx->core->memory_free(fx->self, fx->device, memory, &fx->error));
  }
}

/* Before the case has made anything. An exclusive device may be held by somebody for a while. */
static void reopen(tbk_fixture_t* fx) {
  REQUIRE_OK(fx->core->device_close(fx->self, fx->device, &fx->error));
  REQUIRE_OK(fx_reopen(fx, fx->device));
}

static void set_state(scene_t* scene) {
  tbk_fixture_t* fx = scene->fx;
  int64_t state = sweep_get(scene->one, &sweep_state);
  tbk_memory_t memory = 0;
  if (state == SWEEP_REFUSED) range_provoke_errors(fx);
  if (state == SWEEP_CHURNED) churn(fx);
  if (state == SWEEP_OUT_OF_MEMORY)
    CHECK_STATUS(TBK_OUT_OF_MEMORY,
                 fx->core->memory_alloc(fx->self, fx->device, INT64_MAX, &memory, &fx->error));
  if (state != SWEEP_BUSY) return;
  tbk_stream_t* other = fx_stream(fx);
  sweep_delay(fx, other, 3000);
  for (uint64_t i = 0; i < 8; i++)
    put(scene, other, SCRATCH_WORKS + i, &fx->error);
}

/* Spares most cases this memory, which takes longer than what they are about. */
static bool uses_scratch(const sweep_case_t* one) {
  return sweep_get(one, &sweep_pending) != 0 || sweep_get(one, &sweep_state) == SWEEP_BUSY ||
         sweep_get(one, &sweep_stream) == SWEEP_STREAM_USED;
}

void scene_scratch(scene_t* scene) {
  tbk_fixture_t* fx = scene->fx;
  if (scene->scratch_model != NULL) return;
  scene->unit = fx_round(fx, 16);
  const uint64_t bytes = (SCRATCH_WORKS + 8) * scene->unit;
  scene->scratch_model = fx_bytes(fx, bytes);
  scene->scratch = fx_alloc_with(fx, fx_bytes(fx, bytes), bytes);
}

void scene_begin(tbk_fixture_t* fx, const sweep_case_t* one, scene_t* scene) {
  *scene = (scene_t){.fx = fx, .one = one};
  scene->error = sweep_get(one, &sweep_error) == 1 ? NULL : &fx->error;
  if (sweep_get(one, &sweep_device) == 1) fx_use_device(fx, fx_second_device(fx));
  if (sweep_get(one, &sweep_state) == SWEEP_REOPENED) reopen(fx);
  if (uses_scratch(one)) scene_scratch(scene);
  set_state(scene);
  use_stream(scene);
  if (sweep_get(one, &sweep_stream) != SWEEP_STREAM_USED) return;
  for (uint64_t i = 0; i < SCRATCH_WORKS; i++)
    put(scene, scene->stream, i, &fx->error);
  fx_synchronize(fx, scene->stream);
}

void scene_load(scene_t* scene) {
  uint64_t pending = (uint64_t)sweep_get(scene->one, &sweep_pending);
  if (pending == 0) return;
  sweep_delay(scene->fx, scene->stream, 1500);
  for (uint64_t i = 0; i < pending; i++)
    put(scene, scene->stream, i, &scene->fx->error);
}

typedef struct job {
  tbk_fixture_t fx;
  scene_fn function;
  void* argument;
} job_t;

static void run_job(void* argument) {
  job_t* job = argument;
  job->function(&job->fx, job->argument);
}

void scene_call(scene_t* scene, scene_fn function, void* argument) {
  tbk_fixture_t* fx = scene->fx;
  if (sweep_get(scene->one, &sweep_thread) == 0) {
    function(fx, argument);
    return;
  }
  job_t* job = (job_t*)(void*)fx_zeros(fx, sizeof *job);
  *job = (job_t){*fx, function, argument};
  fx_join(fx, fx_thread(fx, run_job, job));
}

void scene_end(scene_t* scene) {
  tbk_fixture_t* fx = scene->fx;
  uint64_t pending = (uint64_t)sweep_get(scene->one, &sweep_pending);
  if (scene->stream != NULL) fx_synchronize(fx, scene->stream);
  if (pending == 0) return;
  uint8_t* seen = fx_zeros(fx, pending * scene->unit);
  fx_download(fx, seen, scene->scratch, pending * scene->unit);
  CHECK_BYTES(scene->scratch_model, seen, pending * scene->unit);
}
