/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * patience.c: see patience.h.
 */
#include "patience.h"

enum { MOST_LIMITS = 3, LEAST_PART = 100 };

void tbk_patience_note(tbk_patience_t* patience, uint64_t test_ns, uint64_t now_ns,
                       const pid_t* pids, size_t count) {
  if (patience->test_ns == test_ns) return;
  *patience = (tbk_patience_t){.test_ns = test_ns, .since_ns = now_ns};
  patience->before = tbk_processor_time(pids, count);
}

uint64_t tbk_patience_due(uint64_t elapsed_ns, tbk_processor_time_t time, uint64_t lent_ns,
                          uint64_t limit_ns) {
  /* Several threads that wait at a time wait no longer than one. */
  uint64_t waited = time.waited_ns < elapsed_ns ? time.waited_ns : elapsed_ns;
  if (waited <= time.used_ns) return 0;
  if (waited > MOST_LIMITS * limit_ns) waited = MOST_LIMITS * limit_ns;
  return waited > lent_ns + limit_ns / LEAST_PART ? waited - lent_ns : 0;
}

/* Threads that ended have taken their times with them: less than nothing is nothing. */
static uint64_t more(uint64_t now, uint64_t before) {
  return now > before ? now - before : 0;
}

uint64_t tbk_patience_lend(tbk_patience_t* patience, uint64_t now_ns, uint64_t limit_ns,
                           const pid_t* pids, size_t count) {
  const tbk_processor_time_t now = tbk_processor_time(pids, count);
  const tbk_processor_time_t since = {more(now.used_ns, patience->before.used_ns),
                                      more(now.waited_ns, patience->before.waited_ns)};
  const uint64_t elapsed = more(now_ns, patience->since_ns);
  const uint64_t due = tbk_patience_due(elapsed, since, patience->lent_ns, limit_ns);
  patience->lent_ns += due;
  return due;
}
