/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweep of two transfers that are pending at once: of which kinds, which way, on streams of one and of two devices.
 * The first is held by a gate when the second is enqueued, so that what the two share is in use; both must arrive.
 */
#include "actor.h"
#include "dimensions.h"
#include "gate.h"
#include "range.h"
#include "room.h"

#include <string.h>

typedef enum transfer_kind { UPLOAD, DOWNLOAD, COPY, FILL, PEER_WITHIN, PEER_ACROSS } kind_t;

#define KINDS                                                                 \
  {"upload", UPLOAD}, {"download", DOWNLOAD}, {"copy", COPY}, {"fill", FILL}, \
      {"peer_within", PEER_WITHIN}, {                                         \
    "peer_across", PEER_ACROSS                                                \
  }
SWEEP_DIMENSION(first_axis, "first", KINDS);
SWEEP_DIMENSION(second_axis, "second", KINDS);
/* The devices of the two streams: two digits. Of two devices, where few cases are to show most. */
SWEEP_DIMENSION(two_axis, "devices", {"0_1", 1});
SWEEP_DIMENSION(devices_axis, "devices", {"0_0", 0}, {"0_1", 1}, {"1_0", 10}, {"1_1", 11});
SWEEP_DIMENSION(held_axis, "held", {"first", 0}, {"both", 1});
SWEEP_DIMENSION(streams_axis, "streams", {"two", 0}, {"one", 1});
SWEEP_DIMENSION(host_axis, "host", {"plain", 0}, {"pinned", 1});
SWEEP_DIMENSION(bytes_axis, "size", {"64", 64}, {"4K+1", 4097}, {"64K+1", 65537},
                {"1M+1", (1 << 20) + 1});

enum { FILL_BYTE = 0x5A, FEW_BYTES = 512 };

typedef struct transfer {
  kind_t kind;
  int32_t device, to; /* of the stream; of what is written */
  tbk_stream_t* stream;
  tbk_memory_t source, target;
  uint8_t *host, *expected; /* where an upload begins, or a download ends */
  uint64_t size;
} transfer_t;

typedef struct meeting {
  const sweep_case_t* one;
  transfer_t two[2];
  tbk_event_t* event;
  tbk_gate_t gate;
  uint8_t* pinned;
} meeting_t;

static int64_t digits_of(const sweep_case_t* one) {
  return sweep_get(one, &two_axis) + sweep_get(one, &devices_axis);
}

static bool is_peer(int64_t kind) {
  return kind == PEER_WITHIN || kind == PEER_ACROSS;
}

static bool kind_fits(const tbk_fixture_t* fx, int64_t kind) {
  if (kind == FILL) return TBK_HAS(fx->core, tbk_core_t, fill);
  if (is_peer(kind) && fx->peer == NULL) return false;
  return kind != PEER_ACROSS || fx->device_count > 1;
}

/* Both are held where a stream can wait for the other one without its caller. */
static bool held_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const int64_t digits = digits_of(one);
  if (sweep_get(one, &held_axis) == 0) return true;
  if (fx->event == NULL || fx->wait_blocks || sweep_get(one, &streams_axis) == 1) return false;
  return digits % 11 == 0 || (fx->properties.flags & TBK_DEVICE_CROSS_DEVICE_WAIT) != 0;
}

static bool meeting_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const int64_t digits = digits_of(one), first = sweep_get(one, &first_axis);
  if (digits != 0 && fx->device_count < 2) return false;
  if (sweep_get(one, &streams_axis) == 1 && digits % 11 != 0) return false;
  if (sweep_get(one, &host_axis) == 1 && fx->pinned == NULL) return false;
  return kind_fits(fx, first) && kind_fits(fx, sweep_get(one, &second_axis)) &&
         held_fits(fx, one) && 16 * (uint64_t)sweep_get(one, &bytes_axis) < sweep_room(fx);
}

static bool with_peer_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  return meeting_fits(fx, one) &&
         (is_peer(sweep_get(one, &first_axis)) || is_peer(sweep_get(one, &second_axis)));
}

static bool without_peer_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  return meeting_fits(fx, one) && !is_peer(sweep_get(one, &first_axis)) &&
         !is_peer(sweep_get(one, &second_axis));
}

