/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweeps of one stream that has much to do: long chains in which each work needs the one before,
 * and callbacks, each of which runs once.
 */
#include "dimensions.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

enum { CELL = 32, CALLBACKS_MOST = 1003 };

SWEEP_DIMENSION(depth_axis, "depth", {"1", 1}, {"8", 8}, {"64", 64}, {"129", 129}, {"257", 257},
                {"500", 500}, {"1025", 1025});
SWEEP_DIMENSION(marks_axis, "event_every", {"never", 0}, {"1", 1}, {"7", 7}, {"100", 100});
SWEEP_DIMENSION(streams_axis, "streams", {"1", 1}, {"3", 3});

static bool queue_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  if (sweep_get(one, &sweep_stream) == SWEEP_STREAM_NULL) return false;
  if (fx->event == NULL && (sweep_get(one, &marks_axis) != 0 || sweep_get(one, &streams_axis) > 1))
    return false;
  return scene_fits(fx, one);
}

/* ----------------------------------------------------------------------------------- chains --- */

typedef struct chain {
  scene_t scene;
  tbk_stream_t* streams[3]; /* the work goes round among them, each after the one before */
  uint64_t stream_count, depth, cell;
  tbk_memory_t memory;
  tbk_event_t* event;
  uint8_t *first, *last;
} chain_t;

/* From one stream to the next by an event, and now and then one more for nothing. */
static tbk_stream_t* hand_on(tbk_fixture_t* fx, chain_t* it, uint64_t at) {
  uint64_t every = (uint64_t)sweep_get(it->scene.one, &marks_axis);
  tbk_stream_t* from = it->streams[at / 50 % it->stream_count];
  tbk_stream_t* to = it->streams[(at + 1) / 50 % it->stream_count];
  bool mark = every != 0 && at % every == 0;
  if (from != to || mark) CHECK_OK(fx->event->event_record(fx->self, it->event, from, &fx->error));
  if (from != to) CHECK_OK(fx->event->event_wait(fx->self, to, it->event, &fx->error));
  return to;
}

static void run_links(tbk_fixture_t* fx, void* argument) {
  chain_t* it = argument;
  tbk_stream_t* stream = it->streams[0];
  sweep_delay(fx, stream, 1500);
  CHECK_OK(fx->core->upload(fx->self, fx->device, it->memory, 0, it->first, it->cell, stream,
                            &fx->error));
  for (uint64_t i = 0; i < it->depth; i++) {
    CHECK_OK(fx->core->copy(fx->self, fx->device, it->memory, (i + 1) * it->cell, it->memory,
                            i * it->cell, it->cell, stream, &fx->error));
    stream = hand_on(fx, it, i);
  }
  CHECK_OK(fx->core->download(fx->self, fx->device, it->last, it->memory, it->depth * it->cell,
                              it->cell, stream, &fx->error));
  CHECK_OK(fx->stream->stream_synchronize(fx->self, stream, &fx->error));
}

static void run_chain(tbk_fixture_t* fx, sweep_case_t* one) {
  chain_t* it = (chain_t*)(void*)fx_zeros(fx, sizeof *it);
  scene_begin(fx, one, &it->scene);
  it->depth = (uint64_t)sweep_get(one, &depth_axis);
  it->stream_count = (uint64_t)sweep_get(one, &streams_axis);
  it->cell = fx_round(fx, CELL);
  it->first = fx_bytes(fx, it->cell);
  it->last = fx_zeros(fx, it->cell);
  uint64_t bytes = (it->depth + 1) * it->cell;
  it->memory = fx_alloc_with(fx, fx_bytes(fx, bytes), bytes);
  it->streams[0] = it->scene.stream;
  for (uint64_t i = 1; i < it->stream_count; i++)
    it->streams[i] = fx_stream(fx);
  if (fx->event != NULL) it->event = fx_event(fx, 0);
  scene_call(&it->scene, run_links, it);
  CHECK_BYTES(it->first, it->last, it->cell);
}

static bool chain_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  bool six = sweep_get(one, &sweep_stream) == SWEEP_STREAM_SIXTH; /* eight are promised */
  return queue_fits(fx, one) && !(six && sweep_get(one, &streams_axis) > 1);
}

static void a_chain_holds_however_long_it_is(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&depth_axis, &marks_axis, &streams_axis, &sweep_stream,
                                       &sweep_device, &sweep_thread, &sweep_state},
                                      chain_fits,
                                      run_chain,
                                      0};
  sweep_run(fx, &space);
}

/* -------------------------------------------------------------------------------- callbacks --- */

SWEEP_DIMENSION(calls_axis, "callbacks", {"1", 1}, {"10", 10}, {"65", 65}, {"300", 300},
                {"1003", CALLBACKS_MOST});
SWEEP_DIMENSION(between_axis, "between", {"nothing", 0}, {"copy", 1}, {"record", 2});

typedef struct counted {
  atomic_int* next; /* shared */
  atomic_int times;
  int seen_as; /* the how manieth it was */
} counted_t;

static void count(void* argument) {
  counted_t* it = argument;
  atomic_fetch_add(&it->times, 1);
  it->seen_as = atomic_fetch_add(it->next, 1);
}

