/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * self.h: what the tests of the model in the terms of tbk.h, and in those of PyTorch, share: calls as
 * short words, programs of them, and how many bytes are legal at their end.
 */
#ifndef TBK_LITMUS_SELF_H
#define TBK_LITMUS_SELF_H

#include "generate.h"

enum {
  MOST = 8,
  V = 40,
  W = 41,
  HOST_SLOT = LITMUS_SLOTS - 1,
  PROGRAMS = 60000,
  LEAST_PAIRS = 1000
};

/* How many checks failed. */
extern int faults;
void check(bool holds, const char* what, const char* about);

#define FILL_IT(m, v, s) \
  { .op = LITMUS_FILL, .cell = (m), .value = (v), .stream = (s) }
#define FETCH(m, s) \
  { .op = LITMUS_DOWNLOAD, .slot = HOST_SLOT, .cell = (m), .stream = (s) }
#define RECORD_IT(e, s) \
  { .op = LITMUS_RECORD, .event = (e), .stream = (s) }
#define WAIT_FOR(s, e) \
  { .op = LITMUS_WAIT, .event = (e), .stream = (s) }
#define OF_EVENT(o, e) \
  { .op = (o), .event = (e) }
#define OF_STREAM(o, s) \
  { .op = (o), .stream = (s) }
#define PEER_OVER \
  { .op = LITMUS_PEER_COPY, .cell = FAR, .other = 0, .stream = 0 }
#define MARK_IT(s) \
  { .op = LITMUS_CALLBACK_MARK, .mark = 0, .value = V, .stream = (s) }
#define LOOK_AT(s) \
  { .op = LITMUS_CALLBACK_LOOK, .mark = 0, .stream = (s) }
#define AWAIT_IT(s) \
  { .op = LITMUS_AWAIT_MARK, .mark = 0, .stream = (s) }

#define SEND(m, s) \
  { .op = LITMUS_UPLOAD, .slot = HOST_SLOT, .cell = (m), .stream = (s) }
#define SET_HOST \
  { .op = LITMUS_HOST_WRITE, .slot = HOST_SLOT, .value = V }
#define GET_HOST \
  { .op = LITMUS_HOST_READ, .slot = HOST_SLOT }
#define READ_BACK(s) \
  { .op = LITMUS_CALLBACK_READ, .slot = HOST_SLOT, .stream = (s) }
#define SYNC(s) OF_STREAM(LITMUS_STREAM_SYNCHRONIZE, s)
#define RENEW(m) \
  { .op = LITMUS_CELL_RENEW, .cell = (m) }
#define ALLOC(m, s) \
  { .op = LITMUS_ASYNC_ALLOC, .cell = (m), .stream = (s) }
#define FREE(m, s) \
  { .op = LITMUS_ASYNC_FREE, .cell = (m), .stream = (s) }

#define FAR_CELL (-1) /* that of device 1 */
#define FAR (LITMUS_CELLS - 3)
#define FRESH (LITMUS_CELLS - 2)

typedef struct sample {
  int kind;  /* of an edge, or of an extra */
  int place; /* what is looked at last: a slot, a mark, or -1: cell 3 */
  litmus_call_t calls[MOST];
} sample_t;

typedef struct rule {
  const char* what;
  bool defined;
  litmus_call_t calls[MOST];
} rule_t;

/* The calls up to the first that is nothing: a fill without a value. */
litmus_program_t program_of(const litmus_call_t* calls, bool torch);
/* Returns how many bytes are legal at the last look at the sample's place; 0: not defined. */
int legal(const sample_t* sample, bool torch, uint64_t without, uint64_t extra);
/* Draws many programs, counts their operations, and checks that all is drawn, defined and the same again. */
void check_generator(const litmus_offers_t* offers, void (*look)(const litmus_model_t* model));

/* generator_self.c */
bool is_same_program(const litmus_program_t* a, const litmus_program_t* b);
/* Each pair of edges is in many programs. */
void check_generated_pairs(void);
/* Returns what two devices offer that have everything, in one thread. */
litmus_offers_t offers_of_all(void);

/* drill_self.c */
void check_drills(void);
/* verdict_self.c */
void check_verdicts(void);
/* torch_self.c */
void check_torch(void);

#endif /* TBK_LITMUS_SELF_H */
