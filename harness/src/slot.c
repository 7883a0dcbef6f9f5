/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * slot.c: see slot.h.
 */
#include "slot.h"
#include "enough.h"
#include "slot_parts.h"
#include "surroundings.h"
#include "tree.h"

#include "clock.h"
#include "protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long a launcher may take to answer after SIGKILL was asked for. */
static const uint64_t answer_ns = UINT64_C(10000000000);

/* For so many times its limit a test may go on making checks. */
enum { MOST_LIMITS = 10 };

/* So often a test may find that the whole run had stood still. */
enum { MOST_LENT = 100 };

/* A test that takes longer may be one that the machine does not let run. */
static const uint64_t long_ns = UINT64_C(250000000);

/* ---------------------------------------------------------------------------------- start --- */

/* The supervisor's end of each comes first. */
enum { CONTROL, REPORT, OUTPUT };

static _Noreturn void be_launcher(const tbk_slot_t* slot, int pairs[TBK_SLOT_FDS][2],
                                  const tbk_worker_t* worker) {
  const tbk_launcher_t launcher = {.control = pairs[CONTROL][1],
                                   .report = pairs[REPORT][1],
                                   .output = pairs[OUTPUT][1],
                                   .cell = slot->journal->cells[slot->number],
                                   .page = slot->page,
                                   .worker = worker};
  (void)tbk_launcher_run(&launcher);
  _exit(EXIT_FAILURE); /* not reached: the worker works */
}

static void close_ends(int pairs[TBK_SLOT_FDS][2], int end) {
  for (int i = 0; i < TBK_SLOT_FDS; i++)
    if (pairs[i][end] >= 0) (void)close(pairs[i][end]);
}

static bool make_pairs(int pairs[TBK_SLOT_FDS][2]) {
  for (int i = 0; i < TBK_SLOT_FDS; i++)
    pairs[i][0] = pairs[i][1] = -1;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pairs[CONTROL]) != 0) return false;
  for (int i = REPORT; i <= OUTPUT; i++)
    if (pipe2(pairs[i], O_CLOEXEC) != 0) return false;
  return fcntl(pairs[REPORT][0], F_SETFL, O_NONBLOCK) == 0 &&
         fcntl(pairs[OUTPUT][0], F_SETFL, O_NONBLOCK) == 0;
}

static bool make_page(tbk_slot_t* slot) {
  if (slot->page != NULL) return true;
  slot->page_file = memfd_create("tbk-page", MFD_CLOEXEC);
  if (slot->page_file < 0) return false;
  void* memory = MAP_FAILED;
  if (ftruncate(slot->page_file, TBK_PAGE_SIZE) == 0)
    memory = mmap(NULL, TBK_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, slot->page_file, 0);
  if (memory == MAP_FAILED) {
    (void)close(slot->page_file);
    return false;
  }
  slot->page = memory;
  return true;
}

static pid_t fork_launcher(tbk_slot_t* slot, int pairs[TBK_SLOT_FDS][2],
                           const tbk_worker_t* worker) {
  (void)madvise(slot->page, TBK_PAGE_SIZE, MADV_DOFORK);
  tbk_journal_share(slot->journal, slot->number);
  pid_t launcher = fork();
  if (launcher == 0) be_launcher(slot, pairs, worker);
  (void)madvise(slot->page, TBK_PAGE_SIZE, MADV_DONTFORK); /* other launchers get it not */
  return launcher < 0 ? 0 : launcher;
}

static pid_t make_launcher(tbk_slot_t* slot, int pairs[TBK_SLOT_FDS][2],
                           const tbk_launchers_t* launchers) {
  slot->page->pid = slot->page->begun = slot->page->ordered = 0;
  if (launchers->make == NULL) return fork_launcher(slot, pairs, launchers->worker);
  const tbk_launcher_ends_t ends = {.control = pairs[CONTROL][1],
                                    .report = pairs[REPORT][1],
                                    .output = pairs[OUTPUT][1],
                                    .page = slot->page_file,
                                    .cells = slot->journal->file,
                                    .at = tbk_journal_cell_at(slot->number)};
  return launchers->make(&ends);
}

