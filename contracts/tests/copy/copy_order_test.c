/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies and fills: their place in the order of a stream, and completeness without one. In each
 * gated test what comes first is held shut, and what comes second has an outcome of its own if it
 * runs too early.
 */
#include "behind.h"
#include "range.h"

#include <string.h>

typedef struct order {
  tbk_stream_t* stream;
  uint64_t size;
  block_t target; /* what is written second, or read second */
  block_t other;
  uint8_t* fresh; /* what is written first, or by the call under test */
  uint8_t* seen;  /* where a download goes */
} order_t;

static order_t* order_make(tbk_fixture_t* fx, uint64_t size_bytes) {
  order_t* order = (order_t*)(void*)fx_zeros(fx, sizeof *order);
  order->stream = fx_stream(fx);
  order->size = fx_round(fx, size_bytes);
  block_make(fx, &order->target, size_bytes);
  block_make(fx, &order->other, size_bytes);
  order->fresh = fx_bytes(fx, order->size);
  order->seen = fx_zeros(fx, order->size);
  return order;
}

/* The four calls, each between target, other and the host. */
static void put_upload(tbk_fixture_t* fx, order_t* order, tbk_stream_t* stream) {
  CHECK_OK(fx->core->upload(fx->self, fx->device, order->target.memory, 0, order->fresh,
                            order->size, stream, &fx->error));
}

static void put_download(tbk_fixture_t* fx, order_t* order, tbk_stream_t* stream) {
  CHECK_OK(fx->core->download(fx->self, fx->device, order->seen, order->target.memory, 0,
                              order->size, stream, &fx->error));
}

static void put_copy(tbk_fixture_t* fx, order_t* order, tbk_stream_t* stream) {
  CHECK_OK(fx->core->copy(fx->self, fx->device, order->other.memory, 0, order->target.memory, 0,
                          order->size, stream, &fx->error));
}

static void put_fill(tbk_fixture_t* fx, order_t* order, tbk_stream_t* stream) {
  CHECK_OK(fx->core->fill(fx->self, fx->device, order->target.memory, 0, 0x5a, order->size, stream,
                          &fx->error));
}

/* Sizes of which a backend might take a shortcut. */
static const uint64_t gated_sizes[] = {1, 4096, 65537, 1048576};
enum { GATED_SIZES = sizeof gated_sizes / sizeof *gated_sizes };

/* ------------------------------------------------------ an upload runs after what came before -- */

static void copy_then_upload(tbk_fixture_t* fx, void* argument) {
  order_t* order = argument;
  put_copy(fx, order, order->stream);
  put_upload(fx, order, order->stream);
}

/* Had the upload gone ahead, the copy would have taken its bytes along. */
static bool upload_early(tbk_fixture_t* fx, void* argument, tbk_stream_t* other) {
  order_t* order = argument;
  put_upload(fx, order, other);
  put_copy(fx, order, other);
  put_download(fx, order, other);
  behind_settle(fx, other);
  return memcmp(order->seen, order->fresh, order->size) == 0;
}

static void an_upload_waits_for_earlier_work_of_its_stream(tbk_fixture_t* fx) {
  for (int i = 0; i < GATED_SIZES; ++i) {
    order_t* order = order_make(fx, gated_sizes[i]);
    behind_gate(fx, order->stream, copy_then_upload, order);
    memcpy(order->other.model, order->target.model, order->size);
    memcpy(order->target.model, order->fresh, order->size);
    BLOCK_CHECK(fx, &order->other);
    BLOCK_CHECK(fx, &order->target);
    if (i == GATED_SIZES - 1)
      behind_control(fx, order->stream, upload_early, order_make(fx, gated_sizes[1]));
  }
}

/* ----------------------------------------------------- a download runs after what came before -- */

static void upload_then_download(tbk_fixture_t* fx, void* argument) {
  order_t* order = argument;
  put_upload(fx, order, order->stream);
  put_download(fx, order, order->stream);
}

static bool download_early(tbk_fixture_t* fx, void* argument, tbk_stream_t* other) {
  order_t* order = argument;
  put_download(fx, order, other);
  behind_settle(fx, other);
  return memcmp(order->seen, order->target.model, order->size) == 0;
}

static void a_download_waits_for_earlier_work_of_its_stream(tbk_fixture_t* fx) {
  for (int i = 0; i < GATED_SIZES; ++i) {
    order_t* order = order_make(fx, gated_sizes[i]);
    behind_gate(fx, order->stream, upload_then_download, order);
    CHECK_BYTES(order->fresh, order->seen, order->size);
    if (i == GATED_SIZES - 1)
      behind_control(fx, order->stream, download_early, order_make(fx, gated_sizes[1]));
  }
}

/* --------------------------------------------------------- a copy runs after what came before -- */

static void upload_then_copy(tbk_fixture_t* fx, void* argument) {
  order_t* order = argument;
  put_upload(fx, order, order->stream);
  put_copy(fx, order, order->stream);
}

