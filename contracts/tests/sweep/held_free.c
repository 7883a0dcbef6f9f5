/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "held_free.h"

#include "gate.h"

#include <string.h>

#include <tbk/tbk_operators.h>

enum { FILL_BYTE = 0x5B };

#define K UINT64_C(1024)

SWEEP_SHARED_DIMENSION(held_by_axis, "held_by", {"gate", BY_GATE}, {"event", BY_EVENT},
                       {"events", BY_CHAIN}, {"other_device", BY_DEVICE});
/* Who shares a stream: of allocation, use and free, as three digits. */
SWEEP_SHARED_DIMENSION(held_roles_axis, "streams", {"one", 0}, {"used_elsewhere", 10},
                       {"freed_elsewhere", 1}, {"moved", 11}, {"three", 12});
SWEEP_SHARED_DIMENSION(held_use_axis, "use", {"copy", READ_COPY}, {"download", READ_HOST},
                       {"peer_copy", READ_PEER}, {"kernel", READ_KERNEL}, {"upload", WRITE_HOST},
                       {"fill", WRITE_FILL});
SWEEP_SHARED_DIMENSION(held_gone_axis, "destroyed", {"none", GONE_NONE},
                       {"allocated_on", ALLOCATED}, {"used_on", USED}, {"freed_on", FREED},
                       {"allocated_on_before_use", GONE_BEFORE_USE});
SWEEP_SHARED_DIMENSION(held_taker_axis, "taken_by", {"memory_alloc", DEVICE_ALLOC},
                       {"freed_on", ON_FREED}, {"allocated_on", ON_ALLOCATED}, {"other", ON_OTHER},
                       {"nobody", NOBODY});
SWEEP_SHARED_DIMENSION(held_taken_axis, "taken", {"equal", 0}, {"half", 1}, {"twice", 2});
SWEEP_SHARED_DIMENSION(held_pieces_axis, "freed", {"1", 1}, {"4", 4}, {"17", HELD_PIECES});
SWEEP_SHARED_DIMENSION(held_when_axis, "allocated", {"before", 0}, {"held", 1});
SWEEP_SHARED_DIMENSION(held_size_axis, "size", {"16", 16}, {"512", 512}, {"4K", 4 * K},
                       {"4K+4", 4 * K + 4}, {"64K", 64 * K}, {"256K+4", 256 * K + 4},
                       {"1M", 1024 * K}, {"2M+4", 2048 * K + 4});
/* Where all other memory is taken, only what was given back is left to be handed out. */
SWEEP_SHARED_DIMENSION(held_full_axis, "memory_is", {"free", 0}, {"taken", 1});

static int digit_of(const sweep_case_t* one, held_role_t role) {
  const int64_t roles = sweep_get(one, &held_roles_axis);
  return role == ALLOCATED ? 0 : (int)(role == USED ? roles / 10 : roles % 10);
}

/* Whether the gate itself is on the stream of this role. */
static bool gated(const sweep_case_t* one, held_role_t role) {
  return sweep_get(one, &held_by_axis) == BY_GATE && digit_of(one, role) == digit_of(one, USED);
}

/* No call may name a stream that is gone; and the gate has to open. */
static bool may_be_gone(const sweep_case_t* one) {
  const int64_t gone = sweep_get(one, &held_gone_axis), taker = sweep_get(one, &held_taker_axis);
  const held_role_t role = gone == GONE_BEFORE_USE ? ALLOCATED : (held_role_t)gone;
  if (gone == GONE_NONE) return true;
  if (gated(one, role)) return false;
  if (gone == GONE_BEFORE_USE && (digit_of(one, USED) == 0 || digit_of(one, FREED) == 0))
    return false;
  if (taker == ON_FREED && digit_of(one, FREED) == digit_of(one, role)) return false;
  return taker != ON_ALLOCATED || digit_of(one, role) != 0;
}

static bool offered(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const int64_t by = sweep_get(one, &held_by_axis), use = sweep_get(one, &held_use_axis);
  const uint64_t flags = fx->properties.flags;
  if (fx->event == NULL && (by != BY_GATE || sweep_get(one, &held_roles_axis) != 0)) return false;
  if (by == BY_DEVICE && (fx->device_count < 2 || (flags & TBK_DEVICE_CROSS_DEVICE_WAIT) == 0))
    return false;
  if (use == READ_PEER && fx->peer == NULL) return false;
  if (use == READ_KERNEL) return fx->kernel != NULL && fx_has_dtype(fx, TBK_INT32);
  return use != WRITE_FILL || TBK_HAS(fx->core, tbk_core_t, fill) != 0;
}

