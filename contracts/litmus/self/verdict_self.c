/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * verdict_self.c: what is told of what was seen: what is wrong, and by which edges; no clause is
 * accused of what another may have done; and how a call fails that must fail.
 */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "judge.h"
#include "motif.h"
#include "runner.h"
#include "self.h"

/* A read of the first value, where another was written in order: wrong, and it is said why. */
static void what_is_wrong_is_explained(void) {
  static litmus_model_t model;
  litmus_program_t program = {.devices = 1, .size_bytes = 2, .count = 4};
  const litmus_call_t calls[] = {FILL_IT(0, V, 0), RECORD_IT(0, 0), WAIT_FOR(1, 0), FETCH(0, 1)};
  memcpy(program.calls, calls, sizeof calls);
  uint8_t bytes[LITMUS_SLOTS][2], cells[LITMUS_CELLS][2];
  litmus_seen_t seen = {0};
  for (int slot = 0; slot < LITMUS_SLOTS; slot++)
    seen.slots[slot] = memset(bytes[slot], LITMUS_FIRST_OF_SLOTS + slot, 2);
  for (int cell = 0; cell < LITMUS_CELLS - 2; cell++)
    seen.cells[cell] = memset(cells[cell], LITMUS_FIRST_OF_CELLS + cell, 2);
  memset(cells[0], V, 2);
  memset(bytes[HOST_SLOT], V, 2);
  litmus_wrong_t wrong;
  litmus_reason_t reason;
  check(litmus_model_build(&model, &program, 0, 0, 0), "is not defined", "record and wait");
  check(!litmus_judge(&model, &seen, &wrong), "is called wrong", "what is right");
  bytes[HOST_SLOT][1] = LITMUS_FIRST_OF_CELLS;
  check(litmus_judge(&model, &seen, &wrong) && wrong.at == 1, "is called right", "a stale byte");
  litmus_explain(&model, &wrong, &reason);
  const uint64_t chain = 1 << LITMUS_EDGE_RECORD | 1 << LITMUS_EDGE_WAIT;
  check((reason.edges & chain) == chain, "does not name record and wait", "the explanation");
}

/* What a download of memory that holds the first value, or that was filled, has as its last byte;
   nothing wrote it. */
static void a_value_of_nobody_accuses_no_clause(void) {
  enum { NOBODY = 0xEE };
  static const struct {
    const char* what;
    litmus_call_t calls[MOST];
  } samples[] = {{"a download of the beginning", {FETCH(0, 0)}},
                 {"a download behind a wait", {RECORD_IT(0, 0), WAIT_FOR(1, 0), FETCH(0, 1)}},
                 {"a download of memory allocated in order",
                  {ALLOC(FRESH, 0), FILL_IT(FRESH, V, 0), FETCH(FRESH, 0)}},
                 {"an upload to it", {ALLOC(FRESH, 0), SEND(FRESH, 0)}}};
  static litmus_model_t model;
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    const litmus_program_t program = program_of(samples[i].calls, false);
    litmus_reason_t reason;
    check(litmus_model_build(&model, &program, 0, 0, 0), "is not defined", samples[i].what);
    for (uint32_t read = 0; read < model.read_count; read++) {
      const litmus_wrong_t wrong = {.read = read, .other = LITMUS_READS, .value = NOBODY};
      litmus_explain(&model, &wrong, &reason);
      check(reason.edges == 0, "accuses a clause", samples[i].what);
      check(reason.count > 1, "says nothing of it", samples[i].what);
    }
  }
}

/* Returns the look at the host's slot in the end; else at the first cell that is looked at. */
static uint32_t look_in_the_end(const litmus_model_t* model, bool at_slot) {
  uint32_t found = 0;
  while (model->reads[found].call_id != LITMUS_END ||
         (model->reads[found].place == HOST_SLOT) != at_slot)
    found++;
  return found;
}

#define BLOCKING_SEND(m, s) \
  { .op = LITMUS_UPLOAD, .slot = HOST_SLOT, .cell = (m), .stream = (s), .blocks = true }
#define BATCH(m, s) \
  { .op = LITMUS_LOADED_UPLOAD, .slot = HOST_SLOT, .cell = (m), .stream = (s) }
#define MEETING(m, s) \
  { .op = LITMUS_MEET, .cell = (m), .other = 2, .stream = (s) }
#define EDGE(kind) (UINT64_C(1) << LITMUS_EDGE_##kind)

