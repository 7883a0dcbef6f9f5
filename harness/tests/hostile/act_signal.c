/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * act_signal.c: ends of a process that a supervisor may take for others.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "acts.h"

void act_kill_itself(void) {
  kill(getpid(), SIGKILL);
}

void act_term_itself(void) {
  kill(getpid(), SIGTERM);
}

void act_pipe_itself(void) {
  signal(SIGPIPE, SIG_DFL);
  raise(SIGPIPE);
}

void act_stop_by_terminal(void) {
  raise(SIGTSTP);
}

void act_alarm_rings(void) {
  ualarm(1000, 0);
  for (;;)
    pause();
}

void act_exit_86(void) {
  exit(86);
}

void act_exit_now_86(void) {
  _exit(86);
}

void act_quick_exit_0(void) {
  quick_exit(0);
}

void act_self_deadlock(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  pthread_mutex_lock(&lock);
}

void act_ignores_all(void) {
  for (int number = 1; number < NSIG; ++number)
    signal(number, SIG_IGN);
  for (;;)
    pause();
}

void act_double_free(void) {
  void* volatile memory = malloc(24);
  void* volatile again = memory;
  free(memory);
  free(again); /* NOLINT(clang-analyzer-unix.Malloc): the fault that is wanted */
  abort();     /* where the allocator lets it pass */
}

void act_divide_by_zero(void) {
  raise(SIGFPE);
}
