/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * act_crash.c: crashes of processes that are in no state to tell of them.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
