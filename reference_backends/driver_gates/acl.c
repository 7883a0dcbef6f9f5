/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * acl.c: holds a stream of Ascend's ACL by a host function that blocks. Written from the published
 * documentation of the calls; NOT RUN ON HARDWARE, on this project's simulated driver alone.
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

/* What is used of ACL; 0 is success. */
typedef int (*set_device_fn)(int32_t device);
typedef int (*get_context_fn)(void** out_context);
typedef int (*set_context_fn)(void* context);
typedef int (*launch_fn)(void* stream, void (*function)(void*), void* argument);

static struct {
  set_device_fn set_device;
  get_context_fn get_context;
  set_context_fn set_context;
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
    snprintf(missing, sizeof missing, "libascendcl.so is not there, or too old for %s", name);
}

static void look_up(void) {
  const char* file = getenv("TBK_GATE_DRIVER");
  void* library = dlopen(file != NULL ? file : "libascendcl.so", RTLD_NOW | RTLD_LOCAL);
  find(library, "aclrtSetDevice", &driver.set_device);
  find(library, "aclrtGetCurrentContext", &driver.get_context);
  find(library, "aclrtSetCurrentContext", &driver.set_context);
  find(library, "aclrtLaunchHostFunc", &driver.launch);
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

/* Makes the device's default context, which is PyTorch's, current. It is never given back. */
static int enter(int32_t device) {
  enum { MOST = 64 };
  static void* contexts[MOST];
  if (device < 0 || device >= MOST) return -1;
  if (contexts[device] != NULL) return driver.set_context(contexts[device]);
  const int code = driver.set_device(device);
  return code == 0 ? driver.get_context(&contexts[device]) : code;
}

static int32_t call(int32_t device, void* stream, void (*function)(void*), void* argument,
                    char* message) {
  pthread_once(&once, look_up);
  if (missing[0] != '\0') {
    if (message != NULL) snprintf(message, 256, "%s", missing);
    return 1;
  }
  void* before = NULL;
  if (driver.get_context(&before) != 0) before = NULL; /* the thread has none */
  int code = enter(device);
  if (code != 0) return fail(message, "the device's context", code);
  code = driver.launch(stream, function, argument);
  if (before != NULL) driver.set_context(before);
  return code == 0 ? 0 : fail(message, "aclrtLaunchHostFunc", code);
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
  static const tbk_gate_t gate = {sizeof gate, TBK_GATE_VERSION, 0,   "ACL, aclrtLaunchHostFunc",
                                  close_gate,  open_gate,        call};
  return version >= TBK_GATE_VERSION ? &gate : NULL;
}
