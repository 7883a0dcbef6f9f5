/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What comes after a failure or a loss: who was told of it, what is enqueued or asked elsewhere before
 * anybody was, what is opened then, and calls that name a second device beside the one that is lost.
 */
#include <stdatomic.h>

#include "child.h"
#include "order.h"
#include "resources.h"
#include "sweep.h"
#include "wait.h"

/* Returns OK where nobody has been told yet. */
static tbk_status_t provoke(tbk_fixture_t* fx, tbk_stream_t* stream, int32_t kind) {
  const tbk_status_t told = kind == TBK_FAULT_DEVICE_LOST ? TBK_DEVICE_LOST : TBK_FAILED;
  tbk_status_t status = fx->fault->fault_enqueue(fx->self, stream, kind, &fx->error);
  CHECK_SAID(status == TBK_OK || status == told, "OK, or already what it is", "%s",
             tbk_status_name(status));
  return status;
}

/* --------------------------------------------------------------- a failure, and opened again --- */

typedef enum told { NOBODY, STREAM, DEVICE, QUERY, GONE } told_t;

SWEEP_DIMENSION(told_axis, "told", {"nobody", NOBODY}, {"stream", STREAM}, {"device", DEVICE},
                {"query", QUERY}, {"stream-is-gone", GONE});
SWEEP_DIMENSION(pending_axis, "failure", {"settled", 0}, {"pending", 1});

static void tell(tbk_fixture_t* fx, tbk_stream_t* stream, told_t who) {
  const tbk_stream_ops_t* ops = fx->stream;
  if (who == STREAM) (void)!ops->stream_synchronize(fx->self, stream, &fx->error);
  if (who == DEVICE) (void)!ops->device_synchronize(fx->self, fx->device, &fx->error);
  if (who == QUERY) (void)!ops->stream_query(fx->self, stream, &fx->error);
  if (who == GONE) {
    fx_disown_stream(fx, stream);
    ops->stream_destroy(fx->self, stream);
  }
}

/* Of what is new on a device that is opened again, nothing has failed. */
static void run_reopened(tbk_fixture_t* fx, sweep_case_t* one) {
  fx_open(fx);
  tbk_stream_t* stream = fx_stream(fx);
  (void)provoke(fx, stream, TBK_FAULT_WORK_FAILS);
  if (sweep_get(one, &pending_axis) == 0) process_settle();
  tell(fx, stream, (told_t)sweep_get(one, &told_axis));
  tbk_status_t status = fx->core->device_close(fx->self, fx->device, &fx->error);
  CHECK(status == TBK_OK || status == TBK_FAILED);
  fx_disown_device(fx);
  fx_open(fx);
  CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
  stream = fx_stream(fx);
  CHECK_OK(fx->stream->stream_query(fx->self, stream, &fx->error));
  CHECK_OK(fx->stream->stream_synchronize(fx->self, stream, &fx->error));
  order_stream_works(fx, stream);
  CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
  CHECK_OK(fx->core->device_close(fx->self, fx->device, &fx->error));
  fx_disown_device(fx);
}

static void nothing_of_a_failure_is_left_when_it_is_opened_again(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&told_axis, &pending_axis}, NULL, run_reopened, 2};
  sweep_run(fx, &space);
}

/* ------------------------------------------------------------------ asked beside a failure --- */

typedef enum asked { SYNCHRONIZE, ASK, SYNCHRONIZE_EVENT, ASK_EVENT, DESTROY, FAR } asked_t;

SWEEP_DIMENSION(asked_axis, "clean", {"stream_synchronize", SYNCHRONIZE}, {"stream_query", ASK},
                {"event_synchronize", SYNCHRONIZE_EVENT}, {"event_query", ASK_EVENT},
                {"stream_destroy", DESTROY}, {"other_device", FAR});
SWEEP_DIMENSION(teller_axis, "then", {"stream_synchronize", STREAM},
                {"device_synchronize", DEVICE});
SWEEP_DIMENSION(made_axis, "clean_is_made", {"before", 0}, {"after", 1});

static bool asked_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const int64_t asked = sweep_get(one, &asked_axis);
  if (asked == FAR) return fx->device_count > 1;
  return fx->event != NULL || (asked != SYNCHRONIZE_EVENT && asked != ASK_EVENT);
}

typedef struct clean {
  tbk_stream_t* stream; /* nothing on it ever fails */
  tbk_event_t* event;   /* recorded on it; NULL: of no interest */
  bool told;            /* a device may tell at any call */
} clean_t;

