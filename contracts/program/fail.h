/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * fail.h: how what is wrong with a program is told.
 */
#ifndef TBK_PROGRAM_FAIL_H
#define TBK_PROGRAM_FAIL_H

#include <tbk/types.h>

/* Writes the message, cut to its place, where there is one; returns INVALID. */
__attribute__((format(printf, 2, 3))) tbk_status_t program_fail(tbk_error_t* error,
                                                                const char* format, ...);
/* Puts what it is in before the message that stands there, cut to its place. */
__attribute__((format(printf, 2, 3))) void program_fail_in(tbk_error_t* error, const char* format,
                                                           ...);

#endif /* TBK_PROGRAM_FAIL_H */
