/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * main.c: runs the tests of the generic kernels of the cpu backend, on a build of it.
 */
#include <cunit_run.h>

#include "session.h"

int main(int count, char** words) {
  if (count != 2) {
    fprintf(stderr, "usage: tbk-cpu-selftest LIBRARY\n");
    return EXIT_FAILURE;
  }
  session_library = words[1];
  CU_SuiteInfo suites[] = {
      {.pName = "opcode", .pTests = (CU_TestInfo*)cpu_opcode_tests},
      {.pName = "cast", .pTests = (CU_TestInfo*)cpu_cast_tests},
      {.pName = "pointwise", .pTests = (CU_TestInfo*)cpu_pointwise_tests},
      {.pName = "fuse", .pTests = (CU_TestInfo*)cpu_fuse_tests},
      {.pName = "reduce", .pTests = (CU_TestInfo*)cpu_reduce_tests},
      {.pName = "reduce state", .pTests = (CU_TestInfo*)cpu_reduce_state_tests},
      {.pName = "scan", .pTests = (CU_TestInfo*)cpu_scan_tests},
      {.pName = "table", .pTests = (CU_TestInfo*)cpu_table_tests},
      {.pName = "convolution", .pTests = (CU_TestInfo*)cpu_convolution_tests},
      {.pName = "convolution_case", .pTests = (CU_TestInfo*)cpu_convolution_case_tests},
      {.pName = "matmul", .pTests = (CU_TestInfo*)cpu_matmul_tests},
      {.pName = "named", .pTests = (CU_TestInfo*)cpu_named_tests},
      {.pName = "named sum", .pTests = (CU_TestInfo*)cpu_named_sum_tests},
      CU_SUITE_INFO_NULL,
  };
  return cunit_run(suites);
}
