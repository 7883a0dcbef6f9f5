/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * record.c: one line for each test.
 */
#include "record.h"
#include "text.h"

#include "json_write.h"
#include "kind.h"
#include "protocol.h"
#include "races.h"
#include "shell.h"
#include "steering.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* or_null(const char* text) {
  return text[0] != '\0' ? text : NULL;
}

static void add_variable(char* out, size_t out_size, const char* name) {
  const char* value = getenv(name);
  char* word = NULL;
  if (value == NULL) return;
  if (asprintf(&word, "%s=%s", name, value) < 0) abort();
  tbk_shell_add(out, out_size, word);
  free(word);
}

/* A library that was built with a sanitizer neither loads nor shows a race without its runtime; a
 * simulated driver takes another order without its seed. */
static void add_environment(char* out, size_t out_size) {
  const bool preloaded = getenv("LD_PRELOAD") != NULL && tbk_races_are_watched();
  tbk_shell_add(out, out_size, "env");
  const size_t none = strlen(out);
  if (preloaded) add_variable(out, out_size, "LD_PRELOAD");
  if (preloaded) add_variable(out, out_size, "TSAN_OPTIONS");
  for (const char* next = NULL; (next = tbk_steering_next(next)) != NULL;)
    tbk_shell_add(out, out_size, next);
  if (strlen(out) == none) out[0] = '\0';
}

void tbk_replay_command(char* out, size_t out_size, const tbk_options_t* options,
                        const char* const* ids, size_t id_count, bool batch) {
  char seed[24];
  out[0] = '\0';
  add_environment(out, out_size);
  tbk_shell_add(out, out_size, "tbk-run");
  tbk_kind_of(options)->add_subject(out, out_size, options);
  for (size_t i = 0; i < id_count; i++) {
    tbk_shell_add(out, out_size, "--only");
    tbk_shell_add(out, out_size, ids[i]);
  }
  tbk_print(seed, sizeof seed, "%llu", (unsigned long long)options->seed);
  tbk_shell_add(out, out_size, "--seed");
  tbk_shell_add(out, out_size, seed);
  for (size_t i = 0; i < options->backend_options.count; i++) {
    tbk_shell_add(out, out_size, "--backend-option");
    tbk_shell_add(out, out_size, options->backend_options.items[i]);
  }
  tbk_shell_add(out, out_size, "--isolation");
  tbk_shell_add(out, out_size, batch ? "batch" : "fork");
}

/* The last "(case: LINE)", which must end the text; "" where it has none. */
static void case_of(const char* seen, char* out, size_t out_size) {
  static const char mark[] = " (case: ";
  const char *at = NULL, *next = seen;
  out[0] = '\0';
  while ((next = strstr(next, mark)) != NULL)
    at = next += strlen(mark);
  const size_t length = at != NULL ? strlen(at) : 0;
  if (length > 1 && at[length - 1] == ')') tbk_print(out, out_size, "%.*s", (int)length - 1, at);
}

void tbk_replay_failure(char* out, size_t out_size, const tbk_options_t* options, const char* id,
                        const char* seen) {
  char line[TBK_TRACE_CASE];
  case_of(seen, line, sizeof line);
  tbk_replay_command(out, out_size, options, &id, 1, false);
  if (strncmp(id, "sweep_", strlen("sweep_")) != 0 || line[0] == '\0') return;
  tbk_shell_add(out, out_size, "--case");
  tbk_shell_add(out, out_size, line);
}

static void put_test(tbk_json_t* json, const tbk_test_t* test, const char* layer, uint32_t index,
                     uint32_t repeat) {
  tbk_json_text(json, "record", "test");
  tbk_json_unsigned(json, "index", index);
  tbk_json_text(json, "id", test->id);
  tbk_json_text(json, "suite", test->suite);
  tbk_json_text(json, "clause", test->clause);
  tbk_json_text(json, "level", test->level);
  tbk_json_text(json, "profile", test->profile);
  tbk_json_text(json, "layer", layer);
  tbk_json_unsigned(json, "repeat", repeat);
}

static bool has_evidence(tbk_verdict_t verdict) {
  return verdict == TBK_VERDICT_PASS || verdict == TBK_VERDICT_NOT_SHOWN;
}

