/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * surroundings.c: see surroundings.h.
 */
#include "surroundings.h"

#include <string.h>

void tbk_surroundings_note(tbk_surroundings_t* out) {
  memset(out, 0, sizeof *out);
  for (int i = 0; i < RLIM_NLIMITS; i++)
    (void)getrlimit((__rlimit_resource_t)i, &out->limits[i]);
  out->priority = getpriority(PRIO_PROCESS, 0);
  (void)sched_getaffinity(0, sizeof out->processors, &out->processors);
}

unsigned tbk_surroundings_changed(const tbk_surroundings_t* since) {
  tbk_surroundings_t now;
  unsigned changed = 0;
  tbk_surroundings_note(&now);
  if (memcmp(now.limits, since->limits, sizeof now.limits) != 0) changed |= TBK_CHANGED_LIMITS;
  if (now.priority != since->priority || !CPU_EQUAL(&now.processors, &since->processors))
    changed |= TBK_CHANGED_SCHEDULING;
  return changed;
}
