/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * worker.c: a worker's process, and the parent that owns its deadlines: the library is loaded in the
 * worker alone, and a call that does not return, or takes the process with it, is told by the parent.
 */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "reap.h"
#include "torch.h"

#define LOOK_NS 2000000
/* Of the time to open, which is had besides: so long whoever has the device is waited for. */
#define WAITING_SHARE 0.75

volatile int hunt_interrupted;

static hunt_shared_t* map(int fd) {
  void* memory = mmap(NULL, sizeof(hunt_shared_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

hunt_shared_t* hunt_share(void) {
  const int fd = memfd_create("tbk-litmus", MFD_CLOEXEC);
  hunt_shared_t* shared = fd >= 0 && ftruncate(fd, sizeof(hunt_shared_t)) == 0 ? map(fd) : NULL;
  if (shared == NULL) {
    perror("tbk-litmus");
    exit(6);
  }
  shared->fd = fd;
  return shared;
}

static void run_program(void* self, const litmus_program_t* program, litmus_result_t* out_result,
                        litmus_seen_t* out_seen) {
  litmus_run(self, program, out_result, out_seen);
}

static void close_library(void* self) {
  litmus_runner_close(self);
}

static bool open_library(hunt_shared_t* shared, hunt_executor_t* out_executor) {
  int load, status;
  const hunt_job_t* job = &shared->job;
  litmus_runner_t* runner =
      litmus_runner_open(job->library, job->options[0] == '\0' ? NULL : job->options,
                         &shared->progress, shared->reason, sizeof shared->reason, &load, &status);
  *out_executor = (hunt_executor_t){runner, run_program, close_library};
  if (runner == NULL) {
    shared->state = load != TBK_LOAD_OK ? HUNT_BAD_LIBRARY : HUNT_NO_DEVICE;
    return false;
  }
  bool can_order = litmus_runner_offers(runner, &shared->offers);
  if (shared->offers.devices == 0) {
    snprintf(shared->reason, sizeof shared->reason, "the library counts no device");
    shared->state = HUNT_NO_DEVICE;
    return false;
  }
  if (can_order) return true;
  snprintf(shared->reason, sizeof shared->reason,
           "the library offers no streams or no events: there is nothing to order");
  shared->state = HUNT_NOTHING_TO_ORDER;
  return false;
}

static void work(hunt_executor_t* executor, hunt_shared_t* shared) {
  const hunt_job_t* job = &shared->job;
  if (job->repeats > 0)
    hunt_work_one(executor, shared, job->seed, job->repeats, job->range.until_ns);
  else
    hunt_work_range(executor, shared, job->seed, &job->range);
}

void hunt_serve(int fd) {
  hunt_executor_t executor;
  hunt_shared_t* shared = map(fd);
  if (shared == NULL) _exit(1);
  close(fd);
  if (open_library(shared, &executor)) work(&executor, shared);
  _exit(0);
}

/* Programs of PyTorch run in a child of the server, which this process asks for one. */
static _Noreturn void serve_torch(const hunt_subject_t* subject, hunt_shared_t* shared) {
  hunt_executor_t executor;
  if (torch_open(subject, shared, &executor)) work(&executor, shared);
  _exit(0);
}

/* A fork has the addresses of its parent: only who is executed anew is laid out anew. */
static _Noreturn void execute(const hunt_shared_t* shared) {
  char name[] = "tbk-litmus", word[] = HUNT_WORKER, fd[16];
  snprintf(fd, sizeof fd, "%d", shared->fd);
  char* const words[] = {name, word, fd, NULL};
  fcntl(shared->fd, F_SETFD, 0);
  execv("/proc/self/exe", words);
  hunt_serve(shared->fd); /* where there is no such file */
}

/* The parent ends it, whatever the terminal sends to both. */
static void ignore_signals(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
    signal(numbers[i], SIG_IGN);
}

static pid_t start(const hunt_subject_t* subject, hunt_shared_t* shared) {
  fflush(NULL);
  pid_t parent = getpid(), pid = fork();
  if (pid != 0) return pid;
  ignore_signals();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  if (subject->torch) serve_torch(subject, shared);
  execute(shared);
}

/* Kills what was left behind; the server of processes with PyTorch goes on. */
static void reap(void) {
  const pid_t server = torch_server();
  tbk_reap_strays(&server, server > 0);
}

/* Ends the worker's process and whatever it started. */
static void end(pid_t pid) {
  kill(pid, SIGKILL);
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
    continue;
  reap();
}

/* A device is not blamed for what its gate does. */
static hunt_state_t conclude_gate(hunt_shared_t* shared, const char* ended) {
  snprintf(shared->reason, sizeof shared->reason, "the gate: %s in a call of it", ended);
  return shared->state = HUNT_BAD_LIBRARY;
}

/* A library that was refused the device to the end may be slow since somebody has it. */
static hunt_state_t conclude_opening(hunt_shared_t* shared, int outcome, const char* ended) {
  const bool held = outcome == LITMUS_HUNG && shared->progress.is_refused;
  snprintf(shared->reason, sizeof shared->reason, "while it is loaded and opened: %s%s",
           held ? "it answered UNAVAILABLE, as if another process had the device, and then " : "",
           ended);
  return shared->state = held ? HUNT_NO_DEVICE : HUNT_BAD_LIBRARY;
}

static hunt_state_t conclude(hunt_shared_t* shared, int outcome, const char* format, int number) {
  char ended[80];
  snprintf(ended, sizeof ended, format, number);
  if (shared->in_gate) return conclude_gate(shared, ended);
  if (shared->state == HUNT_STARTING) return conclude_opening(shared, outcome, ended);
  if (shared->is_between) return shared->state = HUNT_OVER;
  shared->result.outcome = outcome;
  shared->result.call = shared->progress.call;
  snprintf(shared->result.message, sizeof shared->result.message, "%s", ended);
  return shared->state = HUNT_FOUND;
}

/* Returns how long it may take until it goes on. Opening waits for whoever has the device besides. */
static double limit_of(const hunt_subject_t* subject, const hunt_shared_t* shared, int32_t state) {
  const uint32_t weight = shared->progress.weight;
  if (state == HUNT_STARTING)
    return subject->open_timeout_s + (double)shared->progress.refused_ns / 1e9;
  return subject->call_timeout_s * (weight > 1 ? weight : 1);
}

static hunt_state_t watch(pid_t pid, const hunt_subject_t* subject, hunt_shared_t* shared) {
  uint64_t steps = shared->progress.steps, since = tbk_now_ns();
  int32_t state = HUNT_STARTING;
  for (;;) {
    int status;
    if (waitpid(pid, &status, WNOHANG) == pid) {
      reap();
      if (shared->state >= HUNT_FOUND) return shared->state;
      return WIFSIGNALED(status)
                 ? conclude(shared, LITMUS_CRASHED, "signal %d", WTERMSIG(status))
                 : conclude(shared, LITMUS_CRASHED, "exit status %d", WEXITSTATUS(status));
    }
    const struct timespec pause = {0, LOOK_NS};
    nanosleep(&pause, NULL);
    if (hunt_interrupted) {
      end(pid);
      return shared->state = HUNT_INTERRUPTED;
    }
    const int32_t now = shared->state;
    if (steps != shared->progress.steps || state != now) { /* the time to open is no call's */
      steps = shared->progress.steps;
      state = now;
      since = tbk_now_ns();
    }
    const double limit_s = limit_of(subject, shared, now);
    if ((double)(tbk_now_ns() - since) < limit_s * 1e9) continue;
    end(pid);
    return conclude(shared, LITMUS_HUNG, "no end within %d s", (int)ceil(limit_s));
  }
}

static void describe(const hunt_subject_t* subject, hunt_job_t* job) {
  job->seed = subject->seed;
  if (subject->torch) return;
  snprintf(job->library, sizeof job->library, "%s", subject->library);
  snprintf(job->options, sizeof job->options, "%s", subject->options ? subject->options : "");
}

static hunt_state_t run_job(const hunt_subject_t* subject, hunt_shared_t* shared) {
  describe(subject, &shared->job);
  shared->ran_ns = 0;
  shared->state = HUNT_STARTING;
  shared->is_control = shared->is_between = shared->in_gate = 0;
  shared->progress.refused_ns = shared->progress.is_refused = 0;
  shared->progress.patience_ns = (uint64_t)(subject->call_timeout_s * 0.5e9);
  shared->progress.opening_ns = (uint64_t)(subject->open_timeout_s * WAITING_SHARE * 1e9);
  pid_t pid = start(subject, shared);
  if (pid > 0) {
    const hunt_state_t state = watch(pid, subject, shared);
    torch_settle(shared);
    return state;
  }
  snprintf(shared->reason, sizeof shared->reason, "no process can be started");
  return shared->state = HUNT_NO_DEVICE;
}

hunt_state_t hunt_range(const hunt_subject_t* subject, const hunt_range_t* range,
                        hunt_shared_t* shared) {
  shared->job.range = *range;
  shared->job.repeats = 0;
  return run_job(subject, shared);
}

/* What dies or hangs in a program is started again behind it. */
hunt_state_t hunt_count(const hunt_subject_t* subject, const hunt_range_t* range,
                        hunt_shared_t* shared) {
  hunt_range_t rest = *range;
  rest.counts = true;
  hunt_state_t state = hunt_range(subject, &rest, shared);
  while (state == HUNT_FOUND) {
    shared->stats.found++;
    shared->stats.programs++; /* the one that died, which did not come to its end */
    rest.first = shared->index + 1;
    state = hunt_range(subject, &rest, shared);
  }
  return state == HUNT_OVER && shared->stats.found > 0 ? HUNT_FOUND : state;
}

hunt_state_t hunt_one(const hunt_subject_t* subject, const litmus_program_t* program,
                      unsigned repeats, uint64_t until_ns, hunt_shared_t* shared) {
  shared->job.repeats = repeats;
  shared->job.range.until_ns = until_ns;
  shared->program = *program;
  return run_job(subject, shared);
}
