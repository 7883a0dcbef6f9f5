/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Questions that the harness asks of a device outside any test.
 */
#include "resources.h"

#include <stdio.h>
#include <string.h>

#include <tbk/tbk_operators.h>

enum { HEALTH_BYTES = 4096 };

struct health {
  tbk_fixture_t fx;
  tbk_memory_t memory[2];
  tbk_stream_t* stream;
  uint8_t sent[HEALTH_BYTES];
  uint8_t got[HEALTH_BYTES];
  const char* doing;
};

static bool enter(tbk_session_t* session, tbk_fixture_t* fx, char* out_reason, size_t reason_size) {
  memset(fx, 0, sizeof *fx);
  if (!tbk_session_create(session)) {
    snprintf(out_reason, reason_size, "%s", session->library.reason);
    return false;
  }
  tbk_set_phase(TBK_PHASE_OPEN);
  tbk_status_t status = tbk_session_open(session, &fx->error);
  if (status != TBK_OK) {
    snprintf(out_reason, reason_size, "device 0 cannot be opened: %s %.*s", tbk_status_name(status),
             (int)sizeof fx->error.message, fx->error.message);
    return false;
  }
  fx->seed = session->seed ^ fx_now_ns();
  tbk_fixture_fill(fx, session, 0);
  tbk_fixture_opened(fx, session);
  tbk_resources_begin(fx, session, NULL);
  return true;
}

bool tbk_session_probe(tbk_session_t* session, tbk_need_set_t* out_held, char* out_reason,
                       size_t reason_size) {
  tbk_fixture_t fx;
  if (!enter(session, &fx, out_reason, reason_size)) return false;
  tbk_checks_begin();
  *out_held = tbk_needs_probe(&fx);
  tbk_needs_assume(out_held);
  gate_probe(&fx);
  tbk_set_phase(TBK_PHASE_CLEAN);
  tbk_resources_clean(&fx);
  tbk_set_phase(TBK_PHASE_NONE);
  return true;
}

/* Runs the next step if all went well so far, and remembers its name. */
#define STEP(h, status, name, call) \
  do {                              \
    if ((status) == TBK_OK) {       \
      (h)->doing = (name);          \
      (status) = (call);            \
    }                               \
  } while (0)

static tbk_status_t copies(struct health* h) {
  tbk_fixture_t* fx = &h->fx;
  tbk_error_t* error = &fx->error;
  tbk_status_t status = TBK_OK;
  for (int i = 0; i < 2; i++) {
    STEP(h, status, "memory_alloc",
         fx->core->memory_alloc(fx->self, 0, HEALTH_BYTES, &h->memory[i], error));
  }
  STEP(h, status, "upload",
       fx->core->upload(fx->self, 0, h->memory[0], 0, h->sent, HEALTH_BYTES, NULL, error));
  if (fx->stream != NULL) {
    STEP(h, status, "stream_create", fx->stream->stream_create(fx->self, 0, 0, &h->stream, error));
  }
  STEP(h, status, "copy",
       fx->core->copy(fx->self, 0, h->memory[1], 0, h->memory[0], 0, HEALTH_BYTES, h->stream,
                      error));
  if (h->stream != NULL) {
    STEP(h, status, "stream_synchronize",
         fx->stream->stream_synchronize(fx->self, h->stream, error));
  }
  STEP(h, status, "download",
       fx->core->download(fx->self, 0, h->got, h->memory[1], 0, HEALTH_BYTES, NULL, error));
  return status;
}

/* Doubles what was sent, where the device adds 32-bit integers. */
static tbk_status_t computes(struct health* h, bool* out_done) {
  tbk_fixture_t* fx = &h->fx;
  const tbk_kernel_t* kernel =
      fx->kernel != NULL
          ? fx->kernel->kernel_find(fx->self, 0, TBK_NAME_add_Tensor, TBK_VERSION_add_Tensor)
          : NULL;
  *out_done = false;
  if (kernel == NULL || (fx->properties.dtypes >> TBK_INT32 & 1) == 0) return TBK_OK;
  const int64_t sizes[] = {HEALTH_BYTES / 4}, strides[] = {1};
  tbk_tensor_t in = {sizeof in, h->memory[0], HEALTH_BYTES, 0, TBK_INT32, 1, sizes, strides};
  tbk_tensor_t out = in;
  out.memory = h->memory[1];
  tbk_args_add_Tensor_t arguments = {.struct_size = sizeof arguments,
                                     .self = &in,
                                     .other = &in,
                                     .alpha = {.kind = TBK_SCALAR_INT, .integer = 1},
                                     .out = &out};
  tbk_status_t status = TBK_OK;
  STEP(h, status, "launch of add.Tensor",
       kernel->launch(fx->self, 0, kernel, &arguments, NULL, &fx->error));
  if (status == TBK_UNSUPPORTED) return TBK_OK;
  STEP(h, status, "download",
       fx->core->download(fx->self, 0, h->got, h->memory[1], 0, HEALTH_BYTES, NULL, &fx->error));
  *out_done = true;
  return status;
}

static bool doubled(const struct health* h) {
  for (size_t i = 0; i < HEALTH_BYTES; i += 4) {
    uint32_t sent, got;
    memcpy(&sent, h->sent + i, 4);
    memcpy(&got, h->got + i, 4);
    if (got != 2 * sent) return false;
  }
  return true;
}

static const char* look(struct health* h, tbk_status_t* out_status) {
  bool computed = false;
  *out_status = copies(h);
  if (*out_status != TBK_OK) return h->doing;
  if (memcmp(h->sent, h->got, HEALTH_BYTES) != 0) return "what is copied there and back differs";
  *out_status = computes(h, &computed);
  if (*out_status != TBK_OK) return h->doing;
  return computed && !doubled(h) ? "add.Tensor computes wrong sums" : NULL;
}

bool tbk_health_probe(tbk_session_t* session, char* out_reason, size_t reason_size) {
  static struct health h;
  h = (struct health){.doing = "device_open"};
  if (!enter(session, &h.fx, out_reason, reason_size)) return false;
  for (size_t i = 0; i < HEALTH_BYTES; i += 8) {
    uint64_t word = fx_random(&h.fx);
    memcpy(h.sent + i, &word, 8);
  }
  tbk_status_t status;
  const char* wrong = look(&h, &status);
  if (wrong != NULL) {
    snprintf(out_reason, reason_size, "%s%s%s %.*s", wrong, status != TBK_OK ? " answers " : "",
             status != TBK_OK ? tbk_status_name(status) : "",
             status != TBK_OK ? (int)sizeof h.fx.error.message : 0, h.fx.error.message);
  }
  if (h.stream != NULL) h.fx.stream->stream_destroy(h.fx.self, h.stream);
  for (int i = 0; i < 2; i++) {
    if (h.memory[i] == 0) continue;
    tbk_status_t freed = h.fx.core->memory_free(h.fx.self, 0, h.memory[i], &h.fx.error);
    if (freed == TBK_OK || wrong != NULL) continue;
    wrong = "memory_free";
    snprintf(out_reason, reason_size, "memory_free answers %s", tbk_status_name(freed));
  }
  tbk_set_phase(TBK_PHASE_NONE);
  return wrong == NULL;
}
