/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "child.h"

#include "look.h"
#include "resources.h"
#include "wait.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool is_child;

/*
 * LeakSanitizer asks by this name, at exit, where a library under test is built with it. Its search
 * takes locks that a thread of the parent, which this process does not have, may have held at the
 * fork: the child would wait for ever, and a correct library fail. The parent is searched.
 */
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
int __lsan_is_turned_off(void) {
  return is_child;
}

static void in_child(tbk_child_t* self, tbk_child_fn body, void* argument, int ending) {
  is_child = true;
  close(self->from_child);
  close(self->to_child);
  int code = body(self, argument);
  if (ending == TBK_CHILD_QUICK_EXIT) _exit(code);
  exit(code);
}

void tbk_child_start(tbk_fixture_t* fx, tbk_child_t* child, tbk_child_fn body, void* argument,
                     int ending) {
  (void)fx;
  int up[2], down[2];
  SUITE_REQUIRE(pipe2(up, O_CLOEXEC) == 0);
  SUITE_REQUIRE(pipe2(down, O_CLOEXEC) == 0);
  *child =
      (tbk_child_t){.from_child = up[0], .said = up[1], .to_child = down[1], .released = down[0]};
  fflush(NULL); /* exit() in the child would write it a second time */
  child->pid = fork();
  if (child->pid == 0) in_child(child, body, argument, ending);
  close(child->said);
  close(child->released);
  SUITE_REQUIRE(child->pid > 0);
}

