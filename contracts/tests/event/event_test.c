/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "event_crowd.h"
#include "event_record.h"
#include "event_time.h"
#include "event_wait.h"
#include "order.h"

enum { EVENTS = 8, EVENT_ROUNDS = 400 };

/* ---------------------------------------------------------------------- creating, destroying -- */

static void create_refuses_a_missing_out_and_unknown_flags(tbk_fixture_t* fx) {
  tbk_event_t* event = NULL;
  CHECK_STATUS(TBK_INVALID, fx->event->event_create(fx->self, fx->device, 0, NULL, &fx->error));
  for (uint32_t bit = TBK_EVENT_FLAGS_KNOWN + 1; bit != 0; bit <<= 1) {
    CHECK_STATUS(TBK_INVALID,
                 fx->event->event_create(fx->self, fx->device, bit, &event, &fx->error));
    CHECK_STATUS(TBK_INVALID, fx->event->event_create(fx->self, fx->device, bit | TBK_EVENT_TIMING,
                                                      &event, &fx->error));
    CHECK_KEPT("event_create", event == NULL);
  }
}

static void new_event_is_complete(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  TBK_CHECKS("EVT-002"); /* it is about what these three calls answer */
  for (uint32_t flags = 0; flags <= TBK_EVENT_TIMING; ++flags) {
    tbk_event_t* event = fx_event(fx, flags);
    CHECK(event != NULL);
    CHECK_OK(fx->event->event_query(fx->self, event, &fx->error));
    CHECK_OK(fx->event->event_synchronize(fx->self, event, &fx->error));
    CHECK_OK(fx->event->event_wait(fx->self, stream, event, &fx->error));
    order_stream_works(fx, stream);
    CHECK_OK(fx->event->event_query(fx->self, event, &fx->error));
  }
}

/* Also while other work is held: an event that was never recorded has nothing to do with it. */
static void new_event_is_complete_while_work_is_held(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  tbk_stream_t* stream = fx_stream(fx);
  tbk_event_t* used = fx_event(fx, 0);
  tbk_event_t* event = fx_event(fx, 0);
  REQUIRE_OK(fx->event->event_record(fx->self, used, stream, &fx->error));
  fx_synchronize(fx, stream);
  gate_close_over(fx, &gate, stream, TBK_ENQUEUE_RECORD);
  CHECK_OK(fx->event->event_record(fx->self, used, stream, &fx->error));
  TBK_CHECKS("EVT-002");
  CHECK_OK(fx->event->event_query(fx->self, event, &fx->error));
  CHECK_OK(fx->event->event_synchronize(fx->self, event, &fx->error));
  gate_open(fx, &gate);
  fx_synchronize(fx, stream);
}

/* Each stands for a point of its own: the first half is complete, the second is held. */
static void eight_events_exist_at_a_time(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  tbk_event_t* events[EVENTS];
  tbk_stream_t* stream = fx_stream(fx);
  for (int i = 0; i < EVENTS; ++i)
    events[i] = fx_event(fx, 0);
  for (int i = 0; i < EVENTS / 2; ++i)
    CHECK_OK(fx->event->event_record(fx->self, events[i], stream, &fx->error));
  gate_close_over(fx, &gate, stream, TBK_ENQUEUE_RECORD);
  for (int i = EVENTS / 2; i < EVENTS; ++i)
    CHECK_OK(fx->event->event_record(fx->self, events[i], stream, &fx->error));
  process_settle();
  for (int i = 0; i < EVENTS; ++i) {
    tbk_status_t status = TBK_NOT_READY;
    if (i < EVENTS / 2) {
      FX_CHECK_EVENT_ENDS(fx, events[i], &status);
      CHECK_ANSWER(TBK_OK, status);
    } else {
      status = fx->event->event_query(fx->self, events[i], &fx->error);
      TBK_CHECKS("EVT-012");
      GATE_CHECK_PENDING(fx, &gate, status);
    }
    for (int k = 0; k < i; ++k)
      CHECK(events[i] != events[k]);
  }
  gate_open(fx, &gate);
  for (int i = 0; i < EVENTS; ++i)
    CHECK_OK(fx->event->event_synchronize(fx->self, events[i], &fx->error));
}

static void eight_events_exist_after_many_have_gone(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  for (int round = 0; round < EVENT_ROUNDS; ++round) {
    tbk_event_t* event = NULL;
    REQUIRE_OK(fx->event->event_create(fx->self, fx->device, round % 2 ? TBK_EVENT_TIMING : 0,
                                       &event, &fx->error));
    REQUIRE_OK(fx->event->event_record(fx->self, event, stream, &fx->error));
    fx->event->event_destroy(fx->self, event);
  }
  fx->event->event_destroy(fx->self, NULL);
  eight_events_exist_at_a_time(fx);
}

