/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * patience_test.c: when a deadline moves, and by how much.
 */
#include "self_test.h"

#include "patience.h"

#include <CUnit/CUnit.h>

#define S(seconds) ((uint64_t)(seconds)*UINT64_C(1000000000))

static uint64_t due(uint64_t elapsed_s, uint64_t used_s, uint64_t waited_s, uint64_t lent_s) {
  const tbk_processor_time_t time = {S(used_s), S(waited_s)};
  return tbk_patience_due(S(elapsed_s), time, S(lent_s), S(30)) / S(1);
}

static void who_hangs_gets_no_more(void) {
  CU_ASSERT_EQUAL(due(30, 0, 0, 0), 0);   /* asleep */
  CU_ASSERT_EQUAL(due(30, 30, 0, 0), 0);  /* spins, alone */
  CU_ASSERT_EQUAL(due(30, 60, 90, 0), 0); /* spins in more threads than there are processors */
}

static void who_is_not_let_gets_what_it_waited_for(void) {
  CU_ASSERT_EQUAL(due(30, 3, 27, 0), 27);
  CU_ASSERT_EQUAL(due(57, 5, 51, 27), 24);
  CU_ASSERT_EQUAL(due(30, 3, 200, 0), 30); /* eight threads waited, at the same time */
}

static void the_end_comes(void) {
  CU_ASSERT_EQUAL(due(200, 10, 190, 80), 10);
  CU_ASSERT_EQUAL(due(1000, 10, 900, 90), 0);
  CU_ASSERT_EQUAL(due(40, 3, 10, 10), 0);
}

CU_TestInfo tbk_patience_tests[] = {
    {"who hangs gets no more time", who_hangs_gets_no_more},
    {"who is not let run gets what it waited for", who_is_not_let_gets_what_it_waited_for},
    {"the end comes", the_end_comes},
    CU_TEST_INFO_NULL};
