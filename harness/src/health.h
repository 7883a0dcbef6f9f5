/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * health.h: whether the device still computes, and who has it.
 */
#ifndef TBK_HARNESS_HEALTH_H
#define TBK_HARNESS_HEALTH_H

#include "loop.h"
#include "pace.h"

typedef struct tbk_health {
  const tbk_pace_t* pace;
  tbk_loop_t* loop;
  bool probe_due;
  uint64_t probed_ns;
  uint64_t took_ns;          /* the last probe */
  bool lost;                 /* the device computes no more */
  char state[512];           /* "ok", or what is wrong */
  char lost_before[512];     /* the device was lost, in the run that this one goes on with */
  bool held;                 /* lost, because another process keeps the device */
  char lease[128];           /* then: for how long */
  uint64_t held_since_ns;    /* 0: not since a test or a probe has had it */
  uint64_t waiting_since_ns; /* the same of tests alone */
  char suspect[160];         /* the first test that failed since the last probe */
} tbk_health_t;

/* Asks, in a process of its own, whether the device still computes; may set `lost`. */
void tbk_health_check(tbk_health_t* health);

/*
 * lease.c: the device is held by another process. Waits a little; after a while sets `lost`.
 */
void tbk_lease_wait(tbk_health_t* health);
/*
 * Returns whether a test or probe that was refused so is put off, since another process has the device:
 * for `refusals` times, which it counts, the last of them each after a probe that has had the device.
 */
bool tbk_lease_puts_off(tbk_health_t* health, bool held, uint8_t* refusals);
/* Says in the notes how long the test was put off, if it was; `held`: to no avail. */
void tbk_lease_note(const tbk_health_t* health, bool held, tbk_classification_t* classification);
/* Notes that a test has had the device; or a probe. */
void tbk_lease_got(tbk_health_t* health);
void tbk_lease_probed(tbk_health_t* health);

#endif /* TBK_HARNESS_HEALTH_H */
