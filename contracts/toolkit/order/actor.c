/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "actor.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { QUIET_NS = 600000, TURNING_NS = 10000000, STILL_NS = 200000000, MOMENT_NS = 20000000 };

static void actor_run(void* argument) {
  actor_t* actor = argument;
  pthread_getcpuclockid(pthread_self(), &actor->clock);
  atomic_store(&actor->started, 1);
  actor->body(actor);
  atomic_store(&actor->finished, 1);
}

void actor_start(tbk_fixture_t* fx, actor_t* actor, actor_fn body, void* argument) {
  actor->fx = *fx;
  actor->body = body;
  actor->argument = argument;
  atomic_store(&actor->steps, 0);
  atomic_store(&actor->started, 0);
  atomic_store(&actor->finished, 0);
  actor->thread = fx_thread(fx, actor_run, actor);
}

void actor_step(actor_t* actor) {
  atomic_fetch_add(&actor->steps, 1);
}

void actor_join(tbk_fixture_t* fx, actor_t* actor) {
  fx_join(fx, actor->thread);
}

/* The state letter of a thread of this process; 'S' where it cannot be told any more. */
static char thread_state(const char* id) {
  char path[64];
  char line[256] = "";
  snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", id);
  FILE* file = fopen(path, "r");
  if (file == NULL) return 'S';
  bool held = fgets(line, sizeof line, file) != NULL;
  fclose(file);
  const char* name_end = held ? strrchr(line, ')') : NULL;
  return name_end != NULL && name_end[1] == ' ' ? name_end[2] : 'S';
}

bool process_sleeps(void) {
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == NULL) return true;
  long self = syscall(SYS_gettid);
  bool asleep = true;
  for (struct dirent* task = readdir(tasks); task != NULL && asleep; task = readdir(tasks)) {
    if (task->d_name[0] == '.' || atol(task->d_name) == self) continue;
    asleep = thread_state(task->d_name) != 'R';
  }
  closedir(tasks);
  return asleep;
}

static uint64_t cpu_ns(clockid_t clock) {
  struct timespec spent;
  if (clock_gettime(clock, &spent) != 0) return 0;
  return (uint64_t)spent.tv_sec * UINT64_C(1000000000) + (uint64_t)spent.tv_nsec;
}

/* Since when nothing moves: the moment at which the others were first seen asleep, or 0. */
static uint64_t quiet_since(uint64_t since) {
  if (!process_sleeps()) return 0;
  return since != 0 ? since : fx_now_ns();
}

void lapse_begin(lapse_t* lapse) {
  lapse->began = fx_now_ns();
  lapse->spent = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
}

bool lapse_over(const lapse_t* lapse, uint64_t ns) {
  return cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - lapse->spent > ns ||
         fx_now_ns() - lapse->began > FX_PATIENCE_NS / 4;
}

bool actor_settle(actor_t* actor) {
  while (!atomic_load(&actor->started))
    sched_yield();
  unsigned step = atomic_load(&actor->steps);
  lapse_t still;
  lapse_begin(&still);
  uint64_t spent = cpu_ns(actor->clock);
  uint64_t quiet = 0;
  while (!atomic_load(&actor->finished)) {
    sched_yield();
    uint64_t now = fx_now_ns();
    if (step != atomic_load(&actor->steps)) {
      step = atomic_load(&actor->steps);
      lapse_begin(&still);
      spent = cpu_ns(actor->clock);
      quiet = 0;
    }
    quiet = quiet_since(quiet);
    if (quiet != 0 && now > quiet && now - quiet > QUIET_NS) break;
    if (cpu_ns(actor->clock) - spent > TURNING_NS || lapse_over(&still, STILL_NS)) break;
  }
  return atomic_load(&actor->finished);
}

bool actor_ends(actor_t* actor) {
  uint64_t begin = fx_now_ns();
  while (!atomic_load(&actor->finished) && fx_now_ns() - begin < FX_PATIENCE_NS / 2)
    sched_yield();
  return atomic_load(&actor->finished);
}

void process_settle(void) {
  lapse_t moment;
  lapse_begin(&moment);
  uint64_t quiet = 0;
  while (!lapse_over(&moment, MOMENT_NS)) {
    quiet = quiet_since(quiet);
    if (quiet != 0 && fx_now_ns() - quiet > QUIET_NS) return;
    sched_yield();
  }
}