/* ------------------------------------------------------------------------------ what is there -- */

/* In memory of the device that the transfer goes to; of the properties, which suit both, none is changed. */
static tbk_memory_t put_on(tbk_fixture_t* fx, int32_t device, const uint8_t* bytes, uint64_t size) {
  const int32_t kept = fx->device;
  fx->device = device;
  const tbk_memory_t memory = fx_alloc_with(fx, bytes, size);
  fx->device = kept;
  return memory;
}

static void make_transfer(tbk_fixture_t* fx, transfer_t* it, kind_t kind, int32_t device,
                          uint64_t size) {
  const uint8_t* sent = fx_bytes(fx, size);
  *it = (transfer_t){.kind = kind, .device = device, .to = device, .size = size};
  if (kind == PEER_ACROSS) it->to = 1 - device;
  it->expected = fx_zeros(fx, size);
  memcpy(it->expected, sent, size);
  if (kind == FILL) memset(it->expected, FILL_BYTE, size);
  it->host = fx_zeros(fx, size);
  if (kind == UPLOAD) memcpy(it->host, sent, size);
  if (kind != UPLOAD && kind != FILL) it->source = put_on(fx, device, sent, size);
  if (kind != DOWNLOAD) it->target = put_on(fx, it->to, fx_bytes(fx, size), size);
}

static void use_pinned(tbk_fixture_t* fx, meeting_t* it) {
  const uint64_t size = it->two[0].size;
  void* pinned = NULL;
  REQUIRE_OK(fx->pinned->pinned_alloc(fx->self, fx->device, 2 * size, &pinned, &fx->error));
  it->pinned = pinned;
  for (int i = 0; i < 2; i++) {
    memcpy(it->pinned + (uint64_t)i * size, it->two[i].host, size);
    it->two[i].host = it->pinned + (uint64_t)i * size;
  }
}

static void make_streams(tbk_fixture_t* fx, meeting_t* it) {
  const int32_t kept = fx->device;
  for (int i = 0; i < 2; i++) {
    fx->device = it->two[i].device;
    const bool shared = i == 1 && sweep_get(it->one, &streams_axis) == 1;
    it->two[i].stream = shared ? it->two[0].stream : fx_stream(fx);
    if (i == 0 && fx->event != NULL) it->event = fx_event(fx, 0);
  }
  fx->device = kept;
}

/* The larger granularity suits both. */
static void suit_both(tbk_fixture_t* fx, int64_t digits) {
  if (fx->device_count < 2) return;
  const int32_t second = digits != 0 || fx->peer != NULL ? fx_second_device(fx) : 0;
  const uint64_t granularity = fx_properties(fx, second)->copy_granularity;
  if (granularity > fx->properties.copy_granularity) fx->properties.copy_granularity = granularity;
}

static void meeting_begin(tbk_fixture_t* fx, const sweep_case_t* one, meeting_t* it) {
  const int64_t digits = digits_of(one);
  const uint64_t asked = (uint64_t)sweep_get(one, &bytes_axis);
  suit_both(fx, digits);
  const uint64_t size = fx_round(fx, asked > 0 ? asked : FEW_BYTES);
  it->one = one;
  make_transfer(fx, &it->two[0], (kind_t)sweep_get(one, &first_axis), (int32_t)(digits / 10), size);
  make_transfer(fx, &it->two[1], (kind_t)sweep_get(one, &second_axis), (int32_t)(digits % 10),
                size);
  if (sweep_get(one, &host_axis) == 1) use_pinned(fx, it);
  make_streams(fx, it);
}

/* --------------------------------------------------------------------------------- the program -- */

static tbk_status_t enqueue(tbk_fixture_t* fx, const transfer_t* it) {
  const tbk_core_t* core = fx->core;
  switch (it->kind) {
    case UPLOAD:
      return core->upload(fx->self, it->device, it->target, 0, it->host, it->size, it->stream,
                          &fx->error);
    case DOWNLOAD:
      return core->download(fx->self, it->device, it->host, it->source, 0, it->size, it->stream,
                            &fx->error);
    case COPY:
      return core->copy(fx->self, it->device, it->target, 0, it->source, 0, it->size, it->stream,
                        &fx->error);
    case FILL:
      return core->fill(fx->self, it->device, it->target, 0, FILL_BYTE, it->size, it->stream,
                        &fx->error);
    default:
      return fx->peer->peer_copy(fx->self, it->to, it->target, 0, it->device, it->source, 0,
                                 it->size, it->stream, &fx->error);
  }
}

