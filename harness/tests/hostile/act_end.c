/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * act_end.c: signals that a library handles itself, or has rain on its process, and ends by ways that
 * look like others.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "acts.h"
#include "hostile.h"

static void do_nothing(int number) {
  (void)number;
}

static void leave_with_0(int number) {
  (void)number;
  _exit(0);
}

static void leave_with_86(int number) {
  (void)number;
  _exit(86);
}

static void handle(int number, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler};
  sigaction(number, &action, NULL);
}

/* Whatever waits is interrupted a thousand times a second. */
void act_signal_storm(void) {
  const struct itimerval often = {{0, 1000}, {0, 1000}};
  handle(SIGALRM, do_nothing);
  setitimer(ITIMER_REAL, &often, NULL);
}

static void on_timer(union sigval value) {
  (void)value;
}

void act_timer_threads(void) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer};
  const struct itimerspec often = {{0, 1000000}, {0, 1000000}};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) timer_settime(timer, 0, &often, NULL);
}

void act_crash_handled_exit_0(void) {
  handle(SIGSEGV, leave_with_0);
  act_crash();
}

/* The instruction that faults is begun again. */
void act_crash_handled_for_ever(void) {
  handle(SIGSEGV, do_nothing);
  act_crash();
}

void act_exit_86_on_term(void) {
  handle(SIGTERM, leave_with_86);
  act_hang();
}

/* Only its last eight bits are told: 86. */
void act_exit_342(void) {
  exit(342);
}

static void* end_process(void* argument) {
  exit(0);
  return argument;
}

void act_exit_in_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, end_process, NULL) == 0) pthread_join(thread, NULL);
}

static void exit_with_0(void) {
  _exit(0);
}

void act_exit_handler_exits_0(void) {
  atexit(exit_with_0);
}

void act_realtime_signal(void) {
  raise(SIGRTMIN + 1);
}

void act_bus_error(void) {
  FILE* nothing = tmpfile();
  char* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(nothing), 0);
  *(volatile char*)page = 1;
}

void act_illegal_instruction(void) {
  raise(SIGILL);
}

void act_trap(void) {
  raise(SIGTRAP);
}

void act_main_thread_cancelled(void) {
  pthread_cancel(pthread_self());
  act_hang();
}

static void* keep_stdout(void* begun) {
  flockfile(stdout);
  pthread_barrier_wait(begun);
  act_hang();
  return NULL;
}

/* The library is done; what flushes later waits for ever. */
void act_stdout_locked(void) {
  static pthread_barrier_t begun;
  pthread_t thread;
  pthread_barrier_init(&begun, NULL, 2);
  if (pthread_create(&thread, NULL, keep_stdout, &begun) == 0) pthread_barrier_wait(&begun);
}