bool held_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const uint64_t size = (uint64_t)sweep_get(one, &held_size_axis);
  const uint64_t pieces = (uint64_t)sweep_get(one, &held_pieces_axis);
  if (sweep_get(one, &held_full_axis) == 1 && sweep_get(one, &held_when_axis) == 1) return false;
  return scene_fits(fx, one) && offered(fx, one) && may_be_gone(one) &&
         size * pieces <= (UINT64_C(4) << 20) && 8 * size * pieces < sweep_room(fx);
}

/* ------------------------------------------------------------------------------ what is there -- */

static tbk_stream_t* make_stream(tbk_fixture_t* fx, int32_t device) {
  tbk_stream_t* stream = NULL;
  REQUIRE_OK(fx->stream->stream_create(fx->self, device, 0, &stream, &fx->error));
  fx_adopt_stream(fx, stream);
  return stream;
}

static void make_streams(tbk_fixture_t* fx, held_t* it) {
  const sweep_case_t* one = it->scene.one;
  const int64_t by = sweep_get(one, &held_by_axis);
  const int32_t far = by == BY_DEVICE ? (fx->device == 0 ? fx_second_device(fx) : 0) : 0;
  tbk_stream_t* three[3] = {fx_stream(fx), NULL, NULL};
  for (held_role_t role = USED; role <= FREED; role++) {
    int digit = digit_of(one, role);
    if (three[digit] == NULL) three[digit] = fx_stream(fx);
  }
  for (held_role_t role = ALLOCATED; role <= FREED; role++)
    it->streams[role] = three[digit_of(one, role)];
  it->streams[OTHER] = fx_stream(fx);
  it->streams[HELD] =
      by == BY_GATE ? it->streams[USED] : make_stream(fx, by == BY_DEVICE ? far : fx->device);
  it->streams[BETWEEN] = by == BY_CHAIN ? fx_stream(fx) : it->streams[USED];
  for (int i = 0; fx->event != NULL && i < HELD_MARKS; i++) {
    tbk_event_t* mark = NULL;
    const int32_t device = i == 0 && by == BY_DEVICE ? far : fx->device;
    REQUIRE_OK(fx->event->event_create(fx->self, device, 0, &mark, &fx->error));
    fx_adopt_event(fx, mark);
    it->marks[i] = mark;
  }
}

static void put(tbk_fixture_t* fx, tbk_stream_t* stream, tbk_memory_t memory, const uint8_t* bytes,
                uint64_t size) {
  CHECK_OK(fx->core->upload(fx->self, fx->device, memory, 0, bytes, size, stream, &fx->error));
}

static void settle(tbk_fixture_t* fx, const held_t* it, tbk_stream_t* stream) {
  tbk_status_t status = stream != NULL
                            ? fx->stream->stream_synchronize(fx->self, stream, &fx->error)
                            : fx->stream->device_synchronize(fx->self, fx->device, &fx->error);
  if (status == TBK_FAILED && it->may_fail) return;
  tbk_check_status(TBK_OK, status, &fx->error, TBK_HERE("a synchronize"));
}

/* From the streams' point of view: what comes on `to` now comes after what is on `from`. */
static void pass(tbk_fixture_t* fx, held_t* it, size_t mark, held_role_t from, held_role_t to) {
  if (it->streams[from] == it->streams[to]) return;
  CHECK_OK(fx->event->event_record(fx->self, it->marks[mark], it->streams[from], &fx->error));
  CHECK_OK(fx->event->event_wait(fx->self, it->streams[to], it->marks[mark], &fx->error));
}

static bool take_pieces(tbk_fixture_t* fx, held_t* it) {
  for (uint64_t i = 0; i < it->pieces; i++) {
    if (piece_take(fx, it->streams[ALLOCATED], it->size, &it->memory[i], &it->refused)) continue;
    while (i > 0)
      piece_give(fx, it->streams[ALLOCATED], it->memory[--i]);
    return false;
  }
  return true;
}

static uint64_t taken_bytes(const tbk_fixture_t* fx, const held_t* it) {
  int64_t taken = sweep_get(it->scene.one, &held_taken_axis);
  return fx_round(fx, taken == 1 ? it->size / 2 + 1 : taken == 2 ? 2 * it->size : it->size);
}

