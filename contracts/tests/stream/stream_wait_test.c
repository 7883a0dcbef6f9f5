/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams: asking whether work is complete, and waiting for it.
 */
#include "stream_wait.h"
#include "order.h"

enum { STREAMS = 8 };

/* ------------------------------------------------------------------------------ the questions -- */

void null_stream_is_refused(tbk_fixture_t* fx) {
  CHECK_STATUS(TBK_INVALID, fx->stream->stream_query(fx->self, NULL, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->stream->stream_synchronize(fx->self, NULL, &fx->error));
  if (fx->async_memory != NULL)
    CHECK_STATUS(TBK_INVALID, fx->async_memory->async_free(fx->self, NULL, 0, &fx->error));
}

static void run_query(tbk_fixture_t* fx, bool large, bool by_event) {
  order_t* order = order_begin(fx, large);
  if (by_event) order_hold_by_event(order);
  order_query(order, NULL, query_stream);
  order_end(order);
}

void query_is_ok_only_after_every_kind_of_work(tbk_fixture_t* fx) {
  run_query(fx, false, false);
}

void query_is_ok_only_after_large_work(tbk_fixture_t* fx) {
  run_query(fx, true, false);
}

void query_is_not_ready_while_a_stream_waits_for_an_event(tbk_fixture_t* fx) {
  run_query(fx, false, true);
}

void query_does_not_wait_for_held_work(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  tbk_stream_t* stream = fx_stream(fx);
  gate_close_over(fx, &gate, stream, 0);
  for (int i = 0; i < ORDER_QUERIES && gate_is_closed(&gate); ++i) {
    if (i == ORDER_QUERIES / 2) process_settle();
    tbk_status_t status = fx->stream->stream_query(fx->self, stream, &fx->error);
    GATE_CHECK_PENDING(fx, &gate, status);
  }
  gate_open(fx, &gate);
  tbk_status_t status = TBK_NOT_READY;
  FX_CHECK_STREAM_ENDS(fx, stream, &status);
  CHECK_ANSWER(TBK_OK, status);
}

void query_on_second_device_is_ok_only_after_every_kind_of_work(tbk_fixture_t* fx) {
  order_on_second_device(fx, query_is_ok_only_after_every_kind_of_work);
}

/* What holds the stream is the last of its work, and running. */
void query_on_second_device_does_not_wait_for_held_work(tbk_fixture_t* fx) {
  order_on_second_device(fx, query_does_not_wait_for_held_work);
}

/* Nothing but stream_query is called between enqueuing and looking. */
void asking_again_and_again_is_enough(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  uint64_t size_bytes = fx_round(fx, 256);
  tbk_memory_t memory = fx_alloc(fx, size_bytes);
  const tbk_core_t* core = fx->core;
  for (int round = 0; round < 32; ++round) {
    uint8_t* bytes = fx_bytes(fx, size_bytes);
    uint8_t* seen = fx_zeros(fx, size_bytes);
    REQUIRE_OK(
        core->upload(fx->self, fx->device, memory, 0, bytes, size_bytes, stream, &fx->error));
    REQUIRE_OK(
        core->download(fx->self, fx->device, seen, memory, 0, size_bytes, stream, &fx->error));
    tbk_status_t status = TBK_NOT_READY;
    tbk_require(FX_CHECK_STREAM_ENDS(fx, stream, &status), TBK_QUIET);
    CHECK_ANSWER(TBK_OK, status);
    for (int i = 0; i < 3; ++i)
      CHECK_OK(fx->stream->stream_query(fx->self, stream, &fx->error)); /* and stays so */
    CHECK_BYTES(bytes, seen, size_bytes);
  }
}

static void give_back(tbk_fixture_t* fx, tbk_stream_t* stream) {
  fx_disown_stream(fx, stream);
  fx->stream->stream_destroy(fx->self, stream);
}

/* What the stream waits for is on one that nobody asks; it may even be destroyed already. */
static bool ask_for_what_is_elsewhere(tbk_fixture_t* fx, tbk_event_t* event, bool destroyed) {
  tbk_stream_t *asked = fx_stream(fx), *other = fx_stream(fx);
  uint64_t size_bytes = fx_round(fx, 256);
  tbk_memory_t memory = fx_alloc(fx, size_bytes);
  uint8_t *bytes = fx_bytes(fx, size_bytes), *seen = fx_zeros(fx, size_bytes);
  const tbk_core_t* core = fx->core;
  REQUIRE_OK(core->upload(fx->self, fx->device, memory, 0, bytes, size_bytes, other, &fx->error));
  REQUIRE_OK(fx->event->event_record(fx->self, event, other, &fx->error));
  REQUIRE_OK(fx->event->event_wait(fx->self, asked, event, &fx->error));
  if (destroyed) give_back(fx, other);
  REQUIRE_OK(core->download(fx->self, fx->device, seen, memory, 0, size_bytes, asked, &fx->error));
  tbk_status_t status = TBK_NOT_READY;
  bool came = fx_poll_stream(fx, asked, &status);
  CHECK_SAID(came, "it becomes OK",
             "it waits for another stream, which nothing asks or waits for, and stays NOT_READY");
  fx_synchronize(fx, asked);
  CHECK_BYTES(bytes, seen, size_bytes);
  give_back(fx, asked); /* a device need not have more than eight at a time */
  if (!destroyed) give_back(fx, other);
  return came;
}

void asking_reaches_what_the_stream_waits_for(tbk_fixture_t* fx) {
  tbk_event_t* event = fx_event(fx, 0);
  bool came = true;
  for (int round = 0; came && round < 8; ++round)
    came = ask_for_what_is_elsewhere(fx, event, round % 2 != 0);
}

/* Whatever is only a question must be answered while the device is held. */
void questions_do_not_wait(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  tbk_stream_t* stream = fx_stream(fx);
  bool timed = TBK_HAS(fx->event, tbk_event_ops_t, event_elapsed) != 0;
  tbk_event_t* event = fx->event != NULL ? fx_event(fx, timed ? TBK_EVENT_TIMING : 0) : NULL;
  double ms = 0;
  gate_close_over(fx, &gate, stream, TBK_ENQUEUE_RECORD);
  bool closed = gate_is_closed(&gate);
  if (event != NULL) CHECK_OK(fx->event->event_record(fx->self, event, stream, &fx->error));
  tbk_status_t of_stream = fx->stream->stream_query(fx->self, stream, &fx->error);
  tbk_status_t of_event =
      event != NULL ? fx->event->event_query(fx->self, event, &fx->error) : TBK_NOT_READY;
  if (timed) (void)!fx->event->event_elapsed(fx->self, event, event, &ms, &fx->error);
  if (fx->kernel != NULL) (void)fx->kernel->kernel_find(fx->self, fx->device, "copy_", 1);
  if (closed) {
    CHECK_SAID(gate_is_closed(&gate), "answers at once", "a question waited for enqueued work");
    CHECK_ANSWER(TBK_NOT_READY, of_stream);
    CHECK_ANSWER(TBK_NOT_READY, of_event);
  }
  gate_open(fx, &gate);
  fx_synchronize(fx, stream);
  CHECK_OK(fx->stream->stream_query(fx->self, stream, &fx->error));
}

/* -------------------------------------------------------------------------------- the waiting -- */

static void run_host(tbk_fixture_t* fx, order_edge_fn edge, bool large, bool by_event) {
  order_t* order = order_begin(fx, large);
  if (by_event) order_hold_by_event(order);
  order_host(order, edge);
  order_end(order);
}

void synchronize_waits_for_every_kind_of_work(tbk_fixture_t* fx) {
  run_host(fx, edge_stream_synchronize, false, false);
}

void synchronize_waits_for_work_behind_an_event(tbk_fixture_t* fx) {
  run_host(fx, edge_stream_synchronize, false, true);
}

void synchronize_waits_for_large_work(tbk_fixture_t* fx) {
  run_host(fx, edge_stream_synchronize, true, false);
}

void synchronize_waits_as_long_as_it_takes(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  order_host_long(order, edge_stream_synchronize);
  order_end(order);
}

void synchronize_waits_on_second_device(tbk_fixture_t* fx) {
  order_on_second_device(fx, synchronize_waits_for_every_kind_of_work);
}

void device_synchronize_waits_for_every_kind_of_work(tbk_fixture_t* fx) {
  run_host(fx, edge_device_synchronize, false, false);
}

void device_synchronize_waits_for_large_work(tbk_fixture_t* fx) {
  run_host(fx, edge_device_synchronize, true, false);
}

void device_synchronize_waits_as_long_as_it_takes(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  order_host_long(order, edge_device_synchronize);
  order_end(order);
}

void device_synchronize_waits_on_second_device(tbk_fixture_t* fx) {
  order_on_second_device(fx, device_synchronize_waits_for_every_kind_of_work);
}

typedef struct device_wait {
  tbk_fixture_t fx;
  tbk_stream_t* stream;
} device_wait_t;

static void wait_for_device(void* argument) {
  device_wait_t* wait = argument;
  tbk_fixture_t* fx = &wait->fx;
  CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
}

/* Each of eight streams in turn is the one that still has something to do. */
void device_synchronize_covers_every_stream(tbk_fixture_t* fx) {
  tbk_stream_t* streams[STREAMS];
  for (int i = 0; i < STREAMS; ++i)
    streams[i] = fx_stream(fx);
  for (int i = 0; i < STREAMS; ++i)
    order_stream_works(fx, streams[i]);
  for (int i = 0; i < STREAMS; ++i) {
    tbk_gate_t gate;
    device_wait_t wait = {.fx = *fx, .stream = streams[i]};
    gate_close_over(fx, &gate, streams[i], 0);
    CHECK_SAID(gate_held(fx, &gate, wait_for_device, &wait), "to wait for every stream",
               "device_synchronize did not wait for stream %d of %d", i + 1, STREAMS);
    gate_open(fx, &gate);
  }
}

void device_synchronize_succeeds_without_work(tbk_fixture_t* fx) {
  CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
  tbk_stream_t* stream = fx_stream(fx);
  CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
  CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
  fx_disown_stream(fx, stream);
  fx->stream->stream_destroy(fx->self, stream);
  CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
}

static void sync_a_body(actor_t* actor) {
  order_t* order = actor->argument;
  edge_stream_synchronize(order, &actor->fx);
}

/* Only where a held stream is known to leave the other alone. */
void synchronize_ignores_later_work_of_other_streams(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  order_pair_t* pair = order_pair(order, "copy");
  const work_kind_t* copy = bench_kind(&order->bench, "copy");
  bench_reset(fx, &order->bench);
  work_write(fx, &order->bench, &pair->first, copy, bench_cell(&order->bench));
  bench_upload(fx, &order->bench);
  CHECK_OK(work_enqueue(fx, &pair->first, order->a));
  if (gate_can_control(fx)) {
    gate_close_over(fx, &order->gate, order->b, 0);
    actor_start(fx, &order->actor, sync_a_body, order);
    CHECK(actor_ends(&order->actor));
    gate_open(fx, &order->gate);
    actor_join(fx, &order->actor);
  } else {
    fx_evidence(fx, fx->gate == TBK_GATE_SYNCHRONOUS ? TBK_TRIVIAL : TBK_NOT_SHOWN,
                "no stream can be held while another goes on");
  }
  fx_synchronize(fx, order->a);
  order_end(order);
}
