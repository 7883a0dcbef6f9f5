/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * self_test.h: the harness's own tests of what can be tested without a process.
 */
#ifndef TBK_HARNESS_SELF_TEST_H
#define TBK_HARNESS_SELF_TEST_H

#include <CUnit/CUnit.h>

extern CU_TestInfo tbk_verdict_tests[];
extern CU_TestInfo tbk_plan_tests[];
extern CU_TestInfo tbk_text_tests[];
extern CU_TestInfo tbk_resume_tests[];
extern CU_TestInfo tbk_patience_tests[];
extern CU_TestInfo tbk_shard_tests[];
extern CU_TestInfo tbk_sure_tests[];
extern CU_TestInfo tbk_limit_tests[];

#endif /* TBK_HARNESS_SELF_TEST_H */