typedef struct callbacks {
  scene_t scene;
  counted_t* counted;
  atomic_int next;
  tbk_event_t* event;
} callbacks_t;

static void enqueue_callbacks(tbk_fixture_t* fx, void* argument) {
  callbacks_t* it = argument;
  const scene_t* scene = &it->scene;
  int64_t between = sweep_get(scene->one, &between_axis);
  for (int64_t i = 0; i < sweep_get(scene->one, &calls_axis); i++) {
    CHECK_OK(fx->callback->callback_enqueue(fx->self, scene->stream, count, &it->counted[i],
                                            scene->error != NULL ? &fx->error : NULL));
    if (between == 1)
      CHECK_OK(fx->core->copy(fx->self, fx->device, scene->scratch, 0, scene->scratch, scene->unit,
                              scene->unit, scene->stream, &fx->error));
    if (between == 2)
      CHECK_OK(fx->event->event_record(fx->self, it->event, scene->stream, &fx->error));
  }
}

static void run_callbacks(tbk_fixture_t* fx, sweep_case_t* one) {
  callbacks_t* it = (callbacks_t*)(void*)fx_zeros(fx, sizeof *it);
  int64_t calls = sweep_get(one, &calls_axis);
  it->counted = (counted_t*)(void*)fx_zeros(fx, (size_t)calls * sizeof *it->counted);
  for (int64_t i = 0; i < calls; i++)
    it->counted[i].next = &it->next;
  scene_begin(fx, one, &it->scene);
  scene_scratch(&it->scene);
  if (fx->event != NULL) it->event = fx_event(fx, 0);
  sweep_delay(fx, it->scene.stream, 500);
  scene_call(&it->scene, enqueue_callbacks, it);
  fx_synchronize(fx, it->scene.stream);
  for (int64_t i = 0; i < calls; i++) {
    CHECK_EQUAL(1, atomic_load(&it->counted[i].times));
    CHECK_EQUAL(i, it->counted[i].seen_as);
  }
}

static bool callbacks_fit(const tbk_fixture_t* fx, const sweep_case_t* one) {
  return queue_fits(fx, one) && (fx->event != NULL || sweep_get(one, &between_axis) != 2);
}

static void callbacks_run_once_each_and_in_order(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&calls_axis, &between_axis, &sweep_stream, &sweep_device,
                                       &sweep_thread, &sweep_state, &sweep_error},
                                      callbacks_fit,
                                      run_callbacks,
                                      0};
  sweep_run(fx, &space);
}

/* -------------------------------------------------------------------------------- arguments --- */

/* Each bit alone, and these: an argument need not be an address. All are different. */
enum { ARGUMENT_BITS = 8 * sizeof(uintptr_t), ARGUMENTS = ARGUMENT_BITS + 5 };

static atomic_uintptr_t received[ARGUMENTS];
static atomic_size_t received_count;

static uintptr_t argument_of(size_t at) {
  const uintptr_t others[] = {0, UINTPTR_MAX, UINTPTR_MAX / 2, UINTPTR_MAX / 3,
                              UINTPTR_MAX - UINTPTR_MAX / 3};
  return at < ARGUMENT_BITS ? (uintptr_t)1 << at : others[at - ARGUMENT_BITS];
}

static void receive(void* argument) {
  const size_t at = atomic_fetch_add(&received_count, 1);
  if (at < ARGUMENTS) atomic_store(&received[at], (uintptr_t)argument);
}

static void enqueue_arguments(tbk_fixture_t* fx, void* argument) {
  const scene_t* scene = argument;
  for (size_t i = 0; i < ARGUMENTS; i++)
    CHECK_OK(fx->callback->callback_enqueue(fx->self, scene->stream, receive, (void*)argument_of(i),
                                            &fx->error));
}

static int times_received(uintptr_t argument) {
  int times = 0;
  for (size_t i = 0; i < ARGUMENTS && i < atomic_load(&received_count); i++)
    times += atomic_load(&received[i]) == argument;
  return times;
}

static void run_arguments(tbk_fixture_t* fx, sweep_case_t* one) {
  scene_t scene;
  scene_begin(fx, one, &scene);
  atomic_store(&received_count, 0);
  scene_call(&scene, enqueue_arguments, &scene);
  fx_synchronize(fx, scene.stream);
  CHECK_EQUAL(ARGUMENTS, atomic_load(&received_count));
  for (size_t i = 0; i < ARGUMENTS; i++) {
    const int times = times_received(argument_of(i));
    CHECK_SAID(times == 1, "each callback gets its own argument, once", "0x%" PRIxPTR " %d times",
               argument_of(i), times);
  }
}

static void callbacks_get_every_bit_of_their_argument(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&sweep_stream, &sweep_device, &sweep_thread}, queue_fits, run_arguments, 0};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("STR-001", "stream", TBK_CASE_THOROUGH, a_chain_holds_however_long_it_is),
    TBK_CASE("CBK-002", "callback", TBK_CASE_THOROUGH, callbacks_run_once_each_and_in_order),
    TBK_CASE("CBK-002", "callback", 0, callbacks_get_every_bit_of_their_argument),
};
TBK_SUITE(sweep_queue);
