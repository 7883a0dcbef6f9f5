/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * publish.c: each line is flushed as it is written, so a full disk is told by the file's error, and by
 * nothing that closing it says.
 */
#include "publish.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* A pipe, or another device, is written to and not replaced. */
static bool is_other_than_a_file(const char* path) {
  struct stat what;
  return stat(path, &what) == 0 && !S_ISREG(what.st_mode);
}

bool publish_begin(publishing_t* results, const char* path) {
  results->path = path;
  results->file = NULL;
  const int length = snprintf(results->aside, sizeof results->aside, "%s.part", path);
  results->is_aside = !is_other_than_a_file(path);
  if (!results->is_aside)
    results->file = fopen(path, "we");
  else if (length > 0 && (size_t)length < sizeof results->aside)
    results->file = fopen(results->aside, "we");
  else
    errno = ENAMETOOLONG;
  return results->file != NULL;
}

static bool close_file(publishing_t* results) {
  const bool failed = ferror(results->file) != 0;
  const bool closed = fclose(results->file) == 0;
  results->file = NULL;
  return closed && !failed;
}

bool publish_end(publishing_t* results) {
  const bool is_whole = close_file(results);
  if (!results->is_aside) return is_whole;
  if (is_whole && rename(results->aside, results->path) == 0) return true;
  unlink(results->aside);
  return false;
}

void publish_nothing(publishing_t* results) {
  if (results->file == NULL) return; /* what stands aside is not of this run, or is gone */
  (void)close_file(results);
  if (results->is_aside) unlink(results->aside);
}
