/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The entry point, and what it gives. These tests make instances of their own.
 */
#include "child.h"
#include "resources.h"
#include "tables.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Not a table, but an address that a failing call must leave in place. */
static const tbk_backend_t* const untouched = (const tbk_backend_t*)&untouched;

static void expect_refusal(tbk_fixture_t* fx, tbk_status_t expected, const tbk_host_t* host) {
  const tbk_backend_t* backend = untouched;
  tbk_status_t status = fx->create(host, &backend, &fx->error);
  tbk_check_status(expected, status, &fx->error, TBK_HERE("tbk_backend_create"));
  CHECK_KEPT("tbk_backend_create", backend == untouched);
  if (status == TBK_OK && backend != untouched && backend != NULL) {
    backend->core->destroy(backend->instance);
  }
}

static const tbk_backend_t* make(tbk_fixture_t* fx, const tbk_host_t* host) {
  const tbk_backend_t* backend = NULL;
  REQUIRE_OK(fx->create(host, &backend, &fx->error));
  REQUIRE(backend != NULL);
  return backend;
}

static void destroy(const tbk_backend_t* backend) {
  backend->core->destroy(backend->instance);
}

/* --------------------------------------------------------------------------------- refusals -- */

static void a_missing_host_is_refused(tbk_fixture_t* fx) {
  expect_refusal(fx, TBK_INVALID, NULL);
}

static void a_missing_place_for_the_table_is_refused(tbk_fixture_t* fx) {
  CHECK_STATUS(TBK_INVALID, fx->create(fx->host, NULL, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->create(NULL, NULL, &fx->error));
}

static void a_short_host_is_refused(tbk_fixture_t* fx) {
  tbk_host_t host = *fx->host;
  for (size_t size = 0; size < offsetof(tbk_host_t, options) + sizeof host.options; size++) {
    host.struct_size = size;
    expect_refusal(fx, TBK_INVALID, &host);
  }
}

static void a_longer_host_is_accepted(tbk_fixture_t* fx) {
  struct {
    tbk_host_t host;
    uint8_t newer[64];
  } longer = {.host = *fx->host};
  memset(longer.newer, 0xa5, sizeof longer.newer);
  longer.host.struct_size = sizeof longer;
  const tbk_backend_t* backend = NULL;
  CHECK_OK(fx->create(&longer.host, &backend, &fx->error));
  REQUIRE(backend != NULL);
  destroy(backend);
}

static void an_unknown_abi_version_is_refused(tbk_fixture_t* fx) {
  static const uint64_t versions[] = {1000, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX};
  tbk_host_t host = *fx->host;
  for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
    host.abi_version = versions[i];
    expect_refusal(fx, TBK_UNSUPPORTED, &host);
  }
}

static void expect_options_refused(tbk_fixture_t* fx, const char* format) {
  char options[4096 + 64];
  const char* given = fx->host->options != NULL ? fx->host->options : "";
  tbk_host_t host = *fx->host;
  host.options = options;
  snprintf(options, sizeof options, "%s%s%s", given, given[0] != '\0' ? "," : "", format);
  expect_refusal(fx, TBK_INVALID, &host);
}

static void an_unknown_option_is_refused(tbk_fixture_t* fx) {
  expect_options_refused(fx, "no_such_option=1");
}

static void an_unknown_option_is_refused_whatever_its_value(tbk_fixture_t* fx) {
  expect_options_refused(fx, "no_such_option=0");
  expect_options_refused(fx, "another_unknown_option=some,no_such_option=1");
}

static void a_failed_creation_leaves_the_result_alone(tbk_fixture_t* fx) {
  tbk_host_t host = *fx->host;
  host.struct_size = sizeof host.struct_size;
  expect_refusal(fx, TBK_INVALID, &host);
  host = *fx->host;
  host.abi_version = UINT64_MAX;
  expect_refusal(fx, TBK_UNSUPPORTED, &host);
  expect_options_refused(fx, "no_such_option=1");
}

static void a_failed_creation_gives_a_reason(tbk_fixture_t* fx) {
  const tbk_backend_t* backend = untouched;
  tbk_host_t host = *fx->host;
  host.abi_version = UINT64_MAX;
  memset(&fx->error, 0xa5, sizeof fx->error);
  CHECK(fx->create(&host, &backend, &fx->error) != TBK_OK);
  const char* end = memchr(fx->error.message, '\0', sizeof fx->error.message);
  CHECK(end != NULL);
  CHECK(end != fx->error.message);
}

