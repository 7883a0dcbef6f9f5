/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * child.c: see child.h. Nothing here survives a crash; that is the launcher's and the supervisor's
 * business. What it says it writes from static memory, in case the heap is damaged.
 */
#include "child.h"
#include "text.h"

#include "clock.h"
#include "protocol.h"
#include "resources.h"
#include "sweep.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
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
  int report;
  pid_t pid;
  uint32_t begun; /* tests */
  struct stat report_identity;
  char mark[TBK_MARK_SIZE + 1];
  tbk_session_t session;
  tbk_json_t json;
  char line[TBK_WORKER_LINE];
} self;

bool tbk_child_prepare(const tbk_options_t* options, const tbk_run_plan_t* plan) {
  inherited.options = options;
  inherited.plan = plan;
  tbk_patience_ns = options->timeout_ns / 3;
  sweep_choose(options->sweep_case);
  return tbk_cases_register() == 0;
}

/* ---------------------------------------------------------------------------------- saying --- */

static void set_phase(tbk_phase_t phase) {
  self.cell->phase = (int32_t)phase;
}

static void begin_line(void) {
  memcpy(self.line, self.mark, TBK_MARK_SIZE);
  tbk_json_begin(&self.json, self.line + TBK_MARK_SIZE, sizeof self.line - TBK_MARK_SIZE);
}

/* A backend that closed the descriptor may have another file there by now. */
static bool report_is_ours(void) {
  struct stat now;
  return fstat(self.report, &now) == 0 && now.st_ino == self.report_identity.st_ino &&
         now.st_dev == self.report_identity.st_dev;
}

static void send_line(void) {
  const size_t whole = TBK_MARK_SIZE + self.json.size;
  size_t sent = 0;
  if (getpid() != self.pid) _exit(EXIT_FAILURE); /* a child that a backend let go on */
  if (self.json.overflow || !report_is_ours()) _exit(TBK_WORKER_NO_REPORT);
  while (sent < whole) {
    ssize_t size = write(self.report, self.line + sent, whole - sent);
    if (size < 0 && errno == EAGAIN) /* a backend may have made it one that does not block */
      (void)poll(&(struct pollfd){.fd = self.report, .events = POLLOUT}, 1, -1);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size < 0) _exit(TBK_WORKER_NO_REPORT);
    sent += (size_t)size;
  }
}

static void begin_said(const char* what) {
  begin_line();
  tbk_json_open(&self.json, NULL, '{');
  tbk_json_text(&self.json, "said", what);
}

static void send_said(void) {
  tbk_json_close(&self.json, '}');
  tbk_json_end_line(&self.json);
  send_line();
}

static void say_done(void) {
  begin_line();
  tbk_protocol_write_done(&self.json, self.begun);
  send_line();
}

static _Noreturn void say_error(const char* stage, const char* reason) {
  begin_said("error");
  tbk_json_text(&self.json, "stage", stage);
  tbk_json_text(&self.json, "reason", reason);
  send_said();
  say_done();
  _exit(TBK_WORKER_EXIT);
}

static bool say_health(void) {
  char reason[256] = "";
  bool sound = tbk_health_probe(&self.session, reason, sizeof reason);
  begin_said("health");
  tbk_json_bool(&self.json, "ok", sound);
  tbk_json_text(&self.json, "reason", reason);
  if (tbk_device_held()) tbk_json_bool(&self.json, "device_held", true);
  send_said();
  return sound;
}

/* --------------------------------------------------------------------------------- loading --- */

static void take_facts(const tbk_order_t* order) {
  self.session.gate = (tbk_gate_kind_t)order->gate;
  self.session.wait_blocks = order->wait_blocks;
  self.session.seed = inherited.options->seed;
  if (order->held_known) tbk_needs_assume(&order->held);
}

static tbk_load_result_t load(void) {
  set_phase(TBK_PHASE_LOAD);
  return tbk_library_open(&self.session.library, inherited.options->path,
                          inherited.options->backend_option_text);
}

/* Gives everything back and leaves as a process does whose main returns. */
static _Noreturn void finish(void) {
  tbk_session_end(&self.session);
  set_phase(TBK_PHASE_EXIT);
  say_done();
  exit(TBK_WORKER_EXIT);
}

/* ----------------------------------------------------------------------------------- tests --- */

/* Returns whether all checks of the test held. */
static bool run_test(uint32_t n, const tbk_item_t* item) {
  static tbk_case_report_t report;
  self.cell->position = (int32_t)n;
  self.begun = n + 1;
  tbk_case_run(&self.session, inherited.plan->tests[item->test].case_index, &report);
  set_phase(TBK_PHASE_CLEAN);
  (void)fflush(NULL);
  begin_line();
  tbk_protocol_write_end(&self.json, n, &report);
  send_line();
  return report.totals.failures == 0;
}

