/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * litmus_self.c: whether the model says what the clauses say, and no more. For each kind of edge a
 * program whose read has one legal value because of it; for each thing that no clause says a
 * program whose read has two. A model with an edge left out, or one too many, fails here.
 */
#include <stdio.h>
#include <string.h>

#include "contract.h"
#include "judge.h"
#include "self.h"

int faults;

void check(bool holds, const char* what, const char* about) {
  if (holds) return;
  printf("FAULT: %s: %s\n", about, what);
  faults++;
}

litmus_offers_t offers_of_all(void) {
  return (litmus_offers_t){.devices = 2,
                           .granularity = 1,
                           .most_bytes = 1 << 20,
                           .fill = true,
                           .kernel = true,
                           .pinned = true,
                           .callback = true,
                           .peer = true,
                           .async_memory = true,
                           .cross_device_wait = true,
                           .threads = LITMUS_THREADS};
}

/* The same call by another thread of the host: in its turn, or when it likes. */
#define BY(t, ...) \
  { .thread = (t), __VA_ARGS__ }
#define MEANWHILE(t, ...) \
  { .thread = (t), .meanwhile = true, __VA_ARGS__ }
#define FILLING(m, v, s) .op = LITMUS_FILL, .cell = (m), .value = (v), .stream = (s)
#define FETCHING(m, s) .op = LITMUS_DOWNLOAD, .slot = HOST_SLOT, .cell = (m), .stream = (s)
#define WAITING(s, e) .op = LITMUS_WAIT, .event = (e), .stream = (s)
#define MARK_PLACE LITMUS_PLACE_OF_MARKS

static const sample_t edges[] = {
    {LITMUS_EDGE_HOST,
     HOST_SLOT,
     {FILL_IT(0, V, 0), OF_STREAM(LITMUS_STREAM_SYNCHRONIZE, 0), FETCH(0, 1)}},
    {LITMUS_EDGE_STREAM, HOST_SLOT, {FILL_IT(0, V, 0), FETCH(0, 0)}},
    {LITMUS_EDGE_NULL_STREAM, HOST_SLOT, {FILL_IT(0, V, -1), FETCH(0, 1)}},
    {LITMUS_EDGE_RECORD,
     HOST_SLOT,
     {FILL_IT(0, V, 0), RECORD_IT(0, 0), WAIT_FOR(1, 0), FETCH(0, 1)}},
    {LITMUS_EDGE_RERECORD,
     HOST_SLOT,
     {RECORD_IT(0, 0), FILL_IT(0, V, 0), RECORD_IT(0, 0), WAIT_FOR(1, 0), FETCH(0, 1)}},
    {LITMUS_EDGE_WAIT,
     HOST_SLOT,
     {FILL_IT(0, V, 0), RECORD_IT(0, 0), WAIT_FOR(1, 0), OF_EVENT(LITMUS_EVENT_RENEW, 0),
      FETCH(0, 1)}},
    {LITMUS_EDGE_WAIT_DEVICE,
     FAR_CELL,
     {FILL_IT(FAR, V, 3), RECORD_IT(3, 3), WAIT_FOR(0, 3), PEER_OVER}},
    {LITMUS_EDGE_EVENT_SYNCHRONIZE,
     HOST_SLOT,
     {FILL_IT(0, V, 0), RECORD_IT(0, 0), OF_EVENT(LITMUS_EVENT_SYNCHRONIZE, 0), FETCH(0, 1)}},
    {LITMUS_EDGE_EVENT_QUERY,
     HOST_SLOT,
     {FILL_IT(0, V, 0), RECORD_IT(0, 0), OF_EVENT(LITMUS_EVENT_SPIN, 0), FETCH(0, 1)}},
    {LITMUS_EDGE_STREAM_SYNCHRONIZE,
     HOST_SLOT,
     {FILL_IT(0, V, 0), OF_STREAM(LITMUS_STREAM_SYNCHRONIZE, 0), FETCH(0, 1)}},
    {LITMUS_EDGE_STREAM_QUERY,
     HOST_SLOT,
     {FILL_IT(0, V, 0), OF_STREAM(LITMUS_STREAM_SPIN, 0), FETCH(0, 1)}},
    {LITMUS_EDGE_DEVICE_SYNCHRONIZE,
     HOST_SLOT,
     {FILL_IT(0, V, 0), {.op = LITMUS_DEVICE_SYNCHRONIZE}, FETCH(0, 1)}},
    {LITMUS_EDGE_CALLBACK_AFTER,
     HOST_SLOT,
     {FILL_IT(0, V, 0), MARK_IT(0), AWAIT_IT(0), FETCH(0, 1)}},
    {LITMUS_EDGE_CALLBACK_HOST,
     HOST_SLOT,
     {FILL_IT(0, V, 0), MARK_IT(0), AWAIT_IT(0), FETCH(0, 1)}},
    {LITMUS_EDGE_CALLBACK_BEFORE, MARK_PLACE, {MARK_IT(0), LOOK_AT(0)}},
    {LITMUS_EDGE_ASYNC_FREE,
     HOST_SLOT,
     {{.op = LITMUS_ASYNC_ALLOC, .cell = FRESH}, FILL_IT(FRESH, V, 0), FETCH(FRESH, 0)}},
    {LITMUS_EDGE_HAND_OVER,
     HOST_SLOT,
     {FILL_IT(0, V, 0), OF_STREAM(LITMUS_STREAM_SYNCHRONIZE, 0), BY(1, FETCHING(0, 1))}},
    {LITMUS_EDGE_STREAM_SHARED, HOST_SLOT, {FILL_IT(0, V, 0), BY(1, FETCHING(0, 0))}},
};