static void put_verdict(tbk_json_t* json, const tbk_outcome_t* outcome,
                        const tbk_classification_t* classification) {
  const tbk_case_report_t* report = &outcome->report;
  bool evidence = has_evidence(classification->verdict);
  tbk_json_text(json, "verdict", tbk_verdict_name(classification->verdict));
  tbk_json_text(json, "evidence", evidence ? tbk_evidence_name(report->evidence) : NULL);
  tbk_json_text(json, "evidence_reason", evidence ? or_null(report->evidence_reason) : NULL);
  if (evidence && report->gates > 0) tbk_json_unsigned(json, "gates", report->gates);
  tbk_json_unsigned(json, "checks", report->totals.checks);
  tbk_json_unsigned(json, "failures", report->totals.failures);
  tbk_json_unsigned(json, "duration_ns", report->duration_ns);
  tbk_json_unsigned(json, "wall_ns", outcome->wall_ns);
  tbk_json_text(json, "phase", tbk_phase_name(classification->phase));
  tbk_json_text(json, "calls", or_null(report->calls));
  tbk_json_text(json, "call_states", or_null(report->states));
  tbk_json_text(json, "call", or_null(classification->call));
  tbk_json_text(json, "checked", or_null(classification->checked));
  tbk_json_text(json, "blame", classification->blame);
  tbk_json_text(json, "cause", or_null(classification->cause));
  tbk_json_text(json, "expected", or_null(classification->expected));
  tbk_json_text(json, "seen", or_null(classification->seen));
  tbk_json_text(json, "stack", classification->signal != 0 ? or_null(outcome->stack) : NULL);
  tbk_json_text(json, "where", or_null(report->totals.where));
  tbk_json_text(json, "what", or_null(report->totals.what));
  if (classification->signal != 0)
    tbk_json_signed(json, "signal", classification->signal);
  else
    tbk_json_null(json, "signal");
  if (classification->exit_status >= 0)
    tbk_json_signed(json, "exit_status", classification->exit_status);
  else
    tbk_json_null(json, "exit_status");
  tbk_json_text(json, "needs_missing", classification->needs_missing);
  tbk_json_text(json, "notes", or_null(classification->notes));
}

static void put_output(tbk_json_t* json, const tbk_outcome_t* outcome) {
  static char text[TBK_OUTPUT_MAX + 64];
  uint64_t cut = outcome->output_bytes - outcome->output_size;
  size_t head = cut > 0 ? TBK_OUTPUT_HEAD : outcome->output_size;
  memcpy(text, outcome->output, head);
  text[head] = '\0';
  if (cut > 0) tbk_print(text + head, sizeof text - head, "\n... (%" PRIu64 " bytes cut)\n", cut);
  size_t mark = strlen(text + head);
  memcpy(text + head + mark, outcome->output + head, outcome->output_size - head);
  tbk_json_bytes(json, "output", text, outcome->output_size + mark);
  tbk_json_unsigned(json, "output_bytes", outcome->output_bytes);
}

void tbk_record_test(tbk_results_t* results, const tbk_options_t* options,
                     const tbk_run_plan_t* plan, uint32_t item, const tbk_outcome_t* outcome,
                     const tbk_classification_t* classification) {
  static char line[262144], replay[16384];
  static const char* replay_of; /* the test that `replay` is for: a repeated one needs it once */
  const tbk_test_t* test = &plan->tests[plan->items[item].test];
  const char* id = test->id;
  tbk_json_t json;
  const bool fails = tbk_verdict_fails(classification->verdict);
  if (classification->replay[0] == '\0' && (fails || replay_of != id)) {
    tbk_replay_failure(replay, sizeof replay, options, id, fails ? classification->seen : "");
    replay_of = fails ? NULL : id;
  }
  tbk_json_begin(&json, line, sizeof line);
  tbk_json_open(&json, NULL, '{');
  put_test(&json, test, tbk_kind_of(options)->layer, item, plan->items[item].repeat);
  put_verdict(&json, outcome, classification);
  if (tbk_verdict_fails(classification->verdict)) tbk_json_text(&json, "clause_text", test->text);
  if (outcome->facts_size > 0) tbk_json_raw(&json, "facts", outcome->facts, outcome->facts_size);
  put_output(&json, outcome);
  tbk_json_unsigned(&json, "seed", options->seed);
  tbk_json_text(&json, "replay",
                classification->replay[0] != '\0' ? classification->replay : replay);
  tbk_json_close(&json, '}');
  tbk_json_end_line(&json);
  tbk_results_add(results, line, json.size);
}
