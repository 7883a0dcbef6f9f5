/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases whose outcome is known, in place of the contract tests: good, bad and ugly ones.
 */
#include "cases.h"

#include "gate.h"

atomic_int self_body_runs;

static void passes(tbk_fixture_t* fx) {
  self_body_runs++;
  CHECK(fx->core != NULL);
  CHECK_EQUAL(1, fx->device_count);
}

static void fails_once(tbk_fixture_t* fx) {
  CHECK(fx != NULL);
  CHECK_EQUAL(3, 4);
  CHECK_EQUAL(5, 6);
}

static void answers_without_a_name(tbk_fixture_t* fx) {
  CHECK(fx != NULL);
  CHECK_ANSWER(TBK_INVALID, 99);
}

static void answers_another_name(tbk_fixture_t* fx) {
  CHECK(fx != NULL);
  CHECK_ANSWER(TBK_INVALID, TBK_FAILED);
}

static void checks_nothing(tbk_fixture_t* fx) {
  fx_alloc(fx, 64);
}

static void leaves_at_once(tbk_fixture_t* fx) {
  fx_alloc(fx, 64);
  REQUIRE(fx == NULL);
  self_body_runs++;
}

static void fail_elsewhere(void* argument) {
  tbk_fixture_t* fx = argument;
  for (int i = 0; i < 1000; i++)
    CHECK(i < 999);
  REQUIRE(fx == NULL); /* must not jump out of this thread */
  self_body_runs++;
}

static void fails_on_threads(tbk_fixture_t* fx) {
  tbk_thread_t* threads[4];
  for (int i = 0; i < 4; i++)
    threads[i] = fx_thread(fx, fail_elsewhere, fx);
  for (int i = 0; i < 4; i++)
    fx_join(fx, threads[i]);
}

static void leaves_all_lying_about(tbk_fixture_t* fx) {
  fx_alloc(fx, 64);
  fx_alloc(fx, 0);
  if (fx->stream != NULL) fx_stream(fx);
  CHECK(true);
}

static void copies(tbk_fixture_t* fx) {
  uint8_t* bytes = fx_bytes(fx, 100);
  tbk_memory_t a = fx_alloc_with(fx, bytes, 100);
  tbk_memory_t b = fx_alloc(fx, 100);
  CHECK_OK(fx->core->copy(fx->self, 0, b, 0, a, 0, 100, NULL, &fx->error));
  FX_CHECK_MEMORY(fx, bytes, b, 100);
}

static void downloads(tbk_fixture_t* fx) {
  uint8_t* sent = fx_bytes(fx, 100);
  uint8_t* got = fx_zeros(fx, 100);
  tbk_memory_t memory = fx_alloc_with(fx, sent, 100);
  CHECK_OK(fx->core->download(fx->self, 0, got, memory, 0, 100, NULL, &fx->error));
  CHECK_BYTES(sent, got, 100);
}

static void needs_streams(tbk_fixture_t* fx) {
  CHECK(fx->stream != NULL);
}

static void sees_only_the_entry(tbk_fixture_t* fx) {
  CHECK(fx->backend == NULL && fx->core == NULL && fx->create != NULL && fx->host != NULL);
}

static void sees_no_open_device(tbk_fixture_t* fx) {
  CHECK(fx->core != NULL && fx->device_count == 0);
}

static void waits_behind_a_gate(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  tbk_stream_t* stream = fx_stream(fx);
  gate_close(fx, &gate, stream);
  if (gate_is_closed(&gate)) {
    CHECK_STATUS(TBK_NOT_READY, fx->stream->stream_query(fx->self, stream, &fx->error));
  }
  gate_open(fx, &gate);
  fx_synchronize(fx, stream);
  CHECK_OK(fx->stream->stream_query(fx->self, stream, &fx->error));
}

static void leaves_a_gate_closed(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  gate_close(fx, &gate, fx_stream(fx));
  REQUIRE(false);
}

struct waiting {
  tbk_fixture_t* fx;
  tbk_stream_t* stream;
};

static void synchronize(void* argument) {
  struct waiting* waiting = argument;
  fx_synchronize(waiting->fx, waiting->stream);
}

static void do_nothing(void* argument) {
  (void)argument;
}

static void knows_who_waits(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  struct waiting waiting = {fx, fx_stream(fx)};
  gate_close(fx, &gate, waiting.stream);
  CHECK(gate_held(fx, &gate, synchronize, &waiting));
  CHECK(!gate_is_closed(&gate));
}

static void knows_who_does_not_wait(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  gate_close(fx, &gate, fx_stream(fx));
  CHECK(!gate_held(fx, &gate, do_nothing, NULL));
}

static void is_modest(tbk_fixture_t* fx) {
  CHECK(true);
  fx_evidence(fx, TBK_TRIVIAL, "one");
  fx_evidence(fx, TBK_NOT_SHOWN, "two");
  fx_evidence(fx, TBK_TRIVIAL, "three");
  fx_note(fx, "a");
  fx_note(fx, "b");
}

static const tbk_case_t cases[] = {
    TBK_CASE("X-001", NULL, 0, passes),
    TBK_CASE("X-001", NULL, 0, fails_once),
    TBK_CASE("X-001", NULL, 0, answers_without_a_name),
    TBK_CASE("X-001", NULL, 0, answers_another_name),
    TBK_CASE("X-001", NULL, 0, checks_nothing),
    TBK_CASE("X-001", NULL, 0, leaves_at_once),
    TBK_CASE("X-001", NULL, 0, fails_on_threads),
    TBK_CASE("X-001", NULL, 0, leaves_all_lying_about),
    TBK_CASE("X-001", NULL, 0, copies),
    TBK_CASE("X-001", NULL, 0, downloads),
    TBK_CASE("X-001", "op:mm", 0, needs_streams),
    TBK_CASE("X-001", NULL, TBK_CASE_RAW, sees_only_the_entry),
    TBK_CASE("X-001", NULL, TBK_CASE_CLOSED, sees_no_open_device),
    TBK_CASE("X-001", "stream callback", 0, waits_behind_a_gate),
    TBK_CASE("X-001", "stream callback", 0, leaves_a_gate_closed),
    TBK_CASE("X-001", "stream callback", 0, knows_who_waits),
    TBK_CASE("X-001", "stream callback", 0, knows_who_does_not_wait),
    TBK_CASE("X-001", NULL, 0, is_modest),
};
TBK_SUITE(self);

const tbk_suite_t* const tbk_suites[] = {&tbk_suite_self, NULL};