typedef struct doomed {
  actor_t actor;
  tbk_event_t* events[4];
} doomed_t;

static void destroy_event_body(actor_t* actor) {
  doomed_t* doomed = actor->argument;
  for (int i = 0; i < 4; ++i)
    actor->fx.event->event_destroy(actor->fx.self, doomed->events[i]);
}

static void destroy_does_not_wait_for_a_pending_event(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  tbk_stream_t* stream = fx_stream(fx);
  doomed_t* doomed = (doomed_t*)(void*)fx_zeros(fx, sizeof *doomed);
  for (int i = 0; i < 4; ++i)
    doomed->events[i] = fx_event(fx, i % 2 ? TBK_EVENT_TIMING : 0);
  gate_close_over(fx, &gate, stream, TBK_ENQUEUE_RECORD);
  for (int i = 0; i < 4; ++i) {
    CHECK_OK(fx->event->event_record(fx->self, doomed->events[i], stream, &fx->error));
    fx_disown_event(fx, doomed->events[i]);
  }
  actor_start(fx, &doomed->actor, destroy_event_body, doomed);
  CHECK_SAID(actor_ends(&doomed->actor), "event_destroy returns while the event is pending",
             "it waited for the recorded work");
  gate_open(fx, &gate);
  actor_join(fx, &doomed->actor);
  fx_synchronize(fx, stream);
}

/* -------------------------------------------------------------------------------- refusals -- */