static void a_failed_creation_gives_a_reason_for_options(tbk_fixture_t* fx) {
  memset(&fx->error, 0xa5, sizeof fx->error);
  expect_options_refused(fx, "no_such_option=1");
  const char* end = memchr(fx->error.message, '\0', sizeof fx->error.message);
  CHECK(end != NULL);
  CHECK(end != fx->error.message);
}

static void nobody_has_to_take_the_reason(tbk_fixture_t* fx) {
  const tbk_backend_t* backend = untouched;
  tbk_host_t host = *fx->host;
  host.abi_version = UINT64_MAX;
  CHECK_ANSWER(TBK_UNSUPPORTED, fx->create(&host, &backend, NULL));
  host = *fx->host;
  host.struct_size = sizeof host.struct_size;
  CHECK_ANSWER(TBK_INVALID, fx->create(&host, &backend, NULL));
  CHECK_ANSWER(TBK_INVALID, fx->create(NULL, &backend, NULL));
}

/* -------------------------------------------------------------------------------- the table -- */

static bool name_is_a_device_name(const char* name) {
  size_t length = strnlen(name, 32);
  return length >= 1 && length <= 31 && name[0] >= 'a' && name[0] <= 'z' &&
         strspn(name, "abcdefghijklmnopqrstuvwxyz_") == length;
}

static void the_table_is_complete(tbk_fixture_t* fx) {
  const tbk_backend_t* backend = make(fx, fx->host);
  CHECK(backend->struct_size >= offsetof(tbk_backend_t, stream));
  CHECK(backend->struct_size < TBK_TABLE_SIZE_LIMIT);
  CHECK_EQUAL(TBK_ABI_VERSION, backend->abi_version);
  CHECK(backend->name != NULL && name_is_a_device_name(backend->name));
  CHECK(backend->version != NULL && backend->version[0] != '\0');
  REQUIRE(backend->core != NULL);
  CHECK(tbk_table_size_valid(backend->core, TBK_CORE_ENTRIES));
  CHECK_EQUAL(TBK_CORE_ENTRIES, tbk_table_first_null(backend->core, TBK_CORE_ENTRIES));
  destroy(backend);
}

static void every_instance_has_a_complete_table(tbk_fixture_t* fx) {
  for (int i = 0; i < 3; i++)
    the_table_is_complete(fx);
}

static void open_state_is_the_instances_own(tbk_fixture_t* fx) {
  const tbk_backend_t* a = make(fx, fx->host);
  const tbk_backend_t* b = make(fx, fx->host);
  tbk_memory_t memory = 0;
  CHECK_OK(tbk_device_open_timed(a, 0, &fx->error));
  CHECK_STATUS(TBK_INVALID_STATE, b->core->memory_alloc(b->instance, 0, 64, &memory, &fx->error));
  destroy(b);
  CHECK_DEVICE_WORKS(a->core, a->instance, 0, "the other instance works on");
  destroy(a);
}

static void an_instance_survives_the_others_end(tbk_fixture_t* fx) {
  const tbk_backend_t* a = make(fx, fx->host);
  const tbk_backend_t* b = make(fx, fx->host);
  CHECK_OK(tbk_device_open_timed(a, 0, &fx->error));
  destroy(a);
  CHECK_OK(tbk_device_open_timed(b, 0, &fx->error));
  CHECK_DEVICE_WORKS(b->core, b->instance, 0, "the device works");
  destroy(b);
}

static void instances_share_a_device_without_touching(tbk_fixture_t* fx) {
  const tbk_backend_t* a = make(fx, fx->host);
  const tbk_backend_t* b = make(fx, fx->host);
  enum { SIZE = 4096 };
  uint8_t* sent = fx_bytes(fx, SIZE);
  uint8_t* got = fx_zeros(fx, SIZE);
  tbk_memory_t memory = 0;
  CHECK_OK(tbk_device_open_timed(a, 0, &fx->error));
  CHECK_OK(tbk_device_open_timed(b, 0, &fx->error));
  REQUIRE_OK(b->core->memory_alloc(b->instance, 0, SIZE, &memory, &fx->error));
  CHECK_OK(b->core->upload(b->instance, 0, memory, 0, sent, SIZE, NULL, &fx->error));
  CHECK_DEVICE_WORKS(a->core, a->instance, 0, "the first instance works");
  CHECK_OK(a->core->device_close(a->instance, 0, &fx->error));
  destroy(a);
  CHECK_OK(b->core->download(b->instance, 0, got, memory, 0, SIZE, NULL, &fx->error));
  CHECK_BYTES(sent, got, SIZE);
  CHECK_OK(b->core->memory_free(b->instance, 0, memory, &fx->error));
  destroy(b);
}

