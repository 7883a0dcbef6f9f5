/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * threads.c: the calls of a program, each in its thread of the host. A call waits for those before
 * it in the list, so that threads take turns, unless it says meanwhile. The threads stay for the next
 * program, as those of a pool do. Who returns from a call wakes those alone whose turn has come: to
 * wake a thread takes longer than most calls, and to let it spin takes a core from the device.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>

#include "runner.h"

/* Only where calls may meet: who sleeps would come too late. */
enum { LOOKS = 500 };

typedef struct helper {
  int number;
  pthread_t thread, predecessor;
  bool runs, succeeds; /* its predecessor is to be joined */
  sem_t turn;          /* posted by whoever takes its call out of `awaits` */
  uint32_t awaits;     /* atomic: the call that it is to be woken for, and one; 0: it is not */
  uint32_t next;       /* the call that it looks at next */
} helper_t;

static struct {
  litmus_runner_t* runner;
  uint64_t before[LITMUS_CALLS]; /* of each call: those that must have returned */
  uint64_t begun, returned;      /* atomic: bits of calls */
  unsigned busy;                 /* atomic: helpers that are not through the program */
  sem_t through;                 /* posted when there is none left */
  bool over;
  helper_t helpers[LITMUS_THREADS]; /* the first is whoever runs the program */
  bool ready;
  cpu_set_t one, all; /* the core on which threads take turns, and those that there are */
} host;

static void await(sem_t* semaphore) {
  while (sem_wait(semaphore) != 0 && errno == EINTR)
    continue;
}

static bool may_begin(uint32_t index) {
  const uint64_t before = host.before[index];
  return (__atomic_load_n(&host.returned, __ATOMIC_SEQ_CST) & before) == before ||
         litmus_has_ended(host.runner);
}

/* Wakes those whose turn it is; all of them, where the program has ended. */
static void wake(void) {
  for (unsigned t = 0; t < host.runner->program->threads; t++) {
    helper_t* helper = &host.helpers[t];
    uint32_t awaited = __atomic_load_n(&helper->awaits, __ATOMIC_SEQ_CST);
    if (awaited == 0 || !may_begin(awaited - 1)) continue;
    if (__atomic_compare_exchange_n(&helper->awaits, &awaited, 0, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST))
      sem_post(&helper->turn);
  }
}

static void await_turn(helper_t* helper, uint32_t index) {
  for (unsigned i = 0; i < LOOKS && host.runner->program->races && !may_begin(index); i++)
    continue;
  if (may_begin(index)) return;
  __atomic_store_n(&helper->awaits, index + 1, __ATOMIC_SEQ_CST);
  /* What returned in between may have looked too early. */
  if (may_begin(index) && __atomic_exchange_n(&helper->awaits, 0, __ATOMIC_SEQ_CST) != 0) return;
  await(&helper->turn);
}

static void note_return(uint32_t index) {
  const uint64_t bit = UINT64_C(1) << index;
  const uint64_t returned = __atomic_or_fetch(&host.returned, bit, __ATOMIC_SEQ_CST);
  const uint64_t under_way = __atomic_load_n(&host.begun, __ATOMIC_SEQ_CST) & ~returned;
  if (under_way != 0) /* if one hangs, it is one of these */
    __atomic_store_n(&host.runner->progress->call, __builtin_ctzll(under_way), __ATOMIC_RELAXED);
  wake();
}

static void* serve(void* argument);

/* Returns whether another thread goes on in its place. */
static bool give_place(helper_t* helper) {
  helper->predecessor = pthread_self();
  helper->succeeds = true;
  if (pthread_create(&helper->thread, NULL, serve, helper) == 0) return true;
  return helper->succeeds = false;
}

/* Returns the next call of the helper's; the number of all: there is none. */
static uint32_t next_of(const helper_t* helper) {
  const litmus_program_t* p = host.runner->program;
  uint32_t index = helper->next;
  while (index < p->count && p->calls[index].thread != helper->number)
    index++;
  return index;
}

