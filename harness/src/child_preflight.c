/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * child_preflight.c: see child_preflight.h.
 */
#include "child_preflight.h"

#include "child_report.h"
#include "clock.h"
#include "launcher.h"
#include "resources.h"
#include "text.h"

#include <string.h>

bool tbk_child_say_health(tbk_session_t* session) {
  char reason[256] = "";
  tbk_device_forget_held();
  bool sound = tbk_health_probe(session, reason, sizeof reason);
  tbk_json_t* json = tbk_child_report_begin("health");
  tbk_json_bool(json, "ok", sound);
  tbk_json_text(json, "reason", reason);
  if (tbk_device_held()) tbk_json_bool(json, "device_held", true);
  tbk_child_report_send();
  return sound;
}

static void say_backend(const tbk_backend_t* backend) {
  tbk_json_t* json = tbk_child_report_begin("backend");
  tbk_json_bytes(json, "name", backend->name, strnlen(backend->name, 256));
  tbk_json_bytes(json, "version", backend->version, strnlen(backend->version, 256));
  tbk_json_unsigned(json, "abi_version", backend->abi_version);
  tbk_child_report_send();
}

static void say_flags(tbk_json_t* json, uint64_t flags) {
#define SAY_FLAG(word, bit) tbk_json_bool(json, word, (flags & (bit)) != 0);
  TBK_DEVICE_FLAG_MAP(SAY_FLAG)
#undef SAY_FLAG
}

static void say_dtypes(tbk_json_t* json, uint64_t dtypes) {
  tbk_json_open(json, "dtypes", '[');
#define SAY_DTYPE(name, value, size_bytes) \
  if ((dtypes >> (value)&1) != 0) tbk_json_text(json, NULL, #name);
  TBK_DTYPE_MAP(SAY_DTYPE)
#undef SAY_DTYPE
  tbk_json_close(json, ']');
}

static void say_device(const tbk_device_properties_t* properties) {
  tbk_json_t* json = tbk_child_report_begin("device");
  tbk_json_bytes(json, "name", properties->name ? properties->name : "",
                 properties->name ? strnlen(properties->name, 256) : 0);
  if (properties->driver != NULL)
    tbk_json_bytes(json, "driver", properties->driver, strnlen(properties->driver, 1024));
  say_flags(json, properties->flags);
  tbk_json_unsigned(json, "memory_bytes", properties->memory_bytes);
  tbk_json_unsigned(json, "max_allocation_bytes", properties->max_allocation_bytes);
  tbk_json_unsigned(json, "memory_alignment", properties->memory_alignment);
  tbk_json_unsigned(json, "copy_granularity", properties->copy_granularity);
  say_dtypes(json, properties->dtypes);
  tbk_json_signed(json, "max_rank", properties->max_rank);
  tbk_json_signed(json, "priority_least", properties->priority_least);
  tbk_json_signed(json, "priority_greatest", properties->priority_greatest);
  tbk_child_report_send();
}

/* An interface that answers with a number has its log for the reason. */
static _Noreturn void say_no_device(void) {
  char reason[512];
  const char* warning = tbk_library_warning();
  tbk_print(reason, sizeof reason, "the library counts no device%s%s", *warning ? ": " : "",
            warning);
  tbk_child_report_error("device", reason);
}

/* Describes at most 16 devices: the others count. */
static void say_devices(const tbk_backend_t* backend) {
  tbk_error_t error = {""};
  int32_t count = 0;
  if (backend->core->device_count(backend->instance, &count, &error) != TBK_OK)
    tbk_child_report_error("device", "device_count fails");
  if (count < 1) say_no_device();
  for (int32_t device = 0; device < count && device < 16; device++) {
    tbk_device_properties_t properties = {.struct_size = sizeof properties};
    if (backend->core->device_properties(backend->instance, device, &properties, &error) == TBK_OK)
      say_device(&properties);
  }
}

/* In lines of their own: one that is too long is lost alone. */
static void say_unverified(void) {
  const char* sentence;
  for (size_t i = 0; (sentence = tbk_library_unverified(i)) != NULL; i++) {
    tbk_json_t* json = tbk_child_report_begin("unverified");
    tbk_json_bytes(json, "text", sentence, strlen(sentence));
    tbk_child_report_send();
  }
}

static void say_need(tbk_json_t* json, size_t index, const tbk_need_set_t* held) {
  tbk_json_bool(json, tbk_need_word(index), tbk_need_set_has(held, index));
}

static void say_needs(const tbk_need_set_t* held) {
  tbk_json_t* json = tbk_child_report_begin("capabilities");
  tbk_json_open(json, "held", '{');
  for (size_t i = 0; i < TBK_NEED_COUNT; i++)
    say_need(json, i, held);
  tbk_json_close(json, '}');
  tbk_child_report_send();
}

static tbk_need_set_t declared(const tbk_backend_t* backend) {
  tbk_need_set_t held = {{0}};
  for (size_t i = 0; i < TBK_NEED_COUNT; i++)
    if (tbk_needs_missing(backend, tbk_need_word(i)) == NULL) tbk_need_set_add(&held, i);
  return held;
}

/* Gives up while there is time left to say so: at its deadline the process is killed. */
static tbk_status_t open_device(tbk_session_t* session, uint64_t timeout_ns, tbk_error_t* error) {
  const uint64_t until = tbk_now_ns() + timeout_ns / 4 * 3;
  tbk_status_t status;
  do /* another process has it; it may let go */
    status = tbk_session_open(session, error);
  while (status == TBK_UNAVAILABLE && tbk_now_ns() < until);
  return status;
}

static void say_opened(tbk_session_t* session, uint64_t timeout_ns) {
  char reason[512];
  tbk_error_t error = {""};
  tbk_set_phase(TBK_PHASE_OPEN);
  tbk_status_t status = open_device(session, timeout_ns, &error);
  if (status != TBK_OK) {
    tbk_print(reason, sizeof reason, "device 0 cannot be opened: %s%s%.255s",
              tbk_status_name(status), error.message[0] ? ": " : "", error.message);
    tbk_child_report_error("device", reason);
  }
  tbk_json_t* json = tbk_child_report_begin("opened");
  tbk_json_unsigned(json, "duration_ns", tbk_device_opening_ns());
  tbk_child_report_send();
}

static void say_probe(tbk_session_t* session) {
  char reason[512] = "";
  tbk_need_set_t held = {{0}};
  if (!tbk_session_probe(session, &held, reason, sizeof reason))
    tbk_child_report_error("device", reason);
  say_needs(&held);
  tbk_json_t* json = tbk_child_report_begin("gate");
  tbk_json_unsigned(json, "kind", (uint64_t)session->gate);
  tbk_json_signed(json, "wait_blocks", session->wait_blocks);
  tbk_child_report_send();
}

void tbk_child_preflight(tbk_session_t* session, uint32_t skip, uint64_t open_timeout_ns) {
  tbk_set_phase(TBK_PHASE_CREATE);
  if (tbk_library_create(&session->library) != TBK_LOAD_OK)
    tbk_child_report_error("library", session->library.reason);
  const tbk_backend_t* backend = session->library.backend;
  say_backend(backend);
  say_devices(backend);
  say_unverified();
  const tbk_need_set_t held = declared(backend);
  say_needs(&held);
  say_opened(session, open_timeout_ns);
  tbk_set_phase(TBK_PHASE_BODY);
  if ((skip & TBK_SKIP_PROBE) == 0) say_probe(session);
  if ((skip & TBK_SKIP_HEALTH) == 0) (void)tbk_child_say_health(session);
}
