/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * verdict_test.c: from what was seen to a verdict; and sums.
 */
#include "verdict.h"

#include "protocol.h"
#include "self_test.h"

#include <signal.h>
#include <string.h>

/* What waitpid answers. */
#define EXITED(status) ((status) << 8)
#define KILLED(number) (number)

static tbk_outcome_t good(void) {
  tbk_outcome_t outcome = {.ended = true, .done = true, .wait_status = EXITED(TBK_WORKER_EXIT)};
  outcome.report.totals.checks = 3;
  outcome.phase = TBK_PHASE_EXIT;
  return outcome;
}

static tbk_classification_t judged(const tbk_outcome_t* outcome) {
  tbk_classification_t classification;
  tbk_classify(outcome, &classification);
  return classification;
}

static void checks_that_held_are_a_pass(void) {
  tbk_outcome_t outcome = good();
  tbk_classification_t classification = judged(&outcome);
  CU_ASSERT_EQUAL(classification.verdict, TBK_VERDICT_PASS);
  CU_ASSERT_PTR_NULL(classification.blame);
}

static void a_test_without_a_check_is_the_fault_of_the_suite(void) {
  tbk_outcome_t outcome = good();
  outcome.report.totals.checks = 0;
  tbk_classification_t classification = judged(&outcome);
  CU_ASSERT_EQUAL(classification.verdict, TBK_VERDICT_SUITE_ERROR);
  CU_ASSERT_STRING_EQUAL(classification.blame, "suite");
}

static void nothing_shown_is_not_a_pass(void) {
  tbk_outcome_t outcome = good();
  outcome.report.evidence = TBK_NOT_SHOWN;
  CU_ASSERT_EQUAL(judged(&outcome).verdict, TBK_VERDICT_NOT_SHOWN);
  outcome.report.totals.checks = 0; /* it said why there was nothing to check */
  CU_ASSERT_EQUAL(judged(&outcome).verdict, TBK_VERDICT_NOT_SHOWN);
}

static void a_failed_check_is_a_failure_whatever_the_evidence(void) {
  tbk_outcome_t outcome = good();
  outcome.report.totals.failures = 1;
  outcome.report.evidence = TBK_NOT_SHOWN;
  outcome.report.failed_phase = TBK_PHASE_CLEAN;
  tbk_classification_t classification = judged(&outcome);
  CU_ASSERT_EQUAL(classification.verdict, TBK_VERDICT_FAIL);
  CU_ASSERT_EQUAL(classification.phase, TBK_PHASE_CLEAN);
}

static void a_recommendation_that_is_not_met_is_a_warning(void) {
  tbk_outcome_t outcome = good();
  outcome.report.totals.failures = 1;
  outcome.report.only_should = true;
  outcome.report.failed_phase = TBK_PHASE_BODY;
  CU_ASSERT_EQUAL(judged(&outcome).verdict, TBK_VERDICT_WARNING);
  CU_ASSERT_FALSE(tbk_verdict_fails(TBK_VERDICT_WARNING));
  outcome.report.failed_phase = TBK_PHASE_CLEAN; /* what it left behind is no recommendation */
  CU_ASSERT_EQUAL(judged(&outcome).verdict, TBK_VERDICT_FAIL);
}

static void what_the_suite_lacks_is_its_own_error(void) {
  tbk_outcome_t outcome = good();
  outcome.report.totals.failures = outcome.report.totals.suite_faults = 1;
  tbk_classification_t classification = judged(&outcome);
  CU_ASSERT_EQUAL(classification.verdict, TBK_VERDICT_SUITE_ERROR);
  CU_ASSERT_STRING_EQUAL(classification.blame, "suite");
}

static void a_line_that_moves_does_not_change_the_cause(void) {
  tbk_outcome_t outcome = good();
  outcome.report.totals.failures = 1;
  strcpy(outcome.report.totals.where, "memory_test.c:33");
  strcpy(outcome.report.totals.what, "alloc");
  strcpy(outcome.report.totals.seen, "FAILED: at 0x1234");
  tbk_classification_t before = judged(&outcome);
  strcpy(outcome.report.totals.where, "memory_test.c:34");
  strcpy(outcome.report.totals.seen, "FAILED: at 0x5678");
  tbk_classification_t after = judged(&outcome);
  CU_ASSERT_STRING_EQUAL(before.cause, after.cause);
  CU_ASSERT_STRING_EQUAL(before.cause, "fail/memory_test.c/alloc/FAILED");
}

