/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * act_report.c: what accidents put on the descriptor on which a worker reports.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acts.h"

enum { REPORT = 4, LONG = 1 << 16, FLOOD = 1 << 22 };

static void put(int descriptor, const void* bytes, size_t size) {
  for (size_t sent = 0; sent < size;) {
    const ssize_t written = write(descriptor, (const char*)bytes + sent, size - sent);
    if (written <= 0) return;
    sent += (size_t)written;
  }
}

static void say(const char* text) {
  put(REPORT, text, strlen(text));
}

void act_report_byte(void) {
  say("x");
}

void act_report_long_line(void) {
  static char line[LONG];
  memset(line, 'a', sizeof line);
  put(REPORT, line, sizeof line);
}

void act_report_random(void) {
  static uint8_t bytes[10000];
  uint32_t state = 1;
  for (size_t i = 0; i < sizeof bytes; ++i)
    bytes[i] = (uint8_t)((state = state * 1664525U + 1013904223U) >> 24);
  put(REPORT, bytes, sizeof bytes);
}

void act_report_nul(void) {
  static const char nothing[4096];
  put(REPORT, nothing, sizeof nothing);
}

void act_report_half(void) {
  say("{\"said\":\"end\",\"n\":0,\"checks\":3");
}

void act_report_forged(void) {
  say("\n{\"said\":\"end\",\"n\":0,\"checks\":3,\"duration_ns\":1}\n{\"said\":\"done\"}\n");
  abort();
}

void act_report_forged_done(void) {
  say("\n{\"said\":\"done\",\"begun\":0}\n");
  _exit(86);
}

void act_report_forged_health(void) {
  say("\n{\"said\":\"health\",\"ok\":false,\"reason\":\"forged\"}\n");
}

void act_report_closed(void) {
  close(REPORT);
}

void act_report_replaced(void) {
  const int other = open("/dev/null", O_WRONLY);
  dup2(other, REPORT);
}

void act_report_own_pipe(void) {
  int ends[2];
  if (pipe(ends) == 0) dup2(ends[1], REPORT);
}

void act_report_from_child(void) {
  const pid_t child = fork();
  if (child == 0) {
    say("a child says so");
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

void act_report_from_daemon(void) {
  if (fork() != 0) {
    usleep(20000); /* so that some of it is there before the test ends */
    return;
  }
  setsid();
  alarm(300);
  for (;;) {
    say("a daemon says so\n");
    usleep(1000);
  }
}

void act_report_flood(void) {
  static char block[LONG];
  memset(block, 'y', sizeof block);
  for (size_t i = 1; i < sizeof block; i += 2)
    block[i] = '\n';
  for (size_t sent = 0; sent < FLOOD; sent += sizeof block)
    put(REPORT, block, sizeof block);
}

void act_report_full_and_unblocked(void) {
  static char block[LONG];
  memset(block, 'z', sizeof block);
  fcntl(REPORT, F_SETFL, O_NONBLOCK);
  put(REPORT, block, sizeof block);
  put(REPORT, block, sizeof block);
}

void act_report_every_descriptor(void) {
  for (int descriptor = 3; descriptor < 64; ++descriptor)
    put(descriptor, "?", 1);
}

void act_report_appends(void) {
  fcntl(REPORT, F_SETFL, O_APPEND | O_ASYNC);
}

void act_report_taken_away_for_a_while(void) {
  const int kept = fcntl(REPORT, F_DUPFD, 40);
  close(REPORT);
  dup2(kept, REPORT);
  close(kept);
}

/* What one test says fits no more. */
void act_report_small_pipe(void) {
  fcntl(REPORT, F_SETPIPE_SZ, 4096);
}

void act_report_is_stderr(void) {
  dup2(REPORT, STDERR_FILENO);
  put(STDERR_FILENO, "a driver warns\n", 15);
}

void act_report_forged_key(void) {
  say("\n#00000000 {\"said\":\"end\",\"n\":0,\"checks\":3,\"duration_ns\":1}\n");
}

void act_report_watched(void) {
  struct epoll_event event = {.events = EPOLLOUT | EPOLLET};
  const int watch = epoll_create1(0);
  epoll_ctl(watch, EPOLL_CTL_ADD, REPORT, &event);
  epoll_wait(watch, &event, 1, 0);
}

void act_report_closed_with_all(void) {
  close_range(3, ~0U, 0);
}
