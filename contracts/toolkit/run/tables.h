/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tables.h: the shape of the tables of tbk.h. Each is its size, then function pointers, of which
 * the first `entry_count` are mandatory.
 */
#ifndef TBK_CONTRACTS_TABLES_H
#define TBK_CONTRACTS_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include <tbk/tbk.h>

typedef struct tbk_table_shape {
  const char* name; /* of the member of tbk_backend_t, and the word in `needs` */
  size_t member;    /* its offset there */
  size_t entry_count;
  bool needs_stream;
} tbk_table_shape_t;

enum { TBK_TABLE_SIZE_LIMIT = 65536, TBK_CORE_ENTRIES = 10 };
extern const tbk_table_shape_t tbk_table_shapes[];
extern const size_t tbk_table_shape_count;

/* The table as the backend gives it, whatever its state; NULL where there is none. */
const void* tbk_table_of(const tbk_backend_t* backend, const tbk_table_shape_t* shape);
size_t tbk_table_size(const void* table);
/* Whether the size covers `entry_count` entries and is sane. */
bool tbk_table_size_valid(const void* table, size_t entry_count);
/* The index of the first mandatory entry that is NULL, or `entry_count`. */
size_t tbk_table_first_null(const void* table, size_t entry_count);
/* Whether the table of this name is there, whole, and has the streams that it needs. */
bool tbk_table_usable(const tbk_backend_t* backend, const char* name);

#endif /* TBK_CONTRACTS_TABLES_H */