/* Whatever a process said before: if it did not end as it should, it did not pass. */
static void no_other_end_of_the_process_is_a_pass(void) {
  static const struct {
    int wait_status;
    tbk_end_t end;
    tbk_verdict_t verdict;
  } table[] = {{EXITED(0), TBK_END_ITSELF, TBK_VERDICT_CRASH},
               {EXITED(1), TBK_END_ITSELF, TBK_VERDICT_CRASH},
               {KILLED(SIGSEGV), TBK_END_ITSELF, TBK_VERDICT_CRASH},
               {KILLED(SIGKILL), TBK_END_ITSELF, TBK_VERDICT_CRASH},
               {KILLED(SIGKILL), TBK_END_DEADLINE, TBK_VERDICT_HANG},
               {KILLED(SIGKILL), TBK_END_CUT_SHORT, TBK_VERDICT_NOT_REACHED},
               {KILLED(SIGKILL), TBK_END_STOPPED, TBK_VERDICT_HANG},
               {0, TBK_END_LAUNCHER_STOPPED, TBK_VERDICT_HANG},
               {0, TBK_END_UNKILLABLE, TBK_VERDICT_HANG},
               {KILLED(SIGKILL), TBK_END_MEMORY, TBK_VERDICT_CRASH},
               {0, TBK_END_LAUNCHER_DIED, TBK_VERDICT_CRASH},
               {0, TBK_END_NOT_STARTED, TBK_VERDICT_SUITE_ERROR}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    tbk_outcome_t outcome = good();
    outcome.wait_status = table[i].wait_status;
    outcome.end = table[i].end;
    CU_ASSERT_EQUAL(judged(&outcome).verdict, table[i].verdict);
  }
}

static void silence_is_a_crash(void) {
  tbk_outcome_t outcome = good();
  outcome.ended = false;
  CU_ASSERT_EQUAL(judged(&outcome).verdict, TBK_VERDICT_CRASH);
  outcome = good();
  outcome.done = false;
  CU_ASSERT_EQUAL(judged(&outcome).verdict, TBK_VERDICT_CRASH);
}

static void noise_on_the_report_descriptor_is_no_pass(void) {
  tbk_outcome_t outcome = good();
  outcome.noise = 1;
  CU_ASSERT_EQUAL(judged(&outcome).verdict, TBK_VERDICT_FAIL);
  outcome.report.totals.suite_faults = outcome.report.totals.failures = 1;
  CU_ASSERT_EQUAL(judged(&outcome).verdict, TBK_VERDICT_SUITE_ERROR);
  outcome = good();
  outcome.ended = false;
  outcome.unheard = outcome.in_batch = true;
  CU_ASSERT_EQUAL(judged(&outcome).verdict, TBK_VERDICT_CRASH);
}

static void together_the_end_of_the_process_is_not_the_test_s(void) {
  tbk_outcome_t outcome = good();
  outcome.done = false;
  outcome.in_batch = true;
  CU_ASSERT_EQUAL(judged(&outcome).verdict, TBK_VERDICT_PASS);
}

static void what_gave_up_before_loading_is_the_harness_s_fault(void) {
  tbk_outcome_t outcome = {.wait_status = EXITED(TBK_WORKER_NOT_BEGUN), .phase = TBK_PHASE_NONE};
  tbk_classification_t classification = judged(&outcome);
  CU_ASSERT_EQUAL(classification.verdict, TBK_VERDICT_SUITE_ERROR);
  CU_ASSERT_STRING_EQUAL(classification.blame, "harness");
}

static void what_is_not_declared_once_open_is_unsupported(void) {
  tbk_outcome_t outcome = good();
  outcome.report.totals.checks = 0;
  outcome.report.needs_missing = "op:mm";
  tbk_classification_t classification = judged(&outcome);
  CU_ASSERT_EQUAL(classification.verdict, TBK_VERDICT_UNSUPPORTED);
  CU_ASSERT_STRING_EQUAL(classification.needs_missing, "op:mm");
}

static void names_of_verdicts_lead_back(void) {
  for (int i = 0; i < TBK_VERDICT_COUNT; i++)
    CU_ASSERT_EQUAL(tbk_verdict_of(tbk_verdict_name((tbk_verdict_t)i)), i);
  CU_ASSERT_EQUAL(tbk_verdict_of("green"), TBK_VERDICT_COUNT);
}

