/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <limits.h>
#include <string.h>

#include "order.h"
#include "room.h"
#include "sequence.h"
#include "stream_native.h"
#include "stream_wait.h"

enum { STREAMS = 8, STREAM_ROUNDS = 200 };

/* --------------------------------------------------------------------------------- the order -- */

static void control_of_order(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  order_control(order);
  order_end(order);
}

static void runs_work_in_order(tbk_fixture_t* fx) {
  sequence_t* sequence = sequence_begin(fx, ORDER_CELL_BYTES, SEQUENCE_CELLS);
  sequence_alternate(sequence, 0);
  tbk_stream_t* stream = fx_stream(fx);
  sequence_run(sequence, stream, stream);
  sequence_end(sequence);
  control_of_order(fx);
}

/* Drivers often take another way for a few bytes. */
static void runs_small_work_in_order(tbk_fixture_t* fx) {
  sequence_t* sequence = sequence_begin(fx, 16, SEQUENCE_CELLS);
  sequence_alternate(sequence, 0);
  tbk_stream_t* stream = fx_stream(fx);
  sequence_run(sequence, stream, stream);
  sequence_end(sequence);
  control_of_order(fx);
}

static void runs_large_work_in_order(tbk_fixture_t* fx) {
  /* A cell for each write, each read and, where there are few kinds, one more write each time. */
  enum { WORKS = 12, CELLS = 3 * WORKS + 1 };
  sequence_t* sequence = sequence_begin(fx, room_cell(fx, 1 << 17, CELLS), CELLS);
  sequence_alternate(sequence, WORKS);
  tbk_stream_t* stream = fx_stream(fx);
  sequence_run(sequence, stream, stream);
  sequence_end(sequence);
  control_of_order(fx);
}

static void runs_work_in_order_on_second_device(tbk_fixture_t* fx) {
  order_on_second_device(fx, runs_work_in_order);
}

/* Handles are often used again: a new stream must not take part in the past of an old one. */
static void keeps_order_in_recycled_streams(tbk_fixture_t* fx) {
  for (int round = 0; round < 4; ++round) {
    tbk_stream_t* stream = fx_stream(fx);
    sequence_t* sequence = sequence_begin(fx, ORDER_CELL_BYTES, 64);
    sequence_alternate(sequence, 16);
    sequence_run(sequence, stream, stream);
    sequence_end(sequence);
    fx_disown_stream(fx, stream);
    fx->stream->stream_destroy(fx->self, stream);
  }
}

typedef tbk_status_t (*foreign_fn)(tbk_fixture_t* fx, tbk_memory_t memory, uint8_t* host,
                                   tbk_stream_t* stream);

static uint64_t foreign_bytes(const tbk_fixture_t* fx) {
  return fx_round(fx, 256);
}

static tbk_status_t foreign_upload(tbk_fixture_t* fx, tbk_memory_t memory, uint8_t* host,
                                   tbk_stream_t* stream) {
  return fx->core->upload(fx->self, fx->device, memory, 0, host, foreign_bytes(fx), stream,
                          &fx->error);
}

static tbk_status_t foreign_download(tbk_fixture_t* fx, tbk_memory_t memory, uint8_t* host,
                                     tbk_stream_t* stream) {
  return fx->core->download(fx->self, fx->device, host, memory, 0, foreign_bytes(fx), stream,
                            &fx->error);
}

static tbk_status_t foreign_copy(tbk_fixture_t* fx, tbk_memory_t memory, uint8_t* host,
                                 tbk_stream_t* stream) {
  (void)host;
  return fx->core->copy(fx->self, fx->device, memory, 0, memory, foreign_bytes(fx),
                        foreign_bytes(fx), stream, &fx->error);
}

static tbk_status_t foreign_fill(tbk_fixture_t* fx, tbk_memory_t memory, uint8_t* host,
                                 tbk_stream_t* stream) {
  (void)host;
  if (!TBK_HAS(fx->core, tbk_core_t, fill)) return TBK_INVALID;
  return fx->core->fill(fx->self, fx->device, memory, 0, 0x5A, foreign_bytes(fx), stream,
                        &fx->error);
}

static tbk_status_t foreign_random(tbk_fixture_t* fx, tbk_memory_t memory, uint8_t* host,
                                   tbk_stream_t* stream) {
  (void)host;
  tbk_generator_t generator = {.seed = 7};
  if (fx->random == NULL) return TBK_INVALID;
  return fx->random->random_bits(fx->self, fx->device, &generator, memory, 0, 64, stream,
                                 &fx->error);
}

