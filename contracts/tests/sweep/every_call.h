/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * every_call.h: every function in the map of tables, called with valid arguments, which are variables
 * under the header's own parameter names. A function that is added to the header is called here as
 * well: a number that it gives has its place from the map, and for any other new name of a parameter
 * this does not compile before ARGUMENTS has a value. What a call has made is given back at once.
 */
#ifndef TBK_CONTRACTS_EVERY_CALL_H
#define TBK_CONTRACTS_EVERY_CALL_H

#include <stdatomic.h>

#include "../generated/words.h"
#include "operation.h"

/* The parameters that a call can be given wrongly; N: numbers, P: pointers. */
/* clang-format off */
#define SPOIL_MAP(N, P)                                                                          \
  N(device, int32_t) N(peer, int32_t) N(destination_device, int32_t) N(source_device, int32_t)   \
  N(kind, int32_t) N(flags, uint32_t)                                                            \
  N(offset, uint64_t) N(destination_offset, uint64_t) N(source_offset, uint64_t)                 \
  N(size_bytes, uint64_t)                                                                        \
  P(stream, tbk_stream_t) P(event, tbk_event_t) P(start, tbk_event_t) P(end, tbk_event_t)        \
  P(generator, tbk_generator_t)                                                                  \
  TBK_OUT_NUMBERS(P) TBK_OUT_OBJECTS(P)
/* clang-format on */

typedef enum spoil {
  SPOIL_nothing = 0,
#define SPOIL_NUMBER(parameter, type) SPOIL_##parameter,
#define SPOIL_POINTER(parameter, type) SPOIL_##parameter,
  SPOIL_MAP(SPOIL_NUMBER, SPOIL_POINTER)
#undef SPOIL_NUMBER
#undef SPOIL_POINTER
      SPOIL_function,     /* NULL */
  SPOIL_generator_offset, /* of its state */
  SPOIL_struct_size       /* of the struct that the caller hands over */
} spoil_t;

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
  bool wrote;     /* the last call has written an out parameter */
  atomic_int ran; /* callbacks that have run */
  spoil_t spoil;  /* the argument that is wrong, and what it is */
  int64_t number;
  void* object;
  bool without_error; /* NULL for the message */
} every_call_t;

typedef struct call_row {
  const char *table, *function, *parameters;
  const char* words; /* what the header says of it; see call_is */
  bool fallible;     /* it answers with a status */
  bool (*offered)(const tbk_fixture_t* fx, const every_call_t* made);
  tbk_status_t (*call)(tbk_fixture_t* fx, every_call_t* made);
} call_row_t;

extern const call_row_t every_call[];
extern const size_t every_call_count;
/* Tells whether the header gives the function a parameter of this name. */
bool call_has(const call_row_t* row, const char* parameter);
/* Tells whether the header says this of the function, in a word of spec/pairs.yml. */
bool call_is(const call_row_t* row, const char* word);

/*
 * Tells whether a call takes away what other calls stand on, or is no call that can be judged by its
 * status: giving back, closing or losing the device.
 */
bool call_takes_away(const call_row_t* row);
/* Tells whether the answer to right arguments is right, on an open device that may be at work. */
bool call_is_right(const call_row_t* row, tbk_status_t status);
/* Returns what it answers then, in words. */
const char* call_expected(const call_row_t* row);

/* Makes all of it on fx->device, with its work complete: at most one stream and two events. */
every_call_t* every_call_make(tbk_fixture_t* fx);
/* Gives back what the fixture does not. */
void every_call_end(tbk_fixture_t* fx, every_call_t* on);

#endif /* TBK_CONTRACTS_EVERY_CALL_H */
