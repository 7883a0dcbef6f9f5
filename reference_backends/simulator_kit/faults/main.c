/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * main.c: one process a fault, with a deadline. Arguments: the backend, the driver with a fault before
 * the simulated one, and that one; with --as-is behind them, TBK_<NAME>_SHIM has the only fault, with
 * --older the driver lacks what later ones have, and what is called instead fails, and with --entered the
 * caller has a context of its own. What else stands behind them are options of the simulated driver, one
 * that lacks something say.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../shim/shim.h"
#include "faults.h"

enum { DEADLINE_S = 20 };

/* What a child tells its parent. */
typedef struct report {
  fault_run_t run;
  uint64_t calls[SHIM_FUNCTIONS];
  fault_behind_t behind;
  bool took_place;
  bool ended;
} report_t;

static const char *backend, *shim, *simulator;
static const char* more = ""; /* options of the simulator */
static fault_caller_t caller;
static report_t* report;
static unsigned long checks, failures;

static const char* const symbols[] = {
#define SHIM_ROW(member, symbol, result, parameters) symbol,
    SHIM_MAP
#undef SHIM_ROW
};

void* fault_find(const char* path, const char* symbol) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* address = library != NULL ? dlsym(library, symbol) : NULL;
  if (address == NULL) _Exit(126);
  return address;
}

static void child(const char* fault) {
  char options[4200], simulated[200];
  uint64_t (*calls)(const char*);
  bool (*took_place)(void);
  snprintf(options, sizeof options, "driver=%s", shim);
  if (fault != NULL) setenv("TBK_" SHIM_NAME "_SHIM", fault, 1);
  snprintf(simulated, sizeof simulated, "report=answer%s%s", more[0] != '\0' ? "," : "", more);
  setenv("TBK_" SHIM_NAME "_SIMULATOR", simulated, 1);
#ifdef SHIM_ENVIRONMENT
  (void)SHIM_ENVIRONMENT(simulator);
#endif
  alarm(DEADLINE_S);
  if (caller.is_entered) fault_enter(simulator);
  fault_scenario(backend, options, caller, &report->run);
  FAULT_FIND(shim, "tbk_shim_calls", calls);
  for (size_t i = 0; i < SHIM_FUNCTIONS; i++)
    report->calls[i] = calls(symbols[i]);
  FAULT_FIND(shim, "tbk_shim_took_place", took_place);
  report->took_place = took_place();
  fault_look_behind(simulator, &report->behind);
  report->ended = true;
  fflush(NULL);
  exit(0); /* where a sanitizer looks for leaks */
}

static void expect(bool held, const char* fault, const char* what) {
  checks++;
  if (held) return;
  failures++;
  printf("%-44s %s\n", fault ? fault : "", what);
  for (size_t i = 0; i < report->run.count; i++) {
    const fault_step_t* step = &report->run.steps[i];
    if (step->status != TBK_OK) printf("    %s: %d\n", step->call, (int)step->status);
  }
}

/* Runs the scenario with a fault; false where its process did not come to its end. */
static bool run_with(const char* fault) {
  int status = -1;
  memset(report, 0, sizeof *report);
  fflush(NULL);
  pid_t process = fork();
  if (process == 0) child(fault);
  bool ended = waitpid(process, &status, 0) == process && WIFEXITED(status) &&
               WEXITSTATUS(status) == 0 && report->ended;
  const char* how = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "hangs" : "dies";
  expect(ended, fault, how);
  return ended;
}

static void check_answers(const char* fault, const fault_row_t* row, int code) {
  const fault_run_t* run = &report->run;
  bool fit = true, told = true, any = false;
  for (size_t i = 0; i < run->count; i++) {
    if (run->steps[i].status == TBK_OK) continue;
    told = told && run->steps[i].told;
    fit =
        fit && (any || fault_fits(row->symbol, code,
                                  run->steps[i].status)); /* what comes later may follow from it */
    any = true;
  }
  expect(told, fault, "an error without a message");
  expect(fit, fault, "another code than the error has");
  /* Where a device lacks something, what is in need may find another way. */
  const bool silent =
      row->silent || (more[0] != '\0' && fault_fits(row->symbol, code, TBK_OUT_OF_MEMORY));
  expect(any || run->warned || silent, fault, "nobody is told");
}

