/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * faults.h: what a test tells the loader that stands between the backend and the driver (loader.c).
 * The functions are numbered as driver.h lists them.
 */
#ifndef TBK_OPENCL_TESTS_FAULTS_H
#define TBK_OPENCL_TESTS_FAULTS_H

#include <stdbool.h>

#include "../driver.h"

/* How the log of a build begins that the loader lets fail; it is longer than any buffer. */
#define FAULTS_LOG "line 1: this does not compile"

#define FAULTS_FUNCTIONS(X) OPENCL_FUNCTIONS(X) OPENCL_LATER_FUNCTIONS(X)

enum {
#define NUMBER(result, name, arguments) FAULTS_##name,
  FAULTS_FUNCTIONS(NUMBER)
#undef NUMBER
  /* No function: a command that is told to have failed, by its event. */
  FAULTS_COMMAND,
  FAULTS_COUNT
};

typedef struct fault {
  int function;
  int call; /* which one, from 1; 0: none */
  cl_int code;
} fault_t;

typedef struct faults {
  /* Forgets what was before. `version`: what devices say theirs is; NULL: the truth. */
  void (*arm)(const fault_t* faults, int count, const char* version);
  int (*calls)(int function);
  bool (*struck)(int fault);
  /* Objects of the driver that were not released, and releases of what is none; named in `text`. */
  int (*left)(char* text, size_t size);
} faults_t;

#endif /* TBK_OPENCL_TESTS_FAULTS_H */
