/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk-cunit: the contract tests in one process, for gdb and valgrind. Rows that need a process in
 * which nothing was opened run first, each in a child, unless one row alone is selected.
 */
#include "contract.h"
#include "sweep.h"

#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  SELECTIONS_MAX = 64,
  OPTION_OPTION = 256,
  OPTION_ONLY,
  OPTION_WITHOUT,
  OPTION_LIST,
  OPTION_SEED,
  OPTION_CASE
};

struct settings {
  const char* library;
  char options[4096];
  const char* only[SELECTIONS_MAX];
  size_t only_count;
  const char* without; /* how the names of suites begin that are left out; or NULL */
  bool list;
  uint64_t seed;
};

static struct settings settings;

static struct {
  unsigned ran, passed, failed, unsupported, suites;
  uint64_t checks, failures;
} sums;

static error_t parse(int key, char* argument, struct argp_state* state) {
  size_t used = strlen(settings.options);
  switch (key) {
    case OPTION_OPTION:
      snprintf(settings.options + used, sizeof settings.options - used, "%s%s", used > 0 ? "," : "",
               argument);
      return 0;
    case OPTION_ONLY:
      if (settings.only_count == SELECTIONS_MAX) argp_error(state, "too many --only");
      settings.only[settings.only_count++] = argument;
      return 0;
    case OPTION_WITHOUT:
      settings.without = argument;
      return 0;
    case OPTION_LIST:
      settings.list = true;
      return 0;
    case OPTION_SEED:
      settings.seed = strtoull(argument, NULL, 0);
      return 0;
    case OPTION_CASE:
      sweep_choose(argument);
      return 0;
    case ARGP_KEY_ARG:
      if (settings.library != NULL) argp_error(state, "one library, please");
      settings.library = argument;
      return 0;
    case ARGP_KEY_END:
      if (settings.library == NULL && !settings.list) argp_error(state, "which library?");
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"option", OPTION_OPTION, "KEY=VALUE", 0, "an option for the backend; repeatable", 0},
    {"only", OPTION_ONLY, "SUITE/TEST|SUITE|CLAUSE", 0, "run these rows; repeatable", 0},
    {"without", OPTION_WITHOUT, "PREFIX", 0, "leave out suites whose names begin so", 0},
    {"list", OPTION_LIST, NULL, 0, "list the rows and run nothing", 0},
    {"seed", OPTION_SEED, "N", 0, "seed of the run", 0},
    {"case", OPTION_CASE, "LINE", 0, "of a sweep, run the case of this line alone", 0},
    {0},
};
static const struct argp arguments = {
    options, parse, "LIBRARY", "Run the contract tests against LIBRARY in one process.", 0, 0, 0};

static bool matches(size_t index, const char* selection) {
  const char* suite = tbk_case_suite(index)->name;
  const tbk_case_t* row = tbk_case_at(index);
  size_t length = strlen(suite);
  if (strcmp(selection, suite) == 0 || strcmp(selection, row->clause) == 0) return true;
  return strncmp(selection, suite, length) == 0 && selection[length] == '/' &&
         strcmp(selection + length + 1, row->name) == 0;
}

/* Without a selection what takes seconds is left to tbk-run --tier thorough. */
static bool selected(size_t index) {
  const char *suite = tbk_case_suite(index)->name, *without = settings.without;
  if (without != NULL && strncmp(suite, without, strlen(without)) == 0) return false;
  for (size_t i = 0; i < settings.only_count; i++) {
    if (matches(index, settings.only[i])) return true;
  }
  return settings.only_count == 0 && (tbk_case_at(index)->flags & TBK_CASE_THOROUGH) == 0;
}

static void print_failure(const tbk_case_report_t* report) {
  const tbk_check_totals_t* totals = &report->totals;
  if (totals->failures == 0) {
    printf("    1. the test made no check\n");
    return;
  }
  printf("    1. %s  - %s\n       expected %s\n       seen     %s\n", totals->where, totals->what,
         totals->expected, totals->seen);
  if (totals->failures > 1) {
    printf("       and %llu more\n", (unsigned long long)totals->failures - 1);
  }
}

static void print_outcome(size_t index, const tbk_case_report_t* report) {
  const tbk_case_t* row = tbk_case_at(index);
  bool passed = report->totals.failures == 0 && report->totals.checks > 0;
  sums.checks += report->totals.checks;
  sums.failures += report->totals.failures;
  if (report->needs_missing != NULL) {
    sums.unsupported++;
    printf("  Test: %s [%s] ...unsupported (%s)\n", row->name, row->clause, report->needs_missing);
    return;
  }
  static const char* const evidence[] = {"", ", holds trivially", ", not shown"};
  sums.ran++;
  *(passed ? &sums.passed : &sums.failed) += 1;
  printf("  Test: %s [%s] ...%s%s\n", row->name, row->clause, passed ? "passed" : "FAILED",
         passed ? evidence[report->evidence] : "");
  if (!passed) print_failure(report);
  if (report->notes[0] != '\0') printf("    note: %s\n", report->notes);
}

