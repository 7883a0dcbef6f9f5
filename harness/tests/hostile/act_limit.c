/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * act_limit.c: limits and surroundings that a library changes for the whole process.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "acts.h"

static void limit(int resource, rlim_t most) {
  const struct rlimit both = {most, most};
  setrlimit(resource, &both);
}

void act_no_descriptors(void) {
  limit(RLIMIT_NOFILE, 3);
}

void act_no_file_size(void) {
  limit(RLIMIT_FSIZE, 0);
}

void act_cpu_time_over(void) {
  const struct rlimit both = {1, 1};
  setrlimit(RLIMIT_CPU, &both);
  for (volatile uint64_t turns = 0;; ++turns)
    continue;
}

void act_no_address_space(void) {
  limit(RLIMIT_AS, 1 << 20);
  void* memory = malloc((size_t)64 << 20);
  if (memory == NULL) abort();
  free(memory);
}

void act_closed_output(void) {
  close(STDOUT_FILENO);
  close(STDERR_FILENO);
  puts("nobody hears it");
}

void act_full_output(void) {
  const int full = open("/dev/full", O_WRONLY);
  dup2(full, STDOUT_FILENO);
  dup2(full, STDERR_FILENO);
  puts("nobody hears it");
}

void act_other_folder(void) {
  (void)!chdir("/proc");
}

void act_odd_umask(void) {
  umask(0777);
}

/* Its parent lives on, and what runs there next has them, too. */
void act_parents_limits(void) {
  const struct rlimit few = {3, 3};
  prlimit(getppid(), RLIMIT_NOFILE, &few, NULL);
}

void act_parents_priority(void) {
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  setpriority(PRIO_PROCESS, (id_t)getppid(), 19);
  sched_setaffinity(getppid(), sizeof first, &first);
}
