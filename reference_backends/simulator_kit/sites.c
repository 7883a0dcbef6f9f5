/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sites.c: one place after the other is switched off, in a process of its own.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <simkit/sites.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RULES = 256, DEADLINE_S = 20, NO_SITE = 1 << 30 };

/* As in a simulator that is built with its sites. */
typedef struct site {
  int rule;
  int line;
  const char* file;
} site_t;

static void run_without(const char* program, const char* path, const char* name, size_t number) {
  char variable[64], off[24];
  snprintf(variable, sizeof variable, "TBK_%s_SIMULATOR_OFF", name);
  snprintf(off, sizeof off, "%zu", number);
  setenv(variable, off, 1);
  const int nowhere = open("/dev/null", O_WRONLY);
  if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0) return;
  alarm(DEADLINE_S); /* what is not refused may wait for ever */
  execl(program, program, path, NULL);
}

/* Whether the program notices that place `number` is switched off. */
static bool is_noticed(const char* program, const char* path, const char* name, size_t number) {
  int status = 0;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    run_without(program, path, name, number);
    _exit(0); /* not run: not noticed */
  }
  return waitpid(child, &status, 0) == child && status != 0;
}

bool sim_judge_sites(const char* program, const char* path, const char* name, const char* prefix,
                     int rules) {
  const site_t* (*site_of)(size_t) = NULL;
  bool has_site[RULES] = {false};
  size_t noticed = 0, count = 0, lacking = 0;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* address = library != NULL ? dlsym(library, "tbk_simulator_site") : NULL;
  if (address == NULL || rules >= RULES) return false;
  memcpy(&site_of, &address, sizeof site_of);
  if (is_noticed(program, path, name, NO_SITE)) {
    printf("the tests fail with nothing switched off\n");
    return false;
  }
  for (const site_t* site; (site = site_of(count)) != NULL; count++) {
    has_site[site->rule] = true;
    bool seen = is_noticed(program, path, name, count);
    noticed += seen;
    if (seen) continue;
    printf("%s-%03d: not missed at %s:%d\n", prefix, site->rule, site->file, site->line);
  }
  for (int rule = 1; rule <= rules; rule++) {
    lacking += !has_site[rule];
    if (!has_site[rule]) printf("%s-%03d: is nowhere found broken\n", prefix, rule);
  }
  printf("%zu of %zu places noticed\n", noticed, count);
  return noticed == count && count > 0 && lacking == 0;
}