/* By what is seen of a program that is as small as can be. */
static void the_clause_that_is_broken_is_accused(void) {
  enum { NOBODY = 0xEE, BEGINNING = LITMUS_FIRST_OF_CELLS, OTHER = LITMUS_FIRST_OF_SLOTS + 7 };
  static const struct {
    const char* what;
    bool torch, at_slot;
    uint8_t value;
    uint64_t edges;
    litmus_call_t calls[MOST];
  } samples[] = {
      {"a query that is needed is in the chain",
       false,
       true,
       BEGINNING,
       EDGE(STREAM_QUERY),
       {FETCH(0, 0), RECORD_IT(0, 0), WAIT_FOR(1, 0), FILL_IT(0, V, 1),
        OF_STREAM(LITMUS_STREAM_SPIN, 1), FETCH(0, 0)}},
      {"zeros that were allocated",
       false,
       true,
       0,
       EDGE(STREAM),
       {ALLOC(FRESH, 0), FILL_IT(FRESH, V, 0), FETCH(FRESH, 0)}},
      {"zeros of nobody", true, true, 0, 0, {FETCH(0, 0)}},
      {"a lost byte of a cell", true, false, NOBODY, 0, {FILL_IT(0, V, 0)}},
      {"a lost byte of a copy", true, false, NOBODY, 0, {BLOCKING_SEND(0, 0)}},
      {"another's bytes by a copy",
       true,
       false,
       OTHER,
       EDGE(BLOCKING_SOURCE),
       {BLOCKING_SEND(0, 0)}},
      {"any byte of what was dropped", true, false, NOBODY, EDGE(PINNED_SOURCE), {BATCH(0, 0)}},
      {"any byte of a sum", true, false, NOBODY, EDGE(MEET), {MEETING(0, 1)}},
  };
  static litmus_model_t model;
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    const litmus_program_t program = program_of(samples[i].calls, samples[i].torch);
    litmus_reason_t reason;
    check(litmus_model_build(&model, &program, 0, 0, 0), "is not defined", samples[i].what);
    const litmus_wrong_t wrong = {.read = look_in_the_end(&model, samples[i].at_slot),
                                  .other = LITMUS_READS,
                                  .value = samples[i].value};
    litmus_explain(&model, &wrong, &reason);
    check(reason.edges == samples[i].edges, "accuses another clause", samples[i].what);
    check(reason.clause == NULL, "accuses a clause of no edge", samples[i].what);
  }
}

/* Whether memory was freed says which clause is broken where two have one. */
static void memory_that_was_not_freed_is_live(void) {
  static const struct {
    const char* what;
    bool freed;
    litmus_call_t calls[MOST];
  } samples[] = {
      {"live memory",
       false,
       {ALLOC(FRESH, 0), FILL_IT(FRESH, V, 0), ALLOC(FRESH + 1, 1), FILL_IT(FRESH + 1, W, 1)}},
      {"freed memory",
       true,
       {ALLOC(FRESH, 0), FILL_IT(FRESH, V, 0), FREE(FRESH, 0), ALLOC(FRESH + 1, 1),
        FILL_IT(FRESH + 1, W, 1)}}};
  static litmus_model_t model;
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
    for (int torch = 0; torch < 2; torch++) {
      const litmus_program_t program = program_of(samples[i].calls, torch);
      litmus_reason_t reason;
      check(litmus_model_build(&model, &program, 0, 0, 0), "is not defined", samples[i].what);
      const litmus_wrong_t wrong = {
          .read = model.read_count - 1, .other = LITMUS_READS, .value = V};
      litmus_explain(&model, &wrong, &reason);
      check((reason.edges == EDGE(ASYNC_FREE)) == samples[i].freed, "accuses who freed",
            samples[i].what);
      check((reason.clause != NULL) != samples[i].freed, "accuses who allocated", samples[i].what);
    }
}

/* ---------------------------------------------------------------------------------- mistakes -- */

static tbk_status_t answer_of_wait;

static tbk_status_t wait_for_nothing(tbk_instance_t* self, tbk_stream_t* stream, tbk_event_t* event,
                                     tbk_error_t* error) {
  (void)self, (void)stream, (void)event;
  snprintf(error->message, sizeof error->message, "no event");
  return answer_of_wait;
}

/* Of a call that must be refused: how it is refused is told, unless a clause says so. */
static void a_mistake_that_fails_in_another_way_is_told(void) {
  static const tbk_event_ops_t event = {.event_wait = wait_for_nothing};
  static litmus_runner_t runner;
  static litmus_progress_t progress;
  const litmus_program_t program = {.devices = 1, .count = 1, .calls = {litmus_mistake(0)}};
  for (tbk_status_t status = TBK_OK; tbk_status_name(status) != NULL && status < 16; status++) {
    litmus_result_t result = {.outcome = LITMUS_RIGHT};
    runner = (litmus_runner_t){
        .event = &event, .progress = &progress, .program = &program, .result = &result};
    answer_of_wait = status;
    litmus_step(&runner, 0);
    const bool is_told = status != TBK_OK && status != TBK_INVALID;
    check(litmus_has_ended(&runner) == is_told, is_told ? "is not told" : "is told",
          tbk_status_name(status));
    check(!is_told || (runner.ended == LITMUS_REFUSED && result.status == status), "is not told so",
          tbk_status_name(status));
  }
}

void check_verdicts(void) {
  what_is_wrong_is_explained();
  a_value_of_nobody_accuses_no_clause();
  the_clause_that_is_broken_is_accused();
  memory_that_was_not_freed_is_live();
  a_mistake_that_fails_in_another_way_is_told();
}
