/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweeps of what moves bytes: uploads, downloads, copies, fills. The host has a model of all memory
 * of the case, so that what is missing and what was written beside is seen alike.
 */
#include "dimensions.h"
#include "range.h"

#include <string.h>

typedef enum transfer { UPLOAD, DOWNLOAD, COPY_TO_OTHER, COPY_UP, COPY_DOWN, FILL } transfer_t;

SWEEP_DIMENSION(host_memory, "host", {"aligned", 0}, {"odd", 1}, {"pinned", 2},
                {"inside_pinned", 3});
SWEEP_DIMENSION(copy_way, "way", {"other", COPY_TO_OTHER}, {"up", COPY_UP}, {"down", COPY_DOWN});

enum { AT_ONCE_MOST = 4 << 20, TAIL_UNITS = 3, SKEW = 3, PINNED_AROUND = 2 * (4096 + SKEW) };

/* So many bytes altogether as one large call, or many small ones. */
static bool transfer_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  uint64_t size = (uint64_t)sweep_get(one, &sweep_size);
  uint64_t repeat = (uint64_t)sweep_get(one, &sweep_repeat);
  uint64_t first = (uint64_t)sweep_get(one, &sweep_offset) * fx->properties.copy_granularity;
  bool far = first > AT_ONCE_MOST, large = size > AT_ONCE_MOST || far;
  if (far && (size > 4096 || repeat > 1 || 2 * first > sweep_room(fx))) return false;
  if (far && sweep_get(one, &sweep_device) + sweep_get(one, &sweep_thread) > 0) return false;
  if (!scene_fits(fx, one) || (repeat > 1 && size * repeat > AT_ONCE_MOST)) return false;
  /* Large ones take the time, so they meet little else that takes some. */
  if (large && sweep_get(one, &sweep_state) > SWEEP_REFUSED) return false;
  if (large && sweep_get(one, &sweep_pending) > 1) return false;
  const bool pins = sweep_get(one, &host_memory) >= 2;
  if (pins && fx->pinned == NULL) return false;
  const uint64_t pinned = fx_round(fx, size) * repeat + PINNED_AROUND;
  if (pins && pinned > room_pinned(fx, pinned)) return false;
  return 2 * (size * repeat + 2048) < sweep_room(fx);
}

typedef struct program {
  scene_t scene;
  sweep_case_t* one;
  transfer_t what;
  uint64_t size, repeat, step, first; /* bytes of each call, from where to where */
  block_t to, from;
  uint64_t from_first;
  uint8_t* host; /* `repeat` pieces of `size` bytes */
  void* pinned;
} program_t;

static bool make_block(program_t* it, block_t* block, uint64_t size_bytes) {
  tbk_fixture_t* fx = it->scene.fx;
  block->size = fx_round(fx, size_bytes);
  if (!sweep_alloc(fx, it->one, block->size, &block->memory)) return false;
  block->model = fx_bytes(fx, block->size);
  fx_upload(fx, block->memory, block->model, block->size);
  return true;
}

static void make_host(program_t* it) {
  tbk_fixture_t* fx = it->scene.fx;
  uint64_t bytes = it->size * it->repeat;
  int64_t kind = sweep_get(it->one, &host_memory);
  it->host = fx_bytes(fx, bytes + SKEW);
  uint64_t before = kind == 3 ? PINNED_AROUND / 2 : 0; /* of a pinned block, and as much behind */
  if (kind == 1) it->host += SKEW;
  if (kind < 2) return;
  REQUIRE_OK(
      fx->pinned->pinned_alloc(fx->self, fx->device, bytes + 2 * before, &it->pinned, &fx->error));
  uint8_t* place = (uint8_t*)it->pinned + before;
  memcpy(place, it->host, bytes);
  it->host = place;
}