static void record_refuses_null(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  tbk_event_t* event = fx_event(fx, 0);
  CHECK_STATUS(TBK_INVALID, fx->event->event_record(fx->self, NULL, stream, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->event->event_record(fx->self, event, NULL, &fx->error));
  CHECK_OK(fx->event->event_query(fx->self, event, &fx->error));
}

static void record_refuses_a_stream_of_another_device(tbk_fixture_t* fx) {
  int32_t first = fx->device;
  tbk_event_t* event = fx_event(fx, 0);
  fx_use_device(fx, fx_second_device(fx));
  tbk_stream_t* foreign = fx_stream(fx);
  fx_use_device(fx, first);
  CHECK_STATUS(TBK_INVALID, fx->event->event_record(fx->self, event, foreign, &fx->error));
  CHECK_OK(fx->event->event_query(fx->self, event, &fx->error));
}

/* -------------------------------------------------------------------------- asking, waiting -- */

static void run_host(tbk_fixture_t* fx, bool large, bool by_event) {
  order_t* order = order_begin(fx, large);
  if (by_event) order_hold_by_event(order);
  order_host(order, edge_event_synchronize);
  order_end(order);
}

static void null_event_is_refused(tbk_fixture_t* fx) {
  CHECK_STATUS(TBK_INVALID, fx->event->event_query(fx->self, NULL, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->event->event_synchronize(fx->self, NULL, &fx->error));
}

static void query_is_ok_only_after_every_kind_of_work(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  order_query(order, edge_record, query_event);
  order_end(order);
}

static void query_does_not_wait_for_held_work(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  tbk_stream_t* stream = fx_stream(fx);
  tbk_event_t* event = fx_event(fx, TBK_EVENT_TIMING);
  gate_close_over(fx, &gate, stream, TBK_ENQUEUE_RECORD);
  bool closed = gate_is_closed(&gate);
  CHECK_OK(fx->event->event_record(fx->self, event, stream, &fx->error));
  for (int i = 0; i < ORDER_QUERIES && gate_is_closed(&gate); ++i) {
    if (i == ORDER_QUERIES / 2) process_settle();
    tbk_status_t status = fx->event->event_query(fx->self, event, &fx->error);
    GATE_CHECK_PENDING(fx, &gate, status);
  }
  CHECK(gate_is_closed(&gate) == closed);
  gate_open(fx, &gate);
  CHECK_OK(fx->event->event_synchronize(fx->self, event, &fx->error));
}

static void query_on_second_device_is_ok_only_after_every_kind_of_work(tbk_fixture_t* fx) {
  order_on_second_device(fx, query_is_ok_only_after_every_kind_of_work);
}

static void query_on_second_device_does_not_wait_for_held_work(tbk_fixture_t* fx) {
  order_on_second_device(fx, query_does_not_wait_for_held_work);
}

/* Nothing but event_query is called between recording and looking. */
static void asking_again_and_again_is_enough(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  tbk_event_t* event = fx_event(fx, 0);
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
    REQUIRE_OK(fx->event->event_record(fx->self, event, stream, &fx->error));
    tbk_status_t status = TBK_NOT_READY;
    tbk_require(FX_CHECK_EVENT_ENDS(fx, event, &status), TBK_QUIET);
    CHECK_ANSWER(TBK_OK, status);
    for (int i = 0; i < 3; ++i)
      CHECK_OK(fx->event->event_query(fx->self, event, &fx->error)); /* and stays so */
    CHECK_BYTES(bytes, seen, size_bytes);
    CHECK_OK(fx->event->event_query(fx->self, event, &fx->error)); /* once complete, for good */
  }
}

/* An answer that was NOT_READY once, for sure where a gate holds the work, is OK in the end. */
static void asking_is_enough_after_not_ready(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  tbk_stream_t* stream = fx_stream(fx);
  tbk_event_t* event = fx_event(fx, 0);
  gate_close_over(fx, &gate, stream, TBK_ENQUEUE_RECORD);
  CHECK_OK(fx->event->event_record(fx->self, event, stream, &fx->error));
  tbk_status_t status = fx->event->event_query(fx->self, event, &fx->error);
  GATE_CHECK_PENDING(fx, &gate, status);
  gate_open(fx, &gate);
  tbk_require(FX_CHECK_EVENT_ENDS(fx, event, &status), TBK_QUIET);
  CHECK_ANSWER(TBK_OK, status);
}

/* The event stands behind two streams: work on one, a wait on the other, and nobody asks either. */
static void asking_reaches_what_the_event_waits_for(tbk_fixture_t* fx) {
  tbk_event_t *first = fx_event(fx, 0), *asked = fx_event(fx, 0);
  uint64_t size_bytes = fx_round(fx, 256);
  tbk_memory_t memory = fx_alloc(fx, size_bytes);
  tbk_stream_t *behind = fx_stream(fx), *between = fx_stream(fx);
  bool came = true;
  for (int round = 0; came && round < 8; ++round) {
    uint8_t *bytes = fx_bytes(fx, size_bytes), *seen = fx_zeros(fx, size_bytes);
    REQUIRE_OK(
        fx->core->upload(fx->self, fx->device, memory, 0, bytes, size_bytes, behind, &fx->error));
    REQUIRE_OK(fx->event->event_record(fx->self, first, behind, &fx->error));
    REQUIRE_OK(fx->event->event_wait(fx->self, between, first, &fx->error));
    REQUIRE_OK(
        fx->core->download(fx->self, fx->device, seen, memory, 0, size_bytes, between, &fx->error));
    REQUIRE_OK(fx->event->event_record(fx->self, asked, between, &fx->error));
    tbk_status_t status = TBK_NOT_READY;
    came = fx_poll_event(fx, asked, &status);
    CHECK_SAID(came, "it becomes OK",
               "its stream waits for another, which nothing asks or waits for: still NOT_READY");
    fx_synchronize(fx, between);
    CHECK_BYTES(bytes, seen, size_bytes);
  }
}

static void synchronize_waits_for_every_kind_of_work(tbk_fixture_t* fx) {
  run_host(fx, false, false);
}

static void synchronize_waits_for_work_behind_an_event(tbk_fixture_t* fx) {
  run_host(fx, false, true);
}

static void synchronize_waits_for_large_work(tbk_fixture_t* fx) {
  run_host(fx, true, false);
}

static void synchronize_waits_on_second_device(tbk_fixture_t* fx) {
  order_on_second_device(fx, synchronize_waits_for_every_kind_of_work);
}

static void synchronize_waits_as_long_as_it_takes(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  order_host_long(order, edge_event_synchronize);
  order_end(order);
}

/* clang-format off */
static const tbk_case_t cases[] = {
    TBK_CASE("EVT-001", "event", 0, create_refuses_a_missing_out_and_unknown_flags),
    TBK_CASE("EVT-002", "event", 0, new_event_is_complete),
    TBK_CASE("EVT-002", "event", 0, new_event_is_complete_while_work_is_held),
    TBK_CASE("EVT-003", "event", 0, eight_events_exist_at_a_time),
    TBK_CASE("EVT-003", "event", 0, eight_events_exist_after_many_have_gone),
    TBK_CASE("EVT-008", "event", 0, waits_outlive_the_event),
    TBK_CASE("EVT-009", "event", 0, destroy_does_not_wait_for_a_pending_event),
    TBK_CASE("EVT-011", "event", 0, record_refuses_null),
    TBK_CASE("EVT-011", "event two_devices", 0, record_refuses_a_stream_of_another_device),
    TBK_CASE("EVT-012", "event", 0, record_covers_every_kind_of_work),
    TBK_CASE("EVT-012", "event", 0, record_covers_large_work),
    TBK_CASE("EVT-012", "event two_devices", 0, record_covers_work_on_second_device),
    TBK_CASE("EVT-013", "event", 0, event_completes_without_later_work),
    TBK_CASE("EVT-014", "event", 0, recorded_again_it_is_pending_again),
    TBK_CASE("EVT-014", "event", 0, recorded_again_it_leaves_the_old_point),
    TBK_CASE("EVT-014", "event", 0, wait_for_the_new_point_of_an_event),
    TBK_CASE("EVT-015", "event", 0, wait_holds_what_comes_later_only),
    TBK_CASE("EVT-015", "event", 0, waits_and_records_keep_their_place),
    TBK_CASE("EVT-016", "event", 0, wait_refuses_null),
    TBK_CASE("EVT-017", "event two_devices !cross_device_wait", 0, wait_refuses_an_event_of_another_device),
    TBK_CASE("EVT-018", "event", 0, wait_orders_every_two_kinds_of_work),
    TBK_CASE("EVT-018", "event two_devices", 0, wait_orders_work_on_second_device),
    TBK_CASE("EVT-018", "event", 0, wait_orders_work_after_refused_calls),
    TBK_CASE("EVT-018", "event", 0, wait_orders_work_many_times),
    TBK_CASE("EVT-018", "event", 0, wait_orders_work_after_an_earlier_wait),
    TBK_CASE("EVT-018", "event", 0, wait_orders_work_along_a_chain_of_streams),
    TBK_CASE("EVT-018", "event", 0, wait_orders_work_of_a_stream_that_is_gone),
    TBK_CASE("EVT-019", "event", 0, wait_keeps_to_the_record_before_it),
    TBK_CASE("EVT-019", "event", 0, wait_is_not_held_by_a_later_record),
    TBK_CASE("EVT-019", "event", 0, wait_is_not_held_by_a_later_record_elsewhere),
    TBK_CASE("EVT-020", "event", 0, many_streams_wait_for_one_event),
    TBK_CASE("EVT-020", "event", 0, stream_waits_for_its_own_event),
    TBK_CASE("EVT-021", "event two_devices cross_device_wait", 0, wait_orders_work_across_devices),
    TBK_CASE("EVT-021", "event two_devices cross_device_wait", 0, wait_orders_work_of_a_far_stream_that_is_gone),
    TBK_CASE("EVT-022", "event", 0, null_event_is_refused),
    TBK_CASE("EVT-023", "event", 0, query_is_ok_only_after_every_kind_of_work),
    TBK_CASE("EVT-023", "event two_devices", 0, query_on_second_device_is_ok_only_after_every_kind_of_work),
    TBK_CASE("EVT-023", "event", 0, query_goes_by_the_latest_of_many_records),
    TBK_CASE("EVT-024", "event", 0, query_does_not_wait_for_held_work),
    TBK_CASE("EVT-024", "event two_devices", 0, query_on_second_device_does_not_wait_for_held_work),
    TBK_CASE("EVT-025", "event", 0, asking_again_and_again_is_enough),
    TBK_CASE("EVT-025", "event", 0, asking_is_enough_after_not_ready),
    TBK_CASE("EVT-025", "event", 0, asking_reaches_what_the_event_waits_for),
    TBK_CASE("EVT-026", "event", 0, synchronize_waits_for_every_kind_of_work),
    TBK_CASE("EVT-026", "event", 0, synchronize_waits_for_work_behind_an_event),
    TBK_CASE("EVT-026", "event", 0, synchronize_waits_for_large_work),
    TBK_CASE("EVT-026", "event two_devices", 0, synchronize_waits_on_second_device),
    TBK_CASE("EVT-026", "event", 0, synchronize_goes_by_the_latest_of_many_records),
    TBK_CASE("EVT-026", "event", 0, synchronize_waits_as_long_as_it_takes),
    TBK_CASE("EVT-027", "event elapsed", 0, elapsed_refuses_events_without_a_time),
    TBK_CASE("EVT-027", "event elapsed", 0, elapsed_goes_by_what_each_event_was_made_with),
    TBK_CASE("EVT-027", "event elapsed two_devices", 0, elapsed_refuses_events_of_two_devices),
    TBK_CASE("EVT-028", "event elapsed", 0, elapsed_refuses_null),
    TBK_CASE("EVT-029", "event elapsed", 0, elapsed_is_not_negative),
    TBK_CASE("EVT-029", "event elapsed", 0, elapsed_between_streams_is_not_negative),
    TBK_CASE("EVT-030", "event elapsed", 0, elapsed_is_in_milliseconds),
    TBK_CASE("EVT-032", "event elapsed", TBK_CASE_THOROUGH, elapsed_counts_whole_seconds),
    TBK_CASE("EVT-031", "event elapsed", 0, elapsed_is_not_ready_while_one_is_pending),
};
/* clang-format on */

TBK_SUITE(event);
