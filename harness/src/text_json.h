/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * text_json.h: text of any bytes as JSON.
 */
#ifndef TBK_HARNESS_TEXT_JSON_H
#define TBK_HARNESS_TEXT_JSON_H

#include <jansson.h>

/* Returns null for NULL. */
json_t* tbk_text_json(const char* value);
json_t* tbk_texts_json(const char* const* items, size_t count);

#endif /* TBK_HARNESS_TEXT_JSON_H */
