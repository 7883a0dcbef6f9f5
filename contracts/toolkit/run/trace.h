/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * trace.h: which functions of a backend a test called, how, and which it called last. The tables
 * that a session hands to tests are copies whose entries note the call and hand it on, so that a
 * crash or a failed check names the call that it followed, and a report can tell what a failing
 * test rests on.
 * Calls of instances that a test makes itself are not seen.
 */
#ifndef TBK_CONTRACTS_TRACE_H
#define TBK_CONTRACTS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tbk/tbk.h>

enum { TBK_TRACE_LIMIT = 160, TBK_TRACE_DIGITS = 2 * TBK_TRACE_LIMIT, TBK_TRACE_CASE = 192 };

/* The bits of a call; a called function has the first and those that fitted any of its calls. */
enum {
  TBK_TRACE_CALLED = 1,
  TBK_TRACE_NULL_STREAM = 2,
  TBK_TRACE_STREAM = 4,
  TBK_TRACE_OTHER_DEVICE = 8,  /* not device 0 */
  TBK_TRACE_OTHER_THREAD = 16, /* not the main thread */
  TBK_TRACE_FAILED = 32,       /* answered with an error, rightly or not */
  TBK_TRACE_NOTHING = 64,      /* with NULL for an object, no memory or no bytes */
  TBK_TRACE_OFFSET = 128,      /* at an offset other than 0 */
  /* In what state; in a byte of their own. */
  TBK_TRACE_FOREIGN = 256, /* on an object that another thread made */
  TBK_TRACE_CLOSED = 512,  /* the device is not open, or the object's is not any more */
  /* Of an opcode that has not the first bit by this. */
  TBK_TRACE_IN_REDUCTION = 1024,
  TBK_TRACE_IN_SCAN = 2048
};

/* May lie in shared memory, so that it outlives the process. Any thread writes it. */
typedef struct tbk_trace {
  volatile int32_t last; /* 2 * the index of the function, + 1 once it has returned; 0: none */
  volatile uint8_t called[TBK_TRACE_LIMIT]; /* until the test has failed */
  volatile uint8_t states[TBK_TRACE_LIMIT]; /* the bits from TBK_TRACE_FOREIGN on */
  volatile uint32_t checks;                 /* how many the test has made so far */
  char sweep_case[TBK_TRACE_CASE]; /* of a sweep, the line of the case that runs; else empty */
} tbk_trace_t;

/* A private variable until it is set. */
extern tbk_trace_t* tbk_trace_cell;

/* Forgets all calls; before each test. */
void tbk_trace_reset(void);
/* Returns the function that the calling thread called last in this test; NULL for none. */
const char* tbk_trace_latest(void);
/* Returns the one before that; NULL for none. */
const char* tbk_trace_before(void);
/* From here on calls of this thread are noted, or not: those that a failed check makes by itself. */
void tbk_trace_pause(bool pause);
/* From here on no call of this test is noted among those it made: it has failed, and what it does behind that
 * is no reason. */
void tbk_trace_stop(void);
/* Notes that a check was made: the test gets on. */
void tbk_trace_check(void);
/* Notes the case of a sweep that runs from here on; NULL: none does. */
void tbk_trace_case(const char* line);
/* Returns the function of this index, from 1 on, "op:NAME" of an operator launched, "opcode:NAME" of what its
 * program computes or "flag:NAME" of its arguments, or NULL. */
const char* tbk_trace_name(size_t index);
/*
 * Writes a byte of each index (of `called`, of `states`) as two hexadecimal digits, up to the last that
 * is not 0, and a NUL; out_text has TBK_TRACE_DIGITS + 1 bytes.
 */
void tbk_trace_text(const volatile uint8_t* bytes, char* out_text);
/*
 * Returns a copy of the backend's table, in whose usable tables each entry notes its call. Owned by
 * this file, one backend at a time; what the copy points to is borrowed from `backend`.
 */
const tbk_backend_t* tbk_trace_wrap(const tbk_backend_t* backend);

#endif /* TBK_CONTRACTS_TRACE_H */
