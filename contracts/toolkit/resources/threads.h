/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * threads.h: the threads of tests, for fixture, gates and clean.c.
 */
#ifndef TBK_CONTRACTS_THREADS_H
#define TBK_CONTRACTS_THREADS_H

#include <stdbool.h>

#include "fixture.h"

/* A thread outside the resources. */
tbk_thread_t* tbk_thread_start(void (*function)(void* argument), void* argument);
/* Waits `timeout_ns` for the end; then joins and frees the thread. False: it is still running. */
bool tbk_thread_end(tbk_thread_t* thread, uint64_t timeout_ns);
/* Returns whether the thread sleeps in the kernel, as one that waits for a lock does. */
bool tbk_thread_sleeps(int thread_id);

#endif /* TBK_CONTRACTS_THREADS_H */