static void refuses_a_stream_of_another_device(tbk_fixture_t* fx) {
  static const struct {
    const char* name;
    foreign_fn call;
  } calls[] = {{"upload", foreign_upload},
               {"download", foreign_download},
               {"copy", foreign_copy},
               {"fill", foreign_fill},
               {"random_bits", foreign_random}};
  int32_t first = fx->device;
  uint64_t size_bytes = foreign_bytes(fx);
  uint8_t* before = fx_bytes(fx, 2 * size_bytes);
  tbk_memory_t memory = fx_alloc_with(fx, before, 2 * size_bytes);
  fx_use_device(fx, fx_second_device(fx));
  tbk_stream_t* foreign = fx_stream(fx);
  fx_use_device(fx, first);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    uint8_t* host = fx_bytes(fx, size_bytes);
    uint8_t* kept = fx_zeros(fx, size_bytes);
    memcpy(kept, host, size_bytes);
    tbk_status_t status = calls[i].call(fx, memory, host, foreign);
    CHECK_SAID(status == TBK_INVALID, "INVALID", "%s from %s", tbk_status_name(status),
               calls[i].name);
    fx_synchronize(fx, foreign);
    CHECK_BYTES(kept, host, size_bytes);
    FX_CHECK_MEMORY(fx, before, memory, 2 * size_bytes);
  }
}

/* ---------------------------------------------------------------------- creating, destroying -- */

static void create_refuses_a_missing_out(tbk_fixture_t* fx) {
  CHECK_STATUS(TBK_INVALID, fx->stream->stream_create(fx->self, fx->device, 0, NULL, &fx->error));
}

/* The device is idle, so the first question is answered with OK. Streams come and go meanwhile. */
static void new_stream_has_nothing_to_wait_for(tbk_fixture_t* fx) {
  const int64_t span =
      (int64_t)fx->properties.priority_least - fx->properties.priority_greatest + 1;
  enum { KEPT = 7 }; /* and one more at a time: a device has 8 at the least */
  for (int32_t round = 0; round < 12; ++round) {
    int32_t priority = (int32_t)(fx->properties.priority_greatest + round % span);
    tbk_stream_t* stream = NULL;
    REQUIRE_OK(fx->stream->stream_create(fx->self, fx->device, priority, &stream, &fx->error));
    REQUIRE(stream != NULL);
    CHECK_OK(fx->stream->stream_query(fx->self, stream, &fx->error));
    CHECK_OK(fx->stream->stream_synchronize(fx->self, stream, &fx->error));
    if (round >= KEPT) fx->stream->stream_destroy(fx->self, stream);
    if (round < KEPT) fx_adopt_stream(fx, stream);
  }
}

typedef struct newcomer {
  actor_t actor;
  tbk_stream_t* gone; /* destroyed before, while it is held; may be NULL */
  tbk_stream_t* stream;
} newcomer_t;

static void create_body(actor_t* actor) {
  newcomer_t* newcomer = actor->argument;
  tbk_fixture_t* fx = &actor->fx;
  if (newcomer->gone != NULL)
    fx->stream->stream_destroy(fx->self, newcomer->gone); /* may wait for the work */
  actor_step(actor);
  CHECK_OK(fx->stream->stream_create(fx->self, fx->device, 0, &newcomer->stream, &fx->error));
}

static bool complete_meanwhile(tbk_fixture_t* fx, tbk_gate_t* gate, tbk_stream_t* stream) {
  tbk_status_t status = TBK_NOT_READY;
  uint64_t begin = fx_awake_ns();
  while (status == TBK_NOT_READY && fx_awake_ns() - begin < FX_PATIENCE_NS / 2)
    status = fx->stream->stream_query(fx->self, stream, &fx->error);
  return status == TBK_OK && gate_is_closed(gate);
}

/* Only where a held stream leaves others alone: the work of others is theirs. The calls themselves
   may wait for the device. */
static void check_newcomer(tbk_fixture_t* fx, bool other_goes) {
  tbk_gate_t gate;
  newcomer_t* newcomer = (newcomer_t*)(void*)fx_zeros(fx, sizeof *newcomer);
  if (fx->gate == TBK_GATE_UNKNOWN) (void)gate_probe(fx);
  tbk_stream_t* held = fx_stream(fx);
  gate_close_over(fx, &gate, held, 0);
  if (other_goes) fx_disown_stream(fx, newcomer->gone = held);
  bool closed = gate_is_closed(&gate);
  actor_start(fx, &newcomer->actor, create_body, newcomer);
  bool through = actor_settle(&newcomer->actor);
  if (closed && through && newcomer->stream != NULL && gate_can_control(fx))
    CHECK_SAID(complete_meanwhile(fx, &gate, newcomer->stream), "a new stream is complete",
               other_goes ? "it waits for a stream that is gone" : "it waits for another stream");
  else if (fx->gate != TBK_GATE_SYNCHRONOUS)
    fx_evidence(fx, TBK_NOT_SHOWN, "no stream can be held while another goes on");
  gate_open(fx, &gate);
  actor_join(fx, &newcomer->actor);
  if (newcomer->stream != NULL) fx_adopt_stream(fx, newcomer->stream);
  if (!other_goes) fx_synchronize(fx, held);
}