static void make_clean(tbk_fixture_t* fx, clean_t* clean, asked_t asked) {
  clean->stream = fx_stream(fx);
  if (asked != SYNCHRONIZE_EVENT && asked != ASK_EVENT) return;
  clean->event = fx_event(fx, 0);
  const tbk_status_t status =
      fx->event->event_record(fx->self, clean->event, clean->stream, &fx->error);
  CHECK(status == TBK_OK || status == TBK_FAILED);
  clean->told = status == TBK_FAILED;
}

static tbk_status_t ask(tbk_fixture_t* fx, const clean_t* clean, asked_t asked) {
  const tbk_stream_ops_t* ops = fx->stream;
  switch (asked) {
    case SYNCHRONIZE:
      return ops->stream_synchronize(fx->self, clean->stream, &fx->error);
    case ASK:
      return ops->stream_query(fx->self, clean->stream, &fx->error);
    case SYNCHRONIZE_EVENT:
      return fx->event->event_synchronize(fx->self, clean->event, &fx->error);
    case ASK_EVENT:
      return fx->event->event_query(fx->self, clean->event, &fx->error);
    case DESTROY:
      fx_disown_stream(fx, clean->stream);
      ops->stream_destroy(fx->self, clean->stream);
      return TBK_OK;
    case FAR:
      return ops->device_synchronize(fx->self, fx_second_device(fx), &fx->error);
  }
  return TBK_OK;
}

/* A device may tell of it wherever it is asked; where it did not, it still knows. */
static void run_beside(tbk_fixture_t* fx, sweep_case_t* one) {
  clean_t clean = {NULL, NULL, false};
  const asked_t asked = (asked_t)sweep_get(one, &asked_axis);
  const bool later = sweep_get(one, &made_axis) == 1;
  tbk_stream_t* failing = fx_stream(fx);
  if (!later) make_clean(fx, &clean, asked);
  const tbk_status_t early = provoke(fx, failing, TBK_FAULT_WORK_FAILS);
  if (sweep_get(one, &pending_axis) == 0) process_settle();
  if (later) make_clean(fx, &clean, asked);
  const tbk_status_t beside = ask(fx, &clean, asked);
  CHECK(beside == TBK_OK || beside == TBK_FAILED || (asked == ASK || asked == ASK_EVENT));
  const bool told = clean.told || early == TBK_FAILED || beside == TBK_FAILED;
  const tbk_status_t status =
      sweep_get(one, &teller_axis) == STREAM
          ? fx->stream->stream_synchronize(fx->self, failing, &fx->error)
          : fx->stream->device_synchronize(fx->self, fx->device, &fx->error);
  CHECK_SAID(status == TBK_FAILED || (told && status == TBK_OK),
             told ? "OK, or FAILED again" : "FAILED: what was asked elsewhere has not told", "%s",
             tbk_status_name(status));
}

static void asking_elsewhere_forgets_no_failure(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&asked_axis, &pending_axis, &teller_axis, &made_axis}, asked_fits, run_beside, 3};
  sweep_run(fx, &space);
}

/* ----------------------------------------------------------------- enqueued behind a failure --- */

enum { BEHIND = 3, ROUNDS = 6 };

static void count(void* argument) {
  atomic_fetch_add((atomic_int*)argument, 1);
}

/* Nobody has been told; a call that tells of the failure itself has enqueued nothing. */
static void callbacks_behind_a_failure_run(tbk_fixture_t* fx) {
  static atomic_int ran;
  for (int round = 0; round < ROUNDS; ++round) {
    int enqueued = 0;
    tbk_stream_t* stream = fx_stream(fx);
    atomic_store(&ran, 0);
    (void)provoke(fx, stream, TBK_FAULT_WORK_FAILS);
    if (round % 2 == 0) process_settle();
    for (int i = 0; i < BEHIND; ++i) {
      tbk_status_t status =
          fx->callback->callback_enqueue(fx->self, stream, count, &ran, &fx->error);
      CHECK(status == TBK_OK || status == TBK_FAILED);
      enqueued += status == TBK_OK;
    }
    (void)!fx->stream->stream_synchronize(fx->self, stream, &fx->error);
    CHECK_EQUAL(enqueued, atomic_load(&ran));
    fx_disown_stream(fx, stream);
    fx->stream->stream_destroy(fx->self, stream);
  }
}

typedef struct behind {
  bench_t bench;
  work_t works[WORK_KINDS];
  tbk_event_t *recorded, *complete; /* NULL where there are no events */
} behind_t;

