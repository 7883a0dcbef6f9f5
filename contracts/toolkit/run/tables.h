/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tables.h: the shape of the optional tables, from the map <tbk/tables.h>. Each is its size, then
 * function pointers, of which the first `entry_count` are mandatory.
 */
#ifndef TBK_CONTRACTS_TABLES_H
#define TBK_CONTRACTS_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include <tbk/tables.h>

typedef struct tbk_table_shape {
  const char* name; /* of the member of tbk_backend_t, and the word in `needs` */
  size_t member;    /* its offset there */
  size_t entry_count;
  const char* needs; /* the table without which it is of no use, or "" */
} tbk_table_shape_t;

/* A character for each entry: their number is the size of the string. */
#define TBK_CORE_ENTRY(...) "."
enum {
  TBK_TABLE_SIZE_LIMIT = 65536,
  TBK_CORE_ENTRIES = sizeof("" TBK_MANDATORY_core(TBK_CORE_ENTRY)) - 1
};
#undef TBK_CORE_ENTRY

extern const tbk_table_shape_t tbk_table_shapes[];
extern const size_t tbk_table_shape_count;

/* Returns the table as the backend gives it, whatever its state; NULL where there is none. */
const void* tbk_table_of(const tbk_backend_t* backend, const tbk_table_shape_t* shape);
size_t tbk_table_size(const void* table);
/* Tells whether the size covers `entry_count` entries and is sane. */
bool tbk_table_size_valid(const void* table, size_t entry_count);
/* Returns the index of the first mandatory entry that is NULL, or `entry_count`. */
size_t tbk_table_first_null(const void* table, size_t entry_count);
/* Tells whether the table of this name is there, whole, and has the table that it needs. */
bool tbk_table_usable(const tbk_backend_t* backend, const char* name);
/* Tells whether it is usable, and has the entry at `offset`, which it need not have. */
bool tbk_table_has_entry(const tbk_backend_t* backend, const char* name, size_t offset);

#endif /* TBK_CONTRACTS_TABLES_H */
