/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweep of what is pending when memory of a stream is given back, with the work held by a gate, so that
 * whoever asks for memory meanwhile has written to it before the work comes; and behind failures.
 */
#include "behind.h"
#include "gate.h"
#include "held_free.h"

#include <string.h>

static held_t* begin(tbk_fixture_t* fx, sweep_case_t* one, bool may_fail) {
  held_t* it = (held_t*)(void*)fx_zeros(fx, sizeof *it);
  it->may_fail = may_fail;
  return held_begin(fx, one, it) ? it : NULL;
}

static void run_held(tbk_fixture_t* fx, sweep_case_t* one) {
  held_t* it = begin(fx, one, false);
  if (it == NULL) return;
  behind_gate_twice(fx, it->streams[HELD], held_use_and_free, held_take, it);
  held_end(fx, it);
  one->left_out = it->refused;
}

/* What another stream writes arrives before the work that is held: a fault would have been seen. */
static bool write_early(tbk_fixture_t* fx, void* argument, tbk_stream_t* other) {
  tbk_memory_t* memory = argument;
  uint8_t sent[4096], seen[4096] = {0};
  memset(sent, 0xC3, sizeof sent);
  CHECK_OK(
      fx->core->upload(fx->self, fx->device, *memory, 0, sent, sizeof sent, other, &fx->error));
  CHECK_OK(
      fx->core->download(fx->self, fx->device, seen, *memory, 0, sizeof seen, other, &fx->error));
  behind_settle(fx, other);
  return memcmp(sent, seen, sizeof sent) == 0;
}

static void freed_memory_is_nobodys_while_its_use_is_held(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&held_by_axis, &held_roles_axis, &held_use_axis, &held_size_axis, &held_pieces_axis,
       &held_taker_axis, &held_taken_axis, &held_gone_axis, &held_when_axis, &held_full_axis,
       &sweep_device},
      held_fits,
      run_held,
      2};
  sweep_run(fx, &space);
  tbk_memory_t memory = fx_alloc(fx, 4096);
  behind_control(fx, fx_stream(fx), write_early, &memory);
}

/* ------------------------------------------------------------------------------ behind failures - */

SWEEP_DIMENSION(failed_axis, "failed_on", {"allocated_on", ALLOCATED}, {"used_on", USED},
                {"freed_on", FREED}, {"other", OTHER});
SWEEP_DIMENSION(told_axis, "told", {"no", 0}, {"yes", 1});

/* A failure may be told by whoever waits, so a gate, which waits, is of no use: the work is late. */
static void run_behind_failure(tbk_fixture_t* fx, sweep_case_t* one) {
  enum { LATE_US = 4000 };
  held_t* it = begin(fx, one, true);
  if (it == NULL) return;
  tbk_stream_t* stream = it->streams[sweep_get(one, &failed_axis)];
  tbk_status_t status =
      fx->fault->fault_enqueue(fx->self, stream, TBK_FAULT_WORK_FAILS, &fx->error);
  CHECK(status == TBK_OK || status == TBK_FAILED);
  if (sweep_get(one, &told_axis) == 1)
    (void)!fx->stream->stream_synchronize(fx->self, stream, &fx->error);
  sweep_delay(fx, it->streams[HELD], LATE_US);
  held_use_and_free(fx, it);
  held_take(fx, it);
  held_end(fx, it);
  one->left_out = it->refused;
}

static void freed_memory_is_nobodys_behind_work_that_failed(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&failed_axis, &told_axis, &held_roles_axis, &held_by_axis, &held_use_axis, &held_taker_axis,
       &held_size_axis, &held_gone_axis, &held_full_axis, &sweep_device},
      held_fits,
      run_behind_failure,
      0};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("SOM-005", "async_memory callback", TBK_CASE_THOROUGH | TBK_CASE_ALONE,
             freed_memory_is_nobodys_while_its_use_is_held),
    TBK_CASE("SOM-005", "async_memory fault", TBK_CASE_THOROUGH | TBK_CASE_FRESH | TBK_CASE_ALONE,
             freed_memory_is_nobodys_behind_work_that_failed),
};
TBK_SUITE(sweep_held_free);
