/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * refusal_rows.h: in which ways an argument is made wrong, what the answer is, and who refuses it.
 */
#ifndef TBK_CONTRACTS_REFUSAL_ROWS_H
#define TBK_CONTRACTS_REFUSAL_ROWS_H

#include "refusal.h"

/* What stands in place of the argument, and what the answer is. */
typedef enum wrong { A_NUMBER, PAST_COUNT, NO_OBJECT, OF_OTHER, UNRECORDED, UNTIMED } wrong_t;
enum { INVALID_OR_STATE = -1 };

typedef struct refusal {
  const char* name;
  const char* parameter; /* functions that have it are called; */
  spoil_t spoil;
  wrong_t wrong;
  int64_t number;
  tbk_status_t expected;
} refusal_t;

/* Returns the row of a case. */
const refusal_t* refusal_of(const sweep_case_t* one);
/* Returns whether the function stands in that table. */
bool refusal_is_of(const call_row_t* row, const char* table);
/* Returns whether the header says that the function refuses it, and the device offers the function. */
bool refusal_concerns(const tbk_fixture_t* fx, const every_call_t* on, const call_row_t* row,
                      const refusal_t* refusal);

#endif /* TBK_CONTRACTS_REFUSAL_ROWS_H */