/* False: the device has not got the memory. */
static bool make_program(tbk_fixture_t* fx, sweep_case_t* one, transfer_t what, program_t* it) {
  memset(it, 0, sizeof *it);
  it->one = one;
  it->what = what;
  scene_begin(fx, one, &it->scene);
  uint64_t unit = fx_round(fx, 1);
  it->size = fx_round(fx, (uint64_t)sweep_get(one, &sweep_size));
  it->repeat = (uint64_t)sweep_get(one, &sweep_repeat);
  it->step = it->size + unit;
  it->first = (uint64_t)sweep_get(one, &sweep_offset) * unit;
  uint64_t span = it->step * it->repeat;
  bool within = what == COPY_UP || what == COPY_DOWN;
  if (!make_block(it, &it->to, it->first + (within ? 2 : 1) * span + TAIL_UNITS * unit))
    return false;
  it->from_first = within ? it->first : 5 * unit;
  if (what == COPY_UP) it->first += span;
  if (what == COPY_DOWN) it->from_first += span;
  if (what == COPY_TO_OTHER && !make_block(it, &it->from, it->from_first + span)) return false;
  if (what == UPLOAD || what == DOWNLOAD) make_host(it);
  return true;
}

static tbk_status_t call(tbk_fixture_t* fx, const program_t* it, uint64_t at, tbk_error_t* error) {
  const tbk_core_t* core = fx->core;
  uint64_t offset = it->first + at * it->step;
  tbk_stream_t* stream = it->scene.stream;
  switch (it->what) {
    case UPLOAD:
      return core->upload(fx->self, fx->device, it->to.memory, offset, it->host + at * it->size,
                          it->size, stream, error);
    case DOWNLOAD:
      return core->download(fx->self, fx->device, it->host + at * it->size, it->to.memory, offset,
                            it->size, stream, error);
    case FILL:
      return core->fill(fx->self, fx->device, it->to.memory, offset, (uint8_t)(at * 37 + 129),
                        it->size, stream, error);
    default:
      return core->copy(fx->self, fx->device, it->to.memory, offset,
                        it->what == COPY_TO_OTHER ? it->from.memory : it->to.memory,
                        it->from_first + at * it->step, it->size, stream, error);
  }
}

static void apply_to_model(program_t* it, uint64_t at) {
  uint8_t* to = it->to.model + it->first + at * it->step;
  const uint8_t* from = it->what == COPY_TO_OTHER ? it->from.model : it->to.model;
  if (it->what == UPLOAD) memcpy(to, it->host + at * it->size, it->size);
  if (it->what == FILL) memset(to, (uint8_t)(at * 37 + 129), it->size);
  if (it->what == COPY_TO_OTHER || it->what == COPY_UP || it->what == COPY_DOWN)
    memcpy(to, from + it->from_first + at * it->step, it->size);
}

/* Without a stream the call is complete, and the host does with the source what it likes. */
static void reuse_source(program_t* it, uint64_t at) {
  if (it->what == UPLOAD && it->scene.stream == NULL)
    memset(it->host + at * it->size, 0x5a, it->size);
}

static void call_all(tbk_fixture_t* fx, void* argument) {
  program_t* it = argument;
  tbk_error_t* error = it->scene.error != NULL ? &fx->error : NULL;
  for (uint64_t i = 0; i < it->repeat; i++) {
    if (!tbk_check_status(TBK_OK, call(fx, it, i, error), &fx->error, TBK_HERE("the call"))) return;
    reuse_source(it, i);
  }
}

static void check_host(tbk_fixture_t* fx, const program_t* it) {
  (void)fx;
  for (uint64_t i = 0; i < it->repeat; i++)
    if (!CHECK_BYTES(it->to.model + it->first + i * it->step, it->host + i * it->size, it->size))
      return;
}

static void run(tbk_fixture_t* fx, sweep_case_t* one, transfer_t what) {
  program_t* it = (program_t*)(void*)fx_zeros(fx, sizeof *it);
  if (!make_program(fx, one, what, it)) return;
  for (uint64_t i = 0; i < it->repeat; i++)
    apply_to_model(it, i);
  scene_load(&it->scene);
  scene_call(&it->scene, call_all, it);
  scene_end(&it->scene);
  BLOCK_CHECK(fx, &it->to);
  if (it->from.memory != 0) BLOCK_CHECK(fx, &it->from);
  if (what == DOWNLOAD) check_host(fx, it);
  if (it->pinned != NULL) fx->pinned->pinned_free(fx->self, it->pinned);
}

