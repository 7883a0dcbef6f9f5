/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * digest.h: SHA-256, by nettle, as hexadecimal text.
 */
#ifndef TBK_HARNESS_DIGEST_H
#define TBK_HARNESS_DIGEST_H

#include <nettle/sha2.h>

#include <stdbool.h>

#define TBK_DIGEST_SIZE (2 * SHA256_DIGEST_SIZE + 1)

/* Of what `context` has taken so far; the context goes on as if it had not been asked. */
void tbk_digest_text(const struct sha256_ctx* context, char out[TBK_DIGEST_SIZE]);

/* Of a file's bytes; false, and an empty text, where it can't be read, or the run is asked to end meanwhile. */
bool tbk_digest_file(const char* path, char out[TBK_DIGEST_SIZE]);
/* The same of a file that the run has written: it is small, and read whether the run is to end or not. */
bool tbk_digest_own_file(const char* path, char out[TBK_DIGEST_SIZE]);

#endif /* TBK_HARNESS_DIGEST_H */
