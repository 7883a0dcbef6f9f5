/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * every_call.h: every function in the map of tables, called with valid arguments, which are variables
 * under the header's own parameter names. A function that is added to the header is called here as
 * well, or this does not compile. What a call has made is given back at once.
 */
#ifndef TBK_CONTRACTS_EVERY_CALL_H
#define TBK_CONTRACTS_EVERY_CALL_H

#include "operation.h"

/* What the calls are made on; one for each thread that makes them. */
typedef struct every_call {
  tbk_memory_t memory, other, space;
  tbk_stream_t* stream;
  tbk_event_t *event, *end;
  void* native;
  operation_t operation;
  tbk_plan_t* plan;
  uint64_t bytes, offset; /* of each call */
  uint8_t* host;
  bool wrote; /* the last call has written an out parameter */
} every_call_t;

typedef struct call_row {
  const char *table, *function, *parameters;
  bool fallible; /* it answers with a status */
  bool (*offered)(const tbk_fixture_t* fx, const every_call_t* made);
  tbk_status_t (*call)(tbk_fixture_t* fx, every_call_t* made);
} call_row_t;

extern const call_row_t every_call[];
extern const size_t every_call_count;
/* Tells whether the function takes memory back, by its name. */
bool call_gives_back(const call_row_t* row);

/* Makes all of it on fx->device, with its work complete: at most one stream and two events. */
every_call_t* every_call_make(tbk_fixture_t* fx);
/* Gives back what the fixture does not. */
void every_call_end(tbk_fixture_t* fx, every_call_t* on);

#endif /* TBK_CONTRACTS_EVERY_CALL_H */
