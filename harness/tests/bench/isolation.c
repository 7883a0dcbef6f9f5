/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk-bench-isolation: what isolation costs, as ratios measured alternately in one run.
 *
 *   tbk-bench-isolation LIB...
 *
 * A forked test is compared with a bare loop that does what it can't do without: load the library,
 * call its entry, exit. So the test is one that opens no device. In one process a short test of an
 * open device runs many times. Prints one JSON object for each library:
 *
 *   fork_ratio            time from one verdict to the next with one job, against one bare loop
 *   fork_all_cores_ratio  the same with a job for each core, against a bare loop on each core
 *   fork_cpu_ratio        processor time of all processes; of tests_per_second_and_core too
 *   load                  what else the machine did: 1-minute averages before and after
 */
#include "clock.h"
#include "contract.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TESTS = 500, BATCH_TESTS = 100000, ROUNDS = 5, MOST_CORES = 64 };

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
  const tbk_host_t host = {.struct_size = sizeof host, .abi_version = TBK_ABI_VERSION};
  const tbk_backend_t* backend = NULL;
  tbk_error_t error = {""};
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* symbol = library != NULL ? dlsym(library, TBK_ENTRY_SYMBOL) : NULL;
  tbk_backend_create_fn create;
  if (symbol == NULL) _exit(EXIT_FAILURE);
  memcpy(&create, &symbol, sizeof symbol);
  if (create(&host, &backend, &error) != TBK_OK) _exit(EXIT_FAILURE);
  exit(EXIT_SUCCESS);
}

static void wait_for(pid_t child, const char* what) {
  int status = 0;
  if (child > 0 && waitpid(child, &status, 0) == child && status == 0) return;
  (void)fprintf(stderr, "%s fails\n", what);
  exit(EXIT_FAILURE);
}

static void loop_bare(const char* path) {
  for (int i = 0; i < TESTS; i++) {
    pid_t child = fork();
    if (child == 0) load_and_exit(path);
    wait_for(child, path);
  }
}

/* fork + dlopen + entry + exit + wait, TESTS times; of one. */
static cost_t bare_loop(const char* path) {
  double used = used_by_all_ns();
  uint64_t started = tbk_now_ns();
  loop_bare(path);
  return (cost_t){(double)(tbk_now_ns() - started) / TESTS, (used_by_all_ns() - used) / TESTS};
}

/* The same on each of `cores` at once; of one. */
static double bare_loops_ns(const char* path, int cores) {
  pid_t loops[MOST_CORES];
  uint64_t started = tbk_now_ns();
  for (int i = 0; i < cores; i++) {
    loops[i] = fork();
    if (loops[i] == 0) {
      loop_bare(path);
      _exit(EXIT_SUCCESS);
    }
  }
  for (int i = 0; i < cores; i++)
    wait_for(loops[i], path);
  return (double)(tbk_now_ns() - started) / TESTS / cores;
}

static cost_t run(char* const* argv) {
  double used = used_by_all_ns();
  uint64_t started = tbk_now_ns();
  pid_t child = fork();
  if (child == 0) {
    (void)!freopen("/dev/null", "w", stdout);
    (void)execv(argv[0], argv);
    _exit(127);
  }
  wait_for(child, argv[0]);
  return (cost_t){(double)(tbk_now_ns() - started), used_by_all_ns() - used};
}

/* Of one test, without what a run of one test takes. */
static cost_t tests_cost(char* tool, char* library, char* test, const char* isolation, int jobs,
                         int count) {
  char results[] = "/tmp/tbk-bench-XXXXXX", mode[64], selection[256], output[64], repeat[32];
  char at_once[32], quiet[] = "--quiet";
  int fd = mkstemp(results);
  if (fd < 0) exit(EXIT_FAILURE);
  (void)close(fd);
  (void)snprintf(mode, sizeof mode, "--isolation=%s", isolation);
  (void)snprintf(selection, sizeof selection, "--only=%s", test);
  (void)snprintf(output, sizeof output, "--output=%s", results);
  (void)snprintf(repeat, sizeof repeat, "--repeat=%d", count);
  (void)snprintf(at_once, sizeof at_once, "--jobs=%d", jobs);
  char* const argv[] = {tool, library, selection, at_once, mode, output, quiet, repeat, NULL};
  cost_t many = run(argv);
  (void)snprintf(repeat, sizeof repeat, "--repeat=1");
  cost_t one = run(argv);
  (void)unlink(results);
  return (cost_t){(many.wall_ns - one.wall_ns) / (count - 1),
                  (many.cpu_ns - one.cpu_ns) / (count - 1)};
}

/* The launcher's dirty memory in KiB, seen while `supervisor` has one; 0 where it is too late. */
static long launcher_dirty_kib(pid_t supervisor) {
  char path[96], line[256];
  long launcher = 0, sum = 0, value = 0;
  (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)supervisor, (int)supervisor);
  FILE* file = fopen(path, "re");
  if (file == NULL || fscanf(file, "%ld", &launcher) != 1) launcher = 0;
  if (file != NULL) (void)fclose(file);
  (void)snprintf(path, sizeof path, "/proc/%ld/smaps_rollup", launcher);
  file = launcher != 0 ? fopen(path, "re") : NULL;
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "Private_Dirty: %ld", &value) == 1 ||
        sscanf(line, "Shared_Dirty: %ld", &value) == 1)
      sum += value;
  if (file != NULL) (void)fclose(file);
  return sum;
}

