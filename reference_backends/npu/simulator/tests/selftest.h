/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * selftest.h: the simulated driver as a program sees it, opened like any driver.
 */
#ifndef SIM_SELFTEST_H
#define SIM_SELFTEST_H

#include <CUnit/CUnit.h>

#include "../rules.h"
#include "operators.h"

extern acl_runtime_t acl;
extern acl_operators_t handles;
extern operators_t nn;
extern int (*acl_broken)(void); /* tbk_simulator_broken */

extern bool acl_tried[128];

/* The call breaks this rule, and gives this answer. */
#define BREAKS(rule, answer, call)             \
  do {                                         \
    (void)acl_broken();                        \
    CU_ASSERT_EQUAL((call), (answer));         \
    CU_ASSERT_EQUAL(acl_broken(), SIM_##rule); \
    acl_tried[SIM_##rule] = true;              \
  } while (0)

#define OK(call) CU_ASSERT_EQUAL((call), ACL_OK)

/* Sets the device, and resets it. */
void acl_enter(int device);
void acl_leave(int device);

/* What the simulator wrote to its log while `act` ran: for rules that work breaks. */
bool acl_logs(const char* text, void (*act)(void* argument), void* argument);

extern CU_TestInfo acl_begin_tests[];
extern CU_TestInfo acl_memory_tests[];
extern CU_TestInfo acl_stream_tests[];
extern CU_TestInfo acl_event_tests[];
extern CU_TestInfo acl_callback_tests[];
extern CU_TestInfo acl_operator_tests[];
extern CU_TestInfo acl_end_tests[]; /* the last: aclFinalize, and what each rule came to */

#endif /* SIM_SELFTEST_H */
