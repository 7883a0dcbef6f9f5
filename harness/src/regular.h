/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * regular.h: files that were there before the run. Somebody may have put anything in their place: a pipe
 * would be waited for, and a device has no end.
 */
#ifndef TBK_HARNESS_REGULAR_H
#define TBK_HARNESS_REGULAR_H

#include <stdio.h>

/* Opens a regular file to be read. Returns NULL with errno, which is EBADF for whatever is none. */
FILE* tbk_open_regular(const char* path);

#endif /* TBK_HARNESS_REGULAR_H */
