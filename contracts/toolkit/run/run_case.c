/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One case, through CUnit. All rows share one test function, which learns from `current` what to
 * do; CUnit's fatal assertions come back to it, and its tear-down gives back what the case made.
 */
#include "races.h"
#include "resources.h"

#include <stdlib.h>
#include <string.h>

#include <CUnit/CUnit.h>
#include <CUnit/TestDB.h>
#include <CUnit/TestRun.h>

struct registered {
  CU_pSuite suite;
  CU_pTest test;
};
static struct registered* registered;

static struct {
  tbk_session_t* session;
  const tbk_case_t* row;
  tbk_case_report_t* report;
  tbk_fixture_t fx;
  uint64_t body_began;
} current;

/* FNV-1a over the run's seed and the test's id, so that a case has the same seed whatever runs beside it. */
static uint64_t case_seed(uint64_t seed, const char* suite, const char* name) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ seed;
  const char* const parts[] = {suite, "/", name};
  for (int i = 0; i < 3; i++) {
    for (const char* c = parts[i]; *c != '\0'; c++) {
      hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    }
  }
  return hash;
}

static bool set_up_create(tbk_session_t* session) {
  if (tbk_session_create(session)) return true;
  tbk_record_failure(TBK_HERE(TBK_ENTRY_SYMBOL), "a backend", "%s", session->library.reason);
  return false;
}

static bool set_up_device(tbk_fixture_t* fx, tbk_session_t* session, unsigned flags) {
  bool wants_closed = (flags & (TBK_CASE_CLOSED | TBK_CASE_RAW)) != 0;
  if (wants_closed == !session->device_open) {
    if (!wants_closed) tbk_fixture_opened(fx, session);
    return true;
  }
  tbk_set_phase(wants_closed ? TBK_PHASE_CLOSE : TBK_PHASE_OPEN);
  tbk_status_t status =
      wants_closed ? tbk_session_close(session, &fx->error) : tbk_session_open(session, &fx->error);
  if (!wants_closed && status == TBK_OK) tbk_fixture_opened(fx, session);
  if (status == TBK_OK) return true;
  tbk_here_t here = wants_closed ? TBK_HERE("device_close") : TBK_HERE("device_open");
  return tbk_check_status(TBK_OK, status, &fx->error, here);
}

/* False when the body must not run. */
static bool set_up(tbk_fixture_t* fx) {
  tbk_session_t* session = current.session;
  unsigned flags = current.row->flags;
  if ((flags & TBK_CASE_FRESH) != 0 && session->device_open) tbk_session_end(session);
  if ((flags & TBK_CASE_RAW) == 0 && !set_up_create(session)) return false;
  if (!set_up_device(fx, session, flags)) return false;
  tbk_fixture_fill(fx, session, flags);
  if ((flags & (TBK_CASE_CLOSED | TBK_CASE_RAW)) == 0 && current.row->needs != NULL) {
    current.report->needs_missing = tbk_needs_missing_open(fx, current.row->needs);
  }
  return current.report->needs_missing == NULL;
}

static void trampoline(void) {
  tbk_fixture_t* fx = &current.fx;
  if (!set_up(fx)) return;
  tbk_set_phase(TBK_PHASE_BODY);
  current.body_began = fx_now_ns();
  current.row->run(fx);
}

static void close_session(tbk_fixture_t* fx) {
  tbk_session_t* session = current.session;
  if ((current.row->flags & TBK_CASE_CLOSED) != 0 && session->device_open) {
    tbk_status_t status = tbk_session_close(session, &fx->error);
    if (!fx->resources->tolerant) {
      if (status != TBK_OK) {
        tbk_check_status(TBK_OK, status, &fx->error, TBK_HERE("device_close"));
      }
    }
  }
  bool spent = (current.row->flags & TBK_CASE_FRESH) != 0 || fx->resources->tolerant;
  if (spent) tbk_session_end(session);
}

static void tear_down(void) {
  tbk_fixture_t* fx = &current.fx;
  tbk_case_report_t* report = current.report;
  if (current.body_began != 0) report->duration_ns = fx_now_ns() - current.body_began;
  tbk_check_totals_t body;
  tbk_checks_end(&body);
  tbk_set_phase(TBK_PHASE_CLEAN);
  tbk_resources_clean(fx);
  close_session(fx);
  tbk_races_check();
  tbk_checks_end(&report->totals);
  report->totals.checks = body.checks;
  report->failed_phase = (tbk_phase_t)tbk_checks_failed_phase();
  tbk_set_phase(TBK_PHASE_NONE);
  if (report->totals.failures > 0) {
    CU_assertImplementation(CU_FALSE, 0, report->totals.what, report->totals.where, "", CU_FALSE);
  }
}

/* A suite of CUnit for each of ours, made when the first of its rows comes by. */
static CU_pSuite suite_named(const char* name) {
  CU_pSuite suite = CU_get_suite_by_name(name, CU_get_registry());
  if (suite != NULL) return suite;
  return CU_add_suite_with_setup_and_teardown(name, NULL, NULL, NULL, tear_down);
}

int tbk_cases_register(void) {
  if (registered != NULL) return CUE_SUCCESS;
  CU_ErrorCode code = CU_initialize_registry();
  if (code != CUE_SUCCESS) return (int)code;
  CU_set_error_action(CUEA_IGNORE);
  registered = calloc(tbk_case_count() + 1, sizeof *registered);
  if (registered == NULL) return CUE_NOMEMORY;
  for (size_t i = 0; i < tbk_case_count(); i++) {
    CU_pSuite suite = suite_named(tbk_case_suite(i)->name);
    if (suite == NULL) return (int)CU_get_error();
    registered[i] =
        (struct registered){suite, CU_add_test(suite, tbk_case_at(i)->name, trampoline)};
    if (registered[i].test == NULL) return (int)CU_get_error();
  }
  return CUE_SUCCESS;
}

static bool is_only_should(const tbk_case_t* row) {
  const tbk_clause_t* clause = tbk_clause_find(row->clause);
  return clause != NULL && strcmp(clause->level, "should") == 0;
}

void tbk_case_run(tbk_session_t* session, size_t index, tbk_case_report_t* out_report) {
  const tbk_case_t* row = tbk_case_at(index);
  memset(out_report, 0, sizeof *out_report);
  memset(&current.fx, 0, sizeof current.fx);
  current.session = session;
  current.row = row;
  current.report = out_report;
  current.body_began = 0;
  tbk_device_forget_held();
  current.fx.seed = case_seed(session->seed, tbk_case_suite(index)->name, row->name);
  tbk_trace_reset();
  tbk_races_begin();
  tbk_checks_begin();
  tbk_resources_begin(&current.fx, session, row);
  CU_ErrorCode code = CU_run_test(registered[index].suite, registered[index].test);
  tbk_resources_t* resources = current.fx.resources;
  out_report->evidence = resources->evidence;
  out_report->gates = resources->by_gates;
  memcpy(out_report->evidence_reason, resources->evidence_reason,
         sizeof resources->evidence_reason);
  memcpy(out_report->notes, resources->notes, sizeof resources->notes);
  tbk_trace_text(tbk_trace_cell->called, out_report->calls);
  tbk_trace_text(tbk_trace_cell->states, out_report->states);
  out_report->only_should = is_only_should(row);
  out_report->device_held = tbk_device_held() && out_report->totals.failures > 0;
  if (code != CUE_SUCCESS && out_report->totals.failures == 0) {
    out_report->totals.checks = 0;
    out_report->evidence = TBK_PROVEN; /* what it stated is not believed */
  }
}
