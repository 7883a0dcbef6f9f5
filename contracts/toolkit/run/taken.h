/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * taken.h: whether a test lacks what the library took from its process, or what the machine lacks.
 */
#ifndef TBK_CONTRACTS_TAKEN_H
#define TBK_CONTRACTS_TAKEN_H

#include <stdbool.h>
#include <stddef.h>

/* Notes what the process has before a library is loaded into it; later calls change nothing. */
void tbk_taken_note(void);

/*
 * Returns whether the library lowered a limit of its process since, or took many descriptors or
 * threads, and says so in `out`.
 */
bool tbk_taken(char* out, size_t out_size);

#endif /* TBK_CONTRACTS_TAKEN_H */
