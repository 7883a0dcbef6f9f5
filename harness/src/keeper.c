/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * keeper.c: see keeper.h.
 */
#include "keeper.h"

#include "clock.h"
#include "protocol.h"
#include "reap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONTROL = 3, REPORT = 4, FIRST_FREE = 5, ABOVE = 10 };

static tbk_keeper_t self;
static tbk_order_t order;
static pid_t worker;
static uint64_t started_ns, kill_at_ns; /* kill_at_ns 0: no SIGKILL is due */
static int stop_signal;
static sigset_t unmasked; /* as workers get it */

static void on_child(int number) {
  (void)number;
}

/* Only what a worker needs stays open, so that the supervisor's end of a pipe is its alone. */
static void keep_descriptors(void) {
  int control = fcntl(self.control, F_DUPFD, ABOVE);
  int report = fcntl(self.report, F_DUPFD, ABOVE);
  int output = fcntl(self.output, F_DUPFD, ABOVE);
  int nothing = open("/dev/null", O_RDONLY);
  if (control < 0 || report < 0 || output < 0 || nothing < 0) _exit(EXIT_FAILURE);
  (void)dup2(nothing, STDIN_FILENO);
  (void)dup2(output, STDOUT_FILENO);
  (void)dup2(output, STDERR_FILENO);
  (void)dup2(control, CONTROL);
  (void)dup2(report, REPORT);
  (void)fcntl(REPORT, F_SETFD, FD_CLOEXEC);
  (void)close_range(FIRST_FREE, ~0U, 0);
  self.control = CONTROL;
  self.report = REPORT;
}

/* The kernel shall end a test before anything else when memory runs out. */
static void be_first_to_go(void) {
  int fd = open("/proc/self/oom_score_adj", O_WRONLY);
  if (fd < 0) return;
  if (write(fd, "1000", 4) < 0) {
    /* not allowed here; then the kernel chooses as it always does */
  }
  (void)close(fd);
}

static void prepare(void) {
  const struct rlimit none = {0, 0};
  struct sigaction action = {.sa_handler = on_child};
  sigset_t child;
  (void)setsid();
  (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
  (void)setrlimit(RLIMIT_CORE, &none);
  be_first_to_go();
  (void)madvise(self.page, TBK_PAGE_SIZE, MADV_DONTFORK); /* workers get no page but their own */
  keep_descriptors();
  for (int number = 1; number < NSIG; number++)
    (void)signal(number, SIG_DFL);
  (void)sigemptyset(&unmasked);
  (void)sigprocmask(SIG_SETMASK, &unmasked, NULL);
  (void)sigemptyset(&child);
  (void)sigaddset(&child, SIGCHLD);
  (void)sigprocmask(SIG_BLOCK, &child, NULL);
  (void)sigaction(SIGCHLD, &action, NULL);
  /* What a test prints shall be out before it crashes. */
  (void)setvbuf(stdout, NULL, _IOLBF, 0);
}

static _Noreturn void become_worker(pid_t keeper) {
  (void)setsid();
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper) _exit(TBK_WORKER_NOT_BEGUN);
  (void)signal(SIGCHLD, SIG_DFL);
  (void)sigprocmask(SIG_SETMASK, &unmasked, NULL);
  (void)close(self.control);
  self.work(&order, self.cell, self.report);
  _exit(EXIT_FAILURE);
}

static void kill_worker(void) {
  (void)kill(-worker, SIGKILL); /* its group, which it may have left */
  (void)kill(worker, SIGKILL);
  kill_at_ns = 0;
}

static _Noreturn void leave(void) {
  if (worker > 0) kill_worker();
  (void)tbk_reap_strays(NULL, 0);
  _exit(EXIT_SUCCESS);
}

static void start_worker(void) {
  const pid_t keeper = getpid();
  self.cell->phase = 0;
  self.cell->position = 0;
  stop_signal = 0;
  kill_at_ns = 0;
  started_ns = tbk_now_ns();
  worker = fork();
  if (worker == 0) become_worker(keeper);
  if (worker < 0) _exit(EXIT_FAILURE); /* the supervisor starts another keeper */
  self.page->pid = worker;
}

static void take_order(void) {
  ssize_t size = recv(self.control, &order, sizeof order, 0);
  if (size <= 0) leave();
  if (order.kind != TBK_ORDER_KILL) {
    start_worker();
  } else if (worker > 0 && order.argument > 0 && kill_at_ns == 0) {
    (void)kill(worker, SIGTERM);
    kill_at_ns = tbk_now_ns() + order.argument * UINT64_C(1000000);
  } else if (worker > 0) {
    kill_worker();
  }
}

static void tell(int wait_status) {
  /* Its group first: what it forked and did not detach is found without a scan of /proc. */
  tbk_notice_t notice = {.wait_status = wait_status, .stop_signal = stop_signal};
  (void)kill(-worker, SIGKILL);
  notice.strays = tbk_reap_strays(NULL, 0);
  notice.wall_ns = tbk_now_ns() - started_ns;
  worker = 0;
  kill_at_ns = 0;
  self.page->pid = 0;
  if (send(self.control, &notice, sizeof notice, MSG_NOSIGNAL) < 0) leave();
}

static void look_after_children(void) {
  int status = 0;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
    if (pid != worker) continue; /* an orphan of the worker's */
    if (WIFSTOPPED(status)) {
      stop_signal = WSTOPSIG(status);
      kill_worker();
    } else {
      tell(status);
    }
  }
}

static const struct timespec* until_kill(struct timespec* out) {
  uint64_t now = tbk_now_ns();
  if (kill_at_ns == 0) return NULL;
  uint64_t left = kill_at_ns > now ? kill_at_ns - now : 0;
  *out = (struct timespec){.tv_sec = (time_t)(left / 1000000000),
                           .tv_nsec = (long)(left % 1000000000)};
  return out;
}

_Noreturn void tbk_keeper_run(const tbk_keeper_t* keeper) {
  self = *keeper;
  prepare();
  for (;;) {
    struct pollfd control = {.fd = self.control, .events = POLLIN};
    struct timespec left;
    if (ppoll(&control, 1, until_kill(&left), &unmasked) > 0) take_order();
    if (kill_at_ns != 0 && worker > 0 && tbk_now_ns() >= kill_at_ns) kill_worker();
    look_after_children();
  }
}
