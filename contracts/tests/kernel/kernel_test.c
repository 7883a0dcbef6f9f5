/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels: how they are found, and what they accept. In which order they run is in
 * kernel_order_test.c, what they refuse in kernel_refusal_test.c, what they compute in the files of
 * values, conversions, shapes and places; plans are in kernel_plan_test.c.
 */
#include "operation.h"
#include "range.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------ lookup -- */

static const tbk_kernel_t* find(tbk_fixture_t* fx, int32_t device, const char* name,
                                uint32_t version) {
  return fx->kernel->kernel_find(fx->self, device, name, version);
}

static void a_kernel_is_found_on_an_open_device_only(tbk_fixture_t* fx) {
  for (int id = 0; id < OPERATORS; ++id)
    CHECK(find(fx, 0, operation_name(id), operation_version(id)) == NULL);
  fx_open(fx);
  const int32_t bad[] = {fx->device_count, -1, INT32_MAX, INT32_MIN};
  for (int id = 0; id < OPERATORS; ++id)
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
      CHECK(find(fx, bad[i], operation_name(id), operation_version(id)) == NULL);
  fx_close(fx);
  for (int id = 0; id < OPERATORS; ++id)
    CHECK(find(fx, 0, operation_name(id), operation_version(id)) == NULL);
}

static void an_unknown_name_is_not_found(tbk_fixture_t* fx) {
  static const char* const names[] = {
      "",          ".",           "add.",        "Add.Tensor", "add.tensor", "add.Tensor ",
      " mm",       " add.Tensor", "add.TensorX", "add.Tenso",  "fill_.",     "fill_.Scala",
      "copy_.",    "copy_X",      "mm.",         "mm ",        "aten::mm",   "where.self ",
      "where.sel", "add",         "mul",         "fill_",      "%s%s%s%n",   "no.such"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    for (uint32_t version = 0; version < 3; ++version)
      CHECK_SAID(find(fx, fx->device, names[i], version) == NULL, "NULL", "a kernel for \"%s\"",
                 names[i]);
}

static void a_long_name_is_not_found(tbk_fixture_t* fx) {
  char* name = (char*)fx_zeros(fx, 70000);
  for (size_t length = 1; length < 70000; length = length * 3 + 1) {
    memset(name, 'm', length);
    name[length] = '\0';
    CHECK(length == 2 || find(fx, fx->device, name, 1) == NULL);
  }
}

static void an_unknown_version_is_not_found(tbk_fixture_t* fx) {
  static const uint32_t far[] = {0, 1000, 0x80000000u, UINT32_MAX};
  for (int id = 0; id < OPERATORS; ++id) {
    for (size_t i = 0; i < sizeof far / sizeof *far; ++i)
      CHECK_SAID(find(fx, fx->device, operation_name(id), far[i]) == NULL, "NULL",
                 "a kernel for %s, version %u", operation_name(id), far[i]);
  }
}

static void check_found(tbk_fixture_t* fx, operator_id_t id) {
  const tbk_kernel_t* kernel = operation_find(fx, id);
  char name[64];
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    snprintf(name, sizeof name, "%s", operation_name(id)); /* at another address */
    CHECK(find(fx, fx->device, name, operation_version(id)) == kernel);
    memset(name, 'x', sizeof name);
  }
  for (int other = 0; other < OPERATORS; ++other)
    CHECK(other == (int)id || operation_find(fx, other) != kernel);
}

static void a_kernel_is_the_same_each_time(tbk_fixture_t* fx) {
  operation_for_each(fx, check_found);
}

static void check_table(tbk_fixture_t* fx, operator_id_t id) {
  const tbk_kernel_t* kernel = operation_find(fx, id);
  (void)fx;
  CHECK(kernel->struct_size >= offsetof(tbk_kernel_t, launch) + sizeof kernel->launch);
  CHECK(kernel->struct_size < 65536);
  CHECK(TBK_HAS(kernel, tbk_kernel_t, launch));
  bool prepare = TBK_HAS(kernel, tbk_kernel_t, prepare) != 0;
  CHECK(prepare == (TBK_HAS(kernel, tbk_kernel_t, launch_plan) != 0));
  CHECK(prepare == (TBK_HAS(kernel, tbk_kernel_t, plan_destroy) != 0));
}

static void a_kernel_has_its_entries(tbk_fixture_t* fx) {
  operation_for_each(fx, check_table);
}

/* ---------------------------------------------------------------------------- accepted at all -- */

