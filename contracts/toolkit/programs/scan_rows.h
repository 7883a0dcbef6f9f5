/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * scan_rows.h: the reductions that tbk::scan is tested with. Most are exact in any order, so that one right answer
 * is there.
 */
#ifndef TBK_CONTRACTS_SCAN_ROWS_H
#define TBK_CONTRACTS_SCAN_ROWS_H

#include "reduction_row.h"

enum {
  SCAN_SUM_INTEGERS,
  SCAN_SUM_REALS,
  SCAN_SUM_ORDINARY,
  SCAN_PRODUCT,
  SCAN_MOST,
  SCAN_ORDERED,
  SCAN_ORDERED_ALONE,
  SCAN_FOUR_STATES,
  SCAN_HALF,
  SCAN_EVEN,
  SCAN_PLACED,
  SCAN_FINISHED,
  SCAN_NUMBERED
};

extern const reduction_row_t scan_rows[];

#endif /* TBK_CONTRACTS_SCAN_ROWS_H */
