/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

FILE* tbk_open_regular(const char* path) {
  struct stat status;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return NULL;
  const bool regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  FILE* file = regular ? fdopen(fd, "rb") : NULL;
  if (file != NULL) return file;
  (void)close(fd);
  if (!regular) errno = EBADF;
  return NULL;
}
