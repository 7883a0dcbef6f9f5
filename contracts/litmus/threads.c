/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * threads.c: the calls of a program, each in its thread of the host. A call waits for those before
 * it in the list, so that threads take turns, unless it says meanwhile. The threads stay for the next
 * program, as those of a pool do.
 */
#include <pthread.h>
#include <string.h>

#include "runner.h"

/* A turn mostly comes before a thread would be asleep. */
enum { LOOKS = 2000 };

typedef struct helper {
  int number;
  pthread_t thread, predecessor;
  bool runs, succeeds; /* its predecessor is to be joined */
  uint64_t begun;      /* how many programs it has begun */
  uint32_t next;       /* the call that it looks at next */
} helper_t;

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  litmus_runner_t* runner;
  unsigned threads;         /* of the program */
  uint64_t programs;        /* how many were begun */
  uint64_t begun, returned; /* atomic: bits of calls */
  unsigned sleepers;        /* atomic: threads that are to be woken when a call has returned */
  unsigned busy;            /* helpers that are not through the program */
  bool over;
  helper_t helpers[LITMUS_THREADS]; /* the first is whoever runs the program */
} host = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Returns the calls that must have returned before call `index` begins. */
static uint64_t calls_before(const litmus_program_t* p, uint32_t index) {
  uint64_t before = 0;
  for (uint32_t i = 0; i < index; i++)
    if (!p->calls[index].meanwhile || p->calls[i].thread == p->calls[index].thread)
      before |= UINT64_C(1) << i;
  return before;
}

static bool may_begin(litmus_runner_t* r, uint64_t before) {
  return (__atomic_load_n(&host.returned, __ATOMIC_SEQ_CST) & before) == before ||
         litmus_has_ended(r);
}

/* Waits until the call may begin; false where the program has ended. */
static bool await_turn(litmus_runner_t* r, uint32_t index) {
  const uint64_t before = calls_before(r->program, index);
  for (unsigned i = 0; i < LOOKS && !may_begin(r, before); i++)
    continue;
  if (!may_begin(r, before)) {
    pthread_mutex_lock(&host.lock);
    __atomic_fetch_add(&host.sleepers, 1, __ATOMIC_SEQ_CST);
    while (!may_begin(r, before))
      pthread_cond_wait(&host.changed, &host.lock);
    __atomic_fetch_sub(&host.sleepers, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&host.lock);
  }
  __atomic_fetch_or(&host.begun, UINT64_C(1) << index, __ATOMIC_SEQ_CST);
  return !litmus_has_ended(r);
}

static void note_return(uint32_t index) {
  const uint64_t bit = UINT64_C(1) << index;
  const uint64_t returned = __atomic_or_fetch(&host.returned, bit, __ATOMIC_SEQ_CST);
  const uint64_t under_way = __atomic_load_n(&host.begun, __ATOMIC_SEQ_CST) & ~returned;
  if (under_way != 0) /* if one hangs, it is one of these */
    __atomic_store_n(&host.runner->progress->call, __builtin_ctzll(under_way), __ATOMIC_RELAXED);
  if (__atomic_load_n(&host.sleepers, __ATOMIC_SEQ_CST) == 0 && !litmus_has_ended(host.runner))
    return;
  pthread_mutex_lock(&host.lock);
  pthread_cond_broadcast(&host.changed);
  pthread_mutex_unlock(&host.lock);
}

static void* serve(void* argument);

/* Returns whether another thread goes on in its place. */
static bool give_place(helper_t* helper) {
  helper->predecessor = pthread_self();
  helper->succeeds = true;
  return pthread_create(&helper->thread, NULL, serve, helper) == 0;
}

/* Goes on with the calls that are `helper`'s; false where another thread does. */
static bool run_own(litmus_runner_t* r, helper_t* helper) {
  const litmus_program_t* p = r->program;
  while (helper->next < p->count) {
    const uint32_t index = helper->next++;
    if (p->calls[index].thread != helper->number) continue;
    if (!await_turn(r, index)) break;
    litmus_step(r, index);
    if (p->calls[index].op == LITMUS_THREAD_RENEW && give_place(helper)) return false;
    note_return(index);
  }
  return true;
}

/* Returns whether there is a program that the helper has not begun. */
static bool await_program(helper_t* helper) {
  pthread_mutex_lock(&host.lock);
  while (!host.over && (helper->begun == host.programs || (unsigned)helper->number >= host.threads))
    pthread_cond_wait(&host.changed, &host.lock);
  helper->begun = host.programs;
  helper->next = 0;
  const bool over = host.over;
  pthread_mutex_unlock(&host.lock);
  return !over;
}

static void note_end(void) {
  pthread_mutex_lock(&host.lock);
  host.busy--;
  pthread_cond_broadcast(&host.changed);
  pthread_mutex_unlock(&host.lock);
}

static void* serve(void* argument) {
  helper_t* helper = argument;
  if (helper->succeeds) { /* what ended with the one before has ended when the call returns */
    helper->succeeds = false;
    pthread_join(helper->predecessor, NULL);
    note_return(helper->next - 1);
    if (!run_own(host.runner, helper)) return NULL;
    note_end();
  }
  while (await_program(helper)) {
    if (!run_own(host.runner, helper)) return NULL;
    note_end();
  }
  return NULL;
}

static bool start(helper_t* helper, int number) {
  if (helper->runs) return true;
  helper->number = number;
  helper->begun = host.programs;
  return helper->runs = pthread_create(&helper->thread, NULL, serve, helper) == 0;
}

void litmus_run_threads(litmus_runner_t* r) {
  const unsigned threads = r->program->threads;
  for (unsigned i = 1; i < threads; i++)
    if (!start(&host.helpers[i], (int)i)) {
      litmus_end_with(r, LITMUS_NO_ROOM, TBK_OK);
      return;
    }
  pthread_mutex_lock(&host.lock);
  host.runner = r;
  host.begun = host.returned = 0;
  host.threads = threads;
  host.busy = threads - 1;
  host.programs++;
  pthread_cond_broadcast(&host.changed);
  pthread_mutex_unlock(&host.lock);
  host.helpers[0].next = 0;
  run_own(r, &host.helpers[0]);
  pthread_mutex_lock(&host.lock);
  pthread_cond_broadcast(&host.changed); /* where the program has ended early */
  while (host.busy > 0)
    pthread_cond_wait(&host.changed, &host.lock);
  pthread_mutex_unlock(&host.lock);
}

void litmus_end_threads(void) {
  pthread_mutex_lock(&host.lock);
  host.over = true;
  pthread_cond_broadcast(&host.changed);
  pthread_mutex_unlock(&host.lock);
  for (int i = 1; i < LITMUS_THREADS; i++)
    if (host.helpers[i].runs) pthread_join(host.helpers[i].thread, NULL);
  memset(host.helpers, 0, sizeof host.helpers);
  host.over = false;
}
