/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * reap.h: no process that a test started outlives it. The caller is a child subreaper, so that
 * whatever its descendants orphan becomes its own child.
 */
#ifndef TBK_HARNESS_REAP_H
#define TBK_HARNESS_REAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TBK_REAP_MAX = 1024 };
/* How many strays there are where somebody lives whom this machine does not list. */
#define TBK_REAP_UNLISTED UINT32_MAX

/* Lists children of this process: those alive, not zombies. Returns how many, at most `capacity`. */
size_t tbk_children(pid_t* out_pids, size_t capacity);

/*
 * Kills all children but those in `keep`, and theirs as they turn up, and reaps them. Returns how
 * many were alive, or TBK_REAP_UNLISTED. Gives up on what does not die in two seconds.
 */
uint32_t tbk_reap_strays(const pid_t* keep, size_t keep_count);

#endif /* TBK_HARNESS_REAP_H */