bool tbk_slot_start(tbk_slot_t* slot, const tbk_launchers_t* launchers) {
  int pairs[TBK_SLOT_FDS][2];
  bool made = make_pairs(pairs) && make_page(slot);
  slot->job = 0;
  slot->launcher = made ? make_launcher(slot, pairs, launchers) : 0;
  close_ends(pairs, 1);
  if (slot->launcher == 0) {
    close_ends(pairs, 0);
    return false;
  }
  slot->control = pairs[CONTROL][0];
  slot->report = pairs[REPORT][0];
  slot->output = pairs[OUTPUT][0];
  return true;
}

static void close_all(tbk_slot_t* slot) {
  (void)close(slot->control);
  (void)close(slot->report);
  (void)close(slot->output);
  slot->launcher = 0;
}

void tbk_slot_stop(tbk_slot_t* slot) {
  if (slot->launcher == 0) return;
  pid_t launcher = slot->launcher;
  close_all(slot); /* the launcher kills what is below it, and leaves */
  for (uint64_t until = tbk_now_ns() + answer_ns; tbk_now_ns() < until;) {
    if (waitpid(launcher, NULL, WNOHANG) != 0) return;
    (void)poll(NULL, 0, 1);
  }
  (void)kill(launcher, SIGKILL);
  (void)waitpid(launcher, NULL, 0);
}

/* ------------------------------------------------------------------------------------ jobs --- */

void tbk_slot_begin_test(tbk_slot_t* slot, uint64_t now_ns, uint64_t limit_ns) {
  tbk_outcome_t* outcome = &slot->outcome;
  /* The large array at its end need not be cleared. */
  memset(outcome, 0, offsetof(tbk_outcome_t, output));
  slot->test_started_ns = now_ns;
  slot->deadline_ns = now_ns + limit_ns;
  slot->limit_ns = limit_ns;
  slot->lent = 0;
  slot->kills = tbk_limit_kills();
}

/* Not to be met by chance; it need not withstand malice. */
static uint32_t new_key(const tbk_slot_t* slot) {
  uint32_t key = 0;
  if (getrandom(&key, sizeof key, GRND_NONBLOCK) != (ssize_t)sizeof key)
    key = (uint32_t)(tbk_now_ns() * UINT64_C(0x9E3779B97F4A7C15) >> 32) ^ slot->number;
  return key;
}

void tbk_slot_run(tbk_slot_t* slot, const tbk_order_t* order, const tbk_limits_t* limits) {
  const size_t size = offsetof(tbk_order_t, items) + order->count * sizeof order->items[0];
  memcpy(&slot->order, order, size);
  slot->order.key = new_key(slot);
  slot->limits = *limits;
  slot->busy = true;
  slot->ended = 0;
  slot->kill_sent_ns = 0;
  slot->line_size = 0;
  slot->line_too_long = false;
  json_decref(slot->said);
  slot->said = json_array();
  tbk_slot_begin_test(slot, tbk_now_ns(), limits->first_ns);
  tbk_journal_start(slot->journal, slot->number, order);
  slot->job++;
  tbk_launcher_order(slot->page, &slot->order); /* a dead launcher is met in read */
}

void tbk_slot_kill(tbk_slot_t* slot, tbk_end_t end) {
  if (!slot->busy || slot->kill_sent_ns != 0) return;
  bool late = end == TBK_END_DEADLINE || end == TBK_END_CUT_SHORT || end == TBK_END_BUDGET;
  const tbk_kill_t word = {slot->job, late ? slot->limits.grace_ms : 0};
  slot->outcome.end = end;
  slot->kill_sent_ns = tbk_now_ns();
  (void)send(slot->control, &word, sizeof word, MSG_NOSIGNAL);
}

/* Returns whether it, or its launcher, died of a SIGKILL of somebody else: the kernel sends it, when memory
 * runs out. */
static bool was_killed(const tbk_outcome_t* outcome) {
  const bool by_others = outcome->end == TBK_END_ITSELF || outcome->end == TBK_END_LAUNCHER_DIED;
  return by_others && WIFSIGNALED(outcome->wait_status) &&
         WTERMSIG(outcome->wait_status) == SIGKILL;
}

/* The process is gone and what it said is read: the test in flight is over. */
static void end_job(tbk_slot_t* slot) {
  slot->outcome.noise += slot->line_size; /* the beginning of a line that did not end */
  tbk_slot_read_output(slot);
  slot->outcome.in_batch = false;
  slot->outcome.between =
      slot->ended > 0 && slot->journal->cells[slot->number]->position == (int32_t)slot->ended - 1;
  slot->idle_since_ns = tbk_now_ns();
  slot->outcome.wall_ns = slot->idle_since_ns - slot->test_started_ns;
  slot->outcome.no_memory = was_killed(&slot->outcome) && tbk_limit_kills() > slot->kills;
  slot->busy = false;
  tbk_slot_hand_over(slot, slot->ended);
  tbk_journal_end(slot->journal, slot->number);
}

