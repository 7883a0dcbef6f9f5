/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * launcher.c: see launcher.h.
 */
#include "launcher.h"

#include "clock.h"
#include "protocol.h"
#include "reap.h"
#include "surroundings.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONTROL = 3, REPORT = TBK_LAUNCHER_REPORT, FIRST_FREE, ABOVE = 10 };
enum { MOST_UNUSED = 8 };
static const uint64_t moment_ns = UINT64_C(500000000);

static tbk_launcher_t self;
static tbk_order_t order;
static pid_t worker;
static bool is_worker;            /* this process */
static uint32_t job;              /* the worker's; 1 for the first */
static bool killed;               /* the worker, on request */
static uint32_t unused;           /* workers in a row that ended before they had an order */
static uint64_t kill_at_ns;       /* 0: no SIGKILL is due */
static int stop_signal;           /* 0: it is not stopped */
static uint64_t stopped_until_ns; /* then it is killed; */
static bool stayed_stopped;       /* and was */
static sigset_t unmasked;         /* as workers get it */
static tbk_surroundings_t at_first;

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
  tbk_surroundings_note(&at_first);
}

/* ---------------------------------------------------------------------------------- worker --- */

static void copy_order(tbk_order_t* to, const tbk_order_t* from) {
  memcpy(to, from, offsetof(tbk_order_t, items) + from->count * sizeof from->items[0]);
}

