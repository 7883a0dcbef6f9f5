/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * loader.c: a loader of OpenCL that hands every call to the real one, and lets chosen ones fail. Its
 * functions are made from the map of driver.h: their result and types are known, and their names say
 * what they create and release.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"

enum { MOST_OBJECTS = 1024, MOST_FAULTS = 2, LOG_BYTES = 20000 };

typedef struct object {
  uintptr_t handle;
  int references;
  const char* maker;
} object_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static opencl_driver_t real;
static fault_t faults[MOST_FAULTS];
static bool has_struck[MOST_FAULTS];
static int call_counts[FAULTS_COUNT];
static const char* told_version;
static object_t objects[MOST_OBJECTS];
static int object_count, unknown_releases;
static uintptr_t failed_event;

static const char* const names[FAULTS_COUNT] = {
#define NAME(result, name, arguments) #name,
    FAULTS_FUNCTIONS(NAME)
#undef NAME
        "a command"};

typedef cl_int build_info_fn(cl_program, cl_device, cl_uint, size_t, void*, size_t*);
static build_info_fn* real_build_info;

static bool has_build_failed(void) {
  bool has = false;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MOST_FAULTS; i++)
    has = has || (has_struck[i] && faults[i].function == FAULTS_BuildProgram);
  pthread_mutex_unlock(&lock);
  return has;
}

/* The log of such a build, which the driver knows nothing of. */
static cl_int build_info(cl_program program, cl_device device, cl_uint what, size_t size, void* out,
                         size_t* out_size) {
  if (!has_build_failed()) return real_build_info(program, device, what, size, out, out_size);
  if (out_size != NULL) *out_size = LOG_BYTES;
  if (out == NULL) return CL_OK;
  if (size < LOG_BYTES) return CL_INVALID_VALUE;
  memset(out, '.', LOG_BYTES - 1);
  memcpy(out, FAULTS_LOG "\n", sizeof FAULTS_LOG);
  ((char*)out)[LOG_BYTES - 1] = '\0';
  return CL_OK;
}

static void load(void) {
  char text[512];
  const char* reason = opencl_driver_load(&real, "libOpenCL.so.1", text, sizeof text);
  if (reason != NULL) {
    fprintf(stderr, "%s\n", reason);
    abort(); /* the test has looked for one before */
  }
  real_build_info = real.clGetProgramBuildInfo;
  real.clGetProgramBuildInfo = build_info;
}

static bool begins(int function, const char* with) {
  return strncmp(names[function], with, strlen(with)) == 0;
}

static void add_object(uintptr_t handle, int function) {
  int i = 0;
  while (i < object_count && objects[i].handle != handle)
    i++;
  if (i == MOST_OBJECTS) abort();
  if (i == object_count) objects[object_count++] = (object_t){.handle = handle};
  objects[i].references++;
  objects[i].maker = names[function];
}

static void drop_object(uintptr_t handle) {
  int i = 0;
  while (i < object_count && objects[i].handle != handle)
    i++;
  unknown_releases += i == object_count;
  if (i == object_count || --objects[i].references > 0) return;
  objects[i] = objects[--object_count];
}

/* Counts the call; the code that it is to fail with. */
static cl_int count_call(int function) {
  cl_int code = CL_OK;
  call_counts[function]++;
  for (int i = 0; i < MOST_FAULTS; i++) {
    if (faults[i].function != function || faults[i].call != call_counts[function]) continue;
    has_struck[i] = true;
    code = faults[i].code;
  }
  return code;
}

/* A release that fails is none; but the caller has done what it can. */
static cl_int begin(int function, const uintptr_t* given) {
  pthread_once(&once, load);
  pthread_mutex_lock(&lock);
  const cl_int code = count_call(function);
  if (begins(function, "Release")) drop_object(given[0]);
  if (function == FAULTS_EnqueueUnmapMemObject) drop_object(given[2]);
  pthread_mutex_unlock(&lock);
  return code;
}

/* The event that the command was asked for, before the code of a function that returns something else. */
static void add_event(int function, const uintptr_t* given, int count) {
  cl_event* out = (cl_event*)given[count - (function == FAULTS_EnqueueMapBuffer ? 2 : 1)];
  if (out != NULL) add_object((uintptr_t)*out, function);
}

/* One command has failed from the moment that it is first seen complete. */
static void tell_status(cl_event event, cl_int* status) {
  const cl_int code = *status == CL_COMPLETE ? count_call(FAULTS_COMMAND) : CL_OK;
  if (code != CL_OK) failed_event = (uintptr_t)event;
  for (int i = 0; i < MOST_FAULTS; i++)
    if (faults[i].function == FAULTS_COMMAND && has_struck[i] && failed_event == (uintptr_t)event)
      *status = faults[i].code;
}