/* --------------------------------------------------------------------------- nothing starts -- */

static void creation_starts_no_thread(tbk_fixture_t* fx) {
  CHECK_EQUAL(0, tbk_library_threads_started()); /* of the first instance in this process */
  int before = tbk_count_threads();
  const tbk_backend_t* first = make(fx, fx->host);
  const tbk_backend_t* second = make(fx, fx->host);
  CHECK_EQUAL(before, tbk_count_threads());
  destroy(second);
  destroy(first);
}

static void creation_starts_no_process(tbk_fixture_t* fx) {
  static const char none[] = "no process is started";
  tbk_adopt_orphans();
  int left = tbk_children_left();
  CHECK_SAID(left == 0, none, "%d when the library is loaded", left);
  const tbk_backend_t* first = make(fx, fx->host);
  const tbk_backend_t* second = make(fx, fx->host);
  int more = tbk_children_left() - left;
  CHECK_SAID(more <= 0, none, "%d by two instances", more);
  destroy(second);
  destroy(first);
}

static void creation_opens_no_device(tbk_fixture_t* fx) {
  const tbk_backend_t* backend = make(fx, fx->host);
  int32_t count = 0;
  tbk_memory_t memory = 0;
  CHECK_OK(backend->core->device_count(backend->instance, &count, &fx->error));
  for (int32_t device = 0; device < count; device++) {
    CHECK_STATUS(TBK_INVALID_STATE,
                 backend->core->memory_alloc(backend->instance, device, 64, &memory, &fx->error));
    CHECK_STATUS(TBK_INVALID_STATE,
                 backend->core->device_close(backend->instance, device, &fx->error));
  }
  destroy(backend);
}

/* --------------------------------------------------------------------------- what host lacks -- */

static void use_with(tbk_fixture_t* fx, const tbk_host_t* host) {
  const tbk_backend_t* backend = NULL;
  int32_t count = -1;
  CHECK_OK(fx->create(host, &backend, &fx->error));
  REQUIRE(backend != NULL);
  CHECK_OK(backend->core->device_count(backend->instance, &count, &fx->error));
  if (count > 0) {
    CHECK_OK(tbk_device_open_timed(backend, 0, &fx->error));
    CHECK_DEVICE_WORKS(backend->core, backend->instance, 0, "the device works");
    CHECK_OK(backend->core->device_close(backend->instance, 0, &fx->error));
    CHECK_STATUS(TBK_INVALID_STATE, backend->core->device_close(backend->instance, 0, &fx->error));
  }
  destroy(backend);
}

static void the_log_may_be_missing(tbk_fixture_t* fx) {
  tbk_host_t host = *fx->host;
  host.log = NULL;
  host.context = NULL;
  use_with(fx, &host);
}

static void the_options_may_be_missing(tbk_fixture_t* fx) {
  tbk_host_t host = *fx->host;
  host.options = NULL;
  use_with(fx, &host);
}

static void the_options_may_be_empty(tbk_fixture_t* fx) {
  tbk_host_t host = *fx->host;
  host.options = "";
  use_with(fx, &host);
}

static const char log_context[] = "the context of the log";

static void listen(void* context, int32_t level, const char* message) {
  CHECK(context == log_context);
  CHECK(level >= TBK_LOG_DEBUG && level <= TBK_LOG_ERROR);
  CHECK(message != NULL);
}

static void the_log_may_be_there(tbk_fixture_t* fx) {
  tbk_host_t host = *fx->host;
  host.log = listen;
  host.context = (void*)log_context;
  use_with(fx, &host);
}

static void a_creation_succeeds_after_a_failed_one(tbk_fixture_t* fx) {
  a_failed_creation_leaves_the_result_alone(fx);
  destroy(make(fx, fx->host));
}

static void a_failed_creation_answers_with_the_status_it_names(tbk_fixture_t* fx) {
  a_failed_creation_leaves_the_result_alone(fx);
}

static void a_creation_needs_no_place_for_a_message(tbk_fixture_t* fx) {
  const tbk_backend_t* backend = NULL;
  REQUIRE_OK(fx->create(fx->host, &backend, NULL));
  destroy(backend);
}

static void a_creation_that_succeeds_writes_no_message(tbk_fixture_t* fx) {
  memset(&fx->error, 0x01, sizeof fx->error);
  destroy(make(fx, fx->host));
  for (size_t i = 0; i < sizeof fx->error.message; i++)
    CHECK(fx->error.message[i] == 0x01);
}

/* ---------------------------------------------------------------------------------- threads -- */

