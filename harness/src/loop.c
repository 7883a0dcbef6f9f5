/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * loop.c: see loop.h.
 */
#include "loop.h"

#include "clock.h"
#include "reap.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

static const uint64_t watch_every_ns = UINT64_C(20000000), standstill_ns = UINT64_C(1000000000);
static volatile sig_atomic_t interrupted;
static sigset_t unmasked;

static void on_signal(int number) {
  interrupted = number;
}

int tbk_loop_interrupted(void) {
  return interrupted;
}

/* They are let in only while the loop waits, so that no call in between is cut short. */
static void take_signals(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};
  struct sigaction action = {.sa_handler = on_signal};
  sigset_t blocked;
  (void)sigemptyset(&blocked);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction old;
    if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN) continue; /* nohup */
    (void)sigaddset(&blocked, numbers[i]);
    (void)sigaction(numbers[i], &action, NULL);
  }
  (void)sigprocmask(SIG_BLOCK, &blocked, &unmasked);
  (void)signal(SIGPIPE, SIG_IGN);
}

void tbk_loop_pause(uint32_t milliseconds) {
  struct timespec time = {.tv_sec = milliseconds / 1000,
                          .tv_nsec = (long)(milliseconds % 1000) * 1000000};
  (void)ppoll(NULL, 0, &time, &unmasked);
}

uint32_t tbk_loop_slots(uint32_t jobs) {
  struct rlimit limit;
  uint32_t most = 1024;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= 4096)
    most = limit.rlim_cur < 28 ? 1 : (uint32_t)(limit.rlim_cur - 24) / TBK_SLOT_FDS;
  return jobs > most / 2 ? most : 2 * jobs;
}

static bool start_slot(tbk_loop_t* loop, tbk_slot_t* slot) {
  return slot->launcher != 0 || tbk_slot_start(slot, loop->launchers);
}

bool tbk_loop_start(tbk_loop_t* loop, tbk_journal_t* journal, uint32_t jobs,
                    const tbk_launchers_t* launchers) {
  const uint32_t count = journal->slot_count;
  *loop = (tbk_loop_t){.count = count, .jobs = jobs < count ? jobs : count, .launchers = launchers};
  loop->slots = calloc(count, sizeof *loop->slots);
  loop->fds = calloc((size_t)count * TBK_SLOT_FDS, sizeof *loop->fds);
  loop->kept = calloc(TBK_REAP_MAX + (size_t)count + 1, sizeof *loop->kept);
  if (loop->slots == NULL || loop->fds == NULL || loop->kept == NULL) abort();
  loop->foreign_count = tbk_children(loop->kept, TBK_REAP_MAX);
  take_signals();
  (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (uint32_t i = 0; i < count; i++) {
    loop->slots[i].number = i;
    loop->slots[i].journal = journal;
  }
  return start_slot(loop, &loop->slots[0]);
}

uint32_t tbk_loop_busy(const tbk_loop_t* loop) {
  uint32_t busy = 0;
  for (uint32_t i = 0; i < loop->count; i++)
    busy += loop->slots[i].busy;
  return busy;
}

/* A launcher that was killed leaves its descendants to us. */
static void reap_orphans(tbk_loop_t* loop) {
  size_t kept = loop->foreign_count;
  for (uint32_t i = 0; i < loop->count; i++)
    if (loop->slots[i].launcher != 0) loop->kept[kept++] = loop->slots[i].launcher;
  if (loop->launchers->maker != NULL && loop->launchers->maker() != 0)
    loop->kept[kept++] = loop->launchers->maker();
  (void)tbk_reap_strays(loop->kept, kept);
}

tbk_slot_t* tbk_loop_idle(tbk_loop_t* loop) {
  tbk_slot_t* best = NULL;
  if (tbk_loop_busy(loop) >= loop->jobs) return NULL;
  for (uint32_t i = 0; i < loop->count; i++) {
    tbk_slot_t* slot = &loop->slots[i];
    if (slot->busy || (best != NULL && slot->idle_since_ns >= best->idle_since_ns)) continue;
    if (start_slot(loop, slot)) best = slot;
  }
  return best;
}

/* A run that was stopped, or frozen with its machine, finds its deadlines over when it goes on. */
static void watch(tbk_loop_t* loop) {
  const uint64_t now = tbk_now_ns(), since = now - loop->watched_ns;
  if (since < watch_every_ns) return;
  loop->watched_ns = now;
  for (uint32_t i = 0; i < loop->count; i++) {
    if (since > standstill_ns) tbk_slot_lend(&loop->slots[i], now, since);
    tbk_slot_watch(&loop->slots[i], now);
  }
}

void tbk_loop_pump(tbk_loop_t* loop) {
  const struct timespec tick = {.tv_nsec = (long)watch_every_ns};
  if (tbk_loop_busy(loop) == 0) return;
  for (uint32_t i = 0; i < loop->count; i++)
    tbk_slot_poll(&loop->slots[i], &loop->fds[(size_t)i * TBK_SLOT_FDS]);
  if (ppoll(loop->fds, (nfds_t)loop->count * TBK_SLOT_FDS, &tick, &unmasked) > 0)
    for (uint32_t i = 0; i < loop->count; i++)
      tbk_slot_read(&loop->slots[i], &loop->fds[(size_t)i * TBK_SLOT_FDS]);
  watch(loop);
  for (uint32_t i = 0; i < loop->count; i++)
    if (loop->slots[i].lost_launcher) {
      loop->slots[i].lost_launcher = false;
      reap_orphans(loop);
    }
}

void tbk_loop_finish(tbk_loop_t* loop, tbk_slot_t* slot) {
  while (slot->busy) {
    tbk_loop_pump(loop);
    if (tbk_loop_interrupted() != 0) tbk_slot_kill(slot, TBK_END_INTERRUPTED);
  }
}

void tbk_loop_renew(tbk_loop_t* loop) {
  for (uint32_t i = 0; i < loop->count; i++) /* all leave at the same time */
    if (loop->slots[i].launcher != 0) (void)shutdown(loop->slots[i].control, SHUT_RDWR);
  for (uint32_t i = 0; i < loop->count; i++)
    tbk_slot_stop(&loop->slots[i]);
}

void tbk_loop_stop(tbk_loop_t* loop) {
  tbk_loop_renew(loop);
  reap_orphans(loop);
}
