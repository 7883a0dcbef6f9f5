/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * model.h: what happens before what in a program, and so what each read may see.
 *
 * Each call that reads, writes or orders is a node. An edge says that one node is complete before
 * another begins, and is of a kind that cites its clause; nothing else orders anything. A read may
 * see a write unless it happens before that write, or another write of the same place comes between
 * them. Where writes race with the read, or with each other, all that some order allows is legal.
 *
 * Host memory is different: who touches it while work uses it breaks a requirement (CPY-003,
 * CPY-008), so a program in which the model does not order two such accesses is not defined, and is
 * never run. The same holds for memory that is freed while work uses it (MEM-011).
 */
#ifndef TBK_LITMUS_MODEL_H
#define TBK_LITMUS_MODEL_H

#include "program.h"

/* X(NAME, "clause", "what it says of two nodes", "PyTorch's clause", "what that says"); NULL where there
   is no such edge. Those that PyTorch alone has stand last. */
#define LITMUS_EDGE_MAP(X)                                                                        \
  X(HOST, "STR-001", "the host makes calls one after the other", "STR-506",                       \
    "the host makes calls one after the other")                                                   \
  X(STREAM, "STR-001", "work of a stream runs in the order in which it was enqueued", "STR-506",  \
    "work of a stream runs in the order in which it was enqueued")                                \
  X(NULL_STREAM, "CPY-006", "with stream NULL the effect is complete on return", NULL, NULL)      \
  X(RECORD, "EVT-012", "an event completes when all work before its record has", "EVT-503",       \
    "an event completes when all work before its record has")                                     \
  X(RERECORD, "EVT-014", "recorded again, an event stands for the new point", "EVT-505",          \
    "recorded again, an event stands for the new point")                                          \
  X(WAIT, "EVT-018", "later work of a stream that waits runs after what was recorded", "EVT-522", \
    "work behind a wait runs after what was recorded")                                            \
  X(WAIT_DEVICE, "EVT-021", "an event of another device orders work in the same way", "EVT-507",  \
    "an event orders work between devices")                                                       \
  X(EVENT_SYNCHRONIZE, "EVT-026", "event_synchronize returns when the recorded work is complete", \
    "EVT-509", "Event.synchronize returns when the recorded work is complete")                    \
  X(EVENT_QUERY, "EVT-023", "event_query says OK only when the recorded work is complete",        \
    "EVT-503", "Event.query is true only when the recorded work is complete")                     \
  X(STREAM_SYNCHRONIZE, "STR-019",                                                                \
    "stream_synchronize returns when the stream's work is complete", "STR-509",                   \
    "Stream.synchronize returns when the stream's work is complete")                              \
  X(STREAM_QUERY, "STR-015", "stream_query says OK only when the stream's work is complete",      \
    "STR-508", "Stream.query is true only when the stream's work is complete")                    \
  X(DEVICE_SYNCHRONIZE, "STR-022", "device_synchronize waits for every stream of the device",     \
    "STR-511", "synchronize waits for every stream of the device")                                \
  X(CALLBACK_AFTER, "CBK-003", "a callback runs when earlier work of its stream is complete",     \
    "CBK-003", "a stream comes to a gate's mark when earlier work is complete")                   \
  X(CALLBACK_BEFORE, "CBK-004", "later work of the stream starts when a callback has returned",   \
    "CBK-004", "later work of the stream starts when a gate's mark was passed")                   \
  X(CALLBACK_HOST, "CBK-002", "what a callback has done is seen by whoever waited for it",        \
    "CBK-002", "a gate's mark is seen by whoever waited for it")                                  \
  X(ASYNC_FREE, "SOM-005", "freed memory is not handed out before earlier work is complete",      \
    "MEM-509", "freed memory is not handed out before work that is pending on it is complete")    \
  X(HAND_OVER, "THR-004", "what is complete for one thread is so for who goes on after it",       \
    "FRK-507", "threads use one device, one after the other or at the same time")                 \
  X(STREAM_SHARED, "THR-003", "work of a stream keeps its order, whichever thread enqueued it",   \
    "STR-514", "a stream is the same queue in all threads")                                       \
  X(BLOCKING_SOURCE, NULL, NULL, "CPY-503",                                                       \
    "a copy that blocks has read its source when it returns")                                     \
  X(PAGEABLE_SOURCE, NULL, NULL, "CPY-505",                                                       \
    "a copy from ordinary memory has its source's bytes, whatever follows")                       \
  X(BLOCKING_COPY, NULL, NULL, "CPY-502", "a copy to the host that blocks is complete on return") \
  X(PAGEABLE_COPY, NULL, NULL, "CPY-506",                                                         \
    "a copy to ordinary memory is right once its stream was synchronised")                        \
  X(COPY_ACROSS, NULL, NULL, "CPY-507",                                                           \
    "a copy between devices is ordered on the streams of both")                                   \
  X(RECORD_STREAM, NULL, NULL, "MEM-514",                                                         \
    "recorded memory is not handed out before the stream's work is complete")                     \
  X(PINNED_SOURCE, NULL, NULL, "PIN-506",                                                         \
    "pinned memory that was freed keeps its bytes until the copy from it is complete")            \
  X(BACKWARD, NULL, NULL, "AGD-502", "backward runs on the stream of the forward operator")       \
  X(BACKWARD_CALLER, NULL, NULL, "AGD-504",                                                       \
    "behind backward the caller's stream may read what it wrote")                                 \
  X(MEET, NULL, NULL, "AGD-503", "gradients of several streams are added up behind each of them")

