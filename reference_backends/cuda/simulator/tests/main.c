/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * main.c: opens the simulator whose path is the only argument, and runs all tests; with --sites,
 * once for each place where a rule is found broken, which is switched off meanwhile.
 */
#include <cunit_run.h>
#include <dlfcn.h>
#include <simkit/sites.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "selftest.h"

cuda_driver_t cu;
int (*cu_broken)(void);
bool cu_tried[64];
static void* library;

void* cu_symbol(const char* name) {
  return dlsym(library, name);
}

static void look_up(const char* symbol, void* out_function, size_t size) {
  void* address = cu_symbol(symbol);
  memcpy(out_function, &address, size);
  if (address != NULL) return;
  fprintf(stderr, "no %s in the simulator\n", symbol);
  exit(EXIT_FAILURE);
}

void cu_load(const char* path, const char* options) {
  setenv("TBK_CUDA_SIMULATOR", options, 1);
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(EXIT_FAILURE);
  }
#define CU_LOOK_UP(member, symbol, parameters) look_up(symbol, &cu.member, sizeof cu.member);
  CUDA_DRIVER_MAP(CU_LOOK_UP)
#undef CU_LOOK_UP
  look_up("tbk_simulator_broken", &cu_broken, sizeof cu_broken);
}

static char log_path[] = "/tmp/tbk-cuda-log-XXXXXX";
static int log_file;

void cu_begin_log(void) {
  strcpy(log_path + strlen(log_path) - 6, "XXXXXX");
  log_file = mkstemp(log_path);
  CU_ASSERT_TRUE_FATAL(log_file >= 0);
  setenv("TBK_CUDA_SIMULATOR_LOG", log_path, 1);
}

bool cu_end_log(sim_rule_t rule) {
  char said[512] = "", name[24];
  unsetenv("TBK_CUDA_SIMULATOR_LOG");
  const bool any = read(log_file, said, sizeof said - 1) > 0;
  snprintf(name, sizeof name, "SIM-CUDA-%03d", (int)rule);
  cu_tried[rule] = true;
  close(log_file);
  unlink(log_path);
  return any && strstr(said, name) != NULL;
}

cu_context cu_enter(int device) {
  cu_context context = NULL;
  CU_ASSERT_EQUAL_FATAL(cu.primary_retain(&context, device), CU_OK);
  CU_ASSERT_EQUAL_FATAL(cu.context_push(context), CU_OK);
  return context;
}

void cu_leave(int device) {
  cu_context popped;
  CU_ASSERT_EQUAL(cu.context_pop(&popped), CU_OK);
  CU_ASSERT_EQUAL(cu.primary_release(device), CU_OK);
}

#define NUMBER_OF_RULE(name, number, class, answer, source, sentence) (number),
static const int rules[] = {SIM_RULES(NUMBER_OF_RULE)};
#undef NUMBER_OF_RULE
enum { RULES = sizeof rules / sizeof *rules };

static void each_rule_was_broken(void) {
#define EXPECT_TRIED(name, number, class, answer, source, sentence) \
  CU_ASSERT_TRUE(cu_tried[number]);
  SIM_RULES(EXPECT_TRIED)
#undef EXPECT_TRIED
}

static CU_TestInfo end_tests[] = {{"each rule was broken", each_rule_was_broken},
                                  CU_TEST_INFO_NULL};

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "--sites") == 0)
    return sim_judge_sites(argv[0], argv[2], "CUDA", "SIM-CUDA", RULES) ? EXIT_SUCCESS
                                                                        : EXIT_FAILURE;
  CU_SuiteInfo suites[] = {{"rules", NULL, NULL, NULL, NULL, cu_rule_tests},
                           {"launch", NULL, NULL, NULL, NULL, cu_launch_tests},
                           {"cublas", NULL, NULL, NULL, NULL, cu_cublas_tests},
                           {"work", NULL, NULL, NULL, NULL, cu_work_tests},
                           {"death", NULL, NULL, NULL, NULL, cu_death_tests},
                           {"death by cublas", NULL, NULL, NULL, NULL, cu_cublas_death_tests},
                           {"end", NULL, NULL, NULL, NULL, end_tests},
                           CU_SUITE_INFO_NULL};
  if (argc != 2) return EXIT_FAILURE;
  cu_load(argv[1], "report=answer,fault_at=1000,devices=4");
  return cunit_run(suites);
}
