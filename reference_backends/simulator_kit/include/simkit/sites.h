/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sites.h: whether a simulator's own tests notice each place where it finds a rule broken.
 */
#ifndef SIMKIT_SITES_H
#define SIMKIT_SITES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Runs `program` on the simulator at `path`, once for each of its places, which is switched off
 * meanwhile; prints what is not noticed.
 * Requires: the simulator was built with SIM_SITES; `name` and `prefix` are those of its sim_driver, and
 * its rules are numbered from 1 to `rules`.
 * Ensures: true where the program fails each time, and each rule has a place.
 */
bool sim_judge_sites(const char* program, const char* path, const char* name, const char* prefix,
                     int rules);

#endif /* SIMKIT_SITES_H */
