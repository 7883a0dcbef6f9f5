/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * surroundings.h: what a process hands down to those that it starts, and what another process may
 * change about it: a test that did so would spoil the tests after it.
 */
#ifndef TBK_HARNESS_SURROUNDINGS_H
#define TBK_HARNESS_SURROUNDINGS_H

#include <sched.h>
#include <sys/resource.h>

typedef struct tbk_surroundings {
  struct rlimit limits[RLIM_NLIMITS];
  int priority;
  cpu_set_t processors;
} tbk_surroundings_t;

enum {
  TBK_CHANGED_LIMITS = 1 << 0,    /* by nobody but the test */
  TBK_CHANGED_SCHEDULING = 1 << 1 /* an administrator may, too */
};

/* Gives those of this process. */
void tbk_surroundings_note(tbk_surroundings_t* out);
/* Returns what has changed since, TBK_CHANGED_*. */
unsigned tbk_surroundings_changed(const tbk_surroundings_t* since);

#endif /* TBK_HARNESS_SURROUNDINGS_H */
