/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * reduction_row.h: reductions as rows of a table: the texts of three programs, and what they are tested with.
 */
#ifndef TBK_CONTRACTS_REDUCTION_ROW_H
#define TBK_CONTRACTS_REDUCTION_ROW_H

#include "job.h"

typedef struct reduction_row {
  const char *map, *combine, *finish;
  uint64_t identity[TBK_REDUCTION_MOST_STATES];
  uint64_t flags;
  job_values_t values;
  double slack;
  int32_t dtypes[3]; /* besides INT64 and BOOL, ended by 0 */
} reduction_row_t;

/* How programs begin: of one, two and four parameters, and of one input. */
#define ONE(dtype) "program 1\nparameter 0 " dtype "\nv0 = PARAMETER " dtype " slot 0\n"
#define TWO(dtype)                                                                 \
  "program 1\nparameter 0 " dtype "\nparameter 1 " dtype "\nv0 = PARAMETER " dtype \
  " slot 0\nv1 = PARAMETER " dtype " slot 1\n"
#define FOUR(a, b)                                                                     \
  "program 1\nparameter 0 " a "\nparameter 1 " b "\nparameter 2 " a "\nparameter 3 " b \
  "\nv0 = PARAMETER " a " slot 0\nv1 = PARAMETER " b " slot 1\nv2 = PARAMETER " a      \
  " slot 2\nv3 = PARAMETER " b " slot 3\n"
#define LOAD(dtype) "program 1\ninput 0 " dtype "\nv0 = LOAD " dtype " slot 0\n"

static inline bool reduction_row_fits(const tbk_fixture_t* fx, const reduction_row_t* row) {
  for (int k = 0; k < 3 && row->dtypes[k] != 0; ++k)
    if (!fx_has_dtype(fx, row->dtypes[k])) return false;
  return true;
}

static inline tbk_reduction_t reduction_of_row(tbk_fixture_t* fx, const reduction_row_t* row) {
  return (tbk_reduction_t){sizeof(tbk_reduction_t),
                           job_program(fx, row->map),
                           job_program(fx, row->combine),
                           job_program(fx, row->finish),
                           row->identity,
                           row->flags};
}

#endif /* TBK_CONTRACTS_REDUCTION_ROW_H */
