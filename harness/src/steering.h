/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * steering.h: variables that say in what order a simulated driver does what it may choose. Whoever
 * runs a test again needs them, too.
 */
#ifndef TBK_HARNESS_STEERING_H
#define TBK_HARNESS_STEERING_H

#include <stddef.h>

/* Returns the next variable of this process after `last`, as "NAME=VALUE"; the first after NULL, and
 * NULL where there is none. An empty one is none. */
const char* tbk_steering_next(const char* last);

/* Appends "env NAME=VALUE..." to a command line, or nothing. */
void tbk_steering_add(char* out, size_t size);

#endif /* TBK_HARNESS_STEERING_H */