typedef enum litmus_edge {
#define LITMUS_EDGE_ENUM(name, clause, text, torch_clause, torch_text) LITMUS_EDGE_##name,
  LITMUS_EDGE_MAP(LITMUS_EDGE_ENUM)
#undef LITMUS_EDGE_ENUM
      LITMUS_EDGES
} litmus_edge_t;

/* X(NAME, "what a model would say that no clause says"): for tests of the model itself. */
#define LITMUS_EXTRA_MAP(X)                                         \
  X(ENQUEUED_IS_COMPLETE, "work is complete when its call returns") \
  X(STREAMS_IN_ONE_ORDER, "work of all streams is in one order")    \
  X(WAIT_TAKES_LATER_RECORD, "a wait takes records made after it")  \
  X(RECORD_BLOCKS, "a record waits for the work before it")         \
  X(POLL_IS_COMPLETE, "a query that says NOT_READY orders too")     \
  X(DEVICES_IN_ONE, "device_synchronize waits for all devices")     \
  X(EVENT_COVERS_DEVICE, "a record covers all streams")             \
  X(THREADS_IN_ONE, "threads make their calls one after the other")

typedef enum litmus_extra {
#define LITMUS_EXTRA_ENUM(name, text) LITMUS_EXTRA_##name,
  LITMUS_EXTRA_MAP(LITMUS_EXTRA_ENUM)
#undef LITMUS_EXTRA_ENUM
      LITMUS_EXTRAS
} litmus_extra_t;

const char* litmus_edge_name(int edge);
/* NULL where tbk.h, or PyTorch, has no such edge. */
const char* litmus_edge_clause(bool torch, int edge);
const char* litmus_edge_text(bool torch, int edge);
const char* litmus_extra_text(int extra);

enum {
  LITMUS_NODES = 128,
  LITMUS_PLACE_OF_MARKS = LITMUS_SLOTS, /* slots, marks, then cells as they are allocated */
  LITMUS_PLACE_OF_CELLS = LITMUS_SLOTS + LITMUS_MARKS,
  LITMUS_PLACES = LITMUS_PLACE_OF_CELLS + LITMUS_CELLS + LITMUS_CALLS,
  LITMUS_IN = 4 + LITMUS_STREAMS * LITMUS_THREADS,
  LITMUS_READS = 80,
  LITMUS_END_READS = LITMUS_SLOTS + LITMUS_CELLS,
  LITMUS_END = 255 /* the id of no call */
};

/* A set of nodes; a set of bytes. */
typedef struct litmus_set {
  uint64_t bits[LITMUS_NODES / 64];
} litmus_set_t;
typedef struct litmus_values {
  uint64_t bits[4];
} litmus_values_t;

typedef struct litmus_node {
  int16_t call;          /* index in the program; -1: before it, or after it */
  int16_t reads, writes; /* places, or -1 */
  bool any;              /* writes what nobody knows: fresh memory */
  bool copies;           /* writes what it reads */
  bool settled;          /* of what it copies: no write of the place races with it */
  int8_t stream;         /* that it is work of, or -1 */
  uint8_t value;         /* else this */
  uint8_t edge_count;
  uint8_t held_back; /* so many more edges there are if a poll was answered OK */
  struct {
    uint8_t kind;
    uint8_t from;
  } edges[LITMUS_IN];
  litmus_set_t before;    /* all nodes that happen before it */
  litmus_set_t sees;      /* of what it copies: the writes that are legal */
  litmus_values_t values; /* that it may write */
} litmus_node_t;

/* What is looked at: a place's contents at a node. */
typedef struct litmus_read {
  uint8_t node;
  int16_t place;
  uint8_t call_id;        /* of the call that looks; LITMUS_END: the end of the program */
  bool settled;           /* no write of the place races with it */
  litmus_set_t sees;      /* the writes that are legal */
  litmus_values_t values; /* the bytes that are legal */
} litmus_read_t;

