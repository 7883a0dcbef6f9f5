/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * keeper.h: who opens a gate in time, as a library for Python (libtbk_gate_keeper.so). The host waits
 * for a stream within PyTorch's calls, which may keep Python's lock, so a thread of its own lets go.
 * One gate in a process, closed by one thread at a time; a child that was forked may go on.
 */
#ifndef TBK_GATE_KEEPER_H
#define TBK_GATE_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <tbk/gate.h>

enum { KEEPER_MESSAGE = 512, KEEPER_SHUT = 0, KEEPER_SYNCHRONOUS = 1, KEEPER_FAILED = -1 };

/*
 * Loads the library `path`. `inside` counts the calls that are within it, for whoever looks from
 * outside when this process dies; it may be NULL. Returns 0; else KEEPER_FAILED with one line.
 */
int32_t tbk_keeper_load(const char* path, int64_t* inside, char message[KEEPER_MESSAGE]);

/* Returns what the library calls itself; empty before it was loaded. */
const char* tbk_keeper_name(void);

/*
 * Closes the gate on a stream for `most_ns` at most; opens it first, and waits for that, where it is
 * closed. Returns KEEPER_SHUT; KEEPER_SYNCHRONOUS where the library did not return before it was let
 * go; KEEPER_FAILED with one line.
 */
int32_t tbk_keeper_close(int32_t device, void* stream, uint64_t most_ns,
                         char message[KEEPER_MESSAGE]);

/* Lets go in `after_ns`, or at the time that was set before where that is sooner. Waits for nothing. */
void tbk_keeper_let_go(uint64_t after_ns);

/* What is closed opens in `for_ns` and not before, whatever was said: the host did not have to wait. */
void tbk_keeper_stay(uint64_t for_ns);

/* Returns whether the gate is closed. */
bool tbk_keeper_is_shut(void);

/* Waits until it is open. Returns 0; KEEPER_FAILED with one line where opening failed. */
int32_t tbk_keeper_settle(char message[KEEPER_MESSAGE]);

/* Returns whether the library can tell how far a stream has come. */
bool tbk_keeper_has_marks(void);

/*
 * Puts a mark on a stream. Returns its number, which another one has after KEEPER_MARKS more; else
 * KEEPER_FAILED with one line.
 */
enum { KEEPER_MARKS = 4096 };
int32_t tbk_keeper_mark(int32_t device, void* stream, char message[KEEPER_MESSAGE]);

/* Returns how often the stream has come to the mark. */
int32_t tbk_keeper_passed(int32_t mark);

#endif /* TBK_GATE_KEEPER_H */
