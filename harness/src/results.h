/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * results.h: the result file. Lines are appended and never changed; each is on its way to the disk
 * before the next test is looked at. What can't be written whole is cut off again.
 */
#ifndef TBK_HARNESS_RESULTS_H
#define TBK_HARNESS_RESULTS_H

#include "digest.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tbk_results {
  const char* path;
  int fd;
  bool regular; /* a file that can be cut; not a pipe or a device */
  uint64_t size;
  struct sha256_ctx digest; /* of all bytes so far */
  char* pending;            /* whole lines, not yet written */
  size_t pending_size, pending_capacity;
  int error; /* errno of the write that failed; 0: none has */
} tbk_results_t;

/* Opens and locks the file, and empties it unless `keep`. False, with errno. */
bool tbk_results_open(tbk_results_t* results, const char* path, bool keep);
/*
 * Goes on after the `size` bytes of `lines`. The file begins with them, and is cut off there; or, if
 * `scattered`, it is replaced as a whole: whatever happens, the old file is there, or the new one.
 * False, with errno.
 */
bool tbk_results_continue(tbk_results_t* results, const char* lines, size_t size, bool scattered);
void tbk_results_add(tbk_results_t* results, const char* line, size_t size);
/* Writes what is pending. False once anything failed; nothing is written after that. */
bool tbk_results_flush(tbk_results_t* results);
/* Returns false where the last bytes could not be written. */
bool tbk_results_close(tbk_results_t* results);

#endif /* TBK_HARNESS_RESULTS_H */