/* False, with the reason printed, when there is nothing to test with. */
static bool load(tbk_session_t* session) {
  session->seed = settings.seed;
  tbk_load_result_t result =
      tbk_library_open(&session->library, settings.library, settings.options);
  if (result == TBK_LOAD_OK) result = tbk_library_create(&session->library);
  if (result != TBK_LOAD_OK) fprintf(stderr, "tbk-cunit: %s\n", session->library.reason);
  return result == TBK_LOAD_OK;
}

/* In a process of its own, because this one must stay fresh. The reason is printed there. */
static bool can_be_loaded(void) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    tbk_session_t session = {0};
    _exit(load(&session) ? 0 : 1);
  }
  int status = 1;
  if (child > 0) waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    fprintf(stderr, "tbk-cunit: %s: loading it ends in signal %d\n", settings.library,
            WTERMSIG(status));
  }
  return status == 0;
}

static void run(tbk_session_t* session, size_t index, tbk_case_report_t* out_report) {
  const char* missing = tbk_needs_missing(session->library.backend, tbk_case_at(index)->needs);
  if (missing == NULL) {
    tbk_case_run(session, index, out_report);
    if (session->library.backend == NULL) tbk_library_create(&session->library);
    return;
  }
  memset(out_report, 0, sizeof *out_report);
  out_report->needs_missing = missing;
}

static void run_in_child(size_t index, tbk_case_report_t* out_report) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    tbk_session_t session = {0};
    if (!load(&session)) _exit(1);
    run(&session, index, out_report);
    _exit(write(ends[1], out_report, sizeof *out_report) != (ssize_t)sizeof *out_report);
  }
  close(ends[1]);
  bool whole =
      child > 0 && read(ends[0], out_report, sizeof *out_report) == (ssize_t)sizeof *out_report;
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  close(ends[0]);
  if (whole) return;
  memset(out_report, 0, sizeof *out_report);
  out_report->totals.failures = 1;
  snprintf(out_report->totals.seen, sizeof out_report->totals.seen,
           "its process ended early, wait status 0x%x", (unsigned)status);
}

static void run_all(bool fresh, bool children) {
  tbk_session_t session = {0};
  if (!children && !load(&session)) exit(1);
  const tbk_suite_t* suite = NULL;
  for (size_t i = 0; i < tbk_case_count(); i++) {
    tbk_case_report_t report;
    if (!selected(i) || ((tbk_case_at(i)->flags & TBK_CASE_FRESH) != 0) != fresh) continue;
    if (tbk_case_suite(i) != suite) {
      suite = tbk_case_suite(i);
      sums.suites += 1;
      printf("\nSuite: %s%s\n", suite->name, children ? " (each test in a fresh process)" : "");
    }
    if (children) {
      run_in_child(i, &report);
    } else {
      run(&session, i, &report);
    }
    print_outcome(i, &report);
    fflush(stdout);
  }
  tbk_session_end(&session);
}

static void print_summary(void) {
  printf("\nRun Summary:    Type  Total    Ran Passed Failed Unsupported\n");
  printf("              suites %6u %6u    n/a    n/a         n/a\n", sums.suites, sums.suites);
  printf("               tests %6u %6u %6u %6u %11u\n", sums.ran + sums.unsupported, sums.ran,
         sums.passed, sums.failed, sums.unsupported);
  printf("             asserts %6llu %6llu %6llu %6llu         n/a\n",
         (unsigned long long)sums.checks, (unsigned long long)sums.checks,
         (unsigned long long)(sums.checks - sums.failures), (unsigned long long)sums.failures);
}

static pid_t judging; /* 0: the verdict is out */

/* A backend that calls exit() must not make a success of tests that did not run. */
static void insist_on_the_summary(void) {
  if (judging == 0 || judging != getpid()) return;
  fprintf(stderr, "tbk-cunit: the process ended before its last test did\n");
  fflush(NULL);
  _exit(1);
}

static void list(void) {
  for (size_t i = 0; i < tbk_case_count(); i++) {
    const tbk_case_t* row = tbk_case_at(i);
    if (!selected(i)) continue;
    printf("%s/%s\t%s\t%s\n", tbk_case_suite(i)->name, row->name, row->clause,
           row->needs != NULL ? row->needs : "");
  }
}

int main(int count, char** values) {
  argp_err_exit_status = 2;
  argp_parse(&arguments, count, values, 0, NULL, &settings);
  if (settings.list) {
    list();
    return 0;
  }
  size_t chosen = 0, fresh = 0;
  for (size_t i = 0; i < tbk_case_count(); i++) {
    if (!selected(i)) continue;
    chosen++;
    fresh += (tbk_case_at(i)->flags & TBK_CASE_FRESH) != 0;
  }
  if (chosen == 0 || tbk_cases_register() != 0) {
    fprintf(stderr, "tbk-cunit: nothing is selected\n");
    return 3;
  }
  (void)signal(SIGCHLD, SIG_DFL); /* where it is ignored, no end of a process is told */
  if (!can_be_loaded()) return 4;
  judging = getpid();
  if (atexit(insist_on_the_summary) != 0) return 1;
  if (fresh > 0) run_all(true, chosen > 1);
  if (chosen > fresh) run_all(false, false);
  print_summary();
  judging = 0;
  return sums.failed > 0 || sums.ran == 0;
}
