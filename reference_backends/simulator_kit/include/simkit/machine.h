/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * machine.h: the virtual machine below a simulated driver, made as its variable says, TBK_<NAME>_SIMULATOR.
 */
#ifndef SIMKIT_MACHINE_H
#define SIMKIT_MACHINE_H

#include <simkit/rules.h>
#include <vdev/machine.h>

/* What each simulator says of its memory, and which options it has beside those of the machine. */
typedef struct sim_setup {
  vdev_own_options_t own;
  uint64_t alignment;
} sim_setup_t;
extern const sim_setup_t sim_setup;

/* Reads the options, once; false, and said so, where they are none. */
bool sim_options(void);

/* Makes the machine; NULL where the options are none, or without host memory. */
vdev_machine_t* sim_machine_new(void);

#endif /* SIMKIT_MACHINE_H */