static void new_stream_does_not_wait_for_others(tbk_fixture_t* fx) {
  check_newcomer(fx, false);
}

/* A queue that is taken again is taken with what is pending in it. */
static void new_stream_does_not_wait_for_one_that_is_gone(tbk_fixture_t* fx) {
  check_newcomer(fx, true);
}

static void priorities_out_of_range_are_clamped(tbk_fixture_t* fx) {
  const int32_t least = fx->properties.priority_least;
  const int32_t greatest = fx->properties.priority_greatest;
  const int32_t priorities[] = {
      INT32_MIN, greatest > INT32_MIN ? greatest - 1 : greatest, greatest, 0,
      least,     least < INT32_MAX ? least + 1 : least,          INT32_MAX};
  for (size_t i = 0; i < sizeof priorities / sizeof *priorities; ++i) {
    tbk_stream_t* stream = NULL;
    REQUIRE_OK(fx->stream->stream_create(fx->self, fx->device, priorities[i], &stream, &fx->error));
    REQUIRE(stream != NULL);
    fx_adopt_stream(fx, stream);
    order_stream_works(fx, stream);
  }
}

static void eight_streams_exist_at_a_time(tbk_fixture_t* fx) {
  tbk_stream_t* streams[STREAMS];
  for (int i = 0; i < STREAMS; ++i)
    streams[i] = fx_stream(fx);
  for (int i = 0; i < STREAMS; ++i) {
    for (int k = 0; k < i; ++k)
      CHECK(streams[i] != streams[k]);
  }
  for (int i = 0; i < STREAMS; ++i)
    order_stream_works(fx, streams[i]);
}

/* A backend that gives nothing back runs out, or slows down, after a while. */
static void eight_streams_exist_after_many_have_gone(tbk_fixture_t* fx) {
  for (int round = 0; round < STREAM_ROUNDS; ++round) {
    tbk_stream_t* stream = NULL;
    REQUIRE_OK(fx->stream->stream_create(fx->self, fx->device, 0, &stream, &fx->error));
    fx->stream->stream_destroy(fx->self, stream);
  }
  fx->stream->stream_destroy(fx->self, NULL);
  eight_streams_exist_at_a_time(fx);
}

static void destroy_body(actor_t* actor) {
  order_t* order = actor->argument;
  tbk_fixture_t* fx = &actor->fx;
  for (size_t i = 0; i < order->pair_count; ++i) {
    CHECK_OK(work_enqueue(fx, &order->pairs[i].first, order->a));
    actor_step(actor);
  }
  atomic_store(&order->at_edge, 1);
  fx->stream->stream_destroy(fx->self, order->a); /* may wait for the work */
}

/* One work of the kind is pending when the stream goes. */
static void check_work_of_a_destroyed_stream(order_t* order, const work_kind_t* kind) {
  tbk_fixture_t* fx = order->fx;
  bench_t* bench = &order->bench;
  bench_reset(fx, bench);
  order->pair_count = 0;
  work_t* work = &order_pair(order, kind->name)->first;
  if (kind->flags & (WORK_WRITES | WORK_ON_HOST))
    work_write(fx, bench, work, kind, bench_cell(bench));
  else
    work_read(fx, bench, work, kind, bench_cell(bench));
  order->a = fx_stream(fx);
  fx_disown_stream(fx, order->a);
  order_start(order, NULL, destroy_body);
  actor_settle(&order->actor);
  gate_open(fx, &order->gate);
  actor_join(fx, &order->actor);
  CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
  bench_download(fx, bench);
  CHECK_SAID(memcmp(work->expected, work_result(work), bench->cell_bytes) == 0,
             "work enqueued before the stream was destroyed has run", "the %s was left out",
             kind->name);
}

static void destroy_with_work(tbk_fixture_t* fx, uint64_t cell_bytes) {
  order_t* order = order_begin_with(fx, cell_bytes, ORDER_CELLS);
  for (size_t i = 0; i < order->bench.kind_count; ++i)
    check_work_of_a_destroyed_stream(order, order->bench.kinds[i]);
  order_end(order);
}

static void work_of_a_destroyed_stream_runs_to_its_end(tbk_fixture_t* fx) {
  destroy_with_work(fx, 4096);
}

static void small_work_of_a_destroyed_stream_runs_to_its_end(tbk_fixture_t* fx) {
  destroy_with_work(fx, 16);
}

