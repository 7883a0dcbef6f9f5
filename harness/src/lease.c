/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * lease.c: an exclusive device that another process has open is waited for. No test is to blame,
 * and what could not begin runs later; but a device that is never let go does not hold up a run
 * for ever.
 */
#include "health.h"

#include "clock.h"
#include "text.h"

#include <string.h>

enum { PAUSE_MS = 100, REFUSALS = 30, REFUSALS_AFTER_PROBES = 5 };

void tbk_lease_wait(tbk_health_t* health) {
  const uint64_t now = tbk_now_ns();
  if (health->held_since_ns == 0) health->held_since_ns = now;
  if (health->waiting_since_ns == 0) health->waiting_since_ns = now;
  if (now - health->held_since_ns < health->pace->options->open_timeout_ns) {
    tbk_loop_pause(PAUSE_MS);
    return;
  }
  health->lost = health->held = true;
  tbk_print(health->lease, sizeof health->lease,
            "another process has held the exclusive device for %.1f s",
            (double)(now - health->held_since_ns) / 1e9);
}

/*
 * A library that never lets go of its own device, or refuses one that nobody has, answers the same. But it
 * does so each time, also when a probe has just had the device.
 */
bool tbk_lease_puts_off(tbk_health_t* health, bool held, uint8_t* refusals) {
  if (!held || *refusals == REFUSALS + REFUSALS_AFTER_PROBES) return false;
  health->probe_due |= *refusals >= REFUSALS;
  (*refusals)++;
  return true;
}

void tbk_lease_probed(tbk_health_t* health) {
  health->held_since_ns = 0;
}

void tbk_lease_got(tbk_health_t* health) {
  health->held_since_ns = health->waiting_since_ns = 0;
}

void tbk_lease_note(const tbk_health_t* health, bool held, tbk_classification_t* classification) {
  const size_t used = strlen(classification->notes);
  if (health->waiting_since_ns == 0) return;
  tbk_print(classification->notes + used, sizeof classification->notes - used,
            held ? "%srefused again and again for %.1f s, also right after a probe had the device"
                 : "%swaited %.1f s for the device, which another process held",
            used ? "; " : "", (double)(tbk_now_ns() - health->waiting_since_ns) / 1e9);
}
