/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "refusal_rows.h"

#include "book.h"

#include <string.h>

typedef struct scenery {
  scene_t scene;
  every_call_t* on;
  const refusal_t* refusal;
  const call_row_t* row;                 /* the function that refuses now */
  unsigned aspects;                      /* what is looked at */
  uint64_t bytes;                        /* of each place, whatever the calls have */
  uint8_t *memory, *other, *host, *seen; /* what they hold, and room to look at it */
  double ms;                             /* from on->event to on->end; below 0 where not known */
  tbk_stream_t* far_stream;              /* of the other device; */
  tbk_event_t *far_event, *fresh, *untimed;
} scenery_t;

/* -------------------------------------------------------------------------------- before it --- */

static void make_far(tbk_fixture_t* fx, scenery_t* it) {
  const int32_t here = fx->device;
  fx_use_device(fx, here == 0 ? fx_second_device(fx) : 0);
  it->far_stream = fx_stream(fx);
  if (fx->event != NULL) {
    it->far_event = fx_event(fx, TBK_EVENT_TIMING);
    REQUIRE_OK(fx->event->event_record(fx->self, it->far_event, it->far_stream, &fx->error));
    fx_synchronize(fx, it->far_stream);
  }
  fx_use_device(fx, here);
}

static double elapsed(tbk_fixture_t* fx, const every_call_t* on) {
  double ms = -1;
  if (!TBK_HAS(fx->event, tbk_event_ops_t, event_elapsed)) return -1;
  CHECK_OK(fx->event->event_elapsed(fx->self, on->event, on->end, &ms, &fx->error));
  return ms;
}

static void make_events(tbk_fixture_t* fx, scenery_t* it) {
  if (fx->event == NULL) return;
  it->fresh = fx_event(fx, TBK_EVENT_TIMING);
  it->untimed = fx_event(fx, 0);
  REQUIRE_OK(fx->event->event_record(fx->self, it->untimed, it->on->stream, &fx->error));
  fx_synchronize(fx, it->on->stream);
  it->ms = elapsed(fx, it->on);
}

/* Each place holds bytes of its own, so that a copy that was made all the same is seen. */
static void make_contents(tbk_fixture_t* fx, scenery_t* it) {
  every_call_t* on = it->on;
  it->memory = fx_bytes(fx, on->bytes);
  it->other = fx_bytes(fx, on->bytes);
  it->host = fx_zeros(fx, on->bytes);
  it->seen = fx_zeros(fx, on->bytes);
  memcpy(it->host, on->host, on->bytes);
  fx_upload(fx, on->memory, it->memory, on->bytes);
  fx_upload(fx, on->other, it->other, on->bytes);
}

static scenery_t* scenery_begin(tbk_fixture_t* fx, const sweep_case_t* one) {
  scenery_t* it = (scenery_t*)(void*)fx_zeros(fx, sizeof *it);
  it->refusal = refusal_of(one);
  scene_begin(fx, one, &it->scene);
  it->on = every_call_make(fx);
  if (it->scene.stream != NULL) it->on->stream = it->scene.stream;
  it->on->without_error = sweep_get(one, &sweep_error) == 1;
  it->bytes = it->on->bytes;
  make_contents(fx, it);
  if (it->refusal->wrong == OF_OTHER) make_far(fx, it);
  make_events(fx, it);
  if (sweep_get(one, &refusal_bytes) == 1) it->on->bytes = 0;
  return it;
}

/* -------------------------------------------------------------------------------- the calls --- */

static void spoil(const tbk_fixture_t* fx, scenery_t* it) {
  const refusal_t* refusal = it->refusal;
  const int64_t half = (int64_t)(fx->properties.copy_granularity / 2);
  every_call_t* on = it->on;
  bool odd = strstr(refusal->name, ":odd") != NULL;
  on->spoil = refusal->spoil;
  on->number = refusal->number;
  on->object = NULL;
  if (refusal->wrong == PAST_COUNT && refusal->number == 0) on->number = fx->device_count;
  if (odd && refusal->spoil != SPOIL_generator_offset)
    on->number = half + (refusal->spoil == SPOIL_size_bytes ? (int64_t)on->bytes : 0);
  if (refusal->wrong == OF_OTHER)
    on->object = refusal->spoil == SPOIL_stream ? (void*)it->far_stream : (void*)it->far_event;
  if (refusal->wrong == UNRECORDED) on->object = it->fresh;
  if (refusal->wrong == UNTIMED) on->object = it->untimed;
}

