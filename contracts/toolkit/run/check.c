/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

#include "resources.h"
#include "taken.h"
#include "trace.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <CUnit/CUnit.h>
#include <CUnit/TestRun.h>

static struct {
  atomic_uint_fast64_t checks;
  atomic_uint_fast64_t failures;
  atomic_uint_fast64_t suite_faults;
  pthread_t main_thread;
  pthread_mutex_t mutex; /* for `first` */
  tbk_check_totals_t first;
  char context[192];
  int32_t failed_phase;
} state = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local const char* clause_in_force;

const char* tbk_checks_enter(const char* clause) {
  const char* outer = clause_in_force;
  if (clause != NULL) clause_in_force = clause;
  return outer;
}

void tbk_checks_leave(const char** outer) {
  clause_in_force = *outer;
}

/* Returns NULL where tbk.h does not name it. */
static const char* known_name(tbk_status_t status) {
  switch (status) {
#define STATUS_NAME(name, value, text) \
  case value:                          \
    return #name;
    TBK_STATUS_MAP(STATUS_NAME)
#undef STATUS_NAME
    default:
      return NULL;
  }
}

const char* tbk_status_name(tbk_status_t status) {
  const char* name = known_name(status);
  return name != NULL ? name : "a status that tbk.h does not name";
}

void tbk_checks_begin(void) {
  tbk_taken_note();
  atomic_store_explicit(&state.checks, 0, memory_order_relaxed);
  atomic_store_explicit(&state.failures, 0, memory_order_relaxed);
  atomic_store_explicit(&state.suite_faults, 0, memory_order_relaxed);
  state.main_thread = pthread_self();
  state.failed_phase = TBK_PHASE_NONE;
  state.context[0] = '\0';
  state.first.where[0] = state.first.what[0] = '\0';
  state.first.expected[0] = state.first.seen[0] = state.first.call[0] = '\0';
  state.first.clause[0] = '\0';
  clause_in_force = NULL; /* a longjmp out of a block does not end it */
}

void tbk_checks_end(tbk_check_totals_t* out_totals) {
  pthread_mutex_lock(&state.mutex);
  *out_totals = state.first;
  out_totals->checks = atomic_load(&state.checks);
  out_totals->failures = atomic_load(&state.failures);
  out_totals->suite_faults = atomic_load(&state.suite_faults);
  pthread_mutex_unlock(&state.mutex);
}

int32_t tbk_checks_failed_phase(void) {
  return state.failed_phase;
}

bool tbk_checks_failed(void) {
  return atomic_load(&state.failures) > 0;
}

static const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

void tbk_checks_context(const char* text) {
  pthread_mutex_lock(&state.mutex);
  snprintf(state.context, sizeof state.context, "%s", text != NULL ? text : "");
  pthread_mutex_unlock(&state.mutex);
}

static void add_context(tbk_check_totals_t* first) {
  size_t used = strlen(first->seen);
  if (state.context[0] == '\0') return;
  if (used > sizeof first->seen - sizeof state.context - 16)
    used = sizeof first->seen - sizeof state.context - 16;
  snprintf(first->seen + used, sizeof first->seen - used, " (case: %s)", state.context);
}

/* Counts a failure and keeps the first in full. `seen` is a format. */
static void record(tbk_here_t here, const char* expected, const char* seen, va_list arguments) {
  pthread_mutex_lock(&state.mutex);
  if (atomic_fetch_add(&state.failures, 1) == 0) {
    tbk_check_totals_t* first = &state.first;
    snprintf(first->where, sizeof first->where, "%s:%d", base_name(here.file), here.line);
    snprintf(first->what, sizeof first->what, "%s", here.text);
    snprintf(first->expected, sizeof first->expected, "%s", expected);
    vsnprintf(first->seen, sizeof first->seen, seen, arguments);
    const char* call = tbk_trace_latest();
    snprintf(first->call, sizeof first->call, "%s", call != NULL ? call : "");
    snprintf(first->clause, sizeof first->clause, "%s",
             clause_in_force != NULL ? clause_in_force : "");
    add_context(first);
    state.failed_phase = *tbk_phase_cell;
    tbk_trace_stop();
  }
  pthread_mutex_unlock(&state.mutex);
}