static bool copy_early(tbk_fixture_t* fx, void* argument, tbk_stream_t* other) {
  order_t* order = argument;
  put_copy(fx, order, other);
  put_download(fx, order, other);
  behind_settle(fx, other);
  return memcmp(order->seen, order->target.model, order->size) == 0;
}

static void a_copy_waits_for_earlier_work_of_its_stream(tbk_fixture_t* fx) {
  for (int i = 0; i < GATED_SIZES; ++i) {
    order_t* order = order_make(fx, gated_sizes[i]);
    behind_gate(fx, order->stream, upload_then_copy, order);
    memcpy(order->other.model, order->fresh, order->size);
    BLOCK_CHECK(fx, &order->other);
    if (i == GATED_SIZES - 1)
      behind_control(fx, order->stream, copy_early, order_make(fx, gated_sizes[1]));
  }
}

/* --------------------------------------------------------- a fill runs after what came before -- */

static void copy_then_fill(tbk_fixture_t* fx, void* argument) {
  order_t* order = argument;
  put_copy(fx, order, order->stream);
  put_fill(fx, order, order->stream);
}

static bool fill_early(tbk_fixture_t* fx, void* argument, tbk_stream_t* other) {
  order_t* order = argument;
  put_fill(fx, order, other);
  put_copy(fx, order, other);
  put_download(fx, order, other);
  behind_settle(fx, other);
  memset(order->fresh, 0x5a, order->size);
  return memcmp(order->seen, order->fresh, order->size) == 0;
}

static void a_fill_waits_for_earlier_work_of_its_stream(tbk_fixture_t* fx) {
  for (int i = 0; i < GATED_SIZES; ++i) {
    order_t* order = order_make(fx, gated_sizes[i]);
    behind_gate(fx, order->stream, copy_then_fill, order);
    memcpy(order->other.model, order->target.model, order->size);
    memset(order->target.model, 0x5a, order->size);
    BLOCK_CHECK(fx, &order->other);
    BLOCK_CHECK(fx, &order->target);
    if (i == GATED_SIZES - 1)
      behind_control(fx, order->stream, fill_early, order_make(fx, gated_sizes[1]));
  }
}

static void the_second_device_keeps_the_order_of_a_stream(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  order_t* order = order_make(fx, 4096);
  behind_gate(fx, order->stream, upload_then_download, order);
  CHECK_BYTES(order->fresh, order->seen, order->size);
  order = order_make(fx, 65537);
  behind_gate(fx, order->stream, upload_then_copy, order);
  memcpy(order->other.model, order->fresh, order->size);
  BLOCK_CHECK(fx, &order->other);
}

/* ------------------------------------------------------------------------- a long mixture ----- */

enum { CELLS = 5, STEPS = 150 };

typedef struct mixture {
  block_t cells[CELLS];
  uint8_t* seen[STEPS]; /* what downloads brought, and what they should have */
  uint8_t* expected[STEPS];
  uint64_t size;
} mixture_t;

static void mixture_step(tbk_fixture_t* fx, mixture_t* mixture, int step, tbk_stream_t* stream) {
  block_t* cell = &mixture->cells[fx_random(fx) % CELLS];
  block_t* from = &mixture->cells[(size_t)(cell - mixture->cells + 1) % CELLS];
  uint64_t size = mixture->size;
  uint8_t* bytes = fx_bytes(fx, size);
  switch (fx_random(fx) % 3) {
    case 0:
      REQUIRE_OK(
          fx->core->upload(fx->self, fx->device, cell->memory, 0, bytes, size, stream, &fx->error));
      memcpy(cell->model, bytes, size);
      break;
    case 1:
      REQUIRE_OK(fx->core->copy(fx->self, fx->device, cell->memory, 0, from->memory, 0, size,
                                stream, &fx->error));
      memcpy(cell->model, from->model, size);
      break;
    default:
      mixture->expected[step] = fx_zeros(fx, size);
      mixture->seen[step] = bytes;
      memcpy(mixture->expected[step], cell->model, size);
      REQUIRE_OK(fx->core->download(fx->self, fx->device, bytes, cell->memory, 0, size, stream,
                                    &fx->error));
  }
}

static void check_mixture(tbk_fixture_t* fx, uint64_t size_bytes) {
  mixture_t mixture = {.size = fx_round(fx, size_bytes)};
  tbk_stream_t* stream = fx_stream(fx);
  for (int i = 0; i < CELLS; ++i)
    block_make(fx, &mixture.cells[i], size_bytes);
  for (int step = 0; step < STEPS; ++step)
    mixture_step(fx, &mixture, step, stream);
  fx_synchronize(fx, stream);
  for (int step = 0; step < STEPS; ++step)
    if (mixture.seen[step] != NULL)
      CHECK_BYTES(mixture.expected[step], mixture.seen[step], mixture.size);
  for (int i = 0; i < CELLS; ++i)
    BLOCK_CHECK(fx, &mixture.cells[i]);
}

static void a_long_mixture_runs_in_order(tbk_fixture_t* fx) {
  check_mixture(fx, 64);
  check_mixture(fx, 4096);
}

