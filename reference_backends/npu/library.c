/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "operation.h"

#include <dlfcn.h>
#include <driver/library.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIBRARIES = 8 };

static acl_runtime_t acl;
static acl_operators_t nn;
static aclnn_phases_t functions[ACLNN_FUNCTIONS];
static bool acl_usable, nn_usable, simulated;
static char acl_reason[512], nn_reason[512]; /* why they are not usable */
static pid_t process;                        /* that opened them; 0 before */
static int open_devices;                     /* atomic */
static pthread_once_t once = PTHREAD_ONCE_INIT;

driver_choice_t npu_choice = {PTHREAD_MUTEX_INITIALIZER, {"driver", "operators"}, false, {""}};

/* In the first of the libraries that has it. */
static bool look_up(void* const* libraries, const char* symbol, void* out_function, size_t size) {
  bool found = false;
  for (; *libraries != NULL && !found; libraries++)
    found = library_find(*libraries, symbol, out_function, size);
  return found;
}

/* Opens those of the names that there are; returns the number. The last name's error is the one to tell. */
static int open_all(const char* const* names, void** out_libraries, char* reason, size_t size) {
  int count = 0;
  for (; *names != NULL; names++) {
    void* library = library_open(*names, RTLD_LAZY | RTLD_LOCAL, reason, size);
    if (library != NULL) out_libraries[count++] = library;
  }
  if (count > 0) reason[0] = '\0';
  return count;
}

/* Whether all needed functions of the driver are there, and one of the two ways of callbacks. */
static bool find_runtime(void* const* libraries) {
#define LOOK_UP(member, symbol, need, page, result, parameters)                              \
  if (!look_up(libraries, symbol, &acl.member, sizeof acl.member) && (need) == ACL_NEEDED) { \
    snprintf(acl_reason, sizeof acl_reason,                                                  \
             "the driver has no " symbol ": too old, or no driver");                         \
    return false;                                                                            \
  }
  ACL_RUNTIME_MAP(LOOK_UP)
#undef LOOK_UP
  if (acl.launch_host_function != NULL) return true;
  if (acl.launch_callback != NULL && acl.subscribe_report != NULL && acl.process_report != NULL &&
      acl.unsubscribe_report != NULL)
    return true;
  snprintf(acl_reason, sizeof acl_reason,
           "the driver has neither aclrtLaunchHostFunc nor aclrtLaunchCallback: too old");
  return false;
}

