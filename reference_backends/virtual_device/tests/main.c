/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * main.c: runs them all.
 */
#include <CUnit/Basic.h>
#include <stdlib.h>

#include "selftest.h"

int main(void) {
  CU_SuiteInfo suites[] = {{"words", NULL, NULL, NULL, NULL, vdev_words_tests},
                           {"arena", NULL, NULL, NULL, NULL, vdev_arena_tests},
                           CU_SUITE_INFO_NULL};
  if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
    return EXIT_FAILURE;
  CU_basic_set_mode(CU_BRM_NORMAL);
  CU_ErrorCode code = CU_basic_run_tests();
  unsigned failures = CU_get_number_of_failures(), asserts = CU_get_number_of_asserts();
  CU_cleanup_registry();
  return code == CUE_SUCCESS && failures == 0 && asserts > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
