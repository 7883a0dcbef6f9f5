/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * selftest.h: the simulated driver as a program sees it, opened like any driver.
 */
#ifndef SIM_SELFTEST_H
#define SIM_SELFTEST_H

#include <CUnit/CUnit.h>

#include "../../driver.h"
#include "../rules.h"

extern cuda_driver_t cu;
extern int (*cu_broken)(void); /* tbk_simulator_broken */

/* Looks up any symbol of the simulator; NULL where there is none. */
void* cu_symbol(const char* name);

/* Retains and enters the context of a device; cu_leave undoes it. */
cu_context cu_enter(int device);
void cu_leave(int device);

/* Opens the simulator with these options, as a process does once. */
void cu_load(const char* path, const char* options);

extern CU_TestInfo cu_rule_tests[];
extern CU_TestInfo cu_launch_tests[];
extern CU_TestInfo cu_work_tests[];
extern CU_TestInfo cu_death_tests[]; /* of device 1: the last */

#endif /* SIM_SELFTEST_H */