bool held_begin(tbk_fixture_t* fx, sweep_case_t* one, held_t* it) {
  scene_begin(fx, one, &it->scene);
  it->size = fx_round(fx, (uint64_t)sweep_get(one, &held_size_axis));
  it->pieces = (uint64_t)sweep_get(one, &held_pieces_axis);
  if (it->pieces == 0) it->pieces = 4;
  it->taken_size = taken_bytes(fx, it);
  it->written = fx_bytes(fx, it->pieces * it->size);
  it->seen = fx_zeros(fx, it->pieces * it->size);
  it->new_written = fx_bytes(fx, it->taken_size);
  it->new_seen = fx_zeros(fx, it->taken_size);
  if (!sweep_alloc(fx, one, it->pieces * it->size, &it->results)) return false;
  make_streams(fx, it);
  if (sweep_get(one, &held_when_axis) == 1) return true;
  one->left_out = !take_pieces(fx, it);
  if (one->left_out) return false;
  settle(fx, it, it->streams[ALLOCATED]);
  if (sweep_get(one, &held_full_axis) == 1)
    hoard_take(fx, &it->hoard, NULL, it->taken_size < 4096 ? it->taken_size : 4096);
  return true;
}

/* ------------------------------------------------------------------------------- the programs -- */

static const tbk_tensor_t* words_of(tbk_memory_t memory, uint64_t offset, uint64_t bytes,
                                    int64_t shape[2], tbk_tensor_t* out) {
  shape[0] = (int64_t)(bytes / 4), shape[1] = 1;
  *out = (tbk_tensor_t){.struct_size = sizeof *out,
                        .memory = memory,
                        .storage_bytes = offset + bytes,
                        .offset = (int64_t)(offset / 4),
                        .dtype = TBK_INT32,
                        .rank = 1,
                        .sizes = &shape[0],
                        .strides = &shape[1]};
  return out;
}

/* A kernel may refuse any arguments; then the copy is one of the core's. */
static bool copy_by_kernel(tbk_fixture_t* fx, held_t* it, uint64_t at) {
  const tbk_kernel_t* kernel =
      fx->kernel->kernel_find(fx->self, fx->device, TBK_NAME_copy_, TBK_VERSION_copy_);
  int64_t shapes[2][2];
  tbk_tensor_t tensors[2];
  tbk_args_copy__t arguments = {.struct_size = sizeof arguments};
  if (kernel == NULL || it->size % 4 != 0) return false;
  arguments.self = words_of(it->results, at * it->size, it->size, shapes[0], &tensors[0]);
  arguments.src = words_of(it->memory[at], 0, it->size, shapes[1], &tensors[1]);
  tbk_status_t status =
      kernel->launch(fx->self, fx->device, kernel, &arguments, it->streams[USED], &fx->error);
  if (status == TBK_UNSUPPORTED) return false;
  return tbk_check_status(TBK_OK, status, &fx->error, TBK_HERE("launch of a copy"));
}

static void use(tbk_fixture_t* fx, held_t* it, uint64_t at) {
  const int64_t kind = sweep_get(it->scene.one, &held_use_axis);
  const tbk_memory_t memory = it->memory[at];
  const uint64_t offset = at * it->size;
  tbk_stream_t* stream = it->streams[USED];
  if (kind == READ_KERNEL && copy_by_kernel(fx, it, at)) return;
  switch (kind) {
    case READ_HOST:
      CHECK_OK(fx->core->download(fx->self, fx->device, it->seen + offset, memory, 0, it->size,
                                  stream, &fx->error));
      return;
    case READ_PEER:
      CHECK_OK(fx->peer->peer_copy(fx->self, fx->device, it->results, offset, fx->device, memory, 0,
                                   it->size, stream, &fx->error));
      return;
    case WRITE_HOST:
      put(fx, stream, memory, it->written + offset, it->size);
      return;
    case WRITE_FILL:
      CHECK_OK(
          fx->core->fill(fx->self, fx->device, memory, 0, FILL_BYTE, it->size, stream, &fx->error));
      return;
    default:
      CHECK_OK(fx->core->copy(fx->self, fx->device, it->results, offset, memory, 0, it->size,
                              stream, &fx->error));
  }
}

static bool reads(const held_t* it) {
  return sweep_get(it->scene.one, &held_use_axis) < WRITE_HOST;
}

static void destroy_stream(tbk_fixture_t* fx, held_t* it, tbk_stream_t* stream) {
  for (held_role_t role = ALLOCATED; role <= BETWEEN; role++)
    if (it->streams[role] == stream) it->streams[role] = NULL;
  fx_disown_stream(fx, stream);
  fx->stream->stream_destroy(fx->self, stream);
}