/* clang-format off */
static const tbk_case_t cases[] = {
    TBK_CASE("STR-001", "stream", 0, runs_work_in_order),
    TBK_CASE("STR-001", "stream", 0, runs_small_work_in_order),
    TBK_CASE("STR-001", "stream", 0, runs_large_work_in_order),
    TBK_CASE("STR-001", "stream two_devices", 0, runs_work_in_order_on_second_device),
    TBK_CASE("STR-001", "stream", 0, keeps_order_in_recycled_streams),
    TBK_CASE("STR-002", "stream two_devices", 0, refuses_a_stream_of_another_device),
    TBK_CASE("STR-003", "stream", 0, create_refuses_a_missing_out),
    TBK_CASE("STR-003", "stream native_handle from_native", 0, from_native_refuses_a_missing_out),
    TBK_CASE("STR-004", "stream", 0, new_stream_has_nothing_to_wait_for),
    TBK_CASE("STR-004", "stream", 0, new_stream_does_not_wait_for_others),
    TBK_CASE("STR-004", "stream", 0, new_stream_does_not_wait_for_one_that_is_gone),
    TBK_CASE("STR-005", "stream", 0, priorities_out_of_range_are_clamped),
    TBK_CASE("STR-006", "stream", 0, eight_streams_exist_at_a_time),
    TBK_CASE("STR-006", "stream", 0, eight_streams_exist_after_many_have_gone),
    TBK_CASE("STR-011", "stream", 0, work_of_a_destroyed_stream_runs_to_its_end),
    TBK_CASE("STR-011", "stream", 0, small_work_of_a_destroyed_stream_runs_to_its_end),
    TBK_CASE("STR-014", "stream", 0, null_stream_is_refused),
    TBK_CASE("STR-015", "stream", 0, query_is_ok_only_after_every_kind_of_work),
    TBK_CASE("STR-015", "stream", 0, query_is_ok_only_after_large_work),
    TBK_CASE("STR-015", "stream two_devices", 0, query_on_second_device_is_ok_only_after_every_kind_of_work),
    TBK_CASE("STR-016", "stream", 0, query_does_not_wait_for_held_work),
    TBK_CASE("STR-016", "stream two_devices", 0, query_on_second_device_does_not_wait_for_held_work),
    TBK_CASE("STR-016", "stream event", 0, query_is_not_ready_while_a_stream_waits_for_an_event),
    TBK_CASE("STR-017", "stream", 0, asking_again_and_again_is_enough),
    TBK_CASE("STR-017", "stream event", 0, asking_reaches_what_the_stream_waits_for),
    TBK_CASE("STR-018", "stream", 0, questions_do_not_wait),
    TBK_CASE("STR-019", "stream", 0, synchronize_waits_for_every_kind_of_work),
    TBK_CASE("STR-019", "stream event", 0, synchronize_waits_for_work_behind_an_event),
    TBK_CASE("STR-019", "stream", 0, synchronize_waits_for_large_work),
    TBK_CASE("STR-019", "stream", 0, synchronize_waits_as_long_as_it_takes),
    TBK_CASE("STR-019", "stream two_devices", 0, synchronize_waits_on_second_device),
    TBK_CASE("STR-020", "stream", 0, synchronize_ignores_later_work_of_other_streams),
    TBK_CASE("STR-022", "stream", 0, device_synchronize_covers_every_stream),
    TBK_CASE("STR-022", "stream", 0, device_synchronize_waits_for_every_kind_of_work),
    TBK_CASE("STR-022", "stream", 0, device_synchronize_waits_for_large_work),
    TBK_CASE("STR-022", "stream", 0, device_synchronize_waits_as_long_as_it_takes),
    TBK_CASE("STR-022", "stream two_devices", 0, device_synchronize_waits_on_second_device),
    TBK_CASE("STR-023", "stream", 0, device_synchronize_succeeds_without_work),
    TBK_CASE("STR-024", "stream native_handle", 0, native_handle_refuses_null),
    TBK_CASE("STR-025", "stream native_handle", 0, native_handle_is_the_same_each_time),
    TBK_CASE("STR-025", "stream native_handle from_native", 0, work_is_ordered_before_native_work),
    TBK_CASE("STR-029", "stream native_handle from_native", 0, native_work_is_ordered_before_work),
    TBK_CASE("STR-029", "stream native_handle from_native two_devices", 0,
             native_work_is_ordered_on_second_device),
    TBK_CASE("STR-029", "callback native_handle from_native", 0, callbacks_of_twins_share_one_order),
    TBK_CASE("STR-030", "stream native_handle from_native", 0, destroying_a_twin_leaves_the_native_queue),
};
/* clang-format on */

TBK_SUITE(stream);
