/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tree.h: the processes below one, and the memory and processor time that they take together.
 */
#ifndef TBK_HARNESS_TREE_H
#define TBK_HARNESS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Finds the descendants of `root`, without those in `skip` and what is below them; at most
 * `capacity`, the near ones first. Returns their number; 0 too where the kernel does not tell.
 */
size_t tbk_tree(pid_t root, const pid_t* skip, size_t skip_count, pid_t* out_pids, size_t capacity);

/* Returns whether the kernel lists the children of a process, so that a tree can be found at all. */
bool tbk_tree_is_told(void);

/* Returns whether it tells the memory of a process. */
bool tbk_resident_is_told(void);

/* Returns resident bytes; 0 where the process is gone. */
uint64_t tbk_resident(pid_t pid);

/* Returns resident bytes, of pages that several processes share the part of this one. */
uint64_t tbk_resident_share(pid_t pid);

/* Returns whether it was stopped by a signal, or by who traces it: it answers nothing until it goes on. */
bool tbk_is_stopped(pid_t pid);

/* Of threads that live: how long they ran, and how long they could have run and were not let. */
typedef struct tbk_processor_time {
  uint64_t used_ns, waited_ns;
} tbk_processor_time_t;

/* Sums up all threads of the processes; 0 where the kernel does not tell (CONFIG_SCHED_INFO). */
tbk_processor_time_t tbk_processor_time(const pid_t* pids, size_t count);

#endif /* TBK_HARNESS_TREE_H */
