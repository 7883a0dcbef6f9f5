/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TBK_SELF_OPERANDS_SELF_H
#define TBK_SELF_OPERANDS_SELF_H

/* Loads, rounds and walks what the oracles stand on. Returns the number of failures. */
unsigned operands_self(void);

#endif /* TBK_SELF_OPERANDS_SELF_H */
