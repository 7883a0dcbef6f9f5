/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * child.c: see child.h. Nothing here survives a crash; that is the launcher's and the supervisor's
 * business.
 */
#include "child.h"

#include "child_preflight.h"
#include "child_report.h"
#include "clock.h"
#include "protocol.h"
#include "resources.h"
#include "sweep.h"
#include "text.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In a process that runs many tests the device is asked this often whether it still computes. */
static const uint64_t health_every_ns = UINT64_C(10000000);

static struct {
  const tbk_options_t* options;
  const tbk_run_plan_t* plan;
} inherited;

static struct {
  tbk_cell_t* cell;
  tbk_session_t session;
} self;

bool tbk_child_prepare(const tbk_options_t* options, const tbk_run_plan_t* plan) {
  inherited.options = options;
  inherited.plan = plan;
  tbk_patience_ns = options->timeout_ns / 3;
  sweep_choose(options->sweep_case);
  return tbk_cases_register() == 0;
}

/* --------------------------------------------------------------------------------- loading --- */

static void take_facts(const tbk_order_t* order) {
  self.session.gate = (tbk_gate_kind_t)order->gate;
  self.session.wait_blocks = order->wait_blocks;
  self.session.seed = inherited.options->seed;
  if (order->held_known) tbk_needs_assume(&order->held);
}

static tbk_load_result_t load(void) {
  tbk_set_phase(TBK_PHASE_LOAD);
  return tbk_library_open(&self.session.library, inherited.options->path,
                          inherited.options->backend_option_text);
}

/* Gives everything back and leaves as a process does whose main returns. */
static _Noreturn void finish(void) {
  tbk_session_end(&self.session);
  tbk_set_phase(TBK_PHASE_EXIT);
  tbk_child_report_done();
  exit(TBK_WORKER_EXIT);
}

/* ----------------------------------------------------------------------------------- tests --- */

/* Returns what came of the test. */
static const tbk_case_report_t* run_test(uint32_t n, const tbk_item_t* item) {
  static tbk_case_report_t report;
  self.cell->position = (int32_t)n;
  tbk_child_report_count(n + 1);
  tbk_case_run(&self.session, inherited.plan->tests[item->test].case_index, &report);
  tbk_set_phase(TBK_PHASE_CLEAN);
  (void)fflush(NULL);
  tbk_protocol_write_end(tbk_child_report_begin_line(), n, &report);
  tbk_child_report_send_line();
  return &report;
}

/* A library that loaded for the preflight and does not load now fails the test, in its own words. */
static void report_load_failure(uint32_t n) {
  static tbk_case_report_t report;
  tbk_check_totals_t* totals = &report.totals;
  totals->checks = totals->failures = 1;
  tbk_child_report_count(n + 1);
  report.failed_phase = TBK_PHASE_LOAD;
  tbk_print(totals->what, sizeof totals->what, "dlopen");
  tbk_print(totals->expected, sizeof totals->expected, "the library loads each time");
  tbk_print(totals->seen, sizeof totals->seen, "%s", self.session.library.reason);
  tbk_protocol_write_end(tbk_child_report_begin_line(), n, &report);
  tbk_child_report_send_line();
}

static _Noreturn void leave_failed(void) {
  /* What a failed test left behind may hang when it is given back; the verdict is known already. */
  tbk_child_report_done();
  (void)fflush(NULL);
  _exit(TBK_WORKER_EXIT);
}

static void run_tests(const tbk_order_t* order) {
  const tbk_item_t* items = inherited.plan->items;
  uint64_t probed_ns = tbk_now_ns();
  bool failed = false;
  for (uint32_t n = 0; n < order->count; n++) {
    const tbk_case_report_t* report = run_test(n, &items[order->items[n]]);
    failed = report->totals.failures > 0;
    if (report->device_held) leave_failed();
    bool last = n + 1 == order->count;
    if (!order->watch_health || (!last && tbk_now_ns() - probed_ns < health_every_ns)) continue;
    if (!tbk_child_say_health(&self.session)) leave_failed();
    probed_ns = tbk_now_ns();
  }
  if (failed) leave_failed();
}

/* ------------------------------------------------------------------------------------------- */

/*
 * Walks the way of every test as far as it can be walked without the library, so that the pages on it
 * are there when the order comes. The loader looks whether it has the library, and maps nothing.
 */
static void get_ready(void) {
  struct stat file;
  tbk_crash_stack_install();
  if (stat(inherited.options->path, &file) == 0 && S_ISREG(file.st_mode) &&
      dlopen(inherited.options->path, RTLD_NOW | RTLD_NOLOAD) == NULL)
    (void)dlerror();
  (void)tbk_count_threads();
  (void)fflush(NULL);
  (void)tbk_child_report_begin_line();
  tbk_checks_begin();
}

/* In a test of loading and the entry alone, what detached itself from the library is still its own. */
static bool counts_processes(const tbk_order_t* order) {
  const unsigned alone = TBK_CASE_RAW | TBK_CASE_FRESH;
  if (order->kind != TBK_ORDER_TESTS || order->count != 1) return false;
  const tbk_test_t* test = &inherited.plan->tests[inherited.plan->items[order->items[0]].test];
  return (test->flags & alone) == alone;
}

static void work(const tbk_order_t* order, tbk_cell_t* cell, int report) {
  self.cell = cell;
  tbk_child_report_open(report, order->key);
  tbk_phase_cell = &cell->phase;
  tbk_trace_cell = &cell->trace;
  tbk_crash_stack_watch(cell->stack);
  take_facts(order);
  if (counts_processes(order)) tbk_adopt_orphans();
  if (load() != TBK_LOAD_OK) {
    if (order->kind != TBK_ORDER_TESTS)
      tbk_child_report_error("library", self.session.library.reason);
    report_load_failure(0);
    leave_failed();
  }
  switch (order->kind) {
    case TBK_ORDER_PREFLIGHT:
      tbk_child_preflight(&self.session, order->argument, inherited.options->open_timeout_ns);
      break;
    case TBK_ORDER_HEALTH:
      (void)tbk_child_say_health(&self.session);
      break;
    default:
      run_tests(order);
      break;
  }
  finish();
}

static const tbk_worker_t worker = {.get_ready = get_ready, .work = work};
const tbk_launchers_t tbk_child_launchers = {.worker = &worker};