static bool ended_by_itself(const tbk_slot_t* slot, int wait_status) {
  return slot->outcome.done && WIFEXITED(wait_status) &&
         WEXITSTATUS(wait_status) == TBK_WORKER_EXIT;
}

static void take_notice(tbk_slot_t* slot, const tbk_notice_t* notice) {
  if (!slot->busy) return;
  slot->outcome.wait_status = notice->wait_status;
  slot->outcome.strays = notice->strays;
  slot->outcome.stop_signal = notice->stop_signal;
  slot->outcome.changed_limits = (notice->changed & TBK_CHANGED_LIMITS) != 0;
  tbk_slot_read_report(slot);
  if (notice->stop_signal != 0 && slot->outcome.end != TBK_END_PROCESSES)
    slot->outcome.end = TBK_END_STOPPED;
  else if (ended_by_itself(slot, notice->wait_status))
    slot->outcome.end = TBK_END_ITSELF; /* just before it was killed */
  end_job(slot);
  if (notice->changed != 0) tbk_slot_stop(slot); /* another one is started when it is needed */
}

static void launcher_died(tbk_slot_t* slot, tbk_end_t end) {
  int status = 0;
  (void)kill(slot->launcher, SIGKILL);
  (void)waitpid(slot->launcher, &status, 0);
  if ((end == TBK_END_LAUNCHER_DIED && WIFEXITED(status)) ||
      (end != TBK_END_UNKILLABLE && slot->page->begun == 0))
    end =
        TBK_END_NOT_STARTED; /* it could not fork, or was killed or stopped before the test began */
  if (slot->busy) {
    slot->outcome.end = end;
    slot->outcome.wait_status = status; /* of a launcher that was dead, as it died */
    tbk_slot_read_report(slot);
    end_job(slot);
  }
  close_all(slot);
  slot->lost_launcher = true;
}

static void read_control(tbk_slot_t* slot) {
  tbk_notice_t notice;
  ssize_t size = recv(slot->control, &notice, sizeof notice, MSG_DONTWAIT);
  if (size == (ssize_t)sizeof notice)
    take_notice(slot, &notice);
  else if (size >= 0 || (errno != EAGAIN && errno != EINTR))
    launcher_died(slot, TBK_END_LAUNCHER_DIED);
}

void tbk_slot_poll(const tbk_slot_t* slot, struct pollfd fds[TBK_SLOT_FDS]) {
  bool open = slot->launcher != 0;
  fds[0] = (struct pollfd){.fd = open ? slot->control : -1, .events = POLLIN};
  fds[1] = (struct pollfd){.fd = open && slot->busy ? slot->output : -1, .events = POLLIN};
  /* What a single test says fits into the pipe, and is read when the process has ended. */
  bool single = slot->order.kind == TBK_ORDER_TESTS && slot->order.count == 1;
  fds[2] =
      (struct pollfd){.fd = open && slot->busy && !single ? slot->report : -1, .events = POLLIN};
}

void tbk_slot_read(tbk_slot_t* slot, const struct pollfd fds[TBK_SLOT_FDS]) {
  if (slot->launcher != 0 && fds[1].revents != 0) tbk_slot_read_output(slot);
  if (slot->launcher != 0 && fds[2].revents != 0) tbk_slot_read_report(slot);
  if (slot->launcher != 0 && fds[0].revents != 0) read_control(slot);
}

/* ----------------------------------------------------------------------------------- watch --- */

/* Of the worker and all below it; shared pages count once, where all of them would be too much. */
static uint64_t memory_of(const pid_t* pids, size_t count, uint64_t limit) {
  uint64_t sum = 0, shares = 0;
  for (size_t i = 0; i < count; i++)
    sum += tbk_resident(pids[i]);
  if (sum <= limit || count == 1) return sum;
  for (size_t i = 0; i < count; i++)
    shares += tbk_resident_share(pids[i]);
  return shares;
}