static const sample_t extras[] = {
    {LITMUS_EXTRA_ENQUEUED_IS_COMPLETE, HOST_SLOT, {FILL_IT(0, V, 0), FETCH(0, 1)}},
    {LITMUS_EXTRA_STREAMS_IN_ONE_ORDER, HOST_SLOT, {FILL_IT(0, V, 0), FETCH(0, 1)}},
    {LITMUS_EXTRA_WAIT_TAKES_LATER_RECORD,
     HOST_SLOT,
     {WAIT_FOR(1, 0), FILL_IT(0, V, 0), RECORD_IT(0, 0), FETCH(0, 1)}},
    {LITMUS_EXTRA_RECORD_BLOCKS, HOST_SLOT, {FILL_IT(0, V, 0), RECORD_IT(0, 0), FETCH(0, 1)}},
    {LITMUS_EXTRA_POLL_IS_COMPLETE,
     HOST_SLOT,
     {FILL_IT(0, V, 0), OF_STREAM(LITMUS_STREAM_POLL, 0), FETCH(0, 1)}},
    {LITMUS_EXTRA_DEVICES_IN_ONE,
     FAR_CELL,
     {FILL_IT(FAR, V, 3), {.op = LITMUS_DEVICE_SYNCHRONIZE}, PEER_OVER}},
    {LITMUS_EXTRA_EVENT_COVERS_DEVICE,
     HOST_SLOT,
     {FILL_IT(0, V, 1), RECORD_IT(0, 0), WAIT_FOR(2, 0), FETCH(0, 2)}},
    {LITMUS_EXTRA_THREADS_IN_ONE, HOST_SLOT, {FILL_IT(0, V, -1), MEANWHILE(1, FETCHING(0, 1))}},
    {LITMUS_EXTRA_THREADS_IN_ONE, HOST_SLOT, {FILL_IT(0, V, 0), MEANWHILE(1, FETCHING(0, 0))}},
};

litmus_program_t program_of(const litmus_call_t* calls, bool torch) {
  litmus_program_t program = {.devices = 2,
                              .crosses = true,
                              .size_bytes = 1,
                              .threads = 2,
                              .races = !torch,
                              .torch = torch,
                              .pinned = torch};
  for (; program.count < MOST; program.count++) {
    const litmus_call_t* call = &calls[program.count];
    if (call->op == LITMUS_FILL && call->value == 0) break;
    program.calls[program.count] = *call;
    program.calls[program.count].id = (uint8_t)program.count;
  }
  return program;
}

int legal(const sample_t* sample, bool torch, uint64_t without, uint64_t extra) {
  static litmus_model_t model;
  litmus_program_t program = program_of(sample->calls, torch);
  if (!litmus_model_build(&model, &program, 0, without, extra)) return 0;
  int place = sample->place == FAR_CELL ? model.cell_place[FAR] : sample->place, count = 0;
  for (uint32_t i = model.read_count; i-- > 0;) {
    if (model.reads[i].place != place) continue;
    for (int v = 0; v < 256; v++)
      count += litmus_values_have(&model.reads[i].values, (uint8_t)v);
    return count;
  }
  return 0;
}

