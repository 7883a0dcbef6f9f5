/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * patience.h: a deadline is for a process that gets its share of the machine. Where others keep the
 * processors busy, it moves by the time for which the test could run and was not let.
 */
#ifndef TBK_HARNESS_PATIENCE_H
#define TBK_HARNESS_PATIENCE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tree.h"

typedef struct tbk_patience {
  uint64_t test_ns;  /* when the test began that `before` is of */
  uint64_t since_ns; /* when `before` was taken */
  tbk_processor_time_t before;
  uint64_t lent_ns; /* by which the deadline has moved */
} tbk_patience_t;

/* Notes once, early in a test that began at `test_ns`, what its processes had used until then. */
void tbk_patience_note(tbk_patience_t* patience, uint64_t test_ns, uint64_t now_ns,
                       const pid_t* pids, size_t count);
/*
 * Returns by how many ns the deadline moves of a test that has `limit_ns`: 0 where its processes ran
 * more than they waited to run, as one that hangs or keeps the machine busy itself. In all, three limits.
 */
uint64_t tbk_patience_lend(tbk_patience_t* patience, uint64_t now_ns, uint64_t limit_ns,
                           const pid_t* pids, size_t count);
/* Returns what tbk_patience_lend lends, by the rule alone. */
uint64_t tbk_patience_due(uint64_t elapsed_ns, tbk_processor_time_t time, uint64_t lent_ns,
                          uint64_t limit_ns);

#endif /* TBK_HARNESS_PATIENCE_H */
