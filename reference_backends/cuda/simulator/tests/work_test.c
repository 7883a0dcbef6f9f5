/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * work_test.c: what work does, and how a context dies of it.
 */
#include <string.h>

#include "selftest.h"

static void bytes_go_there_and_back(void) {
  cu_stream stream;
  cu_deviceptr first, second;
  char out[64], in[64] = "";
  memset(out, 0x5a, sizeof out);
  (void)cu_broken();
  cu_enter(0);
  CU_ASSERT_EQUAL(cu.stream_create(&stream, CU_STREAM_NON_BLOCKING, 0), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_alloc(&first, 64), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_alloc(&second, 64), CU_OK);
  CU_ASSERT_EQUAL(cu.copy_h2d(first, out, 64, stream), CU_OK);
  out[0] = 0; /* pageable memory was staged */
  CU_ASSERT_EQUAL(cu.copy_d2d(second, first, 64, stream), CU_OK);
  CU_ASSERT_EQUAL(cu.copy_d2h(in, second, 64, stream), CU_OK);
  CU_ASSERT_EQUAL(cu.stream_synchronize(stream), CU_OK);
  CU_ASSERT_EQUAL(in[0], 0x5a);
  CU_ASSERT_EQUAL(memcmp(in + 1, out + 1, 63), 0);
  CU_ASSERT_EQUAL(cu_broken(), 0);
  cu_leave(0);
}

/* The last test: nothing mends the context, as in the real driver. */
static void an_error_of_work_kills_the_context(void) {
  cu_stream stream;
  cu_deviceptr pointer;
  size_t free_bytes, total;
  cu_result result = CU_OK;
  cu_enter(0);
  CU_ASSERT_EQUAL(cu.stream_create(&stream, CU_STREAM_NON_BLOCKING, 0), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_alloc(&pointer, 64), CU_OK);
  for (int i = 0; i < 1000 && result == CU_OK; i++)
    result = cu.fill(pointer, 0, 64, stream);
  if (result == CU_OK) result = cu.stream_synchronize(stream);
  CU_ASSERT_EQUAL(result, 719);
  CU_ASSERT_EQUAL(cu.mem_get_info(&free_bytes, &total), 719);
  CU_ASSERT_EQUAL(cu.mem_alloc(&pointer, 64), 719);
  CU_ASSERT_EQUAL(cu.context_synchronize(), 719);
  cu_enter(1);
  CU_ASSERT_EQUAL(cu.mem_get_info(&free_bytes, &total), CU_OK);
  cu_leave(1);
  cu_leave(0);
}

CU_TestInfo cu_work_tests[] = {
    {"bytes go there and back", bytes_go_there_and_back},
    {"an error of work kills the context", an_error_of_work_kills_the_context},
    CU_TEST_INFO_NULL};
