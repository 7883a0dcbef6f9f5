/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * act_parent.c: what a library does to the processes around its own, and what it turns itself into.
 * As in act_process.c, all of it ends by itself in the end.
 */
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "acts.h"

enum { SECONDS = 300 };

static _Noreturn void stay(void) {
  alarm(SECONDS);
  for (;;)
    pause();
}

void act_kill_parents_group(void) {
  setpgid(0, getpgid(getppid()));
  kill(0, SIGKILL);
}

void act_signal_parent(void) {
  kill(getppid(), SIGUSR1);
  stay();
}

/* Whom a debugger holds does not answer. */
void act_trace_parent(void) {
  if (ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) == 0)
    ptrace(PTRACE_INTERRUPT, getppid(), NULL, NULL);
  stay();
}

void act_traced_by_parent(void) {
  ptrace(PTRACE_TRACEME, 0, NULL, NULL);
  raise(SIGUSR1);
}

/* A sibling, which its parent did not start. */
void act_child_of_parent(void) {
  if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL) == 0) stay();
}

static void leave_an_orphan(void) {
  if (fork() != 0) return;
  if (fork() == 0) stay();
  _exit(0);
}

/* Orphans come to it, and not to whom the harness asks. */
void act_own_subreaper(void) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  leave_an_orphan();
}

void act_own_pid_namespace(void) {
  (void)!unshare(CLONE_NEWPID);
  if (fork() == 0) stay();
}

/* Each lives just long enough to fork the next: whoever looks for it finds one that is gone. */
void act_fork_runner(void) {
  const time_t end = time(NULL) + SECONDS;
  if (fork() != 0) return;
  while (time(NULL) < end) {
    const pid_t next = fork();
    if (next > 0) _exit(0);
    if (next < 0) usleep(1000);
  }
  _exit(0);
}

/* Its parent is not interrupted before it ends. */
void act_vfork_hangs(void) {
  if (vfork() == 0) stay();
}

void act_calls_system(void) {
  (void)!system("exit 3");
  (void)!system("kill -9 $$");
}

static void become(const char* command) {
  execl("/bin/sh", "sh", "-c", command, NULL);
}

void act_exec_true(void) {
  become("exit 0");
}

void act_exec_hangs(void) {
  become("sleep 300");
}

void act_outlives_its_parent(void) {
  prctl(PR_SET_PDEATHSIG, 0);
  setsid();
  kill(getppid(), SIGKILL);
  stay();
}
