/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * enough.c: see enough.h. A device may need more than the least that is asked for here, and says so
 * itself when it is opened.
 */
#include "enough.h"

#include "cgroup.h"
#include "text.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAST_THREADS = 64 };

typedef struct limit {
  int resource;
  uint64_t least; /* that a run needs */
  unsigned shift; /* of the unit */
  int signal;     /* of which a process dies that goes beyond; 0: a call fails */
  bool of_memory; /* and that call is one that asks for memory */
  const char *what, *unit, *option;
} limit_t;

static const limit_t table[] = {
    {RLIMIT_NOFILE, 32, 0, 0, false, "open files", "", "-n"},
    {RLIMIT_AS, UINT64_C(256) << 20, 20, 0, true, "address space", " MiB", "-v"},
    {RLIMIT_DATA, UINT64_C(256) << 20, 20, 0, true, "data", " MiB", "-d"},
    {RLIMIT_FSIZE, 0, 10, SIGXFSZ, false, "file size", " KiB", "-f"},
    {RLIMIT_CPU, 0, 0, SIGXCPU, false, "processor time", " s", "-t"},
    {RLIMIT_NPROC, 0, 0, 0, false, "processes", "", "-u"},
};
enum { LIMITS = sizeof table / sizeof *table };

/* What a call says first that had no memory: a status of tbk.h, or exceptions of Python. */
static const char* const no_memory[] = {"OUT_OF_MEMORY", "MemoryError", "torch.OutOfMemoryError"};

static const char own_groups[] = "/proc/self/cgroup", groups_root[] = "/sys/fs/cgroup";

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
  for (size_t i = 0; i < LIMITS; i++) {
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

/* Returns false where there is no such limit. */
static bool put_words(char out[TBK_LIMIT_WORDS], const limit_t* row) {
  struct rlimit limit;
  if (getrlimit((__rlimit_resource_t)row->resource, &limit) != 0) return false;
  if (limit.rlim_cur == RLIM_INFINITY) return false;
  tbk_print(out, TBK_LIMIT_WORDS, "%s %llu%s (ulimit %s)", row->what,
            (unsigned long long)(limit.rlim_cur >> row->shift), row->unit, row->option);
  return true;
}

/* Beyond it the kernel kills somebody. What is no less than the machine has is no limit. */
static bool put_group(char out[TBK_LIMIT_WORDS]) {
  const uint64_t bytes = tbk_cgroup_memory(own_groups, groups_root);
  const uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  if (bytes == 0 || bytes >= all) return false;
  tbk_print(out, TBK_LIMIT_WORDS, "memory %llu MiB (cgroup)", (unsigned long long)(bytes >> 20));
  return true;
}

json_t* tbk_limits_json(void) {
  json_t* found = json_array();
  char words[TBK_LIMIT_WORDS];
  for (size_t i = 0; i < LIMITS; i++)
    if (put_words(words, &table[i])) (void)json_array_append_new(found, json_string(words));
  if (put_group(words)) (void)json_array_append_new(found, json_string(words));
  return found;
}

static bool had_no_memory(const char* seen) {
  for (size_t i = 0; i < sizeof no_memory / sizeof *no_memory; i++)
    if (strncmp(seen, no_memory[i], strlen(no_memory[i])) == 0) return true;
  return false;
}

bool tbk_limit_behind(int signal, const char* seen, char out[TBK_LIMIT_WORDS]) {
  const bool of_memory = signal == 0 && had_no_memory(seen);
  char words[TBK_LIMIT_WORDS];
  out[0] = '\0';
  for (size_t i = 0; i < LIMITS && out[0] == '\0'; i++)
    if ((of_memory && table[i].of_memory) || (signal != 0 && signal == table[i].signal))
      if (put_words(words, &table[i]))
        tbk_print(out, TBK_LIMIT_WORDS, "a limit of the run: %s", words);
  return out[0] != '\0';
}

void tbk_limit_of_memory(char out[TBK_LIMIT_WORDS]) {
  char words[TBK_LIMIT_WORDS];
  const bool limited = put_group(words);
  tbk_print(out, TBK_LIMIT_WORDS, "a limit of the run: %s, the kernel killed a process",
            limited ? words : "memory of the machine");
}

uint64_t tbk_limit_kills(void) {
  return tbk_cgroup_kills(own_groups, groups_root);
}
