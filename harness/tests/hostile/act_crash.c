/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * act_crash.c: crashes of processes that are in no state to tell of them.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include "acts.h"
#include "hostile.h"

void act_call_null(void) {
  static void (*volatile nothing)(void);
  nothing();
}

/* Nothing that the stack holds above here leads anywhere. */
void act_ruin_stack(void) {
  char frame[16];
  char* volatile above = frame;
  for (size_t i = 0; i < 1024; ++i)
    above[i] = 'A';
  abort();
}

static pthread_barrier_t together;

static void* crash_together(void* unused) {
  (void)unused;
  pthread_barrier_wait(&together);
  act_crash();
  return NULL;
}

void act_crash_in_many_threads(void) {
  enum { COUNT = 8 };
  pthread_t threads[COUNT];
  pthread_barrier_init(&together, NULL, COUNT);
  for (int i = 0; i < COUNT; ++i)
    pthread_create(&threads[i], NULL, crash_together, NULL);
  act_hang();
}

static void* load_for_ever(void* path) {
  (void)dlopen(path, RTLD_NOW); /* its constructor hangs, with the loader's lock held */
  return NULL;
}

void act_crash_while_loading(void) {
  static char path[4096];
  Dl_info info;
  pthread_t thread;
  if (dladdr(path, &info) == 0) abort();
  const char* slash = strrchr(info.dli_fname, '/');
  const int folder = slash != NULL ? (int)(slash - info.dli_fname) : 0;
  snprintf(path, sizeof path, "%.*s/libtbk_hostile_constructor_hang.so", folder, info.dli_fname);
  pthread_create(&thread, NULL, load_for_ever, path);
  usleep(300000);
  act_crash();
}

/* The handler has no stack to run on. */
void act_overflow_stack_without_another(void) {
  sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
  act_overflow_stack();
}

static void* overflow(void* argument) {
  act_overflow_stack();
  return argument;
}

void act_overflow_stack_of_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, overflow, NULL) == 0) pthread_join(thread, NULL);
}

/* As C++ throws; nobody above catches it. */
void act_exception_thrown(void) {
  static struct _Unwind_Exception exception;
  _Unwind_RaiseException(&exception);
  abort();
}

/* What it finds writable and shared is not its own. */
void act_shared_pages_unmapped(void) {
  char line[512];
  FILE* maps = fopen("/proc/self/maps", "re");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    char* rest = NULL;
    const uintptr_t begin = strtoul(line, &rest, 16);
    const uintptr_t end = strtoul(rest + 1, &rest, 16);
    if (rest[2] == 'w' && rest[4] == 's') munmap((void*)begin, end - begin);
  }
  if (maps != NULL) fclose(maps);
}

void act_shared_memory_eaten(void) {
  const size_t size = (size_t)512 << 20;
  char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) memset(memory, 1, size);
  act_hang();
}