/* The struct of an operator lies in the wire, and is put right again. */
static tbk_status_t call_spoiled(tbk_fixture_t* fx, scenery_t* it, const call_row_t* row) {
  wire_t* wire = it->on->operation.wire;
  bool in_wire = it->on->spoil == SPOIL_struct_size && refusal_is_of(row, "kernel");
  const size_t kept = in_wire ? wire->arguments.struct_size : 0;
  memset(&fx->error, 0x01, sizeof fx->error); /* no text, and no end */
  if (in_wire) wire->arguments.struct_size = (size_t)it->on->number;
  tbk_status_t status = row->call(fx, it->on);
  if (in_wire) wire->arguments.struct_size = kept;
  return status;
}

static bool is_expected(const call_row_t* row, const refusal_t* refusal, tbk_status_t status) {
  bool always_invalid = !call_is(row, "needs_open");
  if (refusal->expected != INVALID_OR_STATE) return status == refusal->expected;
  return status == TBK_INVALID || (status == TBK_INVALID_STATE && !always_invalid);
}

static bool has_reason(const tbk_error_t* error) {
  return memchr(error->message, '\0', sizeof error->message) != NULL && error->message[0] != '\0';
}

static bool is_untouched(const tbk_error_t* error) {
  for (size_t i = 0; i < sizeof error->message; i++)
    if (error->message[i] != 0x01) return false;
  return true;
}

static void check_refused(tbk_fixture_t* fx, scenery_t* it, const call_row_t* row,
                          tbk_status_t status) {
  const bool given = !it->on->without_error;
  if ((it->aspects & REFUSAL_ANSWER) != 0)
    CHECK_SAID(is_expected(row, it->refusal, status), "a refusal as the header says", "%s from %s",
               tbk_status_name(status), row->function);
  if ((it->aspects & REFUSAL_LEFT) != 0)
    CHECK_KEPT(row->function, status == TBK_OK || !it->on->wrote);
  if ((it->aspects & REFUSAL_REASON) != 0)
    CHECK_SAID(given ? has_reason(&fx->error) : is_untouched(&fx->error), "a reason, with its end",
               "none from %s", row->function);
}

/* Nothing was enqueued either: what was idle is idle. */
static void check_idle(tbk_fixture_t* fx, scenery_t* it, const char* function) {
  const every_call_t* on = it->on;
  if (fx->stream == NULL) return;
  tbk_status_t status = fx->stream->stream_query(fx->self, on->stream, NULL);
  CHECK_SAID(status == TBK_OK, "an idle stream", "%s from stream_query after %s",
             tbk_status_name(status), function);
  if (it->far_stream != NULL) {
    status = fx->stream->stream_query(fx->self, it->far_stream, NULL);
    CHECK_SAID(status == TBK_OK, "an idle stream", "%s from the other's after %s",
               tbk_status_name(status), function);
  }
  if (fx->event == NULL || it->ms < 0) return;
  double ms = elapsed(fx, on), moved = ms > it->ms ? ms - it->ms : it->ms - ms;
  CHECK_SAID(moved < 1e-4, "events recorded when they were", "moved by %g ms by %s", moved,
             function);
  status = fx->event->event_elapsed(fx->self, on->event, it->fresh, &ms, NULL);
  CHECK_SAID(status == TBK_INVALID_STATE, "an event not recorded", "%s after %s",
             tbk_status_name(status), function);
}

static void check_place(tbk_fixture_t* fx, scenery_t* it, tbk_memory_t memory,
                        const uint8_t* expected) {
  const uint64_t bytes = it->bytes;
  CHECK_OK(fx->core->download(fx->self, fx->device, it->seen, memory, 0, bytes, NULL, &fx->error));
  CHECK_BYTES(expected, it->seen, bytes);
}