static void a_mixture_of_large_copies_runs_in_order(tbk_fixture_t* fx) {
  check_mixture(fx, 70001);
}

static void a_long_mixture_runs_in_order_on_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_mixture(fx, 256);
}

static void a_long_mixture_runs_in_order_after_an_error(tbk_fixture_t* fx) {
  range_provoke_errors(fx);
  check_mixture(fx, 256);
}

/* ------------------------------------------------------------------------- without a stream --- */

static void an_upload_is_complete_on_return(tbk_fixture_t* fx) {
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    order_t order = {.size = fx_round(fx, range_of_round(fx, round))};
    block_make(fx, &order.target, order.size);
    order.fresh = fx_bytes(fx, order.size);
    memcpy(order.target.model, order.fresh, order.size);
    put_upload(fx, &order, NULL);
    memset(order.fresh, 0xee, order.size); /* too late to matter */
    BLOCK_CHECK(fx, &order.target);
    block_drop(fx, &order.target);
  }
}

static void a_download_is_complete_on_return(tbk_fixture_t* fx) {
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    order_t order = {.size = fx_round(fx, range_of_round(fx, round))};
    block_make(fx, &order.target, order.size);
    order.seen = fx_zeros(fx, order.size);
    put_download(fx, &order, NULL);
    CHECK_BYTES(order.target.model, order.seen, order.size);
    block_drop(fx, &order.target);
  }
}

/* Source overwritten and destination read right after the copy. */
static void a_copy_is_complete_on_return(tbk_fixture_t* fx) {
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    order_t order = {.size = fx_round(fx, range_of_round(fx, round))};
    block_make(fx, &order.target, order.size);
    block_make(fx, &order.other, order.size);
    put_copy(fx, &order, NULL);
    memcpy(order.other.model, order.target.model, order.size);
    memset(order.target.model, 0xee, order.size);
    fx_upload(fx, order.target.memory, order.target.model, order.size);
    BLOCK_CHECK(fx, &order.other);
    block_drop(fx, &order.target);
    block_drop(fx, &order.other);
  }
}

static void a_fill_is_complete_on_return(tbk_fixture_t* fx) {
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    order_t order = {.size = fx_round(fx, range_of_round(fx, round))};
    block_make(fx, &order.target, order.size);
    put_fill(fx, &order, NULL);
    memset(order.target.model, 0x5a, order.size);
    BLOCK_CHECK(fx, &order.target);
    fx_upload(fx, order.target.memory, order.target.model, order.size);
    block_drop(fx, &order.target);
  }
}

/* What a stream sees after a call without one has returned. */
static void a_stream_sees_what_was_copied_without_one(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    order_t order = {.size = fx_round(fx, range_of_round(fx, round))};
    block_make(fx, &order.target, order.size);
    order.fresh = fx_bytes(fx, order.size);
    order.seen = fx_zeros(fx, order.size);
    put_upload(fx, &order, NULL);
    put_download(fx, &order, stream);
    fx_synchronize(fx, stream);
    CHECK_BYTES(order.fresh, order.seen, order.size);
    block_drop(fx, &order.target);
  }
}

static void calls_on_the_second_device_are_complete_on_return(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  an_upload_is_complete_on_return(fx);
  a_copy_is_complete_on_return(fx);
}

static const tbk_case_t cases[] = {
    TBK_CASE("STR-001", "stream", 0, an_upload_waits_for_earlier_work_of_its_stream),
    TBK_CASE("STR-001", "stream", 0, a_download_waits_for_earlier_work_of_its_stream),
    TBK_CASE("STR-001", "stream", 0, a_copy_waits_for_earlier_work_of_its_stream),
    TBK_CASE("STR-001", "stream fill", 0, a_fill_waits_for_earlier_work_of_its_stream),
    TBK_CASE("STR-001", "stream two_devices", 0, the_second_device_keeps_the_order_of_a_stream),
    TBK_CASE("STR-001", "stream", 0, a_long_mixture_runs_in_order),
    TBK_CASE("STR-001", "stream", 0, a_mixture_of_large_copies_runs_in_order),
    TBK_CASE("STR-001", "stream two_devices", 0, a_long_mixture_runs_in_order_on_the_second_device),
    TBK_CASE("STR-001", "stream", 0, a_long_mixture_runs_in_order_after_an_error),
    TBK_CASE("CPY-006", NULL, 0, an_upload_is_complete_on_return),
    TBK_CASE("CPY-006", NULL, 0, a_download_is_complete_on_return),
    TBK_CASE("CPY-006", NULL, 0, a_copy_is_complete_on_return),
    TBK_CASE("CPY-006", "fill", 0, a_fill_is_complete_on_return),
    TBK_CASE("CPY-006", "stream", 0, a_stream_sees_what_was_copied_without_one),
    TBK_CASE("CPY-006", "two_devices", 0, calls_on_the_second_device_are_complete_on_return),
};
TBK_SUITE(copy_order);
