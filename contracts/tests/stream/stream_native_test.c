/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams and the queues of the driver behind them.
 */
#include "stream_native.h"

#include <stdatomic.h>

#include "gate.h"
#include "order.h"

void from_native_refuses_a_missing_out(tbk_fixture_t* fx) {
  void* native = NULL;
  tbk_stream_t* stream = fx_stream(fx);
  REQUIRE_OK(fx->stream->stream_native_handle(fx->self, stream, &native, &fx->error));
  CHECK_STATUS(TBK_INVALID,
               fx->stream->stream_from_native(fx->self, fx->device, native, NULL, &fx->error));
}

void native_handle_refuses_null(tbk_fixture_t* fx) {
  void* native = NULL;
  tbk_stream_t* stream = fx_stream(fx);
  CHECK_STATUS(TBK_INVALID, fx->stream->stream_native_handle(fx->self, NULL, &native, &fx->error));
  CHECK_KEPT("stream_native_handle", native == NULL);
  CHECK_STATUS(TBK_INVALID, fx->stream->stream_native_handle(fx->self, stream, NULL, &fx->error));
}

void native_handle_is_the_same_each_time(tbk_fixture_t* fx) {
  void* first = NULL;
  tbk_stream_t* stream = fx_stream(fx);
  tbk_stream_t* other = fx_stream(fx);
  REQUIRE_OK(fx->stream->stream_native_handle(fx->self, stream, &first, &fx->error));
  for (int round = 0; round < 8; ++round) {
    void* again = NULL;
    CHECK_OK(fx->stream->stream_native_handle(fx->self, stream, &again, &fx->error));
    CHECK(again == first);
    CHECK_OK(fx->stream->stream_native_handle(fx->self, other, &again, &fx->error));
    order_stream_works(fx, stream);
  }
}

static tbk_stream_t* native_twin(tbk_fixture_t* fx, tbk_stream_t* stream) {
  void* native = NULL;
  tbk_stream_t* twin = NULL;
  REQUIRE_OK(fx->stream->stream_native_handle(fx->self, stream, &native, &fx->error));
  REQUIRE_OK(fx->stream->stream_from_native(fx->self, fx->device, native, &twin, &fx->error));
  REQUIRE(twin != NULL);
  return twin;
}

/* The first half of the program on one of them and the rest on the other, with no edge. */
static void native_twins_share_one_order(tbk_fixture_t* fx, bool from_twin) {
  order_t* order = order_begin(fx, false);
  tbk_stream_t* apart = order->b;
  for (int round = 0; round < 2; ++round) {
    tbk_stream_t* stream = fx_stream(fx);
    tbk_stream_t* twin = native_twin(fx, stream);
    fx_adopt_stream(fx, twin);
    order->a = from_twin ? twin : stream;
    order->b = from_twin ? stream : twin;
    order_once(order, "copy", NULL);
    order_once(order, "upload", NULL);
  }
  order->b = apart;
  order_control(order);
  order_end(order);
}

void work_is_ordered_before_native_work(tbk_fixture_t* fx) {
  native_twins_share_one_order(fx, false);
}

void native_work_is_ordered_before_work(tbk_fixture_t* fx) {
  native_twins_share_one_order(fx, true);
}

void native_work_is_ordered_on_second_device(tbk_fixture_t* fx) {
  order_on_second_device(fx, native_work_is_ordered_before_work);
}

void destroying_a_twin_leaves_the_native_queue(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  for (int round = 0; round < 3; ++round) {
    tbk_stream_t* twin = native_twin(fx, stream);
    order_stream_works(fx, twin);
    fx->stream->stream_destroy(fx->self, twin);
    order_stream_works(fx, stream);
    TBK_CHECKS("STR-030");
    CHECK_OK(fx->stream->stream_query(fx->self, stream, &fx->error));
    CHECK_OK(fx->stream->stream_query(fx->self, stream, &fx->error));
  }
}

static void count(void* argument) {
  atomic_fetch_add((atomic_int*)argument, 1);
}

/* A callback of one of them, behind what only the other one was given. */
void callbacks_of_twins_share_one_order(tbk_fixture_t* fx) {
  for (int from_twin = 0; from_twin < 2; ++from_twin) {
    atomic_int* ran = (atomic_int*)(void*)fx_zeros(fx, sizeof *ran);
    tbk_gate_t gate;
    tbk_stream_t* stream = fx_stream(fx);
    tbk_stream_t* twin = native_twin(fx, stream);
    fx_adopt_stream(fx, twin);
    gate_close(fx, &gate, from_twin ? twin : stream);
    tbk_stream_t* other = from_twin ? stream : twin;
    CHECK_OK(fx->callback->callback_enqueue(fx->self, other, count, ran, &fx->error));
    if (gate_is_closed(&gate)) CHECK_EQUAL(0, atomic_load(ran));
    gate_open(fx, &gate);
    fx_synchronize(fx, other);
    CHECK_EQUAL(1, atomic_load(ran));
  }
  gate_shows(fx);
}
