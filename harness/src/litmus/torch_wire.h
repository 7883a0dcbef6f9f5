/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * torch_wire.h: what goes between tbk-litmus and the processes that have PyTorch. All of one machine:
 * numbers as they lie in memory. torch_worker/litmus_wire.py says the same.
 */
#ifndef TBK_HARNESS_LITMUS_TORCH_WIRE_H
#define TBK_HARNESS_LITMUS_TORCH_WIRE_H

#include "execute.h"

/* Descriptors of the server. */
enum { WIRE_CONTROL = 3, WIRE_PAGE = 4 };

/* The memory that is shared: the page, and rooms for what is seen: of each call, of each cell at the
   end, of each slot at the end. */
enum { WIRE_ROOMS_AT = 4096, WIRE_ROOM = 1 << 20 };
enum {
  WIRE_ROOM_OF_CELLS = LITMUS_CALLS,
  WIRE_ROOM_OF_SLOTS = WIRE_ROOM_OF_CELLS + LITMUS_CELLS,
  WIRE_ROOMS = WIRE_ROOM_OF_SLOTS + LITMUS_SLOTS
};
#define WIRE_BYTES (WIRE_ROOMS_AT + (size_t)WIRE_ROOMS * WIRE_ROOM)
typedef struct wire_page {
  volatile int64_t steps; /* goes up by each call */
  volatile int64_t call;
  int64_t bytes_per_us;     /* the children's own; 0: not measured yet */
  volatile int64_t in_gate; /* calls that are within the gate */
} wire_page_t;

/* From the server on its control socket, of the child that was asked for. */
enum { WIRE_CHILD = 1, WIRE_ENDED = 2 };
typedef struct wire_word {
  int32_t what;
  int32_t value; /* the process; its status as of wait */
} wire_word_t;

/* From a child, when it knows the device, or does not. */
typedef struct wire_hello {
  int32_t state; /* a hunt_state_t; HUNT_RUNNING: it does */
  int32_t devices;
  int32_t pinned;
  int32_t bytes_per_us;
  int32_t gate; /* 1: it holds streams; 0: there is none, or nothing to hold */
  int32_t autograd;
  int32_t cache; /* 1: it can be emptied */
  int32_t marks; /* 1: the gate tells how far a stream has come, whether it holds one or not */
  int32_t gradients;
  char reason[476];
} wire_hello_t;

/* To a child. */
typedef struct wire_request {
  uint32_t count, devices;
  uint64_t size_bytes;
  uint64_t patience_ns;
  litmus_call_t calls[LITMUS_CALLS];
} wire_request_t;
_Static_assert(sizeof(litmus_call_t) == 24 && offsetof(litmus_call_t, id) == 9 &&
                   offsetof(litmus_call_t, microseconds) == 12 &&
                   offsetof(litmus_call_t, thread) == 16,
               "as litmus_wire.py has it");

/* And back. */
enum { WIRE_GATE_FAILED = 100 }; /* an outcome: `message` says why, and the child has ended */
typedef struct wire_reply {
  int32_t outcome; /* a litmus_outcome_t, or WIRE_GATE_FAILED */
  int32_t call;
  uint64_t answered;
  uint64_t looked; /* bits of ids: their rooms hold what was seen */
  uint64_t cells;  /* bits of cells at the end */
  char message[200];
} wire_reply_t;

#endif /* TBK_HARNESS_LITMUS_TORCH_WIRE_H */
