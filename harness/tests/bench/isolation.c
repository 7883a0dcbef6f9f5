/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk-bench-isolation: what isolation costs, as ratios measured alternately in one run.
 *
 *   tbk-bench-isolation TBK_RUN LIB CLOSED_TEST CHEAP_TEST [ROUNDS]
 *
 * CLOSED_TEST is a test that opens no device (TBK_CASE_CLOSED), so that both sides do the
 * same: load the library, call its entry, exit. CHEAP_TEST is a short test of an open device, which
 * runs many times in one process. Prints one JSON object.
 */
#include "clock.h"
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TESTS = 500, BATCH_TESTS = 100000, ROUNDS = 5, ROUNDS_MOST = 99 };

static int compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare);
  return values[count / 2];
}

/* What something took: by the clock, and of all processors together. */
typedef struct cost {
  double wall_ns, cpu_ns;
} cost_t;

static double used_ns(int who) {
  struct rusage usage;
  (void)getrusage(who, &usage);
  return ((double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec) * 1e9 +
         ((double)usage.ru_utime.tv_usec + (double)usage.ru_stime.tv_usec) * 1e3;
}

static double used_by_all_ns(void) {
  return used_ns(RUSAGE_SELF) + used_ns(RUSAGE_CHILDREN);
}

static _Noreturn void load_and_exit(const char* path) {
  tbk_session_t session = {0};
  if (tbk_library_open(&session.library, path, NULL) != TBK_LOAD_OK ||
      tbk_library_create(&session.library) != TBK_LOAD_OK)
    _exit(EXIT_FAILURE);
  exit(EXIT_SUCCESS);
}

static void wait_for(pid_t child, const char* what) {
  int status = 0;
  if (child > 0 && waitpid(child, &status, 0) == child && status == 0) return;
  (void)fprintf(stderr, "%s fails\n", what);
  exit(EXIT_FAILURE);
}

/* fork + dlopen + entry + exit + wait, TESTS times; of one. */
static cost_t bare_loop(const char* path) {
  double used = used_by_all_ns();
  uint64_t started = tbk_now_ns();
  for (int i = 0; i < TESTS; i++) {
    pid_t child = fork();
    if (child == 0) load_and_exit(path);
    wait_for(child, path);
  }
  return (cost_t){(double)(tbk_now_ns() - started) / TESTS, (used_by_all_ns() - used) / TESTS};
}

static cost_t run(char* const* argv) {
  double used = used_by_all_ns();
  uint64_t started = tbk_now_ns();
  pid_t child = fork();
  if (child == 0) {
    (void)freopen("/dev/null", "w", stdout);
    (void)execv(argv[0], argv);
    _exit(127);
  }
  wait_for(child, argv[0]);
  return (cost_t){(double)(tbk_now_ns() - started), used_by_all_ns() - used};
}

/* Of one test, without what a run of one test takes. */
static cost_t tests_cost(char* tool, char* library, char* test, const char* isolation, int count) {
  char results[] = "/tmp/tbk-bench-XXXXXX", mode[64], selection[256], output[64], repeat[32];
  int fd = mkstemp(results);
  if (fd < 0) exit(EXIT_FAILURE);
  (void)close(fd);
  (void)snprintf(mode, sizeof mode, "--isolation=%s", isolation);
  (void)snprintf(selection, sizeof selection, "--only=%s", test);
  (void)snprintf(output, sizeof output, "--output=%s", results);
  (void)snprintf(repeat, sizeof repeat, "--repeat=%d", count);
  char jobs[] = "--jobs=1", quiet[] = "--quiet";
  char* const argv[] = {tool, library, selection, jobs, mode, output, quiet, repeat, NULL};
  cost_t many = run(argv);
  (void)snprintf(repeat, sizeof repeat, "--repeat=1");
  cost_t one = run(argv);
  (void)unlink(results);
  return (cost_t){(many.wall_ns - one.wall_ns) / (count - 1),
                  (many.cpu_ns - one.cpu_ns) / (count - 1)};
}

int main(int argc, char** argv) {
  double bare[ROUNDS_MOST], forked[ROUNDS_MOST], ratio[ROUNDS_MOST], cpu_ratio[ROUNDS_MOST];
  double wall_rate[ROUNDS_MOST], cpu_rate[ROUNDS_MOST];
  int rounds = argc > 5 ? atoi(argv[5]) : ROUNDS;
  if (argc < 5 || rounds < 1 || rounds > ROUNDS_MOST) {
    (void)fprintf(stderr, "usage: %s TBK_RUN LIB CLOSED_TEST CHEAP_TEST [ROUNDS]\n", argv[0]);
    return 2;
  }
  for (int i = 0; i < rounds; i++) {
    cost_t before = bare_loop(argv[2]);
    cost_t fork_cost = tests_cost(argv[1], argv[2], argv[3], "fork", TESTS);
    cost_t after = bare_loop(argv[2]);
    cost_t batch_cost = tests_cost(argv[1], argv[2], argv[4], "batch", BATCH_TESTS);
    bare[i] = (before.wall_ns + after.wall_ns) / 2;
    forked[i] = fork_cost.wall_ns;
    ratio[i] = forked[i] / bare[i];
    cpu_ratio[i] = fork_cost.cpu_ns / ((before.cpu_ns + after.cpu_ns) / 2);
    wall_rate[i] = 1e9 / batch_cost.wall_ns;
    cpu_rate[i] = 1e9 / batch_cost.cpu_ns;
  }
  printf(
      "{\"rounds\":%d,\"bare_ns\":%.0f,\"fork_ns\":%.0f,\"fork_ratio\":%.3f,"
      "\"fork_cpu_ratio\":%.3f,\"batch_tests_per_second\":%.0f,"
      "\"batch_tests_per_second_and_core\":%.0f}\n",
      rounds, median(bare, rounds), median(forked, rounds), median(ratio, rounds),
      median(cpu_ratio, rounds), median(wall_rate, rounds), median(cpu_rate, rounds));
  return 0;
}
