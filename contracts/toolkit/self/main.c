/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk-contract-selftest: whether the library that runs the contract tests tells the truth. The
 * cases it runs are those of cases.c, the backend is fake.c.
 */
#include "cases.h"
#include "fake.h"
#include "load_self.h"
#include "operands_self.h"
#include "wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned failures;

#define EXPECT(condition) expect((condition), #condition, __LINE__)

static void expect(bool held, const char* text, int line) {
  if (held) return;
  failures++;
  printf("main.c:%d: %s\n", line, text);
}

static tbk_case_report_t run(tbk_session_t* session, const char* name) {
  tbk_case_report_t report;
  size_t index = 0;
  while (strcmp(tbk_case_at(index)->name, name) != 0)
    index++;
  self_body_runs = 0;
  tbk_case_run(session, index, &report);
  return report;
}

static void outcomes(void) {
  tbk_session_t session = fake_session((fake_settings_t){0});
  tbk_case_report_t report = run(&session, "passes");
  EXPECT(report.totals.checks == 2 && report.totals.failures == 0 && self_body_runs == 1);
  EXPECT(report.failed_phase == TBK_PHASE_NONE && report.evidence == TBK_PROVEN);
  report = run(&session, "fails_once");
  EXPECT(report.totals.checks == 3 && report.totals.failures == 2);
  EXPECT(strcmp(report.totals.expected, "3") == 0 && strcmp(report.totals.seen, "4") == 0);
  EXPECT(strncmp(report.totals.where, "cases.c:", 8) == 0);
  EXPECT(report.failed_phase == TBK_PHASE_BODY);
  report = run(&session, "checks_nothing");
  EXPECT(report.totals.checks == 0 && report.totals.failures == 0);
  report = run(&session, "leaves_at_once");
  EXPECT(report.totals.failures == 1 && self_body_runs == 0 && fake_live == 0);
  report = run(&session, "fails_on_threads");
  EXPECT(report.totals.checks == 4004 && report.totals.failures == 8 && self_body_runs == 4);
  report = run(&session, "passes");
  EXPECT(report.totals.failures == 0 && report.totals.expected[0] == '\0');
  report = run(&session, "is_modest");
  EXPECT(report.evidence == TBK_NOT_SHOWN && strcmp(report.evidence_reason, "two") == 0);
  EXPECT(strcmp(report.notes, "a; b") == 0);
  tbk_session_end(&session);
}

/* A status that no one knows is a breach of its own clause, whatever the test is of. */
static void answers(void) {
  tbk_session_t session = fake_session((fake_settings_t){0});
  tbk_case_report_t report = run(&session, "answers_without_a_name");
  EXPECT(report.totals.failures == 1 && strcmp(report.totals.clause, "ERR-009") == 0);
  EXPECT(strcmp(report.totals.expected, "INVALID") == 0);
  report = run(&session, "answers_another_name");
  EXPECT(report.totals.failures == 1 && report.totals.clause[0] == '\0');
  EXPECT(strcmp(report.totals.seen, "FAILED (7)") == 0);
  tbk_session_end(&session);
}

static void set_up(void) {
  tbk_session_t session = fake_session((fake_settings_t){0});
  EXPECT(run(&session, "passes").totals.failures == 0 && session.device_open);
  tbk_case_report_t report = run(&session, "sees_only_the_entry");
  EXPECT(report.totals.checks == 1 && report.totals.failures == 0 && !session.device_open);
  report = run(&session, "sees_no_open_device");
  EXPECT(report.totals.checks == 1 && report.totals.failures == 0);
  session = fake_session((fake_settings_t){.fails_to_open = true});
  report = run(&session, "passes");
  EXPECT(report.totals.failures == 1 && report.failed_phase == TBK_PHASE_OPEN);
  EXPECT(self_body_runs == 0);
}

static void invariants(void) {
  tbk_session_t session = fake_session((fake_settings_t){.with_streams = true});
  EXPECT(run(&session, "leaves_all_lying_about").totals.failures == 0 && fake_live == 0);
  EXPECT(run(&session, "copies").totals.failures == 0);
  fake.overruns = true;
  tbk_case_report_t report = run(&session, "copies");
  EXPECT(report.totals.failures == 1 && report.failed_phase == TBK_PHASE_CLEAN);
  fake.overruns = false;
  fake.overruns_host = true;
  report = run(&session, "downloads");
  EXPECT(report.totals.failures > 0 && report.failed_phase == TBK_PHASE_CLEAN);
  fake.overruns_host = false;
  fake.fails_to_free = true;
  EXPECT(run(&session, "copies").failed_phase == TBK_PHASE_CLEAN);
  fake.fails_to_free = false;
  fake.fails_to_settle = true;
  EXPECT(run(&session, "passes").failed_phase == TBK_PHASE_CLEAN);
  EXPECT(run(&session, "passes").totals.checks == 2);
}

static tbk_gate_kind_t gate_of(fake_settings_t settings, int* out_blocking) {
  tbk_need_set_t held;
  char reason[256];
  tbk_session_t session = fake_session(settings);
  EXPECT(tbk_session_probe(&session, &held, reason, sizeof reason));
  EXPECT(fake_live == 0);
  *out_blocking = session.wait_blocks;
  return session.gate;
}

