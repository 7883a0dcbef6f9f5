/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the functions of the mandatory table are for, and the rows of all. Streams, callbacks and
 * events are in effects_queue.c, the other tables in effects_table.c.
 */
#include "effects_steps.h"

#include "look.h"

#include <string.h>

/* What went wrong on the way from the host to `first`, to the middle of `second` and back. */
static const char* clause_of_move(tbk_fixture_t* fx, const effects_t* on, const uint8_t* sent,
                                  tbk_memory_t first, tbk_memory_t second, tbk_stream_t* stream) {
  uint8_t seen[4096] = {0};
  if (!look_later(fx, sent, first, on->bytes)) return look_again(fx, sent, first, on->bytes);
  if (fx->core->download(fx->self, fx->device, seen, second, on->bytes, on->bytes, NULL,
                         &fx->error) != TBK_OK)
    return NULL;
  if (memcmp(sent, seen, on->bytes) != 0) return "CPY-015";
  return stream != NULL ? "STR-019" : "CPY-006"; /* it came late */
}

static void check_aligned(tbk_fixture_t* fx, tbk_memory_t memory) {
  TBK_CHECKS("MEM-003");
  CHECK((fx->properties.flags & TBK_DEVICE_FLAT_ADDRESS) == 0 ||
        memory % fx->properties.memory_alignment == 0);
}

static void check_moved(tbk_fixture_t* fx, const effects_t* on, const uint8_t* sent,
                        const uint8_t* seen, tbk_memory_t first, tbk_memory_t second,
                        tbk_stream_t* stream) {
  const bool is_right = memcmp(sent, seen, on->bytes) == 0;
  TBK_CHECKS(is_right ? NULL : clause_of_move(fx, on, sent, first, second, stream));
  CHECK_BYTES(sent, seen, on->bytes);
}

static void move(tbk_fixture_t* fx, effects_t* on, tbk_stream_t* stream) {
  uint8_t sent[4096], seen[4096] = {0};
  tbk_memory_t first = 0, second = 0;
  step_draw(sent, on->bytes);
  if (!step_take(fx, on->bytes, &first) || !step_take(fx, 3 * on->bytes, &second)) return;
  check_aligned(fx, first | second);
  step_delay(fx, on, stream);
  step_put(fx, on, first, sent, on->bytes, stream);
  CHECK_OK(STEP(fx, on,
                fx->core->copy(fx->self, fx->device, second, on->bytes, first, 0, on->bytes, stream,
                               &fx->error)));
  CHECK_OK(STEP(fx, on,
                fx->core->download(fx->self, fx->device, seen, second, on->bytes, on->bytes, stream,
                                   &fx->error)));
  step_wait_for(fx, on, stream);
  check_moved(fx, on, sent, seen, first, second, stream);
  step_drop(fx, first);
  step_drop(fx, second);
}

EFFECT(memory_alloc) {
  uint8_t seen[4096];
  tbk_memory_t none = 0;
  move(fx, on, NULL);
  move(fx, on, on->stream);
  move(fx, on, on->beside);
  if (step_take(fx, 0, &none)) step_drop(fx, none);
  if (step_get(fx, on, seen, on->memory, on->bytes, NULL))
    step_check(fx, on, on->held, seen, on->memory, NULL);
}

EFFECT(fill) {
  uint8_t expected[4096], seen[4096] = {0};
  tbk_memory_t memory = 0;
  memset(expected, 0x3C, sizeof expected);
  for (int i = 0; i < 2; i++) {
    tbk_stream_t* stream = i == 0 ? NULL : on->stream;
    if (!step_take(fx, on->bytes, &memory)) return;
    CHECK_OK(
        STEP(fx, on,
             fx->core->fill(fx->self, fx->device, memory, 0, 0x3C, on->bytes, stream, &fx->error)));
    step_get(fx, on, seen, memory, on->bytes, stream);
    step_wait_for(fx, on, stream);
    step_check(fx, on, expected, seen, memory, "CPY-018");
    step_drop(fx, memory);
  }
}

EFFECT(memory_info) {
  uint64_t free_bytes = 0, total = 0;
  CHECK_OK(fx->core->memory_info(fx->self, fx->device, &free_bytes, &total, &fx->error));
  TBK_CHECKS("MEM-018");
  CHECK_EQUAL(on->total_bytes, total);
  CHECK(free_bytes <= total);
}

EFFECT(device_properties) {
  tbk_device_properties_t now;
  memset(&now, 0, sizeof now);
  now.struct_size = sizeof now;
  CHECK_OK(fx->core->device_properties(fx->self, fx->device, &now, &fx->error));
  TBK_CHECKS("DEV-010");
  FX_CHECK_NAME(on->properties.name, now.name);
  now.name = on->properties.name;
  CHECK_BYTES(&on->properties, &now, sizeof now);
}

EFFECT(device_count) {
  int32_t count = -1;
  (void)on;
  CHECK_OK(fx->core->device_count(fx->self, &count, &fx->error));
  TBK_CHECKS("DEV-003");
  CHECK_EQUAL(fx->device_count, count);
}

EFFECT(device_open) {
  (void)on;
  TBK_CHECKS("DEV-017");
  CHECK_STATUS(TBK_INVALID_STATE, fx->core->device_open(fx->self, fx->device, &fx->error));
}

/* -------------------------------------------------------------------------------------- all --- */

/* Functions that share a program; it runs once. Those who close have tests of their own: afterwards
 * there is nothing to look at. */
#define effect_memory_free effect_memory_alloc
#define effect_upload effect_memory_alloc
#define effect_download effect_memory_alloc
#define effect_copy effect_memory_alloc
#define effect_device_close effect_device_open
#define effect_destroy effect_device_open
#define effect_stream_destroy effect_stream_create
#define effect_stream_query effect_stream_create
#define effect_stream_synchronize effect_stream_create
#define effect_device_synchronize effect_stream_create
#define effect_event_create effect_event_record
#define effect_event_destroy effect_event_record
#define effect_event_wait effect_event_record
#define effect_event_query effect_event_record
#define effect_event_synchronize effect_event_record
#define effect_pinned_free effect_pinned_alloc
#define effect_async_free effect_async_alloc

#define ROW(table, type, function) {#table, #function, effect_##function},
#define ROWS_OF(table, type, needs) TBK_MANDATORY_##table(ROW) TBK_OPTIONAL_##table(ROW)
const effect_row_t effects[] = {ROWS_OF(core, tbk_core_t, "") TBK_TABLE_MAP(ROWS_OF)};
const size_t effect_count = sizeof effects / sizeof *effects;

#define OFFERED(table, type, function) TBK_HAS(fx->table, type, function) != 0,
#define OFFERED_OF(table, type, needs) TBK_MANDATORY_##table(OFFERED) TBK_OPTIONAL_##table(OFFERED)

void effects_check(tbk_fixture_t* fx, effects_t* on) {
  const bool offered[] = {OFFERED_OF(core, tbk_core_t, "") TBK_TABLE_MAP(OFFERED_OF)};
  for (size_t i = 0; i < effect_count; i++) {
    bool again = false; /* several functions may share a program */
    for (size_t k = 0; k < i; k++)
      again = again || (offered[k] && effects[k].run == effects[i].run);
    if (offered[i] && !again) effects[i].run(fx, on);
  }
}