bool tbk_check_said(bool held, tbk_here_t here, const char* expected, const char* seen_format,
                    ...) {
  atomic_fetch_add_explicit(&state.checks, 1, memory_order_relaxed);
  tbk_trace_check();
  if (held || here.file == NULL) return held;
  va_list arguments;
  va_start(arguments, seen_format);
  record(here, expected, seen_format, arguments);
  va_end(arguments);
  return false;
}

void tbk_record_failure(tbk_here_t here, const char* expected, const char* seen_format, ...) {
  va_list arguments;
  va_start(arguments, seen_format);
  record(here, expected, seen_format, arguments);
  va_end(arguments);
}

bool tbk_check(bool held, tbk_here_t here) {
  return tbk_check_said(held, here, "true", "false");
}

bool tbk_check_kept(bool held, const char* function, tbk_here_t here) {
  TBK_CHECKS("ERR-001");
  return tbk_check_said(held, here, "out parameters as they were", "%s has written one", function);
}

void tbk_leave(void) {
  if (!pthread_equal(pthread_self(), state.main_thread)) return;
  tbk_check_totals_t totals;
  tbk_checks_end(&totals);
  CU_assertImplementation(CU_FALSE, 0, totals.what, totals.where, "", CU_TRUE);
}

void tbk_suite_require(bool held, tbk_here_t here) {
  static const char expected[] = "the test has enough of its own resources";
  const char* why = strerror(errno);
  char taken[160];
  if (held) return;
  if (tbk_taken(taken, sizeof taken)) {
    tbk_record_failure(here, "the library leaves its process what a test needs", "%s", taken);
  } else {
    atomic_fetch_add(&state.suite_faults, 1);
    tbk_record_failure(here, expected, "%s fails (%s)", here.text, why);
  }
  tbk_leave();
}

void tbk_require(bool held, tbk_here_t here) {
  if (here.file != NULL) tbk_check(held, here);
  if (!held) tbk_leave();
}

bool tbk_check_status(tbk_status_t expected, tbk_status_t seen, const tbk_error_t* error,
                      tbk_here_t here) {
  if (seen == expected) return tbk_check_said(true, here, "", "%s", "");
  TBK_CHECKS(known_name(seen) != NULL ? NULL : "ERR-009");
  const char* message = error != NULL && seen != TBK_OK ? error->message : "";
  size_t length = error != NULL ? strnlen(message, sizeof error->message) : 0;
  return tbk_check_said(false, here, tbk_status_name(expected), "%s (%d)%s%.*s",
                        tbk_status_name(seen), (int)seen, length > 0 ? ": " : "", (int)length,
                        message);
}

bool tbk_check_equal(int64_t expected, int64_t seen, tbk_here_t here) {
  if (seen == expected) return tbk_check_said(true, here, "", "%s", "");
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)expected);
  return tbk_check_said(false, here, text, "%lld", (long long)seen);
}

/* What a device still writes may be right by now: then it came late, which is the finding. */
static bool say_late(const char* expected, uint8_t before, tbk_here_t here) {
  return tbk_check_said(false, here, expected,
                        "it came late: 0x%02x when first read, as expected when read again",
                        before);
}

bool tbk_check_bytes(const void* expected, const void* seen, size_t size_bytes, tbk_here_t here) {
  const uint8_t* want = expected;
  const volatile uint8_t* got = seen;
  size_t first = 0, differing = 0;
  uint8_t before = 0;
  if (size_bytes == 0 || memcmp(want, seen, size_bytes) == 0)
    return tbk_check_said(true, here, "", "%s", "");
  for (size_t i = size_bytes; i-- > 0;) {
    uint8_t now = got[i];
    if (want[i] == now) continue;
    first = i;
    before = now;
    differing++;
  }
  if (differing == 0)
    return tbk_check_said(false, here, "the bytes when first read", "they came late: %s",
                          "others when first read, as expected when read again");
  char text[48];
  snprintf(text, sizeof text, "byte %zu is 0x%02x", first, want[first]);
  if (got[first] == want[first]) return say_late(text, before, here);
  return tbk_check_said(false, here, text, "0x%02x; %zu of %zu bytes differ", before, differing,
                        size_bytes);
}
