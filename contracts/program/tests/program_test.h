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

/* The same; where there are no words, whether it is OK. */
void expect_told(tbk_status_t status, const tbk_error_t* error, const char* words);

/*
 * A table of calls that are well formed but for one change: MAP(X) has rows X(name, change, words), words NULL
 * where the changed call is well formed too. A file says with CHANGED what a change is made to: "call_t* c".
 */
/* NOLINTBEGIN(bugprone-macro-parentheses): names of types and variables, and statements */
#define CHANGE_TABLE(table, MAP) \
  MAP(CHANGE_FUNCTION)           \
  static const struct {          \
    void (*apply)(CHANGED);      \
    const char* words;           \
  } table[] = {MAP(CHANGE_ROW)}
#define CHANGE_FUNCTION(name, change, words) \
  static void change_##name(CHANGED) {       \
    change;                                  \
  }
#define CHANGE_ROW(name, change, words) {change_##name, words},

/* Opens a call for each row, changes it and looks at what `check`, an expression of `it`, says. */
#define CHECK_CHANGES(table, type, open, check, close)                   \
  do {                                                                   \
    for (size_t row = 0; row < sizeof(table) / sizeof *(table); ++row) { \
      type it;                                                           \
      tbk_error_t error = {"nothing"};                                   \
      open(&it);                                                         \
      (table)[row].apply(&it);                                           \
      const tbk_status_t status = (check);                               \
      expect_told(status, &error, (table)[row].words);                   \
      close(&it);                                                        \
    }                                                                    \
  } while (0)

/* NOLINTEND(bugprone-macro-parentheses) */

#endif /* TBK_PROGRAM_TEST_H */
