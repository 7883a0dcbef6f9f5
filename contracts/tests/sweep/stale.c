/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "stale.h"

#include "resources.h"

#include <string.h>

enum { BYTES = 4096 };

/* ------------------------------------------------------------------------------------- to be made -- */

/* The operands of the operation are the fixture's. */
static void make_plan(tbk_fixture_t* fx, stale_t* it, operation_t* operation,
                      uint64_t* out_workspace) {
  for (int id = 0; fx->kernel != NULL && id < OPERATORS && it->plan == NULL; id++) {
    const tbk_kernel_t* kernel = operation_find(fx, (operator_id_t)id);
    if (!operation_has_plans(kernel)) continue;
    operation_make_plain(fx, operation, (operator_id_t)id);
    if (kernel->prepare(fx->self, fx->device, kernel, &operation->wire->arguments, &it->plan,
                        out_workspace, &fx->error) != TBK_OK)
      it->plan = NULL;
    it->plan_destroy = kernel->plan_destroy; /* the kernel goes with the open device */
  }
}

static void make_objects(tbk_fixture_t* fx, stale_t* it) {
  const uint64_t bytes = fx_round(fx, BYTES);
  REQUIRE_OK(fx->core->memory_alloc(fx->self, fx->device, bytes, &it->memory, &fx->error));
  if (fx->stream != NULL) {
    REQUIRE_OK(fx->stream->stream_create(fx->self, fx->device, 0, &it->stream, &fx->error));
    REQUIRE_OK(fx->stream->stream_create(fx->self, fx->device, 0, &it->other, &fx->error));
  }
  if (fx->async_memory != NULL)
    REQUIRE_OK(fx->async_memory->async_alloc(fx->self, it->stream, bytes, &it->async, &fx->error));
  if (fx->event != NULL)
    REQUIRE_OK(fx->event->event_create(fx->self, fx->device, 0, &it->event, &fx->error));
  if (fx->pinned != NULL)
    REQUIRE_OK(fx->pinned->pinned_alloc(fx->self, fx->device, bytes, &it->pinned, &fx->error));
}

void stale_make(tbk_fixture_t* fx, stale_t* it) {
  operation_t operation;
  uint64_t workspace = 0;
  make_objects(fx, it);
  make_plan(fx, it, &operation, &workspace);
}

/* ----------------------------------------------------------------------------- to be given back -- */

/* Memory and streams of either kind, and what the fixture has: a place that is free again may be given to any. */
static bool is_live_memory(const tbk_fixture_t* fx, const live_t* live, tbk_memory_t memory) {
  return live != NULL && (memory == live->of.memory || memory == live->of.async ||
                          tbk_list_has(&fx->resources->memory, &memory, sizeof memory));
}

static bool is_live_stream(const live_t* live, const tbk_stream_t* stream) {
  return live != NULL && (stream == live->of.stream || stream == live->of.other);
}

static void give_memory(tbk_fixture_t* fx, const stale_t* it, const live_t* live) {
  if (!is_live_memory(fx, live, it->memory))
    CHECK_OK(fx->core->memory_free(fx->self, fx->device, it->memory, &fx->error));
  if (it->async != 0 && !is_live_memory(fx, live, it->async) && !is_live_stream(live, it->stream))
    (void)!fx->async_memory->async_free(fx->self, it->stream, it->async, &fx->error);
}

static void give_stream(tbk_fixture_t* fx, tbk_stream_t* stream, const live_t* live) {
  if (stream != NULL && !is_live_stream(live, stream)) fx->stream->stream_destroy(fx->self, stream);
}

/* Returns false where a device gives each handle again at once: then there is nothing stale. */
bool stale_is_any(const tbk_fixture_t* fx, const stale_t* it, const live_t* live) {
  const bool memory = !is_live_memory(fx, live, it->memory);
  const bool stream = it->stream != NULL && !is_live_stream(live, it->stream);
  return memory || stream || it->event != live->of.event || it->pinned != live->of.pinned ||
         it->plan != live->of.plan;
}

