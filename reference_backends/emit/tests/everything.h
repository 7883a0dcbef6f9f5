/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * everything.h: launches of programs in which every opcode stands, of every dtype that it takes, for those
 * who compile what is emitted.
 */
#ifndef EMIT_EVERYTHING_H
#define EMIT_EVERYTHING_H

#include <emit/generic.h>

/* Gets each launch, and what it is made of; both are gone when it returns. */
typedef void (*everything_fn)(const emit_generic_t* generic, const void* arguments,
                              const emit_launch_t* launch, void* closure);

/* Calls `visit` for each; returns how many there were, 0 where one could not be made, which is printed. */
int everything(everything_fn visit, void* closure);

#endif /* EMIT_EVERYTHING_H */
