/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * options.c: "library=PATH,memory=BYTES", and the environment's TBK_OPENCL_LIBRARY.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl.h"

static bool parse_path(const char* text, size_t length, opencl_options_t* options) {
  if (length >= sizeof options->library) return false;
  memcpy(options->library, text, length);
  options->library[length] = '\0';
  return true;
}

/* A number with K, M or G behind it, or none; at least what a host may rely on. */
static bool parse_size(const char* text, size_t length, uint64_t* out_bytes) {
  if (*text < '0' || *text > '9') return false;
  char* end;
  errno = 0;
  uint64_t value = strtoull(text, &end, 10);
  static const char suffixes[] = "KMG";
  const char* suffix = end < text + length ? strchr(suffixes, *end) : NULL;
  const unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
  if (errno || end + (suffix != NULL) != text + length || value > UINT64_MAX >> shift) return false;
  *out_bytes = value << shift;
  return *out_bytes >= UINT64_C(16) << 20;
}

static bool parse_one(const char* item, size_t length, opencl_options_t* options) {
  if (length > 8 && strncmp(item, "library=", 8) == 0)
    return parse_path(item + 8, length - 8, options);
  return length > 7 && strncmp(item, "memory=", 7) == 0 &&
         parse_size(item + 7, length - 7, &options->memory);
}

tbk_status_t opencl_options_parse(opencl_options_t* options, const char* text, tbk_error_t* error) {
  const char* stated = getenv("TBK_OPENCL_LIBRARY");
  *options = (opencl_options_t){0};
  snprintf(options->library, sizeof options->library, "%s",
           stated && *stated ? stated : "libOpenCL.so.1");
  while (text != NULL && *text != '\0') {
    const size_t length = strcspn(text, ",");
    if (!parse_one(text, length, options))
      return opencl_fail(error, TBK_INVALID,
                         "option '%.*s': the keys are library=PATH and memory=BYTES, 16M or more",
                         length > 80 ? 80 : (int)length, text);
    text += length + (text[length] == ',');
  }
  return TBK_OK;
}
