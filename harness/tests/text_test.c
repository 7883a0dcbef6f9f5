/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * text_test.c: whatever bytes come in, what goes out is JSON, UTF-8, and harmless on a terminal.
 */
#include "text.h"

#include "json_write.h"
#include "protocol.h"
#include "self_test.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The text as a JSON reader gets it back. */
static json_t* there_and_back(const char* bytes, size_t size) {
  char line[65536];
  tbk_json_t json;
  tbk_json_begin(&json, line, sizeof line);
  tbk_json_open(&json, NULL, '[');
  tbk_json_bytes(&json, NULL, bytes, size);
  tbk_json_close(&json, ']');
  CU_ASSERT_FALSE(json.overflow);
  json_t* array = json_loadb(line, json.size, JSON_ALLOW_NUL, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(array);
  return array;
}

static void valid_text_comes_back_as_it_was(void) {
  static const char text[] =
      "a \"quoted\" \\ back\tslash\n \x7f \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \0 end";
  json_t* array = there_and_back(text, sizeof text - 1);
  const json_t* value = json_array_get(array, 0);
  CU_ASSERT_EQUAL(json_string_length(value), sizeof text - 1);
  CU_ASSERT_EQUAL(memcmp(json_string_value(value), text, sizeof text - 1), 0);
  json_decref(array);
}

static void each_invalid_byte_becomes_one_replacement(void) {
  static const char* const bad[] = {"\x80", "\xFF", "\xC0", "\xC3", "\xED", "\xF5"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    json_t* array = there_and_back(bad[i], 1);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(array, 0)), "\xEF\xBF\xBD");
    json_decref(array);
  }
}

static void random_bytes_are_always_json(void) {
  unsigned state = 1;
  for (int round = 0; round < 2000; round++) {
    char bytes[256];
    for (size_t i = 0; i < sizeof bytes; i++)
      bytes[i] = (char)((state = state * 1664525u + 1013904223u) >> 24);
    json_decref(there_and_back(bytes, sizeof bytes));
  }
}

static void a_line_too_long_is_told_and_nothing_is_overrun(void) {
  char small[16];
  memset(small, '#', sizeof small);
  tbk_json_t json;
  tbk_json_begin(&json, small, 8);
  tbk_json_text(&json, "key", "a long value");
  CU_ASSERT_TRUE(json.overflow);
  CU_ASSERT_EQUAL(small[8], '#');
}

static void numbers_are_exact(void) {
  char line[128];
  tbk_json_t json;
  tbk_json_begin(&json, line, sizeof line - 1);
  tbk_json_open(&json, NULL, '[');
  tbk_json_unsigned(&json, NULL, 0);
  tbk_json_unsigned(&json, NULL, UINT64_MAX);
  tbk_json_signed(&json, NULL, INT64_MIN);
  tbk_json_signed(&json, NULL, -1);
  tbk_json_bool(&json, NULL, true);
  tbk_json_null(&json, NULL);
  tbk_json_close(&json, ']');
  line[json.size] = '\0';
  CU_ASSERT_STRING_EQUAL(line, "[0,18446744073709551615,-9223372036854775808,-1,true,null]");
}

static void a_terminal_is_safe(void) {
  static const struct {
    const char *in, *out;
  } table[] = {{"plain", "plain"},
               {"\x1b[2J", " [2J"},
               {"a\r\nb\tc", "a  b c"},
               {"\xC2\x9B"
                "31m",
                " 31m"},
               {"\xE2\x80\xAE"
                "evil",
                " evil"},
               {"\xFF", "\xEF\xBF\xBD"},
               {"\xE2\x82\xAC", "\xE2\x82\xAC"}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    char out[32];
    tbk_text_for_terminal(out, sizeof out, table[i].in);
    CU_ASSERT_STRING_EQUAL(out, table[i].out);
  }
}

static void a_last_line_is_found(void) {
  static const struct {
    const char *in, *out;
    size_t size;
  } table[] = {{"", "", 0},
               {"\n \r\n", "", 4},
               {"one", "one", 3},
               {"one\ntwo\r\n\n", "two", 10},
               {"one\ntw\0o\n", "tw o", 9},
               {"one\n\x1b[1m and much more\n", " [1m an", 23}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    char out[8];
    tbk_text_last_line(out, sizeof out, table[i].in, table[i].size);
    CU_ASSERT_STRING_EQUAL(out, table[i].out);
  }
}