/* Goes on with the calls that are `helper`'s; false where another thread does. */
static bool run_own(helper_t* helper, bool has_turn) {
  litmus_runner_t* r = host.runner;
  for (uint32_t index; (index = next_of(helper)) < r->program->count; has_turn = false) {
    helper->next = index + 1;
    if (!has_turn) await_turn(helper, index);
    __atomic_fetch_or(&host.begun, UINT64_C(1) << index, __ATOMIC_SEQ_CST);
    if (litmus_has_ended(r)) break;
    litmus_step(r, index);
    if (r->program->calls[index].op == LITMUS_THREAD_RENEW && give_place(helper)) return false;
    note_return(index);
  }
  wake(); /* where the program has ended early */
  return true;
}

static void note_end(void) {
  if (__atomic_sub_fetch(&host.busy, 1, __ATOMIC_SEQ_CST) == 0) sem_post(&host.through);
}

static void* serve(void* argument) {
  helper_t* helper = argument;
  if (helper->succeeds) { /* what ended with the one before has ended when the call returns */
    helper->succeeds = false;
    pthread_join(helper->predecessor, NULL);
    note_return(helper->next - 1);
    if (!run_own(helper, false)) return NULL;
    note_end();
  }
  for (;;) {
    await(&helper->turn);
    if (host.over) return NULL;
    if (!run_own(helper, true)) return NULL;
    note_end();
  }
}

static bool start(helper_t* helper, int number) {
  if (helper->runs) return true;
  helper->number = number;
  return helper->runs = pthread_create(&helper->thread, NULL, serve, helper) == 0;
}

/* Whichever call comes first in the list, none is waited for that a thread has not begun. */
static void find_before(const litmus_program_t* p) {
  uint64_t own[LITMUS_THREADS] = {0};
  for (uint32_t i = 0; i < p->count; i++) {
    const litmus_call_t* call = &p->calls[i];
    host.before[i] = call->meanwhile ? own[call->thread] : (UINT64_C(1) << i) - 1;
    own[call->thread] |= UINT64_C(1) << i;
  }
}

/* Notes the first call of each; a helper that has none stays asleep. */
static void begin_program(litmus_runner_t* r) {
  host.runner = r;
  host.begun = host.returned = 0;
  find_before(r->program);
  host.busy = 1; /* nobody is through before all are noted */
  for (unsigned i = 1; i < r->program->threads; i++) {
    helper_t* helper = &host.helpers[i];
    helper->next = 0;
    const uint32_t first = next_of(helper);
    if (first == r->program->count) continue;
    __atomic_fetch_add(&host.busy, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&helper->awaits, first + 1, __ATOMIC_SEQ_CST);
  }
  wake();
}

static void make_ready(void) {
  if (host.ready) return;
  sem_init(&host.through, 0, 0);
  for (int i = 0; i < LITMUS_THREADS; i++)
    sem_init(&host.helpers[i].turn, 0, 0);
  (void)sched_getaffinity(0, sizeof host.all, &host.all);
  CPU_ZERO(&host.one);
  const int core = sched_getcpu();
  if (core >= 0) CPU_SET((unsigned)core, &host.one);
  host.ready = true;
}

/* Where the device's own threads decide nothing, threads that take turns need one core: to wake one on
   another core takes twice as long. */
static void gather(const litmus_runner_t* r, bool in_one) {
  if (r->offers.races) return;
  (void)sched_setaffinity(0, sizeof host.one, in_one ? &host.one : &host.all);
}

static void run_program(litmus_runner_t* r) {
  for (unsigned i = 1; i < r->program->threads; i++)
    if (!start(&host.helpers[i], (int)i)) {
      litmus_end_with(r, LITMUS_NO_ROOM, TBK_OK);
      return;
    }
  begin_program(r);
  host.helpers[0].next = 0;
  run_own(&host.helpers[0], false);
  note_end();
  await(&host.through);
}

void litmus_run_threads(litmus_runner_t* r) {
  make_ready();
  gather(r, true);
  run_program(r);
  gather(r, false);
}

void litmus_end_threads(void) {
  host.over = true;
  for (int i = 1; i < LITMUS_THREADS; i++) {
    if (!host.helpers[i].runs) continue;
    sem_post(&host.helpers[i].turn);
    pthread_join(host.helpers[i].thread, NULL);
    host.helpers[i].runs = false;
  }
  host.over = false;
}