static void check_unchanged(tbk_fixture_t* fx, scenery_t* it, const call_row_t* row) {
  check_idle(fx, it, row->function);
  check_place(fx, it, it->on->memory, it->memory);
  check_place(fx, it, it->on->other, it->other);
  CHECK_BYTES(it->host, it->on->host, it->bytes);
  CHECK_SAID(atomic_load(&it->on->ran) == 0, "no callback", "it has run, by %s", row->function);
}

static bool refuses(tbk_fixture_t* fx, void* argument) {
  scenery_t* it = argument;
  check_refused(fx, it, it->row, call_spoiled(fx, it, it->row));
  return true;
}

/* What is set up once, and what a driver keeps of the latest few, is there after the first. */
static void call_row_refused(tbk_fixture_t* fx, scenery_t* it, const call_row_t* row) {
  enum { FIRST = 8 };
  const uint64_t times = refusal_count(it->scene.one);
  const bool looks = (it->aspects & REFUSAL_HEAP) != 0 && times > FIRST;
  it->row = row;
  for (uint64_t k = 0; k < (looks ? FIRST : times); k++)
    (void)refuses(fx, it);
  if (looks) BOOK_CHECK_HEAP(fx, refuses, it, times - FIRST, row->function);
}

static void call_refused(tbk_fixture_t* fx, void* argument) {
  scenery_t* it = argument;
  for (size_t i = 0; i < every_call_count; i++) {
    const call_row_t* row = &every_call[i];
    if (!refusal_concerns(fx, it->on, row, it->refusal)) continue;
    spoil(fx, it);
    call_row_refused(fx, it, row);
    it->on->spoil = SPOIL_nothing;
    if ((it->aspects & REFUSAL_LEFT) != 0) check_unchanged(fx, it, row);
  }
}

void refusal_call_rightly(tbk_fixture_t* fx, every_call_t* on, unsigned aspects,
                          bool without_stream) {
  on->spoil = without_stream ? SPOIL_stream : SPOIL_nothing;
  on->object = NULL;
  for (size_t i = 0; i < every_call_count; i++) {
    const call_row_t* row = &every_call[i];
    if (call_takes_away(row) || !row->offered(fx, on)) continue;
    if (without_stream && (!call_is(row, "null_stream") || !call_has(row, "stream"))) continue;
    memset(&fx->error, 0x01, sizeof fx->error);
    tbk_status_t status = row->call(fx, on);
    CHECK_SAID(call_is_right(row, status), call_expected(row), "%s from %s",
               tbk_status_name(status), row->function);
    if ((aspects & REFUSAL_SILENCE) != 0)
      CHECK_SAID(status != TBK_OK || is_untouched(&fx->error), "no message of a success",
                 "one of %s", row->function);
  }
  on->spoil = SPOIL_nothing;
}

void refusal_run(tbk_fixture_t* fx, sweep_case_t* one, unsigned aspects) {
  scenery_t* it = scenery_begin(fx, one);
  it->aspects = aspects;
  scene_call(&it->scene, call_refused, it);
  if ((aspects & (REFUSAL_LEFT | REFUSAL_SILENCE)) != 0) {
    refusal_call_rightly(fx, it->on, aspects, false);
    refusal_call_rightly(fx, it->on, aspects, true);
  }
  if (it->on->stream != NULL) fx_synchronize(fx, it->on->stream);
  every_call_end(fx, it->on);
}

void refusal_run_without_place(tbk_fixture_t* fx, sweep_case_t* one) {
  scenery_t* it = scenery_begin(fx, one);
  for (size_t i = 0; i < every_call_count; i++) {
    const call_row_t* row = &every_call[i];
    if (!refusal_concerns(fx, it->on, row, it->refusal)) continue;
    spoil(fx, it);
    it->on->without_error = false;
    const tbk_status_t with = call_spoiled(fx, it, row);
    it->on->without_error = true;
    const tbk_status_t without = call_spoiled(fx, it, row);
    CHECK_SAID(with == without, "the same without a place for the reason", "%s, not %s, from %s",
               tbk_status_name(without), tbk_status_name(with), row->function);
  }
  it->on->spoil = SPOIL_nothing;
  every_call_end(fx, it->on);
}