static void each_failing_verdict_fails_the_run_by_itself(void) {
  for (int i = 0; i < TBK_VERDICT_COUNT; i++) {
    tbk_verdict_t verdict = (tbk_verdict_t)i;
    tbk_ledger_t ledger = {.planned = 3};
    ledger.counts[TBK_VERDICT_PASS] = 2;
    ledger.counts[verdict]++;
    tbk_exit_t expected = tbk_verdict_fails(verdict) ? TBK_EXIT_FINDINGS : TBK_EXIT_PASS;
    if (verdict == TBK_VERDICT_SUITE_ERROR) expected = TBK_EXIT_SUITE;
    CU_ASSERT_EQUAL(tbk_ledger_exit(&ledger), expected);
  }
}

static void an_error_of_the_suite_hides_no_finding(void) {
  tbk_ledger_t ledger = {.planned = 2};
  ledger.counts[TBK_VERDICT_SUITE_ERROR] = ledger.counts[TBK_VERDICT_HANG] = 1;
  CU_ASSERT_EQUAL(tbk_ledger_exit(&ledger), TBK_EXIT_FINDINGS);
}

static void a_ledger_that_does_not_add_up_is_an_error(void) {
  tbk_ledger_t ledger = {.planned = 3};
  ledger.counts[TBK_VERDICT_PASS] = 2;
  CU_ASSERT_EQUAL(tbk_ledger_exit(&ledger), TBK_EXIT_SUITE);
  ledger.counts[TBK_VERDICT_PASS] = 4;
  CU_ASSERT_EQUAL(tbk_ledger_exit(&ledger), TBK_EXIT_SUITE);
}

static void a_run_that_executed_nothing_is_no_pass(void) {
  tbk_ledger_t ledger = {.planned = 3};
  ledger.counts[TBK_VERDICT_UNSUPPORTED] = 3;
  CU_ASSERT_EQUAL(tbk_ledger_exit(&ledger), TBK_EXIT_NOTHING);
}

static void who_changes_limits_of_the_harness_does_not_pass(void) {
  tbk_outcome_t outcome = good();
  outcome.changed_limits = true;
  CU_ASSERT_EQUAL(judged(&outcome).verdict, TBK_VERDICT_FAIL);
  CU_ASSERT_STRING_EQUAL(judged(&outcome).blame, "backend");
  outcome.report.totals.failures = 1; /* what the test found itself says more */
  CU_ASSERT_STRING_NOT_EQUAL(judged(&outcome).cause, "fail/changes-the-harness");
}

static void a_signal_without_a_name_has_its_number(void) {
  tbk_outcome_t outcome = good();
  outcome.ended = outcome.done = false;
  outcome.wait_status = KILLED(SIGRTMIN + 3);
  CU_ASSERT_PTR_NOT_NULL(strstr(judged(&outcome).cause, "/SIGRTMIN+3"));
}

CU_TestInfo tbk_verdict_tests[] = {
    {"checks that held are a pass", checks_that_held_are_a_pass},
    {"no check: suite error", a_test_without_a_check_is_the_fault_of_the_suite},
    {"nothing shown is not a pass", nothing_shown_is_not_a_pass},
    {"a failed check is a failure", a_failed_check_is_a_failure_whatever_the_evidence},
    {"a recommendation", a_recommendation_that_is_not_met_is_a_warning},
    {"the suite lacks something", what_the_suite_lacks_is_its_own_error},
    {"causes are stable", a_line_that_moves_does_not_change_the_cause},
    {"no other end is a pass", no_other_end_of_the_process_is_a_pass},
    {"silence is a crash", silence_is_a_crash},
    {"noise", noise_on_the_report_descriptor_is_no_pass},
    {"limits of the harness", who_changes_limits_of_the_harness_does_not_pass},
    {"real-time signals", a_signal_without_a_name_has_its_number},
    {"together", together_the_end_of_the_process_is_not_the_test_s},
    {"blame of the harness", what_gave_up_before_loading_is_the_harness_s_fault},
    {"unsupported once open", what_is_not_declared_once_open_is_unsupported},
    {"names", names_of_verdicts_lead_back},
    {"each failing verdict fails", each_failing_verdict_fails_the_run_by_itself},
    {"suite error beside findings", an_error_of_the_suite_hides_no_finding},
    {"sums", a_ledger_that_does_not_add_up_is_an_error},
    {"nothing executed", a_run_that_executed_nothing_is_no_pass},
    CU_TEST_INFO_NULL};
