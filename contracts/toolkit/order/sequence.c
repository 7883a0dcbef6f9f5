/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sequence.h"

#include "actor.h"
#include "gate.h"
#include "order.h"
#include "work.h"

#include <string.h>

struct sequence {
  tbk_fixture_t* fx;
  bench_t bench;
  actor_t actor;
  tbk_gate_t gate;
  tbk_stream_t* first;
  tbk_stream_t* second;
  uint64_t cell; /* the one that all work goes through */
  const uint8_t* holds;
  size_t asked_for;
  size_t count;
  work_t works[SEQUENCE_CELLS];
};

sequence_t* sequence_begin(tbk_fixture_t* fx, uint64_t cell_bytes, uint32_t cells) {
  sequence_t* sequence = (sequence_t*)fx_zeros(fx, sizeof *sequence);
  sequence->fx = fx;
  bench_begin(fx, &sequence->bench, cell_bytes, cells);
  return sequence;
}

static work_t* add(sequence_t* sequence) {
  SUITE_REQUIRE(sequence->count < SEQUENCE_CELLS);
  return &sequence->works[sequence->count++];
}

static void add_write(sequence_t* sequence, const work_kind_t* kind) {
  work_t* work = add(sequence);
  work_write(sequence->fx, &sequence->bench, work, kind, sequence->cell);
  sequence->holds = work->expected;
}

static void add_read(sequence_t* sequence, const work_kind_t* kind) {
  work_t* work = add(sequence);
  work_read(sequence->fx, &sequence->bench, work, kind, sequence->cell);
  work->expected = sequence->holds;
}

/* The n-th kind, counted round and round, among those with `flag`. */
static const work_kind_t* nth(const bench_t* bench, unsigned flag, size_t n) {
  for (size_t i = 0;; i = (i + 1) % bench->kind_count) {
    if ((bench->kinds[i]->flags & flag) != 0 && n-- == 0) return bench->kinds[i];
  }
}

static size_t kinds_with(const bench_t* bench, unsigned flag) {
  size_t count = 0;
  for (size_t i = 0; i < bench->kind_count; ++i)
    count += (bench->kinds[i]->flags & flag) != 0;
  return count;
}

void sequence_alternate(sequence_t* sequence, size_t works) {
  sequence->asked_for = works;
}

static void fill_in(sequence_t* sequence) {
  const bench_t* bench = &sequence->bench;
  bench_reset(sequence->fx, &sequence->bench);
  sequence->cell = bench_cell(&sequence->bench);
  sequence->count = 0;
  size_t works = sequence->asked_for;
  size_t writes = kinds_with(bench, WORK_WRITES);
  size_t reads = kinds_with(bench, WORK_READS);
  if (works == 0) works = writes * (reads + writes);
  for (size_t i = 0; i < works; ++i) {
    add_write(sequence, nth(bench, WORK_WRITES, i % writes));
    if (i >= writes * reads) add_write(sequence, nth(bench, WORK_WRITES, i / writes - reads));
    add_read(sequence, nth(bench, WORK_READS, i / writes % reads));
  }
}

/* Writes stand at even places: the second stream begins by reading what the first one wrote. */
static void sequence_body(actor_t* actor) {
  sequence_t* sequence = actor->argument;
  tbk_fixture_t* fx = &actor->fx;
  for (size_t i = 0; i < sequence->count; ++i) {
    tbk_stream_t* stream = i < (sequence->count / 2 | 1) ? sequence->first : sequence->second;
    CHECK_OK(work_enqueue(fx, &sequence->works[i], stream));
    actor_step(actor);
  }
}

static void sequence_check(sequence_t* sequence) {
  const char* before = "start";
  for (size_t i = 0; i < sequence->count; ++i) {
    const work_t* work = &sequence->works[i];
    bool writes = work->target == sequence->cell && !(work->kind->flags & WORK_TO_HOST);
    bool held =
        writes || memcmp(work->expected, work_result(work), sequence->bench.cell_bytes) == 0;
    CHECK_SAID(held, "what the work before it left",
               "work %zu, the %s, read something else (after the %s)", i, work->kind->name, before);
    before = work->kind->name;
  }
}

/* Returns false where a call waited on the host for what was held. */
static bool sequence_try(sequence_t* sequence) {
  tbk_fixture_t* fx = sequence->fx;
  fill_in(sequence);
  bench_upload(fx, &sequence->bench);
  gate_close_over(fx, &sequence->gate, sequence->first,
                  0); /* the actor makes the calls, and may wait */
  bool closed = gate_is_closed(&sequence->gate);
  actor_start(fx, &sequence->actor, sequence_body, sequence);
  bool waited = !actor_settle(&sequence->actor) && closed;
  process_settle();
  gate_open(fx, &sequence->gate);
  actor_join(fx, &sequence->actor);
  fx_synchronize(fx, sequence->first);
  fx_synchronize(fx, sequence->second);
  bench_download(fx, &sequence->bench);
  sequence_check(sequence);
  return !waited;
}

void sequence_run(sequence_t* sequence, tbk_stream_t* first, tbk_stream_t* second) {
  tbk_fixture_t* fx = sequence->fx;
  sequence->first = first;
  sequence->second = second;
  if (sequence_try(sequence)) return;
  if (bench_pin(fx, &sequence->bench) && sequence_try(sequence))
    fx_note(fx, order_by_pinned);
  else
    fx_evidence(fx, TBK_TRIVIAL, order_waits);
}

void sequence_end(sequence_t* sequence) {
  bench_end(sequence->fx, &sequence->bench);
}
