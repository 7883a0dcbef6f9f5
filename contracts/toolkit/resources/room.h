/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * room.h: how much of a device a test may take: what the device declares, and where it does not what
 * the header promises. Others may have taken most of it: before a test takes more than the least, it asks.
 */
#ifndef TBK_CONTRACTS_ROOM_H
#define TBK_CONTRACTS_ROOM_H

#include <sys/resource.h>

#include "fixture.h"

/* What a device has that does not say, and what the header promises at the least. */
#define ROOM_UNKNOWN_BYTES (UINT64_C(64) << 20)
/* The header promises so much pinned memory at a time (PIN-011). */
#define ROOM_PINNED_BYTES (UINT64_C(16) << 20)
enum { ROOM_PINNED_BLOCKS = 64 };

/* Returns the bytes of the device, or what can be relied on where it does not say. */
uint64_t room_total(const tbk_device_properties_t* properties);
/* Returns the most that may be asked for in one allocation, whatever is free. */
uint64_t room_allocation(const tbk_device_properties_t* properties);
/*
 * Returns how much others had left of the device under test when a test of this process first asked it,
 * or, where a test has both open, of the device that has less left.
 */
uint64_t room_left(const tbk_fixture_t* fx);
/* Returns that share of what is left, but no more than one allocation may have. */
uint64_t room_share(const tbk_fixture_t* fx, uint64_t parts);
/* Returns whether a test may hold a few blocks of this size, each with room around it. */
bool room_fits(const tbk_fixture_t* fx, uint64_t size_bytes);

/*
 * Returns `bytes`, or, where there is no memory to pin a block of it, what is left of it after some halvings:
 * never less than the header promises. Tests ask once for all that they pin at a time.
 */
uint64_t room_pinned(const tbk_fixture_t* fx, uint64_t bytes);

/* `bytes`, halved until so many of them fit in one allocation. */
uint64_t room_cell(const tbk_fixture_t* fx, uint64_t bytes, uint64_t count);

/* `length`, halved until so many rows of elements of 8 bytes fit in one allocation; 0 rows are one. */
int64_t room_length(const tbk_fixture_t* fx, int64_t rows, int64_t length);

/* Gives back the device memory that was made since `room_mark`, once no work uses it any more. */
size_t room_mark(const tbk_fixture_t* fx);
void room_release(tbk_fixture_t* fx, size_t mark);

/*
 * Takes `size_bytes` in as few allocations as the device allows, and adopts them. Returns the status
 * of the first that failed, and leaves what it got to the end of the test, or to room_release.
 */
tbk_status_t room_take(tbk_fixture_t* fx, uint64_t size_bytes);

/*
 * Leaves the host's process so much address space beside what it has taken, and no more than it had. Where
 * the kernel does not tell what that is, nothing is shown. Returns the limit that held, to be set again.
 */
struct rlimit room_narrow_host(tbk_fixture_t* fx, uint64_t bytes);

#endif /* TBK_CONTRACTS_ROOM_H */