static void behind_begin(tbk_fixture_t* fx, behind_t* behind) {
  bench_t* bench = &behind->bench;
  bench_begin(fx, bench, ORDER_CELL_BYTES, 3 * WORK_KINDS);
  bench_reset(fx, bench);
  for (size_t i = 0; i < bench->kind_count; ++i) {
    const work_kind_t* kind = bench->kinds[i];
    if (kind->flags & (WORK_WRITES | WORK_ON_HOST))
      work_write(fx, bench, &behind->works[i], kind, bench_cell(bench));
    else
      work_read(fx, bench, &behind->works[i], kind, bench_cell(bench));
  }
  bench_upload(fx, bench);
  if (fx->event == NULL) return;
  behind->recorded = fx_event(fx, 0);
  behind->complete = fx_event(fx, 0);
}

/* The kinds of the bench, then what is done with events; NULL behind the last. */
static const char* name_behind(const behind_t* behind, size_t at) {
  const size_t kinds = behind->bench.kind_count;
  if (at < kinds) return behind->bench.kinds[at]->name;
  if (behind->recorded == NULL || at > kinds + 1) return NULL;
  return at == kinds ? "event_record" : "event_wait";
}

static tbk_status_t enqueue_behind(tbk_fixture_t* fx, behind_t* behind, size_t at,
                                   tbk_stream_t* stream) {
  const size_t kinds = behind->bench.kind_count;
  if (at < kinds) return work_enqueue(fx, &behind->works[at], stream);
  if (at == kinds) return fx->event->event_record(fx->self, behind->recorded, stream, &fx->error);
  return fx->event->event_wait(fx->self, stream, behind->complete, &fx->error);
}

/* The synchronize comes when both are over, or when nobody has waited for either. */
static void tells_behind(tbk_fixture_t* fx, behind_t* behind, size_t at, int round) {
  tbk_stream_t* stream = fx_stream(fx);
  bool told = provoke(fx, stream, TBK_FAULT_WORK_FAILS) == TBK_FAILED;
  if (round % 2 == 0) process_settle();
  tbk_status_t status = enqueue_behind(fx, behind, at, stream);
  CHECK_SAID(status == TBK_OK || status == TBK_FAILED, "OK, or already FAILED", "%s from the %s",
             tbk_status_name(status), name_behind(behind, at));
  told = told || status == TBK_FAILED;
  if (round % 2 == 0) process_settle();
  status = round < 2 ? fx->stream->stream_synchronize(fx->self, stream, &fx->error)
                     : fx->stream->device_synchronize(fx->self, fx->device, &fx->error);
  CHECK_SAID(status == TBK_FAILED || (told && status == TBK_OK),
             told ? "OK, or FAILED again" : "FAILED: nobody has been told before",
             "%s behind the %s", tbk_status_name(status), name_behind(behind, at));
  fx_disown_stream(fx, stream);
  fx->stream->stream_destroy(fx->self, stream);
}

/* It is made ready before anything has failed. Each kind is met settled and not, and told by either call. */
static void later_work_forgets_no_failure(tbk_fixture_t* fx) {
  behind_t* behind = (behind_t*)(void*)fx_zeros(fx, sizeof *behind);
  behind_begin(fx, behind);
  for (int at = 0; name_behind(behind, (size_t)at) != NULL; ++at) {
    tells_behind(fx, behind, (size_t)at, at % 2);
    tells_behind(fx, behind, (size_t)at, 3 - at % 2);
  }
  (void)!fx->stream->device_synchronize(fx->self, fx->device, &fx->error);
  bench_end(fx, &behind->bench);
}

/* ------------------------------------------------------------------------- beside a lost one --- */

static void lose(tbk_fixture_t* fx, int32_t device) {
  tbk_stream_t* stream = NULL;
  REQUIRE_OK(fx->stream->stream_create(fx->self, device, 0, &stream, &fx->error));
  (void)provoke(fx, stream, TBK_FAULT_DEVICE_LOST);
  CHECK_STATUS(TBK_DEVICE_LOST, fx->stream->stream_synchronize(fx->self, stream, &fx->error));
  fx->stream->stream_destroy(fx->self, stream);
}

/* It was not open when the first was lost; and once more. */
static void a_device_is_opened_beside_a_lost_one(tbk_fixture_t* fx) {
  const tbk_core_t* core = fx->core;
  lose(fx, fx->device);
  for (int round = 0; round < 2; ++round) {
    if (!CHECK_OK(tbk_open_patiently(core, fx->self, 1, &fx->error))) return;
    CHECK_DEVICE_WORKS(core, fx->self, 1, "a device beside a lost one works");
    CHECK_OK(core->device_close(fx->self, 1, &fx->error));
  }
}

