/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * text.c: UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#include "text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD"

static bool is_continuation(unsigned char byte) {
  return (byte & 0xC0) == 0x80;
}

/* Bounds of the second byte, which rule out overlong forms, surrogates and what is too large. */
static bool second_is_valid(unsigned char first, unsigned char second) {
  switch (first) {
    case 0xE0:
      return second >= 0xA0 && second <= 0xBF;
    case 0xED:
      return second >= 0x80 && second <= 0x9F;
    case 0xF0:
      return second >= 0x90 && second <= 0xBF;
    case 0xF4:
      return second >= 0x80 && second <= 0x8F;
    default:
      return is_continuation(second);
  }
}

size_t tbk_utf8_length(const char* text, size_t size) {
  const unsigned char* bytes = (const unsigned char*)text;
  size_t length = 0;
  if (size == 0) return 0;
  if (bytes[0] < 0x80) return 1;
  if (bytes[0] >= 0xC2 && bytes[0] <= 0xDF)
    length = 2;
  else if (bytes[0] >= 0xE0 && bytes[0] <= 0xEF)
    length = 3;
  else if (bytes[0] >= 0xF0 && bytes[0] <= 0xF4)
    length = 4;
  if (length == 0 || size < length || !second_is_valid(bytes[0], bytes[1])) return 0;
  for (size_t i = 2; i < length; i++)
    if (!is_continuation(bytes[i])) return 0;
  return length;
}

static unsigned decode(const char* text, size_t length) {
  const unsigned char* bytes = (const unsigned char*)text;
  if (length == 2) return (bytes[0] & 0x1Fu) << 6 | (bytes[1] & 0x3Fu);
  if (length == 3) return (bytes[0] & 0x0Fu) << 12 | (bytes[1] & 0x3Fu) << 6 | (bytes[2] & 0x3Fu);
  return length == 1 ? bytes[0] : 0x10000;
}

/* C0, DEL, C1, and the marks that reorder what stands around them. */
static bool moves_the_cursor(unsigned point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x061C || point == 0x200E ||
         point == 0x200F || (point >= 0x2028 && point <= 0x202E) ||
         (point >= 0x2066 && point <= 0x2069) || point == 0xFEFF;
}

static void copy(char* out, size_t out_size, const char* text, bool terminal) {
  size_t size = strlen(text), at = 0, to = 0;
  while (at < size) {
    size_t length = tbk_utf8_length(text + at, size - at);
    const char* piece = text + at;
    size_t piece_size = length;
    at += length ? length : 1;
    if (length == 0) {
      piece = REPLACEMENT;
      piece_size = 3;
    } else if (terminal && moves_the_cursor(decode(piece, length))) {
      piece = " ";
      piece_size = 1;
    }
    if (to + piece_size >= out_size) break;
    memcpy(out + to, piece, piece_size);
    to += piece_size;
  }
  out[to] = '\0';
}

void tbk_text_for_terminal(char* out, size_t out_size, const char* text) {
  copy(out, out_size, text, true);
}

void tbk_text_valid(char* out, size_t out_size, const char* text) {
  copy(out, out_size, text, false);
}

static bool is_blank(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n' || byte == '\0';
}

void tbk_text_last_line(char* out, size_t out_size, const char* bytes, size_t size) {
  char line[1024];
  while (size > 0 && is_blank(bytes[size - 1]))
    size--;
  size_t from = size, kept = 0;
  while (from > 0 && bytes[from - 1] != '\n')
    from--;
  for (; from < size && kept < sizeof line - 1; from++)
    line[kept++] = is_blank(bytes[from]) ? ' ' : bytes[from];
  line[kept] = '\0';
  tbk_text_for_terminal(out, out_size, line);
}

void tbk_print(char* out, size_t out_size, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(out, out_size, format, arguments);
  va_end(arguments);
}