void stale_give_back(tbk_fixture_t* fx, const stale_t* it, const live_t* live) {
  const stale_t* now = live != NULL ? &live->of : NULL;
  give_memory(fx, it, live);
  give_stream(fx, it->stream, live);
  give_stream(fx, it->other, live);
  if (it->event != NULL && (now == NULL || it->event != now->event))
    fx->event->event_destroy(fx->self, it->event);
  if (it->pinned != NULL && (now == NULL || it->pinned != now->pinned))
    fx->pinned->pinned_free(fx->self, it->pinned);
  if (it->plan != NULL && (now == NULL || it->plan != now->plan))
    it->plan_destroy(fx->self, it->plan);
}

/* ------------------------------------------------------------------------------- what is alive -- */

void live_make(tbk_fixture_t* fx, live_t* it) {
  uint64_t workspace = 0;
  memset(it, 0, sizeof *it);
  it->bytes = fx_round(fx, BYTES);
  it->held = fx_bytes(fx, it->bytes);
  make_objects(fx, &it->of);
  make_plan(fx, &it->of, &it->operation, &workspace);
  if (workspace > 0) it->workspace = fx_alloc(fx, workspace);
  fx_upload(fx, it->of.memory, it->held, it->bytes);
  if (it->of.pinned != NULL) memcpy(it->of.pinned, it->held, it->bytes);
  if (it->of.async != 0)
    CHECK_OK(fx->core->upload(fx->self, fx->device, it->of.async, 0, it->held, it->bytes,
                              it->of.stream, &fx->error));
  if (it->of.event != NULL)
    CHECK_OK(fx->event->event_record(fx->self, it->of.event, it->of.stream, &fx->error));
  if (it->of.stream != NULL) fx_synchronize(fx, it->of.stream);
}

/* Brings what it holds to the host and to fresh memory, so that the stream is shown to move both ways. */
static void check_stream(tbk_fixture_t* fx, const live_t* it, tbk_stream_t* stream) {
  uint8_t* seen = fx_zeros(fx, it->bytes);
  const tbk_memory_t memory = fx_alloc(fx, it->bytes);
  CHECK_OK(
      fx->core->upload(fx->self, fx->device, memory, 0, it->held, it->bytes, stream, &fx->error));
  CHECK_OK(
      fx->core->download(fx->self, fx->device, seen, memory, 0, it->bytes, stream, &fx->error));
  if (it->of.event != NULL) {
    CHECK_OK(fx->event->event_query(fx->self, it->of.event, &fx->error));
    CHECK_OK(fx->event->event_record(fx->self, it->of.event, stream, &fx->error));
    CHECK_OK(fx->event->event_synchronize(fx->self, it->of.event, &fx->error));
  }
  fx_synchronize(fx, stream);
  CHECK_BYTES(it->held, seen, it->bytes);
}

static void check_plan(tbk_fixture_t* fx, live_t* it) {
  operation_t* operation = &it->operation;
  if (it->of.plan == NULL) return;
  if (CHECK_OK(operation->kernel->launch_plan(fx->self, fx->device, it->of.plan,
                                              &operation->wire->arguments, it->workspace, 0, NULL,
                                              &fx->error)))
    OPERATION_CHECK(fx, operation);
}

void live_check(tbk_fixture_t* fx, live_t* it) {
  FX_CHECK_MEMORY(fx, it->held, it->of.memory, it->bytes);
  if (it->of.async != 0) FX_CHECK_MEMORY(fx, it->held, it->of.async, it->bytes);
  if (it->of.pinned != NULL) CHECK_BYTES(it->held, it->of.pinned, it->bytes);
  if (it->of.stream != NULL) check_stream(fx, it, it->of.stream);
  if (it->of.other != NULL) check_stream(fx, it, it->of.other);
  check_plan(fx, it);
}

void live_end(tbk_fixture_t* fx, live_t* it) {
  stale_give_back(fx, &it->of, NULL);
}
