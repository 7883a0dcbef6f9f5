/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "actor.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  QUIET_NS = 600000,
  UNTOLD_NS = 50000000,
  DOZE_NS = 100000,
  TURNING_NS = 100000000,
  STILL_NS = 400000000,
  MOMENT_NS = 20000000
};

static void actor_run(void* argument) {
  actor_t* actor = argument;
  pthread_getcpuclockid(pthread_self(), &actor->clock);
  actor->thread_id = (int)syscall(SYS_gettid);
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

/* What the other threads of the process do. */
typedef struct others {
  bool asleep; /* as far as the kernel tells */
  bool untold;
  uint64_t switches; /* how often they gave up a processor so far, and how many they are */
} others_t;

/* Reads what the kernel tells of a thread of this process; false where there is none any more. */
static bool thread_text(const char* id, const char* name, char* text, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%.20s/%s", id, name);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ssize_t length = read(file, text, size - 1);
  close(file);
  text[length > 0 ? length : 0] = '\0';
  return length > 0;
}

/*
 * Asleep is who waits for somebody. Whoever waits for the kernel ('D': a page, a lock on the memory
 * of the process) will go on by himself.
 */
static void add_thread(others_t* others, const char* id) {
  char text[4096];
  if (!thread_text(id, "status", text, sizeof text)) return;
  const char* state = strstr(text, "\nState:\t");
  const char* switches = strstr(text, "\nvoluntary_ctxt_switches:");
  others->switches += 1 + (switches != NULL ? strtoull(switches + 25, NULL, 10) : 0);
  if (state != NULL && strchr("RD", state[8]) != NULL) others->asleep = false;
}

static others_t others_now(void) {
  DIR* tasks = opendir("/proc/self/task");
  others_t others = {.asleep = true, .untold = tasks == NULL};
  if (tasks == NULL) return others;
  long self = syscall(SYS_gettid);
  for (struct dirent* task = readdir(tasks); task != NULL && others.asleep; task = readdir(tasks))
    if (task->d_name[0] != '.' && atol(task->d_name) != self) add_thread(&others, task->d_name);
  closedir(tasks);
  return others;
}

bool process_sleeps(void) {
  return others_now().asleep;
}

static uint64_t cpu_ns(clockid_t clock) {
  struct timespec spent;
  if (clock_gettime(clock, &spent) != 0) return 0;
  return (uint64_t)spent.tv_sec * UINT64_C(1000000000) + (uint64_t)spent.tv_nsec;
}

/* Since when nothing moves. */
typedef struct quiet {
  uint64_t since; /* 0: something does */
  uint64_t switches;
  bool untold;
} quiet_t;

/*
 * Looks again, once the time is over. Seen asleep twice is not asleep all the time: between two looks the
 * others may have run. Who sleeps again has given up a processor. Of whom nothing is told, it takes longer.
 */
static bool quiet_for(quiet_t* quiet, uint64_t ns) {
  const uint64_t least = quiet->untold ? UNTOLD_NS : ns;
  if (quiet->since != 0 && fx_awake_ns() - quiet->since <= least) return false;
  const others_t others = others_now();
  if (!others.asleep)
    quiet->since = 0;
  else if (quiet->since == 0 || others.switches != quiet->switches)
    *quiet = (quiet_t){fx_awake_ns(), others.switches, others.untold};
  else
    return true;
  return false;
}

void lapse_begin(lapse_t* lapse) {
  lapse->began = fx_awake_ns();
  lapse->spent = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
}

bool lapse_over(const lapse_t* lapse, uint64_t ns) {
  return cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - lapse->spent > ns ||
         fx_awake_ns() - lapse->began > FX_PATIENCE_NS / 4;
}

/* While nothing moves the watcher needs no processor either. What it dozes counts as spent. */
static void wait_between(lapse_t* lapse, const quiet_t* quiet) {
  const struct timespec doze = {.tv_nsec = DOZE_NS};
  if (quiet->since == 0) {
    sched_yield();
    return;
  }
  (void)nanosleep(&doze, NULL);
  lapse->spent -= DOZE_NS;
}

/* How often the actor touched memory that it had to be given first; 0 where nobody tells. */
static uint64_t faults_of(const actor_t* actor) {
  char id[24], text[1024];
  snprintf(id, sizeof id, "%d", actor->thread_id);
  if (!thread_text(id, "stat", text, sizeof text)) return 0;
  const char* at = strrchr(text, ')');
  for (int field = 0; at != NULL && field < 8; field++) /* minflt is the eighth behind the name */
    at = strchr(at + 1, ' ');
  return at != NULL ? strtoull(at, NULL, 10) : 0;
}

/* How long an actor has been in one call. */
typedef struct stay {
  unsigned step;
  lapse_t lapse;
  uint64_t spent, faults;
  quiet_t quiet;
} stay_t;

static void stay_begin(stay_t* stay, const actor_t* actor) {
  stay->step = atomic_load(&actor->steps);
  lapse_begin(&stay->lapse);
  stay->spent = cpu_ns(actor->clock);
  stay->faults = faults_of(actor);
  stay->quiet = (quiet_t){0};
}

/* Whoever is given memory meanwhile does not turn: large memory takes its time. */
static bool is_turning(stay_t* stay, const actor_t* actor) {
  const uint64_t spent = cpu_ns(actor->clock);
  if (spent - stay->spent <= TURNING_NS) return false;
  const uint64_t faults = faults_of(actor);
  if (faults == stay->faults) return true;
  stay->spent = spent;
  stay->faults = faults;
  return false;
}

bool actor_settle(actor_t* actor) {
  while (!atomic_load(&actor->started))
    sched_yield();
  stay_t stay;
  stay_begin(&stay, actor);
  while (!atomic_load(&actor->finished)) {
    wait_between(&stay.lapse, &stay.quiet);
    if (stay.step != atomic_load(&actor->steps)) stay_begin(&stay, actor);
    if (quiet_for(&stay.quiet, QUIET_NS) || is_turning(&stay, actor)) break;
    if (lapse_over(&stay.lapse, STILL_NS)) break;
  }
  return atomic_load(&actor->finished);
}

bool actor_ends(actor_t* actor) {
  uint64_t begin = fx_awake_ns();
  while (!atomic_load(&actor->finished) && fx_awake_ns() - begin < FX_PATIENCE_NS / 2)
    sched_yield();
  return atomic_load(&actor->finished);
}

void process_settle(void) {
  lapse_t moment;
  lapse_begin(&moment);
  quiet_t quiet = {0};
  while (!lapse_over(&moment, MOMENT_NS)) {
    if (quiet_for(&quiet, QUIET_NS)) return;
    wait_between(&moment, &quiet);
  }
}
