/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * protocol.c: see protocol.h. A passing test's line is short, because there may be a hundred
 * thousand a second: members that say nothing are left out.
 */
#include "protocol.h"
#include "text.h"

#include <string.h>

static const char* const evidence_names[] = {"proven", "trivial", "not-shown"};
static const char* const gate_names[] = {"unknown", "none", "synchronous", "one_queue", "full"};

const char* tbk_evidence_name(tbk_evidence_t evidence) {
  return (unsigned)evidence <= TBK_NOT_SHOWN ? evidence_names[evidence] : "not-shown";
}

const char* tbk_gate_name(tbk_gate_kind_t gate) {
  return (unsigned)gate <= TBK_GATE_FULL ? gate_names[gate] : "unknown";
}

void tbk_protocol_mark(char out[TBK_MARK_SIZE + 1], uint32_t key) {
  tbk_print(out, TBK_MARK_SIZE + 1, "\n#%08x ", key);
}

const char* tbk_protocol_unmark(const char* line, size_t* size, uint32_t key) {
  char mark[TBK_MARK_SIZE + 1];
  const size_t length = TBK_MARK_SIZE - 1; /* the newline has ended what was before */
  tbk_protocol_mark(mark, key);
  if (*size < length || memcmp(line, mark + 1, length) != 0) return NULL;
  *size -= length;
  return line + length;
}

static void text_unless_empty(tbk_json_t* json, const char* key, const char* text, size_t size) {
  size_t length = strnlen(text, size);
  if (length > 0) tbk_json_bytes(json, key, text, length);
}

void tbk_protocol_write_end(tbk_json_t* json, uint32_t n, const tbk_case_report_t* report) {
  const tbk_check_totals_t* totals = &report->totals;
  tbk_json_open(json, NULL, '{');
  tbk_json_text(json, "said", "end");
  tbk_json_unsigned(json, "n", n);
  tbk_json_unsigned(json, "checks", totals->checks);
  tbk_json_unsigned(json, "duration_ns", report->duration_ns);
  if (report->evidence != TBK_PROVEN)
    tbk_json_unsigned(json, "evidence", (uint64_t)report->evidence);
  text_unless_empty(json, "evidence_reason", report->evidence_reason,
                    sizeof report->evidence_reason);
  if (report->gates > 0) tbk_json_unsigned(json, "gates", report->gates);
  text_unless_empty(json, "notes", report->notes, sizeof report->notes);
  if (report->needs_missing != NULL) tbk_json_text(json, "needs_missing", report->needs_missing);
  text_unless_empty(json, "calls", report->calls, sizeof report->calls);
  text_unless_empty(json, "call_states", report->states, sizeof report->states);
  if (totals->failures > 0) {
    tbk_json_unsigned(json, "failures", totals->failures);
    tbk_json_unsigned(json, "suite_faults", totals->suite_faults);
    tbk_json_unsigned(json, "phase", (uint64_t)report->failed_phase);
    if (report->only_should) tbk_json_bool(json, "only_should", true);
    if (report->device_held) tbk_json_bool(json, "device_held", true);
    text_unless_empty(json, "where", totals->where, sizeof totals->where);
    text_unless_empty(json, "what", totals->what, sizeof totals->what);
    text_unless_empty(json, "expected", totals->expected, sizeof totals->expected);
    text_unless_empty(json, "seen", totals->seen, sizeof totals->seen);
    text_unless_empty(json, "call", totals->call, sizeof totals->call);
    text_unless_empty(json, "clause", totals->clause, sizeof totals->clause);
  }
  tbk_json_close(json, '}');
  tbk_json_end_line(json);
}

void tbk_protocol_write_done(tbk_json_t* json, uint32_t begun) {
  tbk_json_open(json, NULL, '{');
  tbk_json_text(json, "said", "done");
  tbk_json_unsigned(json, "begun", begun);
  tbk_json_close(json, '}');
  tbk_json_end_line(json);
}

static uint64_t count_of(const json_t* object, const char* key) {
  json_int_t value = json_integer_value(json_object_get(object, key));
  return value > 0 ? (uint64_t)value : 0;
}

static void text_of(const json_t* object, const char* key, char* out, size_t size) {
  const char* text = json_string_value(json_object_get(object, key));
  size_t length = text != NULL ? strnlen(text, size - 1) : 0;
  if (length > 0) memcpy(out, text, length);
  out[length] = '\0';
}

/* The word as needs.c has it, which outlives the line it came in; NULL for none. */
static const char* known_word(const char* word) {
  if (word == NULL) return NULL;
  for (size_t i = 0; i < TBK_NEED_COUNT; i++)
    if (strcmp(tbk_need_word(i), word[0] == '!' ? word + 1 : word) == 0) return tbk_need_word(i);
  return "unknown";
}

static void read_end(const json_t* object, tbk_case_report_t* report) {
  tbk_check_totals_t* totals = &report->totals;
  uint64_t evidence = count_of(object, "evidence"), phase = count_of(object, "phase");
  totals->checks = count_of(object, "checks");
  totals->failures = count_of(object, "failures");
  totals->suite_faults = count_of(object, "suite_faults");
  report->duration_ns = count_of(object, "duration_ns");
  report->evidence = evidence <= TBK_NOT_SHOWN ? (tbk_evidence_t)evidence : TBK_NOT_SHOWN;
  report->gates = (unsigned)count_of(object, "gates");
  report->failed_phase = phase <= TBK_PHASE_EXIT ? (tbk_phase_t)phase : TBK_PHASE_NONE;
  report->only_should = json_is_true(json_object_get(object, "only_should"));
  report->device_held = json_is_true(json_object_get(object, "device_held"));
  text_of(object, "evidence_reason", report->evidence_reason, sizeof report->evidence_reason);
  text_of(object, "notes", report->notes, sizeof report->notes);
  report->needs_missing = known_word(json_string_value(json_object_get(object, "needs_missing")));
  text_of(object, "calls", report->calls, sizeof report->calls);
  text_of(object, "call_states", report->states, sizeof report->states);
  text_of(object, "where", totals->where, sizeof totals->where);
  text_of(object, "what", totals->what, sizeof totals->what);
  text_of(object, "expected", totals->expected, sizeof totals->expected);
  text_of(object, "seen", totals->seen, sizeof totals->seen);
  text_of(object, "call", totals->call, sizeof totals->call);
  text_of(object, "clause", totals->clause, sizeof totals->clause);
  if (tbk_clause_find(totals->clause) == NULL) totals->clause[0] = '\0';
}

tbk_said_t tbk_protocol_read(const char* line, size_t size, uint32_t* out_n,
                             tbk_case_report_t* out_report, json_t** out_object) {
  json_t* object = json_loadb(line, size, JSON_ALLOW_NUL, NULL);
  const char* said = json_string_value(json_object_get(object, "said"));
  tbk_said_t result = TBK_SAID_NONSENSE;
  if (said != NULL && strcmp(said, "end") == 0) {
    *out_n = (uint32_t)count_of(object, "n");
    read_end(object, out_report);
    *out_object = json_incref(json_object_get(object, "facts"));
    result = TBK_SAID_END;
  } else if (said != NULL && strcmp(said, "done") == 0) {
    *out_n = (uint32_t)count_of(object, "begun");
    result = TBK_SAID_DONE;
  } else if (said != NULL) {
    *out_object = json_incref(object);
    result = TBK_SAID_OTHER;
  }
  json_decref(object);
  return result;
}
