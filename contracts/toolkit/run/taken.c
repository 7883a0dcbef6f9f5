/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "taken.h"

#include "resources.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>

/* More than a driver needs; with less, a test that lacks them runs on a machine that has too few. */
enum { MANY_DESCRIPTORS = 1000, MANY_THREADS = 4000 };

static const struct {
  int resource;
  const char* name;
} kinds[] = {{RLIMIT_NOFILE, "RLIMIT_NOFILE"}, {RLIMIT_NPROC, "RLIMIT_NPROC"},
             {RLIMIT_AS, "RLIMIT_AS"},         {RLIMIT_DATA, "RLIMIT_DATA"},
             {RLIMIT_STACK, "RLIMIT_STACK"},   {RLIMIT_FSIZE, "RLIMIT_FSIZE"}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static struct rlimit first[KINDS];
static int first_threads;
static bool noted;

void tbk_taken_note(void) {
  if (noted) return;
  noted = true;
  first_threads = tbk_count_threads();
  for (int i = 0; i < KINDS; i++)
    if (getrlimit(kinds[i].resource, &first[i]) != 0)
      first[i].rlim_cur = 0; /* then nothing was lowered */
}

/* As the kernel hands out the lowest that is free. */
static int descriptors(void) {
  int count = 0;
  for (int file = 0; file < 65536 && count <= MANY_DESCRIPTORS; file++)
    count += fcntl(file, F_GETFD) >= 0;
  return count;
}

bool tbk_taken(char* out, size_t out_size) {
  struct rlimit now;
  if (!noted) return false;
  for (int i = 0; i < KINDS; i++) {
    if (getrlimit(kinds[i].resource, &now) != 0 || now.rlim_cur >= first[i].rlim_cur) continue;
    snprintf(out, out_size, "%s is %llu, and was %llu before the library was loaded", kinds[i].name,
             (unsigned long long)now.rlim_cur, (unsigned long long)first[i].rlim_cur);
    return true;
  }
  int threads = tbk_count_threads() - first_threads;
  if (threads > MANY_THREADS) {
    snprintf(out, out_size, "%d threads run that the library started", threads);
    return true;
  }
  if (descriptors() <= MANY_DESCRIPTORS) return false;
  snprintf(out, out_size, "more than %d descriptors are open in its process", MANY_DESCRIPTORS);
  return true;
}
