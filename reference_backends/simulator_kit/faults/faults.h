/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * faults.h: each function of a driver fails at each of its calls, in each way that its page lists; the
 * backend has one clear answer, and leaves nothing behind.
 */
#ifndef SIMKIT_FAULTS_H
#define SIMKIT_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

#include <tbk/tbk.h>

enum { FAULT_STEPS = 96, FAULT_CODES = 12 };

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

typedef struct fault_caller {
  bool is_entered; /* the thread is in a context of its own: fault_enter */
  bool is_refused; /* it asks the driver for more memory than there is */
} fault_caller_t;

/* Goes once through all that the backend offers, and gives everything back; stops at no error. */
void fault_scenario(const char* backend, const char* options, fault_caller_t as, fault_run_t* out);

/* For the parts of the scenario: keeps what a call came to, and returns it. */
extern tbk_error_t fault_error;
tbk_status_t fault_note(const char* call, tbk_status_t status);
#define FAULT_STEP(of, table, function, ...) \
  fault_note(#function, (of)->table->function((of)->instance, __VA_ARGS__, &fault_error))

/* Goes through the operators that the backend offers, on two blocks of 1 KiB and a stream. */
void fault_kernels(const tbk_backend_t* of, const tbk_memory_t* memory, tbk_stream_t* stream);

/* -------------------------------------------------------------------------- said by each driver -- */

typedef struct fault_row {
  const char* symbol;
  int codes[FAULT_CODES]; /* up to a 0 */
  bool silent;            /* what fails is no call that has an answer: the reason is told */
} fault_row_t;

/* Whether the scenario goes through operators. */
extern const bool fault_with_kernels;
/* Goes through what else this backend offers, on two blocks of 1 KiB and a stream. */
void fault_own(const tbk_backend_t* of, const tbk_memory_t* memory, tbk_stream_t* stream);
/* Returns an operator; one that is not found, though it is offered where nothing fails, is noted as failed. */
const tbk_kernel_t* fault_find_kernel(const tbk_backend_t* of, const char* name, uint32_t version);

extern const fault_row_t fault_rows[];
extern const size_t fault_row_count;
/* What is called where the driver lacks a function that later ones have. */
extern const fault_row_t fault_older_rows[];
extern const size_t fault_older_row_count;
/* Of these, what is called again and again, so that only its first call is sure to come; or NULL. */
extern const char* const fault_polled;

/* What the simulator, asked behind the backend's back, says at the end. */
typedef struct fault_behind {
  int broken;      /* the rule that was broken last while the backend ran; 0: none */
  bool in_context; /* the thread is in another context than before, or in one at all */
  bool retained;   /* a device or its context is held that nobody gave back */
} fault_behind_t;

/* Returns a function of the library; ends the process where there is none. */
void* fault_find(const char* library, const char* symbol);
#define FAULT_FIND(library, symbol, out)           \
  do {                                             \
    void* address = fault_find((library), symbol); \
    memcpy(&(out), &address, sizeof(out));         \
  } while (0)
/* Gives the thread a context of the caller's own, of device 1, which it keeps until it is looked behind. */
void fault_enter(const char* simulator);
void fault_look_behind(const char* simulator, fault_behind_t* out);
/* Returns what is wrong with that, in words; NULL where it is excused by the function that failed. */
const char* fault_left(const fault_behind_t* behind, const char* symbol, int code);
/* Whether what a function answered is of this kind, wherever it comes up. */
bool fault_fits(const char* symbol, int code, tbk_status_t status);

#endif /* SIMKIT_FAULTS_H */
