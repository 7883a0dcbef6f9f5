/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * act_process.c: processes and threads that nobody asked for: more than a harness lets live, and not
 * more than a machine bears. They stay until they are seen, however slow the machine; in the end all of
 * them end by themselves, so that a harness that overlooks them does not spoil it for good.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acts.h"

enum { MOST_PROCESSES = 1000, MOST_DEEP = 300, MOST_THREADS = 200, SECONDS = 300 };

static void wait_for_the_end(void) {
  alarm(SECONDS);
  for (;;)
    pause();
}

void act_fork_bomb(void) {
  for (int i = 0; i < MOST_PROCESSES; ++i) {
    if (fork() == 0) wait_for_the_end();
  }
  wait_for_the_end();
}

/* Each has one child, and all are fewer than a harness lets live: whoever kills the first alone leaves
 * the others. */
void act_fork_chain(void) {
  for (int i = 0; i < MOST_DEEP; ++i) {
    usleep(200);
    if (fork() != 0) break;
  }
  wait_for_the_end();
}

void act_fork_sessions(void) {
  for (int i = 0; i < MOST_PROCESSES; ++i) {
    if (fork() == 0) {
      setsid();
      if (fork() == 0) wait_for_the_end();
      _exit(0);
    }
  }
  wait_for_the_end();
}

void act_child_eats_memory(void) {
  const size_t size = (size_t)512 << 20;
  if (fork() != 0) wait_for_the_end();
  char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) memset(memory, 1, size);
  wait_for_the_end();
}

/* As a library that calls system() and mistakes who it is afterwards: two processes run the test.
 * */
void act_child_returns(void) {
  (void)!fork();
}

void act_child_hangs(void) {
  const pid_t child = fork();
  if (child == 0) wait_for_the_end();
  waitpid(child, NULL, 0);
}

void act_child_crashes(void) {
  const pid_t child = fork();
  if (child == 0) abort();
  waitpid(child, NULL, 0);
}

void act_reaps_all(void) {
  signal(SIGCHLD, SIG_IGN);
  while (waitpid(-1, NULL, WNOHANG) > 0)
    continue;
}

void act_stop_parent(void) {
  kill(getppid(), SIGSTOP);
}

/* Takes a name that ends like a field: what /proc says of a process has its name in the middle. */
void act_odd_name(void) {
  prctl(PR_SET_NAME, ") Z 1 1 (\n");
  if (fork() == 0) wait_for_the_end();
}

void act_new_session(void) {
  setsid();
  setpgid(0, 0);
}

static void* sleep_long(void* argument) {
  sleep(SECONDS);
  return argument;
}

void act_many_threads(void) {
  pthread_t thread;
  for (int i = 0; i < MOST_THREADS; ++i)
    if (pthread_create(&thread, NULL, sleep_long, NULL) == 0) pthread_detach(thread);
}

void act_main_thread_leaves(void) {
  act_many_threads();
  pthread_exit(NULL);
}