static void each_edge_bears(void) {
  bool has[LITMUS_EDGES] = {false};
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
    const char* name = litmus_edge_name(edges[i].kind);
    has[edges[i].kind] = true;
    check(legal(&edges[i], false, 0, 0) == 1, "the read has not one legal value", name);
    check(legal(&edges[i], false, UINT64_C(1) << edges[i].kind, 0) > 1, "its loss is not noticed",
          name);
  }
  for (int kind = 0; kind < LITMUS_EDGES; kind++) {
    const char* clause = litmus_edge_clause(false, kind);
    check(has[kind] == (clause != NULL), "no program needs it", litmus_edge_name(kind));
    check(clause == NULL || tbk_clause_find(clause) != NULL, "cites no clause",
          litmus_edge_name(kind));
  }
}

static void nothing_else_orders(void) {
  bool has[LITMUS_EXTRAS] = {false};
  for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
    const char* name = litmus_extra_text(extras[i].kind);
    has[extras[i].kind] = true;
    check(legal(&extras[i], false, 0, 0) > 1, "the model says so", name);
    check(legal(&extras[i], false, 0, UINT64_C(1) << extras[i].kind) == 1, "nothing would notice",
          name);
  }
  for (int kind = 0; kind < LITMUS_EXTRAS; kind++)
    check(has[kind], "no program denies it", litmus_extra_text(kind));
}

/* ------------------------------------------------------------------------------ what is defined -- */

static const rule_t rules[] = {
    {"the host writes what is being uploaded", false, {SEND(0, 0), SET_HOST}},
    {"the host writes what was uploaded", true, {SEND(0, 0), SYNC(0), SET_HOST}},
    {"the host reads what is being uploaded", true, {SEND(0, 0), GET_HOST}},
    {"the host reads what is being downloaded", false, {FETCH(0, 0), GET_HOST}},
    {"the host reads what was downloaded", true, {FETCH(0, 0), SYNC(0), GET_HOST}},
    {"another stream's synchronisation does", false, {FETCH(0, 0), SYNC(1), GET_HOST}},
    {"a callback of the stream reads what is downloaded", true, {FETCH(0, 0), READ_BACK(0)}},
    {"a callback of another stream reads it", false, {FETCH(0, 0), READ_BACK(1)}},
    {"what is being downloaded is uploaded", false, {FETCH(0, 0), SEND(1, 0)}},
    {"memory is freed while work uses it", false, {FILL_IT(0, V, 0), RENEW(0)}},
    {"memory is freed after work used it", true, {FILL_IT(0, V, 0), SYNC(0), RENEW(0)}},
    {"memory is used before it is allocated", false, {FILL_IT(FRESH, V, 0)}},
    {"memory is used behind its allocation", true, {ALLOC(FRESH, 0), FILL_IT(FRESH, V, 0)}},
    {"memory is used beside its allocation", false, {ALLOC(FRESH, 0), FILL_IT(FRESH, V, 1)}},
    {"memory is freed in order", true, {ALLOC(FRESH, 0), FILL_IT(FRESH, V, 0), FREE(FRESH, 0)}},
    {"memory is freed beside its use",
     false,
     {ALLOC(FRESH, 0), RECORD_IT(0, 0), WAIT_FOR(1, 0), FILL_IT(FRESH, V, 1), FREE(FRESH, 0)}},
    {"an event of another device is recorded", false, {RECORD_IT(3, 0)}},
    {"a mark is set twice", false, {MARK_IT(0), MARK_IT(0)}},
    {"the host waits for a mark that nobody sets", false, {AWAIT_IT(0)}},
    {"two threads enqueue on a stream", true, {FILL_IT(0, V, 0), MEANWHILE(1, FETCHING(0, 0))}},
    {"a thread waits for what another records now",
     false,
     {RECORD_IT(0, 0), MEANWHILE(1, WAITING(1, 0))}},
    {"a thread waits for what another has recorded", true, {RECORD_IT(0, 0), BY(1, WAITING(1, 0))}},
    {"a thread records what another waits for now",
     false,
     {MEANWHILE(1, WAITING(1, 0)), MEANWHILE(0, .op = LITMUS_RECORD)}},
    {"a thread enqueues on what another destroys now",
     false,
     {OF_STREAM(LITMUS_STREAM_RENEW, 0), MEANWHILE(1, FILLING(0, V, 0))}},
    {"a thread destroys what another uses now",
     false,
     {FILL_IT(0, V, 0), MEANWHILE(1, .op = LITMUS_STREAM_RENEW)}},
    {"a thread writes what another reads now",
     false,
     {GET_HOST, MEANWHILE(1, .op = LITMUS_HOST_WRITE, .slot = HOST_SLOT, .value = V)}},
    {"a thread writes what another has read",
     true,
     {GET_HOST, BY(1, .op = LITMUS_HOST_WRITE, .slot = HOST_SLOT, .value = V)}},
    {"a thread frees what another has not waited for",
     false,
     {FILL_IT(0, V, 0), SYNC(0), MEANWHILE(1, .op = LITMUS_CELL_RENEW)}},
    {"a thread that is not there makes a call", false, {BY(2, FILLING(0, V, 0))}},
    {"the first thread ends", false, {{.op = LITMUS_THREAD_RENEW}}},
};

