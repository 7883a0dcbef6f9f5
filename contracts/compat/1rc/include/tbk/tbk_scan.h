/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk_scan.h: the arguments of the generic kernel of running reductions. A backend that offers "tbk::scan"
 * serves cumsum, cumprod, cummax, cummin, logcumsumexp and what is like them.
 */
#ifndef TBK_TBK_SCAN_H
#define TBK_TBK_SCAN_H

#include <tbk/tbk_program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags. */
enum {
  TBK_SCAN_REVERSE = 1 /* from the last element to the first */
};

/*
 * tbk::scan: a reduction of which every step is an output. Outputs and inputs, those of the map and of
 * finish, have one space. At each of its places the outputs are what finish makes of the combined states
 * of that element and of all before it along the last dimension; each place of the others is a
 * segment of its own. COORDINATE counts through the space; LINEAR_INDEX is the position along the last dimension,
 * from its beginning also with REVERSE. `inner_sizes` of a set is NULL and `inner_rank` 0.
 *
 * combine is associative but for rounding, and its first operand always stands for what came before: for the
 * elements behind with REVERSE. No input lies in an output, but an aligned one may be an output exactly.
 */
#define TBK_NAME_scan "tbk::scan"
#define TBK_VERSION_scan 1u
typedef struct tbk_args_scan {
  size_t struct_size;
  const tbk_reduction_t* reduction;
  const tbk_operand_set_t* const* sets; /* rank 1 to TBK_PROGRAM_MOST_RANK each */
  size_t set_count;
  uint64_t flags;     /* TBK_SCAN_REVERSE */
  int64_t index_bits; /* 32 where every position and element offset fits into it, else 64 */
} tbk_args_scan_t;

#ifdef __cplusplus
}
#endif

#endif /* TBK_TBK_SCAN_H */
