/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * answer_sure.c: how sure several runs are together, for the one who has their counts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

static bool read_count(char** at, uint64_t* out) {
  char* end;
  *at += strspn(*at, " ");
  if (**at < '0' || **at > '9') return false;
  errno = 0;
  *out = strtoull(*at, &end, 10);
  *at = end;
  return errno == 0;
}

static bool is_at_end(char** at) {
  *at += strspn(*at, " \n");
  return **at == '\0';
}

/* A number takes two characters at least, so that a process takes four. */
static bool answer(char* line, sure_process_t* processes, FILE* output) {
  uint64_t programs;
  size_t count = 0;
  if (!read_count(&line, &programs)) return false;
  for (; !is_at_end(&line); count++)
    if (!read_count(&line, &processes[count].tried) ||
        !read_count(&line, &processes[count].shown) ||
        processes[count].shown > processes[count].tried)
      return false;
  report_sure(output, processes, count, programs);
  return count > 0;
}

bool answer_sure(FILE* input, FILE* output) {
  char* line = NULL;
  size_t size = 0;
  bool good = true;
  for (ssize_t read; good && (read = getline(&line, &size, input)) > 0;) {
    sure_process_t* processes = calloc((size_t)read / 4 + 1, sizeof *processes);
    if (processes == NULL) abort();
    good = answer(line, processes, output);
    free(processes);
  }
  free(line);
  return good;
}
