/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * reduce_rows.h: the reductions that tbk::reduce is tested with.
 */
#ifndef TBK_CONTRACTS_REDUCE_ROWS_H
#define TBK_CONTRACTS_REDUCE_ROWS_H

#include "reduction_row.h"

enum {
  REDUCE_SUM_INTEGERS,
  REDUCE_SUM_REALS,
  REDUCE_MOST,
  REDUCE_ARGUMENT,
  REDUCE_ANY,
  REDUCE_ORDERED,
  REDUCE_ORDERED_ALONE,
  REDUCE_LAST,
  REDUCE_MOMENTS,
  REDUCE_FOUR_STATES,
  REDUCE_LIMITS,
  REDUCE_PLACED,
  REDUCE_FINISHED,
  REDUCE_NUMBERED
};

extern const reduction_row_t reduce_rows[];

#endif /* TBK_CONTRACTS_REDUCE_ROWS_H */
