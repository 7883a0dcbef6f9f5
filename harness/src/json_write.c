/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * json_write.c: see json_write.h. Strings may hold any bytes; what is written is valid UTF-8.
 */
#include "json_write.h"

#include "text.h"

#include <string.h>

void tbk_json_begin(tbk_json_t* json, char* data, size_t capacity) {
  *json = (tbk_json_t){.data = data, .capacity = capacity};
}

static void put(tbk_json_t* json, const char* bytes, size_t size) {
  if (json->overflow || json->capacity - json->size < size) {
    json->overflow = true;
    return;
  }
  memcpy(json->data + json->size, bytes, size);
  json->size += size;
}

static void put_key(tbk_json_t* json, const char* key) {
  if (json->comma) put(json, ",", 1);
  json->comma = true;
  if (key == NULL) return;
  put(json, "\"", 1);
  put(json, key, strlen(key));
  put(json, "\":", 2);
}

void tbk_json_open(tbk_json_t* json, const char* key, char bracket) {
  put_key(json, key);
  put(json, &bracket, 1);
  json->comma = false;
}

void tbk_json_close(tbk_json_t* json, char bracket) {
  put(json, &bracket, 1);
  json->comma = true;
}

static void put_escaped(tbk_json_t* json, unsigned char byte) {
  static const char digits[] = "0123456789abcdef";
  char escape[6] = {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};
  if (byte == '"' || byte == '\\') {
    escape[1] = (char)byte;
    put(json, escape, 2);
  } else if (byte == '\n') {
    put(json, "\\n", 2);
  } else {
    put(json, escape, 6);
  }
}

static bool is_plain(unsigned char byte) {
  return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
}

void tbk_json_bytes(tbk_json_t* json, const char* key, const char* value, size_t size) {
  put_key(json, key);
  put(json, "\"", 1);
  for (size_t at = 0; at < size;) {
    size_t run = at;
    while (run < size && is_plain((unsigned char)value[run]))
      run++;
    put(json, value + at, run - at);
    at = run;
    if (at == size) break;
    size_t length = tbk_utf8_length(value + at, size - at);
    if (length > 1)
      put(json, value + at, length);
    else if (length == 1)
      put_escaped(json, (unsigned char)value[at]);
    else
      put(json, "\\ufffd", 6);
    at += length ? length : 1;
  }
  put(json, "\"", 1);
}

void tbk_json_text(tbk_json_t* json, const char* key, const char* value) {
  if (value == NULL)
    tbk_json_null(json, key);
  else
    tbk_json_bytes(json, key, value, strlen(value));
}

void tbk_json_unsigned(tbk_json_t* json, const char* key, uint64_t value) {
  char digits[20];
  size_t at = sizeof digits;
  put_key(json, key);
  do {
    digits[--at] = (char)('0' + value % 10);
    value /= 10;
  } while (value != 0);
  put(json, digits + at, sizeof digits - at);
}

void tbk_json_signed(tbk_json_t* json, const char* key, int64_t value) {
  if (value >= 0) {
    tbk_json_unsigned(json, key, (uint64_t)value);
    return;
  }
  put_key(json, key);
  put(json, "-", 1);
  json->comma = false;
  tbk_json_unsigned(json, NULL, -(uint64_t)value);
}

void tbk_json_bool(tbk_json_t* json, const char* key, bool value) {
  put_key(json, key);
  put(json, value ? "true" : "false", value ? 4 : 5);
}

void tbk_json_null(tbk_json_t* json, const char* key) {
  put_key(json, key);
  put(json, "null", 4);
}

void tbk_json_raw(tbk_json_t* json, const char* key, const char* value, size_t size) {
  put_key(json, key);
  put(json, value, size);
}

void tbk_json_end_line(tbk_json_t* json) {
  put(json, "\n", 1);
}
