/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * shell.h: command lines that can be pasted into a shell.
 */
#ifndef TBK_HARNESS_SHELL_H
#define TBK_HARNESS_SHELL_H

#include <stddef.h>

/* Appends a word; what is not plainly harmless is put in single quotes. */
void tbk_shell_add(char* out, size_t size, const char* word);
/* Appends an option with its value, unless that is NULL. */
void tbk_shell_option(char* out, size_t size, const char* name, const char* value);

#endif /* TBK_HARNESS_SHELL_H */
