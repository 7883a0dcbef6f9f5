/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * arithmetic.h: how this process rounds, whether subnormals count and what traps. A library built with
 * -ffast-math changes that when it is loaded; then what a test computes to compare with would be wrong.
 */
#ifndef TBK_CONTRACTS_ARITHMETIC_H
#define TBK_CONTRACTS_ARITHMETIC_H

/* Notes what holds; the first call of the process counts. */
void tbk_arithmetic_note(void);
/* Has the calling thread compute as was noted. */
void tbk_arithmetic_restore(void);

#endif /* TBK_CONTRACTS_ARITHMETIC_H */
