/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * summary.c: see summary.h. Whatever a backend says is made harmless here.
 */
#include "summary.h"

#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tbk_complain(const char* format, ...) {
  char text[2048], safe[2048];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  tbk_text_for_terminal(safe, sizeof safe, text);
  (void)fprintf(stderr, "tbk-run: %s\n", safe);
}

static void print_line(const char* label, const char* text) {
  char safe[2200];
  if (text[0] == '\0') return;
  tbk_text_for_terminal(safe, sizeof safe, text);
  printf("    %-9s %s\n", label, safe);
}

static void print_findings(const tbk_run_t* run) {
  for (uint32_t i = 0; i < run->recorder.finding_count; i++) {
    printf("  %s %s  %s\n", run->recorder.findings[i].verdict, run->recorder.findings[i].id,
           run->recorder.findings[i].clause);
    print_line("clause", run->recorder.findings[i].text);
    print_line("expected", run->recorder.findings[i].expected);
    print_line("seen", run->recorder.findings[i].seen);
    print_line("again", run->recorder.findings[i].replay);
  }
}

static const char* word_of(tbk_exit_t exit_code) {
  if (exit_code == TBK_EXIT_PASS) return "PASS";
  return exit_code == TBK_EXIT_FINDINGS ? "FAIL" : "ERROR";
}

/* The failing ones first; then what stands for or beside a pass. */
static void print_counts(const tbk_ledger_t* ledger) {
  bool any = false;
  for (int i = TBK_VERDICT_COUNT; i-- > 0;) {
    tbk_verdict_t verdict = (tbk_verdict_t)i;
    if (!tbk_verdict_fails(verdict) || ledger->counts[i] == 0) continue;
    printf("%s%llu %s", any ? ", " : "", (unsigned long long)ledger->counts[i],
           tbk_verdict_name(verdict));
    any = true;
  }
  printf("%s%llu passed, %llu unsupported, %llu not shown", any ? ", " : "",
         (unsigned long long)ledger->counts[TBK_VERDICT_PASS],
         (unsigned long long)ledger->counts[TBK_VERDICT_UNSUPPORTED],
         (unsigned long long)ledger->counts[TBK_VERDICT_NOT_SHOWN]);
  if (ledger->counts[TBK_VERDICT_WARNING] > 0)
    printf(", %llu warning", (unsigned long long)ledger->counts[TBK_VERDICT_WARNING]);
  if (ledger->counts[TBK_VERDICT_LEFT_OUT] > 0)
    printf(", %llu left out", (unsigned long long)ledger->counts[TBK_VERDICT_LEFT_OUT]);
}

void tbk_summary_print(const tbk_run_t* run, tbk_exit_t exit_code, const char* reason,
                       uint64_t duration_ns) {
  char safe[1024];
  if (!run->options->quiet) print_findings(run);
  printf("tbk-run: %s  ", word_of(exit_code));
  if (reason != NULL) {
    tbk_text_for_terminal(safe, sizeof safe, reason);
    printf("%s  ", safe);
  }
  if (tbk_ledger_recorded(&run->recorder.ledger) > 0) {
    print_counts(&run->recorder.ledger);
    printf(" (%.1f s)  ", (double)duration_ns / 1e9);
  }
  tbk_text_for_terminal(safe, sizeof safe, run->options->output);
  printf("results: %s\n", safe);
  (void)fflush(stdout);
}
