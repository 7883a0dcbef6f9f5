/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "resources.h"
#include "tables.h"
#include "trace.h"

#include <unistd.h>

static volatile int32_t private_cell;
volatile int32_t* tbk_phase_cell = &private_cell;

void tbk_set_phase(tbk_phase_t phase) {
  *tbk_phase_cell = (int32_t)phase;
}

const char* tbk_phase_name(tbk_phase_t phase) {
  static const char* const names[] = {"none", "load",  "create", "open",
                                      "body", "clean", "close",  "exit"};
  return (unsigned)phase < sizeof names / sizeof *names ? names[phase] : "unknown";
}

bool tbk_session_create(tbk_session_t* session) {
  if (session->library.backend != NULL) return true;
  tbk_set_phase(TBK_PHASE_CREATE);
  if (tbk_library_create(&session->library) != TBK_LOAD_OK) return false;
  session->library.backend = tbk_trace_wrap(session->library.backend);
  return true;
}

enum { PAUSE_US = 1000, PATIENCE_NS = 200000000 };

static _Atomic bool device_held;
static _Atomic uint64_t opening_ns;

bool tbk_device_held(void) {
  return device_held;
}

void tbk_device_forget_held(void) {
  device_held = false;
}

static bool is_exclusive(const tbk_backend_t* backend, int32_t device) {
  tbk_device_properties_t properties = {.struct_size = sizeof properties};
  tbk_error_t error;
  return backend->core->device_properties(backend->instance, device, &properties, &error) ==
             TBK_OK &&
         (properties.flags & TBK_DEVICE_EXCLUSIVE) != 0;
}

/* What went wrong before a refusal is no consequence of it. */
void tbk_device_note_opening(const tbk_backend_t* backend, int32_t device, tbk_status_t status) {
  if (status == TBK_UNAVAILABLE && !device_held && !tbk_checks_failed())
    device_held = is_exclusive(backend, device);
}

tbk_status_t tbk_open_within(const tbk_core_t* core, tbk_instance_t* self, int32_t device,
                             tbk_error_t* error, uint64_t patience_ns) {
  const bool held_before = device_held;
  const int32_t phase = *tbk_phase_cell;
  const uint64_t until = fx_awake_ns() + patience_ns;
  tbk_set_phase(TBK_PHASE_OPEN);
  tbk_status_t status;
  for (;;) {
    const uint64_t began_ns = fx_now_ns();
    status = core->device_open(self, device, error);
    opening_ns = fx_now_ns() - began_ns;
    if (status != TBK_UNAVAILABLE || fx_awake_ns() >= until) break;
    (void)usleep(PAUSE_US);
  }
  tbk_set_phase((tbk_phase_t)phase);
  if (status == TBK_OK) device_held = held_before;
  return status;
}

tbk_status_t tbk_device_open_timed(const tbk_backend_t* backend, int32_t device,
                                   tbk_error_t* error) {
  tbk_status_t status =
      tbk_open_within(backend->core, backend->instance, device, error, PATIENCE_NS);
  tbk_device_note_opening(backend, device, status);
  return status;
}

uint64_t tbk_device_opening_ns(void) {
  return opening_ns;
}

tbk_status_t tbk_session_open(tbk_session_t* session, tbk_error_t* error) {
  if (session->device_open) return TBK_OK;
  const tbk_backend_t* backend = session->library.backend;
  tbk_status_t status =
      backend->core->device_count(backend->instance, &session->device_count, error);
  if (status != TBK_OK) return status;
  session->properties = (tbk_device_properties_t){.struct_size = sizeof session->properties};
  status = backend->core->device_properties(backend->instance, 0, &session->properties, error);
  if (status != TBK_OK) return status;
  status = tbk_device_open_timed(backend, 0, error);
  session->device_open = status == TBK_OK;
  return status;
}

tbk_status_t tbk_session_close(tbk_session_t* session, tbk_error_t* error) {
  if (!session->device_open) return TBK_OK;
  const tbk_backend_t* backend = session->library.backend;
  session->device_open = 0;
  return backend->core->device_close(backend->instance, 0, error);
}

void tbk_session_end(tbk_session_t* session) {
  const tbk_backend_t* backend = session->library.backend;
  if (backend == NULL) return;
  tbk_set_phase(TBK_PHASE_CLOSE);
  tbk_error_t error;
  (void)!tbk_session_close(session, &error);
  session->library.backend = NULL;
  backend->core->destroy(backend->instance);
}

void tbk_fixture_fill(tbk_fixture_t* fx, tbk_session_t* session, unsigned flags) {
  fx->create = session->library.create;
  fx->host = &session->library.host;
  fx->gate = session->gate;
  fx->blocking = (unsigned)session->wait_blocks;
  fx->wait_blocks = (session->wait_blocks & TBK_ENQUEUE_WAIT) != 0;
  if ((flags & TBK_CASE_RAW) != 0) return;
  fx->backend = session->library.backend;
  fx->self = fx->backend->instance;
  fx->core = fx->backend->core;
#define FILL(name, type, needs) \
  fx->name = tbk_table_usable(fx->backend, #name) ? fx->backend->name : NULL;
  TBK_TABLE_MAP(FILL)
#undef FILL
}

void tbk_fixture_opened(tbk_fixture_t* fx, const tbk_session_t* session) {
  fx->device = 0;
  fx->device_count = session->device_count;
  fx->properties = session->properties;
}