static void run_upload(tbk_fixture_t* fx, sweep_case_t* one) {
  run(fx, one, UPLOAD);
}

static void run_download(tbk_fixture_t* fx, sweep_case_t* one) {
  run(fx, one, DOWNLOAD);
}

static void run_copy(tbk_fixture_t* fx, sweep_case_t* one) {
  run(fx, one, (transfer_t)sweep_get(one, &copy_way));
}

static void run_fill(tbk_fixture_t* fx, sweep_case_t* one) {
  run(fx, one, FILL);
}

#define SCENE \
  &sweep_stream, &sweep_pending, &sweep_device, &sweep_thread, &sweep_state, &sweep_error
#define EXTENT &sweep_size, &sweep_offset, &sweep_repeat

static void uploads_arrive_in_every_size_and_state(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{EXTENT, &host_memory, SCENE}, transfer_fits, run_upload, 0};
  sweep_run(fx, &space);
}

static void downloads_arrive_in_every_size_and_state(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {EXTENT, &host_memory, SCENE}, transfer_fits, run_download, 0};
  sweep_run(fx, &space);
}

static void copies_arrive_in_every_size_and_state(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{EXTENT, &copy_way, SCENE}, transfer_fits, run_copy, 0};
  sweep_run(fx, &space);
}

static void fills_arrive_in_every_size_and_state(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{EXTENT, SCENE}, transfer_fits, run_fill, 0};
  sweep_run(fx, &space);
}

/* ------------------------------------------------------------------ beside a lost device ----- */

SWEEP_DIMENSION(what_axis, "call", {"upload", UPLOAD}, {"download", DOWNLOAD},
                {"copy", COPY_TO_OTHER}, {"fill", FILL});

static bool any_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  bool fills = sweep_get(one, &what_axis) == FILL;
  return !(fills && !TBK_HAS(fx->core, tbk_core_t, fill)) && transfer_fits(fx, one);
}

static void run_any(tbk_fixture_t* fx, sweep_case_t* one) {
  run(fx, one, (transfer_t)sweep_get(one, &what_axis));
}

/* The second device is lost for good; what is swept is on the first. */
static void lose_second_device(tbk_fixture_t* fx) {
  tbk_stream_t* stream = NULL;
  int32_t second = fx_second_device(fx);
  REQUIRE_OK(fx->stream->stream_create(fx->self, second, 0, &stream, &fx->error));
  tbk_status_t status =
      fx->fault->fault_enqueue(fx->self, stream, TBK_FAULT_DEVICE_LOST, &fx->error);
  CHECK(status == TBK_OK || status == TBK_DEVICE_LOST);
  CHECK_STATUS(TBK_DEVICE_LOST, fx->stream->stream_synchronize(fx->self, stream, &fx->error));
  fx->stream->stream_destroy(fx->self, stream);
}

static void transfers_arrive_beside_a_lost_device(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&what_axis, EXTENT, &sweep_stream, &sweep_pending,
                                       &sweep_thread, &sweep_state, &sweep_error},
                                      any_fits,
                                      run_any,
                                      0};
  lose_second_device(fx);
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("CPY-004", NULL, TBK_CASE_THOROUGH, uploads_arrive_in_every_size_and_state),
    TBK_CASE("CPY-009", NULL, TBK_CASE_THOROUGH, downloads_arrive_in_every_size_and_state),
    TBK_CASE("CPY-015", NULL, TBK_CASE_THOROUGH, copies_arrive_in_every_size_and_state),
    TBK_CASE("CPY-018", "fill", TBK_CASE_THOROUGH, fills_arrive_in_every_size_and_state),
    TBK_CASE("FLT-004", "fault two_devices", TBK_CASE_THOROUGH | TBK_CASE_FRESH,
             transfers_arrive_beside_a_lost_device),
};
TBK_SUITE(sweep_transfer);
