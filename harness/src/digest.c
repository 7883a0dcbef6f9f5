/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * digest.c: see digest.h.
 */
#include "digest.h"
#include "text.h"

#include <stdio.h>

void tbk_digest_text(const struct sha256_ctx* context, char out[TBK_DIGEST_SIZE]) {
  struct sha256_ctx copy = *context;
  uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_digest(&copy, sizeof digest, digest);
  for (size_t i = 0; i < sizeof digest; i++)
    tbk_print(out + 2 * i, 3, "%02x", digest[i]);
}

bool tbk_digest_file(const char* path, char out[TBK_DIGEST_SIZE]) {
  struct sha256_ctx context;
  uint8_t block[16384];
  size_t got;
  out[0] = '\0';
  FILE* file = fopen(path, "rbe");
  if (file == NULL) return false;
  sha256_init(&context);
  while ((got = fread(block, 1, sizeof block, file)) > 0)
    sha256_update(&context, got, block);
  bool whole = !ferror(file);
  (void)fclose(file);
  if (whole) tbk_digest_text(&context, out);
  return whole;
}
