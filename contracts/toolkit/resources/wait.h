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

/* Returns how long to wait at once where fx_awake_ns counts; 0 where it is at the deadline. */
uint64_t tbk_wait_step_ns(uint64_t deadline_ns);
/* Waits until *word is not 0; false if `timeout_ns` ran out first. */
bool tbk_word_wait(const atomic_int* word, uint64_t timeout_ns);
/* Sets the word and wakes all who wait for it. */
void tbk_word_set(atomic_int* word, int value);

#endif /* TBK_CONTRACTS_WAIT_H */
