/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * act.c: what a hostile backend does when its time has come.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "hostile.h"

void act_crash(void) {
  static int* volatile nowhere; /* read at run time, so that no compiler sees what comes */
  *nowhere = 1;
}

void act_hang(void) {
  for (;;)
    pause();
}

void act_spin(void) {
  for (volatile uint64_t turns = 0;; ++turns)
    continue;
}

/* No fault: work of 0.6 s of a processor. */
void act_work(void) {
  struct timespec used;
  do {
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  } while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < 600);
}

/* No fault: it waits for as long, and needs no processor. */
void act_rest(void) {
  usleep(600000);
}

void act_exit_0(void) {
  exit(0);
}

void act_exit_now_0(void) {
  _exit(0);
}

void act_abort(void) {
  abort();
}

/* As a driver does that is built to find misuse; with what a terminal would obey. */
void act_say_and_abort(void) {
  fputs("a first line\nRULE 7: \x1b[2Jno context is current \xff\n\n", stderr);
  abort();
}

/* The array is written on both sides of the call, so that no compiler makes a loop of this. */
static int deeper(volatile char* above) {
  volatile char frame[4096];
  frame[0] = above[0];
  const int depth = deeper(frame) + 1;
  frame[1] = (char)depth;
  return frame[1];
}

void act_overflow_stack(void) {
  static int (*volatile call)(volatile char*) = deeper;
  volatile char first[1] = {0};
  call(first);
}

void act_close_descriptors(void) {
  struct rlimit limit = {1024, 1024};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int last = limit.rlim_cur > 65536 ? 65536 : (int)limit.rlim_cur;
  for (int descriptor = 0; descriptor < last; ++descriptor)
    close(descriptor);
}

void act_block_signals(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  act_hang();
}

void act_stop(void) {
  raise(SIGSTOP);
}

/* A process of its own session, with every descriptor inherited. It ends by itself in the end, so
 * that a harness that overlooks it does not spoil the machine for good. */
void act_daemonise(void) {
  const pid_t child = fork();
  if (child != 0) return;
  setsid();
  if (fork() != 0) _exit(0);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  alarm(300);
  act_hang();
}

/* Resident, not only mapped. Stops at TBK_HOSTILE_EAT_MB (2048) and holds it. */
void act_eat_memory(void) {
  const char* text = getenv("TBK_HOSTILE_EAT_MB");
  const long megabytes = text == NULL ? 2048 : atol(text);
  const size_t piece = (size_t)1 << 20;
  for (long i = 0; i < megabytes; ++i) {
    char* memory = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) break;
    memset(memory, (int)(i | 1), piece);
  }
  act_hang();
}

static char maps[1 << 18];

static size_t read_maps(void) {
  size_t used = 0;
  const int descriptor = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  for (ssize_t got = 1; got > 0 && used<sizeof maps - 1; used += got> 0 ? (size_t)got : 0)
    got = read(descriptor, maps + used, sizeof maps - 1 - used);
  close(descriptor);
  maps[used] = '\0';
  return used;
}

static void scribble_over(uintptr_t begin, uintptr_t end) {
  for (uintptr_t at = begin; at < end; ++at)
    *(volatile char*)at = (char)0xa5;
}

/* Whatever is mapped writable and shared first: that is where a harness may keep its records. */
static void scribble_pass(char wanted) {
  const uintptr_t own_data = (uintptr_t)maps, own_stack = (uintptr_t)&own_data;
  for (char* line = maps; *line != '\0';) {
    char* next = strchr(line, '\n');
    char* rest = NULL;
    const uintptr_t begin = strtoul(line, &rest, 16);
    const uintptr_t end = strtoul(rest + 1, &rest, 16);
    const int own =
        (own_data >= begin && own_data < end) || (own_stack >= begin && own_stack < end);
    if (rest[2] == 'w' && rest[4] == wanted && !own) scribble_over(begin, end);
    if (next == NULL) break;
    line = next + 1;
  }
}

void act_scribble(void) {
  read_maps();
  scribble_pass('s');
  scribble_pass('p');
}

void act_print(void) {
  char line[4096];
  for (size_t i = 0; i < sizeof line; ++i)
    line[i] = (char)(i * 37);
  static const char lie[] = "\n{\"record\":\"footer\",\"verdict\":\"pass\"}\n<script>";
  memcpy(line, lie, sizeof lie - 1);
  for (int i = 0; i < 2048; ++i) {
    if (write(STDOUT_FILENO, line, sizeof line) < 0) break;
    if (write(STDERR_FILENO, line, sizeof line) < 0) break;
  }
}

/* A parent that is killed is not gone at once, where the machine is busy. */
void act_kill_parent(void) {
  kill(getppid(), SIGKILL);
  act_hang();
}

void act_kill_group(void) {
  kill(0, SIGKILL);
}

static void* crash_soon(void* argument) {
  usleep(1000);
  act_crash();
  return argument;
}

void act_crash_in_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, crash_soon, NULL) == 0) pthread_join(thread, NULL);
}
