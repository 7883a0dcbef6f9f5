/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * faults_test.c: every function of the driver fails, at its first, second and last call, in every way
 * that the specification lists for it: `faults_test BACKEND LOADER [FUNCTION]`. What failed is told by its name, or
 * all bytes are right; nothing is left of the driver's; no call waits for ever. Then loaders that lack a
 * function, are too old, or are cut short.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "session.h"

enum { NOT_RUN = 77, DEADLINE_S = 30, MOST_OPTIONS = 600 };

static const char* const names[FAULTS_COUNT] = {
#define NAME(result, name, arguments) "cl" #name,
    FAULTS_FUNCTIONS(NAME)
#undef NAME
        "a command"};

/* What the specification lets functions answer that begin so; `cl` is all of them. */
static const struct {
  const char* begins;
  cl_int code;
} classes[] = {
    {"cl", CL_OUT_OF_RESOURCES},
    {"cl", CL_OUT_OF_HOST_MEMORY},
    {"clGetPlatformIDs", CL_PLATFORM_NOT_FOUND_KHR},
    {"clGetDeviceIDs", CL_DEVICE_NOT_FOUND},
    {"clGetDeviceInfo", CL_INVALID_DEVICE},
    {"clCreateContext", CL_DEVICE_NOT_AVAILABLE},
    {"clCreateCommandQueue", CL_INVALID_DEVICE},
    {"clCreateBuffer", CL_MEM_OBJECT_ALLOCATION_FAILURE},
    {"clCreateBuffer", CL_INVALID_BUFFER_SIZE},
    {"clCreateBuffer", CL_INVALID_CONTEXT},
    {"clEnqueue", CL_MEM_OBJECT_ALLOCATION_FAILURE},
    {"clEnqueue", CL_INVALID_COMMAND_QUEUE},
    {"clEnqueueMapBuffer", CL_MAP_FAILURE},
    {"clEnqueueNDRangeKernel", CL_INVALID_WORK_GROUP_SIZE},
    {"clFlush", CL_INVALID_COMMAND_QUEUE},
    {"clWaitForEvents", CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST},
    {"clWaitForEvents", CL_INVALID_CONTEXT},
    {"clGetEventProfilingInfo", CL_PROFILING_INFO_NOT_AVAILABLE},
    {"clCreateProgramWithSource", CL_INVALID_CONTEXT},
    {"clBuildProgram", CL_BUILD_PROGRAM_FAILURE},
    {"clBuildProgram", CL_COMPILER_NOT_AVAILABLE},
    {"clCreateKernel", CL_INVALID_PROGRAM_EXECUTABLE},
    {"clSetKernelArg", CL_INVALID_KERNEL_ARGS},
    {"a command", CL_OUT_OF_RESOURCES},
    {"a command", CL_MEM_OBJECT_ALLOCATION_FAILURE},
};

