/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * faults.h: each function of the driver fails at each of its calls, in each way that
 * its page lists; the backend has one clear answer, and leaves nothing behind.
 */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

#include <tbk/tbk.h>

enum { FAULT_STEPS = 64, FAULT_CODES = 12 };

/* What one call of the backend came to. */
typedef struct fault_step {
  const char* call;
  tbk_status_t status;
  bool told; /* with a message */
} fault_step_t;

typedef struct fault_run {
  fault_step_t steps[FAULT_STEPS];
  size_t count;
  bool warned; /* the backend had something for the log */
} fault_run_t;

/* Goes once through all that the backend offers, and gives everything back; stops at no error. */
void fault_scenario(const char* backend, const char* options, fault_run_t* out);

typedef struct fault_row {
  const char* symbol;
  int codes[FAULT_CODES]; /* up to a 0 */
  bool silent;            /* what fails is no call that has an answer: the reason is told */
} fault_row_t;

extern const fault_row_t fault_rows[];
extern const size_t fault_row_count;

#endif /* SIM_FAULTS_H */
