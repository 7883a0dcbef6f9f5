/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tables.h"

#include <string.h>

#define SHAPE(name, entries, needs_stream) \
  { #name, offsetof(tbk_backend_t, name), entries, needs_stream }

const tbk_table_shape_t tbk_table_shapes[] = {
    SHAPE(stream, 5, false), /* stream_native_handle and stream_from_native may be absent */
    SHAPE(event, 6, true),   /* event_elapsed may be absent */
    SHAPE(callback, 1, true),     SHAPE(pinned, 2, false), SHAPE(peer, 2, false),
    SHAPE(async_memory, 2, true), SHAPE(kernel, 1, false), SHAPE(random, 1, false),
    SHAPE(fault, 1, true),
};
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

bool tbk_table_usable(const tbk_backend_t* backend, const char* name) {
  for (size_t i = 0; i < tbk_table_shape_count; i++) {
    const tbk_table_shape_t* shape = &tbk_table_shapes[i];
    if (strcmp(shape->name, name) != 0) continue;
    const void* table = tbk_table_of(backend, shape);
    return table != NULL && tbk_table_size_valid(table, shape->entry_count) &&
           tbk_table_first_null(table, shape->entry_count) == shape->entry_count &&
           (!shape->needs_stream || tbk_table_usable(backend, "stream"));
  }
  return false;
}