void tbk_adopt_orphans(void) {
  (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* As many numbers as the kernel lists, for each thread; none where it does not. */
static int listed_children(void) {
  char path[64], pid[16];
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == NULL) return 0;
  for (struct dirent* task; (task = readdir(tasks)) != NULL;) {
    snprintf(path, sizeof path, "/proc/self/task/%.20s/children", task->d_name);
    FILE* list = task->d_name[0] == '.' ? NULL : fopen(path, "re");
    while (list != NULL && fscanf(list, "%15s", pid) == 1)
      count++;
    if (list != NULL) fclose(list);
  }
  closedir(tasks);
  return count;
}

int tbk_children_left(void) {
  const struct timespec pause = {.tv_nsec = 1000000};
  const uint64_t until = fx_awake_ns() + UINT64_C(500000000);
  for (;;) {
    pid_t pid = waitpid(-1, NULL, WNOHANG);
    if (pid < 0 && errno == ECHILD) return 0;
    if (pid != 0) continue;
    if (fx_awake_ns() > until) break; /* one that helped and is about to end is none */
    nanosleep(&pause, NULL);
  }
  int count = listed_children();
  return count > 0 ? count : 1;
}

void tbk_child_say(tbk_child_t* self) {
  while (write(self->said, "!", 1) < 0 && errno == EINTR)
    continue;
}

static bool readable(int file, uint64_t timeout_ns) {
  struct pollfd poll_file = {.fd = file, .events = POLLIN};
  const uint64_t deadline = fx_awake_ns() + timeout_ns;
  for (;;) {
    const uint64_t step = tbk_wait_step_ns(deadline);
    const int ready = poll(&poll_file, 1, (int)((step + 999999) / 1000000));
    if (ready > 0) return true;
    if (ready == 0 ? step == 0 : errno != EINTR) return false;
  }
}

void tbk_child_await(tbk_child_t* self) {
  readable(self->released, 3 * FX_PATIENCE_NS);
}

bool tbk_child_heard(tbk_child_t* child) {
  char word;
  return readable(child->from_child, 2 * FX_PATIENCE_NS) && read(child->from_child, &word, 1) == 1;
}

void tbk_child_release(tbk_child_t* child) {
  if (child->to_child >= 0) close(child->to_child);
  child->to_child = -1;
}

/* By the pipe where the kernel has no descriptors for processes. */
static bool wait_end(tbk_child_t* child) {
  char word;
  int process = (int)syscall(SYS_pidfd_open, child->pid, 0);
  if (process >= 0) {
    bool ended = readable(process, 2 * FX_PATIENCE_NS);
    close(process);
    return ended;
  }
  while (readable(child->from_child, 2 * FX_PATIENCE_NS)) {
    if (read(child->from_child, &word, 1) <= 0) return true;
  }
  return false;
}

bool tbk_child_check_end(tbk_child_t* child, tbk_here_t here) {
  int status = 0;
  tbk_child_release(child);
  bool ended = wait_end(child);
  if (!ended) kill(child->pid, SIGKILL);
  while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
    continue;
  close(child->from_child);
  tbk_set_phase(TBK_PHASE_BODY); /* the child may have died in another */
  const char* good = "it ends with exit code 0";
  if (!ended) return tbk_check_said(false, here, good, "it had not ended after 20 seconds");
  if (WIFSIGNALED(status)) {
    return tbk_check_said(false, here, good, "it was ended by signal %d", WTERMSIG(status));
  }
  return tbk_check_said(WEXITSTATUS(status) == 0, here, good, "it ended with code %d",
                        WEXITSTATUS(status));
}

/* ---------------------------------------------------------------------------------- device ---- */

enum { TROUBLE_BYTES = 16384 }; /* a multiple of any granularity that is in use */

/* A device, by whatever instance, and what goes there and back. */
typedef struct trial {
  const tbk_core_t* core;
  tbk_instance_t* self;
  int32_t device;
  tbk_memory_t memory[2];
  uint8_t *sent, *got;
} trial_t;

static const tbk_trouble_t no_trouble = {NULL, NULL};

static tbk_trouble_t there_and_back(const trial_t* it) {
  static tbk_error_t error; /* that it may be missing is a clause of its own */
  const tbk_core_t* core = it->core;
  if (core->upload(it->self, it->device, it->memory[0], 0, it->sent, TROUBLE_BYTES, NULL, &error))
    return (tbk_trouble_t){"upload", "CPY-004"};
  if (core->copy(it->self, it->device, it->memory[1], 0, it->memory[0], 0, TROUBLE_BYTES, NULL,
                 &error))
    return (tbk_trouble_t){"copy", "CPY-015"};
  if (core->download(it->self, it->device, it->got, it->memory[1], 0, TROUBLE_BYTES, NULL, &error))
    return (tbk_trouble_t){"download", "CPY-009"};
  return no_trouble;
}

/* The bytes came back wrong: by what, where that may be looked at. */
static const char* clause_of_bytes(const tbk_fixture_t* fx, const trial_t* it) {
  tbk_error_t error;
  if (fx == NULL) return NULL;
  tbk_fixture_t own = *fx;
  own.core = it->core;
  own.self = it->self;
  own.device = it->device;
  const char* clause = look_again(&own, it->sent, it->memory[0], TROUBLE_BYTES);
  const bool is_read = it->core->download(it->self, it->device, it->got, it->memory[0], 0,
                                          TROUBLE_BYTES, NULL, &error) == TBK_OK;
  const bool is_copy = is_read && memcmp(it->sent, it->got, TROUBLE_BYTES) == 0;
  return clause == NULL && is_copy ? "CPY-015" : clause;
}

static tbk_trouble_t trouble_of(const tbk_fixture_t* fx, trial_t* it) {
  static tbk_error_t error;
  for (int i = 0; i < 2; i++) {
    if (it->core->memory_alloc(it->self, it->device, TROUBLE_BYTES, &it->memory[i], &error))
      return (tbk_trouble_t){"memory_alloc", NULL};
  }
  tbk_trouble_t trouble = there_and_back(it);
  if (trouble.step == NULL && memcmp(it->sent, it->got, TROUBLE_BYTES) != 0)
    trouble = (tbk_trouble_t){"the bytes that come back", clause_of_bytes(fx, it)};
  for (int i = 0; i < 2; i++) {
    if (it->core->memory_free(it->self, it->device, it->memory[i], &error) != TBK_OK &&
        trouble.step == NULL)
      trouble = (tbk_trouble_t){"memory_free", "MEM-012"};
  }
  return trouble;
}

static tbk_trouble_t device_trouble(const tbk_fixture_t* fx, const tbk_core_t* core,
                                    tbk_instance_t* self, int32_t device, uint64_t seed) {
  static uint8_t sent[TROUBLE_BYTES], got[TROUBLE_BYTES + TBK_GUARD_BYTES];
  for (size_t i = 0; i < TROUBLE_BYTES; i++) {
    sent[i] = (uint8_t)((seed = seed * UINT64_C(6364136223846793005) + 1) >> 56);
    got[i] = (uint8_t)~sent[i];
  }
  trial_t trial = {core, self, device, {0, 0}, sent, got};
  return trouble_of(fx, &trial);
}

tbk_trouble_t tbk_device_trouble(const tbk_core_t* core, tbk_instance_t* self, int32_t device,
                                 uint64_t seed) {
  return device_trouble(NULL, core, self, device, seed);
}

bool tbk_check_device_works(const tbk_fixture_t* fx, const tbk_core_t* core, tbk_instance_t* self,
                            int32_t device, const char* expected, tbk_here_t here) {
  const tbk_trouble_t trouble = device_trouble(fx, core, self, device, fx->seed);
  TBK_CHECKS(trouble.clause);
  return tbk_check_said(trouble.step == NULL, here, expected, "%s fails",
                        trouble.step != NULL ? trouble.step : "nothing");
}

tbk_status_t tbk_open_patiently(const tbk_core_t* core, tbk_instance_t* self, int32_t device,
                                tbk_error_t* error) {
  return tbk_open_within(core, self, device, error, FX_PATIENCE_NS);
}