void held_use_and_free(tbk_fixture_t* fx, void* argument) {
  held_t* it = argument;
  const int64_t gone = sweep_get(it->scene.one, &held_gone_axis);
  if (it->streams[HELD] != it->streams[USED]) {
    pass(fx, it, 0, HELD, BETWEEN);
    pass(fx, it, 1, BETWEEN, USED);
  }
  if (sweep_get(it->scene.one, &held_when_axis) == 1) {
    if (!take_pieces(fx, it)) return;
    pass(fx, it, 2, ALLOCATED, USED);
  }
  if (gone == GONE_BEFORE_USE) destroy_stream(fx, it, it->streams[ALLOCATED]);
  for (uint64_t i = 0; reads(it) && i < it->pieces; i++)
    put(fx, it->streams[USED], it->memory[i], it->written + i * it->size, it->size);
  for (uint64_t i = 0; i < it->pieces; i++)
    use(fx, it, i);
  pass(fx, it, 3, USED, FREED);
  for (uint64_t i = 0; i < it->pieces; i++)
    piece_give(fx, it->streams[FREED], it->memory[i]);
  if (gone >= 0 && gone != GONE_BEFORE_USE) destroy_stream(fx, it, it->streams[gone]);
}

static tbk_stream_t* taker_of(const held_t* it) {
  const int64_t taker = sweep_get(it->scene.one, &held_taker_axis);
  return taker == ON_FREED       ? it->streams[FREED]
         : taker == ON_ALLOCATED ? it->streams[ALLOCATED]
         : taker == ON_OTHER     ? it->streams[OTHER]
                                 : NULL;
}

/* Nothing holds it, so what it is given is done while the others are held. */
static bool goes_on(const held_t* it, const tbk_stream_t* stream) {
  return stream != it->streams[USED] && stream != it->streams[FREED] && stream != it->streams[HELD];
}

void held_take(tbk_fixture_t* fx, void* argument) {
  held_t* it = argument;
  tbk_stream_t* stream = taker_of(it);
  const uint64_t most = it->pieces + 4 < HELD_TAKEN ? it->pieces + 4 : HELD_TAKEN;
  if (it->refused || sweep_get(it->scene.one, &held_taker_axis) == NOBODY) return;
  if (stream == NULL && !gate_can_control(fx)) return;
  for (uint64_t i = 0; i < most; i++) {
    tbk_memory_t* place = &it->taken[it->taken_count];
    if (!piece_take(fx, stream, it->taken_size, place, &it->refused)) break;
    it->taken_count++;
    put(fx, stream, *place, it->new_written, it->taken_size);
  }
  it->refused = it->refused && it->taken_count == 0 && it->hoard.count == 0;
  if (stream != NULL && goes_on(it, stream) && gate_can_control(fx)) settle(fx, it, stream);
}

/* --------------------------------------------------------------------------- what came of it --- */

static void check_used(tbk_fixture_t* fx, held_t* it) {
  const uint64_t bytes = it->pieces * it->size;
  if (!reads(it)) return;
  if (sweep_get(it->scene.one, &held_use_axis) != READ_HOST)
    CHECK_OK(fx->core->download(fx->self, fx->device, it->seen, it->results, 0, bytes, NULL,
                                &fx->error));
  CHECK_BYTES(it->written, it->seen, bytes);
}

static void check_taken(tbk_fixture_t* fx, held_t* it) {
  tbk_stream_t* stream = taker_of(it);
  bool held = true;
  for (uint64_t i = 0; i < it->taken_count; i++) {
    memset(it->new_seen, 0, it->taken_size);
    CHECK_OK(fx->core->download(fx->self, fx->device, it->new_seen, it->taken[i], 0, it->taken_size,
                                NULL, &fx->error));
    held = held && CHECK_BYTES(it->new_written, it->new_seen, it->taken_size);
    piece_give(fx, stream, it->taken[i]);
  }
}

void held_end(tbk_fixture_t* fx, held_t* it) {
  for (held_role_t role = ALLOCATED; role <= BETWEEN; role++)
    if (it->streams[role] != NULL) settle(fx, it, it->streams[role]);
  settle(fx, it, NULL);
  if (it->refused && it->memory[it->pieces - 1] == 0) return; /* it never had its memory */
  check_used(fx, it);
  check_taken(fx, it);
  hoard_give(fx, &it->hoard, NULL);
  settle(fx, it, NULL);
}
