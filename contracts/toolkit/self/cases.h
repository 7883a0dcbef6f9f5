/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TBK_SELF_CASES_H
#define TBK_SELF_CASES_H

#include <stdatomic.h>

extern atomic_int self_body_runs; /* how often a body got to its end */

#endif /* TBK_SELF_CASES_H */
