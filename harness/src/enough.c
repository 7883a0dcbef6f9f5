/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * enough.c: see enough.h. A device may need more than the least that is asked for here, and says so
 * itself when it is opened.
 */
#include "enough.h"

#include "text.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAST_THREADS = 64 };

static const struct {
  int resource;
  uint64_t least;
  unsigned shift; /* of the unit */
  const char *what, *unit, *option;
} table[] = {
    {RLIMIT_NOFILE, 32, 0, "open files", "", "-n"},
    {RLIMIT_AS, UINT64_C(256) << 20, 20, "address space", " MiB", "-v"},
    {RLIMIT_DATA, UINT64_C(256) << 20, 20, "data", " MiB", "-d"},
};

static void* wait_for_ever(void* argument) {
  for (;;)
    pause();
  return argument;
}

/* The limit counts what the user runs elsewhere too, and may not hold at all: so it is tried. */
static int threads_to_be_had(void) {
  int status = 0, count = 0;
  const pid_t child = fork();
  if (child < 0) return 0;
  if (child == 0) {
    pthread_t thread;
    pthread_attr_t small;
    (void)pthread_attr_init(&small);
    (void)pthread_attr_setstacksize(&small, 65536);
    while (count < LEAST_THREADS && pthread_create(&thread, &small, wait_for_ever, NULL) == 0)
      count++;
    _exit(count);
  }
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

bool tbk_limits_lack(char* out, size_t out_size) {
  struct rlimit limit;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (getrlimit(table[i].resource, &limit) != 0 || limit.rlim_cur >= table[i].least) continue;
    tbk_print(out, out_size, "the limit of %s is %llu%s (ulimit %s), and a run needs %llu%s",
              table[i].what, (unsigned long long)(limit.rlim_cur >> table[i].shift), table[i].unit,
              table[i].option, (unsigned long long)(table[i].least >> table[i].shift),
              table[i].unit);
    return true;
  }
  if (getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  const int threads = threads_to_be_had();
  if (threads >= LEAST_THREADS) return false;
  tbk_print(out, out_size,
            "the limit of processes (ulimit -u) leaves room for %d more, and a run needs %d",
            threads, LEAST_THREADS);
  return true;
}