static void end(int function, bool makes, intptr_t value, const uintptr_t* given, int count) {
  if (makes ? value == 0 : value != CL_OK) return;
  pthread_mutex_lock(&lock);
  if (makes) add_object((uintptr_t)value, function);
  if (function == FAULTS_RetainEvent) add_object(given[0], function);
  if (begins(function, "Enqueue")) add_event(function, given, count);
  if (function == FAULTS_GetEventInfo) tell_status((cl_event)given[0], (cl_int*)given[3]);
  if (function == FAULTS_GetDeviceInfo && given[1] == CL_DEVICE_VERSION && told_version != NULL)
    snprintf((char*)given[3], given[2], "%s", told_version);
  pthread_mutex_unlock(&lock);
}

static intptr_t refuse(bool makes, cl_int code, uintptr_t last) {
  if (!makes) return code;
  *(cl_int*)last = code;
  return 0;
}

/* Types to parameters a10, ..., a1; to these names; and to their values. */
#define PICK(a, b, c, d, e, f, g, h, i, j, count, ...) count
#define COUNT(...) PICK(__VA_ARGS__, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define JOIN(a, b) a##b
#define APPLY(macro, count) JOIN(macro, count)
#define PARAMETERS(...) APPLY(P, COUNT(__VA_ARGS__))(__VA_ARGS__)
#define NAMES(...) APPLY(N, COUNT(__VA_ARGS__))
#define VALUES(...) APPLY(V, COUNT(__VA_ARGS__))
#define P1(t) t a1
#define P2(t, ...) t a2, P1(__VA_ARGS__)
#define P3(t, ...) t a3, P2(__VA_ARGS__)
#define P4(t, ...) t a4, P3(__VA_ARGS__)
#define P5(t, ...) t a5, P4(__VA_ARGS__)
#define P6(t, ...) t a6, P5(__VA_ARGS__)
#define P7(t, ...) t a7, P6(__VA_ARGS__)
#define P8(t, ...) t a8, P7(__VA_ARGS__)
#define P9(t, ...) t a9, P8(__VA_ARGS__)
#define P10(t, ...) t a10, P9(__VA_ARGS__)
#define N1 a1
#define N2 a2, N1
#define N3 a3, N2
#define N4 a4, N3
#define N5 a5, N4
#define N6 a6, N5
#define N7 a7, N6
#define N8 a8, N7
#define N9 a9, N8
#define N10 a10, N9
#define V1 (uintptr_t) a1
#define V2 (uintptr_t) a2, V1
#define V3 (uintptr_t) a3, V2
#define V4 (uintptr_t) a4, V3
#define V5 (uintptr_t) a5, V4
#define V6 (uintptr_t) a6, V5
#define V7 (uintptr_t) a7, V6
#define V8 (uintptr_t) a8, V7
#define V9 (uintptr_t) a9, V8
#define V10 (uintptr_t) a10, V9

#define DEFINE(result, name, arguments)                                         \
  __attribute__((visibility("default"))) result cl##name(PARAMETERS arguments); \
  result cl##name(PARAMETERS arguments) {                                       \
    const bool makes = _Generic((result){0}, cl_int : false, default : true);   \
    const uintptr_t given[] = {VALUES arguments};                               \
    const int count = sizeof given / sizeof *given;                             \
    const cl_int code = begin(FAULTS_##name, given);                            \
    if (code != CL_OK) return (result)refuse(makes, code, given[count - 1]);    \
    result value = real.cl##name(NAMES arguments);                              \
    end(FAULTS_##name, makes, (intptr_t)value, given, count);                   \
    return value;                                                               \
  }
FAULTS_FUNCTIONS(DEFINE)

static void arm(const fault_t* wanted, int count, const char* version) {
  pthread_mutex_lock(&lock);
  memset(faults, 0, sizeof faults);
  memset(has_struck, 0, sizeof has_struck);
  memset(call_counts, 0, sizeof call_counts);
  for (int i = 0; i < count; i++)
    faults[i] = wanted[i];
  told_version = version;
  object_count = unknown_releases = 0;
  failed_event = 0;
  pthread_mutex_unlock(&lock);
}

static int calls(int function) {
  return call_counts[function];
}
static bool struck(int fault) {
  return has_struck[fault];
}

static int left(char* text, size_t size) {
  pthread_mutex_lock(&lock);
  size_t used = (size_t)snprintf(text, size, "%d unknown released", unknown_releases);
  for (int i = 0; i < object_count && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, ", one of %s", objects[i].maker);
  const int count = unknown_releases + object_count;
  pthread_mutex_unlock(&lock);
  return count;
}

__attribute__((visibility("default"))) extern const faults_t opencl_faults;
const faults_t opencl_faults = {arm, calls, struck, left};