static void undefined_programs_are_refused(void) {
  static litmus_model_t model;
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    litmus_program_t program = program_of(rules[i].calls, false);
    check(litmus_model_build(&model, &program, 0, 0, 0) == rules[i].defined,
          rules[i].defined ? "is refused" : "is allowed", rules[i].what);
  }
}

/* --------------------------------------------------------------------------------------- parts -- */

#define OF(part, count, ...) \
  { .first_part = (part), .parts = (count), __VA_ARGS__ }
#define SENDING(m, s) .op = LITMUS_UPLOAD, .slot = HOST_SLOT, .cell = (m), .stream = (s)
#define SETTING .op = LITMUS_HOST_WRITE, .slot = HOST_SLOT, .value = V

static litmus_program_t parts_of(const litmus_call_t* calls, uint32_t count) {
  litmus_program_t program = {
      .devices = 1, .count = count, .parts = 3, .ends = {1, 9}, .size_bytes = 10};
  for (uint32_t i = 0; i < count; i++) {
    program.calls[i] = calls[i];
    program.calls[i].id = (uint8_t)i;
  }
  return program;
}

/* The cell is filled, then two parts of it; what is downloaded has a value of each, and no other. */
static void parts_are_judged_each(void) {
  static litmus_model_t model;
  const litmus_call_t calls[] = {FILL_IT(0, V, 0), OF(1, 2, FILLING(0, W, 0)), FETCH(0, 0)};
  const litmus_program_t program = parts_of(calls, 3);
  check(litmus_model_build(&model, &program, 0, 0, 0), "is not defined", "parts");
  uint8_t slot[10], cell[10];
  litmus_wrong_t wrong;
  litmus_seen_t seen = {0};
  memset(slot, V, 1);
  memset(slot + 1, W, 9);
  memcpy(cell, slot, sizeof cell);
  seen.slots[HOST_SLOT] = slot;
  seen.cells[0] = cell;
  check(!litmus_judge(&model, &seen, &wrong), "is called wrong", "each part as it was filled");
  for (unsigned at = 0; at < 10; at++) {
    slot[at] = at == 0 ? W : V;
    check(litmus_judge(&model, &seen, &wrong) && wrong.at == at, "is called right",
          "the other part's value");
    slot[at] = at == 0 ? V : W;
  }
}

static const struct {
  const char* what;
  bool defined;
  litmus_call_t calls[2];
} part_rules[] = {
    {"the host writes beside what is uploaded", true, {OF(1, 2, SENDING(0, 0)), OF(0, 1, SETTING)}},
    {"the host writes some of what is uploaded",
     false,
     {OF(0, 2, SENDING(0, 0)), OF(1, 2, SETTING)}},
    {"the host writes all while some is uploaded", false, {OF(2, 1, SENDING(0, 0)), SET_HOST}},
    {"the host writes some while all is uploaded", false, {SEND(0, 0), OF(2, 1, SETTING)}},
    {"parts that are not there", false, {OF(2, 2, SENDING(0, 0)), GET_HOST}},
};

static void parts_are_defined_each(void) {
  static litmus_model_t model;
  for (size_t i = 0; i < sizeof part_rules / sizeof *part_rules; i++) {
    const litmus_program_t program = parts_of(part_rules[i].calls, 2);
    check(litmus_model_build(&model, &program, 0, 0, 0) == part_rules[i].defined,
          part_rules[i].defined ? "is refused" : "is allowed", part_rules[i].what);
  }
}

int main(void) {
  each_edge_bears();
  nothing_else_orders();
  undefined_programs_are_refused();
  parts_are_judged_each();
  parts_are_defined_each();
  check_generated_pairs();
  check_drills();
  check_verdicts();
  check_torch();
  printf("%d faults\n", faults);
  return faults == 0 ? 0 : 1;
}
