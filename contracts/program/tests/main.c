/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "program_test.h"

tbk_program_t* program_of(const char* text) {
  tbk_program_t* program;
  tbk_error_t error;
  if (tbk_program_parse(text, &program, &error) != TBK_OK) {
    fprintf(stderr, "%s\n%s", error.message, text);
    abort();
  }
  return program;
}

void expect_refused(tbk_status_t status, const tbk_error_t* error, const char* words) {
  CU_ASSERT_EQUAL(status, TBK_INVALID);
  bool told = strstr(error->message, words) != NULL;
  if (!told) fprintf(stderr, "\n  said: %s\n  not:  %s\n", error->message, words);
  CU_ASSERT_TRUE(told);
}

void expect_told(tbk_status_t status, const tbk_error_t* error, const char* words) {
  if (words == NULL)
    CU_ASSERT_EQUAL(status, TBK_OK)
  else
    expect_refused(status, error, words);
}

int main(void) {
  CU_SuiteInfo suites[] = {
      {"check", NULL, NULL, NULL, NULL, check_tests},
      {"launch", NULL, NULL, NULL, NULL, launch_tests},
      {"form", NULL, NULL, NULL, NULL, form_tests},
      {"index", NULL, NULL, NULL, NULL, index_tests},
      {"sort", NULL, NULL, NULL, NULL, sort_tests},
      {"matmul", NULL, NULL, NULL, NULL, matmul_tests},
      {"convolution", NULL, NULL, NULL, NULL, convolution_tests},
      CU_SUITE_INFO_NULL,
  };
  return cunit_run(suites);
}
