/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * enough.h: whether the machine lets a run have what it needs, before a backend is blamed for the lack;
 * and which limits a run had.
 */
#ifndef TBK_HARNESS_ENOUGH_H
#define TBK_HARNESS_ENOUGH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TBK_LIMIT_WORDS = 96 };

/* Returns whether a limit of this process, or of its user, is too small, and says so in `out`. */
bool tbk_limits_lack(char* out, size_t out_size);

/* Returns the limits that there are, in words: "address space 1024 MiB (ulimit -v)". */
json_t* tbk_limits_json(void);

/*
 * Returns whether a limit, which it names in `out`, may be why a process died of `signal`, or, at 0,
 * why a call failed and `seen` was seen. Where none may be, `out` is empty.
 */
bool tbk_limit_behind(int signal, const char* seen, char out[TBK_LIMIT_WORDS]);

/* Names the limit of memory beyond which the kernel killed a process: of its group, or the machine's. */
void tbk_limit_of_memory(char out[TBK_LIMIT_WORDS]);

/* Returns how many processes of this group the kernel has killed for want of memory until now. */
uint64_t tbk_limit_kills(void);

#endif /* TBK_HARNESS_ENOUGH_H */