static void gates(void) {
  int blocking = 0;
  EXPECT(gate_of((fake_settings_t){.with_streams = true}, &blocking) == TBK_GATE_NONE);
  fake_settings_t settings = {.with_streams = true, .callbacks = FAKE_INLINE};
  EXPECT(gate_of(settings, &blocking) == TBK_GATE_SYNCHRONOUS);
  settings.callbacks = FAKE_WAITING;
  EXPECT(gate_of(settings, &blocking) == TBK_GATE_SYNCHRONOUS);
  settings.callbacks = FAKE_ONE_QUEUE;
  EXPECT(gate_of(settings, &blocking) == TBK_GATE_ONE_QUEUE && blocking == 0);
  settings.waits_in_uploads = true;
  EXPECT(gate_of(settings, &blocking) == TBK_GATE_ONE_QUEUE && blocking == TBK_ENQUEUE_UPLOAD);
}

static void gated_cases(void) {
  fake_settings_t settings = {.with_streams = true, .callbacks = FAKE_ONE_QUEUE};
  tbk_session_t session = fake_session(settings);
  session.gate = TBK_GATE_ONE_QUEUE;
  tbk_case_report_t report = run(&session, "waits_behind_a_gate");
  EXPECT(report.totals.checks == 2 && report.totals.failures == 0);
  EXPECT(report.evidence == TBK_PROVEN);
  report = run(&session, "leaves_a_gate_closed");
  EXPECT(report.totals.failures == 1 && report.failed_phase == TBK_PHASE_BODY && fake_live == 0);
  report = run(&session, "knows_who_does_not_wait");
  EXPECT(report.totals.checks == 1 && report.totals.failures == 0);
  report = run(&session, "knows_who_waits");
  EXPECT(report.totals.checks == 2 && report.totals.failures == 0);
  session = fake_session((fake_settings_t){.with_streams = true, .callbacks = FAKE_INLINE});
  session.gate = TBK_GATE_SYNCHRONOUS;
  report = run(&session, "waits_behind_a_gate");
  EXPECT(report.totals.checks == 1 && report.evidence == TBK_TRIVIAL);
}

static void needs(void) {
  tbk_session_t session = fake_session((fake_settings_t){.with_streams = true});
  const tbk_backend_t* backend = NULL;
  EXPECT(fake_create(&session.library.host, &backend, NULL) == TBK_OK);
  EXPECT(tbk_needs_missing(backend, NULL) == NULL);
  EXPECT(tbk_needs_missing(backend, "stream !event  !two_devices") == NULL);
  EXPECT(strcmp(tbk_needs_missing(backend, "stream event"), "event") == 0);
  EXPECT(strcmp(tbk_needs_missing(backend, "!stream"), "!stream") == 0);
  EXPECT(strcmp(tbk_needs_missing(backend, "dtype:FLOAT32"), "dtype:FLOAT32") == 0);
  EXPECT(tbk_needs_known("stream !op:mm dtype:BOOL") && !tbk_needs_known("stream strream"));
  tbk_case_report_t report = run(&session, "needs_streams");
  EXPECT(report.needs_missing != NULL && strcmp(report.needs_missing, "op:mm") == 0);
  EXPECT(report.totals.checks == 0);
  tbk_need_set_t all;
  memset(&all, 0xFF, sizeof all);
  tbk_needs_assume(&all);
  EXPECT(tbk_needs_missing(backend, "event op:mm") == NULL);
}

static void health(void) {
  char reason[256] = "";
  tbk_session_t session = fake_session((fake_settings_t){.with_streams = true});
  EXPECT(tbk_health_probe(&session, reason, sizeof reason) && fake_live == 0);
  fake.fails_to_free = true;
  EXPECT(!tbk_health_probe(&session, reason, sizeof reason));
  EXPECT(strstr(reason, "memory_free answers FAILED") != NULL);
  session = fake_session((fake_settings_t){.fails_to_open = true});
  EXPECT(!tbk_health_probe(&session, reason, sizeof reason));
}

/* Who waits looks often enough for the clock to go on; who was not let run could not look. */
static void patience(void) {
  const uint64_t longer_ns = UINT64_C(600000000), most_ns = UINT64_C(500000000);
  atomic_int never = 0;
  uint64_t began = fx_awake_ns();
  fx_sleep_until(fx_now_ns() + longer_ns);
  EXPECT(fx_awake_ns() - began <= most_ns);
  began = fx_awake_ns();
  EXPECT(!tbk_word_wait(&never, most_ns / 5));
  EXPECT(fx_awake_ns() - began >= most_ns / 5);
}

int main(int count, char** values) {
  EXPECT(tbk_cases_register() == 0);
  outcomes();
  answers();
  set_up();
  invariants();
  health();
  gates();
  gated_cases();
  needs();
  patience();
  failures += operands_self();
  failures += load_self(count > 1 ? values[1] : NULL);
  printf("%u failures\n", failures);
  return failures > 0;
}