typedef struct ends {
  tbk_memory_t memory[2]; /* of each device */
  tbk_stream_t* streams[2];
  uint64_t bytes;
} ends_t;

static void make_ends(tbk_fixture_t* fx, ends_t* ends) {
  const int32_t first = fx->device;
  ends->bytes = fx_round(fx, 4096); /* the most that a granularity is */
  for (int32_t device = 0; device < 2; ++device) {
    fx_use_device(fx, device);
    ends->memory[device] = fx_alloc(fx, ends->bytes);
    ends->streams[device] = fx_stream(fx);
  }
  fx_use_device(fx, first);
}

/* The call is one on the source's device, whose the stream is. */
static tbk_status_t copy_from_to(tbk_fixture_t* fx, const ends_t* ends, int from, int to,
                                 tbk_stream_t* stream) {
  return fx->peer->peer_copy(fx->self, to, ends->memory[to], 0, from, ends->memory[from], 0,
                             ends->bytes, stream, &fx->error);
}

static void copies_from_a_lost_device_tell_so(tbk_fixture_t* fx) {
  ends_t ends;
  const int32_t second = fx_second_device(fx);
  make_ends(fx, &ends);
  lose(fx, second);
  for (int turn = 0; turn < 4; ++turn) {
    const int to = turn / 2;
    tbk_stream_t* stream = turn % 2 != 0 ? ends.streams[1] : NULL;
    const tbk_status_t status = copy_from_to(fx, &ends, 1, to, stream);
    CHECK_SAID(status == TBK_DEVICE_LOST, "DEVICE_LOST: device 1 is lost",
               "%s for a copy from device 1 to device %d", tbk_status_name(status), to);
  }
  order_stream_works(fx, ends.streams[0]);
  CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
}

static bool is_told_or_ok(tbk_status_t status) {
  return status == TBK_OK || status == TBK_FAILED || status == TBK_DEVICE_LOST;
}

/*
 * A call on the living device, where the bytes never arrive: it may tell so, or its stream may later; the lost
 * device says what it is at the next synchronize, and the other one works on.
 */
static void copies_to_a_lost_device_harm_no_other(tbk_fixture_t* fx) {
  ends_t ends;
  const int32_t second = fx_second_device(fx);
  make_ends(fx, &ends);
  lose(fx, second);
  for (int turn = 0; turn < 2; ++turn) {
    tbk_stream_t* stream = turn == 1 ? ends.streams[0] : NULL;
    tbk_status_t status = copy_from_to(fx, &ends, 0, 1, stream);
    CHECK_SAID(is_told_or_ok(status), "OK, FAILED or DEVICE_LOST", "%s", tbk_status_name(status));
    status = fx->stream->stream_synchronize(fx->self, ends.streams[0], &fx->error);
    CHECK_SAID(is_told_or_ok(status), "OK, FAILED or DEVICE_LOST", "%s from stream_synchronize",
               tbk_status_name(status));
    TBK_CHECKS("FLT-003");
    CHECK_STATUS(TBK_DEVICE_LOST, fx->stream->device_synchronize(fx->self, second, &fx->error));
  }
  (void)!fx->stream->device_synchronize(fx->self, fx->device, &fx->error);
  CHECK_DEVICE_WORKS(fx->core, fx->self, fx->device,
                     "a device that has copied to a lost one works");
}

static const tbk_case_t cases[] = {
    TBK_CASE("DEV-022", "fault", TBK_CASE_CLOSED | TBK_CASE_FRESH,
             nothing_of_a_failure_is_left_when_it_is_opened_again),
    TBK_CASE("ERR-005", "fault", TBK_CASE_FRESH, asking_elsewhere_forgets_no_failure),
    TBK_CASE("ERR-005", "fault", TBK_CASE_FRESH, later_work_forgets_no_failure),
    TBK_CASE("CBK-002", "fault callback", TBK_CASE_FRESH, callbacks_behind_a_failure_run),
    TBK_CASE("FLT-004", "fault two_devices", TBK_CASE_FRESH, a_device_is_opened_beside_a_lost_one),
    TBK_CASE("FLT-003", "fault peer two_devices", TBK_CASE_FRESH,
             copies_from_a_lost_device_tell_so),
    TBK_CASE("FLT-004", "fault peer two_devices", TBK_CASE_FRESH,
             copies_to_a_lost_device_harm_no_other),
};
TBK_SUITE(fault_after);
