/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweep of options that no library knows: in every form and place among those that the user has given. An
 * instance is refused, with a reason and nothing else changed, and the next one is as good as ever.
 */
#include <stdio.h>
#include <string.h>

#include "resources.h"
#include "sweep.h"

enum { OPTIONS = 8192, LONG_WORD = 2000 };

typedef enum form { NUMBER, EMPTY, NO_VALUE, TEXT, LONG_KEY, LONG_VALUE } form_t;
typedef enum place { ALONE, BEFORE, AFTER, BOTH } place_t;

SWEEP_DIMENSION(form_axis, "option", {"number", NUMBER}, {"empty_value", EMPTY},
                {"no_value", NO_VALUE}, {"text", TEXT}, {"long_key", LONG_KEY},
                {"long_value", LONG_VALUE});
SWEEP_DIMENSION(place_axis, "place", {"alone", ALONE}, {"before", BEFORE}, {"after", AFTER},
                {"both", BOTH});
SWEEP_DIMENSION(error_axis, "error", {"given", 0}, {"NULL", 1});
SWEEP_DIMENSION(times_axis, "times", {"1", 1}, {"33", 33});
SWEEP_DIMENSION(beside_axis, "beside", {"nothing", 0}, {"instance", 1});

static void make_word(form_t form, char word[OPTIONS / 4]) {
  char filler[LONG_WORD];
  memset(filler, 'x', sizeof filler);
  filler[sizeof filler - 1] = '\0';
  switch (form) {
    case EMPTY:
      snprintf(word, OPTIONS / 4, "no_such_option=");
      return;
    case NO_VALUE:
      snprintf(word, OPTIONS / 4, "no_such_option");
      return;
    case TEXT:
      snprintf(word, OPTIONS / 4, "no_such_option=some text");
      return;
    case LONG_KEY:
      snprintf(word, OPTIONS / 4, "no_%.*s=1", LONG_WORD / 2, filler);
      return;
    case LONG_VALUE:
      snprintf(word, OPTIONS / 4, "no_such_option=%s", filler);
      return;
    default:
      snprintf(word, OPTIONS / 4, "no_such_option=1");
  }
}

static void make_options(const tbk_fixture_t* fx, const sweep_case_t* one, char options[OPTIONS]) {
  const place_t place = (place_t)sweep_get(one, &place_axis);
  const char* given = fx->host->options != NULL ? fx->host->options : "";
  const char* comma = given[0] != '\0' ? "," : "";
  char word[OPTIONS / 4];
  make_word((form_t)sweep_get(one, &form_axis), word);
  if (place == ALONE) given = comma = "";
  snprintf(options, OPTIONS, "%s%s%.4000s%s%s", place == BEFORE || place == BOTH ? word : "",
           place == BEFORE || place == BOTH ? comma : "", given, place == BEFORE ? "" : comma,
           place == BEFORE ? "" : word);
  if (place == BOTH && comma[0] == '\0') snprintf(options, OPTIONS, "%s,%s", word, word);
}

static void check_refused(tbk_fixture_t* fx, const tbk_host_t* host, bool with_error) {
  static const char bytes[64];
  const tbk_backend_t* const untouched = (const tbk_backend_t*)(const void*)bytes;
  const tbk_backend_t* backend = untouched;
  tbk_error_t error;
  memset(&error, 0xA5, sizeof error);
  tbk_status_t status = fx->create(host, &backend, with_error ? &error : NULL);
  if (!CHECK_SAID(status == TBK_INVALID, "INVALID", "%s", tbk_status_name(status))) {
    if (status == TBK_OK && backend != untouched) backend->core->destroy(backend->instance);
    return;
  }
  CHECK_KEPT("tbk_backend_create", backend == untouched);
  if (!with_error) return;
  TBK_CHECKS("ERR-008");
  CHECK(memchr(error.message, '\0', sizeof error.message) != NULL && error.message[0] != '\0');
}

static const tbk_backend_t* make(tbk_fixture_t* fx) {
  const tbk_backend_t* backend = NULL;
  REQUIRE_OK(fx->create(fx->host, &backend, &fx->error));
  REQUIRE(backend != NULL);
  return backend;
}

static void check_whole(tbk_fixture_t* fx, const tbk_backend_t* backend, int32_t expected) {
  int32_t count = -1;
  CHECK_OK(backend->core->device_count(backend->instance, &count, &fx->error));
  CHECK(expected < 0 || count == expected);
}

static void run(tbk_fixture_t* fx, sweep_case_t* one) {
  char options[OPTIONS];
  tbk_host_t host = *fx->host;
  const bool beside = sweep_get(one, &beside_axis) == 1;
  const tbk_backend_t* before = beside ? make(fx) : NULL;
  int32_t count = -1;
  if (beside) CHECK_OK(before->core->device_count(before->instance, &count, &fx->error));
  make_options(fx, one, options);
  host.options = options;
  for (int64_t i = 0; i < sweep_get(one, &times_axis); i++)
    check_refused(fx, &host, sweep_get(one, &error_axis) == 0);
  if (beside) check_whole(fx, before, count);
  const tbk_backend_t* after = make(fx);
  check_whole(fx, after, count);
  after->core->destroy(after->instance);
  if (beside) before->core->destroy(before->instance);
}

static void an_option_nobody_knows_is_refused_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&form_axis, &place_axis, &error_axis, &times_axis, &beside_axis}, NULL, run, 2};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("LIB-004", NULL, TBK_CASE_THOROUGH | TBK_CASE_RAW,
             an_option_nobody_knows_is_refused_in_every_form),
};
TBK_SUITE(sweep_options);
