/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * main.c: opens the simulator whose path is the only argument, and runs all tests; with --sites,
 * once for each place where a rule is found broken, which is switched off meanwhile.
 */
#include <CUnit/Basic.h>
#include <dlfcn.h>
#include <simkit/sites.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "selftest.h"

acl_runtime_t acl;
acl_operators_t handles;
operators_t nn;
int (*acl_broken)(void);
bool acl_tried[128];

static void look_up(void* library, const char* symbol, void* out_function, size_t size) {
  void* address = dlsym(library, symbol);
  memcpy(out_function, &address, size);
  if (address != NULL) return;
  fprintf(stderr, "no %s in the simulator\n", symbol);
  exit(EXIT_FAILURE);
}

static void load(const char* path, const char* options) {
  setenv("TBK_NPU_SIMULATOR", options, 1);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(EXIT_FAILURE);
  }
#define LOOK_UP(member, symbol, need, page, result, parameters) \
  look_up(library, symbol, &acl.member, sizeof acl.member);
  ACL_RUNTIME_MAP(LOOK_UP)
#undef LOOK_UP
#define LOOK_UP(member, symbol, need, page, result, parameters) \
  look_up(library, symbol, &handles.member, sizeof handles.member);
  ACL_HANDLE_MAP(LOOK_UP)
#undef LOOK_UP
#define LOOK_UP(member, name, page, ...)                                                \
  look_up(library, ACL_PHASE_ONE_SYMBOL(name), &nn.member.plan, sizeof nn.member.plan); \
  look_up(library, ACL_PHASE_TWO_SYMBOL(name), &nn.member.issue, sizeof nn.member.issue);
  ACL_OPERATOR_MAP(LOOK_UP)
#undef LOOK_UP
  look_up(library, "tbk_simulator_broken", &acl_broken, sizeof acl_broken);
}

void acl_enter(int device) {
  CU_ASSERT_EQUAL_FATAL(acl.set_device(device), ACL_OK);
}

void acl_leave(int device) {
  OK(acl.reset_device(device));
}

bool acl_logs(const char* text, void (*act)(void* argument), void* argument) {
  char path[] = "/tmp/tbk-npu-log-XXXXXX", log[4096] = "";
  int file = mkstemp(path);
  CU_ASSERT_TRUE_FATAL(file >= 0);
  setenv("TBK_NPU_SIMULATOR_LOG", path, 1);
  act(argument);
  unsetenv("TBK_NPU_SIMULATOR_LOG");
  ssize_t size = read(file, log, sizeof log - 1);
  close(file);
  unlink(path);
  return size > 0 && strstr(log, text) != NULL;
}

#define NUMBER_OF_RULE(name, number, class, answer, source, sentence) (number),
static const int rules[] = {SIM_RULES(NUMBER_OF_RULE)};
#undef NUMBER_OF_RULE
enum { RULES = sizeof rules / sizeof *rules };

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "--sites") == 0)
    return sim_judge_sites(argv[0], argv[2], "NPU", "SIM-ACL", RULES) ? EXIT_SUCCESS : EXIT_FAILURE;
  CU_SuiteInfo suites[] = {{"begin", NULL, NULL, NULL, NULL, acl_begin_tests},
                           {"memory", NULL, NULL, NULL, NULL, acl_memory_tests},
                           {"stream", NULL, NULL, NULL, NULL, acl_stream_tests},
                           {"event", NULL, NULL, NULL, NULL, acl_event_tests},
                           {"callback", NULL, NULL, NULL, NULL, acl_callback_tests},
                           {"operator", NULL, NULL, NULL, NULL, acl_operator_tests},
                           {"end", NULL, NULL, NULL, NULL, acl_end_tests},
                           CU_SUITE_INFO_NULL};
  if (argc != 2) return EXIT_FAILURE;
  load(argv[1], "report=answer,fault_at=1000");
  if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
    return EXIT_FAILURE;
  CU_basic_set_mode(CU_BRM_NORMAL);
  CU_ErrorCode code = CU_basic_run_tests();
  unsigned failures = CU_get_number_of_failures(), asserts = CU_get_number_of_asserts();
  CU_cleanup_registry();
  return code == CUE_SUCCESS && failures == 0 && asserts > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
