/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * object.h: C that is compiled while a program runs, by the host's compiler: what TBK_HOST_CC names, else "cc".
 * Threads: any.
 */
#ifndef EMIT_OBJECT_H
#define EMIT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct emit_object {
  char* bytes; /* a shared object; free() gives it back */
  size_t size;
  char log[200]; /* the first line of what the compiler said; "" where all went well */
} emit_object_t;

/* Compiles two texts, one behind the other. Errors: false with the log. */
bool emit_object_compile(const char* first, const char* second, emit_object_t* out);

/* Loads an object until the process ends, and returns what it exports under `symbol`; NULL where it cannot be
 * loaded, or has no such symbol. */
void* emit_object_load(const void* bytes, size_t size, const char* symbol);

#endif /* EMIT_OBJECT_H */