static void a_cut_never_splits_a_character(void) {
  char out[5];
  tbk_text_valid(out, sizeof out, "abc\xE2\x82\xAC");
  CU_ASSERT_STRING_EQUAL(out, "abc");
}

static tbk_said_t reread(const tbk_json_t* json, uint32_t* n, tbk_case_report_t* report) {
  json_t* object = NULL;
  return tbk_protocol_read(json->data, json->size, n, report, &object);
}

static void a_report_comes_back_as_it_was(void) {
  static char line[TBK_WORKER_LINE];
  static tbk_case_report_t sent, got;
  uint32_t n = 0;
  tbk_json_t json;
  sent.totals.checks = 5;
  sent.totals.failures = 2;
  sent.failed_phase = TBK_PHASE_CLEAN;
  sent.device_held = sent.only_should = true;
  sent.evidence = TBK_TRIVIAL;
  sent.duration_ns = 77;
  memset(sent.totals.seen, 'x', sizeof sent.totals.seen); /* no NUL */
  strcpy(sent.totals.where, "a.c:1");
  tbk_json_begin(&json, line, sizeof line);
  tbk_protocol_write_end(&json, 9, &sent);
  CU_ASSERT_EQUAL(reread(&json, &n, &got), TBK_SAID_END);
  CU_ASSERT_EQUAL(n, 9);
  CU_ASSERT_EQUAL(got.totals.checks, 5);
  CU_ASSERT_EQUAL(got.totals.failures, 2);
  CU_ASSERT_EQUAL(got.failed_phase, TBK_PHASE_CLEAN);
  CU_ASSERT_TRUE(got.device_held);
  CU_ASSERT_TRUE(got.only_should);
  CU_ASSERT_EQUAL(got.evidence, TBK_TRIVIAL);
  CU_ASSERT_EQUAL(strlen(got.totals.seen), sizeof got.totals.seen - 1);
  CU_ASSERT_STRING_EQUAL(got.totals.where, "a.c:1");
}

static void a_line_without_the_key_of_its_job_is_none(void) {
  char mark[TBK_MARK_SIZE + 1];
  size_t size = TBK_MARK_SIZE - 1 + 2;
  tbk_protocol_mark(mark, 0xBEEF);
  CU_ASSERT_STRING_EQUAL(mark, "\n#0000beef ");
  CU_ASSERT_STRING_EQUAL(tbk_protocol_unmark("#0000beef {}", &size, 0xBEEF), "{}");
  CU_ASSERT_EQUAL(size, 2);
  size = 12;
  CU_ASSERT_PTR_NULL(tbk_protocol_unmark("#0000beee {}", &size, 0xBEEF));
  CU_ASSERT_PTR_NULL(tbk_protocol_unmark("x#0000beef {", &size, 0xBEEF));
  size = 9;
  CU_ASSERT_PTR_NULL(tbk_protocol_unmark("#0000beef", &size, 0xBEEF));
}

static void nonsense_is_nonsense(void) {
  static const char* const lines[] = {"", "{", "[]", "{\"said\":3}", "null", "\"x\"", "{\"n\":1}"};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    uint32_t n = 0;
    static tbk_case_report_t report;
    json_t* object = NULL;
    CU_ASSERT_EQUAL(tbk_protocol_read(lines[i], strlen(lines[i]), &n, &report, &object),
                    TBK_SAID_NONSENSE);
  }
}

CU_TestInfo tbk_text_tests[] = {{"valid text comes back", valid_text_comes_back_as_it_was},
                                {"invalid bytes", each_invalid_byte_becomes_one_replacement},
                                {"random bytes are JSON", random_bytes_are_always_json},
                                {"overflow", a_line_too_long_is_told_and_nothing_is_overrun},
                                {"numbers", numbers_are_exact},
                                {"terminal", a_terminal_is_safe},
                                {"last lines", a_last_line_is_found},
                                {"cuts", a_cut_never_splits_a_character},
                                {"reports come back", a_report_comes_back_as_it_was},
                                {"lines of others", a_line_without_the_key_of_its_job_is_none},
                                {"nonsense", nonsense_is_nonsense},
                                CU_TEST_INFO_NULL};