/* The whole suite once; seconds, and the most that the first launcher had dirty meanwhile. */
static double whole_suite(char* tool, char* library, long* out_dirty_kib) {
  char output[] = "--output=/dev/null", quiet[] = "--quiet";
  char* const argv[] = {tool, library, output, quiet, NULL};
  int status = 0;
  uint64_t started = tbk_now_ns();
  pid_t child = fork();
  if (child == 0) {
    (void)!freopen("/dev/null", "w", stdout);
    (void)execv(argv[0], argv);
    _exit(127);
  }
  while (child > 0 && waitpid(child, &status, WNOHANG) == 0) {
    long dirty = launcher_dirty_kib(child);
    if (dirty > *out_dirty_kib) *out_dirty_kib = dirty;
    (void)usleep(20000);
  }
  if (child < 0 || status != 0) (void)fprintf(stderr, "%s: the suite does not pass\n", library);
  return (double)(tbk_now_ns() - started) / 1e9;
}

static int core_count(void) {
  cpu_set_t set;
  int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return count < MOST_CORES ? count : MOST_CORES;
}

/* What is measured in each round. */
enum { BARE, FORK, RATIO, ALL_CORES_RATIO, CPU_RATIO, RATE, CORE_RATE, SUITE, FIGURES };

static void measure_forks(char* tool, char* library, int cores, double* out) {
  static char closed_test[] = "device/a_missing_place_for_the_count_is_refused";
  cost_t before = bare_loop(library);
  cost_t forked = tests_cost(tool, library, closed_test, "fork", 1, TESTS);
  cost_t after = bare_loop(library);
  double all_before = bare_loops_ns(library, cores);
  cost_t all = tests_cost(tool, library, closed_test, "fork", cores, TESTS * cores);
  double all_after = bare_loops_ns(library, cores);
  out[BARE] = (before.wall_ns + after.wall_ns) / 2;
  out[FORK] = forked.wall_ns;
  out[RATIO] = forked.wall_ns / out[BARE];
  out[ALL_CORES_RATIO] = all.wall_ns / ((all_before + all_after) / 2);
  out[CPU_RATIO] = forked.cpu_ns / ((before.cpu_ns + after.cpu_ns) / 2);
}

static void measure(char* tool, char* library) {
  static char cheap_test[] = "memory_refusal/a_failed_allocation_leaves_the_result_alone";
  double seen[FIGURES][ROUNDS], of_round[FIGURES], load_before = 0, load_after = 0;
  const int cores = core_count();
  long dirty_kib = 0;
  (void)getloadavg(&load_before, 1);
  for (int i = 0; i < ROUNDS; i++) {
    measure_forks(tool, library, cores, of_round);
    cost_t batch = tests_cost(tool, library, cheap_test, "batch", 1, BATCH_TESTS);
    of_round[RATE] = 1e9 / batch.wall_ns;
    of_round[CORE_RATE] = 1e9 / batch.cpu_ns;
    of_round[SUITE] = whole_suite(tool, library, &dirty_kib);
    for (int figure = 0; figure < FIGURES; figure++)
      seen[figure][i] = of_round[figure];
  }
  (void)getloadavg(&load_after, 1);
  printf(
      "{\"library\":\"%s\",\"rounds\":%d,\"cores\":%d,\"bare_ns\":%.0f,\"fork_ns\":%.0f,"
      "\"fork_ratio\":%.3f,\"fork_all_cores_ratio\":%.3f,\"fork_cpu_ratio\":%.3f,",
      library, ROUNDS, cores, median(seen[BARE], ROUNDS), median(seen[FORK], ROUNDS),
      median(seen[RATIO], ROUNDS), median(seen[ALL_CORES_RATIO], ROUNDS),
      median(seen[CPU_RATIO], ROUNDS));
  printf(
      "\"batch_tests_per_second\":%.0f,\"batch_tests_per_second_and_core\":%.0f,"
      "\"suite_seconds\":%.2f,\"launcher_dirty_kib\":%ld,\"load\":[%.1f,%.1f]}\n",
      median(seen[RATE], ROUNDS), median(seen[CORE_RATE], ROUNDS), median(seen[SUITE], ROUNDS),
      dirty_kib, load_before, load_after);
  (void)fflush(stdout);
}

int main(int argc, char** argv) {
  char tool[4096];
  ssize_t size = readlink("/proc/self/exe", tool, sizeof tool - sizeof "tbk-run");
  if (argc < 2 || size <= 0) {
    (void)fprintf(stderr, "usage: %s LIB...\n", argv[0]);
    return 2;
  }
  tool[size] = '\0';
  (void)strcpy(strrchr(tool, '/') + 1, "tbk-run"); /* it stands beside this program */
  for (int i = 1; i < argc; i++)
    measure(tool, argv[i]);
  return 0;
}
