/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * pace.c: see pace.h.
 */
#include "pace.h"

#include "clock.h"

enum { MOST_SHORT_HANGS = 8 };

/* Sound tests take less, on slow devices too: what passes this hangs. */
static const uint64_t brief_ns = UINT64_C(10000000000);

tbk_limits_t tbk_pace_limits(const tbk_pace_t* pace) {
  const tbk_options_t* options = pace->options;
  uint64_t opening = 4 * pace->facts->open_ns;
  return (tbk_limits_t){.first_ns = options->timeout_ns + opening,
                        .next_ns = options->timeout_ns,
                        .memory = options->memory_limit,
                        .brief = options->cut_by_budget && options->timeout_ns < brief_ns,
                        .grace_ms = pace->facts->exclusive ? 500 : 0};
}

bool tbk_pace_is_short_of_time(const tbk_pace_t* pace) {
  return pace->hangs >= pace->options->most_hangs;
}

/* Tests that wait in a thread or a process of their own give up before they are killed. */
void tbk_pace_count_hang(tbk_pace_t* pace, const tbk_outcome_t* outcome, bool fails) {
  bool killed = outcome->end == TBK_END_DEADLINE || outcome->end == TBK_END_CUT_SHORT;
  pace->hangs += killed || (fails && outcome->wall_ns >= pace->options->timeout_ns / 4);
}

static uint64_t cut(uint64_t deadline_ns, uint64_t parts, uint64_t least_ns) {
  if (deadline_ns <= least_ns) return deadline_ns;
  return deadline_ns / parts > least_ns ? deadline_ns / parts : least_ns;
}

/*
 * A device on which everything hangs would take a deadline for each test: hours. When enough have
 * hung that it can be believed, a test gets a tenth; and when more of those did not end, still less.
 */
tbk_limits_t tbk_pace_test_limits(const tbk_pace_t* pace) {
  tbk_limits_t limits = tbk_pace_limits(pace);
  if (!tbk_pace_is_short_of_time(pace)) return limits;
  uint64_t opening = limits.first_ns - limits.next_ns;
  bool hopeless = pace->hangs >= pace->options->most_hangs + MOST_SHORT_HANGS;
  limits.next_ns = cut(limits.next_ns, 10, UINT64_C(1000000000));
  if (hopeless) limits.next_ns = cut(limits.next_ns, 10, UINT64_C(250000000));
  limits.first_ns = limits.next_ns + opening;
  limits.hangs = pace->hangs;
  return limits;
}

bool tbk_pace_is_over_budget(const tbk_pace_t* pace) {
  const uint64_t failing = pace->options->failing_budget_ns;
  uint64_t budget = pace->options->budget_ns;
  if (pace->failed && failing != 0 && failing < budget) budget = failing;
  return budget != 0 && tbk_now_ns() - pace->started_ns >= budget;
}
