/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * selftest.h: the simulated driver as a program sees it, opened like any driver.
 */
#ifndef SIM_SELFTEST_H
#define SIM_SELFTEST_H

#include <CUnit/CUnit.h>
#include <stdbool.h>

#include "../../driver.h"
#include "../rules.h"

extern cuda_driver_t cu;
extern int (*cu_broken)(void); /* tbk_simulator_broken */

/* Rules that were broken by a test: each must be, by the end. */
extern bool cu_tried[64];

/* Makes a call that must break a rule, and be answered so. */
#define BREAKS(rule, answer, call)            \
  do {                                        \
    (void)cu_broken();                        \
    CU_ASSERT_EQUAL((call), (answer));        \
    CU_ASSERT_EQUAL(cu_broken(), SIM_##rule); \
    cu_tried[SIM_##rule] = true;              \
  } while (0)

/* What work does wrong is found by a thread of the driver: the log has it. */
void cu_begin_log(void);
/* Ends the log; whether it names the rule. */
bool cu_end_log(sim_rule_t rule);

/* Looks up any symbol of the simulator; NULL where there is none. */
void* cu_symbol(const char* name);

/* Retains and enters the context of a device; cu_leave undoes it. */
cu_context cu_enter(int device);
void cu_leave(int device);

/* Opens the simulator with these options, as a process does once. */
void cu_load(const char* path, const char* options);

extern CU_TestInfo cu_rule_tests[];
extern CU_TestInfo cu_launch_tests[];
extern CU_TestInfo cu_cublas_tests[];
extern CU_TestInfo cu_work_tests[];
extern CU_TestInfo cu_death_tests[];        /* of device 1 */
extern CU_TestInfo cu_cublas_death_tests[]; /* of device 2 */

#endif /* SIM_SELFTEST_H */
