/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * calls.h: one call of each function that fails, and one that succeeds, for what is said of errors
 * in general. A call whose function the backend does not offer answers CALL_ABSENT: a number that
 * no backend comes to by itself.
 */
#ifndef TBK_CONTRACTS_CALLS_H
#define TBK_CONTRACTS_CALLS_H

#include "fixture.h"

/* No statuses, and none that a backend would make up. Of a device that is no device it is not said which requirement comes first. */
enum { CALL_ABSENT = -1431655766, CALL_INVALID_OR_STATE = -1431655765, CALL_BYTES = 256 };

/* What the calls work on; `touched` is set when a call that fails has written an out parameter. */
typedef struct call_context {
  tbk_stream_t* stream;
  tbk_event_t* event; /* with a time, recorded and complete */
  tbk_event_t* fresh; /* with a time, never recorded */
  tbk_memory_t memory;
  uint64_t bytes;
  uint8_t* before; /* what the memory holds */
  uint8_t* host;
  bool touched;
} call_context_t;

typedef struct call_row {
  const char* name;
  tbk_status_t expected;
  tbk_status_t (*call)(tbk_fixture_t* fx, call_context_t* context, tbk_error_t* error);
} call_row_t;

extern const call_row_t calls_that_fail[];
extern const size_t calls_that_fail_count;
extern const call_row_t calls_that_succeed[];
extern const size_t calls_that_succeed_count;

void call_context_make(tbk_fixture_t* fx, call_context_t* context);

#endif /* TBK_CONTRACTS_CALLS_H */