/* Kills a test that takes too much of the machine, with what it has started. */
static bool takes_too_much(tbk_slot_t* slot, const pid_t* pids, size_t count) {
  uint64_t memory = memory_of(pids, count, slot->limits.memory);
  if (count > TBK_PROCESSES_MAX) {
    for (size_t i = 0; i < count; i++) /* so that they start no more while they are killed */
      (void)kill(pids[i], SIGSTOP);
    tbk_slot_kill(slot, TBK_END_PROCESSES);
  } else if (memory > slot->limits.memory) {
    slot->outcome.memory_bytes = memory;
    tbk_slot_kill(slot, TBK_END_MEMORY);
  } else {
    return false;
  }
  return true;
}

/*
 * A test that goes on making checks does not hang: its time counts from the last of them. A device that
 * compiles a kernel for each of a hundred shapes is slow, and that is all.
 */
static void take_progress(tbk_slot_t* slot, uint64_t now_ns) {
  const tbk_trace_t* trace = &slot->journal->cells[slot->number]->trace;
  const uint64_t last_ns = slot->test_started_ns + MOST_LIMITS * slot->limit_ns;
  const uint32_t checks = __atomic_load_n(&trace->checks, __ATOMIC_RELAXED);
  uint64_t until_ns = now_ns + slot->limit_ns;
  if (checks == slot->checks) return;
  slot->checks = checks;
  if (until_ns > last_ns) until_ns = last_ns;
  if (until_ns > slot->deadline_ns) slot->deadline_ns = until_ns;
}

/* Returns whether the test is over its time, as far as the machine has let it run. */
static bool is_late(tbk_slot_t* slot, uint64_t now_ns, const pid_t* pids, size_t count) {
  tbk_patience_t* patience = &slot->patience;
  if (now_ns > slot->test_started_ns + long_ns)
    tbk_patience_note(patience, slot->test_started_ns, now_ns, pids, count);
  if (slot->limits.hangs == 0 && !slot->limits.brief) take_progress(slot, now_ns);
  if (now_ns <= slot->deadline_ns) return false;
  if (slot->limits.hangs > 0 || slot->limits.brief) return true;
  const bool known = patience->test_ns == slot->test_started_ns;
  const uint64_t more =
      known ? tbk_patience_lend(patience, now_ns, slot->limit_ns, pids, count) : 0;
  slot->deadline_ns += more;
  slot->outcome.waited_ns = known ? patience->lent_ns : 0;
  return more == 0;
}

/* Not for ever: a harness that itself is slow at each look would never see a deadline pass. */
void tbk_slot_lend(tbk_slot_t* slot, uint64_t now_ns, uint64_t ns) {
  if (!slot->busy || slot->lent == MOST_LENT) return;
  slot->lent++;
  const uint64_t age_ns = now_ns > slot->test_started_ns ? now_ns - slot->test_started_ns : 0;
  const uint64_t lent_ns = ns < age_ns ? ns : age_ns;
  slot->deadline_ns += lent_ns;
  if (slot->kill_sent_ns != 0) slot->kill_sent_ns += lent_ns;
}

void tbk_slot_watch(tbk_slot_t* slot, uint64_t now_ns) {
  static pid_t pids[TBK_PROCESSES_MAX + 1];
  if (!slot->busy || slot->launcher == 0) return;
  if (slot->kill_sent_ns != 0) {
    uint64_t patience = answer_ns + slot->limits.grace_ms * UINT64_C(1000000);
    if (tbk_is_stopped(slot->launcher))
      launcher_died(slot, TBK_END_LAUNCHER_STOPPED);
    else if (now_ns > slot->kill_sent_ns + patience)
      launcher_died(slot, TBK_END_UNKILLABLE);
    return;
  }
  tbk_slot_read_report(slot); /* a single test is not waited for, and may fill the pipe */
  size_t count = tbk_tree(slot->launcher, NULL, 0, pids, TBK_PROCESSES_MAX + 1);
  if (count == 0 && slot->page->pid > 0)
    pids[count++] = slot->page->pid; /* not told by the kernel */
  if (takes_too_much(slot, pids, count)) return;
  if (is_late(slot, now_ns, pids, count)) {
    slot->outcome.hangs_before = slot->limits.hangs;
    tbk_slot_kill(slot, slot->limits.hangs > 0 ? TBK_END_CUT_SHORT
                        : slot->limits.brief   ? TBK_END_BUDGET
                                               : TBK_END_DEADLINE);
  }
}