static void check_plain(tbk_fixture_t* fx, operator_id_t id) {
  operation_t operation;
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    size_t mark = room_mark(fx);
    operation_make_plain(fx, &operation, id);
    CHECK_SAID(OPERATION_RUN(fx, &operation), "contiguous float32 accepted",
               "UNSUPPORTED from %s: %s", operation_name(id), fx->error.message);
    room_release(fx, mark);
  }
}

static void plain_float32_is_accepted(tbk_fixture_t* fx) {
  operation_for_each(fx, check_plain);
}

static void plain_float32_is_accepted_on_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  operation_for_each(fx, check_plain);
}

/* -------------------------------------------------------------------------------- struct size -- */

static void check_short_arguments(tbk_fixture_t* fx, operator_id_t id) {
  operation_t operation;
  operation_make_plain(fx, &operation, id);
  size_t whole = operation_arguments_size(id);
  const size_t sizes[] = {0, 1, sizeof(size_t), whole - sizeof(void*), whole - 1};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    operation.wire->arguments.struct_size = sizes[i];
    CHECK_STATUS(TBK_INVALID, operation_launch(fx, &operation, NULL));
    if (!operation_has_plans(operation.kernel)) continue;
    tbk_plan_t* plan = (tbk_plan_t*)(void*)&operation;
    uint64_t bytes = 77;
    CHECK_STATUS(TBK_INVALID,
                 operation.kernel->prepare(fx->self, fx->device, operation.kernel,
                                           &operation.wire->arguments, &plan, &bytes, &fx->error));
    CHECK((void*)plan == (void*)&operation && bytes == 77);
  }
  operation_check_untouched(fx, &operation, TBK_HERE("launch"));
}

static void arguments_cut_short_are_refused(tbk_fixture_t* fx) {
  operation_for_each(fx, check_short_arguments);
}

/* UNSUPPORTED also where there is no `prepare`. */
static tbk_status_t prepare_once(tbk_fixture_t* fx, const operation_t* operation) {
  const tbk_kernel_t* kernel = operation->kernel;
  tbk_plan_t* plan = NULL;
  uint64_t bytes = 0;
  if (!operation_has_plans(kernel)) return TBK_UNSUPPORTED;
  tbk_status_t status = kernel->prepare(fx->self, fx->device, kernel, &operation->wire->arguments,
                                        &plan, &bytes, &fx->error);
  if (status == TBK_OK) kernel->plan_destroy(fx->self, plan);
  return status;
}

/* What is accepted, or refused, at its own size is so at a larger one. */
static void check_longer_arguments(tbk_fixture_t* fx, operator_id_t id) {
  operation_t operation;
  operation_make_plain(fx, &operation, id);
  bool accepted = OPERATION_RUN(fx, &operation);
  tbk_status_t planned = prepare_once(fx, &operation);
  size_t whole = operation_arguments_size(id);
  memset(operation.wire->arguments.room + whole, 0xdd, sizeof operation.wire->arguments - whole);
  operation.wire->arguments.struct_size = sizeof operation.wire->arguments;
  CHECK_EQUAL(accepted, OPERATION_RUN(fx, &operation));
  CHECK_EQUAL(planned, prepare_once(fx, &operation));
}

static void arguments_of_a_later_host_are_accepted(tbk_fixture_t* fx) {
  operation_for_each(fx, check_longer_arguments);
}

static const tbk_case_t cases[] = {
    TBK_CASE("KRN-019", "kernel", TBK_CASE_CLOSED, a_kernel_is_found_on_an_open_device_only),
    TBK_CASE("KRN-020", "kernel", 0, an_unknown_name_is_not_found),
    TBK_CASE("KRN-020", "kernel", 0, a_long_name_is_not_found),
    TBK_CASE("KRN-020", "kernel", 0, an_unknown_version_is_not_found),
    TBK_CASE("KRN-021", "kernel", 0, a_kernel_is_the_same_each_time),
    TBK_CASE("KRN-025", "kernel", 0, a_kernel_has_its_entries),
    TBK_CASE("KRN-023", "kernel dtype:FLOAT32", 0, plain_float32_is_accepted),
    TBK_CASE("KRN-023", "kernel dtype:FLOAT32 two_devices", 0,
             plain_float32_is_accepted_on_the_second_device),
    TBK_CASE("KRN-001", "kernel", 0, arguments_cut_short_are_refused),
    TBK_CASE("KRN-024", "kernel dtype:FLOAT32", 0, arguments_of_a_later_host_are_accepted),
};
TBK_SUITE(kernel);
