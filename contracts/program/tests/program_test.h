/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * program_test.h: what the tests of programs share.
 */
#ifndef TBK_PROGRAM_TEST_H
#define TBK_PROGRAM_TEST_H

#include <CUnit/CUnit.h>
#include <tbk/program.h>

extern CU_TestInfo check_tests[];
extern CU_TestInfo launch_tests[];
extern CU_TestInfo form_tests[];
extern CU_TestInfo index_tests[];
extern CU_TestInfo sort_tests[];
extern CU_TestInfo matmul_tests[];
extern CU_TestInfo convolution_tests[];

/* Makes a program of a text that is well formed; aborts otherwise. */
tbk_program_t* program_of(const char* text);
/* Looks whether a status is INVALID and the message holds these words. */
void expect_refused(tbk_status_t status, const tbk_error_t* error, const char* words);

#endif /* TBK_PROGRAM_TEST_H */
