/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * wait.h: one word on which threads of a test wait for each other, with a deadline.
 */
#ifndef TBK_CONTRACTS_WAIT_H
#define TBK_CONTRACTS_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Waits until *word is not 0; false if `timeout_ns` ran out first. */
bool tbk_word_wait(const atomic_int* word, uint64_t timeout_ns);
/* Sets the word and wakes all who wait for it. */
void tbk_word_set(atomic_int* word, int value);

#endif /* TBK_CONTRACTS_WAIT_H */