typedef struct litmus_model {
  const litmus_program_t* program;
  uint64_t without; /* bits of edges that are left out */
  uint64_t extra;   /* bits of what is added */
  uint32_t node_count;
  litmus_node_t nodes[LITMUS_NODES];
  uint32_t read_count;
  litmus_read_t reads[LITMUS_READS];
  uint32_t place_count;
  uint8_t first[LITMUS_PLACES]; /* what it holds before any write */
  bool is_async[LITMUS_PLACES]; /* its bytes come from async_alloc */
  int8_t cell_of[LITMUS_PLACES];
  int part;                          /* that nodes' and reads' values and writes are of */
  litmus_set_t fresh;                /* the nodes that write what nobody knows */
  litmus_set_t covers[LITMUS_PARTS]; /* the nodes that read or write it, where there are several */
  litmus_set_t writers[LITMUS_PLACES];
  litmus_set_t readers[LITMUS_PLACES];

  /* While it grows. A tail is a node, or -1. */
  int16_t host_tail[LITMUS_THREADS][LITMUS_THREADS]; /* of each other thread, as far as heard of */
  uint64_t heard[LITMUS_THREADS];                    /* bits of calls that have returned before */
  int16_t stream_tail[LITMUS_STREAMS];
  int16_t stream_begins[LITMUS_STREAMS]; /* the first node that can be its work */
  int16_t event_record[LITMUS_EVENTS];
  bool event_again[LITMUS_EVENTS];
  int16_t cell_place[LITMUS_CELLS];    /* -1: not allocated */
  int16_t cell_begins[LITMUS_CELLS];   /* the node that work on it must come after; -1: none */
  int16_t late_record[LITMUS_STREAMS]; /* LITMUS_EXTRA_WAIT_TAKES_LATER_RECORD */
  uint8_t waited[LITMUS_EVENTS];       /* bits of streams; likewise */
  int16_t last_work;                   /* LITMUS_EXTRA_STREAMS_IN_ONE_ORDER */
  /* Bits of the calls that name a thing, and of those that put another one in its place. */
  struct {
    uint64_t uses, changes;
  } streams[LITMUS_STREAMS], events[LITMUS_EVENTS], cells[LITMUS_CELLS];

  /* Of PyTorch. */
  int8_t cell_home[LITMUS_CELLS];      /* the stream of its allocation */
  uint8_t cell_recorded[LITMUS_CELLS]; /* bits of streams */
  int16_t late_copy[LITMUS_STREAMS];   /* the last to ordinary memory that does not block */
} litmus_model_t;

/* An empty program, with its initial contents. `program` stays the caller's. */
void litmus_model_begin(litmus_model_t* model, const litmus_program_t* program, uint64_t without,
                        uint64_t extra);
/* Adds call `index`; false, and nothing has changed, where it is not defined at this point.
   `answered` says of a poll that it was answered OK. */
bool litmus_model_add(litmus_model_t* model, uint32_t index, bool answered);
/* Returns whether polls of the program are nodes in any case, so that a model that has grown with none
   answered can be told which were: where there is one thread, whose next calls come after them. */
bool litmus_takes_answers(const litmus_model_t* model);
/* Tells it, before its end; `answered` has a bit for each call. */
void litmus_model_answer(litmus_model_t* model, uint64_t answered);
/* Finds what each read may see of a part. */
void litmus_model_read(litmus_model_t* model, int part);
/* Returns whether the node reads or writes the part that the model is of now. */
bool litmus_model_covers(const litmus_model_t* model, int node);
/* Adds what is looked at in the end, and finds what each read may see of the first part. */
void litmus_model_end(litmus_model_t* model);
/* Adds all calls and nothing that is looked at in the end. False where the program is not defined. */
bool litmus_model_grow(litmus_model_t* model, const litmus_program_t* program, uint64_t answered,
                       uint64_t without, uint64_t extra);
/* All calls of a program that is known to be defined; `answered` has a bit for each. */
void litmus_model_replay(litmus_model_t* model, const litmus_program_t* program, uint64_t answered);
/* The same, of any program. False where it is not defined. */
bool litmus_model_build(litmus_model_t* model, const litmus_program_t* program, uint64_t answered,
                        uint64_t without, uint64_t extra);

static inline bool litmus_set_has(const litmus_set_t* set, int node) {
  return set->bits[node / 64] >> node % 64 & 1;
}

static inline bool litmus_values_have(const litmus_values_t* values, uint8_t value) {
  return values->bits[value / 64] >> value % 64 & 1;
}

#endif /* TBK_LITMUS_MODEL_H */