static void check_fault(const fault_row_t* row, uint64_t at, int code) {
  char fault[96];
  snprintf(fault, sizeof fault, "fail:%s:%llu:%d", row->symbol, (unsigned long long)at, code);
  if (!run_with(fault)) return;
  expect(report->took_place, fault, "did not take place");
  check_answers(fault, row, code);
  const char* left = fault_left(&report->behind, row->symbol, code);
  expect(left == NULL, fault, left);
}

static void check_row(const fault_row_t* row, uint64_t calls) {
  expect(calls > 0 || more[0] != '\0', row->symbol, "is never called");
  if (calls > 1 && fault_polled != NULL && strcmp(row->symbol, fault_polled) == 0) calls = 1;
  for (uint64_t at = 1; at <= calls; at++)
    for (size_t i = 0; row->codes[i] != 0; i++)
      check_fault(row, at, row->codes[i]);
}

/* What must hold where nothing fails; the fault is one of the backend then, and none of the driver. */
static void check_whole(const char* fault) {
  for (size_t i = 0; i < report->run.count; i++)
    expect(report->run.steps[i].status == TBK_OK, fault, report->run.steps[i].call);
  const char* left = fault_left(&report->behind, "", 0);
  expect(left == NULL, fault, left);
}

static size_t index_of(const char* symbol) {
  for (size_t i = 0; i < SHIM_FUNCTIONS; i++)
    if (strcmp(symbols[i], symbol) == 0) return i;
  return SHIM_FUNCTIONS;
}

/* Goes through the rows; where they are all, there is one for each function that is called. */
static void check_rows(const fault_row_t* rows, size_t count, bool are_all) {
  uint64_t calls[SHIM_FUNCTIONS];
  bool listed[SHIM_FUNCTIONS] = {false};
  memcpy(calls, report->calls, sizeof calls);
  for (size_t i = 0; i < count; i++) {
    size_t index = index_of(rows[i].symbol);
    expect(index < SHIM_FUNCTIONS, rows[i].symbol, "is not in the map");
    if (index < SHIM_FUNCTIONS) check_row(&rows[i], calls[index]);
    if (index < SHIM_FUNCTIONS) listed[index] = true;
  }
  for (size_t i = 0; i < SHIM_FUNCTIONS && are_all; i++)
    expect(calls[i] == 0 || listed[i], symbols[i], "is called, and no fault of it is listed");
}

/* With the fault that the environment names, for callers without a context and with one. */
static bool check_as_is(void) {
  for (int i = 0; i < 2 && failures == 0; i++) {
    caller = (fault_caller_t){.is_entered = i == 1, .is_refused = true};
    if (run_with(NULL)) check_whole(getenv("TBK_" SHIM_NAME "_SHIM"));
  }
  return failures == 0;
}

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return EXIT_FAILURE;
  const char* word = argc == 5 ? argv[4] : "";
  const bool as_is = strcmp(word, "--as-is") == 0, is_older = strcmp(word, "--older") == 0;
  caller.is_entered = strcmp(word, "--entered") == 0;
  if (word[0] != '-') more = word;
  backend = argv[1], shim = argv[2], simulator = argv[3];
  report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (report == MAP_FAILED) return EXIT_FAILURE;
  if (as_is) return check_as_is() ? EXIT_SUCCESS : EXIT_FAILURE;
  if (!run_with("")) return EXIT_FAILURE;
  check_whole("no fault");
  if (is_older) check_rows(fault_older_rows, fault_older_row_count, false);
  if (!is_older) check_rows(fault_rows, fault_row_count, true);
  printf("%lu checks, %lu failures\n", checks, failures);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
