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
    print_line("perhaps", run->recorder.findings[i].limit);
    print_line("again", run->recorder.findings[i].replay);
  }
}

static void part(char* text, size_t size, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

static void part(char* text, size_t size, const char* format, ...) {
  const size_t used = strlen(text);
  va_list arguments;
  if (used > 0 && used + 2 < size) memcpy(text + used, "; ", 3);
  va_start(arguments, format);
  (void)vsnprintf(text + strlen(text), size - strlen(text), format, arguments);
  va_end(arguments);
}

static void part_selected(char* text, size_t size, const tbk_words_t* only) {
  enum { SHOWN = 5 };
  for (size_t i = 0; i < only->count && i < SHOWN; i++)
    if (i == 0)
      part(text, size, "--only %s", only->items[i]);
    else
      (void)snprintf(text + strlen(text), size - strlen(text), ", %s", only->items[i]);
  if (only->count > SHOWN)
    (void)snprintf(text + strlen(text), size - strlen(text), " and %zu more", only->count - SHOWN);
}

static const char* plural(uint64_t count) {
  return count == 1 ? "" : "s";
}

/* Says what of its tier the run has not recorded, in the words of the page; empty where it is
 * complete. */
static void say_missing(const tbk_run_t* run, char* text, size_t size) {
  const tbk_options_t* options = run->options;
  const tbk_ledger_t* ledger = &run->recorder.ledger;
  const uint64_t left_out = ledger->counts[TBK_VERDICT_LEFT_OUT];
  const uint64_t not_reached = ledger->counts[TBK_VERDICT_NOT_REACHED];
  const uint64_t recorded = tbk_ledger_recorded(ledger);
  text[0] = '\0';
  part_selected(text, size, &options->only);
  if (options->shard_count > 1)
    part(text, size, "shard %u/%u", options->shard_index, options->shard_count);
  if (recorded < ledger->planned)
    part(text, size, "%llu of %llu planned tests are recorded", (unsigned long long)recorded,
         (unsigned long long)ledger->planned);
  if (left_out > 0)
    part(text, size, "%llu test%s left out by the budget", (unsigned long long)left_out,
         plural(left_out));
  if (not_reached > 0)
    part(text, size, "%llu test%s not reached", (unsigned long long)not_reached,
         plural(not_reached));
}

/* As the page's headline: "PASS (quick)", "FAIL (quick, partial)", "PASS (quick, simulated)". */
static void print_stamp(const tbk_run_t* run, tbk_exit_t exit_code, bool partial) {
  const char* tier = tbk_tier_name(run->options->tier);
  const char* simulated = tbk_facts_simulated(&run->facts) ? "simulated" : "";
  const char* comma = simulated[0] != '\0' ? ", " : "";
  if (exit_code == TBK_EXIT_PASS)
    printf("tbk-run: %s (%s%s%s)  ", partial ? "PARTIAL" : "PASS", tier, comma, simulated);
  else if (exit_code == TBK_EXIT_FINDINGS)
    printf("tbk-run: FAIL (%s%s%s%s)  ", tier, partial ? ", partial" : "", comma, simulated);
  else
    printf("tbk-run: %s%s%s  ", exit_code == TBK_EXIT_INTERRUPTED ? "INTERRUPTED" : "ERROR", comma,
           simulated);
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
  char safe[1024], missing[512];
  const bool judged = exit_code == TBK_EXIT_PASS || exit_code == TBK_EXIT_FINDINGS;
  if (!run->options->quiet) print_findings(run);
  say_missing(run, missing, sizeof missing);
  print_stamp(run, exit_code, missing[0] != '\0');
  if (reason != NULL) {
    tbk_text_for_terminal(safe, sizeof safe, reason);
    printf("%s  ", safe);
  }
  if (tbk_ledger_recorded(&run->recorder.ledger) > 0) {
    print_counts(&run->recorder.ledger);
    printf(" (%.1f s)  ", (double)duration_ns / 1e9);
  }
  if (judged && missing[0] != '\0') {
    tbk_text_for_terminal(safe, sizeof safe, missing);
    printf("partial: %s  ", safe);
  }
  tbk_text_for_terminal(safe, sizeof safe, run->options->output);
  printf("results: %s\n", safe);
  (void)fflush(stdout);
}
