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

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TESTS = 1000, BATCH_TESTS = 200000, ROUNDS = 5, ROUNDS_MOST = 99 };

static int compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare);
  return values[count / 2];
}

/* fork + dlopen + entry + exit + wait, TESTS times; nanoseconds of one. */
static double bare_loop(const char* path) {
  uint64_t started = tbk_now_ns();
  for (int i = 0; i < TESTS; i++) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
      tbk_session_t session = {0};
      if (tbk_library_open(&session.library, path, NULL) != TBK_LOAD_OK ||
          tbk_library_create(&session.library) != TBK_LOAD_OK)
        _exit(1);
      exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
      (void)fprintf(stderr, "%s: does not load\n", path);
      exit(1);
    }
  }
  return (double)(tbk_now_ns() - started) / TESTS;
}

/* Seconds of the run alone, as its footer has them. */
static double seconds_of(const char* results) {
  char* line = NULL;
  size_t capacity = 0;
  double seconds = 0;
  FILE* file = fopen(results, "re");
  while (file != NULL && getline(&line, &capacity, file) > 0) {
    if (strstr(line, "\"record\":\"footer\"") == NULL) continue;
    json_t* footer = json_loads(line, 0, NULL);
    if (json_integer_value(json_object_get(footer, "exit_code")) == 0)
      seconds = (double)json_integer_value(json_object_get(footer, "duration_ns")) / 1e9;
    json_decref(footer);
  }
  free(line);
  if (file != NULL) (void)fclose(file);
  return seconds;
}

static double run(char* const* argv, const char* results) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    (void)execv(argv[0], argv);
    _exit(127);
  }
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
    (void)fprintf(stderr, "%s fails\n", argv[0]);
    exit(1);
  }
  return seconds_of(results);
}

/* Nanoseconds of one test, without what a run of one test takes. */
static double tests_cost(const char* tool, const char* library, const char* test,
                         const char* isolation, int count) {
  char results[] = "/tmp/tbk-bench-XXXXXX", repeat[16];
  int fd = mkstemp(results);
  if (fd < 0) exit(1);
  (void)close(fd);
  (void)snprintf(repeat, sizeof repeat, "%d", count);
  char* const argv[] = {(char*)(uintptr_t)tool,
                        (char*)(uintptr_t)library,
                        (char*)(uintptr_t) "--only",
                        (char*)(uintptr_t)test,
                        (char*)(uintptr_t) "--jobs",
                        (char*)(uintptr_t) "1",
                        (char*)(uintptr_t) "--isolation",
                        (char*)(uintptr_t)isolation,
                        (char*)(uintptr_t) "--output",
                        results,
                        (char*)(uintptr_t) "--quiet",
                        (char*)(uintptr_t) "--repeat",
                        repeat,
                        NULL};
  double many = run(argv, results);
  argv[12][0] = '1';
  argv[12][1] = '\0';
  double one = run(argv, results);
  (void)unlink(results);
  return (many - one) * 1e9 / (count - 1);
}

int main(int argc, char** argv) {
  double ratios[ROUNDS_MOST], bare[ROUNDS_MOST], forked[ROUNDS_MOST], rate[ROUNDS_MOST];
  int rounds = argc > 5 ? atoi(argv[5]) : ROUNDS;
  if (argc < 5 || rounds < 1 || rounds > ROUNDS_MOST) {
    (void)fprintf(stderr, "usage: %s TBK_RUN LIB CLOSED_TEST CHEAP_TEST [ROUNDS]\n", argv[0]);
    return 2;
  }
  for (int i = 0; i < rounds; i++) {
    double before = bare_loop(argv[2]);
    forked[i] = tests_cost(argv[1], argv[2], argv[3], "fork", TESTS);
    bare[i] = (before + bare_loop(argv[2])) / 2;
    ratios[i] = forked[i] / bare[i];
    rate[i] = 1e9 / tests_cost(argv[1], argv[2], argv[4], "batch", BATCH_TESTS);
  }
  printf(
      "{\"rounds\":%d,\"bare_ns\":%.0f,\"fork_ns\":%.0f,\"fork_ratio\":%.3f,"
      "\"batch_tests_per_second\":%.0f}\n",
      rounds, median(bare, rounds), median(forked, rounds), median(ratios, rounds),
      median(rate, rounds));
  return 0;
}
