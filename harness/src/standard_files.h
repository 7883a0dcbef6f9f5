/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * standard_files.h: who is started without standard output or error would print into the file that is
 * opened next.
 */
#ifndef TBK_HARNESS_STANDARD_FILES_H
#define TBK_HARNESS_STANDARD_FILES_H

#include <fcntl.h>
#include <unistd.h>

static inline void tbk_standard_files_open(void) {
  int file = open("/dev/null", O_RDWR);
  while (file >= 0 && file <= STDERR_FILENO)
    file = open("/dev/null", O_RDWR);
  if (file > STDERR_FILENO) (void)close(file);
}

#endif /* TBK_HARNESS_STANDARD_FILES_H */
