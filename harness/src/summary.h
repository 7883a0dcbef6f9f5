/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * summary.h: what a person at a terminal sees.
 */
#ifndef TBK_HARNESS_SUMMARY_H
#define TBK_HARNESS_SUMMARY_H

#include "run.h"

/* The first findings, then the verdict line, on stdout. */
void tbk_summary_print(const tbk_run_t* run, tbk_exit_t exit_code, const char* reason,
                       uint64_t duration_ns);
/* One line on stderr, safe for a terminal. */
void tbk_complain(const char* format, ...) __attribute__((format(printf, 1, 2)));

#endif /* TBK_HARNESS_SUMMARY_H */
