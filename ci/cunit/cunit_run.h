/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cunit_run.h: how a program of CUnit suites runs them; for the tests of every room.
 */
#ifndef TBK_CUNIT_RUN_H
#define TBK_CUNIT_RUN_H

#include <CUnit/Basic.h>
#include <stdlib.h>

/* Runs the suites; EXIT_SUCCESS where no check failed, and some were made. */
static inline int cunit_run(CU_SuiteInfo* suites) {
  if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
    return EXIT_FAILURE;
  CU_basic_set_mode(CU_BRM_NORMAL);
  CU_ErrorCode code = CU_basic_run_tests();
  unsigned failures = CU_get_number_of_failures(), asserts = CU_get_number_of_asserts();
  CU_cleanup_registry();
  return code == CUE_SUCCESS && failures == 0 && asserts > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif /* TBK_CUNIT_RUN_H */
