/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tables.h"

#include <string.h>

/* A character for each entry: their number is the size of the string. */
#define ONE_MORE(...) "."
#define SHAPE(name, type, needs) \
  {#name, offsetof(tbk_backend_t, name), sizeof("" TBK_MANDATORY_##name(ONE_MORE)) - 1, needs},

static const tbk_table_shape_t core_shape[] = {SHAPE(core, tbk_core_t, "")};
const tbk_table_shape_t tbk_table_shapes[] = {TBK_TABLE_MAP(SHAPE)};
const size_t tbk_table_shape_count = sizeof tbk_table_shapes / sizeof *tbk_table_shapes;

typedef void (*entry_fn)(void);

const void* tbk_table_of(const tbk_backend_t* backend, const tbk_table_shape_t* shape) {
  const void* table = NULL;
  if (backend->struct_size < shape->member + sizeof table) return NULL;
  memcpy(&table, (const char*)backend + shape->member, sizeof table);
  return table;
}

size_t tbk_table_size(const void* table) {
  size_t size;
  memcpy(&size, table, sizeof size);
  return size;
}

bool tbk_table_size_valid(const void* table, size_t entry_count) {
  size_t size = tbk_table_size(table);
  return size >= sizeof(size_t) + entry_count * sizeof(entry_fn) && size < TBK_TABLE_SIZE_LIMIT;
}

size_t tbk_table_first_null(const void* table, size_t entry_count) {
  for (size_t i = 0; i < entry_count; i++) {
    entry_fn entry;
    memcpy(&entry, (const char*)table + sizeof(size_t) + i * sizeof entry, sizeof entry);
    if (entry == NULL) return i;
  }
  return entry_count;
}

static const tbk_table_shape_t* shape_of(const char* name) {
  if (strcmp(name, core_shape->name) == 0) return core_shape;
  for (size_t i = 0; i < tbk_table_shape_count; i++)
    if (strcmp(name, tbk_table_shapes[i].name) == 0) return &tbk_table_shapes[i];
  return NULL;
}

bool tbk_table_usable(const tbk_backend_t* backend, const char* name) {
  const tbk_table_shape_t* shape = shape_of(name);
  const void* table = shape == NULL ? NULL : tbk_table_of(backend, shape);
  return table != NULL && tbk_table_size_valid(table, shape->entry_count) &&
         tbk_table_first_null(table, shape->entry_count) == shape->entry_count &&
         (shape->needs[0] == '\0' || tbk_table_usable(backend, shape->needs));
}

bool tbk_table_has_entry(const tbk_backend_t* backend, const char* name, size_t offset) {
  if (!tbk_table_usable(backend, name)) return false;
  const void* table = tbk_table_of(backend, shape_of(name));
  entry_fn entry = NULL;
  if (tbk_table_size(table) < offset + sizeof entry) return false;
  memcpy(&entry, (const char*)table + offset, sizeof entry);
  return entry != NULL;
}