/* A library that loaded for the preflight and does not load now fails the test, in its own words. */
static void report_load_failure(uint32_t n) {
  static tbk_case_report_t report;
  tbk_check_totals_t* totals = &report.totals;
  totals->checks = totals->failures = 1;
  self.begun = n + 1;
  report.failed_phase = TBK_PHASE_LOAD;
  tbk_print(totals->what, sizeof totals->what, "dlopen");
  tbk_print(totals->expected, sizeof totals->expected, "the library loads each time");
  tbk_print(totals->seen, sizeof totals->seen, "%s", self.session.library.reason);
  begin_line();
  tbk_protocol_write_end(&self.json, n, &report);
  send_line();
}

static _Noreturn void leave_failed(void) {
  /* What a failed test left behind may hang when it is given back; the verdict is known already. */
  say_done();
  (void)fflush(NULL);
  _exit(TBK_WORKER_EXIT);
}

static void run_tests(const tbk_order_t* order) {
  const tbk_item_t* items = inherited.plan->items;
  uint64_t probed_ns = tbk_now_ns();
  bool held = true;
  for (uint32_t n = 0; n < order->count; n++) {
    held = run_test(n, &items[order->items[n]]);
    if (tbk_device_held()) leave_failed();
    bool last = n + 1 == order->count;
    if (!order->watch_health || (!last && tbk_now_ns() - probed_ns < health_every_ns)) continue;
    if (!say_health()) leave_failed();
    probed_ns = tbk_now_ns();
  }
  if (!held) leave_failed();
}

/* ------------------------------------------------------------------------------- preflight --- */

static void say_backend(const tbk_backend_t* backend) {
  begin_said("backend");
  tbk_json_bytes(&self.json, "name", backend->name, strnlen(backend->name, 256));
  tbk_json_bytes(&self.json, "version", backend->version, strnlen(backend->version, 256));
  tbk_json_unsigned(&self.json, "abi_version", backend->abi_version);
  send_said();
}

static void say_flags(uint64_t flags) {
#define SAY_FLAG(word, bit) tbk_json_bool(&self.json, word, (flags & (bit)) != 0);
  TBK_DEVICE_FLAG_MAP(SAY_FLAG)
#undef SAY_FLAG
}