#define ACLNN(name, signature, arguments, page, meaning, overloads)                             \
  static acl_result plan_##name(void (*plan)(void), const aclnn_word_t* w, uint64_t* out_bytes, \
                                acl_executor** out_executor) {                                  \
    typedef acl_result (*plan_t)(ACLNN_PARAMETERS_##signature, uint64_t * bytes,                \
                                 acl_executor * *executor);                                     \
    return ((plan_t)plan)(ACLNN_VALUES_##signature, out_bytes, out_executor);                   \
  }
#include "aclnn.def"
#undef ACLNN

static const aclnn_row_t function_rows[ACLNN_FUNCTIONS] = {
#define ACLNN(name, signature, arguments, page, meaning, overloads) \
  {#name, arguments, page, plan_##name},
#include "aclnn.def"
#undef ACLNN
};

const aclnn_row_t* npu_aclnn_row(aclnn_function_t function) {
  return &function_rows[function];
}

aclnn_phases_t npu_aclnn(aclnn_function_t function) {
  return functions[function];
}

/* Whoever takes lists needs them made and destroyed. */
static bool can_describe(const char* arguments) {
  return strpbrk(arguments, "TO") == NULL || (nn.create_list != NULL && nn.destroy_list != NULL);
}

static void find_functions(void* const* libraries) {
  char one[80], two[80];
  for (int i = 0; i < ACLNN_FUNCTIONS; i++) {
    snprintf(one, sizeof one, "aclnn%sGetWorkspaceSize", function_rows[i].name);
    snprintf(two, sizeof two, "aclnn%s", function_rows[i].name);
    if (!can_describe(function_rows[i].arguments) ||
        !look_up(libraries, one, &functions[i].plan, sizeof functions[i].plan) ||
        !look_up(libraries, two, &functions[i].issue, sizeof functions[i].issue))
      functions[i].issue = NULL;
  }
}

static bool find_operators(void* const* libraries) {
#define LOOK_UP(member, symbol, need, page, result, parameters)                            \
  if (!look_up(libraries, symbol, &nn.member, sizeof nn.member) && (need) == ACL_NEEDED) { \
    snprintf(nn_reason, sizeof nn_reason, "the operators' libraries have no " symbol);     \
    return false;                                                                          \
  }
  ACL_HANDLE_MAP(LOOK_UP)
#undef LOOK_UP
  find_functions(libraries);
  return true;
}

/* The operators of the library that was chosen, of the driver's own, or of the system's. */
static void open_operators(void* driver) {
  static const char* const system_names[] = {"libopapi.so",      "libopapi_math.so",
                                             "libopapi_nn.so",   "libaclnn_ops_infer.so",
                                             "libaclnn_math.so", NULL};
  const char* const given[] = {npu_choice.paths[1], NULL};
  void* libraries[LIBRARIES] = {NULL};
  int count = 0;
  const bool chosen = npu_choice.paths[1][0] != '\0';
  if (chosen || dlsym(driver, "aclCreateTensor") == NULL)
    count = open_all(chosen ? given : system_names, libraries, nn_reason, sizeof nn_reason);
  if (count == 0 && nn_reason[0] != '\0') return;
  for (int i = 0; i < count; i++)
    simulated = simulated || dlsym(libraries[i], ACL_SIMULATOR_MARKER) != NULL;
  libraries[count] = driver;
  nn_usable = find_operators(libraries);
}

/* At the process's end, and before the libraries' own ends: the last instance is no sign of it, and after
 * aclFinalize there is no second aclInit. A device that is still open keeps what it uses. */
static void leave_driver(void) {
  if (process == getpid() && __atomic_load_n(&open_devices, __ATOMIC_ACQUIRE) == 0) acl.finalize();
}

static void open_driver(void) {
  const char* name = npu_choice.paths[0][0] != '\0' ? npu_choice.paths[0] : "libascendcl.so";
  char why[400] = "";
  process = getpid();
  void* libraries[2] = {library_open(name, RTLD_LAZY | RTLD_LOCAL, why, sizeof why), NULL};
  if (libraries[0] == NULL) {
    snprintf(acl_reason, sizeof acl_reason, "no driver: %s", why);
    return;
  }
  simulated = dlsym(libraries[0], ACL_SIMULATOR_MARKER) != NULL;
  if (!find_runtime(libraries)) return;
  acl_result result = acl.init(NULL);
  acl_usable = result == ACL_OK || result == ACL_REPEAT_INITIALIZE;
  if (!acl_usable) {
    snprintf(acl_reason, sizeof acl_reason, "aclInit: error %d", result);
    return;
  }
  /* Who initialised it before, PyTorch's own backend say, leaves it too. */
  if (result == ACL_OK) (void)atexit(leave_driver);
  open_operators(libraries[0]);
}

const acl_runtime_t* npu_acl(void) {
  pthread_once(&once, open_driver);
  return acl_usable ? &acl : NULL;
}

const acl_operators_t* npu_nn(void) {
  return npu_acl() != NULL && nn_usable ? &nn : NULL;
}

const char* npu_acl_reason(void) {
  return npu_acl() == NULL ? acl_reason : "";
}

const char* npu_nn_reason(void) {
  return npu_nn() == NULL ? nn_reason : "";
}

bool npu_is_simulated(void) {
  return npu_acl() != NULL && simulated;
}

bool npu_is_forked(void) {
  return process != 0 && process != getpid();
}

void npu_count_open(int change) {
  __atomic_add_fetch(&open_devices, change, __ATOMIC_ACQ_REL);
}
