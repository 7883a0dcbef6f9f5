/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * addresses.h: what a driver gave and nobody has given back yet, in trees that begin as NULL. What is looked for is
 * found by its beginning, ranges that do not overlap. The lock guards the tree; it may be one for several.
 */
#ifndef DRIVER_ADDRESSES_H
#define DRIVER_ADDRESSES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns false where there is no host memory for it. */
bool address_add(pthread_mutex_t* lock, void** tree, uint64_t begin, uint64_t size_bytes);

/* Returns whether it was there. */
bool address_remove(pthread_mutex_t* lock, void** tree, uint64_t begin);

/* Returns whether all of the range lies inside one that was added. */
bool address_covers(pthread_mutex_t* lock, void** tree, uint64_t begin, uint64_t size_bytes);

/* Empties the tree, without its lock; gives each beginning back, unless `give_back` is NULL. */
void address_end_all(void** tree, void (*give_back)(uint64_t begin));

#endif /* DRIVER_ADDRESSES_H */