static void enqueue_both(actor_t* actor) {
  meeting_t* it = actor->argument;
  tbk_fixture_t* fx = &actor->fx;
  if (sweep_get(it->one, &held_axis) == 1) {
    CHECK_OK(fx->event->event_record(fx->self, it->event, it->two[0].stream, &fx->error));
    CHECK_OK(fx->event->event_wait(fx->self, it->two[1].stream, it->event, &fx->error));
  }
  for (int i = 0; i < 2; i++)
    CHECK_OK(enqueue(fx, &it->two[i]));
}

static const char* clause_of(kind_t kind) {
  return kind == UPLOAD     ? "CPY-004"
         : kind == DOWNLOAD ? "CPY-009"
         : kind == COPY     ? "CPY-015"
         : kind == FILL     ? "CPY-018"
                            : "PER-006";
}

static void check_transfer(tbk_fixture_t* fx, const transfer_t* it) {
  TBK_CHECKS(clause_of(it->kind));
  if (it->kind != DOWNLOAD)
    CHECK_OK(
        fx->core->download(fx->self, it->to, it->host, it->target, 0, it->size, NULL, &fx->error));
  CHECK_BYTES(it->expected, it->host, it->size);
}

/* On a thread of its own, as a call may wait on the host for the gate; then the order of the two is trivial. */
static void run_meeting(tbk_fixture_t* fx, sweep_case_t* one) {
  meeting_t* it = (meeting_t*)(void*)fx_zeros(fx, sizeof *it);
  actor_t* actor = (actor_t*)(void*)fx_zeros(fx, sizeof *actor);
  meeting_begin(fx, one, it);
  gate_close_over(fx, &it->gate, it->two[0].stream, 0);
  actor_start(fx, actor, enqueue_both, it);
  const bool met = actor_settle(actor) && gate_is_closed(&it->gate);
  gate_open(fx, &it->gate);
  actor_join(fx, actor);
  if (!met)
    fx_note_once(fx, "where a call waits on the host, or no gate holds, the first was over");
  for (int i = 0; i < 2; i++)
    fx_synchronize(fx, it->two[i].stream);
  for (int i = 0; i < 2; i++)
    check_transfer(fx, &it->two[i]);
  if (it->pinned != NULL) fx->pinned->pinned_free(fx->self, it->pinned);
}

static void a_peer_copy_and_another_transfer_arrive_together(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&first_axis, &second_axis, &two_axis}, with_peer_fits, run_meeting, 2};
  sweep_run(fx, &space);
}

static void transfers_of_every_two_kinds_arrive_together(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&first_axis, &second_axis, &two_axis}, without_peer_fits, run_meeting, 2};
  sweep_run(fx, &space);
}

static void a_peer_copy_and_another_transfer_arrive_together_in_every_way(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&first_axis, &second_axis, &devices_axis, &held_axis,
                                       &streams_axis, &host_axis, &bytes_axis},
                                      with_peer_fits,
                                      run_meeting,
                                      4};
  sweep_run(fx, &space);
}

static void transfers_of_every_two_kinds_arrive_together_in_every_way(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&first_axis, &second_axis, &devices_axis, &held_axis,
                                       &streams_axis, &host_axis, &bytes_axis},
                                      without_peer_fits,
                                      run_meeting,
                                      4};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("PER-006", "peer stream two_devices", 0,
             a_peer_copy_and_another_transfer_arrive_together),
    TBK_CASE("CPY-004", "stream two_devices", 0, transfers_of_every_two_kinds_arrive_together),
    TBK_CASE("PER-006", "peer stream", TBK_CASE_THOROUGH,
             a_peer_copy_and_another_transfer_arrive_together_in_every_way),
    TBK_CASE("CPY-004", "stream", TBK_CASE_THOROUGH,
             transfers_of_every_two_kinds_arrive_together_in_every_way),
};
TBK_SUITE(sweep_meeting);
