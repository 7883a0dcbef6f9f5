/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * text.h: strings from a backend are bytes of any kind. What leaves the harness is valid UTF-8, and
 * on a terminal it moves no cursor.
 */
#ifndef TBK_HARNESS_TEXT_H
#define TBK_HARNESS_TEXT_H

#include <stddef.h>

/* Returns the length of the valid UTF-8 sequence at `text`, or 0 where there is none. */
size_t tbk_utf8_length(const char* text, size_t size);

/* Copies with every control character, bidirectional override and invalid byte replaced. */
void tbk_text_for_terminal(char* out, size_t out_size, const char* text);

/* Copies as valid UTF-8; invalid bytes become U+FFFD. Always terminates. */
void tbk_text_valid(char* out, size_t out_size, const char* text);

/* Gives the last line of what was printed that is not blank, safe for a terminal; empty where there is
 * none. What is too long is cut. */
void tbk_text_last_line(char* out, size_t out_size, const char* bytes, size_t size);

/* snprintf that cuts what is too long, and means it. */
void tbk_print(char* out, size_t out_size, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

#endif /* TBK_HARNESS_TEXT_H */
