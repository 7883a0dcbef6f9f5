/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cgroup.h: how much memory the kernel's group of this process may have, beyond which it is killed, and
 * how often that happened.
 */
#ifndef TBK_HARNESS_CGROUP_H
#define TBK_HARNESS_CGROUP_H

#include <stdint.h>

/*
 * Returns the least limit of the group that `groups` names, as /proc/self/cgroup does, and of those it
 * is in, in bytes; 0 for none. `root` is where groups are mounted: /sys/fs/cgroup.
 */
uint64_t tbk_cgroup_memory(const char* groups, const char* root);

/*
 * Returns how many processes of that group the kernel has killed for want of memory, since the group is
 * there; 0 where it does not count them. It does so before the process dies.
 */
uint64_t tbk_cgroup_kills(const char* groups, const char* root);

#endif /* TBK_HARNESS_CGROUP_H */
