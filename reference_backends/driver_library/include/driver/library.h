/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * library.h: libraries of a driver, opened at run time.
 *
 * The dynamic loader maps what the head of a file promises, and a file that is shorter than that kills the
 * process when the missing part is touched. So the file is looked at first. Only what a path with a slash
 * names can be looked at: where a bare name leads, and which libraries a library needs, the dynamic loader
 * alone knows.
 */
#ifndef DRIVER_LIBRARY_H
#define DRIVER_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Opens a library with the flags of dlopen. Returns NULL where it cannot be opened, and then writes why, the
 * name included; else leaves `reason` as it is. Never waits for a file that is a pipe.
 */
void* library_open(const char* name, int flags, char* reason, size_t size);

/*
 * Opens the first of the names, up to NULL, that can be opened. Returns NULL where none can, with the reason
 * of the last one.
 */
void* library_open_first(const char* const* names, int flags, char* reason, size_t size);

/* Finds a function, without a cast that ISO C does not know. Returns false, with NULL, where it is missing. */
bool library_find(void* library, const char* symbol, void* out_function, size_t size);

/* Writes the file that a function lies in, with no links on the way: what is opened is often a link, whose end
 * says the version. */
void library_file_of(const void* function, size_t function_size, char* out, size_t size);

#endif /* DRIVER_LIBRARY_H */