/* Ways to use the backend: each function is tried in the first that calls it. */
static const struct {
  bool kernels;
  const char* version; /* what devices say theirs is */
  fault_t before;      /* so that the function is called at all */
} ways[] = {
    {false, NULL, {0}},
    {true, NULL, {0}},
    {false, "OpenCL 1.2 of a test", {0}},
    {true, NULL, {FAULTS_BuildProgram, 1, CL_BUILD_PROGRAM_FAILURE}},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* What the driver allocates: some of it for ever, and what it was not let release. */
__attribute__((visibility("default"))) const char* __lsan_default_suppressions(void);
const char* __lsan_default_suppressions(void) {
  return "leak:pocl\n";
}

static session_create_fn create;
static const faults_t* loader;
static const char* loader_path;
static char options[MOST_OPTIONS], doing[256];
static int failures, cases, not_reached;
static session_t session;

static void on_deadline(int signal_number) {
  (void)signal_number;
  static const char text[] = "still running after its deadline: ";
  ssize_t written = write(2, text, sizeof text - 1);
  written += write(2, doing, strlen(doing));
  _exit(written > 0 ? 1 : 2);
}

static void fail(const char* why, const char* detail) {
  failures++;
  fprintf(stderr, "%s: %s%s%s\n  told: %s\n", doing, why, *detail ? ": " : "", detail,
          session.told);
}

/* One session in the way, with the fault; whether the fault was met. */
static bool run(int way, const fault_t* fault) {
  const fault_t both[] = {*fault, ways[way].before};
  char left[512];
  loader->arm(both, 2, ways[way].version);
  alarm(DEADLINE_S);
  session_run(&session, create, options, ways[way].kernels);
  alarm(0);
  if (session.wrong[0] != '\0') fail("wrong", session.wrong);
  if (loader->left(left, sizeof left) > 0) fail("objects of the driver", left);
  return loader->struck(0);
}

/* An error that is told names what the driver said; the session has looked at the bytes otherwise. */
static void try_fault(int way, fault_t fault) {
  snprintf(doing, sizeof doing, "%s, call %d: %s (%d)", names[fault.function], fault.call,
           opencl_error_name(fault.code), fault.code);
  cases++;
  if (!run(way, &fault))
    not_reached++;
  else if (session.told[0] != '\0' && strstr(session.told, opencl_error_name(fault.code)) == NULL)
    fail("what is told does not name it", "");
}

static void try_function(int function, int way, int last) {
  const int calls[] = {1, 2, last};
  for (size_t c = 0; c < sizeof classes / sizeof *classes; c++) {
    if (strncmp(names[function], classes[c].begins, strlen(classes[c].begins)) != 0) continue;
    for (int i = 0; i < 3; i++)
      if (calls[i] <= last && (i < 2 || last > 2))
        try_fault(way, (fault_t){function, calls[i], classes[c].code});
  }
}

static void try_functions(const char* only) {
  int calls[WAYS][FAULTS_COUNT];
  for (int way = 0; way < WAYS; way++) {
    snprintf(doing, sizeof doing, "nothing fails, in way %d", way);
    run(way, &(fault_t){0});
    if (session.told[0] != '\0' && ways[way].before.call == 0) fail("an error was told", "");
    if (ways[way].before.call != 0 && strstr(session.told, FAULTS_LOG) == NULL)
      fail("the compiler's log is not told", "");
    for (int function = 0; function < FAULTS_COUNT; function++)
      calls[way][function] = loader->calls(function);
  }
  for (int function = 0; function < FAULTS_COUNT; function++) {
    if (only != NULL && strcmp(only, names[function]) != 0) continue;
    int way = 0;
    while (way < WAYS && calls[way][function] == 0)
      way++;
    snprintf(doing, sizeof doing, "%s", names[function]);
    if (way < WAYS)
      try_function(function, way, calls[way][function]);
    else
      fail("is never called", "");
  }
}

/* A copy of the loader, with `size` bytes (-1: all), and another name where a function's was. */
static bool copy_loader(const char* path, long size, const char* hidden) {
  static char bytes[1 << 20];
  FILE* file = fopen(loader_path, "rb");
  size_t count = file ? fread(bytes, 1, sizeof bytes, file) : 0;
  if (file) fclose(file);
  for (size_t i = 0; hidden && i + strlen(hidden) < count; i++)
    if (memcmp(bytes + i, hidden, strlen(hidden) + 1) == 0) bytes[i] = 'x';
  if (size >= 0 && (size_t)size < count) count = (size_t)size;
  file = fopen(path, "wb");
  const bool written = file && fwrite(bytes, 1, count, file) == count;
  return file && fclose(file) == 0 && written;
}

/* Without a device there is a reason, with all the words; nothing else is wrong. */
static void expect_reason(const char* path, const char* words, const char* more) {
  char with[MOST_OPTIONS];
  snprintf(with, sizeof with, "library=%s", path);
  session_run(&session, create, with, false);
  cases++;
  if (session.device_count != 0) fail("a device was found", "");
  if (strstr(session.told, words) == NULL || strstr(session.told, more) == NULL)
    fail("the reason lacks", words);
  if (session.wrong[0] != '\0') fail("wrong", session.wrong);
}

/* Each under a name of its own: what was opened under a name once is what it names. */
static void try_missing_functions(const char* folder) {
  char path[128];
#define MISSING(result, name, arguments)                              \
  snprintf(doing, sizeof doing, "a loader without cl" #name);         \
  snprintf(path, sizeof path, "%s/" #name ".so", folder);             \
  if (!copy_loader(path, -1, "cl" #name)) fail("cannot be made", ""); \
  expect_reason(path, "no loader of OpenCL 1.2", "cl" #name);         \
  unlink(path);
  OPENCL_FUNCTIONS(MISSING)
#undef MISSING
}

static void try_old_versions(void) {
  static const char* const versions[] = {"OpenCL 1.1 of a test", "OpenCL 1.0", "no version", ""};
  for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
    snprintf(doing, sizeof doing, "a device of version '%s'", versions[i]);
    loader->arm(NULL, 0, versions[i]);
    expect_reason(loader_path, "0 devices", versions[i]);
  }
}

/* In a child, which has not met the driver: the dynamic loader may end it. */
static void try_cut_loader(const char* path, long size) {
  snprintf(doing, sizeof doing, "a loader cut to %ld bytes", size);
  if (!copy_loader(path, size, NULL)) fail("cannot be made", "");
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    expect_reason(path, "no OpenCL loader", "");
    _exit(failures > 0);
  }
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
    fail(WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "ended badly", "");
  unlink(path);
}

static void try_cut_loaders(const char* path) {
  FILE* file = fopen(loader_path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
    fail("the loader cannot be read", "");
    return;
  }
  const long size = ftell(file);
  fclose(file);
  const long sizes[] = {0, 1, 63, 64, 1024, 4096, size / 4, size / 2, size - 1024, size - 1};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    try_cut_loader(path, sizes[i]);
}

static void* find(const char* path, const char* symbol) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* found = library ? dlsym(library, symbol) : NULL;
  if (found != NULL) return found;
  fprintf(stderr, "%s\n", dlerror());
  exit(2);
}

static bool has_device(void) {
  if (dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL) == NULL) return false;
  session_run(&session, create, NULL, false);
  return session.device_count > 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  char folder[] = "/tmp/tbk-opencl-XXXXXX", path[64];
  if (mkdtemp(folder) == NULL) return 2;
  snprintf(path, sizeof path, "%s/libOpenCL.so.1", folder);
  loader_path = argv[2];
  snprintf(options, sizeof options, "library=%s", loader_path);
  void* entry = find(argv[1], TBK_ENTRY_SYMBOL);
  memcpy(&create, &entry, sizeof create);
  loader = find(loader_path, "opencl_faults");
  signal(SIGALRM, on_deadline);
  const bool all = argc == 3;
  if (all) try_cut_loaders(path);
  if (!has_device()) {
    fprintf(stderr, "not run: no device: %s", session.told);
    return failures ? 1 : NOT_RUN;
  }
  if (all) try_missing_functions(folder);
  if (all) try_old_versions();
  try_functions(all ? NULL : argv[3]);
  rmdir(folder);
  printf("%d cases, %d failures; %d faults were not reached\n", cases, failures, not_reached);
  return failures > 0;
}
