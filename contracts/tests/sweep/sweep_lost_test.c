/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which call of all calls: every function in the map of tables is called on a lost device.
 */
#include <string.h>

#include "every_call.h"

/*
 * What is not said of a lost device: how devices are counted, described, opened and closed, whether
 * one reaches another, and giving back, which always succeeds.
 */
static bool is_exempt(const call_row_t* row) {
  const char* end = row->function + strlen(row->function);
  bool of_devices = strcmp(row->table, "core") == 0 && strncmp(row->function, "device_", 7) == 0;
  bool gives_back = end - row->function > 5 && strcmp(end - 5, "_free") == 0;
  return !row->fallible || of_devices || gives_back || strstr(row->function, "_can_") != NULL;
}

/* Twice around: that it stays lost is true after every other call. */
static void every_function_tells_that_the_device_is_lost(tbk_fixture_t* fx) {
  every_call_t* made = every_call_make(fx);
  tbk_status_t status =
      fx->fault->fault_enqueue(fx->self, made->stream, TBK_FAULT_DEVICE_LOST, &fx->error);
  CHECK(status == TBK_OK || status == TBK_DEVICE_LOST);
  CHECK_STATUS(TBK_DEVICE_LOST, fx->stream->stream_synchronize(fx->self, made->stream, &fx->error));
  for (size_t i = 0; i < 2 * every_call_count; i++) {
    const call_row_t* row = &every_call[i % every_call_count];
    if (is_exempt(row) || !row->offered(fx, made)) continue;
    fx->error.message[0] = '\0';
    status = row->call(fx, made);
    CHECK_SAID(status == TBK_DEVICE_LOST, "DEVICE_LOST", "%s from %s", tbk_status_name(status),
               row->function);
    CHECK_SAID(status == TBK_OK || fx->error.message[0] != '\0', "a reason with DEVICE_LOST",
               "none from %s", row->function);
  }
  every_call_end(fx, made);
}

static const tbk_case_t cases[] = {
    TBK_CASE("FLT-003", "fault", TBK_CASE_FRESH, every_function_tells_that_the_device_is_lost),
};
TBK_SUITE(sweep_lost);