static void say_dtypes(uint64_t dtypes) {
  tbk_json_open(&self.json, "dtypes", '[');
#define SAY_DTYPE(name, value, size_bytes) \
  if ((dtypes >> (value)&1) != 0) tbk_json_text(&self.json, NULL, #name);
  TBK_DTYPE_MAP(SAY_DTYPE)
#undef SAY_DTYPE
  tbk_json_close(&self.json, ']');
}

static void say_device(const tbk_device_properties_t* properties) {
  begin_said("device");
  tbk_json_bytes(&self.json, "name", properties->name ? properties->name : "",
                 properties->name ? strnlen(properties->name, 256) : 0);
  if (properties->driver != NULL)
    tbk_json_bytes(&self.json, "driver", properties->driver, strnlen(properties->driver, 1024));
  say_flags(properties->flags);
  tbk_json_unsigned(&self.json, "memory_bytes", properties->memory_bytes);
  tbk_json_unsigned(&self.json, "max_allocation_bytes", properties->max_allocation_bytes);
  tbk_json_unsigned(&self.json, "memory_alignment", properties->memory_alignment);
  tbk_json_unsigned(&self.json, "copy_granularity", properties->copy_granularity);
  say_dtypes(properties->dtypes);
  tbk_json_signed(&self.json, "max_rank", properties->max_rank);
  tbk_json_signed(&self.json, "priority_least", properties->priority_least);
  tbk_json_signed(&self.json, "priority_greatest", properties->priority_greatest);
  send_said();
}

/* An interface that answers with a number has its log for the reason. */
static _Noreturn void say_no_device(void) {
  char reason[512];
  const char* warning = tbk_library_warning();
  tbk_print(reason, sizeof reason, "the library counts no device%s%s", *warning ? ": " : "",
            warning);
  say_error("device", reason);
}

/* Describes at most 16 devices: the others count. */
static void say_devices(const tbk_backend_t* backend) {
  tbk_error_t error = {""};
  int32_t count = 0;
  if (backend->core->device_count(backend->instance, &count, &error) != TBK_OK)
    say_error("device", "device_count fails");
  if (count < 1) say_no_device();
  for (int32_t device = 0; device < count && device < 16; device++) {
    tbk_device_properties_t properties = {.struct_size = sizeof properties};
    if (backend->core->device_properties(backend->instance, device, &properties, &error) == TBK_OK)
      say_device(&properties);
  }
}

/* In lines of their own: one that is too long is lost alone. */
static void say_unverified(void) {
  const char* sentence;
  for (size_t i = 0; (sentence = tbk_library_unverified(i)) != NULL; i++) {
    begin_said("unverified");
    tbk_json_bytes(&self.json, "text", sentence, strlen(sentence));
    send_said();
  }
}

static void say_need(size_t index, const tbk_need_set_t* held) {
  tbk_json_bool(&self.json, tbk_need_word(index), tbk_need_set_has(held, index));
}

static void say_needs(const tbk_need_set_t* held) {
  begin_said("capabilities");
  tbk_json_open(&self.json, "held", '{');
  for (size_t i = 0; i < TBK_NEED_COUNT; i++)
    say_need(i, held);
  tbk_json_close(&self.json, '}');
  send_said();
}

static tbk_need_set_t declared(const tbk_backend_t* backend) {
  tbk_need_set_t held = {{0}};
  for (size_t i = 0; i < TBK_NEED_COUNT; i++)
    if (tbk_needs_missing(backend, tbk_need_word(i)) == NULL) tbk_need_set_add(&held, i);
  return held;
}

/* Gives up while there is time left to say so: at its deadline the process is killed. */
static tbk_status_t open_device(tbk_error_t* error) {
  const uint64_t until = tbk_now_ns() + inherited.options->open_timeout_ns / 4 * 3;
  tbk_status_t status;
  unsigned pause_ms = 1;
  while ((status = tbk_session_open(&self.session, error)) == TBK_UNAVAILABLE &&
         tbk_now_ns() < until) {
    (void)usleep(pause_ms * 1000); /* another process has it; it may let go */
    pause_ms = pause_ms < 250 ? 2 * pause_ms : 250;
  }
  return status;
}

static void say_opened(void) {
  char reason[512];
  tbk_error_t error = {""};
  set_phase(TBK_PHASE_OPEN);
  uint64_t started = tbk_now_ns();
  tbk_status_t status = open_device(&error);
  uint64_t took = tbk_now_ns() - started;
  if (status != TBK_OK) {
    tbk_print(reason, sizeof reason, "device 0 cannot be opened: %s%s%.255s",
              tbk_status_name(status), error.message[0] ? ": " : "", error.message);
    say_error("device", reason);
  }
  begin_said("opened");
  tbk_json_unsigned(&self.json, "duration_ns", took);
  send_said();
}

static void say_probe(void) {
  char reason[512] = "";
  tbk_need_set_t held = {{0}};
  if (!tbk_session_probe(&self.session, &held, reason, sizeof reason)) say_error("device", reason);
  say_needs(&held);
  begin_said("gate");
  tbk_json_unsigned(&self.json, "kind", (uint64_t)self.session.gate);
  tbk_json_signed(&self.json, "wait_blocks", self.session.wait_blocks);
  send_said();
}

static void run_preflight(uint32_t skip) {
  set_phase(TBK_PHASE_CREATE);
  if (tbk_library_create(&self.session.library) != TBK_LOAD_OK)
    say_error("library", self.session.library.reason);
  const tbk_backend_t* backend = self.session.library.backend;
  say_backend(backend);
  say_devices(backend);
  say_unverified();
  const tbk_need_set_t held = declared(backend);
  say_needs(&held);
  say_opened();
  set_phase(TBK_PHASE_BODY);
  if ((skip & TBK_SKIP_PROBE) == 0) say_probe();
  if ((skip & TBK_SKIP_HEALTH) == 0) (void)say_health();
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
  begin_line();
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
  self.report = report;
  self.pid = getpid();
  tbk_protocol_mark(self.mark, order->key);
  (void)fstat(report, &self.report_identity);
  tbk_phase_cell = &cell->phase;
  tbk_trace_cell = &cell->trace;
  tbk_crash_stack_watch(cell->stack);
  take_facts(order);
  if (counts_processes(order)) tbk_adopt_orphans();
  if (load() != TBK_LOAD_OK) {
    if (order->kind != TBK_ORDER_TESTS) say_error("library", self.session.library.reason);
    report_load_failure(0);
    leave_failed();
  }
  switch (order->kind) {
    case TBK_ORDER_PREFLIGHT:
      run_preflight(order->argument);
      break;
    case TBK_ORDER_HEALTH:
      (void)say_health();
      break;
    default:
      run_tests(order);
      break;
  }
  finish();
}

static const tbk_worker_t worker = {.get_ready = get_ready, .work = work};
const tbk_launchers_t tbk_child_launchers = {.worker = &worker};
