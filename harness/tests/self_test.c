/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * self_test.c: runs them all.
 */
#include "self_test.h"

#include <cunit_run.h>

int main(void) {
  CU_SuiteInfo suites[] = {{"verdict", NULL, NULL, NULL, NULL, tbk_verdict_tests},
                           {"plan", NULL, NULL, NULL, NULL, tbk_plan_tests},
                           {"text", NULL, NULL, NULL, NULL, tbk_text_tests},
                           {"resume", NULL, NULL, NULL, NULL, tbk_resume_tests},
                           {"patience", NULL, NULL, NULL, NULL, tbk_patience_tests},
                           {"shard", NULL, NULL, NULL, NULL, tbk_shard_tests},
                           {"sure", NULL, NULL, NULL, NULL, tbk_sure_tests},
                           {"limit", NULL, NULL, NULL, NULL, tbk_limit_tests},
                           CU_SUITE_INFO_NULL};
  return cunit_run(suites);
}
