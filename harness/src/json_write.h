/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * json_write.h: JSON into a buffer that the caller owns. It allocates nothing, so that a test
 * process can report with a damaged heap, and a record costs about a microsecond; trees are read
 * and built with jansson. What does not fit sets `overflow`, and nothing is written any more.
 */
#ifndef TBK_HARNESS_JSON_WRITE_H
#define TBK_HARNESS_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tbk_json {
  char* data;
  size_t capacity;
  size_t size;
  bool comma; /* the next member is preceded by one */
  bool overflow;
} tbk_json_t;

void tbk_json_begin(tbk_json_t* json, char* data, size_t capacity);

/* `key` is NULL inside an array. */
void tbk_json_open(tbk_json_t* json, const char* key, char bracket);
void tbk_json_close(tbk_json_t* json, char bracket);
void tbk_json_text(tbk_json_t* json, const char* key, const char* value); /* NULL: null */
void tbk_json_bytes(tbk_json_t* json, const char* key, const char* value, size_t size);
void tbk_json_signed(tbk_json_t* json, const char* key, int64_t value);
void tbk_json_unsigned(tbk_json_t* json, const char* key, uint64_t value);
void tbk_json_bool(tbk_json_t* json, const char* key, bool value);
void tbk_json_null(tbk_json_t* json, const char* key);
/* `value` is JSON already. */
void tbk_json_raw(tbk_json_t* json, const char* key, const char* value, size_t size);
void tbk_json_end_line(tbk_json_t* json);

#endif /* TBK_HARNESS_JSON_WRITE_H */