/* A futex costs no descriptor, and its wake leaves a process where it was forked and is warm. */
void tbk_launcher_order(tbk_launcher_page_t* page, const tbk_order_t* from) {
  copy_order(&page->order, from);
  __atomic_store_n(&page->ordered, 1, __ATOMIC_RELEASE);
  (void)syscall(SYS_futex, &page->ordered, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void take_order(void) {
  while (__atomic_load_n(&self.page->ordered, __ATOMIC_ACQUIRE) == 0)
    (void)syscall(SYS_futex, &self.page->ordered, FUTEX_WAIT, 0, NULL, NULL, 0);
  copy_order(&order, &self.page->order);
  self.page->begun = 1;
  (void)munmap(self.page, TBK_PAGE_SIZE); /* it keeps no page but its own */
}

static void call(void (*hook)(void)) {
  if (hook != NULL) hook();
}

static void become_worker(pid_t launcher) {
  is_worker = true;
  (void)setpgid(0, 0);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(TBK_WORKER_NOT_BEGUN);
  (void)signal(SIGCHLD, SIG_DFL);
  (void)sigprocmask(SIG_SETMASK, &unmasked, NULL);
  (void)close(self.control);
  call(self.worker->after_fork_in_worker);
  call(self.worker->get_ready);
  take_order();
  if (self.worker->work == NULL) return;
  self.worker->work(&order, self.cell, self.report);
  _exit(EXIT_FAILURE);
}

/* ---------------------------------------------------------------------------------- launcher --- */

static void kill_worker(void) {
  (void)kill(-worker, SIGKILL); /* its group, which it may have left */
  (void)kill(worker, SIGKILL);
  kill_at_ns = 0;
}

static _Noreturn void leave(void) {
  if (worker > 0) kill_worker();
  if (worker > 0 && self.page->begun == 0) (void)waitpid(worker, NULL, 0); /* it dies at once */
  (void)tbk_reap_strays(NULL, 0);
  _exit(EXIT_SUCCESS);
}

static void start_worker(void) {
  const pid_t launcher = getpid();
  killed = false;
  stop_signal = 0;
  stayed_stopped = false;
  kill_at_ns = 0;
  self.page->begun = 0;
  call(self.worker->before_fork);
  worker = fork();
  if (worker == 0) {
    become_worker(launcher);
    return;
  }
  call(self.worker->after_fork_in_launcher);
  if (worker < 0) _exit(EXIT_FAILURE); /* the supervisor starts another launcher */
  self.page->pid = worker;
}

static void take_word(void) {
  tbk_kill_t word;
  if (recv(self.control, &word, sizeof word, 0) <= 0) leave();
  if (word.job != job) return; /* it had ended by itself */
  if (word.grace_ms > 0 && !killed) {
    (void)kill(worker, SIGTERM);
    kill_at_ns = tbk_now_ns() + word.grace_ms * UINT64_C(1000000);
  } else {
    kill_worker();
  }
  killed = true;
}

/* What a worker has changed about this process would be handed down to the next. */
static void tell(int wait_status, uint32_t strays) {
  const unsigned changed = tbk_surroundings_changed(&at_first);
  const tbk_notice_t notice = {wait_status, stayed_stopped ? stop_signal : 0, strays, changed};
  self.page->ordered = 0; /* also where it was killed before it took it */
  if (send(self.control, &notice, sizeof notice, MSG_NOSIGNAL) < 0 || changed != 0) leave();
  job++;
}

static void end_worker(int wait_status) {
  const bool begun = self.page->begun != 0;
  /* Its group first: what it forked and did not detach is found without a scan of /proc. */
  (void)kill(-worker, SIGKILL);
  uint32_t strays = tbk_reap_strays(NULL, 0);
  worker = 0;
  self.page->pid = 0;
  unused = begun || killed ? 0 : unused + 1;
  if (unused > MOST_UNUSED) _exit(EXIT_FAILURE);
  if (begun || killed) tell(wait_status, strays);
  start_worker();
}

/*
 * Whoever stops all processes of a run lets them go on one after the other, and this one may be the first:
 * what a worker has done to itself is not undone in a moment.
 */
static void note_stop(int signal_number) {
  stop_signal = signal_number;
  stopped_until_ns = tbk_now_ns() + moment_ns;
}

static void look_after_children(void) {
  const int changes = WNOHANG | WUNTRACED | WCONTINUED;
  int status = 0;
  pid_t pid;
  while (!is_worker && (pid = waitpid(-1, &status, changes)) > 0) {
    if (pid != worker) continue; /* an orphan of the worker's */
    if (WIFSTOPPED(status))
      note_stop(WSTOPSIG(status));
    else if (WIFCONTINUED(status) && !stayed_stopped)
      stop_signal = 0;
    else
      end_worker(status);
  }
}

static void kill_who_stays_stopped(void) {
  const uint64_t now = tbk_now_ns();
  if (stop_signal == 0 || stayed_stopped || now < stopped_until_ns) return;
  if (now > stopped_until_ns + moment_ns) { /* this process stood still as well */
    stopped_until_ns = now + moment_ns;
    return;
  }
  stayed_stopped = true;
  kill_worker();
}

static uint64_t next_kill_ns(void) {
  const bool waits = stop_signal != 0 && !stayed_stopped;
  const uint64_t stopped_ns = waits ? stopped_until_ns : UINT64_MAX;
  return kill_at_ns != 0 && kill_at_ns < stopped_ns ? kill_at_ns : stopped_ns;
}

static const struct timespec* until_kill(struct timespec* out) {
  const uint64_t now = tbk_now_ns(), next = next_kill_ns();
  if (next == UINT64_MAX) return NULL;
  const uint64_t left = next > now ? next - now : 0;
  *out = (struct timespec){.tv_sec = (time_t)(left / 1000000000),
                           .tv_nsec = (long)(left % 1000000000)};
  return out;
}

const tbk_order_t* tbk_launcher_run(const tbk_launcher_t* launcher) {
  self = *launcher;
  prepare();
  job = 1;
  start_worker();
  while (!is_worker) {
    struct pollfd control = {.fd = self.control, .events = POLLIN};
    struct timespec left;
    if (ppoll(&control, 1, until_kill(&left), &unmasked) > 0) take_word();
    if (kill_at_ns != 0 && worker > 0 && tbk_now_ns() >= kill_at_ns) kill_worker();
    look_after_children();
    kill_who_stays_stopped();
  }
  return &order;
}