enum { MAKERS = 2, MADE = 8 };

typedef struct maker {
  tbk_fixture_t fx; /* for an error buffer of its own */
  atomic_int* waiting;
} maker_t;

static void make_instances(void* argument) {
  maker_t* maker = argument;
  tbk_fixture_t* fx = &maker->fx;
  atomic_fetch_sub(maker->waiting, 1);
  while (atomic_load(maker->waiting) > 0)
    sched_yield();
  for (int i = 0; i < MADE; i++) {
    const tbk_backend_t* backend = NULL;
    if (!CHECK_OK(fx->create(fx->host, &backend, &fx->error))) return;
    destroy(backend);
  }
}

static void threads_make_instances_at_the_same_time(tbk_fixture_t* fx) {
  maker_t makers[MAKERS];
  tbk_thread_t* threads[MAKERS];
  atomic_int waiting = MAKERS;
  for (int i = 0; i < MAKERS; i++) {
    makers[i] = (maker_t){*fx, &waiting};
    threads[i] = fx_thread(fx, make_instances, &makers[i]);
  }
  for (int i = 0; i < MAKERS; i++)
    fx_join(fx, threads[i]);
}

static const tbk_case_t cases[] = {
    TBK_CASE("LIB-001", NULL, TBK_CASE_RAW, a_missing_host_is_refused),
    TBK_CASE("LIB-001", NULL, TBK_CASE_RAW, a_missing_place_for_the_table_is_refused),
    TBK_CASE("LIB-002", NULL, TBK_CASE_RAW, a_short_host_is_refused),
    TBK_CASE("LIB-002", NULL, TBK_CASE_RAW, a_longer_host_is_accepted),
    TBK_CASE("LIB-003", NULL, TBK_CASE_RAW, an_unknown_abi_version_is_refused),
    TBK_CASE("LIB-004", NULL, TBK_CASE_RAW, an_unknown_option_is_refused),
    TBK_CASE("LIB-004", NULL, TBK_CASE_RAW, an_unknown_option_is_refused_whatever_its_value),
    TBK_CASE("LIB-005", NULL, TBK_CASE_RAW, the_table_is_complete),
    TBK_CASE("LIB-005", NULL, TBK_CASE_RAW, every_instance_has_a_complete_table),
    TBK_CASE("LIB-006", NULL, TBK_CASE_RAW, open_state_is_the_instances_own),
    TBK_CASE("LIB-006", NULL, TBK_CASE_RAW, an_instance_survives_the_others_end),
    TBK_CASE("LIB-006", "!exclusive", TBK_CASE_RAW, instances_share_a_device_without_touching),
    TBK_CASE("LIB-007", NULL, TBK_CASE_RAW | TBK_CASE_FRESH, creation_starts_no_thread),
    TBK_CASE("LIB-007", NULL, TBK_CASE_RAW | TBK_CASE_FRESH, creation_starts_no_process),
    TBK_CASE("LIB-007", NULL, TBK_CASE_RAW, creation_opens_no_device),
    TBK_CASE("LIB-008", NULL, TBK_CASE_RAW, the_log_may_be_missing),
    TBK_CASE("LIB-008", NULL, TBK_CASE_RAW, the_log_may_be_there),
    TBK_CASE("LIB-008", NULL, TBK_CASE_RAW, the_options_may_be_missing),
    TBK_CASE("LIB-008", NULL, TBK_CASE_RAW, the_options_may_be_empty),
    TBK_CASE("ERR-001", NULL, TBK_CASE_RAW, a_failed_creation_leaves_the_result_alone),
    TBK_CASE("ERR-008", NULL, TBK_CASE_RAW, a_failed_creation_gives_a_reason),
    TBK_CASE("ERR-008", NULL, TBK_CASE_RAW, a_failed_creation_gives_a_reason_for_options),
    TBK_CASE("ERR-008", NULL, TBK_CASE_RAW, nobody_has_to_take_the_reason),
    TBK_CASE("ERR-001", NULL, TBK_CASE_RAW, a_creation_succeeds_after_a_failed_one),
    TBK_CASE("ERR-009", NULL, TBK_CASE_RAW, a_failed_creation_answers_with_the_status_it_names),
    TBK_CASE("ERR-010", NULL, TBK_CASE_RAW, a_creation_needs_no_place_for_a_message),
    TBK_CASE("ERR-011", NULL, TBK_CASE_RAW, a_creation_that_succeeds_writes_no_message),
    TBK_CASE("THR-001", NULL, TBK_CASE_RAW, threads_make_instances_at_the_same_time),
};
TBK_SUITE(library);
