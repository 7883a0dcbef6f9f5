/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * text_json.c: see text_json.h.
 */
#include "text_json.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

json_t* tbk_text_json(const char* value) {
  if (value == NULL) return json_null();
  size_t size = 3 * strlen(value) + 1;
  char* valid = malloc(size);
  if (valid == NULL) abort();
  tbk_text_valid(valid, size, value);
  json_t* string = json_string(valid);
  free(valid);
  return string;
}

json_t* tbk_texts_json(const char* const* items, size_t count) {
  json_t* array = json_array();
  for (size_t i = 0; i < count; i++)
    (void)json_array_append_new(array, tbk_text_json(items[i]));
  return array;
}
