/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cuda.c: holds a stream of CUDA by a host function that blocks. A file to copy: it needs no CUDA
 * toolkit, and nothing of this project but tbk/gate.h.
 *
 * The driver is the process's own; TBK_GATE_DRIVER names another file, a simulated driver for one.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tbk/gate.h>

/* What is used of the driver, as its documentation has it; 0 is success. */
typedef int (*get_device_fn)(int* out_device, int ordinal);
typedef int (*retain_fn)(void** out_context, int device);
typedef int (*push_fn)(void* context);
typedef int (*pop_fn)(void** out_context);
typedef int (*launch_fn)(void* stream, void (*function)(void*), void* argument);

static struct {
  get_device_fn get_device;
  retain_fn retain;
  push_fn push;
  pop_fn pop;
  launch_fn launch;
} driver;

static char missing[160]; /* why there is no driver; empty: there is one */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Each closing has a number: one that was let go before its function ran does not hold with the next. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uintptr_t closed, opened; /* up to which */

static void find(void* library, const char* name, void* out_function) {
  void* symbol = library != NULL ? dlsym(library, name) : NULL;
  memcpy(out_function, &symbol, sizeof symbol); /* ISO C has no cast for it */
  if (symbol == NULL && missing[0] == '\0')
    snprintf(missing, sizeof missing, "libcuda.so.1 is not there, or has no %s", name);
}

static void look_up(void) {
  const char* file = getenv("TBK_GATE_DRIVER");
  void* library = dlopen(file != NULL ? file : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  find(library, "cuDeviceGet", &driver.get_device);
  find(library, "cuDevicePrimaryCtxRetain", &driver.retain);
  find(library, "cuCtxPushCurrent_v2", &driver.push);
  find(library, "cuCtxPopCurrent_v2", &driver.pop);
  find(library, "cuLaunchHostFunc", &driver.launch);
}

static void hold(void* number) {
  pthread_mutex_lock(&lock);
  while (opened < (uintptr_t)number)
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

static int32_t fail(char* message, const char* what, int code) {
  if (message != NULL) snprintf(message, 256, "%s: error %d", what, code);
  return 1;
}

/* The device's primary context is PyTorch's. It is never given back: the process has it anyway. */
static void* context_of(int32_t device, int* out_code) {
  enum { MOST = 64 };
  static void* contexts[MOST];
  int handle = 0;
  *out_code = device < 0 || device >= MOST ? -1 : 0;
  if (*out_code != 0 || contexts[device] != NULL) return *out_code == 0 ? contexts[device] : NULL;
  *out_code = driver.get_device(&handle, device);
  if (*out_code == 0) *out_code = driver.retain(&contexts[device], handle);
  return *out_code == 0 ? contexts[device] : NULL;
}

static int32_t call(int32_t device, void* stream, void (*function)(void*), void* argument,
                    char* message) {
  pthread_once(&once, look_up);
  if (missing[0] != '\0') {
    if (message != NULL) snprintf(message, 256, "%s", missing);
    return 1;
  }
  int code;
  void* ignored;
  void* context = context_of(device, &code);
  if (code != 0) return fail(message, "the device's primary context", code);
  code = driver.push(context);
  if (code != 0) return fail(message, "cuCtxPushCurrent", code);
  code = driver.launch(stream, function, argument);
  driver.pop(&ignored);
  return code == 0 ? 0 : fail(message, "cuLaunchHostFunc", code);
}

static int32_t close_gate(int32_t device, void* stream, char* message) {
  pthread_mutex_lock(&lock);
  const uintptr_t number = ++closed;
  pthread_mutex_unlock(&lock);
  /* NOLINTNEXTLINE(performance-no-int-to-ptr): a number is all that the function needs. */
  return call(device, stream, hold, (void*)number, message);
}

static int32_t open_gate(char* message) {
  (void)message;
  pthread_mutex_lock(&lock);
  opened = closed;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  return 0;
}

const tbk_gate_t* tbk_gate(uint32_t version) {
  static const tbk_gate_t gate = {sizeof gate, TBK_GATE_VERSION, 0,   "CUDA, cuLaunchHostFunc",
                                  close_gate,  open_gate,        call};
  return version >= TBK_GATE_VERSION ? &gate : NULL;
}
